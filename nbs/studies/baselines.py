"""The baselines on six networks; the level of GAM; BDeu of GES beside causal-learn's. Rows are appended as they are finished.

    python nbs/studies/baselines.py networks    # results/baselines.csv: every baseline on every network, alone and under the true order
    python nbs/studies/baselines.py gam         # results/baselines_gam.csv: false positives, power and time of GAM on random networks
    python nbs/studies/baselines.py bdeu        # results/baselines_bdeu.csv: GES on Alarm, ours and causal-learn's

Times are seconds of one core's work (process time), so that other work on the machine counts little.

A class is judged by networks of it. `skeleton`, `direction`, `shd`, `sid` are means over ten extensions along random orders; those that end
in `_true` belong to the extension along the true order. `constraint` says whether edges against the true order were forbidden in the search.
K2 (pyAgrum) needs an order; pyAgrum's three take part where it is installed.
Mildew has columns with up to 100 states: GAM's regressions would have tens of thousands of parameters and are left out there, and so are
ORDCD and pgmpy, which take too long.
"""
import argparse, importlib.util, time, warnings
from itertools import product
from pathlib import Path

import numpy as np

import discrete_score as ds
from rows import append, stored
from discrete_score.baselines import learn
from discrete_score.families import families_of
from discrete_score.graphs import consistent_extension, from_causallearn, topological_order

LIMIT = float("inf")
results = Path(__file__).parent / "results"
NETWORKS = ("earthquake", "sachs", "child", "insurance", "alarm", "mildew")
EXTRA = [("k2", {}), ("ghc", {}), ("miic", {})] if importlib.util.find_spec("pyagrum") else []
RUNS = [("ges-bic", {}), ("ges-bdeu", {}), ("ges-bdeu", {"score": "bdeu:1"}), ("order-search", {}), ("hill-climbing", {}), ("ordcd", {}), ("gam", {}), ("pc", {}), ("pgmpy", {}), *EXTRA]
LEFT_OUT = {("mildew", "gam"), ("mildew", "pgmpy"), ("mildew", "ordcd")}
FIELDS = ["network", "baseline", "options", "constraint", "n", "seed", "d", "edges", "arrows", "lines", "seconds",
          "skeleton", "direction", "shd", "sid", "direction_true", "shd_true", "sid_true"]


def dataset(name, n, seed):
    "A table and the true DAG over its columns; columns with a single state in these rows are left out."
    net = ds.load_network(name)
    df = net.sample(n, seed=seed)
    df = df[[c for c in df if df[c].nunique() > 1]]
    at = [net.names.index(c) for c in df]
    return ds.as_table(df, unused="drop", identifiers="keep"), net.dag[np.ix_(at, at)]


def late(): return time.process_time() > LIMIT


def timed(call):
    start = time.process_time()
    found = call()
    return found, time.process_time() - start


def network_row(network, baseline, options, constraint, n=10_000, seed=0):
    table, dag = dataset(network, n, seed)
    order = topological_order(dag, seed=seed)
    warm = dataset("earthquake", 500, 1)
    learn(warm[0], baseline, order=topological_order(warm[1]))  # imports are not timed
    found, seconds = timed(lambda: learn(table, baseline, order=order if constraint == "order" else None, seed=seed, **options))
    judged = [ds.evaluate(found.dag(seed=k), dag) for k in range(10)]
    mean, true = (lambda f: round(float(np.mean([f(e) for e in judged])), 4)), ds.evaluate(found.dag(order), dag)
    lines = int((found.graph & found.graph.T).sum())//2
    return {"network": network, "baseline": baseline, "options": options.get("score", ""), "constraint": constraint, "n": n, "seed": seed, "d": table.d, "edges": int(dag.sum()),
            "arrows": int((found.graph & ~found.graph.T).sum()), "lines": lines, "seconds": round(seconds, 3), "skeleton": mean(lambda e: e.f1.skeleton),
            "direction": mean(lambda e: e.f1.direction), "shd": mean(lambda e: e.shd), "sid": mean(lambda e: e.sid),
            "direction_true": round(true.f1.direction, 4), "shd_true": true.shd, "sid_true": true.sid}


def networks(only):
    path = results / "baselines.csv"
    done = lambda: {(r["network"], r["baseline"], r["options"], r["constraint"]) for r in stored(path)}
    for network, (baseline, options), constraint in product(NETWORKS, RUNS, ("none", "order")):
        if (network, baseline) in LEFT_OUT or (baseline, constraint) == ("k2", "none") or only and network not in only: continue
        if (network, baseline, options.get("score", ""), constraint) in done(): continue
        if late(): return
        append(path, FIELDS, network_row(network, baseline, options, constraint))


GAM_FIELDS = ["degree", "seed", "test", "nulls", "false", "edges", "found", "seconds", "sklearn_seconds", "sklearn_unconverged"]


def sklearn_pass(table, order):
    "One default LogisticRegression per column on dummies of its predecessors: seconds of the fits, and how many did not converge."
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    dummies, seconds, unconverged = [np.eye(m)[table.codes[:, j]][:, 1:] for j, m in enumerate(table.n_states)], 0., 0
    for k in range(1, table.d):
        X, y = np.hstack([dummies[i] for i in order[:k]]), table.codes[:, order[k]]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            seconds += timed(lambda: LogisticRegression().fit(X, y))[1]
        unconverged += any(issubclass(w.category, ConvergenceWarning) for w in caught)
    return seconds, unconverged


def gam_row(degree, seed, test):
    net = ds.random_network(20, degree=degree, states=(3, 6), seed=seed)
    table, order = ds.as_table(net.sample(10_000, seed=seed), unused="drop"), topological_order(net.dag, seed=seed)
    found, seconds = timed(lambda: learn(table, "gam", order=order, test=test).graph)
    by_sklearn, unconverged = sklearn_pass(table, order) if test == "wald" else ("", "")
    return {"degree": degree, "seed": seed, "test": test, "nulls": 190 - int(net.dag.sum()), "false": int((found & ~net.dag).sum()), "edges": int(net.dag.sum()),
            "found": int((found & net.dag).sum()), "seconds": round(seconds, 3), "sklearn_seconds": by_sklearn if test != "wald" else round(by_sklearn, 3), "sklearn_unconverged": unconverged}


def gam():
    path = results / "baselines_gam.csv"
    done = {(int(r["degree"]), int(r["seed"]), r["test"]) for r in stored(path)}
    settings = [(k, seed, "wald") for seed, k in product(range(20), (2, 4))] + [(k, seed, "ratio") for seed, k in product(range(3), (2, 4))]
    for setting in settings:
        if setting not in done and not late(): append(path, GAM_FIELDS, gam_row(*setting))


BDEU_FIELDS = ["n", "seed", "who", "edges", "bdeu", "causallearn_score", "seconds"]


def causallearn_ges(table):
    from causallearn.search.ScoreBased.GES import ges
    found, seconds = timed(lambda: ges(np.asarray(table.codes), "local_score_BDeu", node_names=[str(c) for c in table.names]))
    return consistent_extension(from_causallearn(found["G"]), seed=0), seconds


def causallearn_score(table, dag):
    "Sum of causal-learn's local scores, with the sign that makes larger better: the empty graph must score lower than a fitted one."
    from causallearn.score.LocalScoreFunction import local_score_BDeu
    local = lambda j: float(np.ravel(local_score_BDeu(np.asarray(table.codes), j, np.flatnonzero(dag[:, j]).tolist()))[0])
    return sum(local(j) for j in range(table.d))


def bdeu():
    path = results / "baselines_bdeu.csv"
    done = {(int(r["n"]), int(r["seed"]), r["who"]) for r in stored(path)}
    for n, seed in ((300, 0), (1000, 0), (300, 1), (300, 2)):
        table, dag = dataset("alarm", n, seed)
        families = families_of(table, "bdeu:1")
        ours = lambda: (lambda f, s: (f.dag(), s))(*timed(lambda: learn(table, "ges-bdeu", score="bdeu:1")))
        for who, run in (("ours", ours), ("causal-learn", lambda: causallearn_ges(table)), ("truth", lambda: (dag, 0.)), ("empty", lambda: (np.zeros_like(dag), 0.))):
            if (n, seed, who) in done or late(): continue
            found, seconds = run()
            append(path, BDEU_FIELDS, {"n": n, "seed": seed, "who": who, "edges": int(found.sum()), "bdeu": round(families.total(found), 4),
                                       "causallearn_score": round(causallearn_score(table, found), 4), "seconds": round(seconds, 3)})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=["networks", "gam", "bdeu"])
    parser.add_argument("--only", nargs="*", help="networks to run; all if not given")
    parser.add_argument("--seconds", type=float, default=np.inf, help="begin no row after so much work; run again to go on")
    args = parser.parse_args()
    LIMIT = args.seconds
    networks(args.only) if args.part == "networks" else {"gam": gam, "bdeu": bdeu}[args.part]()

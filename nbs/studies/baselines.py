"""The baselines on six networks; the level of GAM; BDeu of GES beside causal-learn's.

    baselines       every baseline on every network, alone and under the true order
    baselines_gam   false positives, power and time of GAM on random networks
    baselines_bdeu  GES on Alarm, ours and causal-learn's

Times are seconds of one core's work (process time), so that other work on the machine counts
little.

A class is judged by networks of it. `skeleton`, `direction`, `shd`, `sid` are means over ten
extensions along random orders; those that end in `_true` belong to the extension along the true
order. `constraint` says whether edges against the true order were forbidden in the search. K2
(pyAgrum) needs an order; pyAgrum's three take part where it is installed. Mildew has columns with
up to 100 states: GAM's regressions would have tens of thousands of parameters and are left out
there, and so are ORDCD and pgmpy, which take too long.
"""
import importlib.util
import time
import warnings
from itertools import product

import numpy as np

from discrete_score.baselines import learn
from discrete_score.data import as_table
from discrete_score.graphs import consistent_extension, from_causallearn, topological_order
from discrete_score.metrics import evaluate
from discrete_score.networks import load_network, random_network
from discrete_score.scores import families_of
from discrete_score.studies import Study, sample_dataset


def timed(call):
    "What a function gives, and its seconds."
    start = time.process_time()
    found = call()
    return found, time.process_time() - start


# Every baseline on every network

KEY = "network", "baseline", "options", "constraint"
NETWORKS = "earthquake", "sachs", "child", "insurance", "alarm", "mildew"
RUNS = [("ges-bic", ""), ("ges-bdeu", ""), ("ges-bdeu", "bdeu:1"), ("order-search", ""),
        ("hill-climbing", ""), ("ordcd", ""), ("gam", ""), ("pc", ""), ("pgmpy", "")]
if importlib.util.find_spec("pyagrum"): RUNS += [("k2", ""), ("ghc", ""), ("miic", "")]
LEFT_OUT = ("mildew", "gam"), ("mildew", "pgmpy"), ("mildew", "ordcd")
SETTINGS = [(network, baseline, score, constraint)
            for network, (baseline, score), constraint in product(NETWORKS, RUNS, ("none", "order"))
            if (network, baseline) not in LEFT_OUT and (baseline, constraint) != ("k2", "none")]


def rows(setting):
    "One baseline on 10,000 rows of one network."
    network, baseline, score, constraint = setting
    data, warm = (sample_dataset(load_network(name), n, seed=seed)
                  for name, n, seed in ((network, 10_000, 0), ("earthquake", 500, 1)))
    learn(warm.table, baseline, order=topological_order(warm.dag))  # imports are not timed
    dag, order = data.dag, topological_order(data.dag, seed=0)
    how = {"order": order if constraint == "order" else None} | ({"score": score} if score else {})
    found, seconds = timed(lambda: learn(data.table, baseline, seed=0, **how))
    judged = [evaluate(found.dag(seed=k), dag) for k in range(10)]
    true = evaluate(found.dag(order), dag)

    def mean(values): return round(float(np.mean(list(values))), 4)

    yield {
        "n": 10_000, "seed": 0, "d": data.table.d, "edges": int(dag.sum()),
        "arrows": int((found.graph & ~found.graph.T).sum()),
        "lines": int((found.graph & found.graph.T).sum())//2, "seconds": round(seconds, 3),
        "skeleton": mean(e.f1.skeleton for e in judged),
        "direction": mean(e.f1.direction for e in judged),
        "shd": mean(e.shd for e in judged), "sid": mean(e.sid for e in judged),
        "direction_true": round(true.f1.direction, 4), "shd_true": true.shd, "sid_true": true.sid,
    }


BASELINES = Study(
    "baselines", SETTINGS, "every baseline on six networks, alone and under the true order.", rows,
    key=KEY, measured=("seconds",),
    columns=(*KEY, "n", "seed", "d", "edges", "arrows", "lines", "seconds", "skeleton", "direction",
             "shd", "sid", "direction_true", "shd_true", "sid_true"),
)

# The level of GAM

GAM_KEY = "degree", "seed", "test"
GAM = [(degree, seed, "wald") for seed, degree in product(range(20), (2, 4))]
GAM += [(degree, seed, "ratio") for seed, degree in product(range(3), (2, 4))]


def sklearn_pass(table, order):
    "A default LogisticRegression per column on its predecessors: seconds, and how many failed."
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    dummies = [np.eye(m)[table.codes[:, j]][:, 1:] for j, m in enumerate(table.n_states)]
    seconds, unconverged = 0., 0
    for k in range(1, table.d):
        X, y = np.hstack([dummies[i] for i in order[:k]]), table.codes[:, order[k]]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            seconds += timed(lambda: LogisticRegression().fit(X, y))[1]
        unconverged += any(issubclass(w.category, ConvergenceWarning) for w in caught)
    return {"sklearn_seconds": round(seconds, 3), "sklearn_unconverged": unconverged}


def gam_rows(setting):
    "GAM on one random network of 20 columns."
    degree, seed, test = setting
    net = random_network(20, degree=degree, states=(3, 6), seed=seed)
    table = as_table(net.sample(10_000, seed=seed), unused="drop")
    order, edges = topological_order(net.dag, seed=seed), int(net.dag.sum())
    found, seconds = timed(lambda: learn(table, "gam", order=order, test=test).graph)
    row = {"nulls": 190 - edges, "false": int((found & ~net.dag).sum()), "edges": edges,
           "found": int((found & net.dag).sum()), "seconds": round(seconds, 3)}
    yield row | (sklearn_pass(table, order) if test == "wald" else {})


BASELINES_GAM = Study(
    "baselines_gam", GAM, "does GAM hold its level, and what does it cost?", gam_rows,
    key=GAM_KEY, measured=("seconds", "sklearn_seconds"),
    columns=(*GAM_KEY, "nulls", "false", "edges", "found", "seconds", "sklearn_seconds",
             "sklearn_unconverged"),
)

# BDeu of GES

BDEU_KEY = "n", "seed", "who"
SAMPLES = (300, 0), (1000, 0), (300, 1), (300, 2)
WHO = "ours", "causal-learn", "truth", "empty"
BDEU = [(n, seed, who) for (n, seed), who in product(SAMPLES, WHO)]


def causallearn_ges(table):
    "A member of the class that causal-learn finds."
    from causallearn.search.ScoreBased.GES import ges
    names = [str(c) for c in table.names]
    found = ges(np.asarray(table.codes), "local_score_BDeu", node_names=names)
    return consistent_extension(from_causallearn(found["G"]), seed=0)


def causallearn_score(table, dag):
    "Sum of causal-learn's local scores; larger is better."
    from causallearn.score.LocalScoreFunction import local_score_BDeu
    codes = np.asarray(table.codes)
    locals_ = (local_score_BDeu(codes, j, np.flatnonzero(dag[:, j]).tolist())
               for j in range(table.d))
    return sum(float(np.ravel(value)[0]) for value in locals_)


def bdeu_rows(setting):
    "What one search finds on Alarm, in both scores."
    n, seed, who = setting
    data = sample_dataset(load_network("alarm"), n, seed=seed)
    searches = {
        "ours": lambda: learn(data.table, "ges-bdeu", score="bdeu:1").dag(),
        "causal-learn": lambda: causallearn_ges(data.table),
        "truth": lambda: data.dag,
        "empty": lambda: np.zeros_like(data.dag),
    }
    found, seconds = timed(searches[who])
    yield {"edges": int(found.sum()),
           "bdeu": round(families_of(data.table, "bdeu:1").total(found), 4),
           "causallearn_score": round(causallearn_score(data.table, found), 4),
           "seconds": round(seconds, 3)}


BASELINES_BDEU = Study(
    "baselines_bdeu", BDEU, "GES with BDeu on Alarm, ours and causal-learn's.", bdeu_rows,
    key=BDEU_KEY, columns=(*BDEU_KEY, "edges", "bdeu", "causallearn_score", "seconds"),
    measured=("seconds",),
)

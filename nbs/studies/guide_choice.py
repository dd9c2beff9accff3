"""How score, equivalent sample size and tolerance of the guide were chosen: other networks and other seeds than those that are judged.

    python nbs/studies/guide_choice.py              # computes what is missing in results/guide_choice.csv
    python nbs/studies/guide_choice.py --compelled  # computes what is missing in results/guide_compelled.csv

guide_choice.csv: one row per dataset, score and tolerance (nats per log of the number of rows): D_top over the number of edges without a guide, with it, and with a coin under the guide.
guide_compelled.csv: one row per dataset and rule for what counts as compelled. firmness: the margin must exceed this times the log of the number of rows. rule: `margin` asks for nothing more; in each half of the rows
`drop` asks that dropping the arrow costs more than log d nats, `turn` that turning it costs more than log d nats, `qnml` that it costs something under qNML, also with parents chosen anew.
pairs in the partial order, pairs_right: ancestor and descendant in the truth; pairs_true: pairs that the true class compels; pairs_found: of these, how many are in the partial order.
"""
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

import discrete_score as ds
from rows import append, stored
from discrete_score.graphs import dag_to_cpdag, reachable
from discrete_score.guide import EvidenceGuide, _Half, _halves, coin_order, guided_order

results = Path(__file__).parent / "results" / "guide_choice.csv"
SCORES, TOLERANCES, MEASURE = ("bdeu", "bdeu:1", "bdeu:10", "bdeu:100", "bic"), (.02, .1, .25, .5, 1.), "kl_uniform"
SIMULATED = [f"{g} d={d} degree {k}" for g, d, k in (("ER", 10, 2), ("ER", 10, 4), ("ER", 20, 2), ("ER", 20, 4), ("SF", 20, 4))]
SETTINGS = [(s, n, seed) for seed, n, s in product(range(500, 506), (10_000, 1000), SIMULATED)]
SETTINGS += [(s, 10_000, seed) for seed, s in product(range(500, 504), ("asia", "cancer", "survey", "water"))] + [("hailfinder", 10_000, 500), ("hepar2", 10_000, 500), ("hailfinder", 10_000, 501)]
RULES = {"margin": (), "drop": (0,), "drop, turn": (0, 1), "drop, qnml": (0, 2, 3), "drop, turn, qnml": (0, 1, 2, 3)}
NOISE = [(f"noise d={d} states {k}", n, seed) for seed, (d, k, n) in product(range(500, 510), ((6, 2, 60), (10, 3, 100), (10, 2, 200), (20, 3, 200)))]
COMPELLED = NOISE + [(s, n, seed) for seed, (s, n) in product(range(500, 502), (*product(SIMULATED, (10_000, 1000)), *product(("asia", "survey", "water", "hailfinder", "hepar2"), (10_000, 1000))))]
COMPELLED_FIELDS = ["setting", "n", "seed", "firmness", "rule", "pairs", "pairs_right", "pairs_true", "pairs_found"]
FIELDS = ["setting", "n", "seed", "score", "sample_size", "tolerance", "none", "guided", "coin"]


def dataset(setting, n, seed):
    "A table and the true DAG over its columns; columns with a single state in these rows are left out."
    if "noise" in setting:
        d, states = int(setting.split()[1][2:]), int(setting.split()[3])
        codes = np.random.default_rng([d, states, n, seed]).integers(0, states, (n, d))
        return ds.as_table(pd.DataFrame(codes, columns=[f"c{k}" for k in range(d)]), unused="drop", identifiers="keep"), np.zeros((d, d), dtype=bool)
    if "=" not in setting: net = ds.load_network(setting)
    else: net = ds.random_network(int(setting.split()[1][2:]), graph=setting.split()[0], degree=int(setting.split()[3]), states=(3, 6), seed=seed)
    df = net.sample(n, seed=seed)
    df = df[[c for c in df if df[c].nunique() > 1]]
    at = [net.names.index(c) for c in df]
    return ds.as_table(df, unused="drop", identifiers="keep"), net.dag[np.ix_(at, at)]


def rows(setting, n, seed):
    table, dag = dataset(setting, n, seed)
    share = lambda order: round(ds.d_top(order, dag, names=table.names)/int(dag.sum()), 4)
    estimator = ds.BlanketScore().fit(table)
    none = share(ds.causal_order(estimator, table.names, MEASURE).order)
    for score in SCORES:
        guide = EvidenceGuide(score).fit(table)
        for tolerance in TOLERANCES:
            guide.tau_ = tolerance*np.log(table.total)
            guided = share(guided_order(estimator, table.names, MEASURE, guide).order)
            coin = round(float(np.mean([share(coin_order(guide, seed=k)) for k in range(3)])), 4)
            yield dict(zip(FIELDS, (setting, n, seed, score, getattr(guide.score_, "sample_size", ""), tolerance, none, guided, coin)))


def compelled_rows(setting, n, seed):
    table, dag = dataset(setting, n, seed)
    guide = EvidenceGuide(confirm=False).fit(table)
    best, truth, cpdag = guide.ordering_, reachable(dag), dag_to_cpdag(dag)
    by_class, families = reachable(cpdag & ~cpdag.T), best.sets.families
    halves = [_Half(families, *part, best, None) for part in _halves(families, 0)]
    passed = {(i, j): [all(tests) for tests in zip(*(_tests(h, i, j, best.turned[i, j]) for h in halves))] for i, j in best.margins}
    for firmness, (rule, needs) in product((.5, 1.), RULES.items()):
        arrows = np.zeros_like(dag)
        for (i, j), margin in best.margins.items(): arrows[i, j] = margin > firmness*np.log(table.total) and all(passed[i, j][k] for k in needs)
        before = reachable(arrows)
        yield dict(zip(COMPELLED_FIELDS, (setting, n, seed, firmness, rule, before.sum(), (before & truth).sum(), by_class.sum(), (before & by_class).sum())))


def _tests(half, i, j, turned):
    "What one half says to an arrow: is it worth something, is it dear to turn, under qNML too, and with parents chosen anew?"
    return [half.worth(i, j) > half.enough, *(loss > need for loss, need in zip(half.losses(turned), (half.enough, half.slack, half.slack)))]


def missing(path, settings):
    done = {(row["setting"], int(row["n"]), int(row["seed"])) for row in stored(path)}
    return [s for s in settings if s not in done]


if __name__ == "__main__" and "--compelled" in sys.argv:
    path = results.parent / "guide_compelled.csv"
    for setting in missing(path, COMPELLED): append(path, COMPELLED_FIELDS, *compelled_rows(*setting))
elif __name__ == "__main__":
    for setting in missing(results, SETTINGS): append(results, FIELDS, *rows(*setting))

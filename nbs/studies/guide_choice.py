"""How score, equivalent sample size and tolerance of the guide were chosen: other networks and other seeds than those that are judged.

    python nbs/studies/guide_choice.py     # computes what is missing in results/guide_choice.csv

One row per dataset, score and tolerance (nats per log of the number of rows): D_top over the number of edges without a guide, with it, and with a coin under the guide.
"""
import warnings
from itertools import product
from pathlib import Path

import numpy as np

import discrete_score as ds
from rows import append, stored
from discrete_score.guide import EvidenceGuide, coin_order, guided_order

results = Path(__file__).parent / "results" / "guide_choice.csv"
SCORES, TOLERANCES, MEASURE = ("bdeu", "bdeu:1", "bdeu:10", "bdeu:100", "bic"), (.02, .1, .25, .5, 1.), "kl_uniform"
SIMULATED = [f"{g} d={d} degree {k}" for g, d, k in (("ER", 10, 2), ("ER", 10, 4), ("ER", 20, 2), ("ER", 20, 4), ("SF", 20, 4))]
SETTINGS = [(s, n, seed) for seed, n, s in product(range(500, 506), (10_000, 1000), SIMULATED)]
SETTINGS += [(s, 10_000, seed) for seed, s in product(range(500, 504), ("asia", "cancer", "survey", "water"))] + [("hailfinder", 10_000, 500), ("hepar2", 10_000, 500), ("hailfinder", 10_000, 501)]
FIELDS = ["setting", "n", "seed", "score", "sample_size", "tolerance", "none", "guided", "coin"]


def dataset(setting, n, seed):
    "A table and the true DAG over its columns; columns with a single state in these rows are left out."
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


if __name__ == "__main__":
    done = {(row["setting"], int(row["n"]), int(row["seed"])) for row in stored(results)}
    for setting in [s for s in SETTINGS if s not in done]: append(results, FIELDS, *rows(*setting))

"""How far is the closed-form estimator from exact conditionals? One row per dataset, appended as it is finished.

    python nbs/studies/estimation.py            # computes what is missing in results/estimation.csv
    python nbs/studies/estimation.py --check 3  # computes three stored rows again and compares

Settings and seeds are fixed here, before the first run; nothing was tuned on them.
"""
import argparse, sys
from itertools import product
from pathlib import Path

import numpy as np

import discrete_score as ds
from rows import append, stored

results = Path(__file__).parent / "results" / "estimation.csv"
SEEDS, ROWS, MEASURE = range(20), 10_000, "kl_uniform"
GRAPHS = {"ER": {"graph": "ER"}, "SF": {"graph": "SF", "hubs": "sinks"}, "SF sources": {"graph": "SF", "hubs": "sources"}}
FIELDS = ["graph", "d", "degree", "seed", "edges", "v_error", "d_top_exact", "d_top_blanket", "d_top_marginal", "failure"]
SETTINGS = [(graph, d, degree, seed) for d, degree, graph, seed in product((10, 20), (2, 4), GRAPHS, SEEDS)]


def one(graph, d, degree, seed):
    "One dataset: error of V at the first step, and D_top of both orders and of the trivial sort by marginal randomness."
    net = ds.random_network(d, degree=degree, states=(3, 6), seed=seed, **GRAPHS[graph])
    table = ds.as_table(net.sample(ROWS, seed=seed), unused="drop")
    wrong = lambda order: int(ds.d_top(order, net.dag, names=net.names))
    measure = ds.as_measure(MEASURE)
    marginal = [table.names[j] for j in np.argsort([measure(p) for p in table.marginals()], kind="stable")]
    blanket, exact = ds.BlanketScore().fit(table), ds.ExactScore(net).fit(table)
    row = {"graph": graph, "d": d, "degree": degree, "seed": seed, "edges": int(net.dag.sum()), "d_top_marginal": wrong(marginal), "failure": ""}
    row["v_error"] = round(float(np.abs(blanket.values(range(d), "entropy")[0] - exact.values(range(d), "entropy")[0]).mean()), 6)
    row["d_top_blanket"] = wrong(ds.causal_order(blanket, table.names, MEASURE, seed=seed).order)
    try: row["d_top_exact"] = wrong(ds.causal_order(exact, table.names, MEASURE, seed=seed).order)
    except ValueError as error: row |= {"d_top_exact": "", "failure": str(error).split(";")[0]}
    return row


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", type=int, metavar="N", help="compute N stored rows again")
    args = parser.parse_args()
    key = lambda row: (row["graph"], int(row["d"]), int(row["degree"]), int(row["seed"]))
    if args.check:
        rows = [row for row in stored(results) if int(row["d"]) == 10]
        for k in np.random.default_rng(0).choice(len(rows), args.check, replace=False):
            again = {name: str(value) for name, value in one(*key(rows[k])).items()}
            if again != rows[k]: sys.exit(f"stored {rows[k]}\nagain  {again}")
        print(f"{args.check} rows agree")
    else:
        done = {key(row) for row in stored(results)}
        for setting in [s for s in SETTINGS if s not in done]: append(results, FIELDS, one(*setting))

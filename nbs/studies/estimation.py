"""How far is the closed-form estimator from exact conditionals?

Settings and seeds were fixed before the first run; nothing was tuned on them. A row holds the
error of V at the first step, and D_top of three orders: with exact conditionals, with the
closed-form estimator, and of the columns sorted once by marginal randomness.
"""
from itertools import product

import numpy as np

from discrete_score.blanket import BlanketScore
from discrete_score.data import as_table
from discrete_score.graphs import d_top
from discrete_score.measures import as_measure
from discrete_score.networks import random_network
from discrete_score.order import causal_order
from discrete_score.score import ExactScore
from discrete_score.studies import Study

GRAPHS = {
    "ER": {"graph": "ER"},
    "SF": {"graph": "SF", "hubs": "sinks"},
    "SF sources": {"graph": "SF", "hubs": "sources"},
}
MEASURE = "kl_uniform"
KEY = "graph", "d", "degree", "seed"


def rows(setting):
    "One dataset."
    graph, d, degree, seed = setting
    net = random_network(d, degree=degree, states=(3, 6), seed=seed, **GRAPHS[graph])
    table = as_table(net.sample(10_000, seed=seed), unused="drop")
    blanket, exact = BlanketScore().fit(table), ExactScore(net).fit(table)
    apart = [e.values(range(d), "entropy")[0] for e in (blanket, exact)]
    randomness = [as_measure(MEASURE)(p) for p in table.marginals()]
    marginal = [table.names[j] for j in np.argsort(randomness, kind="stable")]

    def wrong(order): return int(d_top(order, net.dag, names=net.names))
    def found(by): return wrong(causal_order(by, table.names, MEASURE, seed=seed).order)

    row = {
        "edges": int(net.dag.sum()),
        "v_error": round(float(np.abs(apart[0] - apart[1]).mean()), 6),
        "d_top_blanket": found(blanket),
        "d_top_marginal": wrong(marginal),
    }
    try: yield row | {"d_top_exact": found(exact)}
    except ValueError as error: yield row | {"failure": str(error).split(";")[0]}


ESTIMATION = Study(
    "estimation",
    [(graph, d, degree, seed)
     for d, degree, graph, seed in product((10, 20), (2, 4), GRAPHS, range(20))],
    "how far is the closed-form estimator from exact conditionals?",
    rows,
    key=KEY,
    columns=(*KEY, "edges", "v_error", "d_top_exact", "d_top_blanket", "d_top_marginal", "failure"),
    measured=(),
)

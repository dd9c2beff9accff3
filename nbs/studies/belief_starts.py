"""Does a search end where it ends because of where it began? One row per dataset and start.

A start is the network of a random order, with new tie-breaks. `gap`: nats below the best that is
known of the dataset (all starts, the default start, the order of the true graph improved).
"""
from itertools import product

import numpy as np

from discrete_score.data import as_table
from discrete_score.graphs import topological_order
from discrete_score.networks import load_network
from discrete_score.scores import families_of
from discrete_score.search import Ordering, ParentSets, best_ordering
from discrete_score.studies import Study

KEY = "name", "seed"
NAMES = "alarm", "insurance", "hailfinder"
STARTS = 10


def rows(setting):
    "One dataset."
    name, seed = setting
    net = load_network(name)
    table, dag = as_table(net.sample(10_000, seed=seed), unused="drop"), net.dag
    families, values = families_of(table, "qnml"), {}
    for k in range(STARTS):
        order = np.random.default_rng([seed, k]).permutation(table.d)
        start = Ordering(ParentSets(families, seed=k), order).network
        values[k] = best_ordering(families, start, patience=2, climbs=8, seed=k).value
    values["default"] = best_ordering(families, patience=2, climbs=8, seed=0).value
    true = Ordering(ParentSets(families), topological_order(dag)).improve().value
    best = max(true, *values.values())
    for start, value in values.items(): yield {"start": start, "gap": round(best - value, 3)}


BELIEF_STARTS = Study(
    "belief_starts", list(product(NAMES, range(10))),
    "does a search end where it ends because of where it began?", rows,
    key=KEY, columns=(*KEY, "start", "gap"), measured=(),
)

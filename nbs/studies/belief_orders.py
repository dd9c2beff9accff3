"""Misordered edges of the orders that the belief leads to: one row per dataset.

The datasets are those of the study `guide`, whose rows are the ones of version 0.1.0, with the coin
inside the true class. Every share is D_top divided by the number of edges:

    kl_uniform  the criterion decides what the belief lets through; the default
    auto        the same with the measure that `choose_measure` chooses
    coin        a random choice among what the belief lets through (mean of 10)
    held        pairs of columns whose order is compelled
"""
import warnings
from pathlib import Path

import numpy as np

from discrete_score.belief import Belief
from discrete_score.blanket import BlanketScore
from discrete_score.diagnosis import choose_measure
from discrete_score.graphs import d_top
from discrete_score.guide import coin_order, guided_order
from discrete_score.studies import Study, load_studies, named_network, sample_dataset

guide = load_studies(Path(__file__).with_name("guide.py"))


def rows(setting):
    "One dataset."
    name, n, seed = setting
    data = sample_dataset(named_network(name, seed=seed), n, seed=seed)
    table, dag = data.table, data.dag
    estimator, belief = BlanketScore().fit(table), Belief(rehearsals=0).fit(table)

    def share(order): return round(d_top(order, dag, names=table.names)/max(int(dag.sum()), 1), 4)
    coins = [share(coin_order(belief, seed=k)) for k in range(10)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*varentropy.*")
        picked = choose_measure(estimator, table, guide=belief)
    order = guided_order(estimator, table.names, "kl_uniform", belief).order
    yield {"d": table.d, "edges": int(dag.sum()), "kl_uniform": share(order),
           "auto": share(picked.result.order), "coin": round(float(np.mean(coins)), 4),
           "held": int(belief.joint_.sum())}


BELIEF_ORDERS = Study(
    "belief_orders", guide.settings(), "misordered edges of the orders of the belief.", rows,
    key=guide.KEY, columns=(*guide.KEY, "d", "edges", "kl_uniform", "auto", "coin", "held"),
    measured=(),
)

"""What an order adds to a structure learner: one row per graph, 10,000 rows of data each.

`dag_choice`: which score finds the true parents, on seeds from 100 on. With it the score of
`parents` (BDeu, sample size by marginal likelihood, log d nats per edge) was fixed before `dag` was
run, which judges on seeds 0 to 9.

Orders: `true`; `found` (DiscreteScore with its defaults); `random` (the null). Stages:

    blind      the learner alone: a random member of its class (means of 20)
    oriented   the member that follows the order where the class allows it
    insert     oriented, then edges from predecessors by the learner's own score (gain: their worth)
    prune      the learner's graph without what goes against the order
    inside     the learner constrained to the order
    parents    best parents among predecessors (base `none`; bdeu:1 and bic beside it)

`limit` is what the skeleton allows: pairs that are adjacent in one graph and not in the other,
which no orientation mends. PC, GAM and ORDCD take long on larger networks, and run on all datasets
of Earthquake and Sachs and on four of Child only.
"""
import warnings
from itertools import product

import numpy as np

from discrete_score.baselines import learn
from discrete_score.dag import insert, own_score, parents, parents_score, prune
from discrete_score.discover import DiscreteScore
from discrete_score.graphs import d_top, skeleton, topological_order
from discrete_score.guide import random_order
from discrete_score.metrics import evaluate, shd
from discrete_score.scores import families_of
from discrete_score.studies import Study, named_network, sample_dataset

KEY = "network", "seed"
BASES = "ges", "ges-bdeu", "pc", "gam", "ordcd"
MEANS = ("n_edges", "shd", "limit", "sid", "recall", "precision", "skeleton_f1", "direction_f1")


def dataset(setting):
    "A table and the true DAG over its columns."
    name, seed = setting
    data = sample_dataset(named_network(name, seed=seed), 10_000, seed=seed)
    return data.table, data.dag


def choice_rows(setting):
    "How many edges are wrong under a true order, for several scores."
    table, dag = dataset(setting)
    order = topological_order(dag, seed=setting[1])
    scores = {text: families_of(table, text) for text in ("bdeu:1", "bdeu:10", "bic")}
    for k in (0, .5, 1, 2):
        scores[f"evidence, {k:g} log d"] = parents_score(table, order, edge_cost=k*np.log(table.d))
    for text, score in scores.items():
        size = getattr(score.rule, "sample_size", "")
        yield {"score": text, "size": size, "shd": shd(parents(order, score), dag)}


CHOICE = ("earthquake", "sachs", "child", "asia", "cancer", "survey", "insurance",
          "ER d=10", "ER d=20")
DAG_CHOICE = Study(
    "dag_choice", product(CHOICE, range(100, 110)),
    "which score finds the true parents under a true order?", choice_rows,
    key=KEY, columns=(*KEY, "score", "size", "shd"), measured=(),
)


def judged(graph, dag):
    "The numbers of one graph."
    e = evaluate(graph, dag)
    return {
        "n_edges": e.n_est, "shd": e.shd,
        "limit": int((skeleton(graph) ^ skeleton(dag)).sum())//2,
        "sid": "" if e.sid is None else e.sid,
        "recall": round(e.f1.direction_recall, 4), "precision": round(e.f1.direction_precision, 4),
        "skeleton_f1": round(e.f1.skeleton, 4), "direction_f1": round(e.f1.direction, 4),
    }


def with_learner(table, dag, base, orders):
    "What a learner finds alone, and what each order makes of it: order, stage, numbers."
    alone, score = learn(table, base), own_score(table, base)
    yield "none", "class", judged(alone.graph, dag)
    for kind, order in orders.items():
        oriented = alone.dag(order)
        yield kind, "oriented", judged(oriented, dag)
        yield kind, "prune", judged(prune(alone.graph, order, names=table.names), dag)
        yield kind, "inside", judged(learn(table, base, order=order).graph, dag)
        if score is None: continue
        more = insert(oriented, order, score)
        yield kind, "insert", judged(more.dag, dag) | {"gain": round(more.gain, 2)}
    members = [judged(alone.dag(seed=k), dag) for k in range(20)]
    yield "none", "blind", {m: round(float(np.mean([e[m] for e in members])), 4) for m in MEANS}


def with_parents(table, dag, order):
    "The best parents among the predecessors: stage, numbers."
    own = parents_score(table, order)
    note = f"bdeu:{own.rule.sample_size:g}, log d per edge"
    yield "parents", judged(parents(order, own), dag) | {"note": note}
    for text in ("bdeu:1", "bic"):
        yield f"parents {text}", judged(parents(order, families_of(table, text)), dag)


def orders_of(table, dag, seed):
    "The orders that are tried."
    return {
        "true": [table.names[j] for j in topological_order(dag, seed=seed)],
        "found": DiscreteScore(identifiers="keep").fit(table).order_,
        "random": random_order(table.names, seed=seed),
    }


def graphs(table, dag, orders, bases):
    "All graphs of one dataset: base, order, stage, numbers. Blind members come last."
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines = [(base, *line) for base in bases
                 for line in with_learner(table, dag, base, orders)]
        lines += [("none", kind, *line) for kind, order in orders.items()
                  for line in with_parents(table, dag, order)]
    return sorted(lines, key=lambda line: line[2] == "blind")


def rows(setting):
    "One dataset."
    (table, dag), (name, seed) = dataset(setting), setting
    orders = orders_of(table, dag, seed)
    wrong = {kind: d_top(order, dag, names=table.names) for kind, order in orders.items()}
    many = name in ("earthquake", "sachs") or name == "child" and seed < 4
    for base, order, stage, numbers in graphs(table, dag, orders, BASES if many else BASES[:2]):
        yield {"edges": int(dag.sum()), "order": order, "d_top": wrong.get(order, ""),
               "base": base, "stage": stage} | numbers


JUDGED = ("earthquake", "sachs", "child"), ("ER d=10", "ER d=20"), ("insurance", "alarm")
DAG = Study(
    "dag",
    [(name, seed) for group in JUDGED for seed, name in product(range(10), group)],
    "what does an order add to a structure learner?", rows,
    key=KEY,
    columns=(*KEY, "edges", "order", "d_top", "base", "stage", *MEANS, "gain", "note"),
    measured=(),
)

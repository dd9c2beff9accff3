"""How score, sample size, tolerance and what counts as compelled were chosen.

Other networks and other seeds than those that are judged (guide.py).

`guide_choice`: per dataset, score and tolerance (nats per log of the number of rows), D_top over
the number of edges without a guide, with it, and with a coin under the guide.

`guide_compelled`: per dataset and rule for what counts as compelled. The margin must exceed
`firmness` times the log of the number of rows; the rule `margin` asks for nothing more. In each
half of the rows, `drop` asks that dropping the arrow costs more than log d nats, `turn` that
turning it costs more than log d nats, `qnml` that it costs something under qNML, also with parents
chosen anew. `pairs` in the partial order; `pairs_right`: ancestor and descendant in the truth;
`pairs_true`: pairs that the true class compels; `pairs_found`: of these, in the partial order.
"""
from itertools import product

import numpy as np
import pandas as pd

from discrete_score.blanket import BlanketScore
from discrete_score.data import as_table
from discrete_score.graphs import d_top, dag_to_cpdag, reachable
from discrete_score.guide import EvidenceGuide, _Half, _halves, coin_order, guided_order
from discrete_score.order import causal_order
from discrete_score.studies import Study, named_network, sample_dataset

KEY = "setting", "n", "seed"
GRAPHS = ("ER", 10, 2), ("ER", 10, 4), ("ER", 20, 2), ("ER", 20, 4), ("SF", 20, 4)
SIMULATED = [f"{g} d={d} degree {k}" for g, d, k in GRAPHS]
SIZES = 10_000, 1000

# Score and tolerance

SCORES = "bdeu", "bdeu:1", "bdeu:10", "bdeu:100", "bic"
TOLERANCES, MEASURE = (.02, .1, .25, .5, 1.), "kl_uniform"
CHOICE = [(name, n, seed) for seed, n, name in product(range(500, 506), SIZES, SIMULATED)]
CHOICE += [(name, 10_000, seed)
           for seed, name in product(range(500, 504), ("asia", "cancer", "survey", "water"))]
CHOICE += [("hailfinder", 10_000, 500), ("hepar2", 10_000, 500), ("hailfinder", 10_000, 501)]


def choice_rows(setting):
    "One dataset, every score and tolerance."
    name, n, seed = setting
    data = sample_dataset(named_network(name, seed=seed), n, seed=seed)
    names, estimator = data.table.names, BlanketScore().fit(data.table)

    def share(order): return round(d_top(order, data.dag, names=names)/int(data.dag.sum()), 4)

    none = share(causal_order(estimator, names, MEASURE).order)
    for score in SCORES:
        guide = EvidenceGuide(score).fit(data.table)
        size = getattr(guide.score_, "sample_size", "")
        for tolerance in TOLERANCES:
            guide.tau_ = tolerance*np.log(data.table.total)
            guided = share(guided_order(estimator, names, MEASURE, guide).order)
            coin = np.mean([share(coin_order(guide, seed=k)) for k in range(3)])
            yield {"score": score, "sample_size": size, "tolerance": tolerance,
                   "none": none, "guided": guided, "coin": round(float(coin), 4)}


GUIDE_CHOICE = Study(
    "guide_choice", CHOICE, "how score and tolerance of the guide were chosen.", choice_rows,
    key=KEY,
    columns=(*KEY, "score", "sample_size", "tolerance", "none", "guided", "coin"),
    measured=(),
)

# What counts as compelled

RULES = {"margin": (), "drop": (0,), "drop, turn": (0, 1), "drop, qnml": (0, 2, 3),
         "drop, turn, qnml": (0, 1, 2, 3)}
NOISE = [(f"noise d={d} states {k}", n, seed) for seed, (d, k, n) in product(
    range(500, 510), ((6, 2, 60), (10, 3, 100), (10, 2, 200), (20, 3, 200)))]
NAMES = [*product(SIMULATED, SIZES),
         *product(("asia", "survey", "water", "hailfinder", "hepar2"), SIZES)]
COMPELLED = NOISE + [(name, n, seed) for seed, (name, n) in product(range(500, 502), NAMES)]


def table_of(name, n, seed):
    "A table and the true DAG over its columns; noise has no edges."
    if "noise" not in name:
        data = sample_dataset(named_network(name, seed=seed), n, seed=seed)
        return data.table, data.dag
    _, columns, _, states = name.split()
    d, states = int(columns[2:]), int(states)
    codes = np.random.default_rng([d, states, n, seed]).integers(0, states, (n, d))
    frame = pd.DataFrame(codes, columns=[f"c{k}" for k in range(d)])
    return as_table(frame, unused="drop", identifiers="keep"), np.zeros((d, d), dtype=bool)


def answers(half, i, j, turned):
    "What one half says to an arrow: to dropping it, and to turning it, also under qNML and anew."
    needs = half.enough, half.slack, half.slack
    turning = [loss > need for loss, need in zip(half.losses(turned), needs)]
    return [half.worth(i, j) > half.enough, *turning]


def compelled_rows(setting):
    "One dataset, every rule."
    table, dag = table_of(*setting)
    best = EvidenceGuide(confirm=False).fit(table).ordering_
    truth, cpdag, families = reachable(dag), dag_to_cpdag(dag), best.sets.families
    by_class = reachable(cpdag & ~cpdag.T)
    halves = [_Half(families, *part, best, None) for part in _halves(families, 0)]
    passed = {}
    for i, j in best.margins:
        said = [answers(half, i, j, best.turned[i, j]) for half in halves]
        passed[i, j] = [all(both) for both in zip(*said)]
    for firmness, (rule, needs) in product((.5, 1.), RULES.items()):
        arrows = np.zeros_like(dag)
        for (i, j), margin in best.margins.items():
            firm = margin > firmness*np.log(table.total)
            arrows[i, j] = firm and all(passed[i, j][k] for k in needs)
        before = reachable(arrows)
        yield {"firmness": firmness, "rule": rule, "pairs": before.sum(),
               "pairs_right": (before & truth).sum(), "pairs_true": by_class.sum(),
               "pairs_found": (before & by_class).sum()}


GUIDE_COMPELLED = Study(
    "guide_compelled", COMPELLED, "what should count as compelled?", compelled_rows,
    key=KEY,
    columns=(*KEY, "firmness", "rule", "pairs", "pairs_right", "pairs_true", "pairs_found"),
    measured=(),
)

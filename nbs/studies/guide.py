"""The guide against Algorithm 1 and against the nulls: one row per dataset.

Score, search and tolerance of the guide were chosen on other networks and on seeds from 500 on
(guide_choice.py). Every share is D_top divided by the number of edges, all on the same dataset:

    none_M      Algorithm 1 (`guide=None`) with measure M    guided_M  the same with the guide
    auto        the order that `choose_measure` chooses      picked    and its measure
    random      mean of 20 random orders                     marginal  columns sorted by H - log n
    coin        guide, random choice among what it lets through (mean of 10)
    class_coin  true class, random potential sink (mean of 10)
    class_M     true class, measure M decides

    pairs        pairs in the partial order
    pairs_right  of these, ancestor and descendant           pairs_wrong  the other way round
    pairs_true   pairs that the true class compels           pairs_found  of these, in the order
    margin_...   the same for a margin above log N in all rows and nothing else
"""
import warnings
from itertools import product

import numpy as np

from discrete_score.blanket import BlanketScore
from discrete_score.diagnosis import choose_measure
from discrete_score.graphs import d_top, dag_to_cpdag, reachable
from discrete_score.guide import (
    AUTO_MEASURES, ClassGuide, EvidenceGuide, coin_order, guided_order, marginal_order,
    random_order,
)
from discrete_score.order import causal_order
from discrete_score.studies import Study, named_network, sample_dataset

KEY = "setting", "n", "seed"
PAIRS = "arrows", "pairs", "pairs_right", "pairs_wrong", "pairs_true", "pairs_found"
PLACE = {"earthquake": 0, "sachs": 0, "child": 1, "insurance": 2, "alarm": 3, "mildew": 9}


def place(setting):
    "Small networks come first, and the first dataset of each before the second of any."
    name, _, seed = setting
    columns = name.partition(" ")[2].partition(" ")[0]
    return PLACE.get(name, {"d=20": 4, "d=40": 8, "d=60": 10}.get(columns, 0)), seed


def simulated(d): return [f"{graph} d={d} degree {k}" for k, graph in product((2, 4), ("ER", "SF"))]


def settings():
    "Names, numbers of rows and seeds."
    found = list(product(simulated(5), (10_000, 1000), range(10)))
    for d, seed in product((10, 20), range(10)):
        found += [(name, n, seed) for name, n in product(simulated(d), (10_000, 1000))]
    for seed in range(10): found += [(name, 10_000, seed) for name in list(PLACE)[:5]]
    for name in ("ER d=40 degree 2", "mildew"):
        found += [(name, 10_000, seed) for seed in range(10)]
    for d, seed in product((40, 60), range(5)):
        found += [(name, 1000, seed) for name in simulated(d)]
    return sorted(found, key=place)


def compared(guide, truth, dag):
    "A partial order against the truth."
    before, reach, compelled = guide.partial_order(), reachable(dag), truth.partial_order()
    counts = (before, before & reach, before & reach.T, compelled, before & compelled)
    return dict(zip(PAIRS, (len(guide.compelled()), *(int(c.sum()) for c in counts))))


def rows(setting):
    "One dataset."
    name, n, seed = setting
    data = sample_dataset(named_network(name, seed=seed), n, seed=seed)
    table, dag = data.table, data.dag
    estimator, guide = BlanketScore().fit(table), EvidenceGuide().fit(table)
    truth = ClassGuide(dag_to_cpdag(dag), table.names).fit(table)

    def share(order): return round(d_top(order, dag, names=table.names)/max(int(dag.sum()), 1), 4)
    def mean(orders): return round(float(np.mean([share(o) for o in orders])), 4)
    def guided(m, by): return share(guided_order(estimator, table.names, m, by).order)

    row = {"d": table.d, "edges": int(dag.sum()), "sample_size": guide.score_.sample_size}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*varentropy.*")
        for m in AUTO_MEASURES:
            row[f"none_{m}"] = share(causal_order(estimator, table.names, m).order)
            row |= {f"guided_{m}": guided(m, guide), f"class_{m}": guided(m, truth)}
        picked = choose_measure(estimator, table, guide=guide)
    row |= {"auto": share(picked.result.order), "picked": picked.measure,
            "vote": int(picked.agreement.deserves_vote), "marginal": share(marginal_order(table))}
    row["random"] = mean(random_order(table.names, seed=k) for k in range(20))
    row["coin"] = mean(coin_order(guide, seed=k) for k in range(10))
    row["class_coin"] = mean(coin_order(truth, seed=k) for k in range(10))
    alone = compared(EvidenceGuide(firmness=1., confirm=False).fit(table), truth, dag)
    yield row | compared(guide, truth, dag) | {f"margin_{k}": v for k, v in alone.items()}


def per_measure(kind): return [f"{kind}_{m}" for m in AUTO_MEASURES]


GUIDE = Study(
    "guide", settings(), "the guide against Algorithm 1 and against the nulls.", rows,
    key=KEY,
    columns=(*KEY, "d", "edges", "sample_size", *per_measure("none"), *per_measure("guided"),
             "auto", "picked", "vote", "random", "marginal", "coin", "class_coin",
             *per_measure("class"), *PAIRS, *(f"margin_{name}" for name in PAIRS)),
    measured=(),
)

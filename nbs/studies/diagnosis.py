"""What a diagnosis of an order is worth: five studies.

    diagnosis_levels    false positives and power by the number of columns given
    diagnosis_orders    the paper's study: 1,000 graphs, a random order each
    diagnosis_kernel    KCI tests on the rows of `diagnosis_orders` (the paper's second figure)
    diagnosis_ranking   orders at growing distance from a true one
    diagnosis_measures  what the rules of `choose_measure` choose, and what they could have chosen

The slack of the verdict was chosen on seeds from 500 on (ER, asia, survey, water, alarm), the rule
of `measure="auto"` by `diagnosis_ranking` (seeds from 100 on); what `diagnosis_measures` judges has
other seeds.
"""
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from discrete_score.blanket import BlanketScore
from discrete_score.data import as_table
from discrete_score.diagnosis import implied_dag
from discrete_score.graphs import check_order, d_top, topological_order
from discrete_score.guide import (
    AUTO_MEASURES, EvidenceGuide, agreement, guided_order)
from discrete_score.networks import random_network
from discrete_score.order import causal_order
from discrete_score.scores import families_of
from discrete_score.search import Ordering, ParentSets, choose_sample_size
from discrete_score.studies import Study, named_network, read_results, sample_dataset
from discrete_score.tests import TESTS, Sample

RESULTS = Path(__file__).parent/"results"
NAMES = list(TESTS)
N, ALPHA, MAX_DEGREE = 5_000, .01, 3
NETWORKS = "earthquake", "sachs", "child", "insurance", "alarm", "mildew"


class Remembering(Sample):
    "A sample that counts the strata of a pair once for all tests."
    def strata(self, i, j, given=()):
        key = i, j, tuple(given)
        if key not in self._memory: self._memory[key] = super().strata(i, j, given)
        return self._memory[key]


# Levels: true orders, every pair, every test

SEEDS = {10: 150, 20: 50, 32: 12}
LEVELS = sorted(((d, seed) for d, n in SEEDS.items() for seed in range(n)),
                key=lambda s: s[1]*{10: 1, 20: 1.5, 32: 6}[s[0]])
COUNTS = [f"{kind}_{t}" for t in NAMES for kind in ("answers", "rejects")]


def level_rows(setting):
    "Per number of columns given, for edges and other pairs: pairs, answers and rejections."
    d, seed = setting
    net = random_network(d, degree=2, states=(3, 6), seed=seed)
    order, sample = topological_order(net.dag, seed=seed), Remembering(net.sample(N, seed=seed))
    found = {t: implied_dag(order, sample, test=t, alpha=ALPHA).p_values for t in NAMES}
    place = np.argsort(order)
    given = np.broadcast_to(place - 1, (d, d))
    for k, edge in product(range(d - 1), (0, 1)):
        at = (given == k) & (place[:, None] < place) & (net.dag == edge)
        if not at.any(): continue
        row = {"given": k, "edge": edge, "pairs": int(at.sum())}
        for t in NAMES:
            row[f"answers_{t}"] = int(np.isfinite(found[t])[at].sum())
            row[f"rejects_{t}"] = int((found[t] < ALPHA)[at].sum())
        yield row


DIAGNOSIS_LEVELS = Study(
    "diagnosis_levels", LEVELS, "does a test hold its level, and what does it find?", level_rows,
    key=("d", "seed"), columns=("d", "seed", "given", "edge", "pairs", *COUNTS), measured=(),
)

# Orders: the paper's study

SLOW = 150  # The logit test takes part on so many graphs only
ORDER_TESTS = "chi2", "cmh", "logit", "screened"
KNOWN = "d", "degree", "edges", "max_in_degree", "d_top", "d_top_other", "deficit"


def order_rows(setting, factor=1, tests=ORDER_TESTS):
    "A random graph, a random order, and what every indicator says: in-degrees joined by spaces."
    graph, = setting
    rng = np.random.default_rng([7, graph])
    d, degree = int(rng.integers(5, 31)), factor*float(rng.integers(2, 5))
    net = random_network(d, degree=min(degree, d - 1), states=(3, 6), seed=rng)
    table = as_table(net.sample(N, seed=rng), unused="drop")
    order, other = rng.permutation(d), rng.permutation(d)
    families, greedy = choose_sample_size(families_of(table, "bdeu"))
    sets, sample = ParentSets(families), Remembering(table)
    lost = Ordering(sets, topological_order(greedy)).value - Ordering(sets, order).value
    row = {"d": d, "degree": int(degree), "edges": int(net.dag.sum()),
           "max_in_degree": int(net.dag.sum(0).max()), "d_top": d_top(order, net.dag),
           "d_top_other": d_top(other, net.dag), "deficit": round(lost, 3) + 0.}
    for t in tests:
        if t == "logit" and graph >= SLOW: continue
        found = implied_dag(order, sample, test=t, alpha=ALPHA)
        row[f"degrees_{t}"] = " ".join(map(str, found.in_degrees))
        row[f"untestable_{t}"] = len(found.reasons)
    yield row


def indicators(rows, tests=ORDER_TESTS):
    "D_top over (d choose 2), and every indicator of the rows of `diagnosis_orders`."
    numbers = rows[["graph", *KNOWN]].astype(float)
    pairs = numbers.d*(numbers.d - 1)/2
    numbers["error"], numbers["error_other"] = numbers.d_top/pairs, numbers.d_top_other/pairs
    numbers["evidence"] = numbers.deficit/(N*pairs)
    for t, m in product(tests, range(1, 7)):
        def share(text): return np.mean([int(k) > m for k in text.split()]) if text else np.nan
        numbers[f"{t}_{m}"] = rows[f"degrees_{t}"].map(share)
    return numbers


def partial(x, y, given):
    "Spearman's correlation of `x` and `y` after their ranks were regressed on those of `given`."
    def ranks(v): return pd.Series(np.asarray(v, float)).rank().to_numpy()
    base = np.column_stack([np.ones(len(x)), *map(ranks, given)])
    left = [r - base @ np.linalg.lstsq(base, r, rcond=None)[0] for r in (ranks(x), ranks(y))]
    return float(np.corrcoef(left)[0, 1]) if min(v.std() for v in left) > 1e-9 else 0.


DIAGNOSIS_ORDERS = Study(
    "diagnosis_orders", [(graph,) for graph in range(1000)],
    "does the number of parents tell how wrong an order is?", order_rows,
    key=("graph",), measured=(),
    columns=("graph", *KNOWN,
             *(f"{kind}_{t}" for t in ORDER_TESTS for kind in ("degrees", "untestable"))),
)

# Kernel: KCI tests of dependence given the numbers of nodes and edges

KERNEL_KEY = "n", "indicator", "max_in_degree", "against"
SIZES, AGAINST = (100, 200, 500, 1000), ("error", "error_other")
KERNELS = [(n, indicator, m, against)
           for n, against, indicator, m in product(SIZES, AGAINST, ORDER_TESTS, range(1, 7))
           if indicator != "logit" or n <= SLOW]
KERNELS += [(n, "evidence", 0, against) for n, against in product(SIZES, AGAINST)]


def kernel_rows(setting):
    "p-value of KCI with polynomial kernels, on the first `n` graphs."
    from causallearn.utils.cit import CIT
    n, indicator, m, against = setting
    numbers = indicators(read_results(RESULTS/"diagnosis_orders.csv")).sort_values("graph")
    if len(numbers) < n: raise ValueError(f"only {len(numbers)} of {n} graphs are stored.")
    numbers = numbers.iloc[:n]
    x = numbers[indicator if indicator == "evidence" else f"{indicator}_{m}"].to_numpy()
    if x.std() == 0:
        yield {"p_value": 1.}
        return
    data = np.column_stack([x, numbers[against], numbers.d, numbers.edges])
    data = (data - data.mean(0))/data.std(0)
    np.random.seed(0)
    kernels = {f"kernel{name}": "Polynomial" for name in "XYZ"}
    yield {"p_value": float(f"{CIT(data, 'kci', **kernels)(0, 1, [2, 3]):.6g}")}


DIAGNOSIS_KERNEL = Study(
    "diagnosis_kernel", KERNELS, "do indicators depend on the error, given the graph's size?",
    kernel_rows, key=KERNEL_KEY, columns=(*KERNEL_KEY, "p_value"), measured=(),
)

# Ranking: orders at growing distance from a true one

DISTANCES = 0, .02, .05, .1, .2, .35, .5, .75, 1.
RANKING_TESTS = "chi2", "cmh", "screened"
SMALL = [f"ER d={d} degree {k}" for d, k in ((10, 2), (10, 4), (20, 2), (20, 4))]
RANKING = [(name, seed) for seed, name in product(range(100, 106), (*SMALL, *NETWORKS[:3]))]
RANKING += [(name, seed) for seed, name in product(range(100, 102), NETWORKS[3:5])]


def shuffled(order, distance, rng):
    "The order after noise was added to the places: none at distance 0, nothing but noise at 1."
    place = np.arange(len(order))/len(order)
    return np.asarray(order)[np.argsort((1 - distance)*place + distance*rng.random(len(order)))]


def ranking_rows(setting):
    "One dataset, a true order with more and more noise on it, and every indicator."
    name, seed = setting
    data = sample_dataset(named_network(name, seed=seed), N, seed=seed)
    table, dag, rng = data.table, data.dag, np.random.default_rng([8, seed])
    sample, guide = Sample(table), EvidenceGuide().fit(table)
    true, compelled = topological_order(dag, seed=seed), guide.compelled()
    for distance in DISTANCES:
        order = shuffled(true, distance, rng)
        place = np.argsort(order)
        turned = [place[i] > place[j] for i, j in compelled]
        lost = guide.ordering_.value - guide.evidence([table.names[k] for k in order])
        row = {"distance": distance, "d": table.d, "edges": int(dag.sum()),
               "d_top": d_top(order, dag), "deficit": round(lost, 3) + 0.,
               "against": round(float(np.mean(turned)), 4) if compelled else 0.}
        for t in RANKING_TESTS:
            found = implied_dag(order, sample, test=t, alpha=ALPHA)
            row[f"share_{t}"] = round(found.share_above(MAX_DEGREE), 4)
            row[f"mean_{t}"] = round(float(found.in_degrees.mean()), 4)
        yield row


DIAGNOSIS_RANKING = Study(
    "diagnosis_ranking", RANKING, "which indicator ranks orders best?", ranking_rows,
    key=("setting", "seed"), measured=(),
    columns=("setting", "seed", "distance", "d", "edges", "d_top", "deficit", "against",
             *(f"{kind}_{t}" for t in RANKING_TESTS for kind in ("share", "mean"))),
)

# Measures: every measure's order with what the rules look at

MEASURE_KEY = "setting", "n", "seed", "use"
SIMULATED = [f"{g} d={d} degree {k}"
             for d, k, g in product((5, 10, 20), (2, 4), ("ER", "SF")) if k < d - 1]
MEASURES = [(name, 10_000, seed, "judged")
            for seed, name in product(range(20, 25), (*NETWORKS[:3], *SIMULATED))]
MEASURES += [(name, 10_000, seed, "judged")
             for seed, name in product(range(20, 22), NETWORKS[3:])]
MEASURES += [(name, n, seed, "choice")
             for seed, n, name in product(range(500, 506), (10_000, 1000), SIMULATED)]
MEASURES += [(name, 10_000, seed, "choice")
             for seed, name in product(range(500, 505), ("asia", "cancer", "survey", "water"))]


def apart(orders, table):
    "How far each order is from the others: pairs that they order in opposite ways, on average."
    places = np.array([np.argsort(check_order(o, table.d, table.names)) for o in orders])
    before = places[:, :, None] < places[:, None]
    return (before[:, None] != before[None]).mean((2, 3)).sum(1)/(len(orders) - 1)


def measure_rows(setting):
    "Per guide and measure: edges lost (D_top over their number), and what the rules compare."
    name, n, seed, _ = setting
    data = sample_dataset(named_network(name, seed=seed), n, seed=seed)
    table, dag, edges = data.table, data.dag, int(data.dag.sum())
    estimator, guide, sample = BlanketScore().fit(table), EvidenceGuide().fit(table), Sample(table)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*varentropy.*")
        alone = [causal_order(estimator, table.names, m) for m in AUTO_MEASURES]
        guided = [guided_order(estimator, table.names, m, guide) for m in AUTO_MEASURES]
    for kind, found in (("none", alone), ("evidence", guided)):
        far = apart([r.order for r in found], table)
        for result, single, distance in zip(found, alone, far):
            agreed = agreement(single, guide)
            above = [round(implied_dag(result.order, sample, test=t).share_above(MAX_DEGREE), 4)
                     for t in ("chi2", "screened")]
            lost = d_top(result.order, dag, names=table.names)/max(edges, 1)
            yield {"guide": kind, "measure": result.measure, "d": table.d, "edges": edges,
                   "tau": round(guide.tau_, 4), "lost": round(lost, 4),
                   "evidence": round(guide.evidence(result.order), 3), "right": agreed.right,
                   "compelled": agreed.total, "above": above[0], "above_screened": above[1],
                   "apart": round(float(distance), 4)}


DIAGNOSIS_MEASURES = Study(
    "diagnosis_measures", MEASURES, "does choosing the measure pay?", measure_rows,
    key=MEASURE_KEY, measured=(),
    columns=(*MEASURE_KEY, "guide", "measure", "d", "edges", "tau", "lost", "evidence", "right",
             "compelled", "above", "above_screened", "apart"),
)

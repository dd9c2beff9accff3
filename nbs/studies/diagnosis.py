"""What a diagnosis of an order is worth: four studies, one row appended as soon as it is finished.

    python nbs/studies/diagnosis.py levels      # false positives and power by the number of columns given
    python nbs/studies/diagnosis.py orders      # the paper's study: 1,000 graphs, a random order each
    python nbs/studies/diagnosis.py kernel      # KCI tests on the rows of `orders` (its second figure)
    python nbs/studies/diagnosis.py ranking     # orders at growing distance from a true one
    python nbs/studies/diagnosis.py measures    # what the rules of `choose_measure` choose, and what they could have chosen
    python nbs/studies/diagnosis.py --check 2   # computes two stored rows of each study again and compares

Each computes what is missing in results/diagnosis_*.csv. Settings and seeds are fixed here. The slack of the verdict was chosen on seeds from 500 on
(ER, asia, survey, water, alarm), the rule of `measure="auto"` by `ranking` (seeds from 100 on); what `measures` judges has other seeds.
"""
import argparse, sys, time, warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

import discrete_score as ds
from guide_choice import dataset
from rows import append, stored
from discrete_score.diagnosis import TESTS, Sample, implied_dag
from discrete_score.families import families_of
from discrete_score.guide import AUTO_MEASURES, EvidenceGuide, agreement, choose_sample_size, guided_order
from discrete_score.order import causal_order
from discrete_score.search import Ordering, ParentSets

warnings.filterwarnings("ignore", message=".*varentropy.*")
RESULTS = Path(__file__).parent / "results"
NAMES = list(TESTS)
N, ALPHA, MAX_DEGREE = 5_000, .01, 3


class Remembering(Sample):
    "A sample that counts the strata of a pair once for all tests."
    def strata(self, i, j, given=()):
        key = i, j, tuple(given)
        if key not in self._memory: self._memory[key] = super().strata(i, j, given)
        return self._memory[key]


# ---- levels: true orders, every pair, every test

LEVELS = sorted(((d, seed) for d, seeds in ((10, range(150)), (20, range(50)), (32, range(12))) for seed in seeds), key=lambda s: s[1]*{10: 1, 20: 1.5, 32: 6}[s[0]])
LEVEL_FIELDS = ["d", "seed", "given", "edge", "pairs", *(f"{kind}_{t}" for t in NAMES for kind in ("answers", "rejects"))]


def level_rows(d, seed):
    "Per number of columns given, and for edges and other pairs: pairs, answers and rejections of every test."
    net = ds.random_network(d, degree=2, states=(3, 6), seed=seed)
    order, sample = ds.topological_order(net.dag, seed=seed), Remembering(net.sample(N, seed=seed))
    found = {t: implied_dag(order, sample, test=t, alpha=ALPHA).p_values for t in NAMES}
    place = np.argsort(order)
    given = np.broadcast_to(place - 1, (d, d))
    for k, edge in product(range(d - 1), (0, 1)):
        at = (given == k) & (place[:, None] < place) & (net.dag == edge)
        if not at.any(): continue
        yield {"d": d, "seed": seed, "given": k, "edge": edge, "pairs": int(at.sum())} | {f"{kind}_{t}": int(value[at].sum()) for t in NAMES
              for kind, value in (("answers", np.isfinite(found[t])), ("rejects", found[t] < ALPHA))}


# ---- orders: the paper's study

GRAPHS, SLOW = 1000, 150  # graphs in all; the logit test on the first `SLOW` of them only
ORDER_TESTS = ("chi2", "cmh", "logit", "screened")
ORDER_FIELDS = ["graph", "d", "degree", "edges", "max_in_degree", "d_top", "d_top_other", "deficit", *(f"{kind}_{t}" for t in ORDER_TESTS for kind in ("degrees", "untestable"))]


def order_row(graph):
    "A random graph, a random order, and what every indicator says. Degrees are written as in-degrees of the columns but the first, joined by spaces."
    rng = np.random.default_rng([7, graph])
    d, degree = int(rng.integers(5, 31)), float(rng.integers(2, 5))
    net = ds.random_network(d, degree=min(degree, d - 1), states=(3, 6), seed=rng)
    table = ds.as_table(net.sample(N, seed=rng), unused="drop")
    order, other = rng.permutation(d), rng.permutation(d)
    row = {"graph": graph, "d": d, "degree": int(degree), "edges": int(net.dag.sum()), "max_in_degree": int(net.dag.sum(0).max()), "d_top": ds.d_top(order, net.dag), "d_top_other": ds.d_top(other, net.dag)}
    families, greedy = choose_sample_size(families_of(table, "bdeu"))
    sets, sample = ParentSets(families), Remembering(table)
    row["deficit"] = round(Ordering(sets, ds.topological_order(greedy)).value - Ordering(sets, order).value, 3) + 0.
    for t in ORDER_TESTS:
        if t == "logit" and graph >= SLOW: continue
        found = implied_dag(order, sample, test=t, alpha=ALPHA)
        row |= {f"degrees_{t}": " ".join(map(str, found.in_degrees)), f"untestable_{t}": len(found.reasons)}
    return row


def indicators(rows):
    "D_top over (d choose 2), and every indicator of the rows of `orders`, as numbers."
    frame = pd.DataFrame(rows)
    numbers = frame[["graph", "d", "degree", "edges", "max_in_degree", "d_top", "d_top_other", "deficit"]].astype(float)
    pairs = numbers.d*(numbers.d - 1)/2
    numbers["error"], numbers["error_other"], numbers["evidence"] = numbers.d_top/pairs, numbers.d_top_other/pairs, numbers.deficit/(N*pairs)
    for t, m in product(ORDER_TESTS, range(1, 7)):
        share = lambda text: np.mean([int(k) > m for k in text.split()]) if isinstance(text, str) and text else np.nan
        numbers[f"{t}_{m}"] = frame[f"degrees_{t}"].map(share)
    return numbers


def partial(x, y, given):
    "Spearman's correlation of `x` and `y` after ranks were regressed on the ranks of `given`; without `given` the plain one."
    ranks = lambda v: pd.Series(np.asarray(v, float)).rank().to_numpy()
    base = np.column_stack([np.ones(len(x)), *map(ranks, given)])
    left = [r - base @ np.linalg.lstsq(base, r, rcond=None)[0] for r in (ranks(x), ranks(y))]
    return float(np.corrcoef(left)[0, 1]) if min(v.std() for v in left) > 1e-9 else 0.


# ---- kernel: KCI tests of dependence given the numbers of nodes and edges

SIZES, HYPOTHESES = (100, 200, 500, 1000), range(1, 7)
KERNELS = [(n, indicator, m, against) for n, against, indicator, m in product(SIZES, ("error", "error_other"), ORDER_TESTS, HYPOTHESES) if indicator != "logit" or n <= SLOW]
KERNELS += [(n, "evidence", 0, against) for n, against in product(SIZES, ("error", "error_other"))]
KERNEL_FIELDS = ["n", "indicator", "max_in_degree", "against", "p_value"]


def kernel_row(n, indicator, m, against):
    "p-value of KCI with polynomial kernels, on the first `n` graphs; `error_other` belongs to another random order of the same graph."
    from causallearn.utils.cit import CIT
    numbers = indicators(stored(RESULTS / "diagnosis_orders.csv")).sort_values("graph").iloc[:n]
    x = numbers[indicator if indicator == "evidence" else f"{indicator}_{m}"].to_numpy()
    row = {"n": n, "indicator": indicator, "max_in_degree": m, "against": against}
    if x.std() == 0: return row | {"p_value": 1.}
    data = np.column_stack([x, numbers[against], numbers.d, numbers.edges])
    data = (data - data.mean(0))/data.std(0)
    np.random.seed(0)
    return row | {"p_value": float(f"{CIT(data, 'kci', kernelX='Polynomial', kernelY='Polynomial', kernelZ='Polynomial')(0, 1, [2, 3]):.6g}")}


# ---- ranking: orders at growing distance from a true one

NETWORKS = ("earthquake", "sachs", "child", "insurance", "alarm", "mildew")
CHOICE = ("asia", "cancer", "survey", "water")
DISTANCES = (0, .02, .05, .1, .2, .35, .5, .75, 1.)
RANKING_TESTS = ("chi2", "cmh", "screened")
RANKING = [(s, seed) for seed, s in product(range(100, 106), (*(f"ER d={d} degree {k}" for d, k in ((10, 2), (10, 4), (20, 2), (20, 4))), *NETWORKS[:3]))] + [(s, seed) for seed, s in product(range(100, 102), NETWORKS[3:5])]
RANKING_FIELDS = ["setting", "seed", "distance", "d", "edges", "d_top", "deficit", "against", *(f"{kind}_{t}" for t in RANKING_TESTS for kind in ("share", "mean"))]


def shuffled(order, distance, rng):
    "The order after noise was added to the places: none at distance 0, nothing but noise at 1."
    place = np.arange(len(order))/len(order)
    return np.asarray(order)[np.argsort((1 - distance)*place + distance*rng.random(len(order)))]


def ranking_rows(setting, seed):
    "One dataset, a true order with more and more noise on it, and every indicator."
    table, dag = dataset(setting, N, seed)
    rng, sample, guide = np.random.default_rng([8, seed]), Sample(table), EvidenceGuide().fit(table)
    true, compelled = ds.topological_order(dag, seed=seed), guide.compelled()
    for distance in DISTANCES:
        order = shuffled(true, distance, rng)
        place = np.argsort(order)
        row = {"setting": setting, "seed": seed, "distance": distance, "d": table.d, "edges": int(dag.sum()), "d_top": ds.d_top(order, dag),
               "deficit": round(guide.ordering_.value - guide.evidence([table.names[k] for k in order]), 3) + 0., "against": round(float(np.mean([place[i] > place[j] for i, j in compelled])), 4) if compelled else 0.}
        for t in RANKING_TESTS:
            found = implied_dag(order, sample, test=t, alpha=ALPHA)
            row |= {f"share_{t}": round(found.share_above(MAX_DEGREE), 4), f"mean_{t}": round(float(found.in_degrees.mean()), 4)}
        yield row


# ---- measures: every measure's order with what the rules look at

SIMULATED = [f"{g} d={d} degree {k}" for d, k, g in product((5, 10, 20), (2, 4), ("ER", "SF")) if k < d - 1]
CHOSEN_ON = [(s, n, seed, "choice") for seed, n, s in product(range(500, 506), (10_000, 1000), SIMULATED)] + [(s, 10_000, seed, "choice") for seed, s in product(range(500, 505), CHOICE)]
JUDGED_ON = [(s, 10_000, seed, "judged") for seed, s in product(range(20, 25), (*NETWORKS[:3], *SIMULATED))] + [(s, 10_000, seed, "judged") for seed, s in product(range(20, 22), NETWORKS[3:])]
MEASURES = JUDGED_ON + CHOSEN_ON
MEASURE_FIELDS = ["setting", "n", "seed", "use", "guide", "measure", "d", "edges", "tau", "lost", "evidence", "right", "compelled", "above", "above_screened", "apart"]


def measure_rows(setting, n, seed, use):
    "Per guide and measure: edges lost (D_top over their number), and what the rules compare."
    table, dag = dataset(setting, n, seed)
    estimator, guide = ds.BlanketScore().fit(table), EvidenceGuide().fit(table)
    sample, alone = Sample(table), [causal_order(estimator, table.names, m) for m in AUTO_MEASURES]
    for kind in ("none", "evidence"):
        found = alone if kind == "none" else [guided_order(estimator, table.names, m, guide) for m in AUTO_MEASURES]
        places = np.array([np.argsort(ds.check_order(r.order, table.d, table.names)) for r in found])
        before = places[:, :, None] < places[:, None]
        apart = (before[:, None] != before[None]).mean((2, 3)).sum(1)/(len(found) - 1)
        for k, (result, single) in enumerate(zip(found, alone)):
            agreed = agreement(single, guide)
            above = [round(implied_dag(result.order, sample, test=t).share_above(MAX_DEGREE), 4) for t in ("chi2", "screened")]
            yield dict(zip(MEASURE_FIELDS, (setting, n, seed, use, kind, result.measure, table.d, int(dag.sum()), round(guide.tau_, 4), round(ds.d_top(result.order, dag, names=table.names)/max(int(dag.sum()), 1), 4),
                                            round(guide.evidence(result.order), 3), agreed.right, agreed.total, *above, round(float(apart[k]), 4))))


# ---- the files

STUDIES = {  # name: (settings, fields, how many of them name a setting, the rows of a setting)
    "levels": (LEVELS, LEVEL_FIELDS, ("d", "seed"), lambda *s: list(level_rows(*s))),
    "orders": ([(g,) for g in range(GRAPHS)], ORDER_FIELDS, ("graph",), lambda g: [order_row(g)]),
    "kernel": (KERNELS, KERNEL_FIELDS, ("n", "indicator", "max_in_degree", "against"), lambda *s: [kernel_row(*s)]),
    "ranking": (RANKING, RANKING_FIELDS, ("setting", "seed"), lambda *s: list(ranking_rows(*s))),
    "measures": (MEASURES, MEASURE_FIELDS, ("setting", "n", "seed", "use"), lambda *s: list(measure_rows(*s))),
}


def run(name, seconds=np.inf):
    "Compute what is missing, for `seconds` of processor time at most."
    settings, fields, key, rows = STUDIES[name]
    path = RESULTS / f"diagnosis_{name}.csv"
    done = {tuple(row[k] for k in key) for row in stored(path)}
    graphs = len(stored(RESULTS / "diagnosis_orders.csv"))
    for setting in settings:
        if name == "kernel" and setting[0] > graphs: continue
        if time.process_time() > seconds: return False
        if tuple(map(str, setting)) not in done: append(path, fields, *rows(*setting))
    return True


def check(name, n, *, seed=0, largest=12):
    "Compute `n` stored settings again, drawn at random among those with at most `largest` columns; an error if a number differs."
    settings, fields, key, rows = STUDIES[name]
    old = [row for row in stored(RESULTS / f"diagnosis_{name}.csv") if int(row.get("d", row.get("n"))) <= (largest if "d" in row else 200)]
    there = sorted({tuple(row[k] for k in key) for row in old})
    for k in np.random.default_rng(seed).choice(len(there), n, replace=False):
        setting = next(s for s in settings if tuple(map(str, s)) == there[k])
        again = [{f: str(row.get(f, "")) for f in fields} for row in rows(*setting)]
        if again != [row for row in old if tuple(row[k] for k in key) == there[k]]: raise ValueError(f"{name} {setting}: computed {again}, which is not what is stored")
    return n


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("study", nargs="?", choices=list(STUDIES))
    parser.add_argument("--check", type=int, metavar="N", help="compute N stored settings of each study again")
    parser.add_argument("--seconds", type=float, default=np.inf, help="stop after so much processor time; exit code 3 if something is left")
    args = parser.parse_args()
    if args.check: print("; ".join(f"{check(name, args.check)} settings of {name} agree" for name in STUDIES))
    elif args.study: sys.exit(0 if run(args.study, args.seconds) else 3)
    else: parser.error("name a study, or --check N")

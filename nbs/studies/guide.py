"""The guide against Algorithm 1 and against the nulls. One row per dataset, appended as it is finished.

    python nbs/studies/guide.py             # computes what is missing in results/guide.csv
    python nbs/studies/guide.py --again     # computes anew what the guide says about stored rows, into results/guide_again.csv
    python nbs/studies/guide.py --check 2   # computes two stored rows again and compares

Settings and seeds are fixed here. Score, search and tolerance of the guide were chosen on other networks and on seeds from 500 on
(studies/guide_choice.py). Every share is D_top divided by the number of edges, all on the same dataset:

    none_M       Algorithm 1 (`guide=None`) with measure M        guided_M   the same with the evidence guide
    auto         the order that `pick_measure` picks              picked     and its measure
    random       mean of 20 random orders                         marginal   columns sorted once by H - log n
    coin         evidence guide, random choice among what it lets through (mean of 10)
    class_coin   true class, random potential sink (mean of 10)   class_M    true class, measure M decides
guide.csv holds the partial order by margins above log N alone; guide_again.csv holds, for the same datasets, what the guide says since both halves of the rows must confirm it and ties ignore the order of columns.

    pairs        pairs in the partial order; pairs_right: ancestor and descendant; pairs_wrong: the other way round;
                 pairs_true: pairs that the true class compels; pairs_found: of these, how many are in the partial order
"""
import argparse, sys, warnings
from itertools import product
from pathlib import Path

import numpy as np

import discrete_score as ds
from rows import append, stored
from discrete_score.graphs import dag_to_cpdag, reachable
from discrete_score.guide import AUTO_MEASURES, ClassGuide, EvidenceGuide, coin_order, guided_order, marginal_order, pick_measure, random_order

warnings.filterwarnings("ignore", message=".*varentropy.*")
results = Path(__file__).parent / "results" / "guide.csv"
NETWORKS = ("earthquake", "sachs", "child", "insurance", "alarm", "mildew")
SIMULATED = [(g, d, k) for d, k, g in product((5, 10, 20), (2, 4), ("ER", "SF"))]
SETTINGS = [(f"{g} d={d} degree {k}", n, seed) for (g, d, k), n, seed in product(SIMULATED, (10_000, 1000), range(10)) if d == 5]
SETTINGS += [(f"{g} d={d} degree {k}", n, seed) for d, seed, (g, e, k), n in product((10, 20), range(10), SIMULATED, (10_000, 1000)) if e == d]
SETTINGS += [(name, 10_000, seed) for seed, name in product(range(10), ("earthquake", "sachs", "child", "insurance", "alarm"))]
SETTINGS += [("ER d=40 degree 2", 10_000, seed) for seed in range(10)] + [("mildew", 10_000, seed) for seed in range(10)]
SETTINGS += [(f"{g} d={d} degree {k}", 1000, seed) for d, seed, k, g in product((40, 60), range(5), (2, 4), ("ER", "SF"))]
ORDER = {"earthquake": 0, "sachs": 0, "child": 1, "insurance": 2, "alarm": 3, "mildew": 9}
SETTINGS.sort(key=lambda s: (ORDER.get(s[0], 8 if "d=40" in s[0] else 10 if "d=60" in s[0] else 4 if "d=20" in s[0] else 0), s[2]))
FIELDS = ["setting", "n", "seed", "d", "edges", "sample_size", *(f"none_{m}" for m in AUTO_MEASURES), *(f"guided_{m}" for m in AUTO_MEASURES), "auto", "picked", "vote", "random", "marginal", "coin",
          "class_coin", *(f"class_{m}" for m in AUTO_MEASURES), "arrows", "pairs", "pairs_right", "pairs_wrong", "pairs_true", "pairs_found"]


def dataset(setting, n, seed):
    "A table and the true DAG over its columns; columns with a single state in these rows are left out."
    if setting in NETWORKS: net = ds.load_network(setting)
    else:
        graph, d, degree = setting.split()[0], int(setting.split()[1][2:]), int(setting.split()[3])
        if degree >= d - 1: degree = d - 1
        net = ds.random_network(d, graph=graph, degree=degree, states=(3, 6), seed=seed)
    df = net.sample(n, seed=seed)
    df = df[[c for c in df if df[c].nunique() > 1]]
    at = [net.names.index(c) for c in df]
    return ds.as_table(df, unused="drop", identifiers="keep"), net.dag[np.ix_(at, at)]


AGAIN = ["sample_size", *(f"guided_{m}" for m in AUTO_MEASURES), "auto", "picked", "vote", "coin", "arrows", "pairs", "pairs_right", "pairs_wrong", "pairs_true", "pairs_found"]


def partial(guide, truth, dag):
    "The partial order against the truth."
    before, reach, compelled = guide.partial_order(), reachable(dag), truth.partial_order()
    return {"arrows": len(guide.compelled()), "pairs": int(before.sum()), "pairs_right": int((before & reach).sum()), "pairs_wrong": int((before & reach.T).sum()),
            "pairs_true": int(compelled.sum()), "pairs_found": int((before & compelled).sum())}


def again(row):
    "What the guide says about a stored dataset; the coin only if an order has changed."
    setting, n, seed = row["setting"], int(row["n"]), int(row["seed"])
    table, dag = dataset(setting, n, seed)
    share = lambda order: round(ds.d_top(order, dag, names=table.names)/max(int(dag.sum()), 1), 4)
    estimator, guide = ds.BlanketScore().fit(table), EvidenceGuide().fit(table)
    new = {f"guided_{m}": share(guided_order(estimator, table.names, m, guide).order) for m in AUTO_MEASURES}
    picked = pick_measure(estimator, table.names, guide)
    same = all(value == float(row[name]) for name, value in new.items())
    coin = float(row["coin"]) if same else round(float(np.mean([share(coin_order(guide, seed=k)) for k in range(10)])), 4)
    new |= {"sample_size": guide.score_.sample_size, "auto": share(picked.result.order), "picked": picked.measure, "vote": int(picked.agreement.deserves_vote), "coin": coin}
    return {"setting": setting, "n": n, "seed": seed} | new | partial(guide, ClassGuide(dag_to_cpdag(dag), table.names).fit(table), dag)


def one(setting, n, seed):
    table, dag = dataset(setting, n, seed)
    share = lambda order: round(ds.d_top(order, dag, names=table.names)/max(int(dag.sum()), 1), 4)
    mean = lambda orders: round(float(np.mean([share(o) for o in orders])), 4)
    estimator, guide = ds.BlanketScore().fit(table), EvidenceGuide().fit(table)
    truth = ClassGuide(dag_to_cpdag(dag), table.names).fit(table)
    row = {"setting": setting, "n": n, "seed": seed, "d": table.d, "edges": int(dag.sum()), "sample_size": guide.score_.sample_size}
    for m in AUTO_MEASURES:
        row[f"none_{m}"] = share(ds.causal_order(estimator, table.names, m).order)
        row[f"guided_{m}"] = share(guided_order(estimator, table.names, m, guide).order)
        row[f"class_{m}"] = share(guided_order(estimator, table.names, m, truth).order)
    picked = pick_measure(estimator, table.names, guide)
    row |= {"auto": share(picked.result.order), "picked": picked.measure, "vote": int(picked.agreement.deserves_vote)}
    row["random"] = mean(random_order(table.names, seed=k) for k in range(20))
    row["marginal"] = share(marginal_order(table))
    row["coin"] = mean(coin_order(guide, seed=k) for k in range(10))
    row["class_coin"] = mean(coin_order(truth, seed=k) for k in range(10))
    return row | partial(guide, truth, dag)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", type=int, metavar="N", help="compute N stored rows again")
    parser.add_argument("--again", action="store_true", help="compute anew what the guide says about stored rows")
    args = parser.parse_args()
    key = lambda row: (row["setting"], int(row["n"]), int(row["seed"]))
    if args.check:
        newer = {key(row): row for row in stored(results.with_name("guide_again.csv"))}
        rows = [row | newer[key(row)] for row in stored(results) if int(row["d"]) <= 10 and key(row) in newer]
        for k in np.random.default_rng(0).choice(len(rows), args.check, replace=False):
            again = {name: str(value) for name, value in one(*key(rows[k])).items()}
            if any(again[name] != rows[k][name] for name in FIELDS): sys.exit(f"stored {rows[k]}\nagain  {again}")
        print(f"{args.check} rows agree")
    elif args.again:
        path = results.with_name("guide_again.csv")
        done = {key(row) for row in stored(path)}
        for row in [row for row in stored(results) if key(row) not in done]: append(path, ["setting", "n", "seed", *AGAIN], again(row))
    else:
        done = {key(row) for row in stored(results)}
        for setting in [s for s in SETTINGS if s not in done]: append(results, FIELDS, one(*setting))

"""What an order adds to a structure learner. One row per graph, appended as soon as its dataset is finished.

    python nbs/studies/dag.py choose    # results/dag_choice.csv: which score finds the true parents, on seeds from 100 on
    python nbs/studies/dag.py           # results/dag.csv: the judgement, on seeds 0 to 9; computes what is missing
    python nbs/studies/dag.py check 2   # computes two stored datasets again and compares

10,000 rows each. The score of `parents` (BDeu, sample size by marginal likelihood, log d nats per edge) was fixed with `choose` before anything here
was run. Orders: `true`; `found` (DiscreteScore with its defaults); `random` (the null). Stages:

    blind      the learner alone: a random member of its class (shd is the mean of 20)
    oriented   the member that follows the order where the class allows it
    insert     oriented, then edges from predecessors by the learner's own score (gain: what they add to it)
    prune      the learner's graph without what goes against the order
    inside     the learner constrained to the order
    parents    best parents among predecessors (base `none`; bdeu:1 and bic beside it)

`limit` is what the skeleton allows: pairs that are adjacent in one graph and not in the other, which no orientation mends.
"""
import sys, warnings
from itertools import product
from pathlib import Path

import numpy as np

import discrete_score as ds
from discrete_score.baselines import learn
from discrete_score.dag import insert, own_score, parents, parents_score, prune
from discrete_score.families import families_of
from discrete_score.graphs import skeleton, topological_order
from discrete_score.guide import random_order
from rows import append, stored

warnings.filterwarnings("ignore")
folder = Path(__file__).parent / "results"
JUDGED, BASES, SEEDS, ROWS = ("earthquake", "sachs", "child", "ER d=10", "ER d=20", "insurance", "alarm"), ("ges", "ges-bdeu", "pc", "gam", "ordcd"), range(10), 10_000
FIELDS = ["network", "seed", "edges", "order", "d_top", "base", "stage", "n_edges", "shd", "limit", "sid", "recall", "precision", "skeleton_f1", "direction_f1", "gain", "note"]
CHOICE, CHOICE_SEEDS = ("earthquake", "sachs", "child", "asia", "cancer", "survey", "insurance", "ER d=10", "ER d=20"), range(100, 110)


def bases(name, seed):
    "The learners of a dataset: PC, GAM and ORDCD take long on larger networks, and run on all datasets of Earthquake and Sachs and on four of Child only."
    return BASES if name in ("earthquake", "sachs") or name == "child" and seed < 4 else BASES[:2]


def dataset(name, seed):
    "A table and the true DAG over its columns; columns with a single state in these rows are left out."
    net = ds.random_network(int(name[5:]), graph="ER", degree=2, states=(3, 6), seed=seed) if name.startswith("ER") else ds.load_network(name)
    df = net.sample(ROWS, seed=seed)
    df = df[[c for c in df if df[c].nunique() > 1]]
    at = [net.names.index(c) for c in df]
    return ds.as_table(df, unused="drop", identifiers="keep"), net.dag[np.ix_(at, at)]


def choose(name, seed):
    "How many edges are wrong under a true order, for several scores."
    table, dag = dataset(name, seed)
    order, log = topological_order(dag, seed=seed), np.log(table.d)
    scores = {"bdeu:1": families_of(table, "bdeu:1"), "bdeu:10": families_of(table, "bdeu:10"), "bic": families_of(table, "bic")}
    scores |= {f"evidence, {k:g} log d": parents_score(table, order, edge_cost=k*log) for k in (0, .5, 1, 2)}
    return [{"network": name, "seed": seed, "score": text, "size": getattr(s.rule, "sample_size", ""), "shd": ds.shd(parents(order, s), dag)} for text, s in scores.items()]


def judge(name, seed):
    "All graphs of one dataset."
    table, dag = dataset(name, seed)
    orders = {"true": [table.names[j] for j in topological_order(dag, seed=seed)], "found": ds.DiscreteScore(identifiers="keep").fit(table).order_, "random": random_order(table.names, seed=seed)}
    rows = []

    def add(order, base, stage, graph, gain="", note=""):
        e = ds.evaluate(graph, dag)
        rows.append({"network": name, "seed": seed, "edges": int(dag.sum()), "order": order, "d_top": "" if order == "none" else ds.d_top(orders[order], dag, names=table.names), "base": base, "stage": stage,
                     "n_edges": e.n_est, "shd": e.shd, "limit": int((skeleton(graph) ^ skeleton(dag)).sum())//2, "sid": "" if e.sid is None else e.sid, "recall": round(e.f1.direction_recall, 4),
                     "precision": round(e.f1.direction_precision, 4), "skeleton_f1": round(e.f1.skeleton, 4), "direction_f1": round(e.f1.direction, 4), "gain": gain, "note": note})

    for base in bases(name, seed):
        alone = learn(table, base)
        add("none", base, "class", alone.graph)
        for k in range(20): add("none", base, "blind", alone.dag(seed=k))
        score = own_score(table, base)
        for kind, order in orders.items():
            oriented = alone.dag(order)
            add(kind, base, "oriented", oriented)
            add(kind, base, "prune", prune(alone.graph, order, names=table.names))
            add(kind, base, "inside", learn(table, base, order=order).graph)
            if score is not None:
                more = insert(oriented, order, score)
                add(kind, base, "insert", more.dag, gain=round(more.gain, 2))
    for kind, order in orders.items():
        own = parents_score(table, order)
        add(kind, "none", "parents", parents(order, own), note=f"bdeu:{own.rule.sample_size:g}, log d per edge")
        for text in ("bdeu:1", "bic"): add(kind, "none", f"parents {text}", parents(order, families_of(table, text)))
    return thin(rows)


def thin(rows):
    "The 20 blind members of a class as one row of means."
    kept, groups = [], {}
    for row in rows:
        if row["stage"] != "blind": kept.append(row)
        else: groups.setdefault(row["base"], []).append(row)
    mean = lambda group, key: round(float(np.mean([row[key] for row in group])), 4)
    return kept + [group[0] | {key: mean(group, key) for key in ("n_edges", "shd", "limit", "sid", "recall", "precision", "skeleton_f1", "direction_f1")} for group in groups.values()]


if __name__ == "__main__":
    command = sys.argv[1] if len(sys.argv) > 1 else "judge"
    path, make, todo = (folder / "dag_choice.csv", choose, product(CHOICE, CHOICE_SEEDS)) if command == "choose" else (folder / "dag.csv", judge, ((n, s) for group in (JUDGED[:3], JUDGED[3:5], JUDGED[5:]) for s, n in product(SEEDS, group)))
    done = {(row["network"], int(row["seed"])) for row in stored(path)}
    if command == "check":
        for name, seed in sorted(done)[::max(1, len(done)//int(sys.argv[2]))][:int(sys.argv[2])]:
            old = [row for row in stored(path) if (row["network"], int(row["seed"])) == (name, seed)]
            new = [{k: str(v) for k, v in row.items()} for row in judge(name, seed)]
            if old != new: sys.exit(f"{name}, seed {seed}: not the same\n{[(a, b) for a, b in zip(old, new) if a != b][:3]}")
            print(name, seed, "agrees")
    else:
        for name, seed in todo:
            if (name, seed) not in done:
                rows = make(name, seed)
                append(path, list(rows[0]) if command == "choose" else FIELDS, *rows)

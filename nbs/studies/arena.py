"""Everyone on the same rows: one row per table and contestant.

    ours        the class of the network that follows the belief, compelled arrows by tests
    ours-marks  the same result as it is drawn: open edges have no direction
    ours-order  the same result along its total order
    paper       Algorithm 1 as printed: no guide, the paper's measure ("variance" on simulations,
                entropy elsewhere), conditionals in closed form; parents chosen along the order
    score+X     the same order with GES (BDeu, edges inserted), PC (edges pruned), GAM (inside)
    coin        random orders with parents chosen along them, mean of five
    marginal    columns sorted by their marginal randomness, parents chosen along the order
    empty       no edges            true-class  the class of the truth

`peers.py` has the others. Every method has at most 60 seconds of processor time in a process of its
own; a row without numbers says why in `failure`. The networks and kinds of table that the default
was chosen on are the part `design`; all else is `blind`.

    d_top       edges against the order: of a class, of random orders of random members
    direction, skeleton, sid, aid   F1, intervention distance, distance by optimal adjustment sets:
                means over 20 random members of a class
    shd         of the class, to the true class
    claims      arrows of the class (ours: those called compelled; ours-marks: voted ones too)
    right, against   from an ancestor to its descendant, the other way
    truly, recalled  arrows that the true class compels, and those of them that are claimed
    impossible, possible  claims into columns that nothing can cause, and out of them (real tables)
    drawn_...   the same of all edges of random members
    megabytes   peak of memory, less what the process had at its start

What is stored is the plan without `--full`; `--full --resume` adds tables, and the slow methods on
wide ones. A second study, `arena_votes`, asks on every table whether agreement with the compelled
arrows predicts what a vote on the others gains.

    right, total            compelled arrows that the unguided criterion directs rightly, of all
    earned                  does the whole 95 % interval of that share lie above one half?
    open_right, open_total  the same of true edges that the network has and nothing compels
    vote, coin              edges against the order: the criterion decides what is left, or a coin
                            (mean of 10)
"""
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from discrete_score.baselines import extension
from discrete_score.belief import Belief
from discrete_score.blanket import BlanketScore
from discrete_score.dag import dag_from_order
from discrete_score.data import Table, as_table
from discrete_score.discover import DiscreteScore
from discrete_score.graphs import d_top, dag_to_cpdag, reachable, topological_order
from discrete_score.guide import (
    coin_order, guided_order, marginal_order, random_order, wilson)
from discrete_score.metrics import aid, f1, shd, sid
from discrete_score.networks import random_network
from discrete_score.order import causal_order
from discrete_score.result import arrows
from discrete_score.studies import Study, load_studies, read_results


def beside(name): return load_studies(Path(__file__).with_name(f"{name}.py"))


belief, real, peers = map(beside, ("belief", "belief_real", "peers"))

TABLE = "kind", "part", "name", "n", "seed"
KEY = *TABLE, "method"
QUICK = ("ours", "paper", "score+ges", "score+pc", "ghc", "tabu", "miic", "pc", "ges-bdeu",
         "ges-bic", "coin", "marginal", "empty", "true-class")
MEDIUM = "pgmpy-hc",
SLOW = "score+gam", "cl-ges", "cl-boss", "cl-grasp", "pgmpy-ges", "pgmpy-pc"
SMALL = "earthquake", "cancer", "survey", "asia", "sachs", "ER20 degree 2"
SIZED = "earthquake", "asia", "sachs", "child"
GRAPHS = *belief.DRAWN, "SF40 degree 2", "ER60 degree 2", "SF60 degree 4"
MISSING = "child missing", "alarm missing", "ER20 degree 2 missing"
LARGE = "earthquake", "asia", "sachs", "child", "alarm"
SAMPLES = 20


def tables(full):
    "Kinds, parts, names, numbers of rows and seeds; what says most comes first."
    seeds = range(3 if full else 1)
    networks = [*product(["network"], ["design"], belief.NETWORKS),
                *product(["network"], ["blind"], belief.OTHERS[:-1])]
    drawn = [*product(["drawn"], ["design"], GRAPHS)]
    redrawn = [*product(["redrawn"], ["blind"], belief.REDRAWN)]
    spoiled = [("hidden", "design", "hidden causes"), ("binned", "design", "binned"),
               *product(["missing"], ["blind"], MISSING)]
    found = [(*t, 10_000, s) for s in seeds for t in networks + drawn + redrawn + spoiled]
    some = [t for t in networks if t[2] in SIZED]
    found += [(*t, 1000, s) for s in seeds for t in (networks + drawn + spoiled if full else some)]
    found += [("real", "design", name, 0, 0) for name in real.PANEL]
    found += [("real", "blind", name, 0, 0) for name in real.BLIND]
    large = [t for t in networks if t[2] in LARGE] + drawn[:1]
    found += [(*t, 100_000, s) for s in seeds for t in (large if full else some)]
    if full: found += [(*t, 10_000, s) for s in (3, 4) for t in drawn + spoiled]
    return found


def takes_part(method, table, full):
    "Is a method run on a table?"
    kind, _, name, n, seed = table
    if method == "true-class": return kind not in ("real", "hidden")
    if method in QUICK: return True
    if seed or kind == "real" or n == 100_000: return method in MEDIUM and kind == "real"
    if full: return method in MEDIUM or n == 10_000 or name in SMALL
    if method in MEDIUM: return n == 10_000 and kind in ("network", "drawn", "redrawn")
    return n == 10_000 and name in SMALL


def settings(seed, full):
    "Tables and methods: first seeds first, slow methods on wide tables last."
    found = [(*t, m) for t in tables(full) for m in QUICK + MEDIUM + SLOW
             if takes_part(m, t, full)]
    def turn(setting):
        _, _, name, n, seed, method = setting
        if method in SLOW: return 0 if name in SMALL and n == 10_000 else 4
        return 3 if seed else 2 if method in MEDIUM or n != 10_000 else 1
    return sorted(found, key=turn)


class Truth(NamedTuple):
    "A table and what is known of it."
    table: Table
    above: np.ndarray | None = None  # Ancestors
    compelled: np.ndarray | None = None  # Arrows of the true class
    dag: np.ndarray | None = None  # The graph, if all its columns are in the table
    roots: tuple = ()  # Columns that nothing in the table can cause


def with_gaps(name, n, seed, share=.05):
    "A table of which some cells are missing; to be missing is a state."
    net = belief.network_of(name, seed)
    frame = net.sample(n, seed=seed).astype(str)
    frame = frame[[c for c in frame if frame[c].nunique() > 1]]
    frame = frame.mask(np.random.default_rng([seed, 79]).random(frame.shape) < share)
    at = [net.names.index(c) for c in frame]
    dag, cpdag = net.dag[np.ix_(at, at)], dag_to_cpdag(net.dag)[np.ix_(at, at)]
    table = as_table(frame, missing="state", unused="drop", identifiers="keep")
    return Truth(table, reachable(dag), cpdag & ~cpdag.T, dag)


@lru_cache(maxsize=2)
def truth_of(kind, part, name, n, seed):
    "The table of a setting."
    if kind == "missing": return with_gaps(name.removesuffix(" missing"), n, seed)
    if kind != "real": return Truth(*belief.dataset(name, n, seed))
    table = real.table_of(part, name)
    stated = (real.PANEL if part == "design" else real.BLIND)[name].split()
    return Truth(table, roots=tuple(table.names.index(c) for c in stated if c in table.names))


def answer(graph, order=None, claims=None, dag=False, whole=None):
    "What a contestant says; `whole` is its class, if that is another graph."
    if whole is None: whole = dag_to_cpdag(graph) if dag else graph
    return {"graph": graph, "order": order, "claims": claims, "dag": dag, "whole": whole}


def along(table, order, base="none", **options):
    "The graph that an order and a learner give together."
    options = options or {"strategy": "parents"}
    graph = dag_from_order(table, order, base, **options).dag
    return answer(graph, [table.names.index(c) for c in order], dag=True)


def ours(table, seed, measure):
    "The default result, in three readings."
    model = DiscreteScore().fit(table)
    guide, edges, graph, marked = model.guide_, model.edges_, model.graph_, model.pdag_
    held = arrows(edges[edges["mark"] == "compelled"], table.names)
    order = [table.names.index(c) for c in model.order_]
    free = dag_to_cpdag(guide.ordering_.network) & ~guide.joint_.T
    return {"ours": [answer(free, claims=held)],
            "ours-order": [answer(graph, order, held, dag=True)],
            "ours-marks": [answer(marked, claims=marked & ~marked.T, whole=free)]}


def printed(table, measure):
    "The paper's order."
    return causal_order(BlanketScore().fit(table), table.names, measure).order


def coin(table, seed, measure):
    "Random orders."
    orders = [random_order(table.names, seed=1000*seed + k) for k in range(5)]
    return {"coin": [along(table, order) for order in orders]}


def one(name, find):
    "A contestant with one answer."
    return lambda table, seed, measure: {name: [find(table, seed, measure)]}


CONTESTANTS = {
    "ours": ours, "coin": coin,
    "paper": one("paper", lambda t, s, m: along(t, printed(t, m))),
    "score+ges": one("score+ges", lambda t, s, m: along(
        t, printed(t, m), "ges-bdeu", strategy="insert")),
    "score+pc": one("score+pc", lambda t, s, m: along(t, printed(t, m), "pc", strategy="prune")),
    "score+gam": one("score+gam", lambda t, s, m: along(
        t, printed(t, m), "gam", strategy="prune", inside=True)),
    "marginal": one("marginal", lambda t, s, m: along(t, marginal_order(t))),
    "empty": one("empty", lambda t, s, m: answer(np.zeros((t.d, t.d), bool), dag=True)),
}


def contestant(method):
    "A method as a function of table, seed and the paper's measure."
    if method in CONTESTANTS: return CONTESTANTS[method]
    return one(method, lambda t, s, m: answer(peers.METHODS[method](t, s)))


def restored(said, at):
    "An answer over mixed columns in the order of the table."
    def back(graph): return None if graph is None else peers.restored(graph, at)
    order = None if said["order"] is None else [int(at[k]) for k in said["order"]]
    graphs = {name: back(said[name]) for name in ("graph", "claims", "whole")}
    return said | graphs | {"order": order}


@lru_cache(maxsize=1)
def warm():
    "Load packages and kernels, so that no contestant pays for it."
    peers.load_packages()
    for d, n in ((4, 300), (14, 3000)):
        table = as_table(random_network(d, degree=2, seed=0).sample(n, seed=0))
        for method in ("ours", "score+ges", "score+gam"):
            peers.silent(lambda: CONTESTANTS[method](table, 0, "entropy"))


def answers(setting, truth):
    "What a method says of a table, and what it took."
    kind, *_, name, n, seed, method = setting
    if method == "true-class":
        return peers.Ran({method: [answer(dag_to_cpdag(truth.dag))]})
    warm()
    shuffled, at = peers.mixed(truth.table, seed)
    measure = "varentropy" if named_at_random(kind, name) else "entropy"
    find = contestant(method)
    ran = peers.apart(lambda: peers.silent(lambda: find(shuffled, seed, measure)))
    if ran.value is None: return ran
    return ran._replace(value={k: [restored(s, at) for s in v] for k, v in ran.value.items()})


def named_at_random(kind, name):
    "Is a table drawn from a random network?"
    return kind in ("drawn", "redrawn", "hidden", "binned") or name.startswith("ER")


def checked(claims, roots):
    "Arrows into columns that cannot be caused, and out of them."
    if not roots: return 0, 0
    others = [j for j in range(len(claims)) if j not in roots]
    return int(claims[:, roots].sum()), int(claims[np.ix_(roots, others)].sum())


def judged(said, truth):
    "One answer against the truth."
    graph, whole, names, dag = said["graph"], said["whole"], truth.table.names, truth.dag
    members = [graph] if said["dag"] else [extension(graph, names=names, seed=k)
                                           for k in range(SAMPLES)]
    claims = whole & ~whole.T if said["claims"] is None else said["claims"]
    row = {"found": int(members[0].sum()), "claims": int(claims.sum())}
    if truth.roots:
        drawn = np.mean([checked(m, truth.roots) for m in members], axis=0)
        row |= dict(zip(("impossible", "possible"), checked(claims, truth.roots)))
        row |= dict(zip(("drawn_impossible", "drawn_possible"), map(float, drawn)))
    if truth.above is None: return row
    row |= {"right": int((claims & truth.above).sum()),
            "against": int((claims & truth.above.T).sum())}
    if dag is None: return row
    orders = [said["order"]] if said["order"] else [
        topological_order(members[k % len(members)], seed=k) for k in range(SAMPLES)]
    def mean(values): return float(np.mean([*values]))
    return row | {
        "truly": int(truth.compelled.sum()), "recalled": int((claims & truth.compelled).sum()),
        "skeleton": f1(members[0], dag).skeleton, "shd": shd(whole, dag_to_cpdag(dag)),
        "direction": mean(f1(m, dag).direction for m in members),
        "sid": mean(sid(m, dag) for m in members), "aid": mean(aid(m, dag) for m in members),
        "d_top": mean(d_top(o, dag) for o in orders)}


def rounded(value):
    "A number as it is stored: a whole one without a point."
    value = round(float(value), 4)
    return int(value) if value == int(value) else value


def rows(setting):
    "One method on one table."
    method, truth = setting[-1], truth_of(*setting[:-1])
    edges = None if truth.dag is None else int(truth.dag.sum())
    about = {"rows": int(truth.table.total), "d": truth.table.d, "edges": edges,
             "versions": peers.versions_of(method)}
    ran = answers(setting, truth)
    about |= {"seconds": round(ran.seconds, 2), "megabytes": round(ran.megabytes, 1)}
    if ran.value is None: yield about | {"contestant": method, "failure": ran.failure}
    for name, said in (ran.value or {}).items():
        seen = [judged(s, truth) for s in said]
        means = {k: rounded(np.mean([s[k] for s in seen])) for k in seen[0]}
        yield about | {"contestant": name} | means


ARENA = Study(
    "arena", settings, "everyone on the same rows.", rows,
    key=KEY,
    columns=(*KEY, "contestant", "rows", "d", "edges", "found", "skeleton", "direction", "shd",
             "sid", "aid", "d_top", "claims", "right", "against", "truly", "recalled",
             "impossible", "possible", "drawn_impossible", "drawn_possible", "seconds",
             "megabytes", "failure", "versions"),
    measured=("seconds", "megabytes", "versions"),
)


def vote_settings(seed, full):
    "The tables whose graph is known, of all sizes."
    known = [t for t in tables(True) if t[0] not in ("real", "hidden")]
    return known if full else [t for t in known if t[4] == 0]


def vote_rows(setting):
    "The criterion's vote on one table."
    table, _, _, dag, _ = truth_of(*setting)
    guide, estimator = Belief(rehearsals=0).fit(table), BlanketScore().fit(table)
    network, held = guide.ordering_.network, guide.compelled()
    open_ = dag & (network | network.T) & ~guide.arrows_ & ~guide.arrows_.T
    alone = causal_order(estimator, table.names, "kl_uniform").order
    place = [alone.index(c) for c in table.names]
    def agreed(edges): return int(sum(place[i] < place[j] for i, j in edges))
    right, edges = agreed(held), np.argwhere(open_).tolist()
    order = guided_order(estimator, table.names, "kl_uniform", guide).order
    def lost(order): return d_top(order, dag, names=table.names)
    coins = [lost(coin_order(guide, seed=k)) for k in range(10)]
    yield {"d": table.d, "edges": int(dag.sum()), "right": right, "total": len(held),
           "earned": int(wilson(right, len(held))[0] > .5), "open_right": agreed(edges),
           "open_total": len(edges), "vote": lost(order), "coin": rounded(np.mean(coins))}


ARENA_VOTES = Study(
    "arena_votes", vote_settings, "does agreement predict what a vote gains?", vote_rows,
    key=TABLE,
    columns=(*TABLE, "d", "edges", "right", "total", "earned", "open_right", "open_total", "vote",
             "coin"),
    measured=(),
)


# What the page, the README and the tests read from the rows

QUALITY = {"D_top": False, "direction": True, "SHD": False, "SID": False, "AID": False,
           "right": True, "recall": True}  # Is more better?
READINGS = "ours", "ours-marks", "ours-order"
NULLS = "coin", "marginal", "empty", "true-class"
COUNTED = ["claims", "right", "against", "truly", "recalled"]


def results(path=Path(__file__).parent/"results"/"arena.csv"):
    "The stored rows, errors divided by the number of true edges."
    found = read_results(path)
    for name, column in (("D_top", "d_top"), ("SHD", "shd"), ("SID", "sid"), ("AID", "aid")):
        found[name] = found[column]/found.edges
    return found.assign(done=found.failure == "")


def shared(rows, contestants):
    "The rows of some contestants on the tables on which all of them were done."
    part = rows[rows.contestant.isin(contestants) & rows.done]
    counts = part.groupby(list(TABLE)).contestant.transform("nunique")
    return part[counts == len(set(contestants))]


def means(rows):
    "Per contestant: the mean over networks of the mean over their tables; shares of all claims."
    numbers = ["D_top", "direction", "SHD", "SID", "AID", "seconds", "megabytes"]
    found = rows.groupby(["contestant", "name"])[numbers].mean().groupby("contestant").mean()
    sums = rows.groupby("contestant")[COUNTED].sum()
    shares = {"right": sums.right/sums.claims.where(sums.claims > 0),
              "recall": sums.recalled/sums.truly.where(sums.truly > 0)}
    return found.assign(**shares)[[*QUALITY, "seconds", "megabytes"]]


def drawn_again(n, draws=1000, seed=0):
    "How often each of `n` networks is drawn, when as many are drawn again: one row per draw."
    picks = np.random.default_rng(seed).integers(0, n, (draws, n))
    return np.array([np.bincount(row, minlength=n) for row in picks])


def redrawn_means(rows, column):
    "`means` of one column when networks are drawn again, not tables: one row per draw."
    shares = {"right": ("right", "claims"), "recall": ("recalled", "truly")}
    if column in shares:
        above, below = (rows.pivot_table(c, "name", "contestant", aggfunc="sum")
                        for c in shares[column])
    else:
        above = rows.pivot_table(column, "name", "contestant")
        below = above.notna()*1.
    weights = drawn_again(len(above))
    total = weights @ below.to_numpy()
    drawn = (weights @ above.fillna(0.).to_numpy())/np.where(total > 0, total, np.nan)
    return pd.DataFrame(drawn, columns=above.columns)


def intervals(rows, column):
    "95 % intervals of `means` of one column."
    return redrawn_means(rows, column).quantile([.025, .975]).T.set_axis(["low", "high"], axis=1)


def ahead(rows, reading="ours"):
    "Per quality column: one reading of ours, the best of the others, and the lead over it."
    table, found = means(rows), {}
    others = table.drop(index=[*READINGS, *NULLS], errors="ignore")
    for column, more in QUALITY.items():
        sign, drawn = 1 if more else -1, redrawn_means(rows, column)
        best = (sign*others[column]).idxmax()
        own, has = table.loc[reading, column], others.loc[best, column]
        low, high = (sign*(drawn[reading] - drawn[best])).quantile([.025, .975])
        found[column] = {reading: own, "best other": best, "has": has, "ahead": sign*(own - has),
                         "low": low, "high": high}
    return pd.DataFrame(found).T

"""What is said to be compelled, against the truth: one row per dataset and rule.

The rule of `Belief` was chosen on the design set: eight networks, random graphs with several kinds
of mechanism, tables that lack a common cause, and continuous columns cut into bins. The blind set
is every other network that loads with up to 110 columns, and known structures with redrawn tables:
nothing was chosen on it.

    belief   arrows that the tests compel, nothing where the table is not credible: the default
    tests    the same without asking whether the table is credible
    class    arrows of the class with the most evidence (qNML)
    halves   the rule of version 0.1.0: firm in all rows and in both halves (BDeu)

    claims   arrows said to be compelled       right    from an ancestor to its descendant
    against  from a descendant to an ancestor  truly    arrows that the true class compels
    found    of these, claimed                 verdict  does the table look like a graph?
    lost     pairs that nothing separates      sure     share of claims right in rehearsals
    d_top    misordered edges of the order     direction, sid  of the graph that follows it

A second study, `belief_votes`, asks whether a vote that is earned predicts. Three votes on the
direction of an edge: `criterion`, the unguided order by `kl_uniform`; `mechanism`, the marginal
likelihood with independent Dirichlet rows, and `bdeu`, both compared under equal parents (those of
either end), so that likelihood cancels and BDeu can only toss a coin.

    right, total            compelled arrows that a vote directs rightly, of all (a tie: one half)
    earned                  does the whole 95 % interval of that share lie above one half?
    open_right, open_total  the same of true edges that the network has and nothing compels
"""
import time
from itertools import product

import numpy as np
import pandas as pd

from discrete_score.belief import Belief
from discrete_score.blanket import BlanketScore
from discrete_score.data import as_table
from discrete_score.graphs import d_top, dag_to_cpdag, reachable, topological_order
from discrete_score.guide import EvidenceGuide, guided_order, wilson
from discrete_score.metrics import f1, sid
from discrete_score.networks import (
    BayesNet, TableCPT, configurations, load_network, random_dag, random_network)
from discrete_score.order import causal_order
from discrete_score.scores import families_of
from discrete_score.studies import Study

KEY = "part", "name", "n", "seed"
NETWORKS = "earthquake", "sachs", "child", "insurance", "alarm", "hailfinder", "water", "mildew"
DRAWN = ("ER20 degree 2", "ER20 degree 4", "SF20 degree 4", "ER40 degree 2", "near-deterministic",
         "noisy-or", "ordinal", "dirichlet")
SPOILED = "hidden causes", "binned"
OTHERS = "asia", "cancer", "survey", "barley", "hepar2", "win95pts", "pathfinder"
REDRAWN = tuple(f"{name} redrawn" for name in ("child", "insurance", "alarm", "hailfinder",
                                                "hepar2", "win95pts"))
LARGE = "earthquake", "sachs", "child", "insurance", "alarm", "asia", "cancer", "survey"


def settings():
    "Parts, names, numbers of rows and seeds."
    found = list(product(["design"], NETWORKS + DRAWN + SPOILED, (1000, 10_000), range(10)))
    found += product(["blind"], OTHERS + REDRAWN, (1000, 10_000), range(10))
    for name in LARGE:
        part = "design" if name in NETWORKS else "blind"
        found += [(part, name, 100_000, seed) for seed in range(3)]
    return sorted(found, key=lambda s: (s[0] != "design", s[3], s[2]))


def table_of(rows, kind, n_states, parents, rng):
    "The conditional probabilities of one column by a kind of mechanism."
    if kind == "near-deterministic":
        return rng.dirichlet(np.full(n_states, .12 if len(parents) else 3.), len(rows)) + .004
    if kind == "noisy-or":
        weak = rng.uniform(.1, .7, len(parents))
        leak = rng.uniform(.02, .15) if len(parents) else rng.uniform(.15, .6)
        off = (1 - leak)*np.prod(np.where(rows == 1, weak, 1.), axis=1)
        return np.stack([off, 1 - off], 1)
    if kind == "ordinal":
        slope = rng.choice([-1, 1], len(parents))*rng.uniform(.7, 1.8, len(parents))
        level = (rows - (np.array(parents) - 1)/2) @ slope if len(parents) else np.zeros(1)
        below = 1/(1 + np.exp(level[:, None] - np.sort(rng.normal(0, .8, n_states - 1))))
        return np.diff(below, axis=1, prepend=0, append=1)
    return rng.dirichlet(np.ones(n_states), len(rows))


def filled(dag, n_states, kind, rng, names=None):
    "A network with tables of a kind."
    parents = tuple(tuple(np.flatnonzero(column).tolist()) for column in dag.T)
    cpts = []
    for j, pa in enumerate(parents):
        sizes = tuple(int(n_states[p]) for p in pa)
        table = table_of(configurations(sizes), kind, int(n_states[j]), sizes, rng)
        table = np.maximum(table, 1e-9)
        cpts.append(TableCPT(table/table.sum(1, keepdims=True), sizes))
    names = [f"v{j}" for j in range(len(dag))] if names is None else names
    states = tuple(tuple(map(str, range(m))) for m in n_states)
    return BayesNet(tuple(names), states, parents, tuple(cpts))


def mechanism_network(kind, d, degree, seed):
    "A random graph with tables of a kind."
    rng = np.random.default_rng([seed, 77, *kind.encode()])
    dag = random_dag(d, degree=degree, seed=rng)
    n_states = np.full(d, 2) if kind == "noisy-or" else rng.integers(2, 5, d)
    return filled(dag, n_states, kind, rng)


def network_of(name, seed):
    "A network by its name in this study."
    if name.endswith(" redrawn"):
        old = load_network(name.removesuffix(" redrawn"))
        rng = np.random.default_rng([seed, 78])
        return filled(old.dag, old.n_states, "dirichlet", rng, old.names)
    if name[:2] in ("ER", "SF"):
        d, _, degree = name[2:].partition(" degree ")
        return random_network(int(d), graph=name[:2], degree=int(degree), seed=500 + seed)
    if name in DRAWN: return mechanism_network(name, 20, 2.5, seed)
    return load_network(name)


def hidden_causes(n, seed):
    "A table without six of the columns with the most effects, and the graph of all columns."
    net = mechanism_network("dirichlet", 24, 3, seed)
    effects = net.dag.sum(1)
    gone = [j for j in np.argsort(-effects, kind="stable") if effects[j] >= 2][:6]
    return net.sample(n, seed=seed).drop(columns=[net.names[j] for j in gone]), net.dag, net.names


def binned(n, seed, d=15):
    "Sums of normal columns, each cut into thirds."
    rng = np.random.default_rng([seed, 78])
    dag, values = random_dag(d, degree=2., seed=rng), np.zeros((n, d))
    for j in topological_order(dag):
        parents = np.flatnonzero(dag[:, j])
        weights = rng.choice([-1, 1], len(parents))*rng.uniform(.6, 1.3, len(parents))
        values[:, j] = rng.normal(size=n) + values[:, parents] @ weights
    cut = {f"v{j}": pd.qcut(values[:, j], 3, labels=False) for j in range(d)}
    return pd.DataFrame(cut).astype(str), dag, tuple(cut)


def dataset(name, n, seed):
    "A table, and of its columns: ancestors, arrows of the true class, the graph if it is whole."
    if name == "hidden causes": frame, dag, names = hidden_causes(n, seed)
    elif name == "binned": frame, dag, names = binned(n, seed)
    else:
        net = network_of(name, seed)
        frame, dag, names = net.sample(n, seed=seed), net.dag, net.names
    frame = frame[[c for c in frame if frame[c].nunique() > 1]]
    table, cpdag = as_table(frame, unused="drop", identifiers="keep"), dag_to_cpdag(dag)
    keep = [list(names).index(c) for c in table.names]
    def part(array): return array[np.ix_(keep, keep)]
    whole = name != "hidden causes"
    compelled = part(cpdag & ~cpdag.T) & whole
    return table, part(reachable(dag)), compelled, part(dag) if whole else None


def judged(arrows, above, compelled):
    "Claims against the truth."
    counts = arrows, arrows & above, arrows & above.T, compelled, arrows & compelled
    names = "claims", "right", "against", "truly", "found"
    return {name: int(count.sum()) for name, count in zip(names, counts)}


def followed(guide, estimator, table, dag):
    "Order and graph that a guide leads to, against the truth."
    if dag is None: return {}
    order = guided_order(estimator, table.names, "kl_uniform", guide).order
    graph = guide.graph(order)
    return {"edges": int(dag.sum()), "d_top": d_top(order, dag, names=table.names),
            "direction": round(f1(graph, dag).direction, 4), "sid": sid(graph, dag)}


def rows(setting):
    "One dataset."
    _, name, n, seed = setting
    table, above, compelled, dag = dataset(name, n, seed)
    start = time.process_time()
    belief, between = Belief().fit(table), time.process_time()
    halves = EvidenceGuide().fit(table)
    spent = between - start, time.process_time() - between
    told, estimator = belief.triples_.credibility, BlanketScore().fit(table)
    about = {"d": table.d, "verdict": told.verdict, "pairs": told.pairs,
             "lost": len(told.unexplained)}
    found = dag_to_cpdag(belief.free_.network)
    sure = round(belief.rehearse().confidence, 4) if belief.arrows_.any() else None
    claimed = np.zeros_like(found)
    for i, j in halves.compelled(): claimed[i, j] = True
    arrows = {"belief": belief.arrows_, "tests": belief.triples_.found,
              "class": found & ~found.T, "halves": claimed}
    more = {"belief": {"sure": sure, "seconds": round(spent[0], 2)}
            | followed(belief, estimator, table, dag),
            "halves": {"seconds": round(spent[1], 2)} | followed(halves, estimator, table, dag)}
    for rule, said in arrows.items():
        yield {"rule": rule} | about | judged(said, above, compelled) | more.get(rule, {})


BELIEF = Study(
    "belief", settings(), "what is said to be compelled, against the truth.", rows,
    key=KEY,
    columns=(*KEY, "rule", "d", "verdict", "pairs", "lost", "claims", "right", "against", "truly",
             "found", "sure", "edges", "d_top", "direction", "sid", "seconds"),
    measured=("seconds",),
)


def likelihood_vote(families, network):
    "From two adjacent columns to nats for the arrow from the first to the second, parents equal."
    def vote(i, j):
        others = [p for p in np.flatnonzero(network[:, i] | network[:, j]).tolist()
                  if p not in (i, j)]
        cells = families.counts.size(others)*families.n_states[i]*families.n_states[j]
        if cells > 4*families.counts.n: others = []
        def pair(a, b): return families.score(a, others) + families.score(b, [*others, a])
        return pair(i, j) - pair(j, i)
    return vote


def vote_rows(setting):
    "The votes on one dataset."
    _, name, seed = setting
    table, _, compelled, dag = dataset(name, 10_000, seed)
    belief = Belief(rehearsals=0).fit(table)
    network, arrows = belief.ordering_.network, belief.compelled()
    open_ = dag & (network | network.T) & ~belief.arrows_ & ~belief.arrows_.T
    alone = causal_order(BlanketScore().fit(table), table.names, "kl_uniform").order
    place = [alone.index(c) for c in table.names]
    votes = {"criterion": lambda i, j: place[j] - place[i],
             "mechanism": likelihood_vote(families_of(table, "dirichlet"), network),
             "bdeu": likelihood_vote(families_of(table, "bdeu:10"), network)}
    for kind, vote in votes.items():
        def counted(edges): return sum(.5 + .5*np.sign(np.round(vote(i, j), 6)) for i, j in edges)
        right, edges = counted(arrows), np.argwhere(open_).tolist()
        low, _ = wilson(right, len(arrows))
        yield {"vote": kind, "right": right, "total": len(arrows), "earned": int(low > .5),
               "open_right": counted(edges), "open_total": len(edges)}


BELIEF_VOTES = Study(
    "belief_votes",
    [*product(["design"], NETWORKS + DRAWN, range(3)),
     *product(["blind"], OTHERS + REDRAWN, range(3))],
    "does a vote that is earned predict?", vote_rows,
    key=("part", "name", "seed"),
    columns=("part", "name", "seed", "vote", "right", "total", "earned", "open_right",
             "open_total"),
    measured=(),
)

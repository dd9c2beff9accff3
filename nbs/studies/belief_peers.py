"""The graph of the result beside what others find: one row per dataset and method.

Every method gets the same 10,000 rows and at most 60 seconds of processor time; a row without
numbers says in `note` that it was not done by then. Where a method finds a class, the numbers are
means over 20 random members of it; `shd` compares the class with the true class.

`ours` is the class of the network that follows the belief; `peers.py` has the others.
pyAgrum is no requirement of this package. causal-learn's searches and pgmpy's PC are slow, so they
run on one table of each network, the others on two; small networks come first, and what the file
lacks is added by `--resume`. Pathfinder is left out.
"""
from itertools import product
from pathlib import Path

import numpy as np

from discrete_score.baselines import extension
from discrete_score.belief import Belief
from discrete_score.graphs import dag_to_cpdag
from discrete_score.metrics import f1, shd, sid
from discrete_score.studies import Study, load_studies

belief, peers = (load_studies(Path(__file__).with_name(name)) for name in ("belief.py", "peers.py"))

KEY = "part", "name", "seed", "method"
QUICK = "ours", "ghc", "tabu", "miic", "pgmpy-hc", "ges-bic", "ges-bdeu", "pc"
SLOW = "pgmpy-pc", "cl-ges", "cl-boss"
SAMPLES = 20


def settings():
    "Datasets and methods: what is quick comes first."
    networks = [*product(["design"], belief.NETWORKS + belief.DRAWN),
                *product(["blind"], belief.OTHERS[:-1] + belief.REDRAWN)]
    found = [(*network, 0, method) for network, method in product(networks, QUICK + SLOW)]
    found += [(*network, 1, method) for network, method in product(networks, QUICK)]
    large = "insurance", "water", "mildew", "alarm", "barley", "hailfinder", "hepar2", "win95pts"
    def size(name): return next((k for k, word in enumerate(large, 1) if word in name), 0)
    def cost(name, seed, method): return (size(name) if method in SLOW else 0), method in SLOW, seed
    return sorted(found, key=lambda s: cost(*s[1:]))


def ours(table, seed):
    "The class of the network that follows the belief, with what is held."
    found = Belief(rehearsals=0).fit(table)
    return dag_to_cpdag(found.ordering_.network) & ~found.joint_.T


def rows(setting):
    "One method on one dataset."
    _, name, seed, method = setting
    table, _, _, dag = belief.dataset(name, 10_000, seed)
    if method in peers.METHODS: peers.load_packages()
    ran = peers.graph_of(peers.METHODS.get(method, ours), table, seed)
    row = {"d": table.d, "edges": int(dag.sum()), "seconds": round(ran.seconds, 2)}
    graph = ran.value
    if graph is None:
        yield row | {"note": ran.failure}
        return
    dags = [extension(graph, names=table.names, seed=k) for k in range(SAMPLES)]
    yield row | {
        "found": int(dags[0].sum()), "skeleton": round(f1(dags[0], dag).skeleton, 4),
        "direction": round(float(np.mean([f1(d, dag).direction for d in dags])), 4),
        "sid": round(float(np.mean([sid(d, dag) for d in dags])), 2),
        "shd": shd(graph, dag_to_cpdag(dag))}


BELIEF_PEERS = Study(
    "belief_peers", settings(), "the graph of the result beside what others find.", rows,
    key=KEY,
    columns=(*KEY, "d", "edges", "found", "skeleton", "direction", "sid", "shd", "seconds", "note"),
    measured=("seconds",),
)

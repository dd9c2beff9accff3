"""The graph of the result beside what others find: one row per dataset and method.

Every method gets the same 10,000 rows and at most `LIMIT` seconds of processor time; a row without
numbers says in `note` that it was not done by then. Where a method finds a class, the numbers are
means over 20 random members of it; `shd` compares the class with the true class.

    ours                the class of the network that follows the belief
    ghc, tabu, miic     hill climbing and tabu search with BDeu, and MIIC (pyAgrum)
    pgmpy-hc, pgmpy-pc  hill climbing with a tabu list and BIC, PC with chi-square at .01 (pgmpy)
    cl-ges, cl-boss     GES and BOSS with BDeu (causal-learn)
    ges-bic, ges-bdeu   GES of this package
    pc                  PC with G-tests at .01 (causal-learn)

pyAgrum is no requirement of this package. causal-learn's searches and pgmpy's PC are slow, so they
run on one table of each network, the others on two; small networks come first, and what the file
lacks is added by `--resume`. Pathfinder is left out.
"""
import logging
import random
import signal
import time
import warnings
from itertools import product
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd

from discrete_score.baselines import extension, learn, without_cycles
from discrete_score.belief import Belief
from discrete_score.counts import name_hashes
from discrete_score.graphs import dag_to_cpdag, from_causallearn, from_networkx
from discrete_score.metrics import f1, shd, sid
from discrete_score.studies import Study, load_studies

belief = load_studies(Path(__file__).with_name("belief.py"))

KEY = "part", "name", "seed", "method"
LIMIT = 60  # Seconds of processor time
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


def limited(run):
    "What a function gives, or None if it takes too long; and its seconds of processor time."
    def stop(*_): raise TimeoutError
    before, start = signal.signal(signal.SIGPROF, stop), time.process_time()
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try: found = run()
    except TimeoutError: found = None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return found, time.process_time() - start


def ours(table, seed):
    "The class of the network that follows the belief, with what is held."
    found = Belief(rehearsals=0).fit(table)
    return dag_to_cpdag(found.ordering_.network) & ~found.joint_.T


def tabu(table, seed):
    "pyAgrum's tabu search."
    import pyagrum
    learner = pyagrum.BNLearner(frame_of(table).astype(str))
    learner.useLocalSearchWithTabuList()
    learner.useScoreBDeu()
    dag = np.zeros((table.d, table.d), bool)
    for i, j in learner.learnDAG().arcs(): dag[i, j] = True
    return dag_to_cpdag(dag)


def pgmpy_pc(table, seed):
    "pgmpy's PC."
    from pgmpy.estimators import PC
    frame = frame_of(table).astype("category")
    found = PC(frame).estimate(ci_test="chi_square", significance_level=.01, n_jobs=1,
                               show_progress=False, return_type="pdag")
    graph = nx.DiGraph()
    graph.add_nodes_from(frame.columns)
    graph.add_edges_from(found.directed_edges)
    graph.add_edges_from([edge for a, b in found.undirected_edges for edge in ((a, b), (b, a))])
    return without_cycles(from_networkx(graph, list(frame.columns)))


def cl_ges(table, seed):
    "causal-learn's GES."
    from causallearn.search.ScoreBased.GES import ges
    return from_causallearn(ges(table.codes.astype(int), score_func="local_score_BDeu")["G"])


def cl_boss(table, seed):
    "causal-learn's BOSS, which draws from Python's own generator."
    from causallearn.search.PermutationBased.BOSS import boss
    random.seed(seed)
    return from_causallearn(boss(table.codes.astype(int), "local_score_BDeu", verbose=False))


def frame_of(table):
    "Codes under plain names."
    return pd.DataFrame(table.codes, columns=[f"c{j}" for j in range(table.d)])


def learned(name):
    "A baseline of this package as a method."
    return lambda table, seed: learn(table, name, seed=seed).graph


METHODS = {"ours": ours, "tabu": tabu, "pgmpy-pc": pgmpy_pc, "cl-ges": cl_ges, "cl-boss": cl_boss,
           "pgmpy-hc": learned("pgmpy")}


def graph_of(method, table, seed):
    "What a method finds; it sees the columns in an order that the truth did not choose."
    find = METHODS.get(method) or learned(method)
    at = np.argsort(name_hashes(table.names, seed))
    mixed = table.select([table.names[k] for k in at])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, spent = limited(lambda: find(mixed, seed))
    if found is None: return None, spent
    graph = np.zeros_like(found)
    graph[np.ix_(at, at)] = found
    return graph, spent


def rows(setting):
    "One method on one dataset."
    _, name, seed, method = setting
    logging.getLogger("pgmpy").setLevel(logging.ERROR)
    table, _, _, dag = belief.dataset(name, 10_000, seed)
    graph, spent = graph_of(method, table, seed)
    row = {"d": table.d, "edges": int(dag.sum()), "seconds": round(spent, 2)}
    if graph is None:
        yield row | {"note": f"not done after {LIMIT} s"}
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

"""What others find: one function per method, all called in one way, each in a process of its own.

    ghc, tabu, miic     hill climbing and tabu search with BDeu, and MIIC (pyAgrum)
    pgmpy-hc, pgmpy-pc  hill climbing with a tabu list and BIC, PC with chi-square at .01 (pgmpy)
    pgmpy-ges           GES with BIC (pgmpy)
    cl-ges, cl-boss     GES and BOSS with BDeu (causal-learn)
    cl-grasp            GRaSP with BDeu (causal-learn)
    ges-bic, ges-bdeu   GES of this package
    pc                  PC with G-tests at .01 (causal-learn)

A method sees the columns in an order that the truth did not choose, and has at most `LIMIT` seconds
of processor time (this needs Linux or macOS). Nothing here is a study: `arena.py` and
`belief_peers.py` are.
"""
import io
import logging
import os
import pickle
import random
import resource
import signal
import sys
import time
import warnings
from contextlib import redirect_stdout
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd

from discrete_score import __version__
from discrete_score.baselines import learn, without_cycles
from discrete_score.counts import name_hashes, using_threads
from discrete_score.graphs import dag_to_cpdag, from_causallearn, from_networkx

LIMIT = 60  # Seconds of processor time
PACKAGES = {"pyagrum": ("ghc", "tabu", "miic"), "pgmpy": ("pgmpy-hc", "pgmpy-pc", "pgmpy-ges"),
            "causal-learn": ("pc", "cl-ges", "cl-boss", "cl-grasp", "score+pc")}


def frame_of(table):
    "Codes under plain names."
    return pd.DataFrame(table.codes, columns=[f"c{j}" for j in range(table.d)])


def tabu(table, seed):
    "pyAgrum's tabu search."
    import pyagrum
    learner = pyagrum.BNLearner(frame_of(table).astype(str))
    learner.useLocalSearchWithTabuList()
    learner.useScoreBDeu()
    dag = np.zeros((table.d, table.d), bool)
    for i, j in learner.learnDAG().arcs(): dag[i, j] = True
    return dag_to_cpdag(dag)


def from_pgmpy(found, names):
    "A partly directed graph of pgmpy."
    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from(found.directed_edges)
    graph.add_edges_from([edge for a, b in found.undirected_edges for edge in ((a, b), (b, a))])
    return without_cycles(from_networkx(graph, list(names)))


def pgmpy_pc(table, seed):
    "pgmpy's PC."
    from pgmpy.estimators import PC
    frame = frame_of(table).astype("category")
    found = PC(frame).estimate(ci_test="chi_square", significance_level=.01, n_jobs=1,
                               show_progress=False, return_type="pdag")
    return from_pgmpy(found, frame.columns)


def pgmpy_ges(table, seed):
    "pgmpy's GES."
    from pgmpy.estimators import GES
    frame = frame_of(table).astype("category")
    return from_pgmpy(GES(frame, use_cache=True).estimate(scoring_method="bic-d"), frame.columns)


def cl_ges(table, seed):
    "causal-learn's GES."
    from causallearn.search.ScoreBased.GES import ges
    return from_causallearn(ges(table.codes.astype(int), score_func="local_score_BDeu")["G"])


def cl_boss(table, seed):
    "causal-learn's BOSS, which draws from Python's own generator."
    from causallearn.search.PermutationBased.BOSS import boss
    random.seed(seed)
    return from_causallearn(boss(table.codes.astype(int), "local_score_BDeu", verbose=False))


def cl_grasp(table, seed):
    "causal-learn's GRaSP, which draws from Python's own generator."
    from causallearn.search.PermutationBased.GRaSP import grasp
    random.seed(seed)
    return from_causallearn(grasp(table.codes.astype(int), "local_score_BDeu", verbose=False))


def learned(name):
    "A baseline of this package as a method."
    return lambda table, seed: learn(table, name, seed=seed).graph


METHODS = {"tabu": tabu, "pgmpy-pc": pgmpy_pc, "pgmpy-ges": pgmpy_ges, "cl-ges": cl_ges,
           "cl-boss": cl_boss, "cl-grasp": cl_grasp, "pgmpy-hc": learned("pgmpy"),
           **{name: learned(name) for name in ("ghc", "miic", "ges-bic", "ges-bdeu", "pc")}}


def versions_of(method):
    "This package, and the one that a method comes from."
    found = [f"discrete_score {__version__}"]
    for package, names in PACKAGES.items():
        if method not in names: continue
        try: found.append(f"{package} {version(package)}")
        except PackageNotFoundError: pass
    return "; ".join(found)


class Ran(NamedTuple):
    "What came of a function that ran in a process of its own."
    value: Any = None
    failure: str = ""  # Why there is no value
    seconds: float = 0.  # Of processor time
    megabytes: float = 0.  # Peak of memory, less what the process had at its start


def peak():
    "Peak of memory of this process, in megabytes."
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size/(2**20 if sys.platform == "darwin" else 2**10)


def measured(run):
    "Call a function, and say what it took."
    memory, start = peak(), time.process_time()
    value, failure = None, ""
    try: value = run()
    except Exception as error: failure = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return Ran(value, failure, time.process_time() - start, peak() - memory)


def apart(run, limit=LIMIT):
    "Call a function in a child of this process, which is ended when its time is over."
    out, into = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(out)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            with open(into, "wb") as file, using_threads(1):
                pickle.dump(tuple(measured(run)), file)
        finally: os._exit(0)
    os.close(into)
    with open(out, "rb") as file: sent = file.read()
    _, status, used = os.wait4(child, 0)
    if sent and not os.WIFSIGNALED(status): return Ran(*pickle.loads(sent))
    spent = used.ru_utime + used.ru_stime
    ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    late = ended == signal.SIGXCPU or spent >= limit
    why = f"not done after {limit} s" if late else f"ended by signal {ended}"
    return Ran(failure=why, seconds=spent)


def silent(run):
    "Call a function that prints and warns, and hear nothing."
    logging.getLogger("pgmpy").setLevel(logging.ERROR)
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        return run()


def load_packages():
    "Import what the methods need, so that no method pays for it."
    for name in ("pyagrum", "pgmpy.estimators", "causallearn.search.ConstraintBased.PC",
                 "causallearn.search.ScoreBased.GES", "causallearn.search.PermutationBased.BOSS",
                 "causallearn.search.PermutationBased.GRaSP"):
        try: silent(lambda: __import__(name))
        except ImportError: pass


def mixed(table, seed):
    "The table with its columns in an order by hash, and the places that they had."
    at = np.argsort(name_hashes(table.names, seed))
    return table.select([table.names[k] for k in at]), at


def restored(graph, at):
    "A graph over mixed columns in the order of the table."
    found = np.zeros_like(graph)
    found[np.ix_(at, at)] = graph
    return found


def graph_of(find, table, seed, limit=LIMIT):
    "The graph that a method finds, with what it took; the value is None if it has none in time."
    shuffled, at = mixed(table, seed)
    ran = apart(lambda: silent(lambda: find(shuffled, seed)), limit)
    return ran if ran.value is None else ran._replace(value=restored(ran.value, at))

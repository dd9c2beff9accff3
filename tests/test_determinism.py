"""The same seed gives the same result: in other processes, threads and worker processes.

What is not promised: sums on a GPU may be added in another order from run to run, so the neural
estimator repeats there only up to rounding (the counting estimators never use a GPU). Another
number of threads may change the last digits of a neural network's weights too; the test allows for
that, and for nothing else.
"""
import json
import os
import pickle
import subprocess
import sys
import warnings
from importlib.util import find_spec

import numpy as np
import pytest

import discrete_score as ds

SCRIPT = """
import hashlib, json, sys
import discrete_score as ds
net = ds.random_network(8, degree=2, states=(2, 4), seed=5)
frame = net.sample(800, seed=1)
out = {"sample": hashlib.sha256(frame.to_csv(index=False).encode()).hexdigest()}
def content(model): return {k: v for k, v in model.to_dict().items() if k != "settings"}
out["guided"] = content(ds.DiscreteScore(seed=3, unused="drop").fit(frame))
out["auto"] = content(ds.DiscreteScore("auto", seed=3, unused="drop").fit(frame))
exact = ds.DiscreteScore(estimator="exact", network=net, guide=None, unused="drop", seed=3)
out["exact"] = content(exact.fit(frame))
again = ds.DiscreteScore(seed=3, unused="drop").bootstrap(frame, 3, n_jobs=int(sys.argv[1]))
out["bootstrap"] = again.orders.tolist()
if sys.argv[2] == "torch":
    import torch
    from discrete_score.diffusion import DiffusionScore, Settings
    out["threads"] = torch.get_num_threads()
    small, table = Settings(epochs=2, width=8, hidden=8), ds.as_table(frame, unused="drop")
    model = DiffusionScore(settings=small, device="cpu", seed=3).fit(table)
    out["neural"] = model.values(range(8), "entropy")[0].tolist()
print(json.dumps(out))
"""


def in_process(hash_seed, threads, jobs):
    "What a process with these settings finds."
    torch = "torch" if find_spec("torch") else "none"
    there = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    for library in ("OMP", "OPENBLAS", "MKL"): there[f"{library}_NUM_THREADS"] = str(threads)
    call = [sys.executable, "-c", SCRIPT, str(jobs), torch]
    done = subprocess.run(call, capture_output=True, text=True, env=there)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def runs(): return [in_process(0, 1, 1), in_process(1, 1, 1), in_process(2, 2, 2)]


def test_processes_and_hash_seeds(runs): assert runs[0] == runs[1]


def test_threads_and_worker_processes(runs):
    one, two = runs[0], runs[2]
    for part in ("sample", "guided", "auto", "exact", "bootstrap"):
        assert one[part] == two[part], part
    if "neural" in one:
        assert (one["threads"], two["threads"]) == (1, 2)
        assert np.allclose(one["neural"], two["neural"], rtol=0, atol=1e-5)


def test_repeated_calls_and_other_work_in_between():
    "Neither an earlier fit nor the global random state leaves a trace."
    frame = ds.load_network("asia").sample(500, seed=0).astype(str)
    np.random.seed(1)
    first = ds.DiscreteScore(seed=2).fit(frame).to_dict()
    np.random.seed(2)
    state = np.random.get_state()[1].copy()
    model = ds.DiscreteScore(seed=2)
    model.fit(frame.drop(columns="tub").iloc[:300])
    assert model.fit(frame).to_dict() == first
    assert (np.random.get_state()[1] == state).all()


def test_seeds_only_break_ties():
    "Two copies of one column are equal; which of them comes last is a matter of the seed."
    frame = ds.load_network("asia").sample(500, seed=0).astype(str).assign(twin=lambda f: f.smoke)
    orders = [ds.DiscreteScore(guide=None, seed=s).fit(frame).order_ for s in range(6)]
    later = {o.index("twin") > o.index("smoke") for o in orders}
    assert later == {True, False}


@pytest.mark.parametrize("guide", ["evidence", ds.guide.EvidenceGuide("qnml")])
def test_one_thread_or_two(guide, monkeypatch):
    "Large enough for guide and criterion to go on side by side, and for wishes to be shared out."
    frame = ds.random_network(20, degree=2, states=(2, 4), seed=5).sample(15_000, seed=1)
    frame = frame.loc[:, frame.nunique() > 1]
    found = []
    for threads in (1, 2):
        monkeypatch.setenv("DISCRETE_SCORE_THREADS", str(threads))
        found.append(ds.DiscreteScore(guide=guide, unused="drop").fit(frame).to_dict(rows=False))
    assert found[0] == found[1]
    monkeypatch.setattr("discrete_score.search.ParentSets._in_threads", lambda sets: True)
    again = ds.DiscreteScore(guide=guide, unused="drop").fit(frame)
    assert again.to_dict(rows=False) == found[0]


def test_one_thread_and_two_give_the_same_result():
    "The whole search, with its rehearsals, on a table that is large enough to be shared out."
    from discrete_score.counts import using_threads
    table, found = ds.load_network("insurance").sample(10_000, seed=0), []
    for n in (1, 2):
        with using_threads(n), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(ds.DiscreteScore(unused="drop").fit(table).to_dict(rows=False))
    assert found[0] == found[1]


def test_stopped_on_two_threads():
    "The same steps as on one, and nothing is left running that could not be kept or sent away."
    from discrete_score.counts import using_threads
    table, found = ds.load_network("insurance").sample(10_000, seed=0), []
    for n in (1, 2):
        with using_threads(n), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            stopped = ds.DiscreteScore(unused="drop").fit(table, callback=lambda s: s.step >= 5)
        found.append(pickle.loads(pickle.dumps(stopped)).to_dict(rows=False))
    assert not stopped.result_.search.complete
    assert found[0] == found[1]


def test_arrows_turned_on_two_threads(monkeypatch):
    "Each thread turns some of the arrows, with trees and counts of its own."
    from discrete_score import search
    from discrete_score.counts import using_threads
    from discrete_score.scores import Families
    parts, found, apart = [], [], search.Ordering._apart

    def noted(*about):
        parts.append(len(shared := apart(*about)))
        return shared
    monkeypatch.setattr(search, "_LONG", 0)
    monkeypatch.setattr(search.Ordering, "_apart", noted)
    table = ds.as_table(ds.load_network("alarm").sample(5000, seed=3), unused="drop")
    for n in (1, 2):
        with using_threads(n):
            best = search.best_ordering(Families(table.codes, table.n_states, score="qnml"))
        found.append((best.order, best.value, best.margins))
    assert found[0] == found[1]
    assert set(parts) == {1, 2}


def test_a_contradiction_is_worded_alike_in_every_process():
    "Statements are sets; what is said of them does not hang on how a process hashes names."
    ask = ("import discrete_score as ds\n"
           "known = {'before': [('b', 'a'), ('c', 'b'), ('a', 'c')]}\n"
           "try: ds.order.as_known(known, list('abc'))\n"
           "except ValueError as error: print(error)")
    said = {subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True,
                           env=os.environ | {"PYTHONHASHSEED": str(k)}).stdout for k in range(4)}
    assert len(said) == 1 and "a before c before b before a" in said.pop()

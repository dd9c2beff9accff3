"Networks: agreement with pgmpy, memory, reproducibility across processes; `SLOW=1` reads more."
import gzip
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import discrete_score as ds
from discrete_score.networks import _model_files, network_from_pgmpy, network_names

NAMES = ["earthquake", "sachs", "child", "alarm"]
if os.environ.get("SLOW"): NAMES += ["insurance", "water", "hepar2"]


@pytest.mark.parametrize("name", NAMES)
def test_bif_reading_agrees_with_pgmpy(name):
    from pgmpy.readwrite import BIFReader
    with gzip.open(_model_files()[name], "rt") as file: text = file.read()
    theirs = network_from_pgmpy(BIFReader(string=text).get_model())
    ours = ds.load_network(name)
    assert set(ours.names) == set(theirs.names)
    for j, node in enumerate(ours.names):
        k = theirs.names.index(node)
        parents = [theirs.names[i] for i in theirs.parents[k]]
        assert ours.states[j] == tuple(str(s) for s in theirs.states[k])
        assert [ours.names[i] for i in ours.parents[j]] == parents
        table = theirs.cpts[k].table
        assert np.allclose(ours.cpts[j].table, table / table.sum(1, keepdims=True), atol=1e-9)


def test_every_shipped_network_loads():
    for name in network_names():
        net = ds.load_network(name)
        assert net.d > 1 and net.codes(5, seed=0).shape == (5, net.d)


def test_conditionals_agree_with_pgmpy_inference():
    from pgmpy.inference import VariableElimination
    net = ds.load_network("survey")
    infer, rows = VariableElimination(net.to_pgmpy()), net.codes(4, seed=0)
    kept = [0, 2, 3, 5]
    for j, p in zip(kept, net.conditionals(rows, kept)):
        for row, mine in zip(rows, p):
            evidence = {net.names[k]: net.states[k][row[k]] for k in kept if k != j}
            theirs = infer.query([net.names[j]], evidence=evidence, show_progress=False)
            assert np.allclose(mine, [theirs.get_value(**{net.names[j]: s}) for s in net.states[j]])


def test_large_scale_free_sample_fits_and_repeats():
    "The paper's memory limit, in a process of its own: below 500 MB, twice the same frame."
    code = """
import hashlib, pathlib, pandas as pd, discrete_score as ds
df = ds.random_network(60, graph="SF", degree=4, states=(3, 6), seed=0).sample(10_000, seed=0)
lines = pathlib.Path('/proc/self/status').read_text().splitlines()
peak = next(line for line in lines if line.startswith('VmHWM'))
rows = pd.util.hash_pandas_object(df).values.tobytes()
print(int(peak.split()[1]) / 1024, hashlib.sha256(rows).hexdigest(), *df.shape)
"""
    run = [sys.executable, "-c", code]
    runs = [subprocess.run(run, capture_output=True, text=True, check=True) for _ in range(2)]
    runs = [done.stdout.split() for done in runs]
    assert max(float(run[0]) for run in runs) < 500
    assert runs[0][1:] == runs[1][1:] and runs[0][2:] == ["10000", "60"]


def test_a_short_sample_is_the_head_of_a_long_one():
    net = ds.load_network("child")
    assert (net.codes(100, seed=3) == net.codes(5000, seed=3)[:100]).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["ER", "SF"]), st.sets(st.integers(0, 5), min_size=1))
def test_conditionals_are_the_ratios_of_the_joint(seed, graph, kept):
    net = ds.random_network(6, graph=graph, degree=4, states=(2, 3), seed=seed)
    rows, columns, joint = net.codes(20, seed=seed), sorted(kept), net.joint()
    marginal = joint.sum(tuple(k for k in range(6) if k not in kept))
    for axis, p in enumerate(net.conditionals(rows, columns)):
        table = np.moveaxis(marginal, axis, -1)
        others = [k for k in columns if k != columns[axis]]
        given_rest = np.array([table[tuple(row[others])] for row in rows])
        assert np.allclose(p, given_rest / given_rest.sum(1, keepdims=True), atol=1e-12)
        assert np.allclose(p.sum(1), 1)

"The neural estimator as real processes: two of them against one, killed and resumed, memory; and what cells cannot hold."
import json, os, signal, subprocess, sys, time
from pathlib import Path

import numpy as np
import pytest
import torch

import discrete_score as ds
from discrete_score.diffusion import DiffusionScore, Settings, _load

torch.set_num_threads(1)
torchrun = Path(sys.executable).parent / "torchrun"
environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
module = [sys.executable, "-m", "discrete_score.diffusion"]

gradients = '''
import sys, numpy as np, torch
import discrete_score as ds
from discrete_score.diffusion import DiffusionScore, Settings, _Trainer, _Rows, _noisy
torch.set_num_threads(1)
net = ds.random_network(6, degree=2, states=(2, 5), seed=500)
codes = net.codes(512, seed=0)
rows = _Rows(codes, np.random.default_rng(0).random(codes.shape) > .1, np.ones(512), net.n_states)
out = {}
for mode in ("once", "retrain"):
    one = _Trainer(rows, mode, Settings(), device="cpu")
    batch = _noisy(rows, mode, np.random.default_rng(1), one.device)
    one.gradient(batch.take(slice(0, 255)))
    out |= {f"{mode} {name}": w.grad.numpy().copy() for name, w in one.model.named_parameters()}
    one._step(batch.take(slice(0, 255)), 0)
    out |= {f"{mode} after {name}": w.detach().numpy().copy() for name, w in one.model.named_parameters()}
if one.rank == 0: np.savez(sys.argv[1], size=one.size, **out)
'''


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=environment, timeout=120, **more)
    assert done.returncode == 0, done.stderr[-3000:]
    return done


@pytest.fixture(scope="module")
def csv(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "table.csv"
    ds.random_network(4, edges=4, states=(2, 4), seed=500).sample(1500, seed=500).to_csv(path, index=False)
    return path


def test_two_processes_have_the_gradient_of_one(tmp_path):
    (tmp_path / "g.py").write_text(gradients)
    run(sys.executable, tmp_path / "g.py", tmp_path / "one.npz")
    run(torchrun, "--standalone", "--nproc_per_node", 2, tmp_path / "g.py", tmp_path / "two.npz")
    one, two = np.load(tmp_path / "one.npz"), np.load(tmp_path / "two.npz")
    assert one["size"] == 1 and two["size"] == 2 and len(one.files) > 50
    for name in one.files:
        if name != "size" and "after" not in name: assert np.abs(one[name] - two[name]).max() < 1e-5, name


def test_torchrun_finds_the_order_of_one_process(csv, tmp_path):
    arguments = [csv, "--epochs", 3, "--device", "cpu", "--quiet", "--out"]
    run(*module, *arguments, tmp_path / "one.json")
    run(torchrun, "--standalone", "--nproc_per_node", 2, "-m", "discrete_score.diffusion", *arguments, tmp_path / "two.json")
    one, two = (json.loads((tmp_path / f"{k}.json").read_text()) for k in ("one", "two"))
    assert (one["processes"], two["processes"]) == (1, 2) and one["order"] == two["order"]
    assert np.allclose([s["value"] for s in one["steps"]], [s["value"] for s in two["steps"]], atol=1e-3)


@pytest.mark.parametrize("mode, epochs, kills", [("once", 8, (2, 5)), ("retrain", 3, (4,))])
def test_killed_and_resumed_ends_the_same(csv, tmp_path, mode, epochs, kills):
    "Kill a real process once its checkpoints show so many epochs; start it again with the same arguments."
    arguments = [csv, "--mode", mode, "--epochs", epochs, "--device", "cpu", "--quiet", "--checkpoint-every", 0, "--batch-size", 64]
    run(*module, *arguments, "--out", tmp_path / "straight.json")
    command = [str(c) for c in (*module, *arguments, "--checkpoint", tmp_path / "runs", "--out", tmp_path / "resumed.json")]
    progress = lambda: [(json.loads(f.read_text())["epoch"]) for f in (tmp_path / "runs").glob("*.json")]
    for wanted in kills:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 60
        while sum(progress()) < wanted and time.monotonic() < until and process.poll() is None: time.sleep(.005)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL and not (tmp_path / "resumed.json").exists()
    run(*command)
    straight, resumed = (json.loads((tmp_path / f"{k}.json").read_text()) for k in ("straight", "resumed"))
    assert resumed["order"] == straight["order"] and resumed["steps"] == straight["steps"]


def test_checkpoint_of_other_arguments_is_refused(csv, tmp_path):
    table = ds.read_table(csv)
    DiffusionScore(settings=Settings(epochs=1), device="cpu", checkpoint=tmp_path).fit(table)
    file, = tmp_path.glob("*.safetensors")
    tensors, info = _load(file)
    assert info["done"] and any(k.startswith("exp_avg/") for k in tensors) and not list(tmp_path.glob("*.part"))
    with pytest.raises(ValueError, match="another table"): DiffusionScore(settings=Settings(epochs=2), device="cpu", checkpoint=tmp_path).fit(table)


@pytest.mark.parametrize("network, limit", [("hollow", 2.), ("energy", 2.)])
def test_memory_of_a_step(network, limit):
    "Peak memory of the whole process, torch included: d = 60, 6 states, batch 512."
    code = f'''
import resource, numpy as np, torch
from discrete_score.diffusion import Settings, _Trainer, _Rows, _noisy
rng = np.random.default_rng(0)
rows = _Rows(rng.integers(6, size=(600, 60)), np.ones((600, 60), bool), np.ones(600), np.full(60, 6))
one = _Trainer(rows, "once", Settings(network="{network}", batch_size=512, width={64 if network == "energy" else 32}, layers={2 if network == "energy" else 1}), device="cpu")
one._step(_noisy(rows, "once", rng, one.device).take(slice(0, 512)), 0)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss/2**20)
'''
    peak = float(run(sys.executable, "-c", code).stdout)
    assert .1 < peak < limit


def test_column_names_and_weights_of_a_counted_table():
    net = ds.random_network(3, edges=2, states=2, seed=500)
    table = ds.as_table(net.sample(2000, seed=0)).distinct()
    V, errors = DiffusionScore(settings=Settings(epochs=150, batch_size=8, patience=None, held_out=.01), device="cpu").fit(table).values(range(3), "entropy")
    exact, true_errors = ds.ExactScore(net).fit(table).values(range(3), "entropy")
    assert np.isfinite(V).all() and np.allclose(errors, true_errors, atol=.01)


def test_missing_cells_do_not_enter():
    "What a missing cell holds changes nothing."
    net = ds.random_network(3, edges=2, states=3, seed=500)
    codes, rng = net.codes(400, seed=0), np.random.default_rng(0)
    missing = rng.random(codes.shape) < .2
    other = np.where(missing, rng.integers(3, size=codes.shape), codes)
    fits = [DiffusionScore(settings=Settings(epochs=2), device="cpu").fit(ds.Table(ds.Schema(net.names, net.states), c), missing) for c in (codes, other)]
    assert np.array_equal(*(f.values(range(3), "entropy")[0] for f in fits))

"The neural estimator as real processes: two against one, killed and resumed, memory."
import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

import discrete_score as ds
from discrete_score.cli import main
from discrete_score.diffusion import SETTINGS, DiffusionScore, Settings, build_network
from discrete_score.diffusion import leave_processes, training_cost
from discrete_score.diffusion import _load, _Rows, _Trainer

torch.set_num_threads(1)
TORCHRUN = [Path(sys.executable).parent / "torchrun", "--standalone", "--nproc_per_node", 2]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
SPAWN = get_context("spawn")  # a child has nothing of ours, no thread that waits either


def run(*command):
    command = [str(part) for part in command]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return done


@pytest.fixture(scope="module")
def csv(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "table.csv"
    net = ds.random_network(4, edges=4, states=(2, 4), seed=500)
    net.sample(1500, seed=500).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def gappy(csv, tmp_path_factory):
    "The same table with a tenth of its cells missing."
    path = tmp_path_factory.mktemp("data") / "gappy.csv"
    frame = pd.read_csv(csv, dtype=str)
    gaps = np.random.default_rng(0).random(frame.shape) < .1
    frame.mask(gaps).to_csv(path, index=False)
    return path


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def announce(rank, size, port):
    "Say in the environment what `torchrun` says there."
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=str(port))


def gradients(path, rank=0, size=1, port=None):
    "Losses and gradients in both modes, with gaps and without, by one of `size` processes."
    if size > 1: announce(rank, size, port)
    net, out = ds.random_network(6, degree=2, states=(2, 5), seed=500), {}
    codes, n = net.codes(512, seed=0), 255
    gappy = np.random.default_rng(0).random(codes.shape) > .3
    for mode, known, n in (("once", gappy, 255), ("retrain", gappy, 255), ("once", gappy, 1),
                           ("once", np.ones_like(gappy), 255)):
        rows = _Rows(codes, known, np.ones(512), net.n_states)
        one = _Trainer(rows, mode, Settings(), device="cpu")
        case = f"{mode} {known.mean():.2f} {n}"
        out[f"{case} loss"] = one._mean(one.gradient(torch.arange(n)))
        for name, w in one.model.named_parameters(): out[f"{case} {name}"] = w.grad.numpy().copy()
    short = _Trainer(rows, "once", Settings(epochs=2, batch_size=200), device="cpu")
    while not short.done: short.run_epoch()
    brief = DiffusionScore(settings=Settings(epochs=1), device="cpu")
    full = net.sample(5000, seed=0)
    read = np.concatenate(brief.fit(full).values(range(6), "entropy"))
    holes = full.mask(np.random.default_rng(1).random(full.shape) < .1)
    table = ds.as_table(holes, missing="keep", unused="drop")
    with_gaps = np.concatenate(brief.fit(table).values([0, 2, 3, 5], "entropy"))
    known = dict(size=one.size, history=short.history, read=read, with_gaps=with_gaps)
    if one.rank == 0: np.savez(path, **known, **out)
    leave_processes()


def test_processes_have_the_loss_and_gradient_of_one(tmp_path):
    "Four processes (two as well in a slow run), gaps or none, and a batch of one row for four."
    gradients(tmp_path / "1.npz")
    one = np.load(tmp_path / "1.npz")
    assert one["size"] == 1 and len(one.files) > 100
    for size in (2, 4) if os.environ.get("SLOW") else (4,):
        port, path = free_port(), tmp_path / f"{size}.npz"
        parts = [SPAWN.Process(target=gradients, args=(path, k, size, port)) for k in range(size)]
        for process in parts: process.start()
        for process in parts: process.join(200)
        assert [process.exitcode for process in parts] == [0] * size
        found = np.load(path)
        assert found["size"] == size and np.allclose(found["history"], one["history"], atol=1e-4)
        for name in ("read", "with_gaps"): assert np.allclose(found[name], one[name], atol=1e-4)
        for name in set(one.files) - {"size", "history", "read", "with_gaps"}:
            assert np.abs(one[name] - found[name]).max() < 1e-5, (size, name)


def test_the_loss_counts_known_cells_in_training_and_on_held_out_rows():
    "Independent fair coins: both losses are log 2, whatever the share of gaps."
    rng = np.random.default_rng(0)
    codes, known = rng.integers(2, size=(4000, 3)), rng.random((4000, 3)) > .6
    rows = _Rows(codes, known, np.ones(4000), np.full(3, 2))
    one = _Trainer(rows, "once", Settings(epochs=2), device="cpu")
    while not one.done: one.run_epoch()
    assert np.allclose(one.history, np.log(2), atol=.03)


def test_the_papers_settings_train_on_all_rows_and_a_grid_of_times():
    net = ds.random_network(3, edges=2, states=(2, 3), seed=500)
    settings = replace(SETTINGS["paper"], epochs=2)
    fitted = DiffusionScore("retrain", settings, device="cpu").fit(net.sample(300, seed=0))
    assert np.isfinite(fitted.values(range(3), "entropy")[0]).all()
    one, = fitted.trained_.values()
    assert len(one.rows.codes) == 300 and len(one.model.heads.w1) == 1
    assert fitted.history().held_out.isna().all()
    with pytest.raises(ValueError, match="no rows were held out"): fitted.calibration()


def test_three_routes_find_one_order_in_a_table_with_gaps(gappy, tmp_path, capsys):
    "Python, the command line, and two processes: guide, knowledge, gaps; a result like any other."
    command = ["order", gappy, "--missing", "keep", "--roots", "X1", "--estimator", "diffusion",
               "--epochs", 3, "--device", "cpu", "--rows-at-once", 100, "--out"]
    assert main([str(part) for part in (*command, tmp_path / "shell.json")]) == 0
    said = capsys.readouterr()
    assert "rows in which a cell is missing" in said.err and "from the model itself" in said.err
    done = run(*TORCHRUN, "-m", "discrete_score.cli", *command, tmp_path / "two.json")
    estimator = DiffusionScore(settings=Settings(epochs=3), device="cpu")
    options = dict(estimator=estimator, missing="keep", knowledge={"roots": ["X1"]})
    model = ds.DiscreteScore(**options).fit(pd.read_csv(gappy, dtype=str))
    shell, two = (ds.load_order(tmp_path / f"{name}.json") for name in ("shell", "two"))
    assert model.order_ == shell.order_ == two.order_ and model.order_[0] == "X1"
    assert done.stdout.count("X2") == said.out.count("X2") > 0
    for other in (shell, two):
        assert other.result_.table == model.result_.table and other.notes_[0] == model.notes_[0]
        assert np.allclose(other.steps_.value, model.steps_.value, atol=1e-3)
        assert np.allclose(other.steps_.standard_error, model.steps_.standard_error, atol=1e-3)


def test_a_search_with_gaps_goes_on_from_its_file(gappy, tmp_path):
    "A file holds the rows with gaps too, so that a stopped search needs nothing else."
    frame = pd.read_csv(gappy, dtype=str)
    estimator = DiffusionScore(settings=Settings(epochs=1), device="cpu")
    options = dict(estimator=estimator, missing="keep", guide=None)
    whole = ds.DiscreteScore(**options).fit(frame)
    ds.DiscreteScore(**options).fit(frame, max_steps=2).save(tmp_path / "half.json")
    half = ds.load_order(tmp_path / "half.json")
    assert len(half.result_.table.partial.codes) == frame.isna().any(axis=1).sum()
    again = ds.DiscreteScore(**options).fit(resume=half)
    assert again.order_ == whole.order_ and again.steps_.equals(whole.steps_)


def test_the_command_line_goes_on_with_gaps(gappy, tmp_path):
    "Stopped after two removals and resumed: the steps of a search that was not stopped."
    command = ["order", gappy, "--missing", "keep", "--estimator", "diffusion", "--epochs", 1,
               "--device", "cpu", "--checkpoint", tmp_path / "runs", "--out"]
    whole, half, rest = (tmp_path / f"{name}.json" for name in ("whole", "half", "rest"))
    for more in ([whole], [half, "--max-steps", 2], [rest, "--resume", half]):
        assert main([str(part) for part in (*command, *more)]) == 0
    one, two = map(ds.load_order, (whole, rest))
    assert two.steps_.equals(one.steps_) and two.order_ == one.order_


def test_gaps_are_refused_where_rows_are_counted(gappy):
    frame = pd.read_csv(gappy, dtype=str)
    with pytest.raises(ValueError, match="of use to `estimator='diffusion'` only"):
        ds.DiscreteScore(missing="keep").fit(frame)


def test_errors_of_v_have_two_parts_and_the_margin_uses_both(csv):
    "A run of one epoch may not lead by hundreds of standard errors."
    table = ds.read_table(csv)
    brief = DiffusionScore(settings=Settings(epochs=1), device="cpu").fit(table)
    found = brief.errors(range(4), "kl_uniform")
    assert np.allclose(found.standard_error, np.hypot(found.sampling, found.model))
    rest = max(0., (.75 * found.optimism.iloc[0])**2 - (found.distance**2).mean())
    assert np.allclose(found.model**2, found.learning**2 + found.distance**2 + rest)
    step = ds.causal_order(brief, table.names, "kl_uniform", max_steps=1).steps[0]
    lead = found.value.max() - found.value.nlargest(2).iloc[1]
    assert step.margin < 4 < lead / found.sampling.max()
    alone = DiffusionScore(settings=Settings(epochs=1), device="cpu", witness=False).fit(table)
    other = alone.errors(range(4), "kl_uniform")
    assert other.distance.isna().all() and np.array_equal(other.learning, found.learning)
    assert (other.model**2).mean() < (found.model**2).mean()


def test_a_network_is_read_in_16_bits_only_where_v_stays(csv, monkeypatch):
    "bfloat16 on a CPU, as if it were a GPU that computes in it."
    fitted = DiffusionScore(settings=Settings(epochs=4), device="cpu").fit(ds.read_table(csv))
    (one,), long = fitted.trained_.values(), fitted.errors(range(4), "entropy")
    assert not one.short
    monkeypatch.setattr("discrete_score.diffusion.choose_dtype", lambda *_: torch.bfloat16)
    one._shorten(share=0.)
    assert not one.short
    one._shorten()
    assert one.short
    short = np.array([ds.as_measure("entropy")(p).mean()
                      for p in fitted.conditionals(fitted.table_.codes, range(4))])
    assert 0 < np.abs(short - long.value).max() and (abs(short - long.value) < long.sampling).all()


def test_the_log_goes_to_tensorboard_where_that_is_installed(csv, tmp_path, monkeypatch):
    "A stand-in for its writer: the numbers of the log, epoch by epoch, and closed in the end."
    class Writer(list):
        def __init__(self, folder): made.append((folder, self))
        def add_scalar(self, *line): self.append(line)
        def __enter__(self): return self
        def __exit__(self, *_): self.append("closed")

    def fit(epochs, **options):
        where = dict(device="cpu", log=tmp_path / "run.jsonl")
        DiffusionScore(settings=Settings(epochs=epochs), **where, **options).fit(table)

    table, made, name = ds.read_table(csv), [], "torch.utils.tensorboard"
    monkeypatch.setitem(sys.modules, name, None)
    fit(1)
    assert len((tmp_path / "run.jsonl").read_text().splitlines()) == 1
    monkeypatch.setitem(sys.modules, name, SimpleNamespace(SummaryWriter=Writer))
    for _ in range(2): fit(2, checkpoint=tmp_path / "runs")
    (folder, written), = made
    assert folder == tmp_path / "run.tensorboard" and written.pop() == "closed"
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()[1:]]
    tags = "loss", "held_out", "learning_rate", "rows_per_second"
    assert written == [(f"4 columns/{tag}", line[tag], line["epoch"])
                       for line in lines for tag in tags] and len(lines) == 2


def search(csv, mode, epochs, out, folder=None, rank=0, size=1, port=None):
    "Train, search and write the order with its steps, as it ends; one of `size` processes."
    torch.set_num_threads(1)
    if size > 1: announce(rank, size, port)
    settings = Settings(epochs=epochs, batch_size=64)
    est = DiffusionScore(mode, settings, device="cpu", checkpoint=folder, checkpoint_every=0)
    est.fit(ds.read_table(csv))
    found = ds.causal_order(est, est.table_.names, "kl_uniform", seed=0)
    steps = [(step.leaf, step.value, step.standard_error) for step in found.steps]
    if rank == 0: out.write_text(json.dumps([list(found.order), steps]))
    leave_processes()


def together(size, *args):
    "Start `size` processes of one search."
    port = free_port()
    parts = [SPAWN.Process(target=search, args=(*args, k, size, port)) for k in range(size)]
    for process in parts: process.start()
    return parts


def batches(runs):
    "Batches that the checkpoints of a folder count."
    infos = [json.loads(file.read_text()) for file in runs.glob("*.json")]
    return sum(21 * info["epoch"] + len(info["losses"]) for info in infos)


@pytest.mark.parametrize("mode, epochs, kills", [("once", 8, (47, 120)), ("retrain", 3, (90,))])
def test_killed_and_resumed_ends_the_same(csv, tmp_path, mode, epochs, kills):
    "Kill a real process once its checkpoints show so many batches; start the same search again."
    straight, resumed, runs = (tmp_path / name for name in ("straight", "resumed", "runs"))
    search(csv, mode, epochs, straight)
    for wanted in kills:
        process, = together(1, csv, mode, epochs, resumed, runs)
        until = time.monotonic() + 60
        while batches(runs) < wanted and time.monotonic() < until and process.is_alive():
            time.sleep(.002)
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL and not resumed.exists()
    assert batches(runs) >= kills[-1]
    search(csv, mode, epochs, resumed, runs)
    assert resumed.read_text() == straight.read_text()


@pytest.mark.skipif(not os.environ.get("SLOW"), reason="twenty kills take minutes: make test-all")
@pytest.mark.parametrize("size", [1, 2])
def test_killed_at_twenty_random_moments(csv, tmp_path, size):
    "Each moment on its own: killed there, started again, equal to what was never disturbed."
    def run(name, runs):
        began = time.monotonic()
        for process in together(size, csv, "once", 6, tmp_path / name, runs): process.join(100)
        return (tmp_path / name).read_text(), time.monotonic() - began

    straight, whole = run("straight", tmp_path / "undisturbed")
    for k, moment in enumerate(np.random.default_rng(0).uniform(0, .95, 20)):
        parts = together(size, csv, "once", 6, tmp_path / "killed", tmp_path / f"{k}")
        time.sleep(moment * whole)
        for process in parts: process.kill()
        for process in parts: process.join()
        assert run("resumed", tmp_path / f"{k}")[0] == straight


def test_checkpoint_of_other_arguments_is_refused(csv, tmp_path):
    table = ds.read_table(csv)

    def fit(epochs):
        where = dict(device="cpu", checkpoint=tmp_path)
        DiffusionScore(settings=Settings(epochs=epochs), **where).fit(table)

    fit(1)
    file, = tmp_path.glob("*.safetensors")
    tensors, info = _load(file)
    assert info["done"] and any(k.startswith("exp_avg/") for k in tensors)
    assert not list(tmp_path.glob("*.part"))
    with pytest.raises(ValueError, match="another table"): fit(2)


MEMORY = '''
import resource, numpy as np, torch
from discrete_score.diffusion import Settings, _Trainer, _Rows
rng = np.random.default_rng(0)
known = np.ones((600, 60), bool)
rows = _Rows(rng.integers(6, size=known.shape), known, np.ones(600), np.full(60, 6))
for network, width, layers in (("hollow", 32, 1), ("energy", 64, 2)):
    settings = Settings(network=network, batch_size=512, width=width, layers=layers)
    one = _Trainer(rows, "once", settings, device="cpu")
    one._step(torch.arange(512), 0)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
'''


def test_memory_of_a_step():
    "Peak memory of the whole process in GB, torch included: d = 60, 6 states, batch 512."
    hollow, both = map(float, run(sys.executable, "-c", MEMORY).stdout.split())
    assert .1 < hollow <= both < 2.


def test_costs_are_counted_on_tensors_without_content():
    "Parameters are those of real networks; eight processes share what one does."
    for settings in (Settings(), Settings(network="energy", width=64, layers=2), SETTINGS["paper"]):
        real = build_network([3, 4, 2, 5, 3, 3], settings, time=False)
        counted = training_cost([3, 4, 2, 5, 3, 3], 1000, settings)
        assert counted.parameters == sum(w.numel() for w in real.parameters())
        double = training_cost([3, 4, 2, 5, 3, 3], 1000, replace(settings, batch_size=512))
        assert double.step_flops == 2 * counted.step_flops > 0
    one, eight = (training_cost([6] * 500, 10**6, processes=k) for k in (1, 8))
    assert one.flops == eight.flops and np.isclose(one.hours(), 8 * eight.hours())
    assert one.host_bytes == eight.host_bytes == 10**6 * (3 * 500 + 8)
    assert 10**6 * 1000 < eight.device_bytes < one.device_bytes < 10e9


def test_column_names_and_weights_of_a_counted_table():
    net = ds.random_network(3, edges=2, states=2, seed=500)
    table = ds.as_table(net.sample(2000, seed=0)).distinct()
    settings = Settings(epochs=150, batch_size=8, patience=None, held_out=.01)
    fitted = DiffusionScore(settings=settings, device="cpu").fit(table)
    found = fitted.errors(range(3), "entropy")
    exact, true_errors = ds.ExactScore(net).fit(table).values(range(3), "entropy")
    assert (abs(found.value - exact) < 3 * found.standard_error).all()
    assert np.allclose(found.sampling, true_errors, atol=.01)


def test_missing_cells_do_not_enter():
    "What a missing cell holds changes nothing."
    net = ds.random_network(3, edges=2, states=3, seed=500)
    codes, rng = net.codes(400, seed=0), np.random.default_rng(0)
    missing = rng.random(codes.shape) < .2
    other = np.where(missing, rng.integers(3, size=codes.shape), codes)
    schema = ds.Schema(net.names, net.states)

    def values(codes):
        fitted = DiffusionScore(settings=Settings(epochs=2), device="cpu")
        return fitted.fit(ds.Table(schema, codes), missing).values(range(3), "entropy")[0]

    assert np.array_equal(values(codes), values(other))

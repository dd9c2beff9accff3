"""Ctrl-C, kill -9 and a full disk, with real processes.

Nothing that was written is lost, and what was stopped goes on.
"""
import contextlib
import errno
import json
import os
import pty
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import discrete_score as ds
from discrete_score.files import write_json, write_text

WIDE = 45  # Columns of a table on which a search takes long enough to be stopped
program = Path(sys.executable).parent / "discrete-score"
environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
often = "import sys, discrete_score.cli as c; c._EVERY = 0; sys.exit(c.main())"
eager = [sys.executable, "-c", often]


def run(*argv, **more):
    "The command line, to its end."
    command = [str(program), *map(str, argv)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, **more)


def start(*argv, **more):
    "A process that can be stopped."
    return subprocess.Popen(list(map(str, argv)), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, env=environment, start_new_session=True, **more)


def wait_for(process, condition, seconds=120):
    "Wait until `condition()` while the process runs."
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "nothing happened"
        time.sleep(.005)


def stop(process, how):
    "Send a signal to all processes of a session, as a terminal does; the code and what was said."
    os.killpg(process.pid, how)
    _, said = process.communicate(timeout=300)
    return process.returncode, [line for line in said.splitlines() if "note:" not in line]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    "A wide table, on which a search takes long enough to be stopped, and a small one."
    folder = tmp_path_factory.mktemp("tables")
    for name, nodes, rows in (("wide", WIDE, 1200), ("small", 6, 400)):
        net = ds.random_network(nodes, degree=1.5, states=(2, 3), seed=1)
        net.sample(rows, seed=0).to_csv(folder / f"{name}.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def undisturbed(tables):
    done = run("order", tables / "wide.csv", "--guide", "none")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill -9"])
def test_order_goes_on(tables, undisturbed, tmp_path, how):
    "An older result stays until the new one is complete; what is done is kept beside it till then."
    out, kept = tmp_path / "r.json", tmp_path / "r.json.partial"
    command = ["order", tables / "wide.csv", "--guide", "none", "--out", out]
    out.write_text("an older result")
    process = start(*eager, *command)
    wait_for(process, kept.exists)
    code, said = stop(process, how)
    part = ds.load_order(kept)
    assert 0 < len(part.order_) < WIDE and out.read_text() == "an older result"
    if how == signal.SIGINT:
        assert code == 130 and len(said) == 1 and said[0].endswith(f"go on with --resume {kept}")
    else: assert code == -signal.SIGKILL
    resumed = run(*command, "--resume", kept)
    assert resumed.returncode == 0 and resumed.stdout == undisturbed
    assert ds.load_order(out).result_.complete and not kept.exists()


STOPS = {"ctrl-c": (signal.SIGINT, 1), "kill -9": (signal.SIGKILL, 1),
         "ctrl-c, two processes": (signal.SIGINT, 2)}


@pytest.mark.parametrize("how, jobs", STOPS.values(), ids=STOPS)
def test_bootstrap_goes_on(tables, tmp_path, how, jobs):
    out, orders = tmp_path / "r.json", tmp_path / "r.bootstrap.json"
    command = ["order", tables / "small.csv", "--guide", "none", "--out", out, "--bootstrap"]
    process = start(program, *command, 4000, "--jobs", jobs)
    wait_for(process, orders.exists)
    code, said = stop(process, how)
    kept = json.loads(orders.read_text())["orders"]
    assert 0 < len(kept) < 4000 and len(ds.load_order(out).order_) == 6
    if how == signal.SIGINT:
        assert code == 130 and len(said) == 1, said
        assert said[0].endswith(f"the same command goes on from {orders}"), said
    all_ = len(kept) + 5
    resumed = run(*command, all_)
    assert resumed.returncode == 0
    found = json.loads(orders.read_text())["orders"]
    table = ds.read_table(tables / "small.csv")
    straight = ds.DiscreteScore(guide=None).bootstrap(table, min(all_, 40)).orders.tolist()
    assert len(found) == all_ and found[:len(kept)] == kept and found[:len(straight)] == straight


def test_training_goes_on(tables, tmp_path):
    "Ctrl-C in the middle of a training, on a terminal that shows its progress."
    pytest.importorskip("torch")
    runs, command = tmp_path / "runs", ["order", tables / "small.csv", "--guide", "none"]
    command += ["--estimator", "diffusion", "--epochs", 30]
    screen, line = pty.openpty()
    argv = [str(program), *map(str, command), "--checkpoint", str(runs)]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=line, env=environment,
                               start_new_session=True)
    os.close(line)
    said, stopped = "", False
    with contextlib.suppress(OSError):
        while text := os.read(screen, 1000).decode():
            said += text
            if "epoch 3/" in said and not stopped:
                os.killpg(process.pid, signal.SIGINT)
                stopped = True
    assert process.wait(120) == 130 and "Traceback" not in said
    assert f"interrupted after 0 of 6 columns; the same command goes on from {runs}" in said
    info = json.loads(next(runs.glob("*.json")).read_text())
    assert 3 <= info["epoch"] < 30 and not info["done"]
    resumed, straight = run(*command, "--checkpoint", runs), run(*command)
    assert resumed.returncode == straight.returncode == 0
    assert resumed.stdout == straight.stdout
    assert json.loads(next(runs.glob("*.json")).read_text())["done"]


@contextlib.contextmanager
def full_disk(size=1500):
    "No file may grow beyond `size` bytes."
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try: yield
    finally: resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_full_disk_leaves_the_old_result(tables, tmp_path):
    "Files may not grow: exit 2, one line, the old result as it was, nothing left behind."
    out = tmp_path / "r.json"
    command = ["order", tables / "small.csv", "--guide", "none", "--out", out]
    assert run(*command).returncode == 0
    before = out.read_bytes()
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))
    done = run(*command, "--seed", 9, preexec_fn=limit)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("discrete-score: ")
    assert out.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["r.json"]


def test_full_file_system(tables, tmp_path):
    "The same on a file system of 16 KB that is really full; in a mount namespace of its own."
    old, inside = tmp_path / "old.json", tmp_path / "disk"
    inside.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(inside)]
    able = shutil.which("unshare") and not subprocess.run(
        ["unshare", "-m", *mount], capture_output=True).returncode
    if not able: pytest.skip("this user may not mount; the test above limits the size of files")
    assert run("order", tables / "small.csv", "--guide", "none", "--out", old).returncode == 0
    script = f"""{' '.join(mount)} && cp {old} {inside}/r.json
head -c 100000 /dev/zero > {inside}/ballast
{program} order {tables}/small.csv --guide none --seed 9 --out {inside}/r.json; echo code $?
cmp {old} {inside}/r.json && echo same; ls -A {inside}"""
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True,
                          env=environment)
    lines = done.stdout.splitlines()
    assert "code 2" in lines and "same" in lines and lines[-2:] == ["ballast", "r.json"], done
    assert os.strerror(errno.ENOSPC) in done.stderr, done


def test_full_disk_and_every_writer(tmp_path):
    "Text, JSON, checkpoints and resampled orders: the old file stays, and no part is left."
    torch = pytest.importorskip("torch")
    from discrete_score.diffusion import _load, _save
    frame = ds.load_network("asia").sample(200, seed=0).astype(str)
    model = ds.DiscreteScore(guide=None)
    writers = {
        "a.txt": lambda p, k: write_text(f"{k}" * 5000 * k, p),
        "b.json": lambda p, k: write_json({"k": [k] * 900 * k}, p),
        "c.safetensors": lambda p, k: _save(p, {"w": torch.full((900 * k,), float(k))}, {"k": k}),
        "d.json": lambda p, k: model.bootstrap(frame, 40 * k, checkpoint=p),
        "e.json": lambda p, k: ds.DiscreteScore(guide=None, seed=k).fit(frame).save(p)}
    for name, write in writers.items():
        folder = tmp_path / name
        folder.mkdir()
        write(folder / name, 1)
        before = {p.name: p.read_bytes() for p in folder.iterdir()}
        with full_disk(), pytest.raises(OSError): write(folder / name, 2)
        assert {p.name: p.read_bytes() for p in folder.iterdir()} == before, name
    assert _load(tmp_path / "c.safetensors" / "c.safetensors")[1] == {"k": 1}

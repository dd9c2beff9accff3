"""Pieces: what a search costs, and whether its result is the same, wherever the rows are.

Each setting runs in a process of its own. `place` is memory, disk (Parquet row groups in turn), a
number of workers of a Dask cluster on this machine, a worker that is killed with SIGKILL at a
random moment, or a driver that is. Run as a program with a setting, this file does one search.
"""
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from discrete_score.discover import DiscreteScore
from discrete_score.files import Reading
from discrete_score.networks import load_network, random_network
from discrete_score.pieces import as_source
from discrete_score.studies import Study

FILE = __file__
KEY = "table", "n", "place"
TAKEN = ("result", "rounds", "sent_mb", "peak_mb", "seconds", "cpu_seconds", "starts")
PLACES = "memory", "disk", "1 worker", "2 workers", "4 workers"
GROUP = 500_000  # Rows of a row group at most; at least four groups


def network(table):
    "A classic network, or a random one with so many columns."
    if not table.startswith("ER"): return load_network(table)
    return random_network(int(table[2:]), degree=2, states=(2, 3), seed=7)


def write(table, n, path):
    "Write a table as one Parquet file, a row group at a time."
    net, step, writer = network(table), min(GROUP, -(-n // 4)), None
    words = [pa.array(list(map(str, states))) for states in net.states]
    for k, low in enumerate(range(0, n, step)):
        codes = net.codes(min(step, n - low), seed=1000 + k).astype(np.int16)
        cells = [pa.DictionaryArray.from_arrays(codes[:, j].copy(), words[j]).cast(pa.string())
                 for j in range(net.d)]
        part = pa.table(cells, names=list(net.names))
        writer = writer or parquet.ParquetWriter(path, part.schema)
        writer.write_table(part)
    writer.close()


def digest(model):
    "A hash of all that a search found."
    content = json.dumps(model.to_dict(rows=False), sort_keys=True)
    return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()


def search(path, place, seed=0):
    "One search; what it took."
    start, client, kept = time.monotonic(), None, os.environ.get("PIECES_FOLDER")
    if "worker" in place:
        import distributed
        n = 2 if "killed" in place else int(place.split()[0])
        cluster = distributed.LocalCluster(n_workers=n, threads_per_worker=1, processes=True,
                                           dashboard_address=":0")
        client = distributed.Client(cluster)
        if "killed" in place: kill_later(cluster, int(place.split()[-1]))
        start = time.monotonic()
    if place == "memory": source = str(path)
    else: source = as_source(str(path), cluster=client, folder=kept, pieces=True)
    table = Reading().table(source)
    model = DiscreteScore().fit(table)
    counts, own = getattr(table, "counts", None), resource.getrusage(resource.RUSAGE_SELF)
    taken = (digest(model), getattr(counts, "rounds", 0),
             round(counts.place.sent / 2**20, 1) if client else 0., round(own.ru_maxrss / 1024),
             round(time.monotonic() - start, 1), round(own.ru_utime + own.ru_stime, 1), 1)
    print(json.dumps(dict(zip(TAKEN, taken))), flush=True)
    if client: client.shutdown()


def kill_later(cluster, seed):
    "Kill one of the workers after some seconds."
    rng = np.random.default_rng(seed)
    def act():
        time.sleep(rng.uniform(.2, 6))
        pids = [worker.pid for worker in cluster.workers.values()]
        os.kill(pids[rng.integers(len(pids))], signal.SIGKILL)
    threading.Thread(target=act, daemon=True).start()


def rows(setting):
    "One search in a process of its own, begun again as often as its driver is killed."
    table, n, place = setting
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        write(table, int(n), path)
        call, starts = [sys.executable, FILE, str(path), place], 0
        environment = dict(os.environ, PIECES_FOLDER=str(Path(folder) / "kept"))
        if not place.startswith("driver"): del environment["PIECES_FOLDER"]
        seed = int(place.split()[-1]) if place.startswith("driver") else 0
        moments = np.random.default_rng(seed).uniform(2e4, 4e5, 2) if seed else []
        for moment in [*moments, np.inf]:
            starts += 1
            said = run_until(call, environment, Path(folder) / "kept" / "counts", moment)
        yield json.loads(said.splitlines()[-1]) | {"starts": starts}


def run_until(call, environment, path, size):
    "Run a program; kill it when it has written so many more bytes to a file."
    def now(): return path.stat().st_size if path.exists() else 0
    process = subprocess.Popen(call, stdout=subprocess.PIPE, text=True, env=environment)
    before = now()
    while process.poll() is None and now() < before + size: time.sleep(.01)
    if process.poll() is None: process.kill()
    return process.communicate()[0]


PIECES = Study(
    "pieces", [*(("alarm", 10_000, place) for place in PLACES),
               *(("child", 5_000, f"worker killed {k}") for k in range(1, 11)),
               *(("child", 5_000, place) for place in ("memory", "disk", "driver killed 1",
                                                       "driver killed 2", "driver killed 3")),
               *(("ER200", 5_000, place) for place in ("memory", "disk", "2 workers")),
               ("ER50", 1_000_000, "memory"), ("ER50", 1_000_000, "disk"),
               ("ER50", 2_000_000, "disk"), ("ER50", 10_000_000, "disk")],
    "is the result the same wherever the rows are, and what does it cost?", rows,
    key=KEY, columns=(*KEY, *TAKEN), measured=("sent_mb", "peak_mb", "seconds", "cpu_seconds"),
)


if __name__ == "__main__": search(sys.argv[1], " ".join(sys.argv[2:]))

"""Speed and memory of the order search, as ratios of one run: `make bench`.

Times are of one process on one core unless a row says so, the smallest of a few repeats; the
machine may be shared. The yardstick of the unguided search (`pairs`) is counting all pairwise
tables once with plain `np.bincount`. What is not there is left out: `OLD` in the environment is the
folder of version 0.1.0 (`git archive 1b1462a`), `AGRUM` a Python with pyAgrum. Run as a program
with the numbers of columns and rows, this file does one search and prints its peak memory.
"""
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from discrete_score import kernels
from discrete_score.blanket import BlanketScore
from discrete_score.counts import using_threads
from discrete_score.data import as_table
from discrete_score.discover import DiscreteScore
from discrete_score.networks import load_network, network_names, random_network
from discrete_score.order import causal_order
from discrete_score.scores import Families
from discrete_score.studies import Study

FILE, ROWS = __file__, 10_000
KEY = "quantity", "case", "widths", "sizes"
NETWORKS = "alarm", "hailfinder", "hepar2", "win95pts"
CELLS, LENGTHS = "4 8 16 32 64 128 256 512 1024 2048 4096", (1000, 10_000, 100_000, 1_000_000)
FIT = """
import sys, time, warnings
import discrete_score as ds
warnings.simplefilter("ignore")
def table(name):
    rows = ds.load_network(name).sample(10_000, seed=0)
    return rows[[c for c in rows if rows[c].nunique() > 1]]
start = time.perf_counter()
ds.DiscreteScore(unused="drop").fit(table("asia"))
if sys.argv[1] == "first": print(time.perf_counter() - start)
else:
    data, times = table(sys.argv[1]), []
    for _ in range(int(sys.argv[2])):
        start = time.process_time()
        ds.DiscreteScore(unused="drop").fit(data)
        times.append(time.process_time() - start)
    print(min(times))
"""
AGRUM = """
import sys, time
import pandas as pd, pyagrum
rows, start = pd.read_csv(sys.argv[1], dtype=str), time.process_time()
learner = pyagrum.BNLearner(rows)
learner.setNumberOfThreads(1)
if sys.argv[2] == "miic": learner.useMIIC(); learner.learnPDAG()
else: learner.useGreedyHillClimbing(); learner.useScoreBDeu(); learner.learnDAG()
print(time.process_time() - start)
"""


def settings(seed, full):
    "What to measure, of what, and at which sizes; several are separated by spaces."
    found = [("µs per table", way, CELLS, str(n)) for n in LENGTHS[:4 if full else 2]
             for way in ("bitsets", "pass", "piles", "bincount", "chosen")]
    found += [("fit / other", f"{name} {other}", "", str(ROWS)) for name in NETWORKS
              for other in ("0.1.0", "ghc", "miic")]
    found += [("first call", case, "", str(ROWS)) for case in ("fresh", "kept")]
    found += [("search / pairs", f"degree {k}", "40", str(ROWS)) for k in (2, 4)]
    widths, sizes = ("10 20 40", "1000 10000")
    if full: widths, sizes = "10 20 40 80 160 200", "1000 10000 100000 1000000"
    found += [("growth in d", "degree 2", widths, "10000")]
    found += [("growth in n", "degree 2", "20", sizes)]
    found += [("peak MB", "degree 2", *(("200", "100000") if full else ("40", "10000")))]
    found += [("one thread / two", "hepar2", "", str(ROWS))]
    found += [("seconds", name, "", str(ROWS)) for name in network_names() if full]
    if full: found += [("guided seconds", "one thread", "500", "100000"),
                       ("guided seconds", "two threads", "500", "100000")]
    return found


def table_of(d, n, degree=2):
    net = random_network(d, degree=degree, states=(3, 6), seed=1000 + d)
    return as_table(net.sample(n, seed=0), unused="drop")


def count_pairs(table):
    codes = [np.ascontiguousarray(table.codes[:, j], dtype=np.intp) for j in range(table.d)]
    n = table.n_states
    for i in range(table.d):
        for j in range(i): np.bincount(codes[i]*n[j] + codes[j], minlength=n[i]*n[j])


def search(table): return causal_order(BlanketScore().fit(table), table.names, "kl_uniform")


def cpu(run, table, repeats=3):
    "Smallest CPU time of `run(table)` over a few repeats."
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run(table)
        times.append(time.process_time() - start)
    return min(times)


def wall(run):
    "Seconds on the clock."
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def printed(*command, **there):
    "The number that a program prints."
    there = os.environ | {"OMP_NUM_THREADS": "1", "DISCRETE_SCORE_THREADS": "1"} | there
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=there,
                          cwd=tempfile.gettempdir())
    return float(done.stdout.split()[-1])


def per_table(way, cells, n):
    "Microseconds for each of 16 binary candidates of a binary family, `cells` with the candidate."
    k, data = int(np.log2(cells)) - 2, np.random.default_rng(0).integers(2, size=(n, 32))
    if way == "bincount":
        columns, code = np.ascontiguousarray(data.T, np.intp), np.zeros(n, np.intp)
        for c in range(k + 1): code = 2*code + columns[c]
        def count():
            for c in range(16, 32): np.bincount(2*code + columns[c], minlength=cells)
        return min(wall(count) for _ in range(5))/16*1e6
    plan = kernels.PLAN.copy()
    if way == "bitsets": plan[:2] = 0.
    elif way != "chosen": plan[0], plan[4] = 1e18, 0. if way == "piles" else 1e9
    families = Families(data, [2]*32, score="bdeu:10")
    families.counts._data = kernels.as_data(data, [2]*32, plan=plan)
    def extend():
        families._rows.clear()
        families.extend(0, range(1, k + 1), np.arange(16, 32))
    with using_threads(1): return min(wall(extend) for _ in range(6))/16*1e6


def plan(frame):
    "The first two numbers of `kernels.PLAN`: where bitsets and a pass over the rows cost the same."
    times = frame[frame.quantity == "µs per table"].pivot_table("value", ["sizes", "at"], "case")
    times = times.astype(float).reset_index()
    some = times[(times["at"] >= 32) & (times["at"] <= 1024)]
    n, cells = some.sizes.to_numpy(float), some["at"].to_numpy(float)/2
    one_pass = times[times["at"] <= 1024].groupby("sizes")["pass"].median()
    per_row = float(np.median(one_pass.to_numpy()/one_pass.index.to_numpy(float)))
    each = np.stack([np.ones_like(n), n], 1)/(some.bitsets/cells).to_numpy()[:, None]
    return np.linalg.lstsq(each, np.ones(len(n)), rcond=None)[0]/per_row


def against(name, other):
    "CPU time of `fit` over that of another program, on the same rows; None if it is not there."
    if other == "0.1.0":
        if not os.environ.get("OLD"): return None
        theirs = printed(sys.executable, "-c", FIT, name, "1", PYTHONPATH=os.environ["OLD"])
    else:
        if not os.environ.get("AGRUM"): return None
        rows = load_network(name).sample(ROWS, seed=0)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder)/"rows.csv"
            rows = rows[[c for c in rows if rows[c].nunique() > 1]]
            rows.apply(lambda c: c.cat.codes.astype(str)).to_csv(path, index=False)
            theirs = printed(os.environ["AGRUM"], "-c", AGRUM, str(path), other)
    return printed(sys.executable, "-c", FIT, name, "2")/theirs


def first_call(case):
    "Seconds of the first search of a process, with or without compiled code on disk."
    with tempfile.TemporaryDirectory() as folder:
        first = printed(sys.executable, "-c", FIT, "first", NUMBA_CACHE_DIR=folder)
        if case == "fresh": return first
        return printed(sys.executable, "-c", FIT, "first", NUMBA_CACHE_DIR=folder)


def fitted(table, threads=1):
    "A guided search."
    with using_threads(threads): return DiscreteScore(unused="drop").fit(table)


def known_rows(name):
    "Rows of a network, without columns that have one state in them; None if it is too wide."
    try: net = load_network(name)
    except Exception: return None
    if len(net.names) > 100: return None
    rows = net.sample(ROWS, seed=0)
    return as_table(rows[[c for c in rows if rows[c].nunique() > 1]], unused="drop")


def values(quantity, case, widths, sizes):
    "What was measured, by the size that varies."
    d = widths[0] if widths else 0
    if quantity == "µs per table": return {c: per_table(case, c, sizes[0]) for c in widths}
    if quantity == "fit / other": return {d: against(*case.split())}
    if quantity == "first call": return {d: first_call(case)}
    if quantity == "peak MB": return {d: printed(sys.executable, FILE, str(d), str(sizes[0]))}
    if quantity == "guided seconds":
        table = table_of(d, sizes[0])
        return {d: wall(lambda: fitted(table, 1 + (case == "two threads")))}
    if quantity == "seconds":
        table = known_rows(case)
        return {} if table is None else {table.d: cpu(fitted, table, 1)}
    if quantity == "one thread / two":
        table = known_rows(case)
        one, two = (min(wall(lambda: fitted(table, k)) for _ in range(3)) for k in (1, 2))
        return {table.d: one/two}
    if quantity == "search / pairs":
        table = table_of(d, sizes[0], int(case.split()[1]))
        return {d: cpu(search, table)/cpu(count_pairs, table, 5)}
    tables = [(d, n) for d in widths for n in sizes]
    times = [cpu(search, table_of(*t), 1 if t[0] > 80 or t[1] > ROWS else 3) for t in tables]
    return {at: spent/times[0] for at, spent in zip(widths if len(sizes) == 1 else sizes, times)}


def machine():
    "The processor and its cores."
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores"


def rows(setting):
    "One quantity at its sizes; `at` is the size that varies."
    quantity, case, widths, sizes = setting
    whole = [[int(v) for v in str(text).split()] for text in (widths, sizes)]
    found = values(quantity, case, *whole) or {0: None}
    for at, value in found.items():
        yield {"at": at, "value": value, "machine": machine()}


SPEED = Study(
    "speed", settings, "speed and memory of the order search, as ratios of one run.", rows,
    key=KEY, columns=(*KEY, "at", "value", "machine"), measured=("value", "machine"),
)

if __name__ == "__main__":
    search(table_of(int(sys.argv[1]), int(sys.argv[2])))
    status = Path("/proc/self/status").read_text().splitlines()
    print(next(int(line.split()[1])/1024 for line in status if line.startswith("VmHWM")))

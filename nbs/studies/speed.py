"""Speed and memory of the order search, as ratios of one run: `make bench`.

Times are of one process on one core unless a row says so, the smallest of a few repeats; the
machine may be shared. The yardstick of the unguided search (`pairs`) is counting all pairwise
tables once with plain `np.bincount`. What is not there is left out: `OLD` in the environment is the
folder of version 0.1.0 (`git archive 1b1462a`), `AGRUM` a Python with pyAgrum. Run as a program
with the numbers of columns and rows, this file does one search and prints its peak memory.
Wall times (two threads) mean something on an idle machine only: the load is stored beside them.
`at` is the size that varies, 0 if none does. What else is stored of a measurement stands there too:
of two threads what sorting gains (0), the turns (-1) and the quartiles of their ratios (-25, -75),
of tests and networks the processor's seconds and the families met (0).
"""
import os
import platform
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np

from discrete_score import kernels
from discrete_score.belief import Belief
from discrete_score.blanket import BlanketScore
from discrete_score.counts import using_threads
from discrete_score.data import as_table
from discrete_score.discover import DiscreteScore
from discrete_score.networks import load_network, network_names, random_network
from discrete_score.order import causal_order
from discrete_score.scores import Families
from discrete_score.search import best_ordering
from discrete_score.studies import Study

FILE, ROWS = __file__, 10_000
KEY = "quantity", "case", "widths", "sizes"
NETWORKS = "alarm", "hailfinder", "hepar2", "win95pts"
CELLS, LENGTHS = "4 8 16 32 64 128 256 512 1024 2048 4096", (1000, 10_000, 100_000, 1_000_000)
GUIDES = "evidence", "halves"  # The default, and the rule of version 0.1.0
PYTEST = sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"
WAITING = "test_browser", "test_interrupt", "test_wheel"  # Tests that wait for other processes
FIT = """
import os, sys, time, warnings
import discrete_score as ds
warnings.simplefilter("ignore")
def table(name):
    rows = ds.load_network(name).sample(10_000, seed=0)
    return rows[[c for c in rows if rows[c].nunique() > 1]]
guide = os.environ.get("GUIDE", "evidence")
clock = getattr(time, os.environ.get("CLOCK", "process_time"))
start = clock()
ds.DiscreteScore(unused="drop", guide=guide).fit(table("asia"))
if sys.argv[1] == "first": print(clock() - start)
else:
    data, times = table(sys.argv[1]), []
    for _ in range(int(sys.argv[2])):
        start = clock()
        ds.DiscreteScore(unused="drop", guide=guide).fit(data)
        times.append(clock() - start)
    print(min(times))
"""
TESTS = """
import sys, time
import numpy as np
import discrete_score as ds
rows, rng = ds.load_network("alarm").sample(10_000, seed=0), np.random.default_rng(0)
table, size, times = ds.as_table(rows, unused="drop"), int(sys.argv[1]), []
drawn = [rng.permutation(table.d).tolist() for _ in range(30)]
pairs = [(c[0], c[1], [c[k:k + size] for k in range(2, 12)]) for c in drawn]
try:
    from discrete_score.scores import families_of
    from discrete_score.tests import chi2_exact_all
    counts = families_of(table).counts
    def test(pairs): chi2_exact_all(counts, pairs)
except ImportError:
    from discrete_score.diagnosis import Sample, chi2_exact
    sample = Sample(table, None)
    def test(pairs):
        for i, j, sets in pairs:
            for given in sets: chi2_exact(sample, i, j, given)
test(pairs[:1])
for _ in range(3):
    start = time.process_time()
    test(pairs)
    times.append(time.process_time() - start)
print(10*len(pairs)/min(times))
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
             for way in ("bitsets", "cells", "pass", "piles", "counters", "bincount", "chosen")]
    found += [("way chosen", "extend", CELLS, str(n)) for n in LENGTHS[:4 if full else 2]]
    found += [("tests per second", case, "0 1 2 3 4", str(ROWS)) for case in ("0.1.0", "now")]
    found += [("fit / other", f"{name} {other} {guide}", "", str(ROWS)) for name in NETWORKS
              for other in ("0.1.0", "ghc", "miic") for guide in GUIDES]
    found += [("first call", case, "", str(ROWS)) for case in ("fresh", "kept")]
    found += [("shared tests", case, "", "0") for case in ("0.1.0", "fresh", "kept") if full]
    large = (("500", "10000"), ("200", "100000"), ("500", "100000")) if full else ()
    wide = ("200" if full else "60", str(ROWS)), *large
    found += [("one thread / two", "hepar2", "", str(ROWS)),
              *(("one thread / two", "wide", *sizes) for sizes in wide)]
    found += [("two fits at once", case, "", str(ROWS)) for case in ("threads", "processes")]
    found += [("folded / whole", "binary", "8 10 12 14", str(n)) for n in LENGTHS[1:3]]
    found += [("search / pairs", f"degree {k}", "40", str(ROWS)) for k in (2, 4)]
    widths, sizes = ("10 20 40 80", "1000 10000 100000") if full else ("10 20 40", "1000 10000")
    found += [("growth in d", "guided", widths + " 160"*full, "10000"),
              ("growth in n", "guided", "40", sizes)]
    found += [("growth in d", "degree 2", widths + " 160 200"*full, "10000"),
              ("growth in n", "degree 2", "20", sizes + " 1000000"*full)]
    found += [("peak MB", "degree 2", *(("200", "100000") if full else ("40", "10000")))]
    found += [("guided seconds", "1 thread", *sizes) for sizes in large]
    return found + [("seconds", name, "", str(ROWS)) for name in network_names() if full]


def table_of(d, n, degree=2):
    net = random_network(d, degree=degree, states=(3, 6), seed=1000 + d)
    return as_table(net.sample(n, seed=0), unused="drop")


def count_pairs(table):
    codes = [np.ascontiguousarray(table.codes[:, j], dtype=np.intp) for j in range(table.d)]
    n = table.n_states
    for i in range(table.d):
        for j in range(i): np.bincount(codes[i]*n[j] + codes[j], minlength=n[i]*n[j])


def search(table):
    "A search without a guide."
    with using_threads(1): return causal_order(BlanketScore().fit(table), table.names, "kl_uniform")


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


def spent(run):
    "Seconds of the processor."
    start = time.process_time()
    run()
    return time.process_time() - start


def printed(*command, **there):
    "The number that a program prints."
    there = os.environ | {"OMP_NUM_THREADS": "1", "DISCRETE_SCORE_THREADS": "1"} | there
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=there,
                          cwd=tempfile.gettempdir())
    return float(done.stdout.split()[-1])


def per_table(way, cells, n, name_way=False):
    "Microseconds for each of 16 binary candidates of a binary family, `cells` with the candidate."
    k, data = int(np.log2(cells)) - 2, np.random.default_rng(0).integers(2, size=(n, 32))
    if way == "bincount":
        columns, code = np.ascontiguousarray(data.T, np.intp), np.zeros(n, np.intp)
        for c in range(k + 1): code = 2*code + columns[c]
        def count():
            for c in range(16, 32): np.bincount(2*code + columns[c], minlength=cells)
        return min(spent(count) for _ in range(5))/16*1e6
    plan, parents, candidates = kernels.PLAN.copy(), np.arange(1, k + 1), np.arange(16, 32)
    if way != "chosen":
        plan[:2] = 0. if way in ("bitsets", "cells") else 1e18
        plan[8], plan[10] = -1e18 if way == "counters" else 1e18, 1e18 if way == "cells" else 0.
        plan[11] = 0. if way == "cells" else 1.
        plan[4] = 0. if way == "piles" else 1e18
    families, out, more = Families(data, [2]*32, score="bdeu:10"), np.empty(32), (0, parents)
    table = kernels.as_data(data, [2]*32, plan=plan, counters=way != "bitsets")
    good = False
    while not good: use, good = kernels.use_of(table, families.sizes()[1], *more, 2)
    terms = families.sizes()[0]
    def extend(): return kernels.extend(table, terms, use, *more, candidates, out)
    if name_way: return extend()
    return min(spent(extend) for _ in range(6))/16*1e6


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


def against(name, other, guide):
    "CPU time of `fit` over that of another program, on the same rows; None if it is not there."
    if not os.environ.get("OLD" if other == "0.1.0" else "AGRUM"): return None
    return printed(sys.executable, "-c", FIT, name, "4", GUIDE=guide)/theirs(name, other)


@cache
def theirs(name, other):
    "CPU time of another program, the smallest of a few where it is not long."
    if other == "0.1.0":
        repeats = "1" if name == "win95pts" else "4"
        return printed(sys.executable, "-c", FIT, name, repeats, PYTHONPATH=os.environ["OLD"])
    rows = load_network(name).sample(ROWS, seed=0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)/"rows.csv"
        rows = rows[[c for c in rows if rows[c].nunique() > 1]]
        rows.apply(lambda c: c.cat.codes.astype(str)).to_csv(path, index=False)
        command = os.environ["AGRUM"], "-c", AGRUM, str(path), other
        return min(printed(*command) for _ in range(4))


def tests_per_second(case, size):
    "Independence tests given `size` columns; None if version 0.1.0 is not there."
    if case == "now": return printed(sys.executable, "-c", TESTS, str(size))
    old = os.environ.get("OLD")
    return old and printed(sys.executable, "-c", TESTS, str(size), PYTHONPATH=old)


def folding(d, n):
    "CPU time of a search for a network with equal rows counted once over that with all rows."
    rng, times = np.random.default_rng(d), []
    codes = (rng.random((n, d)) + rng.random((n, 1)) > 1).astype(int)
    def learn(fold):
        families = Families(codes, [2]*d, score="qnml")
        if not fold: families.counts._folded = families.counts.data()
        best_ordering(families, patience=1)
    with using_threads(1):
        for fold in (True, False): times.append(min(spent(lambda: learn(fold)) for _ in range(2)))
    return times[0]/times[1]


def first_call(case):
    "Seconds of the first search of a process, with or without compiled code on disk."
    with tempfile.TemporaryDirectory() as folder:
        first = printed(sys.executable, "-c", FIT, "first", NUMBA_CACHE_DIR=folder)
        if case == "fresh": return first
        return printed(sys.executable, "-c", FIT, "first", NUMBA_CACHE_DIR=folder)


def test_names(tree):
    "The tests that a folder holds, without those that wait for other processes."
    lines = pytest(tree, "--collect-only", "tests").splitlines()
    return [name for name in lines if "::" in name and not any(w in name for w in WAITING)]


def pytest(tree, *more, **there):
    "What pytest prints of the tests of a folder with its own code."
    there = os.environ | {"PYTHONPATH": str(tree)} | there
    return subprocess.run([*PYTEST, *more], capture_output=True, text=True, check=True, cwd=tree,
                          env=there).stdout


def shared_tests(case):
    """Seconds of all tests that version 0.1.0 has and that are still there: with its code, or with
    today's where compiled code is not there yet (`fresh`) or is (`kept`)."""
    if not os.environ.get("OLD"): return None
    old, new = Path(os.environ["OLD"]), Path(FILE).parents[2]
    both = *sorted(set(test_names(old)) & set(test_names(new))),
    return timed(old, both, 1)[0] if case == "0.1.0" else timed(new, both, 2)[case == "kept"]


@cache
def timed(tree, names, times):
    "Seconds on the clock, and of the processor under 0, of tests: compiled on the way, and again."
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for _ in range(times):
            before = sum(os.times()[2:4])
            clock = wall(lambda: pytest(tree, *names, NUMBA_CACHE_DIR=folder))
            found.append({len(names): clock, 0: sum(os.times()[2:4]) - before})
        return found


def fitted(table, threads=1):
    "A guided search."
    with using_threads(threads): return DiscreteScore(unused="drop").fit(table)


def at_once(case):
    "How much more is done with two fits of Hepar2 at once, in threads or processes, than with one."
    def longest(fit):
        with ThreadPoolExecutor(2) as pool: return max(pool.map(fit, range(2)))
    if case == "threads":
        table = known_rows("hepar2")
        def fit(_): return min(wall(lambda: fitted(table)) for _ in range(6))
    else:
        def fit(_): return printed(sys.executable, "-c", FIT, "hepar2", "6", CLOCK="perf_counter")
    return 2*fit(0)/longest(fit)


def sorting(threads):
    "Seconds in which so many threads, which need nothing of each other, sort numbers of their own."
    numbers = np.random.default_rng(0).random((threads, 2**15))
    def sort(own):
        for _ in range(800): np.sort(own)
    with ThreadPoolExecutor(threads) as pool: return wall(lambda: list(pool.map(sort, numbers)))


def known_rows(name):
    "Rows of a network, without columns that have one state in them; None if it is too wide."
    try: net = load_network(name)
    except Exception: return None
    if len(net.names) > 100: return None
    rows = net.sample(ROWS, seed=0)
    return as_table(rows[[c for c in rows if rows[c].nunique() > 1]], unused="drop")


def values(quantity, case, widths, sizes):
    "What was measured, by the size that varies."
    d, n = widths[0] if widths else 0, sizes[0]
    if quantity == "µs per table": return {c: per_table(case, c, n) for c in widths}
    if quantity == "way chosen": return {c: per_table("chosen", c, n, True) for c in widths}
    if quantity == "tests per second": return {k: tests_per_second(case, k) for k in widths}
    if quantity == "fit / other": return {d: against(*case.split())}
    if quantity == "first call": return {d: first_call(case)}
    if quantity == "shared tests": return shared_tests(case)
    if quantity == "two fits at once": return {d: at_once(case)}
    if quantity == "folded / whole": return {d: folding(d, n) for d in widths}
    if quantity == "peak MB": return {d: printed(sys.executable, FILE, str(d), str(n))}
    if quantity == "guided seconds": return {d: cpu(fitted, table_of(d, n), 1)}
    if quantity == "seconds":
        table = known_rows(case)
        return {} if table is None else {table.d: cpu(fitted, table, 1), 0: families_met(table)}
    if quantity == "one thread / two":
        table = table_of(d, n) if widths else known_rows(case)
        turns, each = int(np.clip(48e6 / (table.d * table.n), 3, 24)), (1, 2)
        times = np.array([[*(wall(lambda: fitted(table, k)) for k in each), *map(sorting, each)]
                          for _ in range(turns)])
        (one, two, alone, beside), pairs = times.min(0), times[:, 0] / times[:, 1]
        low, high = np.quantile(pairs, [.25, .75])
        return {table.d: one/two, 0: 2*alone/beside, -25: low, -75: high, -1: turns}
    if quantity == "search / pairs":
        table = table_of(d, n, int(case.split()[1]))
        return {d: cpu(search, table)/cpu(count_pairs, table, 5)}
    run, tables = fitted if case == "guided" else search, [(d, n) for d in widths for n in sizes]
    times = [cpu(run, table_of(*t), 1 if t[0] > 80 or t[1] > ROWS else 2) for t in tables]
    return {at: spent/times[0] for at, spent in zip(widths if len(sizes) == 1 else sizes, times)}


def families_met(table):
    "How many families the search for the network met, with those of the search with arrows held."
    with using_threads(1): return int(Belief().fit(table).ordering_.sets.trees.used[0])


def machine():
    "The processor, its cores, and how many threads wanted them in the last minute."
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores, load {load}"


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

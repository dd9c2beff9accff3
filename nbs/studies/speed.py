"""Speed and memory of the order search, as ratios of one run: `make bench`.

The yardstick (`pairs`) is counting all pairwise tables once with plain `np.bincount`: any method
must look at the data. Growth is relative to the smallest size. Every time is the smallest of a few
repeats of CPU time in one process; the machine may be shared. Run as a program with the numbers of
columns and rows, this file does one search and prints its peak memory in megabytes.
"""
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from discrete_score.blanket import BlanketScore
from discrete_score.data import as_table
from discrete_score.networks import random_network
from discrete_score.order import causal_order
from discrete_score.studies import Study

FILE = __file__
KEY = "quantity", "degree", "widths", "sizes"


def settings(seed, full):
    "What to measure, and at which sizes; several are separated by spaces."
    widths = "10 20 40 80 160 200" if full else "10 20 40"
    sizes = "1000 10000 100000 1000000" if full else "1000 10000"
    return [("search / pairs", 2, "40", "10000"), ("search / pairs", 4, "40", "10000"),
            ("growth in d", 2, widths, "10000"), ("growth in n", 2, "20", sizes),
            ("peak MB", 2, *(("200", "100000") if full else ("40", "10000")))]


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


def peak_mb(d, n):
    "Peak memory of a whole search in a process of its own, data included."
    command = [sys.executable, FILE, str(d), str(n)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def rows(setting):
    "One quantity at its sizes; `at` is the size that varies."
    quantity, degree, widths, sizes = setting
    widths, sizes = [int(d) for d in widths.split()], [int(n) for n in sizes.split()]
    if quantity == "peak MB": yield {"at": widths[0], "value": peak_mb(widths[0], sizes[0])}
    elif quantity == "search / pairs":
        table = table_of(widths[0], sizes[0], degree)
        yield {"at": widths[0], "value": cpu(search, table)/cpu(count_pairs, table, 5)}
    else:
        tables = [(d, n) for d in widths for n in sizes]
        once = [d > 80 or n > 10_000 for d, n in tables]
        times = [cpu(search, table_of(*t), 1 if o else 3) for t, o in zip(tables, once)]
        for at, spent in zip(widths if len(sizes) == 1 else sizes, times):
            yield {"at": at, "value": spent/times[0]}


SPEED = Study(
    "speed", settings, "speed and memory of the order search, as ratios of one run.", rows,
    key=KEY, columns=(*KEY, "at", "value"), measured=("value",),
)

if __name__ == "__main__":
    search(table_of(int(sys.argv[1]), int(sys.argv[2])))
    status = Path("/proc/self/status").read_text().splitlines()
    print(next(int(line.split()[1])/1024 for line in status if line.startswith("VmHWM")))

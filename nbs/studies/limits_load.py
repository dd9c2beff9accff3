"""Load: CPU time and peak memory of whole searches, with and without the guide.

Each size runs in a process of its own. A search that needs more CPU time than the limit is ended,
and the row says so. Run as a program with the numbers of columns and rows and the guide, this file
does one search and reports what it took so far after every removal.
"""
import json
import resource
import subprocess
import sys
import time
from itertools import product

from discrete_score.data import as_table
from discrete_score.discover import DiscreteScore
from discrete_score.networks import random_network
from discrete_score.studies import Study

FILE = __file__
KEY = "d", "n", "guide"
TAKEN = "finished", "cpu_seconds", "read_mb", "peak_mb", "states", "columns_placed"
SIZES = [(20, 10_000), (20, 100_000), (50, 10_000), (50, 100_000), (100, 10_000), (100, 100_000),
         (200, 10_000), (20, 1_000_000), (200, 100_000), (50, 1_000_000), (500, 10_000),
         (500, 100_000)]
LIMITS = {(500, 100_000, "evidence"): 1800}  # Seconds of CPU time; 1200 for all others


def rows(setting):
    "One search in a process of its own."
    limit = LIMITS.get(tuple(setting), 1200)
    def lower(): resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    done = subprocess.run([sys.executable, FILE, *map(str, setting)], preexec_fn=lower,
                          capture_output=True, text=True)
    last = done.stdout.splitlines()[-1:] or ['{"finished": false}']
    yield {"limit_seconds": limit} | json.loads(last[0])


LIMITS_LOAD = Study(
    "limits_load", [(d, n, guide) for guide, (d, n) in product(("none", "evidence"), SIZES)],
    "what do whole searches cost in time and memory?", rows,
    key=KEY, columns=(*KEY, "limit_seconds", *TAKEN),
    measured=("cpu_seconds", "read_mb", "peak_mb"),
)


def peak_mb(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss/1024


def search(d, n, guide):
    "Search one table; a line on standard output after every removal."
    net = random_network(d, degree=2, states=(3, 6), seed=1000 + d)
    table = as_table(net.sample(n, seed=0), unused="drop")
    start, read, states = time.process_time(), round(peak_mb()), int(table.n_states.sum())

    def report(placed, finished):
        spent = round(time.process_time() - start, 1)
        taken = finished, spent, read, round(peak_mb()), states, placed
        print(json.dumps(dict(zip(TAKEN, taken))), flush=True)

    report(0, False)
    model = DiscreteScore(guide=None if guide == "none" else guide)
    model.fit(table, callback=lambda step: report(step.step + 1, False))
    report(len(model.order_), True)


if __name__ == "__main__": search(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])

"""Load: CPU time and peak memory of whole searches, one process per size, with and without the guide.

`python limits_load.py` appends one row per size to results/limits_load.csv and skips the sizes that are there.
A search that needs more CPU time than the limit is ended, and the row says so.
"""
import argparse, json, resource, subprocess, sys, time
from pathlib import Path

from rows import append, stored

results = Path(__file__).parent / "results" / "limits_load.csv"
FIELDS = ["d", "n", "guide", "limit_seconds", "finished", "cpu_seconds", "read_mb", "peak_mb", "states", "columns_placed"]
SIZES = [(20, 10_000), (20, 100_000), (50, 10_000), (50, 100_000), (100, 10_000), (100, 100_000), (200, 10_000), (20, 1_000_000), (200, 100_000), (50, 1_000_000), (500, 10_000), (500, 100_000)]


def peak_mb() -> float: return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def one(d: int, n: int, guide: str) -> None:
    "Search one table; report on standard output what it took so far after every removal."
    import discrete_score as ds
    table = ds.as_table(ds.random_network(d, degree=2, states=(3, 6), seed=1000 + d).sample(n, seed=0), unused="drop")
    start, read = time.process_time(), peak_mb()
    def report(placed, finished): print(json.dumps({"finished": finished, "cpu_seconds": round(time.process_time() - start, 1), "read_mb": round(read), "peak_mb": round(peak_mb()),
                                                    "states": int(table.n_states.sum()), "columns_placed": placed}), flush=True)
    report(0, False)
    model = ds.DiscreteScore(guide=None if guide == "none" else guide).fit(table, callback=lambda step: report(step.step + 1, False))
    report(len(model.order_), True)


def measure(d: int, n: int, guide: str, limit: int) -> dict:
    "The same in a process of its own, with a limit on its CPU time."
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import limits_load; limits_load.one({d}, {n}, {guide!r})"
    lower = lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, preexec_fn=lower)
    lines = done.stdout.splitlines()
    if not lines: return {"d": d, "n": n, "guide": guide, "limit_seconds": limit, "finished": False}
    return {"d": d, "n": n, "guide": guide, "limit_seconds": limit, **json.loads(lines[-1])}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=1200, help="seconds of CPU time per search (default: 1200)")
    parser.add_argument("--only", nargs=2, type=int, metavar=("COLUMNS", "ROWS"), help="only this size")
    parser.add_argument("--guide", choices=["none", "evidence"], help="only with or without the guide")
    args = parser.parse_args()
    for guide in [args.guide] if args.guide else ["none", "evidence"]:
        for d, n in [tuple(args.only)] if args.only else SIZES:
            if (str(d), str(n), guide) in {(r["d"], r["n"], r["guide"]) for r in stored(results)}: continue
            row = measure(d, n, guide, args.limit)
            append(results, FIELDS, row)
            print(row, flush=True)

"""Speed and memory of the order search, as ratios and growth rates of one run: `make bench`.

The floor is counting all pairwise tables once with plain `np.bincount`: any method must look at the data.
Every number is the smallest of a few repeats of CPU time in one process; the machine may be shared.
"""
import argparse, json, subprocess, sys, time
from pathlib import Path

import numpy as np

import discrete_score as ds

results = Path(__file__).parent / "results" / "speed.json"


def table_of(d, n, degree=2): return ds.as_table(ds.random_network(d, degree=degree, states=(3, 6), seed=1000 + d).sample(n, seed=0), unused="drop")


def cpu(f, repeats):
    "Smallest CPU time of `f()` over a few repeats."
    times = []
    for _ in range(repeats):
        start = time.process_time()
        f()
        times.append(time.process_time() - start)
    return min(times)


def count_pairs(table):
    codes, n = [np.ascontiguousarray(table.codes[:, j], dtype=np.intp) for j in range(table.d)], table.n_states
    for i in range(table.d):
        for j in range(i): np.bincount(codes[i] * n[j] + codes[j], minlength=n[i] * n[j])


def whole(table): return ds.causal_order(ds.BlanketScore().fit(table), table.names, "kl_uniform")


def exponent(x, y): return float(np.polyfit(np.log(x), np.log(y), 1)[0])


PEAK = """
import sys; sys.path.insert(0, {folder!r})
from pathlib import Path
import speed
speed.whole(speed.table_of({d}, {n}))
status = Path("/proc/self/status").read_text().splitlines()
print(next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM")))
"""


def peak_mb(d, n):
    "Peak memory of a whole search in a process of its own, data included."
    code = PEAK.format(folder=str(Path(__file__).parent), d=d, n=n)
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def bench(full):
    repeats, out = 3, {}
    for degree in (2, 4):
        table = table_of(40, 10_000, degree)
        out[f"d = 40, N = 10,000, degree {degree}: search / counting all pairs"] = cpu(lambda: whole(table), repeats) / cpu(lambda: count_pairs(table), 5)
    widths = (10, 20, 40, 80, 160, 200) if full else (10, 20, 40)
    by_d = {d: cpu(lambda table=table_of(d, 10_000): whole(table), repeats if d <= 80 else 1) for d in widths}
    out["growth in d"] = {str(d): t / by_d[widths[0]] for d, t in by_d.items()}
    inner = [d for d in widths if 20 <= d <= 160]
    out["exponent in d, 20 to 160" if full else "exponent in d, 20 to 40"] = exponent(inner, [by_d[d] for d in inner])
    sizes = (1000, 10_000, 100_000, 1_000_000) if full else (1000, 10_000)
    by_n = {n: cpu(lambda table=table_of(20, n): whole(table), repeats if n <= 10_000 else 1) for n in sizes}
    out["growth in N, d = 20"] = {str(n): t / by_n[sizes[0]] for n, t in by_n.items()}
    out[f"exponent in N, {sizes[0]:,} to {sizes[-1]:,}"] = exponent(sizes, [by_n[n] for n in sizes])
    if full: out["steepest exponent between neighbours in N"] = max(exponent(sizes[k:k + 2], [by_n[n] for n in sizes[k:k + 2]]) for k in range(len(sizes) - 1))
    for d, n in [(200, 100_000)] if full else [(40, 10_000)]: out[f"peak memory, d = {d}, N = {n:,} (MB)"] = peak_mb(d, n)
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all sizes, and store the result for speed.ipynb")
    args = parser.parse_args()
    found = bench(args.full)
    print(json.dumps(found, indent=1))
    if args.full: results.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")

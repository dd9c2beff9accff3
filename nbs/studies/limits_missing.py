"""Missing cells end to end: D_top against the share of cells that are missing at random, for each way to handle them.

`python limits_missing.py` appends one row per search to results/limits_missing.csv and goes on where it stopped.
Networks: 10 columns, expected degree 2, 3 to 5 states; 2,000 rows; seeds 7000 and up, used nowhere else.
"""
import argparse
from pathlib import Path

import numpy as np

import discrete_score as ds
from rows import append, stored

results = Path(__file__).parent / "results" / "limits_missing.csv"
FIELDS = ["seed", "share", "policy", "guide", "rows_used", "edges", "d_top", "error"]
SHARES, POLICIES = (0., .02, .05, .1, .2, .3), ("drop", "state")


def data(seed: int, share: float, n=2000):
    "A network, and a sample of it in which each cell is missing with probability `share`."
    net = ds.random_network(10, degree=2, states=(3, 5), seed=seed)
    frame = net.sample(n, seed=seed).astype(str)
    return net, frame.mask(np.random.default_rng(seed).random(frame.shape) < share)


def search(policy: str, guide: str, frame):
    "Order and number of rows that it rests on."
    if policy == "native":
        from discrete_score.diffusion import DiffusionScore
        estimator = DiffusionScore(device="cpu").fit(frame)
        return ds.causal_order(estimator, estimator.table_.names, "kl_uniform").order, len(frame)
    model = ds.DiscreteScore(guide=None if guide == "none" else guide, missing=policy).fit(frame)
    return model.order_, model.n_rows_


def one(seed: int, share: float, policy: str, guide: str) -> dict:
    net, frame = data(seed, share)
    row = {"seed": seed, "share": share, "policy": policy, "guide": guide, "edges": int(net.dag.sum())}
    try: order, used = search(policy, guide, frame)
    except ValueError as error: return row | {"error": str(error)[:80]}
    return row | {"rows_used": int(used), "d_top": ds.d_top(order, net.dag, names=net.names)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="networks for `drop` and `state` (default: 20)")
    parser.add_argument("--native", type=int, default=3, help="networks for the neural estimator (default: 3)")
    args = parser.parse_args()
    jobs = [(7000 + s, share, policy, guide) for s in range(args.seeds) for share in SHARES for policy in POLICIES for guide in ("evidence", "none")]
    jobs += [(7000 + s, share, "native", "none") for s in range(args.native) for share in SHARES[::2]]
    done = {(r["seed"], r["share"], r["policy"], r["guide"]) for r in stored(results)}
    for job in jobs:
        if tuple(map(str, job)) not in done: append(results, FIELDS, one(*job))

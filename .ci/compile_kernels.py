"""Compile what tests need, while other things are installed; the compiled code stays on disk."""
from concurrent.futures import ProcessPoolExecutor

from discrete_score.counts import using_threads
from discrete_score.discover import DiscreteScore
from discrete_score.networks import load_network


def search(states):
    "Whole searches; columns with more than 256 states have kernels of their own."
    rows = load_network("asia").sample(1000, seed=0)
    if states: rows["number"] = [f"{k % states:03}" for k in range(len(rows))]
    for guide in ("evidence", "halves"):
        with using_threads(1): DiscreteScore(guide=guide).fit(rows)


if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool: list(pool.map(search, (0, 300)))

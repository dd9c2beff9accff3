"""Compile what tests need, while other things are installed; the compiled code stays on disk."""
from discrete_score.counts import using_threads
from discrete_score.discover import DiscreteScore
from discrete_score.networks import load_network

rows = load_network("asia").sample(1000, seed=0)
many = rows.assign(number=[f"{k % 300:03}" for k in range(len(rows))])
for table in (rows, many):  # Columns with more than 256 states have kernels of their own
    for guide in ("evidence", "halves"):
        with using_threads(1): DiscreteScore(guide=guide).fit(table)

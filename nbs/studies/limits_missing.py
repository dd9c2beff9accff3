"""Missing cells: D_top against the share of cells that are missing at random, for each policy.

Networks: 10 columns, expected degree 2, 3 to 5 states; 2,000 rows; seeds 7000 and up, used nowhere
else. The neural estimator (`native`) takes part on four of the networks.
"""
from itertools import product

import numpy as np

from discrete_score.discover import DiscreteScore
from discrete_score.graphs import d_top
from discrete_score.networks import random_network
from discrete_score.order import causal_order
from discrete_score.studies import Study

KEY = "seed", "share", "policy", "guide"
SHARES = 0., .02, .05, .1, .2, .3
GUIDES = "halves", "none"
SETTINGS = list(product(range(7000, 7020), SHARES, ("drop", "state"), GUIDES))
SETTINGS += product(range(7000, 7004), SHARES[::2], ["native"], ["none"])


def search(policy, guide, frame):
    "Order and number of rows that it rests on."
    if policy == "native":
        from discrete_score.diffusion import DiffusionScore
        estimator = DiffusionScore(device="cpu").fit(frame)
        return causal_order(estimator, estimator.table_.names, "kl_uniform").order, len(frame)
    model = DiscreteScore(guide=None if guide == "none" else guide, missing=policy).fit(frame)
    return model.order_, model.n_rows_


def rows(setting):
    "One search in a sample in which each cell is missing with probability `share`."
    seed, share, policy, guide = setting
    net = random_network(10, degree=2, states=(3, 5), seed=seed)
    frame = net.sample(2000, seed=seed).astype(str)
    frame = frame.mask(np.random.default_rng(seed).random(frame.shape) < share)
    edges = {"edges": int(net.dag.sum())}
    try: order, used = search(policy, guide, frame)
    except ValueError as error: yield edges | {"error": str(error)[:80]}
    else: yield edges | {"rows_used": int(used), "d_top": d_top(order, net.dag, names=net.names)}


LIMITS_MISSING = Study(
    "limits_missing", SETTINGS, "what do missing cells cost?", rows,
    key=KEY, columns=(*KEY, "rows_used", "edges", "d_top", "error"), measured=(),
)

"""How good is the neural estimator, and does one training suffice? One row per dataset and method.

Choices were made on seeds from 500 on, but not blindly: rows of the judged seeds 0 to 4 were seen
before the last ones, so that the rows of `default` at these seeds are not a blind test; seeds 607
to 611 are one (in the sample of 606 a state never occurs). Seeds 601 to 605 and 700 to 703 are used
up by variants that were not taken up: a network of half the cost; fewer masks; gated heads, a group
penalty on the direct map, smaller batches, stronger weight decay; longer training of larger heads.
`retrain` uses the hyper-parameters that were chosen for `once`; it was not tuned by itself.

`default` is `DiffusionScore()` as it comes. For the comparison `once` is trained for EPOCHS epochs.
`retrain` is shown at equal compute per training (EPOCHS for each of d trainings), and at equal
total compute: a training on k columns costs about k/d of one on all, so EPOCHS*2/(d + 1) epochs.
With 20 columns `retrain` makes one step of the search only. `seconds` is the processor time of
training and evaluation on one core, of use as a ratio only.
"""
import time
from dataclasses import replace
from itertools import product

import numpy as np
import torch

from discrete_score.blanket import BlanketScore
from discrete_score.data import as_table
from discrete_score.diffusion import DiffusionScore, Settings
from discrete_score.graphs import d_top
from discrete_score.networks import random_network
from discrete_score.order import causal_order
from discrete_score.score import ExactScore
from discrete_score.studies import Study

KEY = "d", "seed", "method"
EPOCHS = 12
BASE = Settings(width=32, layers=1, hidden=128, epochs=EPOCHS, batch_size=256, learning_rate=5e-3,
                weight_decay=.01, patience=None)
ENERGY = replace(BASE, network="energy", width=64, layers=2)


def estimator(method, net):
    "An estimator by its name."
    if method == "exact": return ExactScore(net)
    if method == "blanket": return BlanketScore()
    if method == "default": return DiffusionScore(device="cpu")
    if method == "once hollow": return DiffusionScore("once", BASE, device="cpu")
    settings = ENERGY if method == "retrain energy" else BASE
    if "equal total" in method:
        settings = replace(BASE, epochs=max(1, round(EPOCHS*2/(net.d + 1))))
    return DiffusionScore("retrain", settings, device="cpu")


QUICK = ["exact", "blanket", "once hollow", "retrain hollow, equal total"]
SEARCHES = ["retrain hollow", "retrain energy"]
PLAN = [
    (10, range(5), [*QUICK, "retrain hollow", "default"]),
    (5, range(3), [*QUICK, *SEARCHES]),
    (20, [0], [*QUICK[:3], *SEARCHES]),
    (10, range(2), ["retrain energy"]),
    (10, range(607, 612), ["exact", "blanket", "default"]),  # judges the defaults
    (20, [1, 2], QUICK[:3]),
    (10, range(5, 15), [*QUICK, "retrain hollow"]),  # compares `once` and `retrain`
]
SETTINGS = [(d, seed, m) for d, seeds, methods in PLAN for seed, m in product(seeds, methods)]


def mean_kl(exact, found):
    "Mean Kullback-Leibler divergence of estimated conditionals, over rows and columns."
    logs = [np.log(np.maximum(p, 1e-300)) - np.log(q) for p, q in zip(exact, found)]
    return float(np.mean([(p*log).sum(1).mean() for p, log in zip(exact, logs)]))


def rows(setting):
    "KL and V at the full set, KL along the method's own path, D_top of its order."
    torch.set_num_threads(1)
    d, seed, method = setting
    net = random_network(d, degree=2, states=(3, 6), seed=seed)
    table = as_table(net.sample(10_000, seed=seed), unused="drop")
    if list(table.n_states) != list(net.n_states):
        raise ValueError("a state never occurs in this sample; choose another seed")
    truth = ExactScore(net).fit(table).values(range(d), "entropy")[0]
    path, began = [], time.process_time()
    est = estimator(method, net).fit(table)

    def remember(step): path.append([table.names.index(name) for name in step.remaining])

    steps = 1 if d == 20 and method in SEARCHES else None
    result = causal_order(est, table.names, "kl_uniform", seed=seed, max_steps=steps,
                          callback=remember)
    seconds, fresh = time.process_time() - began, net.codes(2000, seed=1000 + seed)
    kl = [mean_kl(net.conditionals(fresh, left), est.conditionals(fresh, left))
          for left in path if len(left) > 1]
    yield {
        "epochs": getattr(getattr(est, "settings", None), "epochs", ""),
        "edges": int(net.dag.sum()), "steps": len(path),
        "kl_full": round(kl[0], 5), "kl_path": round(float(np.mean(kl)), 5),
        "v_error": round(float(np.abs(est.values(range(d), "entropy")[0] - truth).mean()), 5),
        "d_top": int(d_top(result.order, net.dag, names=net.names)) if result.complete else "",
        "seconds": round(seconds, 1),
    }


DIFFUSION = Study(
    "diffusion", SETTINGS, "how good is the neural estimator, and does one training suffice?", rows,
    key=KEY, measured=("seconds",),
    columns=(*KEY, "epochs", "edges", "steps", "kl_full", "kl_path", "v_error", "d_top", "seconds"),
)

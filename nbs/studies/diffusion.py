"""How good is the neural estimator, and does one training suffice? One row per dataset and method, appended as it is finished.

    python nbs/studies/diffusion.py             # computes what is missing in results/diffusion.csv
    python nbs/studies/diffusion.py --only once # only the methods whose name starts so; --columns 5 only networks of that size

Choices were made on seeds from 500 on, but not blindly: rows of the judged seeds 0 to 4 were seen before the last ones. A first run
(one network row, seed 0, KL 0.032, error of V 0.034) was thrown away when the direct map, wider heads and another mask rate came in; the
defaults went from 20 to 24 epochs, with `slack`, after rows of seeds 0 and 1 under the old defaults (KL 0.017 and 0.052, error of V
0.009 and 0.042) and all five rows of `once hollow` were known. The rows of `default` at these seeds are therefore not a blind test; seeds 607 to 611 are one (in the sample of 606 a state never occurs).
Seeds 601 to 605 are used up: a variant of half the cost (no block in the streams, 30 % of the rows shown whole, 20 epochs, more slack) was tried on 601 and 602
(KL 0.035 and 0.065, error of V 0.018 and 0.047, D_top 0 and 4 where exact conditionals have 1 and 0) and was not taken up. Variants tried later on 700 to 703 were not taken up either: fewer masks (schedule with a total of 1 in place of 3) lowered the error of V from
0.111, 0.019, 0.016, 0.048 to 0.098, 0.014, 0.015, 0.045; gated heads, a group penalty on the direct map, smaller batches and stronger weight decay changed little; 100 epochs with heads of twice the size, at six times the cost, took 0.111 to 0.083.
`retrain` uses the hyper-parameters that were chosen for `once`; it was not tuned by itself.

`default` is `DiffusionScore()` as it comes. For the comparison `once` is trained for EPOCHS epochs. `retrain` is shown at equal compute per training (EPOCHS for each of d trainings), and at equal
total compute: a training on k columns costs about k/d of one on all, so EPOCHS*2/(d + 1) epochs each.
`seconds` is the processor time of training and evaluation on one core, of use as a ratio only.
"""
import argparse, time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

import discrete_score as ds
from rows import append, stored
from discrete_score.diffusion import DiffusionScore, Settings

results = Path(__file__).parent / "results" / "diffusion.csv"
ROWS, DEGREE, MEASURE, EPOCHS = 10_000, 2, "kl_uniform", 12
FIELDS = ["d", "seed", "method", "epochs", "edges", "steps", "kl_full", "kl_path", "v_error", "d_top", "seconds"]
BASE = Settings(width=32, layers=1, hidden=128, epochs=EPOCHS, batch_size=256, learning_rate=5e-3, weight_decay=.01, patience=None)
ENERGY = replace(BASE, network="energy", width=64, layers=2)


def equal_total(d): return max(1, round(EPOCHS*2/(d + 1)))


METHODS = {
    "exact": lambda d, net: ds.ExactScore(net),
    "blanket": lambda d, net: ds.BlanketScore(),
    "default": lambda d, net: DiffusionScore(device="cpu"),
    "once hollow": lambda d, net: DiffusionScore("once", BASE, device="cpu"),
    "retrain hollow, equal total": lambda d, net: DiffusionScore("retrain", replace(BASE, epochs=equal_total(d)), device="cpu"),
    "retrain hollow": lambda d, net: DiffusionScore("retrain", BASE, device="cpu"),
    "retrain energy": lambda d, net: DiffusionScore("retrain", ENERGY, device="cpu"),
}
quick, searches = ["exact", "blanket", "once hollow", "retrain hollow, equal total"], ["retrain hollow", "retrain energy"]
SEEN, BLIND, MORE = range(5), range(607, 612), range(5, 15)  # seeds at d = 10: BLIND to judge the defaults, MORE to compare `once` and `retrain`
PLAN = [(10, seed, method, None) for seed in SEEN for method in [*quick, "retrain hollow", "default"]]  # (d, seed, method, steps of the search; None for all)
PLAN += [(5, seed, method, None) for seed in range(3) for method in [*quick, *searches]]
PLAN += [(20, 0, method, None) for method in quick[:3]] + [(20, 0, method, 1) for method in searches]
PLAN += [(10, seed, "retrain energy", None) for seed in range(2)]
PLAN += [(10, seed, method, None) for seed in BLIND for method in ("exact", "blanket", "default")]
PLAN += [(20, seed, method, None) for seed in (1, 2) for method in quick[:3]]
PLAN += [(10, seed, method, None) for seed in MORE for method in [*quick, "retrain hollow"]]


def mean_kl(exact, found): return float(np.mean([(p*(np.log(np.maximum(p, 1e-300)) - np.log(q))).sum(1).mean() for p, q in zip(exact, found)]))


def one(d, seed, method, steps):
    "One dataset, one method: KL and V at the full set, KL along the method's own path, D_top of its order."
    net = ds.random_network(d, degree=DEGREE, states=(3, 6), seed=seed)
    table, fresh = ds.as_table(net.sample(ROWS, seed=seed), unused="drop"), net.codes(2000, seed=1000 + seed)
    if list(table.n_states) != list(net.n_states): raise ValueError("a state never occurs in this sample; choose another seed")
    truth = ds.ExactScore(net).fit(table).values(range(d), "entropy")[0]
    began = time.process_time()
    est = METHODS[method](d, net).fit(table)
    path, left = [], list(range(d))
    result = ds.causal_order(est, table.names, MEASURE, seed=seed, max_steps=steps, callback=lambda step: path.append([table.names.index(n) for n in step.remaining]) and False)
    seconds = time.process_time() - began
    kl = [mean_kl(net.conditionals(fresh, left), est.conditionals(fresh, left)) for left in path if len(left) > 1]
    row = {"d": d, "seed": seed, "method": method, "epochs": getattr(getattr(est, "settings", None), "epochs", ""), "edges": int(net.dag.sum()), "steps": len(path)}
    row |= {"kl_full": round(kl[0], 5), "kl_path": round(float(np.mean(kl)), 5), "v_error": round(float(np.abs(est.values(range(d), "entropy")[0] - truth).mean()), 5)}
    return row | {"d_top": int(ds.d_top(result.order, net.dag, names=net.names)) if result.complete else "", "seconds": round(seconds, 1)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="only methods whose name starts so")
    parser.add_argument("--columns", type=int, help="only networks of so many columns")
    args = parser.parse_args()
    torch.set_num_threads(1)
    done = lambda: {(int(row["d"]), int(row["seed"]), row["method"]) for row in stored(results)}
    for d, seed, method, steps in PLAN:
        if method.startswith(args.only) and args.columns in (None, d) and (d, seed, method) not in done(): append(results, FIELDS, one(d, seed, method, steps))

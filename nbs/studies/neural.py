"""The neural estimator: are its errors honest, what is each option worth, and what does it cost?

`neural_errors` learns V with the default settings, on random ER networks (expected degree 2). Its
rows with a `column` hold V and the parts of its error, beside the V of the network itself (not of
its sample). Rows without a column, for d = 10, hold orders and graphs (SCORE+[GES], edges inserted)
of three estimators. How errors are counted was chosen on twelve networks (seeds 800 to 811, three
sample sizes, rows not stored), but for `optimism`; `neural` holds the first judgement (seeds from
900 on). It found a table on which the network and its witness fail together. `optimism` was added
then, chosen on the same twelve; that half of it counts was settled after seeds 920 to 928 were
seen, and before those from 929 on. How the parts are put together now (three quarters of it, less
what the distances show) was chosen on seeds 910 and 920 to 935, before any of `neural_judged` (from
1000 on) was computed.

`neural_options` changes one option at a time of our settings towards the paper's, and all at once.
`neural_paper` runs the paper's own settings, retrained at every step, as far as two cores go; with
DISCRETE_SCORE_CHECKPOINTS, a folder, a run that was stopped goes on in the middle of a search.
`neural_figures` has SCORE+[X] with the network that is trained once, on data of `er` and `real`.
`neural_speed` needs the code of version 0.1.0 in the folder that DISCRETE_SCORE_BEFORE names.
"""
import os
import subprocess
import sys
import time
from dataclasses import fields, replace
from functools import partial
from itertools import product

import numpy as np
import torch

from discrete_score.blanket import BlanketScore
from discrete_score.dag import dag_from_order
from discrete_score.data import as_table
from discrete_score.diffusion import SETTINGS, DiffusionScore, Settings
from discrete_score.metrics import evaluate
from discrete_score.networks import random_network
from discrete_score.order import causal_order
from discrete_score.score import ExactScore
from discrete_score.studies import BASES, RESULTS, Setting, Study, run_setting

MEASURES = "entropy", "gini"
FIRST = {4: [900, 901], 5: [902, 903], 6: [904, 905], 7: [906], 8: [907], 10: range(910, 918)}
JUDGE = {4: range(920, 923), 5: range(923, 926), 6: range(926, 929), 7: [929, 930], 8: [931, 932],
         9: [933, 934], 10: [935]}

LAST = {4: [1000, 1001, 1002], 5: [1003, 1004, 1005], 6: [1006, 1007, 1008],
        7: [1009, 1010, 1011], 8: [1012, 1013, 1014], 9: [1015, 1016, 1017], 10: [1018, 1019]}


def dataset(d, n, seed):
    "A network and a sample in which every state occurs."
    net = random_network(d, degree=1.5 if d <= 4 else 2, states=(3, 6), seed=seed)
    table = as_table(net.sample(n, seed=seed), unused="drop")
    if list(table.n_states) == list(net.n_states): return net, table
    raise ValueError("a state never occurs in this sample")


def true_values(net, measure):
    "V of the network itself; where its tables are too large, the mean over 400,000 rows."
    try: return ExactScore(net).fit().values(range(net.d), measure)[0]
    except ValueError: sample = net.codes(400_000, seed=1)
    return ExactScore(net).fit(sample).values(range(net.d), measure)[0]


def searched(name, estimator, net, table, seconds):
    "Order and graph of one estimator."
    began = time.process_time()
    order = causal_order(estimator, table.names, "kl_uniform", seed=0).order
    seconds += time.process_time() - began
    found = evaluate(dag_from_order(table, order).dag, net.dag, order, names=net.names)
    near = np.abs(estimator.values(range(net.d), "entropy")[0] - true_values(net, "entropy")).mean()
    return {"method": name, "edges": found.n_true, "d_top": found.d_top, "shd": found.shd,
            "f1": round(found.f1.direction, 4), "v_error": round(float(near), 5),
            "seconds": round(seconds, 2)}


def rows(setting, parts=("sampling", "learning", "distance")):
    "V of every column with the parts of its error; orders and graphs where they are asked for."
    torch.set_num_threads(1)
    part, d, n, seed, epochs = setting
    net, table = dataset(d, n, seed)
    began = time.process_time()
    est = DiffusionScore(settings=Settings(epochs=epochs), device="cpu").fit(table)
    seconds = time.process_time() - began
    for measure in MEASURES:
        found, true = est.errors(range(d), measure), true_values(net, measure)
        for name, row, exact in zip(table.names, found.to_dict("records"), true):
            shown = {key: round(row[key], 6) for key in ("value", *parts)}
            yield {"column": name, "measure": measure, **shown, "true": round(float(exact), 6)}
    if part != "judge" or d != 10 or epochs == 1: return
    yield searched("once", est, net, table, seconds)
    yield searched("blanket", BlanketScore().fit(table), net, table, 0.)
    yield searched("exact", ExactScore(net).fit(table), net, table, 0.)


def planned(part, plan):
    "Settings of a part: trained as usual, and for one epoch."
    return [(part, d, 10_000, seed, epochs) for d, seeds in plan.items() for seed in seeds
            for epochs in (Settings().epochs, 1)]


KEY = "part", "d", "n", "seed", "epochs"
PARTS = "sampling", "learning", "distance", "optimism"
SEARCHED = "method", "edges", "d_top", "shd", "f1", "v_error", "seconds"
NEURAL = Study(
    "neural", planned("judge", FIRST), "are the errors of the neural estimator honest? Before the "
    "optimism of a training was counted", rows, key=KEY, measured=("seconds",),
    columns=(*KEY, "column", "measure", "value", "true", *PARTS[:3], *SEARCHED),
)
NEURAL_ERRORS = Study(
    "neural_errors", planned("judge", JUDGE),
    "are the errors of the neural estimator honest, and what are its orders worth?",
    partial(rows, parts=PARTS), key=KEY, measured=("seconds",),
    columns=(*KEY, "column", "measure", "value", "true", *PARTS, *SEARCHED),
)
NEURAL_JUDGED = Study(
    "neural_judged", [("last", d, 10_000, seed, Settings().epochs) for d, seeds in LAST.items()
                      for seed in seeds],
    "are the errors of the neural estimator honest, on twenty networks that nothing was chosen on?",
    partial(rows, parts=PARTS), key=KEY,
    columns=(*KEY, "column", "measure", "value", "true", *PARTS),
)

OURS = Settings(epochs=8)
OPTIONS = {
    "ours": {},
    "no direct map": {"direct": False},
    "one head for all": {"shared": True},
    "2d units": {"width": None, "hidden": None},
    "all rows, no early stop": {"held_out": 0., "patience": None},
    "no averaged weights": {"ema": 0.},
    "constant step of 0.001": {"schedule": "constant", "learning_rate": 1e-3, "warmup": 0},
    "no clipping": {"clip": None},
    "no weight decay": {"weight_decay": 0.},
    "times on a grid of 3000": {"times": "grid"},
    "constant rate of noise": {"noise": "constant"},
    "log-linear rate of noise": {"noise": "log_linear"},
    "the paper's, all at once": {name: getattr(SETTINGS["paper"], name)
                                 for name in vars(SETTINGS["paper"]) if name != "epochs"},
}


def mean_kl(net, est, seed):
    "Mean divergence of the conditionals from exact ones, on rows that were not seen."
    fresh = net.codes(2000, seed=10_000 + seed)
    pairs = zip(net.conditionals(fresh, range(net.d)), est.conditionals(fresh, range(net.d)))
    logs = [(p, np.log(np.maximum(p, 1e-300)) - np.log(np.maximum(q, 1e-300))) for p, q in pairs]
    return float(np.mean([(p * log).sum(1).mean() for p, log in logs]))


def option_rows(setting):
    "One training with an option changed."
    torch.set_num_threads(1)
    seed, option = setting
    net, table = dataset(10, 10_000, seed)
    began = time.process_time()
    est = DiffusionScore(settings=replace(OURS, **OPTIONS[option]), device="cpu").fit(table)
    seconds = time.process_time() - began
    off = est.values(range(10), "entropy")[0] - true_values(net, "entropy")
    order = causal_order(est, table.names, "kl_uniform", seed=0).order
    found = evaluate(net.dag, net.dag, order, names=net.names)
    yield {"kl": round(mean_kl(net, est, seed), 5), "v_error": round(float(np.abs(off).mean()), 5),
           "d_top": found.d_top, "edges": found.n_true, "seconds": round(seconds, 1)}


NEURAL_OPTIONS = Study(
    "neural_options", [(seed, option) for seed, option in product([950, 951, 952], OPTIONS)],
    "what is each option of the neural estimator worth?", option_rows, key=("seed", "option"),
    columns=("seed", "option", "kl", "v_error", "d_top", "edges", "seconds"), measured=("seconds",),
)

def figure_settings():
    "SCORE+[X] with the neural order beside others, on datasets of the studies `er` and `real`."
    data = [Setting("ER", 10, 2., "3-6", 10_000, seed) for seed in range(100, 110)]
    names = {"earthquake": 5, "asia": 8, "sachs": 11, "child": 20, "insurance": 27}
    data += [Setting(name, d, 0., "", 10_000, 100) for name, d in names.items()]
    data += [Setting("ER", 20, 2., "3-6", 10_000, seed) for seed in range(100, 103)]
    for one, base in product(data, ("pc", "ges-bic", "ges-bdeu", "gam")):
        yield replace(one, base=base, strategy="alone")
        measure = "varentropy" if one.graph == "ER" else "entropy"
        for estimator in ("diffusion", "blanket", "exact"):
            yield replace(one, estimator=estimator, measure=measure, guide="none", base=base,
                          strategy=BASES[base])


def figure_rows(setting):
    "One row of a comparison; a failure is an error here."
    row = run_setting(setting)
    if row["failure"]: raise RuntimeError(f"{setting}: {row['failure']}")
    yield {name: row[name] for name in FIGURES}


FIGURES = (*(field.name for field in fields(Setting)), *RESULTS, "cpu_seconds")
NEURAL_FIGURES = Study(
    "neural_figures", list(figure_settings()),
    "the paper's figures with the neural estimator, trained once", figure_rows, columns=FIGURES,
    measured=("cpu_seconds",),
)

PAPER = {  # Mode and settings
    "once": ("once", Settings()),
    "retrain, our settings": ("retrain", Settings()),
    "the paper's, 30 epochs": ("retrain", replace(SETTINGS["paper"], epochs=30)),
    "the paper's": ("retrain", SETTINGS["paper"]),
}


def paper_rows(setting):
    "One whole search by the paper's measure, and the graph that follows from its order."
    torch.set_num_threads(1)
    d, seed, method = setting
    net, table = dataset(d, 10_000, seed)
    known = {"blanket": BlanketScore(), "exact": ExactScore(net)}
    kept = os.environ.get("DISCRETE_SCORE_CHECKPOINTS")
    kept = None if kept is None else f"{kept}/{d}-{seed}-{method}"
    est = known.get(method) or DiffusionScore(*PAPER[method], device="cpu", checkpoint=kept)
    began = time.process_time()
    est.fit(table)
    result = causal_order(est, table.names, "varentropy", seed=0)
    seconds = time.process_time() - began
    off = est.values(range(d), "entropy")[0] - true_values(net, "entropy")
    found = evaluate(dag_from_order(table, result.order).dag, net.dag, result.order,
                     names=net.names)
    yield {"kl": round(mean_kl(net, est, seed), 5), "v_error": round(float(np.abs(off).mean()), 5),
           "edges": found.n_true, "d_top": found.d_top, "shd": found.shd,
           "f1": round(found.f1.direction, 4), "seconds": round(seconds, 1)}


PAPER_PLAN = [(d, seed, method) for d, seed in ((5, 960), (5, 961), (5, 962), (10, 970))
              for method in ("exact", "blanket", *PAPER)]
NEURAL_PAPER = Study(
    "neural_paper", PAPER_PLAN, "the paper's own training, whole searches beside others",
    paper_rows, key=("d", "seed", "method"),
    columns=("d", "seed", "method", "kl", "v_error", "edges", "d_top", "shd", "f1", "seconds"),
    measured=("seconds",),
)

SPEED = '''
import time, numpy as np, torch
from discrete_score import diffusion as d
torch.set_num_threads(1)
rng = np.random.default_rng(0)
rows = d._Rows(rng.integers(4, size=(20_000, 10)), np.ones((20_000, 10), bool), np.ones(20_000),
               np.full(10, 4))
one = d._Trainer(rows, "once", d.Settings(held_out=.05), device="cpu")
n = len(one.rows.codes)
def noise(k):
    if hasattr(d, "_bits"): return d._noisy(one.rows, torch.arange(n), "once", one.settings, 0, k)
    return d._noisy(one.rows, "once", np.random.default_rng([0, k]), one.device)
def pace(act, times):
    act(0)
    began = time.process_time()
    for k in range(times): act(1 + k)
    return (time.process_time() - began) / times
print(n / pace(noise, 20), one.n_batches / pace(lambda k: one.run_epoch(), 3))
'''


def speed_rows(setting):
    "Rows of noise and steps of training per second, by the code of this folder or of another."
    code, _ = setting
    folder = os.environ["DISCRETE_SCORE_BEFORE"] if code == "0.1.0" else os.getcwd()
    environment = os.environ | {"PYTHONPATH": folder, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", SPEED], env=environment, capture_output=True,
                          text=True, check=True)
    noise, steps = map(float, done.stdout.split())
    yield {"noise_rows": round(noise), "steps": round(steps, 2)}


NEURAL_SPEED = Study(
    "neural_speed", [(code, k) for k, code in product(range(3), ("0.1.0", "now"))],
    "noise and steps per second against the code before", speed_rows, key=("code", "repeat"),
    columns=("code", "repeat", "noise_rows", "steps"), measured=("noise_rows", "steps"),
)

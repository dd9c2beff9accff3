"""Do the intervals of effects hold the exact answer?

Six networks, 5,000 rows. Per dataset twelve pairs of columns, six of which have a directed path
from the treatment to the outcome in the network (`linked`). `graph`: "true" adjusts for the true
parents of the treatment (pairs whose outcome is one of them are left out), "found" takes the range
over the parents that a search allows. `pairs`: asked, `refused`: without an answer; `cells`: shares
(state of the treatment, state of the outcome) with an answer, `held`: those whose interval holds
the exact value; `together`: pairs whose differences are all held, `claims`: pairs with a difference
whose range excludes 0, `false`: those of which the sign of some such difference is wrong; `width`:
mean width of the intervals; `sets`: mean number of sets of parents; `lacking`: pairs with a stratum
that lacks a state of the treatment.

How strongly strata borrow from each other (`PULLS` in `34_effects`) was chosen on other samples of
asia, child and alarm, with 1,000 and 10,000 rows.
"""
import numpy as np

from discrete_score.discover import DiscreteScore
from discrete_score.effects import exact_effect
from discrete_score.graphs import reachable
from discrete_score.networks import load_network
from discrete_score.studies import Study, sample_dataset

NETWORKS = "earthquake", "asia", "sachs", "child", "insurance", "alarm"
N, PAIRS, SEEDS = 5_000, 12, 40
KEY = "network", "seed"
COUNTS = "cells", "held", "together", "claims", "false", "lacking"
SETTINGS = [(name, 700 + seed) for seed in range(SEEDS) for name in NETWORKS]


def pairs(data, seed):
    "Pairs of columns, half of them with a path from the first to the second."
    rng, below = np.random.default_rng([seed, 2]), reachable(data.dag)
    linked = rng.permutation(np.argwhere(below))[:PAIRS // 2].tolist()
    others = rng.permutation(np.argwhere(~below & ~np.eye(len(below), dtype=bool))).tolist()
    return [*linked, *others[:PAIRS - len(linked)]]


def truth(data, x, y):
    "The exact answer for the states that the table has."
    network, table = data.network, data.table
    at = [network.names.index(table.names[v]) for v in (x, y)]
    kept = [[list(network.states[a]).index(label) for label in table.schema.states[v]]
            for a, v in zip(at, (x, y))]
    return exact_effect(network, *at)[np.ix_(*kept)]


def judged(effect, exact):
    "How many intervals hold the exact value."
    inside = (effect.low <= exact + 1e-9) & (exact <= effect.high + 1e-9)
    _, _, low, high = effect.contrasts()
    gap = exact[:, None] - exact
    claim = (low > 0) | (high < 0)
    wrong = claim & (np.sign(low) * gap <= 1e-9) & (np.sign(high) * gap <= 1e-9)
    both = (low <= gap + 1e-9) & (gap <= high + 1e-9)
    return {"cells": inside.size, "held": int(inside.sum()), "together": int(both.all()),
            "claims": int(claim.any()), "false": int(wrong.any()), "sets": len(effect.answers),
            "width": float((effect.high - effect.low).mean()),
            "lacking": int(effect.lacking.max() > 0)}


def summed(judgements):
    "One row for several pairs; None stands for a refusal."
    said = [row for row in judgements if row is not None]
    found = {"pairs": len(judgements), "refused": len(judgements) - len(said)}
    for name in COUNTS: found[name] = sum(row[name] for row in said)
    for name in ("width", "sets"):
        if said: found[name] = round(float(np.mean([row[name] for row in said])), 4)
    return found


def true_effect(model, data, x, y):
    "The answer under the true graph."
    names = data.table.names
    given = [names[v] for v in np.flatnonzero(data.dag[:, x])]
    return model.effect(names[x], names[y], adjust=given)


def found_effect(model, data, x, y):
    "The answer under the graph that was found; None if it is refused."
    names = data.table.names
    try: return model.effect(names[x], names[y])
    except ValueError: return None


def rows(setting):
    "The pairs of one dataset, with the true graph and with the one that is found."
    name, seed = setting
    data = sample_dataset(load_network(name), N, seed=np.random.default_rng([seed, 1]))
    model, below = DiscreteScore(seed=seed).fit(data.table), reachable(data.dag)
    for graph, ask in (("true", true_effect), ("found", found_effect)):
        for linked in (1, 0):
            some = [(x, y) for x, y in pairs(data, seed) if below[x, y] == linked]
            if graph == "true": some = [(x, y) for x, y in some if not data.dag[y, x]]
            answers = [(ask(model, data, x, y), truth(data, x, y)) for x, y in some]
            told = [None if said is None else judged(said, exact) for said, exact in answers]
            yield {"graph": graph, "linked": linked} | summed(told)


EFFECTS = Study(
    "effects", SETTINGS, "do the intervals of effects hold the exact answer?", rows, key=KEY,
    columns=(*KEY, "graph", "linked", "pairs", "refused", *COUNTS, "width", "sets"), measured=(),
)

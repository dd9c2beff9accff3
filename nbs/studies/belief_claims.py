"""Every claim of the belief, with what might tell right claims from wrong ones: one row per claim.

    tests     what the tests say: "collider", or "follows" from other arrows
    tail      is the tail certain even if there are hidden causes?
    evidence  what turning the arrow costs in the first search, in nats
    again     share of three rehearsals in which the same columns are said to come in this order
    sure      share of the claims of these rehearsals that were right there
    right     does the claim go from an ancestor to its descendant?     against  the other way?

A dataset without claims has one row without arrows. With hidden causes, an arrow that is neither
right nor against joins two columns with a common cause that is not in the table.
"""
from itertools import product
from pathlib import Path

import numpy as np

from discrete_score.belief import Belief
from discrete_score.studies import Study, load_studies

belief = load_studies(Path(__file__).with_name("belief.py"))

KEY = "part", "name", "n", "seed"
SEEDS = range(5)


def settings():
    "The datasets of the study `belief`: its first five seeds, ten where tables are spoiled."
    return [*product(["design"], belief.NETWORKS + belief.DRAWN, (1000, 10_000), SEEDS),
            *product(["design"], belief.SPOILED, (1000, 10_000), range(10)),
            *product(["blind"], belief.OTHERS + belief.REDRAWN, (1000, 10_000), SEEDS)]


def rows(setting):
    "The claims on one dataset."
    _, name, n, seed = setting
    table, above, _, _ = belief.dataset(name, n, seed)
    found = Belief().fit(table)
    if not found.arrows_.any():
        yield {}
        return
    tried, told = found.rehearse(), found.witnesses(found.arrows_)
    for (i, j), said in zip(np.argwhere(found.arrows_).tolist(), told.itertuples()):
        yield {"from": table.names[i], "to": table.names[j], "tests": said.tests,
               "tail": int(said.tail), "evidence": round(said.evidence, 2),
               "again": round(tried.again[i, j], 4), "sure": round(tried.confidence, 4),
               "right": int(above[i, j]), "against": int(above[j, i])}


BELIEF_CLAIMS = Study(
    "belief_claims", settings(), "what tells right claims from wrong ones.", rows,
    key=KEY,
    columns=(*KEY, "from", "to", "tests", "tail", "evidence", "again", "sure", "right", "against"),
    measured=(),
)

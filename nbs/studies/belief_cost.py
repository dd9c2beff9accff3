"""What a fit costs beside version 0.1.0: seconds of processor time on the same rows, in one run.

Both versions fit 10,000 rows with their defaults, the smallest of two repeats after a first fit of
a small table. `OLD` in the environment is the folder of version 0.1.0 (`git archive 1b1462a`).
"""
import os
import sys
from pathlib import Path

from discrete_score.studies import Study, load_studies

speed = load_studies(Path(__file__).with_name("speed.py"))


def rows(setting):
    "One network."
    name, = setting
    if not os.environ.get("OLD"): raise ValueError("set OLD to the folder of version 0.1.0")
    def fitted(**where): return speed.printed(sys.executable, "-c", speed.FIT, name, "2", **where)
    old, new = fitted(PYTHONPATH=os.environ["OLD"]), fitted()
    yield {"old": round(old, 2), "new": round(new, 2), "ratio": round(new/old, 2)}


BELIEF_COST = Study(
    "belief_cost", [("alarm",), ("hailfinder",), ("win95pts",)],
    "what a fit costs beside version 0.1.0.", rows,
    key=("name",), columns=("name", "old", "new", "ratio"), measured=("old", "new", "ratio"),
)

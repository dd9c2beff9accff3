"""The paper's correlation study in the other reading of its text: one row per graph.

"Expected degree kd" can be read as k neighbours of a column (the released code, and the study
`diagnosis_orders`) or as kd edges, which is 2k neighbours. The graphs here have twice the degree,
with the same sizes, for the first 300 settings of that study; two tests take part.
"""
from functools import partial
from pathlib import Path

from discrete_score.studies import Study, load_studies

diagnosis = load_studies(Path(__file__).with_name("diagnosis.py"))
TESTS = "chi2", "screened"
KINDS = "degrees", "untestable"

CLAIMS_DEGREE = Study(
    "claims_degree", [(graph,) for graph in range(300)],
    "the correlation study with twice the degree.",
    partial(diagnosis.order_rows, factor=2, tests=TESTS),
    key=("graph",), measured=(),
    columns=("graph", *diagnosis.KNOWN, *(f"{kind}_{t}" for t in TESTS for kind in KINDS)),
)

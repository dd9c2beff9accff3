"""Stored rows computed again on the code of this version: ten draws from every result file.

One row per file and draw. `differs` says what came out otherwise; it is empty where every number of
the drawn setting is the stored one. Files of which the numbers are seconds and bytes are left out,
and so are trainings of the neural estimator, settings that took more than 20 seconds, and pyAgrum's
methods where it is not installed.
"""
import importlib.util
from itertools import product
from pathlib import Path

from discrete_score.studies import Study, check_study, make_study, read_results

RESULTS = Path(__file__).parent / "results"
TIMED = "limits_load", "neural_speed", "pieces", "search", "speed"
TRAINED = ("diffusion", "neural", "neural_errors", "neural_figures", "neural_judged",
           "neural_options", "neural_paper")
FILES = sorted({path.stem for path in RESULTS.glob("*.csv")} - {*TIMED, *TRAINED, "checks"})
SECONDS, DRAWS = 20, 10


def quick(path):
    "The condition that a row can be computed again here, and soon."
    known, found = list(read_results(path)), []
    if "seconds" in known: found.append(f"not seconds > {SECONDS}")
    if "method" in known and importlib.util.find_spec("pyagrum") is None:
        found.append("method not in ('ghc', 'tabu', 'miic')")
    return " and ".join(found) or None


def rows(setting):
    "One setting of a file, drawn with the number of the draw as seed."
    name, draw = setting
    study, path = make_study(name, full=True), RESULTS / f"{name}.csv"
    drawn = {"settings": len(read_results(path)[list(study.key)].drop_duplicates())}
    try: again = check_study(study, path, 1, only=quick(path), seed=draw)
    except ValueError as error: yield drawn | {"differs": str(error)[:200]}
    else: yield drawn | {"rows": len(again)}


CHECKS = Study(
    "checks", list(product(FILES, range(DRAWS))),
    "are the stored rows those of this code?", rows, key=("file", "draw"),
    columns=("file", "draw", "settings", "rows", "differs"), measured=(),
)

"""The explorer without a browser: files as people have them, and a script that runs anywhere."""
import ast
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("Agg")

import discrete_score as ds
from discrete_score import explorer
from discrete_score.files import Reading

root = Path(__file__).resolve().parent.parent


def people(n=400):
    "Missing cells spelled NA, a number, and how often each row was seen."
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, n)
    vote = np.where(age + rng.normal(0, 12, n) > 50, "yes", "no").astype(object)
    vote[::17] = "NA"
    return pd.DataFrame({"age": age + .5, "vote": vote, "Freq": rng.integers(1, 9, n)})


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    "A file that was read with fields filled in, searched, and exported."
    folder = tmp_path_factory.mktemp("people")
    people().to_csv(folder / "people.csv", index=False)
    app = ds.Explorer("earthquake", rows=100, folder=str(folder / "exported"))
    app.source.value, app.path.value = "a file", str(folder / "people.csv")
    filled = {"na": "NA", "missing": "drop", "weights": "Freq", "bins": "age=3"}
    for name, value in filled.items(): app.reading[name].value = value
    app.run().wait()
    return app, folder


def test_every_way_to_read_has_a_field(found):
    app, _ = found
    assert set(app.reading) == {part.name for part in fields(Reading)}
    assert app.search.error is None and app.search.model.result_.names == ("age", "vote")
    assert app.reading["weights"].options == ("age", "vote", "Freq")
    kept = people()[lambda rows: rows.vote != "NA"]
    assert app.search.model.n_rows_ == kept["Freq"].sum()


def test_the_verdict_comes_first(found):
    app, _ = found
    assert app.tabs.titles[0] == "Result" and app.tabs.selected_index in (0, None)
    assert "no pair of columns" in app.verdict.value
    assert "ds-frame" in app.touch.value and "What is known" in app.todo.value
    assert app.step_image.format == "svg+xml" and bytes(app.step_image.value[:4]) == b"<svg"


@pytest.mark.parametrize("where", ["beside the script", "elsewhere"])
def test_the_exported_script_runs_where_it_is_written(found, tmp_path, where):
    app, _ = found
    folder = tmp_path / "exported"
    app.folder.value = str(folder)
    files = {file.name for file in app.export()}
    pictures = {"graph.svg", "order.svg", "elimination.svg"}
    assert {"search.py", "order.json", "report.html"} | pictures <= files
    assert app.exported.value.count("<a download=") == len(files)
    env = os.environ | {"PYTHONPATH": str(root), "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"}
    run = [sys.executable, "search.py" if where == "beside the script" else "exported/search.py"]
    start = folder if where == "beside the script" else tmp_path
    done = subprocess.run(run, cwd=start, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert ast.literal_eval(done.stdout) == app.search.model.order_


def test_a_refused_file_opens_the_fields_that_can_help(tmp_path):
    frame = people().assign(vote=lambda rows: rows.vote.replace("NA", None))
    frame.to_csv(tmp_path / "people.csv", index=False)
    app = ds.Explorer("earthquake", rows=100)
    app.source.value, app.path.value = "a file", str(tmp_path / "people.csv")
    app.run().wait()
    assert app.search.error is not None and app.options.selected_index == 0
    assert "the field Missing" in app.status.value


def test_panels_that_do_not_matter_are_out_of_sight():
    app = ds.Explorer("earthquake", rows=100)
    assert app.path.layout.display == "none" and app.rows.layout.display == ""
    app.source.value = "a file"
    assert app.path.layout.display == "" and app.rows.layout.display == "none"
    assert app.options.titles == explorer._FOLDED


def test_effects_are_shown_or_refused_in_words(found):
    app, _ = found
    app.tabs.selected_index = explorer._TABS.index("Effect")
    app.treatment.value, app.outcome.value = "age", "vote"
    assert "vote" in app.effect_note.value and "Traceback" not in app.effect_note.value
    app.outcome.value = "age"
    assert app.effect_note.value == "choose two columns"
    app.tabs.selected_index = 0

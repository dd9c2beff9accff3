"""One voice: a mistake is named as an argument, a flag or a field; a part is registered once."""
import html
import inspect
import re
import shlex
import warnings
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shell import in_shell
import discrete_score as ds
from discrete_score import base, baselines, cli, discover, files, measures, studies, tests, words
from discrete_score.base import Setting
from discrete_score.files import Reading
from discrete_score.words import Method, form, shell, tell, written

GOOD = "a,b,c\n" + "x,u,p\ny,v,q\nx,v,q\n" * 20
NUMBERS = "a,b\n" + "".join(f"x,{k}.5\ny,{k}.25\n" for k in range(40))


@dataclass(frozen=True)
class Mistake:
    "What was typed, and what the answer must name: an argument, a flag and a field."
    says: tuple[str, str, str]
    text: str | bytes = GOOD
    reading: dict = field(default_factory=dict)
    method: dict = field(default_factory=dict)


def named(name, label):
    "A setting that is only named."
    return f"`{name}`", f"--{name}", f"the field {label}"


MISTAKES = {
    "missing cells": Mistake(
        ("`missing='drop'`", "--missing drop", "“drop the rows” in the field Missing"),
        "a,b\n" + "x,\ny,v\nx,v\n" * 20),
    "numbers": Mistake(("`bins={'b': 4}`", "--bins 'b=4'", "“b=4” in the field Bins"), NUMBERS,
                       reading={"bins": None}),
    "semicolons": Mistake(("`sep=';'`", "--sep ';'", "“;” in the field Delimiter"),
                          "a;b\n" + "x;u\ny;v\n" * 20, reading={"sep": ","}),
    "tabs": Mistake((r"`sep='\t'`", "--sep tab", "“tab” in the field Delimiter"),
                    "a\tb\n" + "x\tu\ny\tv\n" * 20, reading={"sep": ","}),
    "encoding": Mistake(
        ("`encoding`, e.g. 'latin-1'", "--encoding 'latin-1'", "“latin-1” in the field Encoding"),
        "a,b\nx,é\ny,v\n".encode("latin-1")),
    "unknown column before another": Mistake(
        ("`knowledge`", "--before", "the panel What is known"),
        method={"knowledge": {"before": [("a", "z")]}}),
    "unknown measure": Mistake(named("measure", "Measure"), method={"measure": "entropi"}),
    "unknown estimator": Mistake(named("estimator", "Estimator"), method={"estimator": "blankt"}),
    "unknown guide": Mistake(named("guide", "Guide"), method={"guide": "evidenc"}),
    "no rows": Mistake(named("nrows", "Rows"), reading={"nrows": 0}),
    "no column of weights": Mistake(named("weights", "Weights"), reading={"weights": "w"}),
    "identifiers": Mistake(
        ("`identifiers='keep'`", "--keep-identifiers", "“keep them” in the field Identifiers"),
        "i,a\n" + "".join(f"k{k},{'xy'[k % 2]}\n" for k in range(80))),
    "dates": Mistake(("`text='b'`", "--text 'b'", "“b” in the field Text"),
                     "a,b\n" + "x,2024-05-01\ny,2024-05-02\n" * 20),
    "decimal comma": Mistake(
        ("`decimal=','`", "--decimal ','", "“,” in the field Decimal mark"),
        NUMBERS.replace(",", ";").replace(".", ","), reading={"sep": ";", "decimal": "."}),
    "words for missing": Mistake(("`na=['NA']`", "--na 'NA'", "“NA” in the field Missing if"),
                                 "a,b\n" + "x,NA\ny,v\nx,u\n" * 20),
    "one level": Mistake(("Drop it", "--drop 'b'", "“b” in the field Drop"),
                         "a,b\n" + "x,u\ny,u\n" * 20),
    "a column of nothing": Mistake(("Drop it", "--drop 'c'", "“c” in the field Drop"),
                                   "a,b,c\n" + "x,u,\ny,v,\n" * 20),
    "unknown format": Mistake(named("format", "Format"), reading={"format": "sav"}),
    "unknown column of bins": Mistake(named("bins", "Bins"), reading={"bins": {"z": 3}}),
    "long delimiter": Mistake(named("sep", "Delimiter"), reading={"sep": ";;"}),
}


@pytest.fixture
def path(tmp_path): return tmp_path / "data.csv"


def write(path, mistake):
    text = mistake.text
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def caught(act):
    "The errors and warnings of our own that an act ends with."
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try: act()
        except (ValueError, TypeError) as error: return [error, *(w.message for w in said)]
    return [w.message for w in said]


def typed(mistake):
    "The same settings as somebody types them in a shell."
    argv = []
    for name, value in mistake.reading.items():
        if isinstance(value, dict): (column, value), = value.items()
        else: column = None
        argv += shlex.split(shell(Setting(name, value, column)))
    for name, value in mistake.method.items():
        if name == "knowledge": argv += ["--before", *value["before"][0]]
        else: argv += shlex.split(shell(Setting(name, value)))
    return argv


def in_explorer(path, mistake):
    "What the explorer shows after the same settings were made in its form."
    app = ds.Explorer("earthquake", rows=100)
    app.source.value, app.path.value = "a file", str(path)
    if "format" in mistake.reading: return tell(*caught(lambda: Reading(**mistake.reading)), form)
    for name, value in mistake.reading.items(): app.reading[name].value = written(value)
    app.settings = lambda: ds.DiscreteScore(**mistake.method)
    search = app.run()
    if search is not None: search.wait()
    return html.unescape(app.status.value)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_in_the_words_of_its_reader(name, path):
    mistake = MISTAKES[name]
    argument, flag, place = mistake.says
    write(path, mistake)
    python = caught(lambda: ds.DiscreteScore(**mistake.method).fit(
        ds.read_table(path, **mistake.reading)))
    assert any(argument in str(said) for said in python), python
    code, _, err = in_shell("order", path, *typed(mistake))
    assert flag in err and argument not in err
    assert code == (0 if all(isinstance(said, Warning) for said in python) else 2)
    assert place in in_explorer(path, mistake)


def test_unknown_tests_and_learners_are_named():
    table = ds.as_table(ds.load_network("earthquake").sample(300, seed=0), unused="drop")
    model = ds.DiscreteScore().fit(table)
    acts = {"test": lambda: ds.diagnose(table, model.order_, test="chi"),
            "base": lambda: model.dag(base="gess")}
    for name, act in acts.items():
        error, = caught(act)
        assert f"`{name}`" in str(error) and f"--{name}" in tell(error)
        assert f"the field {name.capitalize()}" in tell(error, form)
        assert "Did you mean" in str(error)


def test_nobody_reads_our_own_messages():
    "No regular expression in what speaks to a user."
    for module in (base, words, cli, ds.report, ds.explorer):
        source = inspect.getsource(module)
        assert not re.search(r"^\s*(import re|from re)\b|\bre\.", source, re.M)


def test_every_setting_has_words():
    for kind in (Reading, ds.Knowledge, Method):
        for part in fields(kind):
            about = words.describe(part.name)
            assert about["text"] and about["label"] and about["flag"].startswith("--")


@pytest.mark.parametrize("value, column, flag", [
    (("?", "it's"), None, "na"), (4, "a b", "bins"), ([0, 18.5], "x=y", "bins"),
    (";", None, "sep"), ("\t", None, "sep"), (("a", "b"), None, "drop")])
def test_what_is_advised_can_be_typed(value, column, flag):
    "The shell's words, split as a shell does, give the setting back."
    parser = cli._Command()
    cli._add_fields(parser, *fields(Reading))
    args = parser.parse_args(shlex.split(shell(Setting(flag, value, column))))
    expected = value if column is None else {column: value}
    assert getattr(cli._reading(args), flag) == getattr(Reading(**{flag: expected}), flag)


# A part is registered by one call, and is found wherever parts are offered.

class ToyScore:
    "Conditionals that know nothing."
    name = "toy"

    def fit(self, table):
        self.table_ = table
        return self

    def values(self, columns, measure):
        return np.arange(len(columns)) / 10, np.ones(len(columns))

    def conditionals(self, codes, columns):
        counts = [len(self.table_.schema.states[j]) for j in columns]
        return [np.full((len(codes), n), 1 / n) for n in counts]


def toy_learner(table, order, seed): return np.zeros((table.d, table.d), dtype=bool)


def toy_test(sample, i, j, given=()): return tests.Answer(.5)


def read_toy(source, reading):
    cells = [line.split("~") for line in Path(source).read_text().splitlines()]
    return pd.DataFrame(cells[1:], columns=cells[0])


@pytest.fixture
def toys():
    "One call each."
    parts = [
        (measures.MEASURES, "toy_measure", lambda p: -(p**3).sum(-1)),
        (discover.ESTIMATORS, "toy_estimator", lambda seed, network: ToyScore()),
        (tests.TESTS, "toy_test", toy_test),
        (baselines.BASELINES, "toy_learner", baselines.Baseline(toy_learner)),
        (files.FORMATS, "toy_format", files.Format((".toy",), read_toy)),
    ]
    for registry, name, part in parts: registry.register(name, part, f"what {name} is")
    yield [name for _, name, _ in parts]
    for registry, name, _ in parts: del registry[name]


def test_a_toy_is_found_in_the_help(toys):
    measure, estimator, test, learner, kind = toys
    said = {command: in_shell(command, "--help")[1] for command in ("order", "diagnose", "dag")}
    assert measure in said["order"] and estimator in said["order"] and kind in said["order"]
    assert test in said["diagnose"] and learner in said["dag"]


def test_a_toy_is_found_in_the_explorer(toys):
    measure, estimator, test, learner, kind = toys
    app = ds.Explorer("earthquake", rows=100)
    values = lambda widget: [o[1] if isinstance(o, tuple) else o for o in widget.options]
    assert measure in values(app.measure) and estimator in values(app.estimator)
    assert test in values(app.test) and learner in values(app.base)
    assert kind in values(app.reading["format"])


@pytest.fixture
def toy_file(tmp_path):
    "A file in the toy format."
    frame, path = ds.load_network("earthquake").sample(300, seed=0).astype(str), tmp_path / "x.toy"
    rows = [frame.columns, *frame.to_numpy()]
    path.write_text("\n".join("~".join(row) for row in rows))
    return path


def test_a_toy_works_in_python(toys, toy_file):
    measure, estimator, test, learner, _ = toys
    table = ds.read_table(toy_file)
    model = ds.DiscreteScore(measure, estimator, guide=None).fit(table)
    assert model.measure_ == measure and model.order_ == list(table.names)
    assert not model.dag(learner, "prune").dag.any()
    assert ds.diagnose(table, model.order_, test=test).verdict


def test_a_toy_works_in_the_shell(toys, toy_file):
    measure, estimator, test, learner, kind = toys
    options = ("--measure", measure, "--estimator", estimator, "--guide", "none")
    code, out, err = in_shell("order", toy_file, *options, "--out", toy_file.with_suffix(".json"))
    assert code == 0 and out.partition("\n")[2].startswith("place  column"), err
    order = ("--order", toy_file.with_suffix(".json"))
    assert in_shell("diagnose", toy_file, *order, "--test", test)[0] in (0, 1)
    code, out, err = in_shell("dag", toy_file, *order, "--base", learner, "--strategy", "prune")
    assert code == 0 and "0 edges" in out, err


def test_a_toy_is_compared_in_a_study(toys):
    "A row of the comparison that all studies share."
    measure, estimator, _, learner, _ = toys
    setting = studies.Setting("earthquake", 5, 0, "", 300, 0, estimator, measure, "none",
                              learner, "prune")
    row = studies.run_setting(setting)
    assert row["failure"] == "" and row["found"] == "0" and row["estimator"] == estimator


def judged(setting):
    "One row of the toy study: what the test says of the columns' own order."
    file, test = setting
    table = ds.read_table(file)
    found = ds.diagnose(table, table.names, test=test)
    return [{"file": file, "test": test, "verdict": found.verdict}]


def test_a_toy_has_a_study_of_its_own(toys, toy_file, tmp_path):
    "A study that reads the toy format and asks the toy test."
    columns = ("study", "file", "test", "verdict")
    study = studies.Study("toy_study", [(str(toy_file), toys[2])], "toys", rows=judged,
                          key=("file", "test"), columns=columns, measured=())
    studies.STUDIES.register("toy_study", study, "toys")
    try:
        out = tmp_path / "toys.csv"
        assert "toy_study" in in_shell("study", "--help")[1]
        code, said, err = in_shell("study", "toy_study", "--out", out)
        assert code == 0 and "1 rows" in said, err
        assert list(studies.read_results(out).test) == [toys[2]]
    finally: del studies.STUDIES["toy_study"]

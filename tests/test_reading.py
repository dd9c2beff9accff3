"""How a file, a frame or an array becomes a table: one value, one way in, remedies as values.

A `Reading` is rebuilt from its own fields, from JSON and from the Python that it writes.
"""
import copy
import inspect
import io
import json
import pickle
import shlex
import warnings
from dataclasses import asdict, fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import discrete_score as ds
from discrete_score import cli
from discrete_score.base import Advice, Problem, Setting, choices_of
from discrete_score.data import POLICIES, Table, as_table
from discrete_score.files import FORMATS, Format, Reading, plain, read_table

names = st.text(min_size=1, max_size=4)
several = st.lists(names, max_size=3)
edges = st.lists(st.floats(allow_nan=False), min_size=3, max_size=5)
bins = st.dictionaries(names, st.integers() | edges | st.sampled_from(["auto", "keep"]))
FIELDS = st.fixed_dictionaries({}, optional={
    "sep": st.sampled_from(["auto", ",", ";", "\t", "tab", "'", '"', "\\"]),
    "decimal": st.sampled_from(["auto", ".", ","]), "na": several | names, "text": several | names,
    "columns": st.none() | several, "drop": several, "nrows": st.none() | st.integers(1, 9),
    "encoding": st.sampled_from(["utf8", "latin-1"]), "format": st.sampled_from(["auto", "csv"]),
    "weights": st.none() | names, "bins": st.none() | st.just("auto") | st.integers() | bins,
    **{name: st.sampled_from(list(known)) for name, known in POLICIES.items()}})


@settings(deadline=None)
@given(FIELDS)
def test_a_reading_is_rebuilt_from_itself(values):
    reading = Reading(**values)
    ways = [Reading(**reading.given()), Reading(**json.loads(json.dumps(reading.given()))),
            Reading(**plain(reading)), Reading(**asdict(reading)), replace(reading),
            pickle.loads(pickle.dumps(reading)), copy.deepcopy(reading)]
    for again in ways: assert again == reading and hash(again) == hash(reading)


@settings(deadline=None)
@given(FIELDS, names)
def test_its_python_reads_the_same(values, path):
    "The code names the path and gives an equal reading."
    reading, seen = Reading(**values), []

    class Package:
        def read_table(self, source, **more): seen.append((source, Reading(**more)))

    eval(reading.python(path), {"ds": Package()})
    eval(reading.python(code="[path]"), {"ds": Package(), "path": path})
    assert seen == [(path, reading), ([path], reading)]


CSV = "city;price;kind;n\nLyon;1,5;a;2\nNice;2,25;?;1\nLyon;3,5;b;3\nNice;1,5;b;1\n"
FRENCH = Reading(sep=";", decimal=",", na="?", missing="state", bins={"price": [0, 2, 5]},
                 columns=["price", "city", "kind"], weights="n")


def test_python_gives_an_equal_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("prices.csv").write_text(CSV)
    table = FRENCH.table("prices.csv")
    assert table == eval(FRENCH.python("prices.csv"), {"ds": ds})
    assert table == read_table("prices.csv", **FRENCH.given()) and table.total == 7


def test_every_source_is_the_same_table(tmp_path):
    frame = pd.DataFrame({"a": [0, 1, 1, 0], "b": [2, 0, 1, 1]})
    table, path = as_table(frame), tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    frame.to_parquet(tmp_path / "t.pq")
    sources = [path, str(path), path.open(), path.open("rb"), tmp_path / "t.pq", frame, table]
    for source in sources: assert Reading().table(source) == table
    assert Reading().table(frame.to_numpy(), names=["a", "b"]) == table
    assert Reading().table(table) is table


@pytest.mark.parametrize("fields", [{"columns": ["b"]}, {"drop": ["a"]}, {"nrows": 3}])
def test_columns_and_rows_are_chosen_from_every_source(fields):
    frame = pd.DataFrame({"a": [0, 1, 1, 0], "b": [2, 0, 1, 1]})
    reading = Reading(**fields)
    table = reading.table(io.StringIO(frame.to_csv(index=False)))
    assert reading.table(frame) == table
    assert reading.table(frame.to_numpy(), names=["a", "b"]) == table
    assert reading.table(as_table(frame)).names == table.names


def test_the_input_is_encoded_once(monkeypatch):
    calls = []
    monkeypatch.setattr("discrete_score.files.as_table", lambda *a, **b: calls.append(1))
    FRENCH.table(io.StringIO(CSV))
    assert calls == [1]


def test_names_leave_the_file_as_it_was(tmp_path):
    frame = pd.DataFrame({"a": [0, 1], "b": [1, 0]})
    frame.to_parquet(tmp_path / "t.parquet")
    handle = io.BytesIO(b"a,b\n0,1\n1,0\n")
    reading = Reading(drop=["a"], nrows=2)
    for source in (handle, tmp_path / "t.parquet", frame, as_table(frame)):
        assert reading.names(source) == ["a", "b"]
    assert reading.names(frame.to_numpy()) == ["x0", "x1"]
    assert reading.table(handle).names == ("b",)
    with pytest.raises(Problem, match="standard input"): reading.names("-")


def test_a_reading_cannot_be_changed():
    given = {"age": [0, 1, 2]}
    reading = Reading(bins=given)
    given["age"].append(3)
    assert reading.bins == {"age": (0, 1, 2)} and repr(reading.bins) == "{'age': (0, 1, 2)}"
    with pytest.raises(TypeError): reading.bins["age"] = 4
    assert Reading(bins={}) == Reading() and Reading(bins={"a": np.int64(4)}).bins == {"a": 4}


def test_every_field_has_its_words():
    for field in fields(Reading):
        assert field.metadata["text"] and field.metadata["label"], field.name
        choices = choices_of(field)
        assert not choices or field.default in choices and all(choices.values())
    shown = inspect.signature(read_table).parameters
    assert list(shown) == ["source", *(field.name for field in fields(Reading))]
    assert all(shown[field.name].default == field.default for field in fields(Reading))


@pytest.fixture
def pairs():
    "A toy format: a line of names, then a line for each row."
    def read(source, reading):
        lines = Path(source).read_text().split("\n")
        return pd.DataFrame([list(line) for line in lines[1:]], columns=list(lines[0]))
    FORMATS.register("pairs", Format((".pairs", ".csv.pairs"), read), "letters in columns")
    yield
    del FORMATS["pairs"]


def test_a_new_format_is_read_everywhere(tmp_path, pairs):
    path = tmp_path / "t.PAIRS"
    path.write_text("ab\nxu\nyv\nxv")
    table = as_table(pd.DataFrame({"a": list("xyx"), "b": list("uvv")}))
    assert read_table(path) == table and Reading().names(path) == ["a", "b"]
    assert read_table(path, columns=["b"], nrows=2) == table.select(["b"]).take([0, 1])
    assert read_table(path.rename(tmp_path / "t.txt"), format="pairs") == table
    field = next(field for field in fields(Reading) if field.name == "format")
    assert choices_of(field)["pairs"] == "letters in columns"
    with pytest.raises(Problem, match="the file has no column `c`"):
        read_table(tmp_path / "t.txt", format="pairs", drop=["c"])


def test_a_format_that_is_gone_is_refused():
    known = "`auto`, `csv`, `parquet`, `spreadsheet`; got 'pairs'"
    with pytest.raises(Problem, match=known): Reading(format="pairs")


def drop(*names): return Setting("drop", names, code="Drop it", lead="Leave it out with")


TWELVE = pd.DataFrame({"a": list("xy") * 6, "b": [0, 1, 2] * 4})
MISTAKES = {
    "a,b\n0,1\n1\n": {"sep": Setting("sep", ",")},
    "a,d\n0,2024-05-01\n1,2024-05-02\n": {"text": Setting("text", "d")},
    "a,b\n0,1\n,0\n": {"drop": Setting("missing", "drop"), "state": Setting("missing", "state")},
    "a,b,n\n0,0,3\n1,1,4\n0,1,9\n1,0,2\n": {"best": Setting("weights", "n")},
    "a,b\n0,1\n0,0\n": {"drop": drop("a")},
}


@pytest.mark.parametrize("content", MISTAKES)
def test_the_remedy_in_a_file_is_a_value(content):
    with pytest.raises(Problem) as caught: read_table(io.StringIO(content))
    slots = caught.value.phrase.slots
    assert {key: slots[key] for key in MISTAKES[content]} == MISTAKES[content]


STRICT = {
    "a;b\n0;1\n": ({"sep": ","}, {"other": Setting("sep", ";")}),
    "a\n1;2,3\n": ({"sep": ","}, {"other": Setting("sep", ";")}),
    "a,b\n0.5,0\n1.5,1\n": ({"bins": None}, {"bins": Setting("bins", 4, column="a")}),
}


@pytest.mark.parametrize("content", STRICT)
def test_what_was_asked_for_is_not_guessed(content):
    given, slots = STRICT[content]
    with pytest.raises(Problem) as caught: read_table(io.StringIO(content), **given)
    first = getattr(caught.value, "problems", [caught.value])[0]
    assert {key: first.phrase.slots[key] for key in slots} == slots


FAULTS = [
    (dict(v=np.linspace(0, 1, 12)), "edges", "`bins={'v': [edges]}`", ("EDGE", "EDGE", "...")),
    (dict(v=np.linspace(0, 1, 12)), "declare", "declare it: `df['v'].astype('category')`", ("v",)),
    (dict(v=range(12)), "keep", "`identifiers='keep'`", "keep"),
    (dict(v=range(12)), "drop", "Drop it", ("v",)),
    (dict(a="x", b="x"), "drop", "Drop them", ("a", "b")),
    (dict(v=None), "drop", "Drop it", ("v",)),
    (dict(v=pd.date_range("2024", periods=12)), "drop", "drop it", ("v",)),
    ({" ": 1}, "columns", "`columns=[...]`", ("A", "B", "...")),
]


@pytest.mark.parametrize("columns, slot, python, value", FAULTS)
def test_the_remedy_in_a_frame_is_a_value(columns, slot, python, value):
    "The same setting reads as code in Python and as a value elsewhere."
    with pytest.raises((ValueError, TypeError)) as caught: as_table(TWELVE.assign(**columns))
    setting = caught.value.phrase.slots[slot]
    assert setting.python() == python and setting.value == value
    assert python in str(caught.value)


def advice(read) -> list[Setting]:
    "Settings that warnings name, and the file that they point at."
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        read()
    assert all(w.category is Advice and w.filename == __file__ for w in said)
    slots = [slot for w in said for slot in w.message.phrase.slots.values()]
    return [slot for slot in slots if isinstance(slot, Setting)]


def test_warnings_name_their_remedy_and_point_at_the_user():
    csv = lambda content, **more: lambda: read_table(io.StringIO(content), **more)
    unknown = "age,job\ny,a\nNA,b\n?,a\ny,b\n"
    assert advice(csv(unknown)) == [Setting("na", ("?", "NA"))]
    assert advice(csv("p;q\n1,5;a\n2,5;b\n", sep=";", decimal=".")) == [Setting("decimal", ",")]
    declared = TWELVE.assign(v=pd.Categorical(TWELVE.a, categories=["x", "y", "z"]))
    assert advice(lambda: as_table(declared)) == [Setting("unused")]


def test_encodings_are_values(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("a,é\n0,1\n1,0\n".encode("latin-1"))
    with pytest.raises(Problem) as caught: read_table(path)
    assert caught.value.remedies == (Setting("encoding", "latin-1"),)
    path.write_bytes("a,é\n0,1\n1,0\n".encode("utf-16"))
    assert read_table(path).notes == ("read with `encoding='utf-16'`",)


def test_column_names_with_braces_are_text():
    odd = "a{b}'c"
    with pytest.raises(Problem) as caught: as_table(TWELVE.assign(**{odd: np.linspace(0, 1, 12)}))
    assert caught.value.phrase.slots["bins"] == Setting("bins", 4, column=odd)
    assert f"column `{odd}` holds" in caught.value.phrase.say(lambda setting: "--flag")


def test_notes_are_sentences_with_remedies():
    many = pd.DataFrame({"v": np.arange(300) % 25, "w": list("ab") * 150})
    table = as_table(many)
    assert isinstance(table, Table) and len(table.notes) == 1
    assert "bin it, merge its states or leave it out" in table.notes[0]
    said = table.notes[0].say(lambda setting: f"--{setting.name}")
    assert said.endswith("bin it with --bins, merge its states or leave it out with --drop")


words = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=5)
TYPED = st.fixed_dictionaries({}, optional={
    "sep": st.sampled_from([",", ";", "tab"]), "decimal": st.sampled_from([".", ","]),
    "na": st.lists(words, max_size=3), "text": st.lists(words, max_size=3),
    "columns": st.lists(words, min_size=1, max_size=3), "drop": st.lists(words, max_size=3),
    "nrows": st.integers(1, 9), "weights": words, "encoding": st.just("latin-1"),
    "bins": st.none() | st.integers(2, 9) | st.dictionaries(
        words, st.integers(2, 9) | st.just("keep") | st.just([0., 1.5, np.inf]), max_size=2),
    **{name: st.sampled_from(list(known)) for name, known in POLICIES.items()}})


ODD = ["-x", "--x", 'a"b', '"q"', "c,d", "it's", 'x"y,z', "a=b", "-1", "$HOME"]


@settings(deadline=None, max_examples=50)
@given(TYPED)
@example({"na": ODD, "drop": ODD, "weights": "--x", "bins": {name: 3 for name in ODD}})
def test_its_command_reads_the_same(values):
    "What is printed as a command, split as a shell does, gives an equal reading."
    reading = Reading(**values)
    typed = ["order", "my data.csv", "--drop", "x", "--seed", "3"]
    argv = shlex.split(cli._command(typed, reading))
    args = cli._parser().parse_args(argv[1:])
    assert cli._reading(args) == reading and args.data == "my data.csv" and args.seed == 3


cells = st.sampled_from(["", "NA", "?", "a", "b", "1", "2", "7.5", "3,5", "2024-05-01", "x y"])
MESSY = st.integers(1, 4).flatmap(lambda d: st.lists(
    st.lists(cells, min_size=d, max_size=d), min_size=2, max_size=14))


@settings(deadline=None, max_examples=80)
@given(MESSY, st.sampled_from([",", ";", "\t"]))
def test_a_message_holds_everything(rows, sep):
    "Either there is a table, or a message whose settings give one, or one that has no remedy."
    header = sep.join(f"c{j}" for j in range(len(rows[0])))
    quoted = [[f'"{cell}"' if sep in cell else cell for cell in row] for row in rows]
    content = "\n".join([header, *map(sep.join, quoted)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try: assert read_table(io.StringIO(content)).n >= 1
        except (Problem, ds.base.WrongType) as error:
            mended = getattr(error, "mended", None)
            assert error.remedies or mended is None
            if mended is None: return
            changes = {setting.name: setting.value for setting in mended.settings}
            assert read_table(io.StringIO(content), **changes).n >= 1


def test_every_source_can_be_looked_at():
    frame = pd.DataFrame({"age": np.arange(60) * 1.5, "kind": list("ab") * 30, "day": "x"})
    look = Reading().look(frame)
    assert [column.becomes for column in look.columns] == ["3 bins", "2 states", "left out"]
    assert look.attempt.reading == Reading(drop=("day",)) and look.columns[2].see == (1,)
    assert look.attempt.table == Reading(drop="day").table(frame)
    for source in (look.attempt.table, np.eye(3, dtype=int), io.StringIO("a,b\n0,1\n1,0\n")):
        assert Reading().look(source).attempt.problems == ()
    with pytest.raises(Problem, match="no rows"): Reading().look(io.StringIO("a,b\n"))

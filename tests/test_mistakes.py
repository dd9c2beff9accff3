"""Forty mistakes: no traceback, and each message names the remedy where it is read.

Each is made in a shell and, where that can be, in Python. `test_words.py` makes twenty of them in
the explorer, too.
"""
import io
import sys
import warnings
from dataclasses import dataclass, field

import pytest

from shell import in_shell
import discrete_score as ds

ROWS = [(k, 20 + k * 7 % 50, "LN"[k % 2], "xyz"[k % 5 % 3], 1 + k % 4) for k in range(90)]
HEAD = "person,income,city,trade,children\n"
GOOD = HEAD + "".join(f"P{a}x,{b}.5,{c},{d},{e}\n" for a, b, c, d, e in ROWS)
PLAIN = "city,trade\n" + "".join(f"{c},{d}\n" for _, _, c, d, _ in ROWS)


@dataclass(frozen=True)
class Mistake:
    "What is in the file, what is typed in a shell, what is passed in Python, and the answers."
    shell: str  # What the shell must say
    python: str = ""  # What Python must say; nothing if it cannot be made there
    text: str | bytes = PLAIN
    typed: tuple = ()
    reading: dict = field(default_factory=dict)
    method: dict = field(default_factory=dict)
    command: str = "order"
    name: str = "data.csv"


def both(said, **more):
    "The same words in both places."
    return Mistake(said, said, **more)


def meant(name): return f"Did you mean `{name}`?"


CAT = "Did you mean `city`?"
MISTAKES = {
    "a column to drop, mistyped": both(CAT, typed=("--drop", "ctiy"), reading={"drop": "ctiy"}),
    "a column to use, mistyped": both(
        CAT, typed=("--columns", "City,trade"), reading={"columns": ["City", "trade"]}),
    "a column of text, mistyped": both(CAT, typed=("--text", "ciyt"), reading={"text": "ciyt"}),
    "a column to bin, mistyped": both(
        CAT, typed=("--bins", "citi=4"), reading={"bins": {"citi": 4}}),
    "a column of weights, mistyped": both(
        CAT, typed=("--weights", "citty"), reading={"weights": "citty"}),
    "a leaf, mistyped": both(
        CAT, typed=("--leaves", "ctiy"), method={"knowledge": {"leaves": ["ctiy"]}}),
    "a root, mistyped": both(
        CAT, typed=("--roots", "cit"), method={"knowledge": {"roots": ["cit"]}}),
    "a column before another, mistyped": both(
        meant("trade"), typed=("--before", "city", "trad"),
        method={"knowledge": {"before": [("city", "trad")]}}),
    "a file, mistyped": both(meant("data.csv"), name="dota.csv"),
    "a folder": both("name a file in it", name=""),
    "a command, mistyped": Mistake("Did you mean order?", command="oder"),
    "a file in the place of the command": Mistake(
        "Did you mean order", command="data.csv", name="x"),
    "an option, mistyped": Mistake(
        "Did you mean --missing?", "Did you mean `missing`?", typed=("--misssing", "drop"),
        reading={"misssing": "drop"}),
    "a choice, mistyped": Mistake(
        "Did you mean drop?", "Did you mean `drop`?", typed=("--missing", "dorp"),
        reading={"missing": "dorp"}),
    "a measure, mistyped": both(
        meant("entropy"), typed=("--measure", "entropi"), method={"measure": "entropi"}),
    "what is stated, mistyped": Mistake(
        "Did you mean --leaves?", meant("leaves"), typed=("--leafs", "a"),
        method={"knowledge": {"leafs": ["city"]}}),
    "an argument too many": Mistake("put names with blanks in quotes", typed=("more.csv",)),
    "a word for a number of bins": Mistake(
        "COLUMN=NUMBER", "at least 3 increasing edges", text=GOOD, typed=("--bins", "income=few"),
        reading={"bins": {"income": "few"}, "drop": "person"}),
    "one bin": both(
        "a number of bins, at least 2", text=GOOD, typed=("--bins", "income=1"),
        reading={"bins": {"income": 1}}),
    "edges that leave rows out": both(
        "Widen the edges", text=GOOD, typed=("--bins", "income=0,30,40"),
        reading={"bins": {"income": [0, 30, 40]}}),
    "bins of text": Mistake(
        "--bins needs numbers", "`bins` needs numbers", typed=("--bins", "city=4"),
        reading={"bins": {"city": 4}}),
    "more bins than ties allow": Mistake(
        "--bins 'city=EDGE,EDGE,...'", "`bins={'city': [edges]}`", text=PLAIN.replace("L,",
        "0,").replace("N,", "1,"), typed=("--bins", "city=4"), reading={"bins": {"city": 4}}),
    "counts as a column": Mistake(
        "--weights 'Freq'", "`weights='Freq'`", text="a,b,Freq\nx,u,3\nx,v,2\ny,u,9\ny,v,4\n"),
    "weights of text": both(
        "must be numbers", typed=("--weights", "city"), reading={"weights": "city"}),
    "negative weights": both(
        "not negative", text="a,b,w\n" + "x,u,1\ny,v,-1\n" * 9, typed=("--weights", "w"),
        reading={"weights": "w"}),
    "a name twice": Mistake(
        "--drop 'a'", "Rename or drop the copies", text="a,a,b\n" + "x,y,u\ny,x,v\n" * 9),
    "an empty file": both("expected a header and rows", text=""),
    "a header alone": both("no rows", text="a,b\n"),
    "one row": both("Get more rows", text="a,b\nx,y\n"),
    "a short row": Mistake("--sep ','", "`sep=','`", text=PLAIN + "L\n"),
    "an archive": Mistake(
        "--format spreadsheet", "`format='spreadsheet'`", text=b"PK\x03\x04" + bytes(40)),
    "Parquet under another name": Mistake(
        "--format parquet", "`format='parquet'`", text=b"PAR1" + bytes(40)),
    "a spreadsheet": both("pip install openpyxl", text=b"PK\x03\x04" + bytes(40), name="data.xlsx"),
    "a number in words": Mistake(
        "--na 'unknown'", "`na=['unknown']`", text="age,b\n"
        + "".join(f"{k % 30},{k % 2}\n" for k in range(90)) + "unknown,1\n"),
    "no row without a hole": Mistake(
        "--missing state", "`missing='state'`", text="a,b\n" + "x,\n,u\ny,\n,v\n" * 5,
        typed=("--missing", "drop"), reading={"missing": "drop"}),
    "an encoding that nobody knows": Mistake(
        "--encoding 'latin-1'", "`encoding`, e.g. 'latin-1'", typed=("--encoding", "utf9"),
        reading={"encoding": "utf9"}),
    "a decimal mark of two": Mistake(
        "--decimal must be one character", "`decimal` must be one character", typed=("--decimal",
        ",,"), reading={"decimal": ",,"}),
    "rows in words": Mistake(
        "expected a whole number", "`nrows` must be at least 1", typed=("--nrows", "all"),
        reading={"nrows": "all"}),
    "what contradicts itself": Mistake(
        "--before", "`knowledge`", typed=("--before", "city", "trade", "--before", "trade", "city"),
        method={"knowledge": {"before": [("city", "trade"), ("trade", "city")]}}),
    "a result where there is no folder": Mistake(
        "there is no folder", typed=("--out", "no/r.json")),
    "questions without a terminal": Mistake("discrete-score look FILE", typed=("--ask",)),
    "several at once": Mistake(
        "This works: discrete-score order data.csv --drop 'day,c' --missing drop",
        'ds.read_table(data, drop=["day", "c"], missing="drop")', text="day,c,a,b\n"
        + "2024-05-01,q,x,\n2024-05-02,q,y,u\n2024-05-02,q,x,v\n" * 9),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    "An empty folder, no terminal, and no library for spreadsheets."
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return tmp_path


def written(folder, mistake):
    text = mistake.text if isinstance(mistake.text, bytes) else mistake.text.encode()
    (folder / ("data.xlsx" if mistake.name.endswith("xlsx") else "data.csv")).write_bytes(text)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_shell(name, folder):
    mistake = MISTAKES[name]
    written(folder, mistake)
    code, _, err = in_shell(mistake.command, mistake.name or ".", *mistake.typed)
    assert code == 2 and mistake.shell in err, err
    assert err.startswith("discrete-score: ") and "Traceback" not in err
    assert "`drop=" not in err and "`bins=" not in err and "`missing=" not in err


@pytest.mark.parametrize("name", [name for name in MISTAKES if MISTAKES[name].python])
def test_a_mistake_in_python(name, folder):
    mistake = MISTAKES[name]
    written(folder, mistake)
    with pytest.raises((ValueError, TypeError, OSError)) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = ds.read_table(mistake.name or ".", **mistake.reading)
        ds.DiscreteScore(**mistake.method).fit(table)
    assert mistake.python in str(caught.value), caught.value
    assert "--" not in str(caught.value)


def test_they_are_forty(): assert len(MISTAKES) >= 40

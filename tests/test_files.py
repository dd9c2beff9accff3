"""Files from outside: cut off, edited, foreign, malicious.

Each gives a `ValueError` in words, and loading runs no code.
"""
import base64
import copy
import io
import json
import os
import pickle
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discrete_score as ds
from discrete_score.files import write_json, write_text

FRAME = ds.load_network("asia").sample(400, seed=0).astype(str)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    "The content of a result file."
    path = tmp_path_factory.mktemp("files") / "order.json"
    ds.DiscreteScore().fit(FRAME).save(path)
    return path


class Trap:
    "Unpickling this object makes a file."
    def __init__(self, path): self.path = str(path)
    def __reduce__(self): return open, (self.path, "w")


# ---------------------------------------------------------------- result files

@settings(max_examples=60)
@given(share=st.floats(0, .999))
def test_a_truncated_result_is_refused(saved, tmp_path_factory, share):
    path, data = tmp_path_factory.getbasetemp() / "cut.json", saved.read_bytes()
    path.write_bytes(data[:int(share * len(data))])
    with pytest.raises(ValueError, match="cut off"): ds.load_order(path)


def set_step(k, **fields): return lambda c: c["steps"][k].update(fields)
def set_column(**fields): return lambda c: c["columns"][0].update(fields)
def set_all(**fields): return lambda c: c.update(fields)
def set_rows(**fields): return lambda c: c["data"].update(fields)
def set_codes(**fields): return lambda c: c["data"]["codes"].update(fields)


def lose_a_number(c):
    c["steps"][1].update(value="nan")
    c["steps"][1]["values"][0] = "nan"


def change_a_cell(c):
    codes = bytearray(zlib.decompress(base64.b64decode(c["data"]["codes"]["packed"])))
    codes[0] = 1 - codes[0]
    c["data"]["codes"]["packed"] = packed(bytes(codes))


def packed(data): return base64.b64encode(zlib.compress(data)).decode()


STRANGER = {"from": "sun", "to": "moon", "mark": "open", "decided_by": "data", "margin": 1.}
KEYS = ("order", "steps", "columns", "measure", "seed", "settings", "objects", "versions", "table",
        "compelled", "notes", "rows", "agreement", "edges", "complete", "format", "data")
EDITS = {
    "another order": lambda c: c["order"].reverse(),
    "a leaf twice": lambda c: c["steps"][3].update(leaf=c["steps"][2]["leaf"]),
    "an unknown leaf": set_step(0, leaf="nobody"),
    "steps swapped": lambda c: c["steps"].insert(0, c["steps"].pop()),
    "a step less": lambda c: c["steps"].pop(),
    "a step renumbered": set_step(1, step=5),
    "a value changed": set_step(1, value=99.),
    "a value in words": set_step(1, value="large"),
    "not a number": lose_a_number,
    "values cut": lambda c: c["steps"][1]["values"].pop(),
    "another column": set_column(name="dawn"),
    "a column twice": lambda c: c["columns"].append(copy.deepcopy(c["columns"][0])),
    "no states": set_column(states=[]),
    "states are no list": set_column(states=3),
    "other states": lambda c: c["columns"][0]["states"].reverse(),
    "compelled both ways": set_all(compelled=[["smoke", "lung"], ["lung", "smoke"]]),
    "compelled, not transitive": set_all(compelled=[["smoke", "lung"], ["lung", "xray"]]),
    "compelled strangers": set_all(compelled=[["smoke", "moon"]]),
    "complete is wrong": set_all(complete=False),
    "no rows": set_all(rows=-4),
    "other rows": set_all(rows=399.),
    "no measure": set_all(measure=None),
    "another table": set_all(table="0" * 32),
    "a seed beyond numbers": set_all(seed=1e400),
    "steps are no list": set_all(steps={"a": 1}),
    "settings are no dict": set_all(settings=[1, 2]),
    "edges of strangers": set_all(edges=[STRANGER | {"answer": "x"}]),
    "an edge against the order": lambda c: c["edges"][0].update(
        {"from": c["edges"][0]["to"], "to": c["edges"][0]["from"]}),
    "an unknown mark": lambda c: c["edges"][0].update(mark="certain"),
    "strange agreement": set_all(agreement={"code": "import os"}),
    "another version": set_all(format="discrete_score order, version 99"),
    "the version before": set_all(format="discrete_score order, version 1", steps=[]),
    "a cell changed": change_a_cell,
    "cells are no text": set_codes(packed=3),
    "cells are no code": set_codes(packed="ä"),
    "cells are not packed": set_codes(packed=base64.b64encode(b"rows").decode()),
    "cells of objects": set_codes(type="O"),
    "a bomb of cells": set_codes(packed=packed(bytes(10**6))),
    "more rows than cells": set_codes(shape=[8, 10**15]),
    "a negative shape": set_codes(shape=[-1, -8]),
    "rows are no dict": set_all(data=[1]),
    "rows without order": set_rows(index=None),
    "weights of nobody": set_rows(weights={"type": "f8", "shape": [1], "packed": packed(bytes(8))}),
    "notes that are not there": set_rows(notes=10**6),
} | {f"no {key} at all": lambda c, key=key: c.pop(key) for key in KEYS}


@pytest.mark.parametrize("change", EDITS)
def test_an_edited_result_is_refused(saved, tmp_path, change):
    content = json.loads(saved.read_text())
    EDITS[change](content)
    (tmp_path / "edited.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match="edited.json"): ds.load_order(tmp_path / "edited.json")


FOREIGN = [b"", b"\x00\xff\xfe", b"[1, 2]", b"null", b'"order"', b"[" * 100_000,
           b'{"format": ' + b"9" * 5000 + b"}", b"\x80\x04K\x01.", "größe".encode("latin-1"),
           b"PAR1" * 4]


@pytest.mark.parametrize("content", FOREIGN)
def test_a_foreign_file_is_refused(tmp_path, content):
    (tmp_path / "foreign.json").write_bytes(content)
    with pytest.raises(ValueError, match="foreign.json"): ds.load_order(tmp_path / "foreign.json")


def test_a_pickle_under_our_name_is_not_run(tmp_path):
    trap = tmp_path / "sprung"
    for name in ("order.json", "orders.bootstrap.json", "table.csv", "table.parquet"):
        (tmp_path / name).write_bytes(pickle.dumps(Trap(trap)))
    with pytest.raises(ValueError): ds.load_order(tmp_path / "order.json")
    orders, model = tmp_path / "orders.bootstrap.json", ds.DiscreteScore(guide=None)
    with pytest.raises(ValueError): model.bootstrap(FRAME, 1, checkpoint=orders)
    for name in ("table.csv", "table.parquet"):
        with pytest.raises(ValueError): ds.read_table(tmp_path / name)
    assert not trap.exists()
    pickle.loads((tmp_path / "order.json").read_bytes())
    assert trap.exists(), "the trap must work, or this test shows nothing"


def test_odd_labels_and_names_survive(tmp_path):
    "Labels that JSON cannot hold come back as text, and stay different."
    odd = pd.DataFrame({"<b>": [b"0", "b'0'", "0", 0] * 3, "=1+1": [(1, 2), (3, 4)] * 6,
                        "x\"y\\": ["\ud800", "\x00", "💧"] * 4}, dtype=object)
    model = ds.DiscreteScore(guide=None, identifiers="keep").fit(odd)
    model.save(tmp_path / "odd.json")
    again = ds.load_order(tmp_path / "odd.json")
    assert again.order_ == model.order_ and again.to_dict() == model.to_dict()
    assert [len(set(states)) for states in again.schema_.states] == [4, 2, 3]
    assert again.result_ == model.result_
    assert again.result_.holds(ds.as_table(odd, identifiers="keep"))


def test_resampled_orders_are_checked(tmp_path):
    path, model = tmp_path / "r.json", ds.DiscreteScore(guide=None)
    whole = model.bootstrap(FRAME, 3, checkpoint=path)
    assert (model.bootstrap(FRAME, 3, checkpoint=path).orders == whole.orders).all()
    content = json.loads(path.read_text())
    other = ds.DiscreteScore(measure="gini", guide=None)
    with pytest.raises(ValueError, match="another table"):
        model.bootstrap(FRAME.iloc[:300], 3, checkpoint=path)
    with pytest.raises(ValueError, match="other settings"):
        other.bootstrap(FRAME, 3, checkpoint=path)
    code = [[0, 1, 2, 3, 4, 5, 6, "7; import os"]]
    for orders in ([[0] * 8], [[0, 1]], "abc", code, [[0], [1, 2]]):
        write_json(content | {"orders": orders}, path)
        with pytest.raises(ValueError, match="edited"): model.bootstrap(FRAME, 3, checkpoint=path)


# ---------------------------------------------------------------- writing

def test_writing_keeps_mode_links_and_neighbours(tmp_path):
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    write_text("one", real)
    link.symlink_to(real)
    write_text("two", link)
    assert link.is_symlink() and real.read_text() == "two"
    assert real.stat().st_mode & 0o777 == 0o666 & ~_umask()
    with pytest.raises(UnicodeEncodeError): write_text("\ud800", real)
    assert real.read_text() == "two"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.txt", "real.txt"]
    write_text("to a device", os.devnull)


def _umask():
    old = os.umask(0)
    os.umask(old)
    return old


# ---------------------------------------------------------------- checkpoints

@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    "A finished small training, its estimator and its file."
    pytest.importorskip("torch")
    from discrete_score.diffusion import DiffusionScore, Settings
    folder, small = tmp_path_factory.mktemp("training"), Settings(epochs=2, width=8, hidden=8)
    def make(where): return DiffusionScore(settings=small, device="cpu", checkpoint=where)
    make(folder).fit(FRAME)
    return make, next(folder.glob("*.safetensors"))


def header(data):
    "The description of the tensors, and the rest."
    end = 8 + struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8:end]), data[end:]


def with_header(head, body):
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + body


def with_info(head, text): head["__metadata__"]["info"] = text
def lose(head, start): head.pop(next(key for key in head if key.startswith(start)))


def turn(head):
    "Another shape for a tensor."
    name = next(k for k in head if k.startswith("best/") and len(head[k]["shape"]) == 2)
    head[name]["shape"] = head[name]["shape"][::-1] + [1]


CUTS = {
    "cut off": lambda data: data[:len(data) // 2],
    "header cut off": lambda data: data[:20],
    "empty": lambda data: b"",
    "foreign": lambda data: b"\x89PNG" + data[:100],
    "huge header": lambda data: struct.pack("<Q", 2**60) + data[8:],
    "not finite": lambda data: with_header(header(data)[0], b"\xff" * len(header(data)[1])),
}
HEADS = {
    "no information": lambda head, info: head.pop("__metadata__"),
    "information is no JSON": lambda head, info: with_info(head, "{"),
    "information is a list": lambda head, info: with_info(head, "[]"),
    "epoch edited": lambda head, info: with_info(head, json.dumps(info | {"epoch": 1})),
    "history edited": lambda head, info: with_info(
        head, json.dumps(info | {"history": [["a", "b"], [1, 2]]})),
    "a tensor is missing": lambda head, info: lose(head, "model/"),
    "a moment is missing": lambda head, info: lose(head, "exp_avg/"),
    "another shape": lambda head, info: turn(head),
    "nothing": lambda head, info: None,
}


def damage(kind, data):
    "A damaged copy of a checkpoint."
    if kind in CUTS: return CUTS[kind](data)
    head, body = header(data)
    HEADS[kind](head, json.loads(head["__metadata__"]["info"]))
    return with_header(head, body)


KINDS = [kind for kind in (*CUTS, *HEADS) if kind != "nothing"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_checkpoint_is_refused(checkpoint, tmp_path, kind):
    make, path = checkpoint
    (tmp_path / path.name).write_bytes(damage(kind, path.read_bytes()))
    with pytest.raises(ValueError, match="damaged"): make(tmp_path).fit(FRAME)


def test_a_whole_checkpoint_is_taken(checkpoint, tmp_path):
    make, path = checkpoint
    (tmp_path / path.name).write_bytes(damage("nothing", path.read_bytes()))
    assert len(make(tmp_path).fit(FRAME).history()) == 2


def test_a_pickled_checkpoint_is_not_run(checkpoint, tmp_path):
    import torch
    make, path = checkpoint
    trap = Trap(tmp_path / "sprung")
    for data in (pickle.dumps(trap), _torch_file(torch, trap)):
        (tmp_path / path.name).write_bytes(data)
        with pytest.raises(ValueError, match="damaged"): make(tmp_path).fit(FRAME)
    assert not (tmp_path / "sprung").exists()


def _torch_file(torch, thing):
    buffer = io.BytesIO()
    torch.save(thing, buffer)
    return buffer.getvalue()


# ---------------------------------------------------------------- tables

def csv(text, **options):
    data = text if isinstance(text, bytes) else text.encode()
    return ds.read_table(io.BytesIO(data), **options)


def test_wrong_delimiter():
    with pytest.raises(ValueError, match="sep=';'"): csv("a;b\nx;u\ny;v\n", sep=",")
    assert csv("a;b\nx;u\ny;v\n").names == ("a", "b")
    with pytest.raises(ValueError, match="one character"): csv("a,b\nx,u\n", sep=", ")


RAGGED = [("x,u\ny\n", "3"), ("x,u,w\ny,v\n", "2"), ("x,u\n" * 2000 + "y,v,w\n", "2002")]


@pytest.mark.parametrize("rows, row", RAGGED)
def test_ragged_rows(rows, row):
    with pytest.raises(ValueError, match=f"row {row} "): csv("a,b\n" + rows)


def test_byte_order_mark():
    for encoding in ("utf-8-sig", "utf-8"):
        assert csv("a,b\nx,ü\ny,v\n".encode(encoding)).names == ("a", "b")
    wide = csv("a,b\nx,ü\ny,v\n".encode("utf-16"), encoding="utf-16")
    assert wide.schema.states[1] == ("v", "ü")
    with pytest.raises(ValueError, match="encoding"): csv("a,b\nx,ü\ny,v\n".encode("latin-1"))


def test_formulas_survive_as_text(tmp_path):
    "Cells that a spreadsheet would run stay what they are, also through a result file."
    cells = ["=1+1", "+A1", "-2+3", "@SUM(A1)", "=cmd|' /C calc'!A0", "\t=1"]
    frame = pd.DataFrame({"f": cells * 4, "g": ["u", "v", "v"] * 8})
    frame.to_csv(tmp_path / "f.csv", index=False)
    table = ds.read_table(tmp_path / "f.csv")
    assert set(table.schema.states[0]) == set(cells) and list(table.frame()["f"]) == list(frame.f)
    model = ds.DiscreteScore(guide=None).fit(table)
    model.save(tmp_path / "r.json")
    assert set(ds.load_order(tmp_path / "r.json").schema_.states[0]) == set(cells)


class Endless(io.RawIOBase):
    "A CSV of a gigabyte that is made while it is read; counts what was asked for."
    def __init__(self, size=2**30):
        self.left, self.read_bytes, self.line = size, 0, b"x,u\ny,v\ny,u\n" * 4096
    def readable(self): return True
    def readinto(self, buffer):
        if not self.read_bytes: data = b"a,b\n"
        else: data = self.line[:max(0, min(len(buffer) // 12 * 12, len(self.line), self.left))]
        buffer[:len(data)] = data
        self.read_bytes, self.left = self.read_bytes + len(data), self.left - len(data)
        return len(data)


def test_row_limit_on_a_big_file():
    "Of a file of a gigabyte only the beginning is read."
    source = Endless()
    table = ds.read_table(source, nrows=1000)
    assert table.n == 1000 and source.read_bytes < 2**25


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" + b"\x00" * 50 + b"PAR1"])
def test_a_broken_parquet_file(tmp_path, data):
    (tmp_path / "t.parquet").write_bytes(data)
    with pytest.raises(ValueError, match="Parquet"): ds.read_table(tmp_path / "t.parquet")


def test_a_spreadsheet_is_read_by_its_library(tmp_path, monkeypatch):
    "Without the library a message names it; with it the first sheet is a table like any other."
    path, asked = tmp_path / "t.xlsx", []
    path.write_bytes(b"PK\x03\x04")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ValueError, match="pip install openpyxl"): ds.read_table(path)
    frame = pd.DataFrame({"Unnamed: 0": range(4), "a": list("xyxy"), "b": [1.5, 2, 1.5, 2]})

    def read_excel(source, **options):
        asked.append(options["engine"])
        return frame

    monkeypatch.setattr(pd, "read_excel", read_excel)
    table = ds.read_table(path)
    assert table.names == ("a", "b") and table.schema.states[1] == (1.5, 2)
    assert asked == ["openpyxl"]
    (tmp_path / "t.ods").write_bytes(b"PK\x03\x04")
    assert ds.read_table(tmp_path / "t.ods") == table and asked[-1] == "odf"


SLOW_STREAM = """
import io, time
from discrete_score.files import read_table
parts = iter([b"a,b\\n1,2\\n1,2,3\\n", *[b"1,2\\n"] * 200])
class Slow(io.BytesIO):
    def read(self, *size):
        time.sleep(.01)
        return next(parts, b"")
read_table(Slow())
"""


def test_a_mistake_found_while_bytes_are_read_ends_in_words():
    "Arrow's thread still asks for bytes when the process ends: that must not abort it."
    done = subprocess.run([sys.executable, "-c", SLOW_STREAM], capture_output=True, text=True)
    assert done.returncode == 1 and "row 3 of the file has 3 cells" in done.stderr.splitlines()[-1]


def test_a_saved_result_is_not_a_table(tmp_path):
    rows = ds.load_network("asia").sample(200, seed=0)
    ds.DiscreteScore(guide=None).fit(rows).save(tmp_path / "order.json")
    with pytest.raises(ValueError, match="saved result"):
        ds.files.read_table(tmp_path / "order.json")

"Any table of categories is encoded faithfully, or refused in words."
import io
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discrete_score.data import MISSING, Schema, Table, as_table
from discrete_score.files import Reading, read_table

quick = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
text = st.text(max_size=4)
numbers = st.integers(-2**70, 2**70)
mixed = st.one_of(text, st.integers(2, 9), st.booleans(), st.binary(max_size=2))


def states_of(cell): return st.lists(cell, min_size=2, max_size=6, unique=True)


labels = st.one_of(states_of(text), states_of(numbers), st.just([False, True]), states_of(mixed))


@st.composite
def columns(draw, n, categorical=None):
    "A column in which every state occurs, so that it must be accepted."
    states = draw(labels.filter(lambda s: len(s) <= n))
    k, more = len(states), n - len(states)
    rest = draw(st.lists(st.integers(0, k - 1), min_size=more, max_size=more))
    codes = np.array([*range(k), *rest])
    codes = codes[np.array(draw(st.permutations(range(n))))]
    cells = np.empty(len(states), dtype=object)
    cells[:] = states
    if draw(st.booleans()) if categorical is None else categorical:
        return pd.Categorical.from_codes(codes, categories=pd.Index(cells, dtype=object))
    return pd.Series(cells[codes], dtype=object)


@st.composite
def frames(draw, categorical=None):
    n = draw(st.integers(6, 9))
    name = st.text(min_size=1, max_size=3).filter(str.strip)
    names = draw(st.lists(name, min_size=1, max_size=4, unique=True))
    return pd.DataFrame({name: draw(columns(n, categorical)) for name in names})


def same_cells(a, b):
    "Cells equal in value and type."
    def typed(frame):
        return [(type(x), x) for x in frame.astype(object).to_numpy().ravel().tolist()]
    return typed(a) == typed(b)


@quick
@given(frames())
def test_round_trip(frame):
    table = as_table(frame)
    assert same_cells(table.frame(), frame) and list(table.frame().columns) == list(frame.columns)
    assert as_table(table.frame()) == table
    assert all("differ only in case" in note for note in table.notes) and table.n_dropped == 0


@quick
@given(frames(), st.randoms())
def test_row_order_leaves_no_trace(frame, random):
    rows = list(range(len(frame)))
    random.shuffle(rows)
    table, shuffled = as_table(frame), as_table(frame.iloc[rows])
    assert shuffled == table.take(rows)
    assert shuffled.distinct() == table.distinct()


@quick
@given(frames(categorical=False), st.randoms())
def test_column_order_only_permutes(frame, random):
    names = list(frame.columns)
    random.shuffle(names)
    assert as_table(frame[names]) == as_table(frame).select(names)


@quick
@given(frames())
def test_states_and_dtype(frame):
    table = as_table(frame)
    assert table.codes.dtype == np.min_scalar_type(table.n_states.max() - 1)
    assert not table.codes.flags.writeable
    assert all(set(table.codes[:, j]) == set(range(k)) for j, k in enumerate(table.n_states))
    assert all(np.isclose(p.sum(), 1) for p in table.marginals())
    assert table._repr_markdown_().count("\n") >= table.d + 3


SMALLEST = [(2, "uint8"), (256, "uint8"), (257, "uint16"), (65536, "uint16"), (65537, "uint32")]


@pytest.mark.parametrize("k, dtype", SMALLEST)
def test_smallest_type(k, dtype):
    assert as_table(pd.DataFrame({"a": np.arange(k)}), identifiers="keep").codes.dtype == dtype


@quick
@given(frames(), st.integers(0, 3))
def test_missing_policies(frame, column):
    frame = frame.astype(object)
    frame.iloc[::3, column % frame.shape[1]] = None
    with pytest.raises(ValueError, match="missing cells in"): as_table(frame)
    try: dropped = as_table(frame, missing="drop")
    except ValueError as error: assert "1 level" in str(error)
    else:
        kept = len(frame.dropna())
        assert (dropped.n, dropped.n_dropped) == (kept, len(frame) - kept)
    table = as_table(frame, missing="state")
    assert same_cells(table.frame(), frame.where(frame.notna(), MISSING)) and table.n == len(frame)


anything = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.floats(), text, st.binary(max_size=1),
    st.dates(), st.tuples(st.integers(0, 1)), st.frozensets(st.integers(0, 2)),
    st.complex_numbers(), st.lists(st.integers(0, 1), max_size=1), st.decimals(), st.just(pd.NA),
    st.just(np.int8(1)))
kinds = st.sampled_from([
    anything, st.one_of(text, st.integers(0, 3)), st.floats(), st.integers(-2, 2),
    st.datetimes(), st.just("x"), st.tuples(text)])
KNOWN = ("no rows", "no columns", "1 level", "missing cell", "not integers", "dates or times",
         "equal but of different type", "cannot be sorted", "cannot be labels", "identifier",
         "neither missing nor a label")


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_anything_gives_a_table_or_words(data):
    "No traceback from inside a library, whatever the cells are."
    n, frame = data.draw(st.integers(0, 12)), {}
    for j in range(data.draw(st.integers(0, 3))):
        cells = np.empty(n, dtype=object)
        cells[:] = data.draw(st.lists(data.draw(kinds), min_size=n, max_size=n))
        frame[f"c{j}"] = pd.Series(cells, dtype=object)
        if data.draw(st.booleans()): frame[f"c{j}"] = frame[f"c{j}"].infer_objects()
    frame = pd.DataFrame(frame)
    policy = data.draw(st.sampled_from(["error", "drop", "state"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try: table = as_table(frame, missing=policy)
        except (TypeError, ValueError) as error:
            assert any(word in str(error) for word in KNOWN), error
        else: assert table.n + table.n_dropped == n and table._repr_markdown_()


counted_rows = st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 4))


@quick
@given(st.lists(counted_rows, min_size=2, max_size=30), st.integers(2, 4))
def test_weights_stand_for_repeated_rows(rows, k):
    frame = pd.DataFrame(rows, columns=["a", "b", "count"])
    long = frame.loc[frame.index.repeat(frame["count"]), ["a", "b"]]
    try: expected = as_table(long).distinct()
    except ValueError as error:
        with pytest.raises(ValueError): as_table(frame, weights="count")
        return
    table = as_table(frame, weights="count")
    assert table.distinct() == expected and table.total == len(long)
    try: bins = as_table(long, bins={"a": k})
    except ValueError: return
    assert as_table(frame, weights="count", bins={"a": k}).distinct() == bins.distinct()


@quick
@given(st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=60, unique=True), st.integers(2, 4))
def test_quantile_bins_are_even_and_labels_exact(values, k):
    table = as_table(pd.DataFrame({"x": values}), bins={"x": k})
    assert np.abs(table.marginals()[0] * len(values) - len(values) / k).max() <= 1
    for label, code in zip(table.schema.states[0], range(k)):
        inside = np.array(values)[table.codes[:, 0] == code]
        bounds = [float(part) for part in label.strip("<>=[]) ").split(",")]
        if label.startswith("<"): assert (inside < bounds[0]).all()
        elif label.startswith(">"): assert (inside >= bounds[0]).all()
        else: assert (inside >= bounds[0]).all() and (inside < bounds[1]).all()


cell = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), max_size=5)


@quick
@given(st.data())
def test_csv_keeps_text(data):
    "What a CSV writer wrote comes back to the letter; empty cells are missing."
    n = data.draw(st.integers(2, 8))
    columns = {name: data.draw(st.lists(cell, min_size=n, max_size=n)) for name in ("a", "b")}
    buffer = io.StringIO()
    pd.DataFrame(columns, dtype=object).to_csv(buffer, index=False, quoting=1)
    reading = Reading(text=["a", "b"], missing="state", identifiers="keep")
    try: frame = reading.table(io.StringIO(buffer.getvalue())).frame()
    except ValueError as error:
        assert any(len(set(values)) == 1 for values in columns.values()), error
        return
    for name, values in columns.items():
        assert frame[name].tolist() == [value or MISSING for value in values]


def test_csv_number_rules():
    content = "a,b,c\n1,1.0,007\n10,2.0,1E5\n2,1.00,-0\n"
    states = read_table(io.StringIO(content)).schema.states
    assert states == ((1, 2, 10), (1, 2), ("-0", "007", "1E5"))


JUNK = [b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00", b"PK\x03\x04\xff\xfe", b"\xff" * 50,
        b"\x00" * 50, b"PAR1\x00\x00PAR1", b'"', b"\n\n\n", b"\x1f\x8bxx"]


@pytest.mark.parametrize("junk", JUNK)
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_foreign_files_are_refused(tmp_path, junk, format):
    path = tmp_path / f"table.{format}"
    path.write_bytes(junk)
    with pytest.raises(ValueError): read_table(path)
    with pytest.raises(ValueError): read_table(io.BytesIO(junk), format=format)


def test_truncated_files_are_refused(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": [0, 1] * 500, "b": list("xy") * 500}).to_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match="Parquet"): read_table(path)
    path = tmp_path / "t.csv.gz"
    cells = np.random.default_rng(0).integers(0, 99, 9000)
    pd.DataFrame({"a": cells, "b": 1}).to_csv(path, index=False)
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(ValueError): read_table(path)


def test_absent_file_keeps_its_error(tmp_path):
    for name in ("none.csv", "none.parquet"):
        with pytest.raises(FileNotFoundError): read_table(tmp_path / name)


def test_standard_input():
    code = "from discrete_score.files import read_table; t = read_table('-'); print(t.names, t.n)"
    done = subprocess.run([sys.executable, "-c", code], input="a,b\n0,x\n1,y\n0,x\n",
                          capture_output=True, text=True, check=True)
    assert done.stdout == "('a', 'b') 3\n"


def test_row_limit_spares_the_rest():
    "A long file is read up to the limit only: the rows after it are never parsed."
    rows = b"0,1\n1,0\n" * 100_000
    handle = io.BytesIO(b"a,b\n" + rows * 20)
    assert read_table(handle, nrows=1000).n == 1000
    assert handle.tell() < 10 * 2**22


def test_blocks_agree():
    "A file of several parser blocks gives the table that pandas gives."
    codes = np.random.default_rng(0).integers(0, 5, (400_000, 6))
    words = np.array(["alpha", "beta", "gamma", "None", "é"])
    frame = pd.DataFrame(words[codes], columns=list("abcdef"))
    assert read_table(io.BytesIO(frame.to_csv(index=False).encode())) == as_table(frame)


DTYPES = ["Int8", "int64[pyarrow]", "Float32", "string", "string[pyarrow]", "boolean",
          "bool[pyarrow]", "Sparse[int]", "category", "object", "float16", "uint64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_pandas_type(dtype):
    cells = pd.Series([1, 0, 1, 0, 1])
    if "string" in dtype: cells = cells.astype(str)
    table = as_table(pd.DataFrame({"a": cells.astype(dtype)}))
    assert table.codes[:, 0].tolist() == [1, 0, 1, 0, 1]
    assert [type(s) for s in table.schema.states[0]] in ([int, int], [str, str], [bool, bool])


def test_arguments_are_left_alone():
    frame = pd.DataFrame({"a": [0.0, 1.0, None, 1.0], "b": list("xyxy"), "n": [1, 0, 2, 3]})
    before = frame.copy(deep=True)
    as_table(frame, missing="state", weights="n")
    pd.testing.assert_frame_equal(frame, before)
    array = np.array([[0, 1], [1, 0]])
    table = as_table(array)
    array[:] = 7
    assert table.codes.tolist() == [[0, 1], [1, 0]]
    codes = np.array([[0], [1]], dtype=np.uint8)
    table = Table(Schema(["a"], [[0, 1]]), codes)
    codes[:] = 0
    assert table.codes.tolist() == [[0], [1]]


def test_lone_surrogates_survive():
    frame = pd.DataFrame({"a": pd.Series(["\ud800", "b", "b"], dtype=object)})
    assert same_cells(as_table(frame).frame(), frame)

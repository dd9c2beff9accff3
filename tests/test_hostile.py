"""The whole path on hostile tables: fit, save, load.

Any table of categories gives a valid order, or an error that this package raises itself.
`SLOW=1` draws 2,000 tables instead of 200.
"""
import datetime
import os
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discrete_score as ds
from discrete_score import discover

EXAMPLES = 2000 if os.environ.get("SLOW") else 200
PACKAGE, WARNINGS = Path(ds.__file__).parent, 3
PATIENT = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
quick = dict(deadline=None, suppress_health_check=PATIENT)

seeds = st.integers(0, 2**32 - 1)
words = st.text(max_size=6)
large = st.integers(-2**70, 2**70)
mixed = st.one_of(words, st.integers(2, 9), st.binary(max_size=2), st.booleans())


def unlike(cell, low, high): return st.lists(cell, min_size=low, max_size=high, unique=True)


ODD = ["é", "e\u0301", "💧", "\u202e", "<b>", "=1+1", "\x00"]
DAYS = [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)]
LABELS = st.one_of(
    unlike(words, 1, 5), unlike(large, 1, 5), unlike(mixed, 2, 5),
    *map(st.just, (["ja", "nein"], [False, True], ODD, [0.0, 1.0, 2.0], [1, 1.0, True], [.5, 1.25],
                   [float("inf"), 0.], [None, "a", "b"], [(1, 2), (3, 4)], [[1], [2]], DAYS,
                   [object(), object()])))
LEGAL = st.one_of(
    unlike(words, 2, 6), unlike(large, 2, 6),
    *map(st.just, ([False, True], ODD, [0, "0", b"0", "NoneType"], [(1, 2), (3, 4), (3, 5)],
                   [b"0", "b'0'", "0"])))
KINDS = ["free", "free", "free", "constant", "copy", "function", "noisy", "once", "many", "rare"]


def codes_of(kind: str, n: int, k: int, before: list[np.ndarray], rng) -> np.ndarray:
    "Codes of one column: independent, or tied to the columns before it."
    free = rng.integers(k, size=n)
    if kind == "constant": return np.zeros(n, int)
    if kind == "many": return rng.permutation(np.arange(n) % 300)
    if kind == "once": return np.eye(1, n, rng.integers(n), dtype=int)[0]
    if kind == "rare": return (rng.random(n) < .02).astype(int)
    if not before: return free
    source = before[rng.integers(len(before))]
    if kind == "copy": return source.copy()
    if kind == "function": return (source + before[rng.integers(len(before))]) * 2 % 3
    return np.where(rng.random(n) < .1, free, source) if kind == "noisy" else free


def cells(codes: np.ndarray, labels: list) -> pd.Series:
    "Codes as labels; codes beyond the labels become text."
    states = np.empty(codes.max() + 1, dtype=object)
    states[:] = [labels[c] if c < len(labels) else f"s{c}" for c in range(len(states))]
    return pd.Series(states[codes], dtype=object)


def assembled(draw, names, n, labels):
    "Columns of drawn kinds under `names`, with the generator that made them."
    rng, columns = np.random.default_rng(draw(seeds)), []
    for _ in names:
        kind, k = draw(st.sampled_from(KINDS)), draw(st.integers(1, 5))
        columns.append(codes_of(kind, n, k, columns, rng))
    return rng, columns, [draw(labels) for _ in names]


def frame_of(names, columns, labels):
    "Codes and labels as a frame."
    return pd.DataFrame({name: cells(c, states) for name, c, states in zip(names, columns, labels)})


@st.composite
def legal(draw):
    """A degenerate table that must give an order.

    Copies, functions, rare states, fewer rows than columns, but two states in each column.
    """
    names = draw(unlike(st.text(min_size=1, max_size=5).filter(str.strip), 1, 8))
    n = draw(st.sampled_from([2, 3, 5, 12, 40, 150, 700]))
    _, columns, labels = assembled(draw, names, n, LEGAL)
    for c in columns: c[0] += (c == c[0]).all()
    return frame_of(names, columns, labels)


@st.composite
def tables(draw):
    "A table as hostile as we can think of."
    names = draw(unlike(st.text(min_size=1, max_size=5), 1, 7))
    n = draw(st.sampled_from([1, 2, 3, 5, 12, 40, 150, 700]))
    rng, columns, labels = assembled(draw, names, n, LABELS)
    frame = frame_of(names, columns, labels)
    if draw(st.integers(0, 9)) == 0: frame = frame.iloc[[0] * n].reset_index(drop=True)
    if draw(st.integers(0, 5)) == 0: frame = frame.mask(rng.random(frame.shape) < .1)
    texts = frame.map(lambda x: isinstance(x, str)).all(axis=None)
    declared = draw(st.integers(0, 5)) == 0 and texts
    return frame.apply(lambda c: c.astype("category")) if declared else frame


SETTINGS = st.fixed_dictionaries({
    "guide": st.sampled_from(["evidence", None]),
    "measure": st.sampled_from(["kl_uniform", "kl_uniform", "entropy", "gini", "renyi:2"]),
    "missing": st.sampled_from(["error", "drop", "state"]),
    "identifiers": st.sampled_from(["error", "keep"]), "seed": seeds})


def network_for(frame: pd.DataFrame, settings: dict):
    "A random network over the columns and states of a table, for the exact estimator."
    table = ds.as_table(frame, missing=settings["missing"], identifiers=settings["identifiers"])
    rng, wide = np.random.default_rng(settings["seed"]), [int(k) for k in table.n_states]
    parents = [sorted(rng.permutation(j)[:rng.integers(3)].tolist()) for j in range(table.d)]
    shapes = [tuple(wide[p] for p in pa) for pa in parents]

    def cpt(k, shape):
        rows = rng.dirichlet(np.ones(k), size=int(np.prod(shape, dtype=int)))
        return ds.TableCPT(rows, shape)

    cpts = [cpt(k, shape) for k, shape in zip(wide, shapes)]
    return ds.BayesNet(table.names, table.schema.states, tuple(map(tuple, parents)), tuple(cpts))


def run(frame: pd.DataFrame, estimator: str, settings: dict):
    "A fitted object or the error, and the warnings; nothing else may come out."
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            network = network_for(frame, settings) if estimator == "exact" else None
            found = ds.DiscreteScore(estimator=estimator, network=network, **settings).fit(frame)
        except (ValueError, TypeError) as error: found = error
    assert len(said) <= WARNINGS, [str(w.message) for w in said]
    assert not any(issubclass(w.category, RuntimeWarning) for w in said), [*map(str, said)]
    return found


def check_error(error: Exception) -> None:
    "Raised by this package itself, in words."
    last = traceback.extract_tb(error.__traceback__)[-1]
    assert Path(last.filename).parent == PACKAGE, f"{last.filename}:{last.lineno}: {error!r}"
    assert len(str(error)) > 20


def check_model(model, frame: pd.DataFrame) -> None:
    "A complete order, finite numbers, the input untouched."
    names = list(frame.columns)
    assert sorted(model.order_) == sorted(names) and model.result_.complete
    for step in model.result_.steps:
        numbers = [step.value, step.standard_error, *step.values, *step.standard_errors]
        assert np.isfinite(numbers).all()
        assert (step.runner_up is None) == np.isnan(step.margin)
        right = np.isnan if model.guide is None else np.isfinite
        assert right(step.evidence_cost)
    before = model.partial_order_
    place = [model.order_.index(name) for name in names]
    assert not (before & before.T).any()
    assert isinstance(model._repr_markdown_(), str) and place


def check_file(model, folder: Path) -> None:
    "What is saved comes back."
    path = folder / "hostile.json"
    model.save(path)
    again = ds.load_order(path)
    assert again.order_ == model.order_ and again.to_dict() == model.to_dict()
    assert (again.partial_order_ == model.partial_order_).all()


@settings(max_examples=EXAMPLES * 6 // 10, **quick)
@given(legal(), st.sampled_from(["blanket", "blanket", "exact"]), SETTINGS)
def test_degenerate_tables_get_an_order(tmp_path_factory, frame, estimator, settings):
    model = run(frame, estimator, settings | {"identifiers": "keep"})
    if isinstance(model, Exception): raise model
    check_model(model, frame)
    check_file(model, tmp_path_factory.getbasetemp())


@settings(max_examples=EXAMPLES * 4 // 10, **quick)
@given(tables(), st.sampled_from(["blanket", "blanket", "exact"]), SETTINGS)
def test_any_table_gets_an_order_or_a_clear_error(tmp_path_factory, frame, estimator, settings):
    before = frame.copy(deep=True)
    model = run(frame, estimator, settings)
    pairs = zip(frame.to_numpy().ravel(), before.to_numpy().ravel())
    assert frame.shape == before.shape
    assert all(a is b or a == b or (a != a and b != b) for a, b in pairs)
    if isinstance(model, Exception): return check_error(model)
    check_model(model, frame)
    check_file(model, tmp_path_factory.getbasetemp())


def changed(model, other) -> bool:
    "Do two searches differ, beyond rounding?"
    if isinstance(model, Exception) or isinstance(other, Exception):
        return type(model) is not type(other)
    numbers = [[(step.value, step.standard_error) for step in found.result_.steps]
               for found in (model, other)]
    if model.order_ != other.order_ or not np.allclose(*numbers, rtol=1e-5, atol=1e-7): return True
    place = [list(other.feature_names_in_).index(name) for name in model.feature_names_in_]
    return bool((model.partial_order_ != other.partial_order_[np.ix_(place, place)]).any())


def renamed(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    "Other labels for the same states, in another order."
    def one(column):
        codes, found = pd.factorize(column)
        return [f"state {k}" for k in rng.permutation(len(found))[codes]]
    return pd.DataFrame({name: one(frame[name]) for name in frame})


def disguised(frame: pd.DataFrame, rng: np.random.Generator) -> list:
    "The same table with its rows permuted, its states renamed, its columns permuted."
    return [("rows", frame.iloc[rng.permutation(len(frame))]), ("labels", renamed(frame, rng)),
            ("columns", frame.iloc[:, rng.permutation(frame.shape[1])])]


@settings(max_examples=EXAMPLES // 5, **quick)
@given(legal(), SETTINGS, seeds)
def test_rows_columns_and_labels_do_not_matter(frame, settings, seed):
    "The order, the values and the compelled pairs are those of the table, not of its writing."
    settings, rng = settings | {"identifiers": "keep"}, np.random.default_rng(seed)
    model = run(frame, "blanket", settings)
    for what, other in disguised(frame, rng):
        assert not changed(model, run(other, "blanket", settings)), what


@settings(max_examples=EXAMPLES // 5, **quick)
@given(st.integers(2, 8), st.sampled_from(["evidence", None]), seeds)
def test_the_exact_estimator_does_not_see_positions(d, guide, seed):
    rng = np.random.default_rng(seed)
    net = ds.random_network(d, degree=1, states=(2, 4), seed=seed)
    frame = net.sample(300, seed=seed)
    settings = dict(estimator="exact", network=net, guide=guide, unused="drop", seed=seed)
    search = lambda f: ds.DiscreteScore(**settings).fit(f)
    try: model = search(frame)
    except ValueError as error: return check_error(error)
    for what, other in disguised(frame, rng):
        if what != "labels": assert not changed(model, search(other)), what


def coins(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({name: rng.integers(k, size=n) for name, k in zip("abc", (2, 3, 2))})


def test_determined_columns_are_named():
    "A copy, a function of two columns, and none of it where 1 row in 100 disagrees."
    found = lambda frame, **more: "; ".join(ds.DiscreteScore(**more).fit(frame).notes_)
    assert found(coins()) == ""
    for guide in ("evidence", None):
        note = found(coins().assign(copy=lambda f: 1 - f.a), guide=guide)
        assert "copy by a" in note or "a by copy" in note
        both = found(coins().assign(sum=lambda f: f.a + 2 * f.b), guide=guide)
        assert "sum by a, b" in both or "a by sum" in both or "b by sum" in both
    nearly = coins().assign(copy=lambda f: f.a)
    nearly.loc[:19, "copy"] = 1 - nearly.loc[:19, "a"]
    assert found(nearly) == ""


def test_a_search_that_cannot_fit_is_refused(monkeypatch):
    cost = ds.expected_cost(ds.as_table(coins()))
    assert cost.memory_mb > 100 and cost.seconds > 0
    monkeypatch.setattr(discover, "_free_mb", lambda: cost.memory_mb - 1)
    with pytest.raises(ValueError, match="3 columns needs about .* GB of memory"):
        ds.DiscreteScore().fit(coins())
    monkeypatch.setattr(discover, "_free_mb", lambda: None)
    assert ds.DiscreteScore().fit(coins()).result_.complete

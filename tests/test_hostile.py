"""The whole path on hostile tables: fit, save, load.

Any table of categories gives a valid order, or an error of the documented kinds that this package raises itself.
`SLOW=1` draws 2,000 tables instead of 200.
"""
import datetime, os, time, traceback, warnings
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import discrete_score as ds

EXAMPLES = 2000 if os.environ.get("SLOW") else 200
PACKAGE, SECONDS, WARNINGS = Path(ds.__file__).parent, 30, 3
quick = dict(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large])

seeds = st.integers(0, 2**32 - 1)
words = st.text(max_size=6)
LABELS = st.one_of(
    st.lists(words, min_size=1, max_size=5, unique=True), st.just(["ja", "nein"]), st.just([False, True]),
    st.lists(st.integers(-2**70, 2**70), min_size=1, max_size=5, unique=True), st.just(["é", "e\u0301", "💧", "\u202e", "<b>", "=1+1", "\x00"]),
    st.lists(st.one_of(words, st.integers(2, 9), st.binary(max_size=2), st.booleans()), min_size=2, max_size=5, unique=True),
    st.just([0.0, 1.0, 2.0]), st.just([1, 1.0, True]), st.just([.5, 1.25]), st.just([float("inf"), 0.]), st.just([None, "a", "b"]), st.just([(1, 2), (3, 4)]),
    st.just([[1], [2]]), st.just([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)]), st.just([object(), object()]))
LEGAL = st.one_of(st.lists(words, min_size=2, max_size=6, unique=True), st.just([False, True]), st.lists(st.integers(-2**70, 2**70), min_size=2, max_size=6, unique=True),
    st.just(["é", "e\u0301", "💧", "\u202e", "<b>", "=1+1", "\x00"]), st.just([0, "0", b"0", None.__class__.__name__]), st.just([(1, 2), (3, 4), (3, 5)]), st.just([b"0", "b'0'", "0"]))
KINDS = ["free", "free", "free", "constant", "copy", "function", "noisy", "once", "many", "rare"]


def codes_of(kind: str, n: int, k: int, before: list[np.ndarray], rng: np.random.Generator) -> np.ndarray:
    "Codes of one column: independent, or tied to the columns before it."
    free = rng.integers(k, size=n)
    if kind == "constant": return np.zeros(n, int)
    if kind == "many": return rng.permutation(np.arange(n) % 300)
    if kind == "once": return np.eye(1, n, rng.integers(n), dtype=int)[0]
    if kind == "rare": return (rng.random(n) < .02).astype(int)
    if not before: return free
    source = before[rng.integers(len(before))]
    if kind == "copy": return source.copy()
    if kind == "function": return (source + before[rng.integers(len(before))])*2 % 3
    return np.where(rng.random(n) < .1, free, source) if kind == "noisy" else free


def cells(codes: np.ndarray, labels: list) -> pd.Series:
    "Codes as labels; codes beyond the labels become text."
    states = np.empty(codes.max() + 1, dtype=object)
    states[:] = [labels[c] if c < len(labels) else f"s{c}" for c in range(len(states))]
    return pd.Series(states[codes], dtype=object)


def assembled(draw, names, n, labels):
    "Columns of drawn kinds under `names`, with the generator that made them."
    rng, columns = np.random.default_rng(draw(seeds)), []
    for _ in names: columns.append(codes_of(draw(st.sampled_from(KINDS)), n, draw(st.integers(1, 5)), columns, rng))
    return rng, columns, [draw(labels) for _ in names]


@st.composite
def legal(draw):
    "A degenerate table that must give an order: copies, functions, rare states, fewer rows than columns, but two states in each column."
    names = draw(st.lists(st.text(min_size=1, max_size=5).filter(str.strip), min_size=1, max_size=8, unique=True))
    n = draw(st.sampled_from([2, 3, 5, 12, 40, 150, 700]))
    _, columns, labels = assembled(draw, names, n, LEGAL)
    for c in columns: c[0] += (c == c[0]).all()
    return pd.DataFrame({name: cells(c, states) for name, c, states in zip(names, columns, labels)})


@st.composite
def tables(draw):
    "A table as hostile as we can think of."
    names, n = draw(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=7, unique=True)), draw(st.sampled_from([1, 2, 3, 5, 12, 40, 150, 700]))
    rng, columns, labels = assembled(draw, names, n, LABELS)
    frame = pd.DataFrame({name: cells(c, states) for name, c, states in zip(names, columns, labels)})
    if draw(st.integers(0, 9)) == 0: frame = frame.iloc[[0]*n].reset_index(drop=True)
    if draw(st.integers(0, 5)) == 0: frame = frame.mask(rng.random(frame.shape) < .1)
    return frame.apply(lambda c: c.astype("category")) if draw(st.integers(0, 5)) == 0 and frame.map(lambda x: isinstance(x, str)).all(axis=None) else frame


SETTINGS = st.fixed_dictionaries({
    "guide": st.sampled_from(["evidence", None]), "measure": st.sampled_from(["kl_uniform", "kl_uniform", "entropy", "gini", "renyi:2"]),
    "missing": st.sampled_from(["error", "drop", "state"]), "identifiers": st.sampled_from(["error", "keep"]), "seed": seeds})


def network_for(frame: pd.DataFrame, settings: dict):
    "A random network over the columns and states of a table, for the exact estimator."
    table = ds.as_table(frame, missing=settings["missing"], identifiers=settings["identifiers"])
    rng, wide = np.random.default_rng(settings["seed"]), [int(k) for k in table.n_states]
    parents = [sorted(rng.permutation(j)[:rng.integers(3)].tolist()) for j in range(table.d)]
    shape = [tuple(wide[p] for p in pa) for pa in parents]
    cpts = [ds.TableCPT(rng.dirichlet(np.ones(wide[j]), size=int(np.prod(shape[j], dtype=int))), shape[j]) for j in range(table.d)]
    return ds.BayesNet(table.names, table.schema.states, tuple(map(tuple, parents)), tuple(cpts))


def run(frame: pd.DataFrame, estimator: str, settings: dict):
    "A fitted object or the error, and the warnings; nothing else may come out."
    began = time.process_time()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            network = network_for(frame, settings) if estimator == "exact" else None
            found = ds.DiscreteScore(estimator=estimator, network=network, **settings).fit(frame)
        except (ValueError, TypeError) as error: found = error
    assert time.process_time() - began < SECONDS
    assert len(said) <= WARNINGS and not any(issubclass(w.category, RuntimeWarning) for w in said), [str(w.message) for w in said]
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
        assert np.isfinite(step.value) and np.isfinite(step.standard_error) and np.isfinite(step.values).all() and np.isfinite(step.standard_errors).all()
        assert (step.runner_up is None) == np.isnan(step.margin)
        assert np.isnan(step.evidence_cost) if model.guide is None else np.isfinite(step.evidence_cost)
    before = model.partial_order_
    place = [model.order_.index(name) for name in names]
    assert not (before & before.T).any()
    assert isinstance(model._repr_markdown_(), str) and place


def check_file(model, folder: Path) -> None:
    "What is saved comes back."
    path = folder / "hostile.json"
    model.save(path)
    again = ds.load_order(path)
    assert again.order_ == model.order_ and (again.partial_order_ == model.partial_order_).all() and again.to_dict() == model.to_dict()


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
    assert frame.shape == before.shape and all(a is b or a == b or (a != a and b != b) for a, b in zip(frame.to_numpy().ravel(), before.to_numpy().ravel()))
    if isinstance(model, Exception): return check_error(model)
    check_model(model, frame)
    check_file(model, tmp_path_factory.getbasetemp())


def changed(model, other) -> bool:
    "Do two searches differ, beyond rounding?"
    if isinstance(model, Exception) or isinstance(other, Exception): return type(model) is not type(other)
    close = all(np.isclose(a.value, b.value, atol=1e-7) and np.isclose(a.standard_error, b.standard_error, atol=1e-7) for a, b in zip(model.result_.steps, other.result_.steps))
    place = [list(other.feature_names_in_).index(name) for name in model.feature_names_in_]
    return not (model.order_ == other.order_ and close and (model.partial_order_ == other.partial_order_[np.ix_(place, place)]).all())


def renamed(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    "Other labels for the same states, in another order."
    def one(column):
        codes, found = pd.factorize(column)
        return [f"state {k}" for k in rng.permutation(len(found))[codes]]
    return pd.DataFrame({name: one(frame[name]) for name in frame})


@settings(max_examples=EXAMPLES // 5, **quick)
@given(legal(), SETTINGS, seeds)
def test_rows_columns_and_labels_do_not_matter(frame, settings, seed):
    "Permuted rows, permuted columns and renamed states give the same order, values and compelled pairs."
    settings, rng = settings | {"identifiers": "keep"}, np.random.default_rng(seed)
    model = run(frame, "blanket", settings)
    assert not changed(model, run(frame.iloc[rng.permutation(len(frame))], "blanket", settings)), "rows"
    assert not changed(model, run(renamed(frame, rng), "blanket", settings)), "labels"
    assert not changed(model, run(frame.iloc[:, rng.permutation(frame.shape[1])], "blanket", settings)), "columns"


@settings(max_examples=EXAMPLES // 5, **quick)
@given(st.integers(2, 8), st.sampled_from(["evidence", None]), seeds)
def test_the_exact_estimator_does_not_see_positions(d, guide, seed):
    rng = np.random.default_rng(seed)
    net = ds.random_network(d, degree=1, states=(2, 4), seed=seed)
    frame = net.sample(300, seed=seed)
    search = lambda f: ds.DiscreteScore(estimator="exact", network=net, guide=guide, unused="drop", seed=seed).fit(f)
    try: model = search(frame)
    except ValueError as error: return check_error(error)
    assert not changed(model, search(frame.iloc[rng.permutation(len(frame))])), "rows"
    assert not changed(model, search(frame.iloc[:, rng.permutation(frame.shape[1])])), "columns"


def coins(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"a": rng.integers(2, size=n), "b": rng.integers(3, size=n), "c": rng.integers(2, size=n)})


def test_determined_columns_are_named():
    "A copy, a function of two columns, and none of it where 1 row in 100 disagrees."
    found = lambda frame, **more: "; ".join(ds.DiscreteScore(**more).fit(frame).notes_)
    assert found(coins()) == ""
    for guide in ("evidence", None):
        note = found(coins().assign(copy=lambda f: 1 - f.a), guide=guide)
        assert "copy by a" in note or "a by copy" in note
        both = found(coins().assign(sum=lambda f: f.a + 2*f.b), guide=guide)
        assert "sum by a, b" in both or "a by sum" in both or "b by sum" in both
    nearly = coins().assign(copy=lambda f: f.a)
    nearly.loc[:19, "copy"] = 1 - nearly.loc[:19, "a"]
    assert found(nearly) == ""


def test_a_search_that_cannot_fit_is_refused(monkeypatch):
    import pytest
    from discrete_score import discover
    cost = ds.expected_cost(ds.as_table(coins()))
    assert cost.memory_mb > 100 and cost.seconds > 0
    monkeypatch.setattr(discover, "_free_mb", lambda: cost.memory_mb - 1)
    with pytest.raises(ValueError, match="3 columns needs about .* GB of memory"): ds.DiscreteScore().fit(coins())
    monkeypatch.setattr(discover, "_free_mb", lambda: None)
    assert ds.DiscreteScore().fit(coins()).result_.complete

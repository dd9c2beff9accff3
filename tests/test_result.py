"""One result: a search that was just made and its saved and loaded copy are the same."""
import json
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discrete_score as ds
from discrete_score.files import Reading
from discrete_score.result import Result, as_stored, load_result, make_result, read_result

NAMES = ("a", "b", "c", "d")
DATA = Path(__file__).parent / "data"
LABELS = {
    "text": ["lo", "mid", "high"],
    "int": [3, 1, 2],
    "float": [.1, 2.5, 1e-9],
    "bool": [True, False, True],
    "odd": [pd.Interval(0, 1), pd.Interval(1, 2), pd.Interval(2, 3)],
}


def frame(seed: int, rows: int, kinds: list[str], holes: bool) -> pd.DataFrame:
    "Four columns that depend on each other, with labels of the given kinds, one of numbers."
    rng = np.random.default_rng(seed)
    a = rng.integers(3, size=rows)
    b = np.where(rng.random(rows) < .7, a, rng.integers(3, size=rows))
    c = np.where(rng.random(rows) < .6, (a + b) % 3, rng.integers(3, size=rows))
    for codes in (a, b, c): codes[:3] = range(3)
    named = [pd.Series([LABELS[kind][k] for k in codes], dtype=object).astype("category")
             for kind, codes in zip(kinds, (a, b, c))]
    found = pd.DataFrame(dict(zip("abc", named))).assign(d=rng.normal(size=rows) + b)
    if holes: found.loc[5:7, "a"] = None
    return found


@st.composite
def searches(draw):
    "A frame, how often each row was seen, and settings."
    kinds = draw(st.lists(st.sampled_from(sorted(LABELS)), min_size=3, max_size=3))
    holes, rows = draw(st.booleans()), draw(st.integers(40, 90))
    data = frame(draw(st.integers(0, 9)), rows, kinds, holes)
    weights = draw(st.sampled_from([None, np.arange(rows) % 3 + 1]))
    dag = np.triu(np.ones((4, 4), dtype=bool), 1)
    dag[0, 3] = draw(st.booleans())
    graph = nx.relabel_nodes(nx.DiGraph(dag), dict(enumerate(NAMES)))
    known = [None, {"before": [("a", "b")]}, ds.Knowledge(tiers=[("a",), ("b", "c", "d")])]
    return data, weights, dict(
        measure=draw(st.sampled_from(["kl_uniform", "gini", "auto"])),
        guide=draw(st.sampled_from([None, "evidence", "evidence", dag, graph])),
        knowledge=draw(st.sampled_from(known)),
        missing=draw(st.sampled_from(["drop", "state"])) if holes else "error",
        bins={"d": draw(st.sampled_from([3, [-np.inf, 0., np.inf]]))},
        seed=draw(st.integers(0, 3)))


def loaded(model: ds.DiscreteScore, path: Path, **options) -> ds.DiscreteScore:
    "What comes back from a file."
    model.save(path, **options)
    return ds.load_order(path)


def same_frame(a, b) -> bool: return a is b is None or a.equals(b)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=25)
@given(searches())
def test_a_result_and_its_file_are_equal(tmp_path_factory, given_search):
    data, weights, options = given_search
    model = ds.DiscreteScore(**options).fit(data, sample_weight=weights)
    again = loaded(model, tmp_path_factory.getbasetemp() / "order.json")
    assert again.result_ == model.result_ and again.to_dict() == model.to_dict()
    table, copy = model.result_.table, again.result_.table
    assert table == copy and table.notes == copy.notes and table.n_dropped == copy.n_dropped
    assert again.order_ == model.order_ and again.notes_ == model.notes_
    assert again.measure_ == model.measure_ and again.fingerprint_ == model.fingerprint_
    for name in ("steps_", "edges_", "choice_"):
        assert same_frame(getattr(again, name), getattr(model, name)), name
    assert again._repr_markdown_() == model._repr_markdown_()
    check_views(model, again)


def check_views(model: ds.DiscreteScore, again: ds.DiscreteScore) -> None:
    "Graph, diagnosis, half-samples and witnesses are the same from either."
    assert (again.dag(strategy="parents").dag == model.dag(strategy="parents").dag).all()
    one, two = (m.diagnose(n_samples=200) for m in (model, again))
    assert repr(one) == repr(two) and one.verdict == two.verdict
    assert (again.bootstrap(n=1).orders == model.bootstrap(n=1).orders).all()
    for one, two in zip(again.estimator_.values([0, 1, 2, 3], again.measure_),
                        model.estimator_.values([0, 1, 2, 3], model.measure_)):
        assert np.array_equal(one, two)
    if model.guide is None: assert model.guide_ is again.guide_ is None
    else: assert (again.guide_.graph(again.order_) == model.graph_).all()


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=12)
@given(searches(), st.integers(0, 3))
def test_a_search_that_was_stopped_goes_on_from_its_file(tmp_path_factory, given_search, steps):
    data, weights, options = given_search
    straight = ds.DiscreteScore(**options).fit(data, sample_weight=weights)
    part = ds.DiscreteScore(**options).fit(data, sample_weight=weights, max_steps=steps)
    again = loaded(part, tmp_path_factory.getbasetemp() / "part.json")
    assert again.result_ == part.result_ and not again.result_.complete
    assert again.edges_ is again.graph_ is again.pdag_ is again.agreement_ is None
    end = ds.DiscreteScore(**options).fit(resume=again)
    assert end.result_ == straight.result_ or options["measure"] == "auto"
    assert end.order_ == straight.order_


@pytest.fixture(scope="module")
def fitted():
    "A search whose rows are given with counts."
    return ds.DiscreteScore(knowledge={"before": [("smoke", "lung")]}).fit(
        ds.load_network("asia").sample(500, seed=0).astype(str))


def test_two_results_differ_if_one_field_does(fitted):
    from dataclasses import fields, replace
    same = read_result(fitted.to_dict())
    assert same == fitted.result_ and fitted.result_ != 3
    other = dict(
        search=replace(same.search, seed=1), schema=as_stored(same.table.select([0, 1])).schema,
        n_rows=1., fingerprint="", notes=("odd",), settings={}, objects=("guide",), versions={},
        partial_order=~same.partial_order, agreement=None, choice=same.edges,
        edges=same.edges.iloc[1:], credibility=1, table=None)
    assert set(other) == {field.name for field in fields(Result)}
    for name, value in other.items(): assert replace(same, **{name: value}) != fitted.result_, name


def test_every_edge_has_a_mark(fitted):
    "Marks, graph and class tell the same story, and none of it goes against the order."
    edges, names = fitted.edges_, fitted.result_.names
    assert ds.graphs.is_order(fitted.order_, fitted.graph_, names=names)
    assert fitted.graph_.sum() == len(edges)
    known = edges[(edges["from"] == "smoke") & (edges["to"] == "lung")]
    assert list(known["mark"]) == ["known"]
    both = fitted.pdag_ & fitted.pdag_.T
    assert both.sum() == 2 * (edges["mark"] == "open").sum()
    compelled = edges[edges["mark"] == "compelled"]
    assert (compelled["decided_by"] == "data").all()
    vote = fitted.agreement_.deserves_vote
    voted = edges[(edges["decided_by"] == "criterion") & (edges["mark"] != "known")]
    assert set(voted["mark"]) <= {"voted" if vote else "open"}
    unguided = ds.DiscreteScore(guide=None).fit(fitted.result_.table)
    assert unguided.edges_ is unguided.graph_ is unguided.pdag_ is unguided.credibility_ is None


@pytest.mark.parametrize("path", sorted(DATA.glob("order-*.json")), ids=lambda path: path.stem)
def test_a_file_of_an_earlier_version_loads(path, tmp_path):
    content, model = json.loads(path.read_text()), ds.load_order(path)
    assert model.order_ == content["order"] and model.measure_ == content["measure"]
    assert model.n_rows_ == content["rows"] and model.result_.table is None
    assert model.result_.versions == content["versions"]
    if content["edges"] is None: assert model.edges_ is None
    else: assert len(model.edges_) == len(content["edges"]) == model.graph_.sum()
    assert loaded(model, tmp_path / "new.json").result_ == model.result_
    with pytest.raises(ValueError, match="holds no rows"): model.bootstrap(n=1)
    with pytest.raises(AttributeError, match="holds no rows"): model.estimator_


def test_a_file_without_rows_asks_for_them(fitted, tmp_path):
    table = fitted.result_.table
    bare = loaded(fitted, tmp_path / "bare.json", rows=False)
    assert bare.result_.table is None and "packed" not in (tmp_path / "bare.json").read_text()
    assert (bare.dag().dag == fitted.dag().dag).all()
    for ask in (lambda: bare.dag("ges"), bare.diagnose, bare.bootstrap, bare.fit):
        with pytest.raises(ValueError, match="holds no rows; pass the table as `X`"): ask()
    with pytest.raises(ValueError, match="not the table"): bare.dag(X=table.take(range(400)))
    assert (bare.dag(X=table).dag == fitted.dag().dag).all()
    assert repr(bare.diagnose(table)) == repr(fitted.diagnose())
    assert bare.fit(table).result_ == fitted.result_


def test_rows_that_are_too_large_are_left_out_and_the_file_says_so(fitted, tmp_path):
    kept = loaded(fitted, tmp_path / "kept.json", rows=10_000).result_
    assert kept == fitted.result_
    assert loaded(fitted, tmp_path / "left.json", rows=100).result_.table is None
    left_out = json.loads((tmp_path / "left.json").read_text())["data"]
    assert left_out == {"left_out": "they need more than 100 bytes"}


@pytest.mark.parametrize("weights", [None, np.linspace(.5, 2, 300)], ids=["rows", "weights"])
@pytest.mark.parametrize("n_states", [2, 300, 70_000], ids=["bytes", "two bytes", "four bytes"])
def test_any_table_comes_back_exactly(tmp_path, weights, n_states):
    rng = np.random.default_rng(0)
    states = tuple(range(n_states))
    schema = ds.Schema(("x", "y"), (states, ("no", "yes")))
    codes = np.column_stack([rng.integers(n_states, size=300), rng.integers(2, size=300)])
    table = ds.Table(schema, codes, weights, ("a note with {braces}",), 7)
    result = make_result(ds.order.OrderResult(table.names, "gini", 0), table)
    result.save(tmp_path / "r.json")
    again = load_result(tmp_path / "r.json")
    assert again == result and again.table == table and again.table.codes.dtype == table.codes.dtype
    assert again.table.notes == table.notes and again.table.n_dropped == 7


def test_objects_are_known_by_name_only(tmp_path):
    data = ds.load_network("asia").sample(300, seed=0).astype(str)
    parts = dict(estimator=ds.BlanketScore("bdeu"), guide=ds.guide.EvidenceGuide())
    model = ds.DiscreteScore(**parts).fit(data)
    again = loaded(model, tmp_path / "r.json")
    assert again.result_ == model.result_ and again.result_.objects == ("estimator", "guide")
    with pytest.raises(AttributeError, match="given as an object"): again.estimator_
    again.set_params(estimator=ds.BlanketScore("bdeu"))
    assert again.estimator_.score == "bdeu"


def test_a_table_is_read_once(monkeypatch):
    data, read = ds.load_network("asia").sample(300, seed=0).astype(str), []
    as_read = Reading.table
    counted = lambda *args, **options: read.append(1) or as_read(*args, **options)
    monkeypatch.setattr(Reading, "table", counted)
    model = ds.DiscreteScore().fit(data)
    assert len(read) == 1
    model.dag(strategy="parents", bootstrap=1), model.diagnose(n_samples=100), model.bootstrap(n=2)
    assert len(read) == 1
    for ask in (lambda: model.dag(X=data), lambda: model.diagnose(data, n_samples=100),
                lambda: model.bootstrap(data, 2)):
        read.clear()
        ask()
        assert len(read) == 1

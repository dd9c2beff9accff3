"An order on top of a learner: what must hold for every graph, order and table."
import json

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import discrete_score as ds
from discrete_score.baselines import learn
from discrete_score.dag import DagResult, insert, orient, own_score, parents, parents_score, prune
from discrete_score.scores import Families, families_of
from discrete_score.graphs import full_dag, is_dag, skeleton


def random_dag(d, p, rng):
    order = rng.permutation(d)
    dag = np.zeros((d, d), dtype=bool)
    dag[np.ix_(order, order)] = np.triu(rng.random((d, d)) < p, 1)
    return dag, order


def as_edited(dag, rng):
    "A PDAG near `dag`: some edges dropped, added, turned around or made undirected."
    d, order = len(dag), rng.permutation(len(dag))
    graph = (dag & (rng.random((d, d)) < .8)) | (full_dag(order) & (rng.random((d, d)) < .2))
    arrows = skeleton(graph) & full_dag(order)
    return arrows | (arrows & (rng.random((d, d)) < .3)).T


def recall(graph, truth): return ds.f1(graph, truth).direction_recall if truth.any() else 1.


seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(2, 9), st.floats(.1, .9))
@settings(max_examples=150)
def test_pruning_by_a_correct_order_keeps_every_right_arrow(seed, d, p):
    rng = np.random.default_rng(seed)
    truth, order = random_dag(d, p, rng)
    graph = as_edited(truth, rng)
    pruned = prune(graph, order)
    assert is_dag(pruned) and ds.d_top(order, pruned) == 0 and not (pruned & ~graph).any()
    assert recall(pruned, truth) >= recall(graph, truth)
    dag = orient(graph, order)
    assert is_dag(dag) and (skeleton(dag) == skeleton(graph)).all()
    assert recall(prune(dag, order), truth) == recall(dag, truth)
    assert ds.shd(prune(dag, order), truth) <= ds.shd(dag, truth)


@given(seeds, st.integers(2, 9), st.floats(.1, .9))
@settings(max_examples=100)
def test_the_class_of_the_truth_is_oriented_rightly_by_a_correct_order(seed, d, p):
    truth, order = random_dag(d, p, np.random.default_rng(seed))
    assert (orient(ds.dag_to_cpdag(truth), order) == truth).all()


def tables(rng, d, n):
    "Codes in which some columns follow others."
    codes = rng.integers(0, 3, size=(n, d))
    for j in range(1, d):
        if rng.random() >= .7: continue
        copied, like = rng.random(n) < .6, codes[:, rng.integers(j)]
        codes[:, j] = np.where(copied, like, codes[:, j])
    return codes


@given(seeds, st.integers(2, 6), st.sampled_from(["bic", "bdeu:1", "bdeu:10", "loo"]))
@settings(max_examples=60)
def test_insertion_never_lowers_the_score_and_never_closes_a_cycle(seed, d, score):
    rng = np.random.default_rng(seed)
    families = Families(tables(rng, d, 200), np.full(d, 3), score=score)
    start, order = random_dag(d, .4, rng)[0], rng.permutation(d)
    found = insert(start, order, families)
    assert is_dag(found.dag) and (found.dag >= start).all()
    added = found.dag & ~start
    assert not (added & ~full_dag(order)).any() and added.sum() == len(found.moves)
    fresh = Families(families.counts, score=score)
    gain = fresh.total(found.dag) - fresh.total(start)
    assert gain == pytest.approx(found.gain, abs=1e-6) and found.gain >= 0
    for i, j in np.argwhere(full_dag(order) & ~found.dag):
        more = found.dag.copy()
        more[i, j] = True
        assert not is_dag(more) or fresh.total(more) <= fresh.total(found.dag) + 1e-6


def test_insertion_adds_a_real_edge_and_refuses_an_idle_one():
    "The sign of each score: an edge that explains much goes in, one that explains nothing not."
    rng = np.random.default_rng(0)
    a, idle = rng.integers(0, 3, 2000), rng.integers(0, 3, 2000)
    b = np.where(rng.random(2000) < .8, a, rng.integers(0, 3, 2000))
    table = ds.as_table(np.column_stack([a, b, idle]))
    for base in ("ges", "ges-bdeu", "ordcd", "hill-climbing", "pgmpy"):
        found = insert(np.zeros((3, 3), dtype=bool), [0, 1, 2], own_score(table, base))
        assert [(i, j) for i, j, _ in found.moves] == [(0, 1)], base


@given(seeds, st.integers(2, 6))
@settings(max_examples=30)
def test_parents_are_predecessors_and_no_single_change_is_better(seed, d):
    rng = np.random.default_rng(seed)
    families = Families(tables(rng, d, 200), np.full(d, 3), score="bdeu:10")
    order = rng.permutation(d)
    dag = parents(order, families)
    assert ds.d_top(order, dag) == 0
    for i, j in np.argwhere(full_dag(order)):
        other = dag.copy()
        other[i, j] = ~other[i, j]
        assert families.total(other) <= families.total(dag) + 1e-6


@pytest.fixture(scope="module")
def child():
    net = ds.load_network("child")
    table = ds.as_table(net.sample(2000, seed=7), unused="drop")
    return net, table, [net.names[j] for j in ds.topological_order(net.dag)]


def test_columns_may_come_in_any_order(child):
    net, table, order = child
    mixed = table.select(np.random.default_rng(1).permutation(table.d).tolist())
    for strategy in ("insert", "prune", "parents"):
        one, two = (ds.dag_from_order(t, order, "ges", strategy) for t in (table, mixed))
        assert set(one.edges) == set(two.edges)


@pytest.mark.parametrize("base", ["ges", "ges-bdeu", "hill-climbing", "order-search", "pc"])
def test_pruning_inside_the_search_obeys_the_order(child, base):
    net, table, order = child
    few = table.select(order[:9])
    found = ds.dag_from_order(few, order[:9], base, "prune", inside=True)
    assert ds.d_top(order[:9], found.dag, names=few.names) == 0 and is_dag(found.oriented)


def test_inside_the_search_recall_may_fall():
    """Why the promise is about pruning after the fact.

    Among small tables there are some on which the constrained search misses an arrow that the
    free one had."""
    worse = 0
    for seed in range(30):
        net = ds.random_network(6, degree=3, states=(2, 3), seed=seed)
        table = ds.as_table(net.sample(300, seed=seed), unused="drop", identifiers="keep")
        if table.d < 6: continue
        order = ds.topological_order(net.dag)
        free = prune(orient(learn(table, "ges").graph, order), order)
        held = learn(table, "ges", order=order).graph
        worse += recall(held, net.dag) < recall(free, net.dag)
    assert worse > 0


def test_true_order_gives_the_true_network():
    for name in ("earthquake", "sachs"):
        net = ds.load_network(name)
        table = ds.as_table(net.sample(10_000, seed=0), unused="drop")
        order = ds.topological_order(net.dag)
        assert ds.shd(parents(order, parents_score(table, order)), net.dag) == 0
        assert ds.dag_from_order(table, order).stages(net.dag).loc["oriented", "SHD"] == 0


def test_confidence_counts_arrows(child):
    net, table, order = child
    few = table.select(order[:6])
    search = lambda part: ds.dag_from_order(part, order[:6])
    sure = ds.dag.edge_confidence(search, few, 4, seed=3)
    assert (sure.shares * 4 == np.rint(sure.shares * 4)).all()
    assert (sure.shares == ds.dag.edge_confidence(search, few, 4, seed=3).shares).all()
    assert (sure.shares * sure.shares.T == 0).all()
    weighted = ds.as_table(few.frame().value_counts().reset_index(name="rows"), weights="rows")
    assert ds.dag.edge_confidence(search, weighted, 2).shares.shape == (6, 6)


def test_fitted_tables_are_shares(child):
    pytest.importorskip("pgmpy")
    net, table, order = child
    found = ds.dag_from_order(table, order, strategy="parents")
    model = found.to_pgmpy(table, sample_size=1e-6)
    assert model.check_model()
    for cpd in model.get_cpds()[:8]:
        given, rows = {v: cpd.state_names[v][0] for v in cpd.variables[1:]}, table.frame()
        for column, state in given.items(): rows = rows[rows[column] == state]
        if not len(rows): continue
        state = cpd.state_names[cpd.variable][1]
        share = (rows[cpd.variable] == state).mean()
        assert cpd.get_value(**{cpd.variable: state}, **given) == pytest.approx(share, abs=1e-3)
    with pytest.raises(ValueError, match="lacks the column"):
        found.to_pgmpy(table.select(order[:5]))


def test_files_are_checked(tmp_path, child):
    net, table, order = child
    result, path = ds.dag_from_order(table, order), tmp_path / "g.json"
    result.save(path)
    assert (ds.load_dag(path).dag == result.dag).all()
    text = path.read_text()
    content = json.loads(text)
    a, b = content["edges"][0]["from"], content["edges"][0]["to"]

    def edited(**changes): return json.dumps(content | changes)
    def edge(tail, head, mark=None): return {"from": tail, "to": head, "mark": mark}

    lacking = json.dumps({key: value for key, value in content.items() if key != "inserted"})
    wrong = {
        text[:-40]: "cut off", "\x00": "cut off", "[" * 10**5: "cut off",
        "{}": "not a result of", "null": "not a result of", lacking: "inserted",
        edited(edges=content["edges"] + [edge(b, a)]): "undirected",
        edited(edges=[edge("x", b)]): "x -> ", edited(edges=7): "damaged",
        edited(edges=[edge([a], b)]): "damaged", edited(settings=3): "damaged",
        edited(order=content["order"][1:]): "lacks",
        edited(names=content["names"] + [a]): "twice",
        edited(confidence=[[a, b, 1.5]]): "between 0 and 1",
        edited(strategy="cut"): "must be insert", edited(base="magic"): "must be a learner",
        edited(inserted=[["x", "y", 1.0]]): "inserted edge x",
        edited(marked=True, inserted=[], edges=[edge(a, b, "sure")]): "a mark is one of"}
    assert len(wrong) == 18
    for text, says in wrong.items():
        path.write_text(text)
        with pytest.raises(ValueError, match=says): ds.load_dag(path)


def test_files_of_version_1_load(tmp_path, child):
    net, table, order = child
    result, path = ds.dag_from_order(table, order), tmp_path / "g.json"
    content = result.to_dict()
    del content["marked"]
    pairs = [[edge["from"], edge["to"]] for edge in content["edges"]]
    old = {"format": "discrete_score graph, version 1", "edges": pairs, "versions": {}}
    path.write_text(json.dumps(content | old, default=str))
    again = ds.load_dag(path)
    assert (again.dag == result.dag).all() and again.marks is None


def test_dot_quotes_any_name():
    names = ('say "hi"', "back\\slash", "naïve → name")
    dag = DagResult(np.triu(np.ones((3, 3), dtype=bool), 1), names, names, "none", "parents", {})
    text = dag.to_dot()
    assert r'"say \"hi\""' in text and r'"back\\slash"' in text and text.count("->") == 3

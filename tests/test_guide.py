"The guide: infinite tolerance is Algorithm 1, orders of a class, invariances, nulls."
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import discrete_score as ds
from discrete_score.diagnosis import choose_measure
from discrete_score.graphs import check_dag, dag_to_cpdag, is_order, skeleton
from discrete_score.guide import (
    AUTO_MEASURES, ClassGuide, EvidenceGuide, _halves, coin_order, explain, guided_order,
    marginal_order, random_order)
from discrete_score.order import Guide


def make(seed, d=6, n=500):
    "A random network and a table in which every column shows at least two states."
    for k in range(20):
        net = ds.random_network(d, degree=2, states=(2, 4), seed=seed + 1000 * k)
        df = net.sample(n, seed=seed)
        if all(df[c].nunique() > 1 for c in df): return net, ds.as_table(df, unused="drop")


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**4), measure=st.sampled_from(["entropy", "kl_uniform", "gini"]))
def test_infinite_tolerance_is_algorithm_1(seed, measure):
    _, table = make(seed)
    free = EvidenceGuide(tolerance=np.inf).fit(table)
    def fitted(): return ds.BlanketScore().fit(table)
    def frame(result): return result.frame().drop(columns="evidence_cost")
    alone = ds.causal_order(fitted(), table.names, measure, seed=seed)
    found = guided_order(fitted(), table.names, measure, free, seed=seed)
    pd.testing.assert_frame_equal(frame(found), frame(alone))
    printed = [table.names[j] for j in ds.order.algorithm_1(fitted(), table.d, measure)]
    assert found.order == printed or found.frame().margin.min() == 0


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**6), d=st.integers(2, 9), p=st.floats(.1, .9))
def test_orders_under_a_class_are_linear_extensions_of_one_of_its_networks(seed, d, p):
    rng = np.random.default_rng(seed)
    dag = np.triu(rng.random((d, d)) < p, 1)
    mix = rng.permutation(d)
    dag = dag[np.ix_(mix, mix)]
    cpdag, names = dag_to_cpdag(dag), [f"c{k}" for k in range(d)]
    some = cpdag.copy()
    for i, j in np.argwhere(dag & cpdag.T):  # a PDAG: some edges directed as in one network
        if rng.random() < .3: some[j, i] = False
    order = coin_order(ClassGuide(some, names), seed=rng)
    place = np.argsort([names.index(n) for n in order])
    member = skeleton(cpdag) & (place[:, None] < place)
    check_dag(member)
    assert (dag_to_cpdag(member) == cpdag).all() and not (some & ~some.T & ~member).any()


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**4))
def test_position_of_columns_does_not_matter(seed):
    _, table = make(seed)
    back = table.select(list(np.random.default_rng(seed).permutation(table.names)))
    def found(table):
        guide = EvidenceGuide().fit(table)
        return guided_order(ds.BlanketScore().fit(table), table.names, "kl_uniform", guide)

    one, two = found(table), found(back)
    assert one.order == two.order
    assert np.allclose(one.frame().evidence_cost, two.frame().evidence_cost, atol=1e-5)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**4))
def test_orders_follow_what_is_compelled(seed):
    _, table = make(seed, n=2000)
    guide = EvidenceGuide().fit(table)
    before = guide.partial_order()
    assert not (before & before.T).any()
    found = guided_order(ds.BlanketScore().fit(table), table.names, "entropy", guide)
    for order in (found.order, coin_order(guide, seed=seed)):
        place = np.array([order.index(n) for n in table.names])
        assert not (before & (place[:, None] > place)).any()


def test_guide_can_be_used_again_and_costs_are_those_of_the_search():
    _, table = make(3, d=8, n=3000)
    guide, estimator = EvidenceGuide().fit(table), ds.BlanketScore().fit(table)
    first, again = (guided_order(estimator, table.names, "entropy", guide) for _ in range(2))
    pd.testing.assert_frame_equal(first.frame(), again.frame())
    total = guide.ordering_.value + first.frame().evidence_cost.sum()
    assert guide.evidence(first.order) >= total - 1e-3
    assert (first.frame().evidence_cost >= -guide.tau_ - 1e-9).all()


def test_knowledge_is_obeyed():
    _, table = make(5, d=7)
    last = table.names[0]
    known, estimator = {"leaves": [last]}, ds.BlanketScore().fit(table)
    guide = EvidenceGuide().fit(table, known)
    result = guided_order(estimator, table.names, "entropy", guide, knowledge=known)
    assert result.order[-1] == last
    relation = ds.Knowledge(**known).relation(table.names)
    again = EvidenceGuide().fit(table, relation)
    passed = guided_order(estimator, table.names, "entropy", again, knowledge=relation)
    pd.testing.assert_frame_equal(passed.frame(), result.frame())


def test_both_guides_follow_the_protocol():
    net, table = make(5, d=7)
    known = ClassGuide(dag_to_cpdag(net.dag), table.names)
    for guide in (EvidenceGuide(), known):
        assert isinstance(guide, Guide)
        own = guide.fit(table).own_order()
        assert sorted(own) == sorted(table.names) and is_order(own, guide.graph(own), table.names)
    with pytest.raises(TypeError, match="methods of `Guide`"):
        ds.causal_order(ds.BlanketScore().fit(table), table.names, "entropy", guide=net.dag)


def test_class_and_knowledge_that_clash_are_refused_by_name():
    line = np.zeros((3, 3), bool)
    line[[0, 1, 1, 2], [1, 0, 2, 1]] = True
    codes, abc = np.random.default_rng(0).integers(0, 2, (50, 3)), list("abc")
    table = ds.as_table(pd.DataFrame(codes, columns=abc))
    into, turned = {"before": [("a", "b"), ("c", "b")]}, {"before": [("c", "b")]}
    with pytest.raises(ValueError, match="a → b, c → b"): ClassGuide(line, abc).fit(table, into)
    chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    with pytest.raises(ValueError, match="b → c"): ClassGuide(chain, abc).fit(table, turned)
    with pytest.raises(ValueError, match="They must agree"):
        ClassGuide(line, list("xyz")).fit(table)
    turn = np.roll(np.eye(4, dtype=bool), 1, 1)
    with pytest.raises(ValueError, match="no consistent extension"): ClassGuide(turn | turn.T)


def test_picking_and_explaining():
    _, table = make(11, d=8, n=4000)
    guide, estimator = EvidenceGuide().fit(table), ds.BlanketScore().fit(table)
    picked = choose_measure(estimator, table, AUTO_MEASURES[:3], guide=guide)
    tied = picked.table[picked.table.evidence >= -guide.tau_ - 1e-9]
    assert picked.table.right[picked.measure] == tied.right.max()
    told = explain(picked.result, guide, picked.agreement)
    dag = guide.graph(picked.result.order)
    assert len(told) == dag.sum() and is_order(picked.result.order, dag, table.names)
    assert set(told.decided_by) <= {"data", "criterion", "neither"}
    assert (told.margin.dropna() > 0).all()
    assert 0 <= picked.agreement.low <= picked.agreement.high <= 1


def test_nulls_depend_on_their_seed_only():
    _, table = make(2)
    assert random_order(table.names, seed=1) == random_order(table.names, seed=1)
    assert sorted(marginal_order(table)) == sorted(table.names)
    guide = EvidenceGuide().fit(table)
    assert coin_order(guide, seed=4) == coin_order(guide, seed=4)
    assert len({tuple(random_order(table.names, seed=k)) for k in range(5)}) > 1


def shuffled(table, seed):
    "The same table with its rows and columns in another order and other names for its states."
    rng = np.random.default_rng(seed)
    frame, renamed = table.frame(), {}
    for name in frame:
        states = frame[name].unique()
        new = rng.permutation([f"s{k}" for k in range(len(states))])
        renamed[name] = frame[name].map(dict(zip(states, new))).astype(str)
    mixed = pd.DataFrame(renamed)
    rows, columns = rng.permutation(len(frame)), rng.permutation(frame.shape[1])
    return ds.as_table(mixed.iloc[rows, columns], identifiers="keep")


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**4))
def test_what_is_compelled_depends_on_the_content_only(seed):
    _, table = make(seed, d=7, n=1500)
    def named(guide): return {(guide.names_[i], guide.names_[j]) for i, j in guide.compelled()}
    one, two = EvidenceGuide().fit(table), EvidenceGuide().fit(shuffled(table, seed))
    assert named(one) == named(two)
    assert named(one) == named(EvidenceGuide().fit(table.distinct()))
    assert named(one) <= named(EvidenceGuide(confirm=False).fit(table))


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**4), weighted=st.booleans())
def test_halves_are_halves(seed, weighted):
    _, table = make(seed, d=4, n=301)
    families = ds.scores.families_of(table.distinct() if weighted else table, "bdeu:1")
    parts, others = _halves(families, 3), _halves(families, 4)
    assert [w.sum() for _, w in parts] == [150, 151]
    def counts(codes, w): return np.bincount(codes @ np.array([64, 16, 4, 1]), w, minlength=256)
    total = sum(counts(*part) for part in parts)
    assert np.array_equal(total, counts(table.codes, np.ones(301)))
    assert any((counts(*a) != counts(*b)).any() for a, b in zip(parts, others))


def test_noise_compels_nothing():
    found = []
    for seed in range(12):
        d, states, n = ((6, 2, 60), (10, 3, 100), (10, 2, 200))[seed % 3]
        codes = np.random.default_rng([7, seed]).integers(0, states, (n, d))
        frame = pd.DataFrame(codes, columns=[f"c{k}" for k in range(d)])
        table = ds.as_table(frame, unused="drop", identifiers="keep")
        found.append(int(EvidenceGuide().fit(table).partial_order().sum()))
    assert sum(found) == 0


def test_vetoes_survive_saving(tmp_path):
    model = ds.DiscreteScore().fit(ds.load_network("earthquake").sample(5000, seed=3))
    model.save(tmp_path / "order.json")
    again = ds.load_order(tmp_path / "order.json")
    assert [s.vetoed for s in again.result_.steps] == [s.vetoed for s in model.result_.steps]
    pd.testing.assert_frame_equal(again.steps_, model.steps_)
    refused = [s for s in model.result_.steps if s.vetoed]
    assert refused
    for step in refused:
        assert step.n_vetoed == len(step.vetoed)
        assert step.veto_cost == max(cost for _, cost in step.vetoed) < -model.guide_.tau_
        assert all(name in step.candidates and name != step.leaf for name, _ in step.vetoed)

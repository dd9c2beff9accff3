"Score: Brook's lemma, the exact estimator and Theorem 1, as properties; `SLOW=1` draws more."
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings, strategies as st

from discrete_score import score
from discrete_score.data import Schema, Table, as_table
from discrete_score.measures import MEASURES, as_measure
from discrete_score.networks import BayesNet, TableCPT, load_network, random_network
from discrete_score.score import (
    ExactScore, ScoreEstimator, brook, check_conditions, fisher_divergence, generalized_score,
    marginalize, score_matching_loss)

TIMES = 4 if os.environ.get("SLOW") else 1
CONCAVE = ["entropy", "kl_uniform", "normalized_entropy", "gini", "tsallis:3", "renyi:0.5"]
seeds = st.integers(0, 2**31)
shapes = st.lists(st.integers(2, 4), min_size=1, max_size=5).map(tuple)


def small(seed, d=5, states=(2, 3)):
    return random_network(d, edges=min(6, d * (d - 1) / 2), states=states, seed=seed)


def same(a, b): return np.allclose(a, b, atol=1e-12)


def fixed(parents, tables):
    tables = [np.atleast_2d(np.asarray(t, float)) for t in tables]
    n = [t.shape[1] for t in tables]
    cpts = tuple(TableCPT(t, tuple(n[k] for k in pa)) for t, pa in zip(tables, parents))
    states = tuple(tuple(range(m)) for m in n)
    return BayesNet(tuple("ABCDEFG"[:len(n)]), states, tuple(parents), cpts)


@settings(max_examples=25 * TIMES, deadline=None)
@given(shapes, seeds)
def test_brook_rebuilds_random_positive_joints(shape, seed):
    rng = np.random.default_rng(seed)
    p = rng.gamma(.5, size=shape) + 1e-6
    p /= p.sum()
    reference = tuple(int(rng.integers(n)) for n in shape)
    assert np.allclose(brook(1 / generalized_score(p), reference), p, rtol=1e-9, atol=1e-14)


@settings(max_examples=30, deadline=None)
@given(shapes, seeds)
def test_the_two_forms_of_the_divergence_differ_by_a_constant(shape, seed):
    p, q, r = np.random.default_rng(seed).uniform(.1, 1, size=(3, *shape))
    p /= p.sum()
    constant = (p * generalized_score(p)**2).sum()
    for model in (q, 5 * q, r):
        other = constant + (p * score_matching_loss(model)).sum()
        assert np.isclose(fisher_divergence(p, model), other, rtol=1e-8, atol=1e-8)
    assert fisher_divergence(p, 3 * p) < 1e-20


@settings(max_examples=20, deadline=None)
@given(shapes, seeds)
def test_marginalisation_is_self_adjoint(shape, seed):
    a, b = np.random.default_rng(seed).normal(size=(2, *shape))
    for i in range(len(shape)):
        assert np.isclose((marginalize(a, i) * b).sum(), (a * marginalize(b, i)).sum())


@settings(max_examples=20, deadline=None)
@given(seeds, st.sampled_from(sorted(set(MEASURES) - {"kl_symmetric"})))
def test_values_are_the_mean_of_the_measure_over_the_conditionals(seed, name):
    net, rng = small(seed), np.random.default_rng(seed)
    codes, columns = net.codes(60, seed=seed), list(rng.permutation(5)[:rng.integers(1, 6)])
    exact = ExactScore(net).fit(codes)
    V, errors = exact.values(columns, name)
    for v, e, j, p in zip(V, errors, columns, exact.conditionals(codes, columns)):
        phi = as_measure(name)(p, int(net.n_states[j]))
        assert np.isclose(v, phi.mean(), atol=1e-12)
        assert np.isclose(e, phi.std() / 60**.5, atol=1e-9)


@settings(max_examples=15, deadline=None)
@given(seeds)
def test_columns_rows_and_labels_may_be_permuted(seed):
    net, rng = small(seed), np.random.default_rng(seed)
    frame, place = net.sample(80, seed=seed), rng.permutation(5)
    shuffled = frame.iloc[rng.permutation(80), place].copy()
    for name, column in shuffled.items():
        labels = list(rng.permutation(list(column.cat.categories)))
        shuffled[name] = column.cat.reorder_categories(labels)
    before = ExactScore(net).fit(as_table(frame, unused="keep"))
    after = ExactScore(net).fit(as_table(shuffled, unused="keep"))
    left = [0, 2, 3]
    V, e = before.values([int(place[k]) for k in left], "kl_uniform")
    W, f = after.values(left, "kl_uniform")
    assert same(V, W) and same(e, f)


@settings(max_examples=10, deadline=None)
@given(seeds, st.booleans())
def test_reuse_between_steps_changes_nothing(seed, population):
    net, rng, left = small(seed, d=6), np.random.default_rng(seed), list(range(6))
    table = None if population else net.codes(50, seed=seed)
    kept, fresh = ExactScore(net).fit(table), lambda: ExactScore(net).fit(table)
    while left:
        assert same(kept.values(left, "entropy"), fresh().values(left, "entropy"))
        left.pop(int(rng.integers(len(left))))
    assert same(kept.values([4, 1], "gini"), fresh().values([4, 1], "gini"))


@settings(max_examples=10, deadline=None)
@given(seeds)
def test_population_values_are_sums_over_the_joint(seed):
    net = small(seed, d=4)
    V, errors = ExactScore(net).fit().values([3, 0, 2], "entropy")
    p = net.marginal(3, 0, 2)
    for k in range(3):
        q = p / p.sum(k, keepdims=True)
        assert np.isclose(V[k], -(p * np.log(q)).sum(), atol=1e-10)
    assert (errors == 0).all()


def test_weights_are_counts():
    net = small(3)
    long = as_table(net.sample(400, seed=0))
    short = long.distinct()
    assert short.n < long.n
    one, two = (ExactScore(net).fit(table).values(range(5)) for table in (long, short))
    assert same(one, two)


def test_labels_match_as_text_and_unknown_ones_are_refused():
    net = fixed([(), (0,)], [[.2, .3, .5], [[.1, .9], [.5, .5], [.7, .3]]])
    table = Table(Schema(["B", "A"], [["1", "0"], ["2", "0"]]), [[0, 0], [1, 1]])
    exact = ExactScore(net).fit(table)
    assert exact.codes_.tolist() == [[2, 1], [0, 0]]
    assert np.allclose(exact.conditionals(table.codes, [0, 1])[0], [[.3, .7], [.9, .1]])
    assert exact.conditionals(table.codes, [1])[0].tolist() == [[.5, .2, .3]] * 2
    strange, twice = pd.DataFrame({"A": ["x", "0"]}), Table(Schema(["A"], [["1", 1]]), [[0], [1]])
    unfitted = ExactScore(net)
    with pytest.raises(ValueError, match="does not know"): ExactScore(net).fit(strange)
    with pytest.raises(ValueError, match="two states for one"): ExactScore(net).fit(twice)
    with pytest.raises(ValueError, match="not fitted"): unfitted.values([0])
    with pytest.raises(ValueError, match="not fitted"): unfitted.conditionals(table.codes, [0])
    with pytest.raises(ValueError, match="distinct positions"): exact.values([0, 0])
    with pytest.raises(ValueError, match="codes"): exact.conditionals(np.zeros((3, 5), int), [0])


def test_it_is_a_score_estimator(): assert isinstance(ExactScore(small(0)), ScoreEstimator)


@settings(max_examples=25 * TIMES, deadline=None)
@given(seeds, st.sampled_from(CONCAVE))
def test_theorem_1(seed, name):
    net = random_network(3, edges=2, states=(2, 3), seed=seed)
    found = check_conditions(net, name)
    assume(found.theorem_applies and len(found.edges))
    V, _ = ExactScore(net).fit().values(range(3), name)
    assert not net.dag[V.argmax()].any()


@settings(max_examples=15, deadline=None)
@given(seeds)
def test_checker_agrees_with_the_joint(seed):
    net = small(seed)
    p, found = net.joint(), check_conditions(net)
    everything = set(range(5))
    def H(*axes):
        m = p.sum(tuple(everything - set(axes))).ravel()
        return -m @ np.log(m)
    for j, pa in enumerate(net.parents):
        given_parents = H(j, *pa) - (H(*pa) if pa else 0)
        given_rest = H(*everything) - H(*everything - {j})
        assert np.isclose(found.nodes.given_parents.iloc[j], given_parents, atol=1e-10)
        assert np.isclose(found.nodes.given_blanket.iloc[j], given_rest, atol=1e-10)
    assert (found.nodes.gain >= -1e-12).all() and (found.nodes.gain[found.nodes.leaf] == 0).all()


def test_sampled_checks_agree_with_exact_ones(monkeypatch):
    net = load_network("sachs")
    exact = check_conditions(net)
    monkeypatch.setattr(score, "_CHECK_LIMIT", 4)
    sampled = check_conditions(net, n_samples=20_000, seed=1)
    assert not exact.sampled and len(sampled.sampled) > 5
    assert "by a sample of 20,000 rows" in sampled._repr_markdown_()
    a, b = sampled.nodes, exact.nodes
    assert (np.abs(a.given_parents - b.given_parents) <= 5 * a.parents_error + 1e-12).all()
    assert (np.abs(a.gain - b.gain) <= 5 * a.gain_error + 1e-12).all()
    assert (a.change <= b.change + 1e-9).all()


@pytest.mark.parametrize("name, holds", [("sachs", 5), ("insurance", 12), ("alarm", 16)])
def test_condition_3_on_real_networks(name, holds):
    assert check_conditions(load_network(name)).edges.holds.sum() == holds

"Score: Brook's lemma, the exact estimator and Theorem 1, as properties."
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings, strategies as st

from discrete_score import score
from discrete_score.data import Schema, Table, as_table
from discrete_score.measures import MEASURES, as_measure
from discrete_score.networks import BayesNet, TableCPT, load_network, random_network
from discrete_score.score import (ExactScore, ScoreEstimator, brook, check_conditions, fisher_divergence, generalized_score,
                                  marginalize, score_matching_loss)

seeds = st.integers(0, 2**31)
shapes = st.lists(st.integers(2, 4), min_size=1, max_size=5).map(tuple)


def small(seed, d=5, states=(2, 3)): return random_network(d, edges=min(6, d * (d - 1) / 2), states=states, seed=seed)


def fixed(parents, tables):
    tables = [np.atleast_2d(np.asarray(t, float)) for t in tables]
    n = [t.shape[1] for t in tables]
    cpts = tuple(TableCPT(t, tuple(n[k] for k in pa)) for t, pa in zip(tables, parents))
    return BayesNet(tuple("ABCDEFG"[:len(n)]), tuple(tuple(range(m)) for m in n), tuple(parents), cpts)


@settings(max_examples=40, deadline=None)
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
    for model in (q, 5 * q, r): assert np.isclose(fisher_divergence(p, model), constant + (p * score_matching_loss(model)).sum(), rtol=1e-8, atol=1e-8)
    assert fisher_divergence(p, 3 * p) < 1e-20


@settings(max_examples=20, deadline=None)
@given(shapes, seeds)
def test_marginalisation_is_self_adjoint(shape, seed):
    a, b = np.random.default_rng(seed).normal(size=(2, *shape))
    for i in range(len(shape)): assert np.isclose((marginalize(a, i) * b).sum(), (a * marginalize(b, i)).sum())


@settings(max_examples=20, deadline=None)
@given(seeds, st.sampled_from(sorted(set(MEASURES) - {"kl_symmetric"})))
def test_values_are_the_mean_of_the_measure_over_the_conditionals(seed, name):
    net, rng = small(seed), np.random.default_rng(seed)
    codes, columns = net.codes(60, seed=seed), list(rng.permutation(5)[:rng.integers(1, 6)])
    exact = ExactScore(net).fit(codes)
    V, errors = exact.values(columns, name)
    for v, e, j, p in zip(V, errors, columns, exact.conditionals(codes, columns)):
        phi = as_measure(name)(p, int(net.n_states[j]))
        assert np.isclose(v, phi.mean(), atol=1e-12) and np.isclose(e, phi.std() / 60**.5, atol=1e-9)


@settings(max_examples=15, deadline=None)
@given(seeds)
def test_columns_rows_and_labels_may_be_permuted(seed):
    net, rng = small(seed), np.random.default_rng(seed)
    frame, place = net.sample(80, seed=seed), rng.permutation(5)
    shuffled = frame.iloc[rng.permutation(80), place]
    shuffled = pd.DataFrame({c: x.cat.reorder_categories(list(rng.permutation(list(x.cat.categories)))) for c, x in shuffled.items()})
    left = [0, 2, 3]
    V, e = ExactScore(net).fit(as_table(frame, unused="keep")).values([int(place[k]) for k in left], "kl_uniform")
    W, f = ExactScore(net).fit(as_table(shuffled, unused="keep")).values(left, "kl_uniform")
    assert np.allclose(V, W, atol=1e-12) and np.allclose(e, f, atol=1e-12)


@settings(max_examples=10, deadline=None)
@given(seeds, st.booleans())
def test_reuse_between_steps_changes_nothing(seed, population):
    net = small(seed, d=6)
    table, rng, left = None if population else net.codes(50, seed=seed), np.random.default_rng(seed), list(range(6))
    kept = ExactScore(net).fit(table)
    while left:
        assert np.allclose(kept.values(left, "entropy"), ExactScore(net).fit(table).values(left, "entropy"), atol=1e-12)
        left.pop(int(rng.integers(len(left))))
    assert np.allclose(kept.values([4, 1], "gini"), ExactScore(net).fit(table).values([4, 1], "gini"), atol=1e-12)


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
    long, short = as_table(net.sample(400, seed=0)), as_table(net.sample(400, seed=0)).distinct()
    assert short.n < long.n
    assert np.allclose(ExactScore(net).fit(long).values(range(5)), ExactScore(net).fit(short).values(range(5)), atol=1e-12)


def test_labels_match_as_text_and_unknown_ones_are_refused():
    net = fixed([(), (0,)], [[.2, .3, .5], [[.1, .9], [.5, .5], [.7, .3]]])
    table = Table(Schema(["B", "A"], [["1", "0"], ["2", "0"]]), [[0, 0], [1, 1]])
    exact = ExactScore(net).fit(table)
    assert exact.codes_.tolist() == [[2, 1], [0, 0]]
    assert np.allclose(exact.conditionals(table.codes, [0, 1])[0], [[.3, .7], [.9, .1]])
    assert exact.conditionals(table.codes, [1])[0].tolist() == [[.5, .2, .3]] * 2
    with pytest.raises(ValueError, match="does not know"): ExactScore(net).fit(pd.DataFrame({"A": ["x", "0"]}))
    with pytest.raises(ValueError, match="two states for one"): ExactScore(net).fit(Table(Schema(["A"], [["1", 1]]), [[0], [1]]))
    with pytest.raises(ValueError, match="not fitted"): ExactScore(net).values([0])
    with pytest.raises(ValueError, match="not fitted"): ExactScore(net).conditionals(table.codes, [0])
    with pytest.raises(ValueError, match="distinct positions"): exact.values([0, 0])
    with pytest.raises(ValueError, match="codes"): exact.conditionals(np.zeros((3, 5), int), [0])


def test_it_is_a_score_estimator(): assert isinstance(ExactScore(small(0)), ScoreEstimator)


@settings(max_examples=60, deadline=None)
@given(seeds, st.sampled_from(["entropy", "kl_uniform", "normalized_entropy", "gini", "tsallis:3", "renyi:0.5"]))
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
    H = lambda *axes: -(m := p.sum(tuple(set(range(5)) - set(axes)))).ravel() @ np.log(m.ravel())
    for j, pa in enumerate(net.parents):
        assert np.isclose(found.nodes.given_parents.iloc[j], H(j, *pa) - (H(*pa) if pa else 0), atol=1e-10)
        assert np.isclose(found.nodes.given_blanket.iloc[j], H(*range(5)) - H(*(set(range(5)) - {j})), atol=1e-10)
    assert (found.nodes.gain >= -1e-12).all() and (found.nodes.gain[found.nodes.leaf] == 0).all()


def test_sampled_checks_agree_with_exact_ones(monkeypatch):
    net = load_network("sachs")
    exact = check_conditions(net)
    monkeypatch.setattr(score, "_CHECK_LIMIT", 4)
    sampled = check_conditions(net, n_samples=20_000, seed=1)
    assert not exact.sampled and len(sampled.sampled) > 5 and "by a sample of 20,000 rows" in sampled._repr_markdown_()
    assert (np.abs(sampled.nodes.given_parents - exact.nodes.given_parents) <= 5 * sampled.nodes.parents_error + 1e-12).all()
    assert (np.abs(sampled.nodes.gain - exact.nodes.gain) <= 5 * sampled.nodes.gain_error + 1e-12).all()
    assert (sampled.nodes.change <= exact.nodes.change + 1e-9).all()


@pytest.mark.parametrize("name, holds", [("sachs", 5), ("insurance", 12), ("alarm", 16)])
def test_condition_3_on_real_networks(name, holds): assert check_conditions(load_network(name)).edges.holds.sum() == holds

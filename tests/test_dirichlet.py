"Proposition 1: closed forms against Monte-Carlo, bounds, and the two ways of weighting rows."
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discrete_score.dirichlet import (
    alpha0_needed, check_prior, condition_values, corrected_constant, criterion, dirichlet_rows,
    entropy_gap, expansion_constant, expected_entropy, expected_gini, expected_value,
    printed_constant)
from discrete_score.measures import as_measure, entropy, gini

node = st.integers(2, 40), st.integers(1, 3000)
sizes = st.tuples(*node, *node)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(n=st.integers(2, 12), log_s=st.floats(-3, 4), seed=st.integers(0, 2**32 - 1))
def test_closed_forms_agree_with_sampling(n, log_s, seed):
    s = 10 ** log_s
    rows = dirichlet_rows(n, s, 5_000, seed=seed)
    np.testing.assert_allclose(rows.sum(-1), 1, atol=1e-12)
    for measure, exact in ((entropy, expected_entropy(n, s)), (gini, expected_gini(n, s))):
        values = measure(rows)
        # nearly deterministic rows are skewed: few samples carry the mean, hence the floor
        floor = 3e-3 * (s < .1) + 1e-9
        assert abs(values.mean() - exact) < 6 * values.std() / np.sqrt(len(values)) + floor


def test_rows_agree_with_numpy():
    mine = dirichlet_rows(3, 1.5, 50_000, seed=0)
    theirs = np.random.default_rng(1).dirichlet([.5] * 3, 50_000)
    mine, theirs = (np.quantile(rows, [.1, .5, .9], axis=0) for rows in (mine, theirs))
    np.testing.assert_allclose(mine, theirs, atol=.02)


@settings(max_examples=200, deadline=None)
@given(size=sizes, times=st.floats(1.0001, 1e4))
def test_the_corrected_verdict_is_exact_from_the_needed_alpha0_on(size, times):
    needed = alpha0_needed(*size)
    if needed == 0:
        assert entropy_gap(*size, 10.) == 0
        return
    corrected, exact = criterion(*size, times * needed), entropy_gap(*size, times * needed)
    if min(abs(corrected), abs(exact)) > 1e-12: assert (corrected >= 0) == (exact >= 0)


@settings(max_examples=200, deadline=None)
@given(n=st.integers(2, 50), log_s=st.floats(-2, 4))
def test_the_error_of_the_expansion_is_bounded(n, log_s):
    s = 10 ** log_s
    error = expected_entropy(n, s) - (np.log(n) - corrected_constant(n) / s)
    assert -1 / (12 * s**2) - 1e-10 <= error <= n**2 / (12 * s**2) + 1e-10


def test_the_printed_constant_is_not_the_limit():
    n = np.arange(2, 11)
    limit = 1e5 * (np.log(n) - expected_entropy(n, 1e5))
    np.testing.assert_allclose(limit, corrected_constant(n), rtol=1e-3)
    assert (printed_constant(n) / limit > 3).all()


@pytest.mark.parametrize("name", [
    "entropy", "kl_uniform", "normalized_entropy", "gini", "tsallis:0.5", "tsallis:1", "tsallis:3"])
def test_expansion_constants_are_the_limits_of_closed_forms(name):
    for n in (2, 5):
        limit = 1e5 * (as_measure(name)(np.full(n, 1 / n)) - expected_value(name, n, 1e5))
        np.testing.assert_allclose(limit, expansion_constant(name, n), rtol=2e-3)


def test_a_users_function_is_not_taken_for_ours():
    def entropy(p): return -p.max(-1)  # the name of one of ours
    assert expected_value(entropy, 3, 2.) < 0
    with pytest.raises(ValueError, match="sample instead"): expansion_constant(entropy, 3)
    found = check_prior(np.array([[0, 1], [0, 0]]), [2, 3], 5., measure=entropy)
    assert "corrected" not in found.edges


def test_exact_weights_by_brute_force():
    from discrete_score.dirichlet import _joint_values
    dag = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], bool)
    states, alpha0 = np.array([2, 3, 2]), 4.
    values = _joint_values(dag, states, alpha0, as_measure("entropy"), 50, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    shapes = (2, 1, ()), (3, 2, (2,)), (2, 6, (2, 3))
    a, b, c = [dirichlet_rows(n, alpha0 / k, 50 * k, seed=rng).reshape(50, *shape, n)
               for n, k, shape in shapes]
    np.testing.assert_allclose(values[:, 0], entropy(a))
    np.testing.assert_allclose(values[:, 1], np.einsum("ra,ra->r", a, entropy(b)))
    np.testing.assert_allclose(values[:, 2], np.einsum("ra,rab,rab->r", a, b, entropy(c)))


def test_cases_converge_to_exact_weights():
    dag = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], bool)
    how = dict(n_networks=2_000, n_cases=1_000, seed=0)
    joint = check_prior(dag, [2, 3, 4], 20., weights="joint", **how)
    cases = check_prior(dag, [2, 3, 4], 20., weights="cases", **how)
    np.testing.assert_allclose(joint.edges["probability"], cases.edges["probability"], atol=.06)
    assert abs(joint.whole_graph - cases.whole_graph) < .06


def test_large_tables_do_not_exhaust_memory():
    import tracemalloc
    dag = np.zeros((9, 9), bool)
    dag[:8, 8] = True
    tracemalloc.start()
    # the child has 16,777,216 rows
    values = condition_values(dag, [8] * 9, 1000., n_networks=100, n_cases=200, seed=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert values.shape == (100, 9) and peak < 300e6
    assert np.isfinite(values).all()


def test_same_seed_same_answer_and_arguments_untouched():
    dag, states = np.array([[0, 1], [0, 0]], bool), np.array([2, 3])
    before = dag.copy(), states.copy()
    one, two = (check_prior(dag, states, 10., seed=4) for _ in range(2))
    assert one.edges.equals(two.edges) and one.whole_graph == two.whole_graph
    np.testing.assert_array_equal(dag, before[0])
    np.testing.assert_array_equal(states, before[1])


@pytest.mark.parametrize("dag, states, alpha0, message", [
    ([[0, 1], [1, 0]], [2, 2], 1., "undirected"),
    ([[0, 1, 0], [0, 0, 1], [1, 0, 0]], [2, 2, 2], 1., "cycle"),
    ([[0, 1]], [2, 2], 1., "square"),
    ([[0, 1], [0, 0]], [2], 1., "one number per node"),
    ([[0, 1], [0, 0]], [2, 1], 1., "at least 2 states"),
    ([[0, 1], [0, 0]], [2, 2], -1., "positive")])
def test_bad_arguments(dag, states, alpha0, message):
    with pytest.raises(ValueError, match=message): check_prior(np.array(dag), states, alpha0)


def test_a_graph_without_edges():
    result = check_prior(np.zeros((2, 2), bool), [2, 3], 10.)
    assert len(result.edges) == 0 and result.whole_graph == 1
    assert "0 edges" in result._repr_markdown_()

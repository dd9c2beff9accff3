"Properties of the measures of randomness that cells cannot hold; `SLOW=1` draws more examples."
import os
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from discrete_score.base import Problem
from discrete_score.measures import (
    MEASURES, Measure, UnprovenMeasureWarning, as_measure, entropy, kl_uniform, majorized_pairs,
    majorizes, normalized_entropy, refute, renyi, simplex_points, t_transform, tsallis,
    warn_if_unproven)

EXAMPLES = 60 if os.environ.get("SLOW") else 20
NAMES = [*MEASURES, "renyi:0.5", "renyi:1", "renyi:1.05", "renyi:3", "renyi:inf",
         "tsallis:0.3", "tsallis:1", "tsallis:4"]
SCHUR = [name for name in NAMES if as_measure(name).facts.schur_concave.verdict == "proven"]


@st.composite
def vectors(draw, zeros=True):
    n = draw(st.integers(2, 8))
    elements = st.floats(0 if zeros else 1e-3, 1, allow_subnormal=False)
    weights = draw(arrays(float, n, elements=elements))
    weights[draw(st.integers(0, n - 1))] += .5
    return weights / weights.sum()


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=EXAMPLES, deadline=None)
@given(p=vectors(), data=st.data())
def test_permuting_the_states_changes_nothing(name, p, data):
    order, measure = data.draw(st.permutations(range(len(p)))), as_measure(name)
    np.testing.assert_allclose(measure(p[order]), measure(p), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", SCHUR)
@settings(max_examples=EXAMPLES, deadline=None)
@given(p=vectors(zeros=False), data=st.data(), t=st.floats(0, 1))
def test_a_t_transform_never_lowers_a_schur_concave_measure(name, p, data, t):
    i, j, *_ = data.draw(st.permutations(range(len(p))))
    q = t_transform(p, i, j, t)
    assert majorizes(p, q)
    assert as_measure(name)(q) >= as_measure(name)(p) - 1e-12


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=EXAMPLES, deadline=None)
@given(p=vectors(), pad=st.integers(0, 4))
def test_padding_with_absent_states_changes_nothing(name, p, pad):
    padded, measure = np.concatenate([p, np.zeros(pad)]), as_measure(name)
    np.testing.assert_allclose(measure(padded, len(p)), measure(p), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_leading_shapes_and_dtypes(name):
    measure, p = as_measure(name), simplex_points(4, 24, seed=0)
    single = np.array([measure(row) for row in p])
    np.testing.assert_allclose(measure(p.reshape(2, 3, 4, 4)).ravel(), single, rtol=1e-13)
    n_states = np.full((2, 3, 4), 4)
    np.testing.assert_allclose(measure(p.reshape(2, 3, 4, 4), n_states).ravel(), single, rtol=1e-13)
    inside = p[p.min(-1) > 1e-3]
    single = measure(inside.astype(np.float32))
    np.testing.assert_allclose(single, measure(inside), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_pickles_and_leaves_its_argument_alone(name):
    measure, p = as_measure(name), simplex_points(5, 50, seed=1)
    before = p.copy()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(measure))(p), measure(p))
    np.testing.assert_array_equal(p, before)


def test_entropies_agree_with_scipy():
    from scipy.special import entr
    p = simplex_points(6, 2_000, seed=2)
    np.testing.assert_allclose(entropy(p), entr(p).sum(-1), atol=1e-13)
    np.testing.assert_allclose(kl_uniform(p), entr(p).sum(-1) - np.log(6), atol=1e-13)
    np.testing.assert_allclose(normalized_entropy(p, 6), entr(p).sum(-1) / np.log(6), atol=1e-13)


@pytest.mark.parametrize("order", [.2, .95, 1.05, 1.7, 3., 40.])
def test_families_agree_with_their_definitions(order):
    p = simplex_points(4, 500, seed=3)
    total = np.sum(p ** order, -1)
    np.testing.assert_allclose(renyi(p, alpha=order), np.log(total) / (1 - order), atol=1e-10)
    np.testing.assert_allclose(tsallis(p, q=order), (1 - total) / (order - 1), atol=1e-10)


@settings(max_examples=100, deadline=None)
@given(a=vectors(), b=vectors())
def test_majorisation_is_a_partial_order_between_vertex_and_uniform(a, b):
    assert majorizes(a, a) and majorizes([1.], a) and majorizes(a, np.full(len(a), 1 / len(a)))
    if majorizes(a, b, tol=0) and majorizes(b, a, tol=0):
        width = max(len(a), len(b))
        a, b = (np.sort(np.pad(x, (0, width - len(x)))) for x in (a, b))
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_majorized_pairs_are_majorized():
    for n in (2, 3, 7): assert majorizes(*majorized_pairs(n, 500, n_transforms=4, seed=n)).all()


@pytest.mark.parametrize("name", [
    "entropy", "kl_uniform", "gini", "tsallis", "tsallis:0.1", "renyi:0.9", "kl_symmetric"])
@pytest.mark.parametrize("n_states", [2, 5])
def test_what_is_proven_is_not_refuted(name, n_states):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for prop in ("symmetric", "concave", "strictly_concave", "schur_concave"):
            assert not refute(name, prop, n_states, n_trials=500, n_steps=40, seed=7)


@pytest.mark.parametrize("name, prop, n_states", [
    ("varentropy", "schur_concave", 2), ("varentropy", "schur_concave", 6),
    ("varentropy", "concave", 3), ("renyi:2", "concave", 3), ("renyi:1.85", "concave", 3),
    ("min_entropy", "concave", 2), ("renyi:2.2", "concave", 2), ("kl_symmetric", "finite", 4),
    ("entropy", "comparable", 4)])
def test_what_is_refuted_comes_with_a_counterexample(name, prop, n_states):
    found = refute(name, prop, n_states, seed=11)
    assert found
    measure = as_measure(name)
    if prop == "concave":
        a, b, middle = found.counterexample
        np.testing.assert_allclose(middle, (a + b) / 2)
        assert measure(middle) < (measure(a) + measure(b)) / 2 - 1e-10
    if prop == "schur_concave":
        a, b = found.counterexample
        assert majorizes(a, b) and measure(a) > measure(b) + 1e-10
    assert "**refuted**" in found._repr_markdown_()


def test_single_precision_is_not_mistaken_for_a_violation():
    def rough(p): return np.sqrt(np.asarray(p, np.float32)).sum(-1)
    for prop in ("symmetric", "concave", "schur_concave"): assert not refute(rough, prop, 6, seed=0)


def test_a_seed_gives_the_same_counterexample_twice():
    one, two = (refute("renyi:2", "concave", 3, seed=5) for _ in range(2))
    np.testing.assert_array_equal(one.counterexample, two.counterexample)


@pytest.mark.parametrize("name, warns", [
    ("entropy", False), ("renyi:0.5", False), ("varentropy", True), ("renyi:2", True),
    ("kl_symmetric", True)])
def test_warning_names_the_notebook(name, warns):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_if_unproven(name)
    assert [w.category for w in caught] == [UnprovenMeasureWarning] * warns
    assert all("04_measures" in str(w.message) and "\n" not in str(w.message) for w in caught)


def toy(p): return 1 - p.max(-1)


def test_a_measure_is_registered_by_one_call_and_found_by_name():
    MEASURES.register("toy", toy, "one minus the largest")
    try:
        found = as_measure("toy")
        assert isinstance(MEASURES["toy"], Measure) and found.name == "toy"
        assert found(np.array([.7, .2, .1])) == pytest.approx(.3) and not found.guaranteed
        assert MEASURES.texts["toy"] == "one minus the largest" and "toy" in MEASURES.words()
        assert pickle.loads(pickle.dumps(found)) == found
        with pytest.raises(Problem, match="takes no parameter"): as_measure("toy:2")
    finally: del MEASURES["toy"]
    with pytest.raises(Problem, match="unknown measure `toy`; choose one of .* as `measure`"):
        as_measure("toy")


def test_what_is_no_measure_cannot_be_registered():
    with pytest.raises(Problem, match="one value per probability vector"):
        MEASURES.register("total", lambda p: p.sum(), "")
    assert "total" not in MEASURES


def test_every_measure_says_what_it_is():
    assert all(MEASURES.texts[name] for name in MEASURES)

"Tests of independence: agreement with causal-learn, invariances, level and power, own tests."
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import discrete_score as ds
from discrete_score.tests import TESTS, Answer, Sample, as_test, chi2_exact


def test_chi2_is_the_test_of_causal_learn_and_algorithm_2_uses_it():
    net = ds.random_network(7, degree=3, states=(3, 6), seed=4)
    table, order = ds.as_table(net.sample(1_500, seed=4)), list(net.names)
    printed = ds.diagnosis.algorithm_2(table, order, n_samples=1_000, seed=3)
    implied = ds.diagnosis.implied_dag(order, table, test="chi2", n_samples=1_000, seed=3)
    assert printed.tolist() == implied.in_degrees.tolist()


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from(sorted(TESTS)))
def test_column_order_and_state_names_change_nothing(seed, test):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (300, 4))
    codes[:, 3] = (codes[:, 0] + codes[:, 1] + (rng.random(300) < .3)) % 3
    swap, names = rng.permutation(4), list("abcd")
    frame = pd.DataFrame(codes, columns=names)
    other = frame.iloc[:, swap].replace({0: 2, 1: 0, 2: 1})
    found = (ds.diagnosis.implied_dag(names, ds.as_table(f), test=test) for f in (frame, other))
    one, two = (pd.DataFrame(f.p_values, f.names, f.names).loc[names, names] for f in found)
    assert np.allclose(one, two, rtol=1e-4, atol=1e-9, equal_nan=True)


@pytest.mark.parametrize("test", ["chi2_exact", "cmh", "screened", "logit"])
def test_levels_and_power_without_a_network(test):
    rng, false, found = np.random.default_rng(0), 0, 0
    for _ in range(100):
        z, w = rng.integers(0, 3, (2, 400))
        def copy(v): return np.where(rng.random(400) < .5, v, rng.integers(0, 3, 400))
        x, y = copy(z), copy(z)
        sample = Sample(np.column_stack([x, y, z, w, copy(x)]))
        false += TESTS[test](sample, 0, 1, (2, 3)).p_value < .01
        found += TESTS[test](sample, 0, 4, (2, 3)).p_value < .01
    assert false <= 6 and found >= 95


def test_no_p_value_out_of_nothing():
    codes = np.random.default_rng(0).integers(0, 4, (200, 14))
    for name in ("chi2_exact", "cmh", "logit"):
        answer = TESTS[name](Sample(codes), 0, 1, range(2, 14))
        assert isinstance(answer, Answer) and np.isnan(answer.p_value) and answer.reason


def test_a_registered_test_is_known_by_its_name_everywhere():
    frame = ds.load_network("asia").sample(500, seed=0)
    order = list(frame.columns)
    TESTS.register("strict", lambda *args: chi2_exact(*args, least=50), "wants many rows")
    try:
        found = ds.diagnose(frame, order, test="strict")
        assert found.implied.test == "strict" and found.untestable
        estimator, table = ds.BlanketScore().fit(ds.as_table(frame)), ds.as_table(frame)
        choice = ds.choose_measure(estimator, table, rule="in-degree", test="strict")
        assert choice.table.share_above.between(0, 1).all()
    finally: del TESTS["strict"]
    with pytest.raises(ValueError, match="unknown test 'strict'.*chi2, chi2_exact"):
        as_test("strict")


def test_weights_that_are_no_rows_are_refused():
    frame = pd.DataFrame({"a": [0, 1, 0, 1], "b": [0, 1, 1, 0], "rows": [.4, 1.2, 3., 2.]})
    table = ds.as_table(frame, weights="rows")
    with pytest.raises(ValueError, match="whole numbers"): Sample(table)

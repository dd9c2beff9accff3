"""scikit-learn's own checks on `DiscreteScore`.

The estimator says by its tags that it takes categories, so scikit-learn feeds integer-coded input.
No check is skipped by a tag alone: what fails is listed in `EXCEPTIONS` with its reason and must go
on failing, and the checks that this package promises are listed in `PROMISED`.
"""
import inspect

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone

import discrete_score as ds

if tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 6):
    pytest.skip("scikit-learn lists expected failures since 1.6", allow_module_level=True)
from sklearn.utils.estimator_checks import check_estimator

EXCEPTIONS = {
    "check_sample_weights_pandas_series":
        "hands in a frame whose columns are called 0 and 1; names must be text, because results, "
        "files and knowledge refer to columns by name",
    "check_sample_weight_equivalence_on_dense_data":
        "hands in continuous numbers whatever the tags say, and they are refused; "
        "`test_weights_are_repeated_rows` below checks the same with categories",
}
PROMISED = {
    "parameters are set in the constructor only": [
        "check_no_attributes_set_in_init", "check_do_not_raise_errors_in_init_or_set_params",
        "check_parameters_default_constructible"],
    "get_params and set_params": [
        "check_get_params_invariance", "check_set_params", "check_dont_overwrite_parameters",
        "check_estimators_overwrite_params"],
    "clone": ["check_estimator_cloneable"],
    "no fitted attributes before fit": ["check_estimators_unfitted", "check_fit_check_is_fitted"],
    "repeated fit gives the same": ["check_fit_idempotent"],
    "fit leaves its input and the object's dict alone": [
        "check_dict_unchanged", "check_readonly_memmap_input"],
    "errors on empty, one row, NaN and infinity, complex, sparse": [
        "check_estimators_empty_data_messages", "check_fit2d_1sample", "check_estimators_nan_inf",
        "check_complex_data", "check_estimator_sparse_array"],
    "number of features": ["check_n_features_in", "check_n_features_in_after_fitting"],
    "pickling": ["check_estimators_pickle"],
    "weights": [
        "check_sample_weights_list", "check_sample_weights_not_overwritten",
        "check_all_zero_sample_weights_error"],
}


@pytest.fixture(scope="module", params=["evidence", None])
def report(request):
    "Outcome of every check, for the guided and the unguided search."
    return check_estimator(ds.DiscreteScore(guide=request.param), on_fail=None, on_skip=None,
                           expected_failed_checks=EXCEPTIONS)


def by_name(report, status): return {r["check_name"] for r in report if r["status"] == status}


def test_every_check_passes_or_is_an_exception(report):
    failed = {r["check_name"]: repr(r["exception"]) for r in report if r["status"] == "failed"}
    assert failed == {}


def test_the_exceptions_are_real(report):
    "An exception that passes is no exception; take it off the list then."
    assert by_name(report, "xfail") == set(EXCEPTIONS) and by_name(report, "xpass") == set()


def test_the_promised_checks_ran_and_passed(report):
    passed = by_name(report, "passed")
    broken = {name: [c for c in checks if c not in passed] for name, checks in PROMISED.items()}
    assert broken == {name: [] for name in PROMISED}


def test_little_is_skipped(report):
    "Only what needs SCIPY_ARRAY_API in the environment."
    arrays = {"check_array_api_input", "check_array_api_input_and_values"}
    assert by_name(report, "skipped") <= arrays and len(by_name(report, "passed")) >= 35


def survey(n=300, seed=0): return ds.load_network("asia").sample(n, seed=seed).astype(str)


def test_weights_are_repeated_rows():
    "Counts as weights give the same search as repeated rows."
    frame = survey()
    counts = np.random.default_rng(0).integers(1, 4, len(frame))
    a = ds.DiscreteScore().fit(frame, sample_weight=counts)
    b = ds.DiscreteScore().fit(frame.loc[frame.index.repeat(counts)])
    assert a.order_ == b.order_ and np.allclose(a.steps_["value"], b.steps_["value"])


def test_fit_leaves_the_frame_alone():
    frame = survey()
    before = frame.copy(deep=True)
    ds.DiscreteScore().fit(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_feature_names():
    model = ds.DiscreteScore(guide=None).fit(survey())
    assert list(model.feature_names_in_) == list(survey().columns) and model.n_features_in_ == 8
    numbered = survey().set_axis(range(8), axis=1)
    with pytest.raises(TypeError, match="must be strings"): ds.DiscreteScore().fit(numbered)


def test_the_constructor_only_keeps_what_it_gets():
    "Each parameter comes back as the object that went in, and nothing is checked before `fit`."
    names = [p for p in inspect.signature(ds.DiscreteScore).parameters]
    odd = {name: object() for name in names}
    model = ds.DiscreteScore(**odd)
    assert all(getattr(model, name) is odd[name] for name in names)
    assert set(vars(model)) == set(names)
    set_up = ds.DiscreteScore(measure="entropy", bins={"a": 3}, seed=4)
    assert clone(set_up).get_params() == set_up.get_params()

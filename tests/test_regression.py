"Regressions on categories: statsmodels, scipy, invariance, separation, the level of the tests."
import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize
from statsmodels.miscmodels.ordinal_model import OrderedModel

import discrete_score as ds
from discrete_score.data import Schema, Table
from discrete_score.regression import _centred, _Cumulative, _design, _fit_multinomial, _Multinomial
from discrete_score.regression import _ridge, _Step, collapse, cumulative, multinomial


def random_table(seed, n=400, d=4, states=(2, 4), weights=False):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(states[0], states[1] + 1, d)
    codes = np.empty((n, d), int)
    for j, m in enumerate(sizes):
        shift = codes[:, :j].sum(1) if j else 0
        codes[:, j] = np.where(rng.random(n) < .5, rng.integers(m, size=n), shift % m)
        codes[:m, j] = np.arange(m)
    schema = Schema([f"x{j}" for j in range(d)], [[str(k) for k in range(m)] for m in sizes])
    return Table(schema, codes, rng.integers(1, 4, n) if weights else None)


def dummies(table, covariates):
    codes = pd.DataFrame(table.codes[:, covariates]).astype("category")
    return pd.get_dummies(codes, drop_first=True, dtype=float)


def logit_model(table, target, covariates):
    "The same regression as statsmodels makes it."
    X = sm.add_constant(dummies(table, covariates).to_numpy())
    return sm.MNLogit(table.codes[:, target], X)


@pytest.mark.parametrize("seed", range(10))
def test_multinomial_log_likelihood_is_that_of_statsmodels(seed):
    net = ds.random_network(5, degree=4, states=(3, 5), seed=seed)
    table = ds.as_table(net.sample(3000, seed=seed), unused="drop")
    target, covariates = seed % 5, [j for j in range(5) if j != seed % 5][:1 + seed % 4]
    model = logit_model(table, target, covariates)
    reference = model.fit(disp=0, maxiter=200, warn_convergence=False)
    fit = multinomial(table, target, covariates, ridge=1e-6)
    assert fit.converged and abs(fit.loglik - reference.llf) < 1e-4
    assert fit.n_parameters == reference.params.size
    with_default_ridge = multinomial(table, target, covariates)
    assert abs(with_default_ridge.loglik - reference.llf) < .05  # it costs next to nothing


@pytest.mark.parametrize("seed", range(10))
def test_cumulative_log_likelihood_is_that_of_statsmodels(seed):
    net, link = ds.random_network(5, degree=4, states=(2, 5),
                                  seed=seed), ("probit", "logit")[seed % 2]
    table = ds.as_table(net.sample(600, seed=seed), unused="drop")
    target, covariates = seed % 5, [j for j in range(5) if j != seed % 5][:1 + seed % 3]
    y = pd.Series(pd.Categorical(table.codes[:, target], ordered=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = OrderedModel(y, dummies(table, covariates), distr=link)
        reference = model.fit(disp=0, method="bfgs", maxiter=1000, gtol=1e-7)
    fit = cumulative(table, target, covariates, link=link, ridge=1e-6)
    assert fit.converged and abs(fit.loglik - reference.llf) < 1e-4
    assert fit.n_parameters == len(reference.params)


def test_wald_and_ratio_statistics_are_those_of_statsmodels():
    table = random_table(3, n=2000)
    reference = logit_model(table, 3, [0, 1, 2]).fit(disp=0)
    wald, ratio = (multinomial(table, 3, [0, 1, 2], test=t, ridge=1e-6) for t in ("wald", "ratio"))
    b, cov = reference.params.T.ravel(), reference.cov_params()
    cov, p, start = np.asarray(cov), reference.params.shape[0], 1
    for k, m in enumerate(table.n_states[:3]):
        states = range(reference.params.shape[1])
        at = np.concatenate([np.arange(start, start + m - 1) + a * p for a in states])
        theirs = b[at] @ np.linalg.solve(cov[np.ix_(at, at)], b[at])
        assert wald.statistics[k] == pytest.approx(theirs, rel=1e-3)
        rest = [j for j in range(3) if j != k]
        fewer = logit_model(table, 3, rest).fit(disp=0)
        assert ratio.statistics[k] == pytest.approx(2 * (reference.llf - fewer.llf), abs=1e-3)
        assert wald.dofs[k] == len(at) == ratio.dofs[k]
        start += m - 1


@pytest.mark.parametrize("kind", ["multinomial", "logit", "probit"])
def test_gradient_and_information_are_derivatives_of_the_value(kind):
    rows = collapse(random_table(5), 3, [0, 1, 2])
    (X, _), R, rng = _design(rows), _ridge(rows.sizes, .3), np.random.default_rng(0)
    if kind == "multinomial":
        model = _Multinomial(X, rows.counts, R)
        at = rng.normal(size=model.shape) * .3
        model.at(at)
        g, H = model.gradient().T.ravel(), model.information()
        v = rng.normal(size=model.shape)
        assert np.allclose(model.times(v).T.ravel(), H @ v.T.ravel())
        flat, value = at.T.ravel(), lambda t: model.at(t.reshape(at.T.shape).T)
    else:
        model = _Cumulative(X, rows.counts, R, kind)
        effects, value = rng.normal(size=X.shape[1] - 1) * .3, model.at
        flat = np.concatenate([np.linspace(-1, 1, model.s), effects])
        value(flat)
        g, H = model.gradient()
    step = 1e-5 * np.eye(len(flat))
    assert np.allclose(g, [(value(flat + s) - value(flat - s)) / 2e-5 for s in step], atol=1e-3)
    if kind == "multinomial":
        def gradient(t):
            value(t)
            return model.gradient().T.ravel()
        slopes = [(gradient(flat + s) - gradient(flat - s)) / 2e-5 for s in step]
        assert np.allclose(-H, slopes, atol=1e-2)


def test_large_regressions_by_conjugate_gradients_reach_the_same_maximum():
    table = random_table(2, n=6000, d=12, states=(4, 6))
    rows = collapse(table, 11, list(range(11)))
    X, _ = _design(rows)
    R = _ridge(rows.sizes, .01)
    model, converged = _fit_multinomial(X, rows.counts, R, None, 1e-9, 60)
    assert converged and not _Step(model).direct
    g = model.gradient().T.ravel()
    assert .5 * g @ np.linalg.solve(model.information(), g) < 1e-8


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.booleans())
def test_numbering_of_states_and_order_of_columns_change_nothing(seed, weights):
    table = random_table(seed, weights=weights)
    rng = np.random.default_rng(seed)
    renumbered = [rng.permutation(m)[table.codes[:, j]] for j, m in enumerate(table.n_states)]
    turned = np.column_stack(renumbered)
    other = Table(table.schema, turned, table.weights)
    a = multinomial(table, 3, [0, 1, 2], test="wald", ridge=.5)
    b = multinomial(other, 3, [2, 0, 1], test="wald", ridge=.5)
    assert abs(a.loglik - b.loglik) < 1e-4 * (1 + abs(a.loglik))
    assert np.allclose(a.statistics, b.statistics[[1, 2, 0]], rtol=1e-2, atol=1e-3)
    backwards = Table(table.schema, table.n_states - 1 - table.codes, table.weights)
    c, d = cumulative(table, 3, [0, 1], link="logit"), cumulative(backwards,
                                                                  3, [0, 1],
                                                                  link="logit")
    assert abs(c.loglik - d.loglik) < 1e-4 * (1 + abs(c.loglik))


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_weights_are_repeated_rows_and_more_covariates_never_fit_worse(seed):
    table = random_table(seed, weights=True)
    rows = Table(table.schema, np.repeat(table.codes, table.weights.astype(int), axis=0))
    for fit in (multinomial, cumulative):
        a, b = fit(table, 2, [0, 1]), fit(rows, 2, [0, 1])
        assert abs(a.loglik - b.loglik) < 1e-6 * abs(a.loglik) and a.total == b.total
        more, fewer = (fit(table, 2, some, ridge=1e-6).loglik for some in ([0, 1, 3], [0, 1]))
        assert more >= fewer - 1e-3
    assert multinomial(table, 2, [0, 1]).bic == pytest.approx(multinomial(rows, 2, [0, 1]).bic)


def test_separation_a_constant_target_and_constant_covariates_are_harmless():
    a, d = np.tile([0, 1, 2], 40), np.repeat([0, 1], 60)
    codes = np.column_stack([a, a, np.zeros(120, int), d])
    table = Table(Schema(list("abcd"), [["0", "1", "2"]] * 2 + [["0", "1"]] * 2), codes)
    for fit in (multinomial, cumulative):
        copied = fit(table, "a", ["b", "c", "d"], test="ratio")
        assert copied.converged and copied.p_values[0] < 1e-10
        assert copied.p_values[1] == 1 and copied.p_values[2] > .5
        nothing = fit(table, "c", ["a", "b"], test="wald")
        assert nothing.loglik == 0 and nothing.n_parameters >= 0
        assert np.isfinite(nothing.coefficients).all()
        assert np.isfinite(fit(table, "a", []).loglik)


def test_level_of_the_block_tests_under_the_null():
    p = {t: [] for t in ("wald", "ratio")}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x = rng.integers(3, size=(1500, 6))
        x[:, 1:4] = np.where(rng.random((1500, 3)) < .4, x[:, :1], x[:, 1:4])
        y = np.where(rng.random(1500) < .4, x[:, 1], rng.integers(3, size=1500))
        table = Table(Schema([f"x{j}" for j in range(7)], [list("abc")] * 7),
                      np.column_stack([x, y]))
        for t in p:
            found = multinomial(table, 6, list(range(6)), test=t).p_values
            p[t] += found[[0, 2, 3, 4, 5]].tolist()
    for t in p:  # 300 tests; not independent within a dataset
        assert .02 < np.mean(np.array(p[t]) < .05) < .085, t


def test_errors_name_the_argument():
    table = random_table(0)
    for call, text in [
        (lambda: multinomial(table, "y", ["x0"]), "`y` is not a column"),
        (lambda: multinomial(table, 0, [0]), "different columns"),
        (lambda: multinomial(table, 0, [1], test="score"), "`test`"),
        (lambda: multinomial(table, 0, [1], ridge=0), "`ridge`"),
        (lambda: multinomial(table, 0, [1], test="wald", about=["x2"]), "`about`"),
        (lambda: cumulative(table, 0, [1], link="x"), "`link`"),
        (lambda: cumulative(table, 0, [1]).tests(), "no test"),
    ]:
        with pytest.raises(ValueError, match=text): call()
    states, codes = [str(k) for k in range(90)], np.arange(9000) % 90
    wide = Table(Schema(["a", "b"], [states, states]), np.column_stack([codes, codes]))
    with pytest.raises(ValueError, match="8,010 parameters"): multinomial(wide, "a", ["b"])


def test_only_the_covariates_asked_about_are_tested():
    table = random_table(1)
    some, whole = (multinomial(table, 0, [1, 2, 3], test="wald", about=a) for a in (["x2"], None))
    assert np.isnan(some.p_values[[0, 2]]).all() and some.p_values[1] == whole.p_values[1]


def test_ridge_maximum_against_scipy():
    table = random_table(9, n=300)
    rows = collapse(table, 3, [0, 1])
    X, _ = _design(rows)
    R, C = _ridge(rows.sizes, 2.), _centred(rows.counts.shape[1])

    def loss(b):
        B = b.reshape(X.shape[1], -1)
        eta = np.column_stack([X @ B, np.zeros(len(X))])
        log_p = eta - np.logaddexp.reduce(eta, axis=1)[:, None]
        return .5 * ((R @ B) * (B @ C)).sum() - (rows.counts * log_p).sum()

    fit = multinomial(rows, ridge=2.)
    found = minimize(loss, np.zeros(fit.coefficients.size), method="BFGS", options={"gtol": 1e-6})
    assert loss(fit.coefficients.ravel()) < found.fun + 1e-6

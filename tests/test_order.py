"The order search: invariances, determinism across processes, resuming from every prefix."
import subprocess, sys

import numpy as np
import pandas as pd
from hypothesis import assume, given, settings, strategies as st

import discrete_score as ds


def permuted(df, rng):
    "Columns in another order, states renamed by a permutation of new labels, rows shuffled."
    out = {}
    for name in rng.permutation(df.columns):
        labels = list(df[name].cat.categories)
        out[name] = df[name].map(dict(zip(labels, rng.permutation([f"new {label}" for label in labels])))).astype(str)
    return pd.DataFrame(out).iloc[rng.permutation(len(df))]


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), measure=st.sampled_from(["entropy", "kl_uniform", "gini", "tsallis:1.5"]))
def test_blanket_order_ignores_positions_and_labels(seed, measure):
    df = ds.random_network(6, degree=2, states=(2, 4), seed=seed).sample(400, seed=seed)
    model = ds.DiscreteScore(measure=measure, unused="drop", seed=seed)
    try: expected = model.fit(df)
    except ValueError: assume(False)  # a state or a column that 400 rows do not show
    other = ds.DiscreteScore(measure=measure, seed=seed).fit(permuted(df, np.random.default_rng(seed)))
    assert other.order_ == expected.order_
    assert np.allclose(other.steps_.value, expected.steps_.value)


def test_exact_order_ignores_positions():
    net = ds.random_network(8, degree=3, seed=4)
    df = net.sample(1000, seed=4)
    expected = ds.DiscreteScore(estimator="exact", network=net, unused="drop").fit(df)
    other = ds.DiscreteScore(estimator="exact", network=net, unused="drop").fit(df[df.columns[::-1]])
    assert other.order_ == expected.order_ and np.allclose(other.steps_.value, expected.steps_.value)


def test_every_prefix_resumes_to_the_same_order():
    df = ds.random_network(12, degree=4, seed=7).sample(2000, seed=7)
    whole = ds.DiscreteScore().fit(df)
    for k in range(13):
        part = ds.DiscreteScore().fit(df, max_steps=k)
        pd.testing.assert_frame_equal(ds.DiscreteScore().fit(df, resume=part).steps_, whole.steps_)


def test_same_result_in_another_process():
    code = ("import discrete_score as ds; df = ds.load_network('child').sample(3000, seed=2);"
            "m = ds.DiscreteScore(seed=9, unused='drop').fit(df); print(m.order_, [float(v).hex() for v in m.steps_.value])")
    runs = {subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PATH": "", "PYTHONHASHSEED": str(k)}).stdout for k in range(2)}
    assert len(runs) == 1


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), data=st.data())
def test_orders_obey_knowledge(seed, data):
    d, rng = 6, np.random.default_rng(seed)
    names = [f"c{k}" for k in range(d)]
    true = list(rng.permutation(names))
    pairs = [(true[i], true[j]) for i in range(d) for j in range(i + 1, d)]
    before = data.draw(st.lists(st.sampled_from(pairs), max_size=6))
    cut = data.draw(st.integers(1, d - 1))

    class Noise:
        def fit(self, table): return self
        def values(self, columns, measure): return rng.random(len(columns)), np.full(len(columns), .1)
        def conditionals(self, codes, columns): raise NotImplementedError

    order = ds.causal_order(Noise(), names, "entropy", knowledge={"before": before, "tiers": [true[:cut], true[cut:]]}).order
    assert all(order.index(a) < order.index(b) for a, b in before)
    assert set(order[:cut]) == set(true[:cut])


def test_bootstrap_does_not_depend_on_the_number_of_processes():
    df = ds.load_network("earthquake").sample(1000, seed=0)
    one, two = (ds.DiscreteScore(seed=1).bootstrap(df, 6, n_jobs=k) for k in (1, 2))
    assert (one.orders == two.orders).all() and one.order == two.order

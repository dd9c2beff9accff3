"The order search: invariances, determinism across processes, resuming from every prefix."
import os
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings, strategies as st

import discrete_score as ds
from discrete_score.base import Problem
from discrete_score.order import as_relation, draw_rows


def permuted(df, rng):
    "Columns in another order, states renamed by a permutation of new labels, rows shuffled."
    out = {}
    for name in rng.permutation(df.columns):
        labels = list(df[name].cat.categories)
        new = rng.permutation([f"new {label}" for label in labels])
        out[name] = df[name].map(dict(zip(labels, new))).astype(str)
    return pd.DataFrame(out).iloc[rng.permutation(len(df))]


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    measure=st.sampled_from(["entropy", "kl_uniform", "gini", "tsallis:1.5"]))
def test_blanket_order_ignores_positions_and_labels(seed, measure):
    df = ds.random_network(6, degree=2, states=(2, 4), seed=seed).sample(400, seed=seed)
    model = ds.DiscreteScore(measure=measure, unused="drop", seed=seed)
    try: expected = model.fit(df)
    except ValueError: assume(False)  # a state or a column that 400 rows do not show
    mixed = permuted(df, np.random.default_rng(seed))
    other = ds.DiscreteScore(measure=measure, seed=seed).fit(mixed)
    assert other.order_ == expected.order_
    assert np.allclose(other.steps_.value, expected.steps_.value)


def test_exact_order_ignores_positions():
    net = ds.random_network(8, degree=3, seed=4)
    df = net.sample(1000, seed=4)
    exact = dict(estimator="exact", network=net, unused="drop")
    expected, other = (ds.DiscreteScore(**exact).fit(f) for f in (df, df[df.columns[::-1]]))
    assert other.order_ == expected.order_
    assert np.allclose(other.steps_.value, expected.steps_.value)


def test_every_prefix_resumes_to_the_same_order():
    df = ds.random_network(12, degree=4, seed=7).sample(2000, seed=7)
    whole = ds.DiscreteScore().fit(df)
    for k in range(13):
        part = ds.DiscreteScore().fit(df, max_steps=k)
        pd.testing.assert_frame_equal(ds.DiscreteScore().fit(df, resume=part).steps_, whole.steps_)


def test_same_result_in_another_process():
    code = ("import discrete_score as ds; df = ds.load_network('child').sample(3000, seed=2);"
            "m = ds.DiscreteScore(seed=9, unused='drop').fit(df);"
            "print(m.order_, [float(v).hex() for v in m.steps_.value])")
    def run(hash_seed):
        there = {"PATH": "", "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        call = [sys.executable, "-c", code]
        return subprocess.run(call, capture_output=True, text=True, check=True, env=there).stdout

    assert run("0") == run("1")


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
        def values(self, columns, measure):
            return rng.random(len(columns)), np.full(len(columns), .1)
        def conditionals(self, codes, columns): raise NotImplementedError

    known = {"before": before, "tiers": [true[:cut], true[cut:]]}
    order = ds.causal_order(Noise(), names, "entropy", knowledge=known).order
    assert all(order.index(a) < order.index(b) for a, b in before)
    assert set(order[:cut]) == set(true[:cut])


def test_bootstrap_does_not_depend_on_the_number_of_processes():
    df = ds.load_network("earthquake").sample(1000, seed=0)
    one, two = (ds.DiscreteScore(seed=1).bootstrap(df, 6, n_jobs=k) for k in (1, 2))
    assert (one.orders == two.orders).all() and one.order == two.order


@pytest.mark.parametrize("known, said", [
    ({"before": [("a", "b"), ("b", "a")]}, "contradicts itself"), ({"roots": ["z"]}, "z"),
    ({"tiers": [["a"], ["a"]]}, "twice"), ({"leaves": "ab"}, "must be a list")])
def test_what_is_wrong_with_knowledge_can_be_said_in_other_words(known, said):
    with pytest.raises(Problem, match=said) as found: as_relation(known, ["a", "b"])
    assert "`" in str(found.value)
    assert "`" not in found.value.phrase.say(lambda setting: f"--{setting.name}")


def test_knowledge_carries_the_words_of_its_fields():
    for field in fields(ds.Knowledge):
        assert all(field.metadata[word] for word in ("text", "label", "metavar"))


def test_a_relation_is_knowledge_too():
    names = ["a", "b", "c"]
    chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
    stated = as_relation({"before": [("a", "b"), ("b", "c")]}, names)
    assert (as_relation(chain, names) == stated).all() and stated[0, 2]
    with pytest.raises(ValueError): as_relation(chain | chain.T, names)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), weighted=st.booleans(), replace=st.booleans())
def test_drawn_rows_are_rows(seed, weighted, replace):
    counts = np.random.default_rng(seed).integers(0, 5, 20) + (np.arange(20) == 3)
    total = int(counts.sum()) if weighted else 20
    drawn = draw_rows(counts if weighted else 20, total // 2, replace=replace, seed=seed)
    assert drawn.sum() == total // 2 and (drawn[counts == 0] == 0).all() | (not weighted)
    if not replace: assert (drawn <= (counts if weighted else 1)).all()


def test_a_search_that_is_out_of_time_is_complete_and_says_so():
    frame = ds.load_network("asia").sample(1000, seed=0)
    hasty = ds.DiscreteScore().fit(frame, max_seconds=0)
    assert sorted(hasty.order_) == sorted(frame) and hasty.result_.complete
    assert "stopped after 0 seconds" in str(hasty.notes_[-1])
    calm, free = ds.DiscreteScore().fit(frame, max_seconds=3600), ds.DiscreteScore().fit(frame)
    assert calm.to_dict() == free.to_dict()
    for wrong in (-1, "1", np.nan):
        with pytest.raises(ValueError, match="max_seconds"):
            ds.DiscreteScore().fit(frame, max_seconds=wrong)

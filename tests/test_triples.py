"What tests say of triples: by hand, over random tables, whatever the order of columns."
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discrete_score as ds
from discrete_score.counts import Counts, using_threads
from discrete_score.graphs import dag_to_cpdag, is_dag
from discrete_score.scores import families_of
from discrete_score.tests import Sample, chi2_exact, chi2_exact_many
from discrete_score.triples import (
    Triple, TripleRule, find_pairs, find_triples, judge_triples, orient)


def table_of(seed, d=8, n=1500, degree=2.5):
    net = ds.random_network(d, degree=degree, states=(2, 3), seed=seed)
    return net, ds.as_table(net.sample(n, seed=seed), unused="drop")


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**4), n=st.integers(20, 400), weighted=st.booleans())
def test_many_tests_say_what_one_says(seed, n, weighted):
    rng = np.random.default_rng(seed)
    n_states = rng.integers(2, 6, 5)
    codes = np.column_stack([rng.integers(0, m, n) for m in n_states])
    codes[:, 1] = np.where(rng.random(n) < .5, codes[:, 0] % n_states[1], codes[:, 1])
    weights = rng.integers(1, 12, n).astype(float) if weighted else None
    schema = ds.Schema(tuple("abcde"), tuple(tuple(range(m)) for m in n_states))
    sample = Sample(ds.Table(schema, codes, weights), None)
    sets = [(), (2,), (3, 4), (2, 3, 4)]
    answers = chi2_exact_many(Counts(codes, n_states, weights), 0, 1, sets)
    alone = [chi2_exact(sample, 0, 1, given) for given in sets]
    assert np.allclose(answers.p_values, [a.p_value for a in alone], atol=1e-9, equal_nan=True)
    assert [a.reason == "in no stratum do both columns vary" for a in alone] == \
        answers.determined.tolist()


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**4))
def test_arrows_do_not_depend_on_the_order_of_columns(seed):
    net, table = table_of(seed)
    order = np.random.default_rng(seed).permutation(table.d)
    names = [table.names[k] for k in order]
    mixed = ds.as_table(table.frame()[names], unused="drop")
    keep = [net.names.index(name) for name in table.names]
    skeleton = (net.dag | net.dag.T)[np.ix_(keep, keep)]
    found = find_triples(families_of(table).counts, skeleton, table.names)
    other = find_triples(families_of(mixed).counts, skeleton[np.ix_(order, order)], names)
    assert (other.found == found.found[np.ix_(order, order)]).all()
    assert other.credibility.verdict == found.credibility.verdict
    with using_threads(2):
        again = find_triples(families_of(table).counts, skeleton, table.names)
    assert again.pairs == found.pairs and again.triples == found.triples


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**4), d=st.integers(4, 9))
def test_perfect_answers_give_the_class(seed, d):
    "Told the truth about every triple, the arrows are those of the class."
    dag = ds.random_network(d, degree=3, states=2, seed=seed).dag
    near = dag | dag.T
    triples = [Triple(i, j, k, "collider" if dag[i, j] and dag[k, j] else "non-collider")
               for i in range(d) for k in range(i + 1, d) if not near[i, k]
               for j in np.flatnonzero(near[i] & near[k]).tolist()]
    arrows, clashes = orient(near, triples)
    cpdag = dag_to_cpdag(dag)
    assert not clashes.any() and (arrows == (cpdag & ~cpdag.T)).all()


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**4), d=st.integers(3, 9))
def test_contradictions_go_nowhere(seed, d):
    "Whatever the tests say, arrows have no cycle, and a clash has no arrow."
    rng = np.random.default_rng(seed)
    near = np.triu(rng.random((d, d)) < .5, 1)
    near |= near.T
    kinds = "collider", "non-collider", "ambiguous"
    triples = [Triple(i, j, k, str(rng.choice(kinds)))
               for i in range(d) for k in range(i + 1, d) if not near[i, k]
               for j in np.flatnonzero(near[i] & near[k]).tolist()]
    arrows, clashes = orient(near, triples)
    assert is_dag(arrows) and (arrows <= near).all()
    assert (clashes == clashes.T).all() and not (arrows & clashes).any()


def test_what_determines_a_column_is_no_contradiction():
    "A pair whose separator determines one of its columns is untestable, not unexplained."
    rng = np.random.default_rng(0)
    cause = rng.integers(0, 3, 4000)
    other = np.where(rng.random(4000) < .7, cause, rng.integers(0, 3, 4000))
    codes = np.column_stack([cause % 2, cause, other])
    skeleton = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], bool)
    counts = Counts(codes, [2, 3, 3])
    assert [p.state for p in find_pairs(counts, skeleton)] == ["untestable"]
    noisy = np.where(rng.random(4000) < .1, 1 - codes[:, 0], codes[:, 0])
    counts = Counts(np.column_stack([noisy, codes[:, 1:]]), [2, 3, 3])
    pairs = find_pairs(counts, skeleton)
    assert [p.state for p in pairs] == ["explained"] and pairs[0].separators == ((1,),)


def test_many_neighbours_are_bounded():
    "A hub with twenty neighbours: separators are still found, and subsets stay few."
    rng = np.random.default_rng(1)
    hub = rng.integers(0, 2, 3000)
    flips = rng.random((3000, 20)) < .2
    codes = np.column_stack([hub, hub[:, None] ^ flips])
    skeleton = np.zeros((21, 21), bool)
    skeleton[0, 1:] = skeleton[1:, 0] = True
    counts = Counts(codes, [2] * 21)
    rule = TripleRule(neighbours=4)
    pairs = find_pairs(counts, skeleton, rule)
    assert len(pairs) == 190 and sum(p.state == "explained" for p in pairs) > 185
    triples = judge_triples(counts, skeleton, pairs, rule=rule)
    assert {t.kind for t in triples} <= {"non-collider", "ambiguous", "unexplained"}


@pytest.mark.parametrize("seed", range(3))
def test_noise_compels_nothing(seed):
    codes = np.random.default_rng(seed).integers(0, 3, (2000, 10))
    model = ds.DiscreteScore().fit(codes)
    assert not model.partial_order_.any() and model.credibility_.verdict == "cannot tell"

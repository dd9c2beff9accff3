"""Scores of families: by their definitions, in other libraries, and what holds for every table."""

from math import comb, lgamma, log

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from tables import is_acyclic, make, random_dag

from discrete_score.scores import SCORES, BDeu, Families, FamilyScore, as_score

quick = settings(max_examples=25, deadline=None)


def sum_of_fits(n, states):
    "Maximum likelihoods of all columns with n rows, added up: for two states, then by recurrence."
    values = [1., sum(comb(n, k) * (k / n)**k * ((n - k) / n)**(n - k) for k in range(n + 1))]
    for s in range(1, states - 1): values.append(values[-1] + n / s * values[-2])
    return values[states - 1]


def by_loops(codes, n_states, child, parents, rule):
    "Every score from its definition: plain loops over rows or configurations."
    parents, r = list(parents), int(n_states[child])
    q, n = int(np.prod(n_states[parents])), len(codes)
    cells = {}
    for row in codes: cells.setdefault(tuple(row[parents]), [0] * r)[row[child]] += 1
    if rule == "bic":
        fit = sum(k * log(k / sum(c)) for c in cells.values() for k in c if k)
        return fit - .5 * log(n) * q * (r - 1)
    if rule == "qnml":
        exact = lambda s: log(sum_of_fits(n, s))
        fit = sum(k * log(k / sum(c)) for c in cells.values() for k in c if k)
        return fit - exact(q * r) + exact(q)
    if rule == "loo":
        met = [(cells[tuple(row[parents])], row[child]) for row in codes]
        at = lambda a: sum(log((c[k] - 1 + a) / (sum(c) - 1 + a * r)) for c, k in met)
        return max(at(a) for a in as_score("loo").alphas)
    a = 10 / (q * r) if rule == "bdeu:10" else 1.
    rising = lambda n, a: lgamma(n + a) - lgamma(a)
    return sum(sum(rising(k, a) for k in c) - rising(sum(c), r * a) for c in cells.values())


@quick
@given(st.integers(0, 10**6))
def test_scores_by_definition(seed):
    codes, n_states = make(seed, n=60)
    rng = np.random.default_rng(seed)
    child, *rest = rng.permutation(6).tolist()
    parents = rest[:rng.integers(0, 5)]
    for rule in ["loo", "dirichlet:1", "bdeu:10", "bic", "qnml"]:
        near = .2 if rule == "qnml" else 1e-8  # its normaliser is an approximation
        families = Families(codes, n_states, score=rule)
        expected = by_loops(codes, n_states, child, parents, rule)
        assert families.score(child, parents) == pytest.approx(expected, abs=near)
        if parents:
            first, *fewer = parents
            row = Families(codes, n_states, score=rule).extend(child, fewer, [first])
            assert row[first] == pytest.approx(expected, abs=near)


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_pgmpy(seed):
    from pgmpy.structure_score import BDeu as TheirBDeu, BIC as TheirBIC, K2 as TheirK2
    codes, n_states = make(seed, n=300, top=5)
    names = list("abcdef")
    frame, states = pd.DataFrame(codes, columns=names), dict(zip(names, map(range, n_states)))
    states = {name: list(values) for name, values in states.items()}
    def agrees(score, child, parents, theirs):
        ours = Families(codes, n_states, score=score).score(child, parents)
        return ours == pytest.approx(theirs, abs=1e-6)

    for child, parents in [(0, ()), (0, (1,)), (1, (0, 2)), (2, (0, 1, 3)), (3, (0, 1, 2, 4))]:
        there = names[child], tuple(names[p] for p in parents)
        for ess in (1, 10):
            theirs = TheirBDeu(frame, equivalent_sample_size=ess, state_names=states)
            assert agrees(BDeu(ess), child, parents, theirs.local_score(*there))
        theirs = TheirBIC(frame, state_names=states).local_score(*there)
        assert agrees("bic", child, parents, theirs)
        # pgmpy's K2 adds log Gamma(r) for configurations that never occur as well
        occur = len(np.unique(codes[:, list(parents)], axis=0)) if parents else 1
        empty = np.prod(n_states[list(parents)]) - occur
        theirs = TheirK2(frame, state_names=states).local_score(*there)
        assert agrees("dirichlet:1", child, parents, theirs - empty * lgamma(n_states[child]))


def test_agrees_with_causal_learn():
    from causallearn.score.LocalScoreFunction import local_score_BDeu
    codes, n_states = make(5, n=300)
    d = codes.shape[1]
    parameters = {
        "sample_prior": 10, "structure_prior": 1, "r_i_map": dict(enumerate(n_states.tolist()))
    }
    ours, theirs = [], []
    for child, parents in [(0, []), (0, [1]), (1, [0, 2]), (2, [0, 1, 3])]:
        k = len(parents)
        prior = k * np.log(1 / (d - 1)) + (d - 1 - k) * np.log((d - 2) / (d - 1))
        ours.append(Families(codes, n_states, score="bdeu:10").score(child, parents))
        theirs.append((local_score_BDeu(codes, child, parents, parameters), prior))
    sign = 1 if theirs[0][
        0] < 0 else -1  # versions differ in sign; a log probability of data is negative
    assert ours == pytest.approx([sign * s - p for s, p in theirs], abs=1e-6)


def test_total_agrees_with_pgmpy_search_score():
    "The sum over families is pgmpy's network score without its structure prior."
    from pgmpy.base import DAG
    from pgmpy.structure_score import BIC as TheirBIC
    codes, n_states = make(9, n=300)
    dag = random_dag(np.random.default_rng(1), 6)
    graph = DAG()
    graph.add_nodes_from(range(6))
    graph.add_edges_from(np.argwhere(dag).tolist())
    theirs = TheirBIC(pd.DataFrame(codes),
                      state_names={c: list(range(m))
                                   for c, m in enumerate(n_states)})
    expected = sum(theirs.local_score(j, tuple(graph.predecessors(j))) for j in range(6))
    assert Families(codes, n_states, score="bic").total(dag) == pytest.approx(expected, abs=1e-6)


def covered(dag):
    "Edges i -> j where the parents of j are those of i and i itself: they may be reversed."
    for i, j in np.argwhere(dag):
        rest = dag[:, j].copy()
        rest[i] = False
        if (rest == dag[:, i]).all(): yield i, j


@quick
@given(st.integers(0, 10**6))
def test_bdeu_and_bic_are_score_equivalent(seed):
    codes, n_states = make(seed)
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, 6)
    other = dag.copy()
    for _ in range(6):
        edges = list(covered(other))
        if not edges: break
        i, j = edges[rng.integers(len(edges))]
        other[i, j], other[j, i] = False, True
    assert is_acyclic(other)
    for rule in ["bdeu:10", "bdeu:0.3", "bic"]:
        families = Families(codes, n_states, score=rule)
        assert families.total(dag) == pytest.approx(families.total(other), abs=1e-7)


def test_large_counts_and_many_states():
    "Counts beyond the tables of terms, and columns with more states than rows."
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(0, 2, 200_000), rng.integers(0, 3, 200_000)], axis=1)
    for rule in ["loo", "bdeu:10", "dirichlet:1", "bic"]:
        weights = np.full(200_000, 1 + 1e-13)
        nearly = Families(codes[::-1], [2, 3], score=rule, weights=weights).score(0, [1])
        assert Families(codes, [2, 3], score=rule).score(0, [1]) == pytest.approx(nearly, abs=1e-3)
    wide = np.stack([rng.integers(0, m, 50) for m in (300, 2, 1000, 5, 40)], axis=1)
    families = Families(wide, [300, 2, 1000, 5, 40])
    row = families.extend(1, (0, 2), [3, 4])
    fresh = Families(wide, [300, 2, 1000, 5, 40])
    assert row[[3, 4]] == pytest.approx([fresh.score(1, (0, 2, 3)), fresh.score(1, (0, 2, 4))])


def test_table_finds_configurations():
    codes, n_states = make(4, d=9, n=100)
    families = Families(codes, n_states)
    for parents in [(), (1,), (1, 2), (1, 2, 3, 4, 5, 6, 7, 8)]:
        table = families.table(0, parents)
        at = table.locate(codes)
        counts = np.zeros_like(table.counts)
        np.add.at(counts, (at, codes[:, 0]), 1)
        assert (counts == table.counts).all() and not table.counts[-1].any()
        assert table.probabilities(codes).sum(1) == pytest.approx(np.ones(100))
    full = families.table(0, tuple(range(1, 9)))
    unseen = next(c for c in np.ndindex(*n_states[1:]) if not (codes[:, 1:] == c).all(1).any())
    uniform = np.full(n_states[0], 1 / n_states[0])
    assert full.probabilities(np.array([[0, *unseen]]))[0] == pytest.approx(uniform)


@quick
@given(st.integers(0, 10**6), st.sampled_from(["bdeu:10", "bdeu:1", "bic", "qnml"]), st.booleans())
def test_sets_give_what_families_give(seed, rule, weighted):
    codes, n_states = make(seed, d=7, top=6)
    rng = np.random.default_rng(seed)
    weights = rng.choice([rng.integers(0, 5, len(codes)),
                          rng.random(len(codes))]) if weighted else None
    sets = Families(codes, n_states, score=rule, weights=weights)
    same = as_score(rule)
    directly = type("Direct", (type(same),), {"by_set": False})(**vars(same))
    direct = Families(codes, n_states, weights=weights, score=directly)
    for _ in range(12):
        child, *parents = rng.permutation(7)[:rng.integers(1, 5)].tolist()
        others = [c for c in range(7) if c != child and c not in parents]
        one, two = (f.extend(child, parents, others)[others] for f in (sets, direct))
        assert np.allclose(one, two, atol=1e-7)
        assert np.isclose(sets.score(child, parents), direct.score(child, parents), atol=1e-7)



def test_a_registered_score_is_found_by_its_name():
    class AIC(FamilyScore):
        def term(self, n, alpha): return n * np.log(np.maximum(n, 1e-300))
        def penalty(self, q, r, total): return q * (r - 1)

    codes, n_states = make(2)
    SCORES.register("aic", AIC, "one nat per parameter")
    try: by_name = Families(codes, n_states, score="aic")
    finally: del SCORES["aic"]
    assert by_name.score(0, [1]) == Families(codes, n_states, score=AIC()).score(0, [1])
    with pytest.raises(ValueError, match="unknown score 'aic'"): as_score("aic")


@pytest.mark.parametrize("text", ["bic:3", "qnml:1", "bdeu:1,2", "bdeu:-1", "loo:0", "dirichlet:x"])
def test_numbers_that_a_score_cannot_take_are_refused(text):
    with pytest.raises(ValueError, match="can take"): as_score(text)


@pytest.mark.parametrize("score", ["loo", "bdeu:10", "qnml", "bic"])
@pytest.mark.parametrize("weighted", [False, True])
def test_bitsets_passes_piles_and_counters_give_the_same_bits(score, weighted):
    "Whatever the plan: the scores of extensions are the same whole numbers."
    from discrete_score import kernels
    codes, n_states = make(3, d=9, n=400, top=4)
    weights = np.random.default_rng(0).integers(5, 9, 400) if weighted else None
    never = [.6, .002, 1.2, 1e18, 0]
    plans = {"bitsets": [0, 0, .1, .45, 8, *never], "pass": [1e18, 0, .1, .45, 1e9, *never],
             "piles": [1e18, 0, .1, .45, 0, *never], "lists": [0, 0, 1e9, 1e9, 8, *never],
             "counters": [0, 0, .1, .45, 8, .6, .002, 1.2, -1e18, 0]}
    for parents in ((), (1,), (1, 2, 3), (1, 2, 3, 4, 5)):
        rows = []
        for plan in plans.values():
            families = Families(codes, n_states, score=score, weights=weights)
            data = kernels.as_data(codes, n_states, weights, plan=np.array(plan), counters=True)
            families.counts._data = data
            rows.append(families.extend(0, parents, [6, 7, 8])[6:])
        alone = [families.score(0, (*parents, c)) for c in (6, 7, 8)]
        assert all((row == alone).all() for row in rows)


@quick
@given(st.integers(0, 10**6), st.sampled_from(["loo", "bdeu:10", "bic", "qnml", "dirichlet"]),
       st.booleans())
def test_equal_rows_counted_once_give_the_same_scores_to_the_bit(seed, rule, weighted):
    rng = np.random.default_rng(seed)
    n_states = rng.integers(2, 4, 5)
    codes = rng.integers(n_states, size=(70_000, 5))
    weights = rng.integers(0, 4, 70_000) if weighted else None
    folded, whole = (Families(codes, n_states, score=rule, weights=weights) for _ in range(2))
    whole.counts._folded = whole.counts.data()
    assert folded.counts.folded().columns.shape[1] <= n_states.prod() < 70_000 / 8
    for _ in range(8):
        child, *parents = rng.permutation(5)[:rng.integers(1, 4)].tolist()
        others = [c for c in range(5) if c != child and c not in parents]
        one, two = (f.extend(child, parents, others) for f in (folded, whole))
        assert np.array_equal(one, two, equal_nan=True)
        assert folded.score(child, parents) == whole.score(child, parents)

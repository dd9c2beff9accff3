"""Families: agreement with other libraries, and properties that hold for every table."""
import subprocess, sys
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from discrete_score.families import BDeu, Counter, Families, as_score

RULES = ["loo", "dirichlet:1", "dirichlet:0.1,1", "bdeu:10", "bdeu:1", "bic", "qnml"]
quick = settings(max_examples=25, deadline=None)


def make(seed, d=6, n=120, top=4):
    "A table with dependences: each column copies an earlier one now and then."
    rng = np.random.default_rng(seed)
    n_states = rng.integers(2, top + 1, d)
    codes = np.stack([rng.integers(0, m, n) for m in n_states], axis=1)
    for j in range(1, d):
        i, copy = rng.integers(j), rng.random(n) < rng.uniform(0, .9)
        codes[copy, j] = codes[copy, i] % n_states[j]
    return codes[:, (p := rng.permutation(d))], n_states[p]


def random_dag(rng, d, p=.4):
    order = rng.permutation(d)
    dag = np.zeros((d, d), bool)
    dag[np.ix_(order, order)] = np.triu(rng.random((d, d)) < p, 1)
    return dag


def is_acyclic(dag):
    left = dag.copy()
    for _ in range(len(dag)):
        sinks = ~left.any(1)
        left[:, sinks] = False
    return not left.any()


def sum_of_fits(n, states):
    "Maximum likelihoods of all columns with n rows, added up: over the splits for two states, then the recurrence."
    from math import comb
    values = [1., sum(comb(n, k)*(k/n)**k*((n - k)/n)**(n - k) for k in range(n + 1))]
    for s in range(1, states - 1): values.append(values[-1] + n/s*values[-2])
    return values[states - 1]


def by_loops(codes, n_states, child, parents, rule):
    "Every score from its definition: plain loops over rows or configurations."
    from math import lgamma, log
    parents, r = list(parents), int(n_states[child])
    q, n = int(np.prod(n_states[parents])), len(codes)
    cells = {}
    for row in codes: cells.setdefault(tuple(row[parents]), [0]*r)[row[child]] += 1
    if rule == "bic":
        fit = sum(k*log(k/sum(c)) for c in cells.values() for k in c if k)
        return fit - .5*log(n)*q*(r - 1)
    if rule == "qnml":
        exact = lambda s: log(sum_of_fits(n, s))
        fit = sum(k*log(k/sum(c)) for c in cells.values() for k in c if k)
        return fit - exact(q*r) + exact(q)
    if rule == "loo":
        def at(a): return sum(log((cells[tuple(row[parents])][row[child]] - 1 + a)/(sum(cells[tuple(row[parents])]) - 1 + a*r)) for row in codes)
        return max(at(a) for a in as_score("loo").alphas)
    a = 10/(q*r) if rule == "bdeu:10" else 1.
    return sum(lgamma(r*a) - lgamma(sum(c) + r*a) + sum(lgamma(k + a) - lgamma(a) for k in c) for c in cells.values())


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
            other = Families(codes, n_states, score=rule).extend(child, parents[1:], [parents[0]])[parents[0]]
            assert other == pytest.approx(expected, abs=near)


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_pgmpy(seed):
    from pgmpy.structure_score import BDeu as TheirBDeu, BIC as TheirBIC, K2 as TheirK2
    codes, n_states = make(seed, n=300, top=5)
    names = list("abcdef")
    frame, states = pd.DataFrame(codes, columns=names), {c: list(range(m)) for c, m in zip(names, n_states)}
    for child, parents in [(0, ()), (0, (1,)), (1, (0, 2)), (2, (0, 1, 3)), (3, (0, 1, 2, 4))]:
        there = names[child], tuple(names[p] for p in parents)
        for ess in (1, 10):
            theirs = TheirBDeu(frame, equivalent_sample_size=ess, state_names=states).local_score(*there)
            assert Families(codes, n_states, score=BDeu(ess)).score(child, parents) == pytest.approx(theirs, abs=1e-6)
        theirs = TheirBIC(frame, state_names=states).local_score(*there)
        assert Families(codes, n_states, score="bic").score(child, parents) == pytest.approx(theirs, abs=1e-6)
        # pgmpy's K2 adds log Gamma(r) for configurations that never occur as well
        from math import lgamma
        empty = np.prod(n_states[list(parents)]) - len(np.unique(codes[:, list(parents)], axis=0)) if parents else 0
        theirs = TheirK2(frame, state_names=states).local_score(*there) - empty*lgamma(n_states[child])
        assert Families(codes, n_states, score="dirichlet:1").score(child, parents) == pytest.approx(theirs, abs=1e-6)


def test_agrees_with_causal_learn():
    from causallearn.score.LocalScoreFunction import local_score_BDeu
    codes, n_states = make(5, n=300)
    d = codes.shape[1]
    parameters = {"sample_prior": 10, "structure_prior": 1, "r_i_map": dict(enumerate(n_states.tolist()))}
    ours, theirs = [], []
    for child, parents in [(0, []), (0, [1]), (1, [0, 2]), (2, [0, 1, 3])]:
        k = len(parents)
        prior = k*np.log(1/(d - 1)) + (d - 1 - k)*np.log((d - 2)/(d - 1))
        ours.append(Families(codes, n_states, score="bdeu:10").score(child, parents))
        theirs.append((local_score_BDeu(codes, child, parents, parameters), prior))
    sign = 1 if theirs[0][0] < 0 else -1 # versions differ in sign; a log probability of data is negative
    assert ours == pytest.approx([sign*s - p for s, p in theirs], abs=1e-6)


def test_total_agrees_with_pgmpy_search_score():
    "The sum over families is pgmpy's network score without its structure prior."
    from pgmpy.base import DAG
    from pgmpy.structure_score import BIC as TheirBIC
    codes, n_states = make(9, n=300)
    dag = random_dag(np.random.default_rng(1), 6)
    graph = DAG()
    graph.add_nodes_from(range(6))
    graph.add_edges_from(np.argwhere(dag).tolist())
    theirs = TheirBIC(pd.DataFrame(codes), state_names={c: list(range(m)) for c, m in enumerate(n_states)})
    expected = sum(theirs.local_score(j, tuple(graph.predecessors(j))) for j in range(6))
    assert Families(codes, n_states, score="bic").total(dag) == pytest.approx(expected, abs=1e-6)


def covered(dag):
    "Edges i -> j where the parents of j are those of i and i itself: reversing them stays in the class."
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


@quick
@given(st.integers(0, 10**6), st.sampled_from(RULES))
def test_columns_and_labels_do_not_matter(seed, rule):
    codes, n_states = make(seed)
    rng = np.random.default_rng(seed)
    names, perm = np.array(list("uvwxyz")), rng.permutation(6)
    shuffled = np.stack([rng.permutation(n_states[c])[codes[:, c]] for c in perm], axis=1)
    one = Families(codes, n_states, score=rule, names=names)
    two = Families(shuffled, n_states[perm], score=rule, names=names[perm])
    a, b = one.search(seed=seed % 7), two.search(seed=seed % 7)
    assert (b.dag == a.dag[np.ix_(perm, perm)]).all()
    assert b.score == pytest.approx(a.score, abs=1e-6)
    for j in range(6):
        found = one.best_parents(perm[j], range(6), seed=1)
        assert found == tuple(sorted(perm[list(two.best_parents(j, range(6), seed=1))].tolist()))


@quick
@given(st.integers(0, 10**6), st.sampled_from(RULES))
def test_search_climbs(seed, rule):
    codes, n_states = make(seed)
    start = random_dag(np.random.default_rng(seed), 6, p=.3)
    families = Families(codes, n_states, score=rule)
    path = [families.search(start, max_moves=k) for k in (0, 1, 2, 3)] + [families.search(start)]
    fresh = Families(codes, n_states, score=rule)
    for result in path:
        assert is_acyclic(result.dag)
        assert result.score == pytest.approx(fresh.total(result.dag), abs=1e-6)
    scores = [r.score for r in path]
    assert all(b >= a - 1e-9 for a, b in zip(scores, scores[1:]))
    again = families.search(path[-1].dag)
    assert again.moves == 0 and (again.dag == path[-1].dag).all()
    for i, j in np.argwhere(~np.eye(6, dtype=bool)):
        other = path[-1].dag.copy() # i -> j added, dropped, or turned round
        other[j, i], other[i, j] = False, not other[i, j]
        if is_acyclic(other): assert fresh.total(other) <= scores[-1] + 1e-6


@quick
@given(st.integers(0, 10**6), st.sampled_from(RULES))
def test_cached_gains_are_differences_of_totals(seed, rule):
    from discrete_score.families import _Climb
    codes, n_states = make(seed)
    start = random_dag(np.random.default_rng(seed), 6, p=.3)
    families, fresh = Families(codes, n_states, score=rule), Families(codes, n_states, score=rule)
    climb = _Climb(families, np.arange(6), start.copy(), ~np.eye(6, dtype=bool), np.zeros((6, 6), bool), None, 0)
    for _ in range(4):
        before = fresh.total(climb.dag)
        move = climb.best()
        for i, j in np.argwhere(~np.isnan(climb.add)):
            if climb.dag[i, j]: continue
            change = fresh.score(j, [*np.flatnonzero(climb.dag[:, j]), i]) - fresh.score(j, np.flatnonzero(climb.dag[:, j]))
            assert climb.add[i, j] == pytest.approx(change, abs=1e-6)
        if move is None: break
        kind, i, j = move
        gain = [climb.add[i, j], climb.drop[i, j], climb.drop[i, j] + climb.add[j, i]][kind]
        climb.take(*move)
        assert fresh.total(climb.dag) - before == pytest.approx(gain, abs=1e-6)
        assert (climb.reach == np.linalg.matrix_power(np.eye(6) + climb.dag, 6).astype(bool)).all()


@quick
@given(st.integers(0, 10**6), st.sampled_from(RULES))
def test_weights_are_repeated_rows(seed, rule):
    codes, n_states = make(seed, n=80)
    weights = np.random.default_rng(seed).integers(0, 4, 80)
    weights[0] = 1
    one = Families(codes, n_states, score=rule, weights=weights)
    two = Families(np.repeat(codes, weights, axis=0), n_states, score=rule)
    assert one.counter.total == two.counter.total
    a, b = one.search(), two.search()
    assert (a.dag == b.dag).all() and a.score == pytest.approx(b.score, abs=1e-6)
    nearly = Families(codes, n_states, score=rule, weights=weights*(1 + 1e-12)) # not whole: no tables of terms
    assert nearly.total(a.dag) == pytest.approx(a.score, abs=1e-4)


@quick
@given(st.integers(0, 10**6))
def test_knowledge_is_obeyed(seed):
    codes, n_states = make(seed)
    rng = np.random.default_rng(seed)
    required = random_dag(rng, 6, p=.1)
    allowed = (rng.random((6, 6)) < .6) | required
    columns = sorted(rng.choice(6, 5, replace=False).tolist())
    result = Families(codes, n_states).search(columns=columns, allowed=allowed, required=required, max_parents=2)
    inside = np.zeros((6, 6), bool)
    inside[np.ix_(columns, columns)] = True
    assert is_acyclic(result.dag) and not (result.dag & ~(allowed & inside)).any()
    assert (result.dag | ~inside)[required].all()
    assert (result.dag.sum(0) <= np.maximum(2, (required & inside).sum(0))).all()


@quick
@given(st.integers(0, 10**6), st.sampled_from(["loo", "bdeu:10"]))
def test_warm_search_is_a_climb_of_the_smaller_table(seed, rule):
    codes, n_states = make(seed)
    families = Families(codes, n_states, score=rule, names=list("abcdef"))
    full = families.search()
    rest = [0, 1, 3, 4, 5]
    warm = families.search(full.dag, columns=rest)
    alone = Families(codes[:, rest], n_states[rest], score=rule, names=list("abdef"))
    there = alone.search(full.dag[np.ix_(rest, rest)])
    assert (warm.dag[np.ix_(rest, rest)] == there.dag).all() and warm.score == pytest.approx(there.score, abs=1e-6)
    assert not warm.dag[2].any() and not warm.dag[:, 2].any()


@quick
@given(st.integers(0, 10**6), st.sampled_from(RULES))
def test_best_parents(seed, rule):
    codes, n_states = make(seed, d=5)
    families = Families(codes, n_states, score=rule)
    everything = [tuple(c for c in range(1, 5) if mask >> c & 1) for mask in range(0, 32, 2)]
    best = max(families.score(0, s) for s in everything)
    assert families.score(0, families.best_parents(0, range(5))) == pytest.approx(best, abs=1e-6)
    greedy = families.best_parents(0, range(5), exact=0)
    assert families.score(0) - 1e-9 <= families.score(0, greedy) <= best + 1e-6
    small = max(families.score(0, s) for s in everything if len(s) <= 1)
    assert families.score(0, families.best_parents(0, range(5), max_parents=1)) == pytest.approx(small, abs=1e-6)
    assert set(families.best_parents(0, range(5), required=[2], exact=0)) >= {2}


@quick
@given(st.integers(0, 10**6))
def test_order_network_respects_the_order(seed):
    codes, n_states = make(seed)
    order = np.random.default_rng(seed).permutation(6)
    families = Families(codes, n_states, score="bdeu:10")
    result = families.order_network(order)
    assert not np.tril(result.dag[np.ix_(order, order)]).any()
    assert result.score == pytest.approx(families.total(result.dag)) == families.order_score(order)
    assert result.score >= families.total(np.zeros((6, 6), bool)) - 1e-9


def test_forgetting_changes_nothing():
    codes, n_states = make(3, d=10, n=400)
    a = Families(codes, n_states)
    b = Families(codes, n_states, cache_mb=0)
    assert (a.search().dag == b.search().dag).all()
    assert len(b._rows) <= 64


def test_large_counts_and_many_states():
    "Counts beyond the tables of terms, and columns with more states than rows."
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(0, 2, 200_000), rng.integers(0, 3, 200_000)], axis=1)
    for rule in ["loo", "bdeu:10", "dirichlet:1", "bic"]:
        assert Families(codes, [2, 3], score=rule).score(0, [1]) == pytest.approx(
            Families(codes[::-1], [2, 3], score=rule, weights=np.full(200_000, 1 + 1e-13)).score(0, [1]), abs=1e-3)
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
    assert full.probabilities(np.array([[0, *unseen]]))[0] == pytest.approx(np.full(n_states[0], 1/n_states[0]))


def test_same_in_another_process():
    script = ("import numpy as np; from discrete_score.families import Families;"
              "x = np.random.default_rng(0).integers(0, 3, (200, 6)); x[:, 1] = x[:, 0];"
              "print(Families(x, score='bdeu:10').search(seed=5).edges)")
    runs = {subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout for _ in range(2)}
    assert len(runs) == 1


def test_counter_keeps_its_arguments():
    codes, n_states = make(0)
    copy, weights = codes.copy(), np.ones(len(codes))
    families = Families(codes, n_states, weights=weights)
    start = np.zeros((6, 6), bool)
    families.search(start)
    assert (codes == copy).all() and (weights == 1).all() and not start.any()
    assert Counter(codes, n_states).counts(0).shape == (n_states[0], 1)


@quick
@given(st.integers(0, 10**6), st.sampled_from(["bdeu:10", "bdeu:1", "bic", "qnml"]), st.booleans())
def test_sets_give_what_families_give(seed, rule, weighted):
    codes, n_states = make(seed, d=7, top=6)
    rng = np.random.default_rng(seed)
    weights = rng.choice([rng.integers(0, 5, len(codes)), rng.random(len(codes))]) if weighted else None
    sets = Families(codes, n_states, score=rule, weights=weights)
    direct = Families(codes, n_states, weights=weights, score=type("Direct", (type(as_score(rule)),), {"by_set": False})(*([float(rule[5:])] if ":" in rule else [])))
    for _ in range(12):
        child, *parents = rng.permutation(7)[:rng.integers(1, 5)].tolist()
        others = [c for c in range(7) if c != child and c not in parents]
        assert np.allclose(sets.extend(child, parents, others), direct.extend(child, parents, others), equal_nan=True, atol=1e-7)
        assert np.isclose(sets.score(child, parents), direct.score(child, parents), atol=1e-7)
    assert len(sets._sets) > 7 and not direct._sets


def test_a_full_memory_of_sets_forgets_and_stays_right():
    codes, n_states = make(1, d=8)
    small, large = Families(codes, n_states, score="bdeu:10", cache_mb=.01), Families(codes, n_states, score="bdeu:10")
    a, b = small.search(), large.search()
    assert (a.dag == b.dag).all() and np.isclose(a.score, b.score)
    assert len(small._sets) < len(large._sets)

"Networks and classes: best of all at d = 4, climbs, valid classes, exact operators of GES."
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tables import is_acyclic, make, random_dag

import discrete_score as ds
from discrete_score.graphs import dag_to_cpdag, is_dag
from discrete_score.scores import Families
from discrete_score.search import Ordering, ParentSets, _Class, _Climb, best_network, best_ordering
from discrete_score.search import best_parents, climb, ges, order_network, order_score, shrink

RULES = ["loo", "dirichlet:1", "dirichlet:0.1,1", "bdeu:10", "bdeu:1", "bic", "qnml"]
quick = settings(max_examples=25, deadline=None)


def all_dags(d):
    pairs = [(i, j) for i in range(d) for j in range(i + 1, d)]
    for kinds in product(range(3), repeat=len(pairs)):
        dag = np.zeros((d, d), bool)
        for (i, j), kind in zip(pairs, kinds):
            if kind: dag[(i, j) if kind == 1 else (j, i)] = True
        if is_dag(dag): yield dag


DAGS = list(all_dags(4))


def engine(d, seed, n=300, score="bdeu:5", states=(2, 3)):
    net = ds.random_network(d, degree=2, states=states, seed=seed)
    return Families(net.codes(n, seed=seed), net.n_states, score=score, names=net.names)


def test_best_of_all_networks_with_four_columns():
    missed = {"best": 0, "greedy": 0}
    for seed in range(500, 560):
        f = engine(4, seed, score=("bdeu:1", "bdeu:20", "bic")[seed % 3])
        best = max(f.total(dag) for dag in DAGS)
        missed["best"] += best_network(f).score < best - 1e-6
        missed["greedy"] += climb(f).score < best - 1e-6
    assert missed["best"] <= 5 < missed["greedy"]  # parents that help only jointly are missed


def neighbours(cpdag, classes):
    "Classes that one edge more, less or turned leads to, by brute force over all members."
    found = {"insert": set(), "delete": set(), "turn": set()}
    for dag in classes[cpdag.tobytes()]:
        for i, j in product(range(4), repeat=2):
            if i == j: continue
            other = dag.copy()
            if dag[i, j]:
                other[i, j] = False
                found["delete"].add(dag_to_cpdag(other).tobytes())
                other[j, i] = True
                if is_dag(other): found["turn"].add(dag_to_cpdag(other).tobytes())
            elif not dag[j, i]:
                other[i, j] = True
                if is_dag(other): found["insert"].add(dag_to_cpdag(other).tobytes())
    found["turn"].discard(cpdag.tobytes())
    return found


def test_operators_lead_to_exactly_the_neighbouring_classes_and_their_gains_are_right():
    classes = {}
    for dag in DAGS: classes.setdefault(dag_to_cpdag(dag).tobytes(), []).append(dag)
    f = engine(4, 3)
    state = _Class(f, list(range(4)), None)
    for key in classes:
        cpdag = np.frombuffer(key, bool).reshape(4, 4)
        state.read(cpdag)
        before, expected = f.total(classes[key][0]), neighbours(cpdag, classes)
        makers = {"insert": state.inserts, "delete": state.deletes, "turn": state.turns}
        for phase, make in makers.items():
            made = [o for x, y in state.pairs(phase) for o in make(x, y) if state.valid(*o[1:])]
            reached = {}
            for o in made: reached.setdefault(state.apply(*o[1:]).tobytes(), []).append(o[0])
            reached.pop(key, None)
            assert set(reached) == expected[phase], phase
            for other, gains in reached.items():
                assert np.allclose(gains, f.total(classes[other][0]) - before)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), d=st.integers(3, 9), score=st.sampled_from(["bdeu:10", "bic"]))
def test_results_are_valid_and_never_below_greedy(seed, d, score):
    f = engine(d, seed, score=score)
    greedy, best, found = climb(f), best_network(f, seed=seed), ges(f, seed=seed)
    assert is_dag(best.dag) and best.score >= greedy.score - 1e-6
    assert (dag_to_cpdag(found.dag) == found.cpdag).all()
    empty = f.total(np.zeros((d, d), bool))
    gains = [gain for *_, gain in found.moves]
    assert np.isclose(found.score, empty + sum(gains)) and all(gain > 0 for gain in gains)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_position_of_columns_does_not_matter(seed):
    net = ds.random_network(7, degree=3, states=(2, 3), seed=seed)
    codes, perm = net.codes(300, seed=seed), np.random.default_rng(seed).permutation(7)
    one = Families(codes, net.n_states, score="bdeu:10", names=net.names)
    names = [net.names[c] for c in perm]
    two = Families(codes[:, perm], net.n_states[perm], score="bdeu:10", names=names)
    assert (best_network(two).dag == best_network(one).dag[np.ix_(perm, perm)]).all()
    assert (ges(two).cpdag == ges(one).cpdag[np.ix_(perm, perm)]).all()


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_known_choices_equal_new_ones_after_any_moves(seed):
    f, rng = engine(8, seed), np.random.default_rng(seed)
    allowed = rng.random((8, 8)) < .8
    sets = ParentSets(f, allowed=allowed, max_parents=3)
    now = Ordering(sets, rng.permutation(8))
    for _ in range(12):
        v = int(rng.choice(now.order))
        rest, values = [w for w in now.order if w != v], now.places(v)
        place = int(rng.integers(len(now.order)))
        now = Ordering(sets, [*rest[:place], v, *rest[place:]])
        assert np.isclose(now.value, values[place])
        if rng.random() < .2 and len(now.order) > 3: now = now.without(int(rng.choice(now.order)))
        fresh = Ordering(ParentSets(f, allowed=allowed, max_parents=3, cache_mb=0), now.order)
        assert fresh.choices == now.choices
        assert not (now.network & ~allowed).any() and now.network.sum(0).max() <= 3
        moved = now.improve()
        best = max(moved.places(v).max() for v in moved.order)
        assert np.isclose(moved.value, best) and moved.value >= now.value


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_turned_orders_obey_their_constraint_and_margins_are_losses(seed):
    found = best_ordering(engine(7, seed, n=1000))
    for (i, j), margin in found.margins.items():
        other, = found.turn_each([(i, j)])
        assert (other.order, other.value) == (found.turn(i, j).order, found.turn(i, j).value)
        assert other.order.index(j) < other.order.index(i)
        assert np.isclose(margin, found.value - other.value) and margin > -1e-6


@pytest.mark.parametrize("seed", range(3))
def test_ges_finds_the_class_given_many_rows(seed):
    net = ds.random_network(6, degree=2, states=(2, 2), seed=seed)
    f = Families(net.codes(400_000, seed=seed), net.n_states, score="bic", names=net.names)
    assert ges(f).score >= f.total(net.dag) - 1e-6
    def without(i, j): return f.total(net.dag & ~(np.arange(36).reshape(6, 6) == 6 * i + j))
    losses = [f.total(net.dag) - without(i, j) for i, j in np.argwhere(net.dag)]
    weakest = min(losses, default=1)
    if weakest > 0: assert (ges(f).cpdag == dag_to_cpdag(net.dag)).all()


def test_unknown_phase_is_refused():
    with pytest.raises(ValueError, match="insert, delete, turn"):
        ges(engine(3, 0), phases=("swap",))


@pytest.mark.parametrize("seed", [1, 2])
def test_ties_do_not_depend_on_the_order_of_columns(seed):
    "Insurance has columns that say the same; sums in floating point would settle their ties."
    table = ds.as_table(ds.load_network("insurance").sample(2000, seed=seed), unused="drop")
    mixed = table.select(list(np.random.default_rng(seed).permutation(table.names)))
    a, b = ds.scores.families_of(table, "bdeu:10"), ds.scores.families_of(mixed, "bdeu:10")
    one, two = (best_ordering(families, patience=1, seed=0) for families in (a, b))
    assert [table.names[v] for v in one.order] == [mixed.names[v] for v in two.order]
    assert abs(one.value - two.value) < 1e-6
    swap = [table.names.index(n) for n in mixed.names]
    for child, *parents in ((0, 1, 2), (3, 4), (5, 6, 7, 8)):
        assert b.score(child, parents) == a.score(swap[child], [swap[p] for p in parents])


@quick
@given(st.integers(0, 10**6), st.sampled_from(RULES))
def test_columns_and_labels_do_not_matter(seed, rule):
    codes, n_states = make(seed)
    rng = np.random.default_rng(seed)
    names, perm = np.array(list("uvwxyz")), rng.permutation(6)
    shuffled = np.stack([rng.permutation(n_states[c])[codes[:, c]] for c in perm], axis=1)
    one = Families(codes, n_states, score=rule, names=names)
    two = Families(shuffled, n_states[perm], score=rule, names=names[perm])
    a, b = climb(one, seed=seed % 7), climb(two, seed=seed % 7)
    assert (b.dag == a.dag[np.ix_(perm, perm)]).all()
    assert b.score == pytest.approx(a.score, abs=1e-6)
    for j in range(6):
        found = best_parents(one, perm[j], range(6), seed=1)
        assert found == tuple(sorted(perm[list(best_parents(two, j, range(6), seed=1))].tolist()))


@quick
@given(st.integers(0, 10**6), st.sampled_from(RULES))
def test_search_climbs(seed, rule):
    codes, n_states = make(seed)
    start = random_dag(np.random.default_rng(seed), 6, p=.3)
    families = Families(codes, n_states, score=rule)
    path = [climb(families, start, max_moves=k) for k in (0, 1, 2, 3)] + [climb(families, start)]
    fresh = Families(codes, n_states, score=rule)
    for result in path:
        assert is_acyclic(result.dag)
        assert result.score == pytest.approx(fresh.total(result.dag), abs=1e-6)
    scores = [r.score for r in path]
    assert all(b >= a - 1e-9 for a, b in zip(scores, scores[1:]))
    again = climb(families, path[-1].dag)
    assert again.moves == 0 and (again.dag == path[-1].dag).all()
    for i, j in np.argwhere(~np.eye(6, dtype=bool)):
        other = path[-1].dag.copy()  # i -> j added, dropped, or turned round
        other[j, i], other[i, j] = False, not other[i, j]
        if is_acyclic(other): assert fresh.total(other) <= scores[-1] + 1e-6


@quick
@given(st.integers(0, 10**6), st.sampled_from(RULES))
def test_cached_gains_are_differences_of_totals(seed, rule):
    codes, n_states = make(seed)
    start = random_dag(np.random.default_rng(seed), 6, p=.3)
    families, fresh = Families(codes, n_states, score=rule), Families(codes, n_states, score=rule)
    allowed, required = ~np.eye(6, dtype=bool), np.zeros((6, 6), bool)
    walk = _Climb(families, np.arange(6), start.copy(), allowed, required, None, 0)
    for k in range(4):
        walk.go(k)
        state, before = walk.state, fresh.total(walk.state.dag)
        for i, j in np.argwhere(~np.isnan(state.add)):
            parents = np.flatnonzero(state.dag[:, j])
            change = fresh.score(j, [*parents, i]) - fresh.score(j, parents)
            assert state.add[i, j] == pytest.approx(change, abs=1e-6)
        for i, j in np.argwhere(state.dag):
            parents = np.flatnonzero(state.dag[:, j])
            change = fresh.score(j, parents[parents != i]) - fresh.score(j, parents)
            assert state.drop[i, j] == pytest.approx(change, abs=1e-6)
        assert state.now.sum() == pytest.approx(before)
        leads = np.linalg.matrix_power(np.eye(6) + state.dag, 6).astype(bool)
        assert (state.after.T == leads).all()
        if state.done[0] < k: break
        walk.go(k + 1)
        assert fresh.total(state.dag) >= before
    assert _gains(fresh, climb(families, start).dag).max() <= 1e-6


def _gains(families, dag):
    "What every single change of a network would gain."
    gains, now = [], families.total(dag)
    for i, j in np.argwhere(~np.eye(len(dag), dtype=bool)):
        for turned in (False, True):
            other = dag.copy()
            other[i, j], other[j, i] = not dag[i, j], dag[i, j] and turned
            if is_acyclic(other): gains.append(families.total(other) - now)
    return np.array(gains)


@quick
@given(st.integers(0, 10**6), st.sampled_from(RULES))
def test_weights_are_repeated_rows(seed, rule):
    codes, n_states = make(seed, n=80)
    weights = np.random.default_rng(seed).integers(0, 4, 80)
    weights[0] = 1
    one = Families(codes, n_states, score=rule, weights=weights)
    two = Families(np.repeat(codes, weights, axis=0), n_states, score=rule)
    assert one.counts.total == two.counts.total
    a, b = climb(one), climb(two)
    assert (a.dag == b.dag).all() and a.score == pytest.approx(b.score, abs=1e-6)
    nearly = Families(codes, n_states, score=rule,
                      weights=weights * (1 + 1e-12))  # not whole: no tables of terms
    assert nearly.total(a.dag) == pytest.approx(a.score, abs=1e-4)


@quick
@given(st.integers(0, 10**6))
def test_knowledge_is_obeyed(seed):
    codes, n_states = make(seed)
    rng = np.random.default_rng(seed)
    required = random_dag(rng, 6, p=.1)
    allowed = (rng.random((6, 6)) < .6) | required
    columns = sorted(rng.choice(6, 5, replace=False).tolist())
    result = climb(Families(codes, n_states),
                   columns=columns,
                   allowed=allowed,
                   required=required,
                   max_parents=2)
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
    full = climb(families)
    rest = [0, 1, 3, 4, 5]
    warm = climb(families, full.dag, columns=rest)
    alone = Families(codes[:, rest], n_states[rest], score=rule, names=list("abdef"))
    there = climb(alone, full.dag[np.ix_(rest, rest)])
    assert (warm.dag[np.ix_(rest, rest)] == there.dag).all()
    assert warm.score == pytest.approx(there.score, abs=1e-6)
    assert not warm.dag[2].any() and not warm.dag[:, 2].any()


@quick
@given(st.integers(0, 10**6), st.sampled_from(RULES))
def test_best_parents(seed, rule):
    codes, n_states = make(seed, d=5)
    families = Families(codes, n_states, score=rule)
    everything = [tuple(c for c in range(1, 5) if mask >> c & 1) for mask in range(0, 32, 2)]
    best = max(families.score(0, s) for s in everything)
    assert families.score(0, best_parents(families, 0, range(5))) == pytest.approx(best, abs=1e-6)
    greedy = best_parents(families, 0, range(5), exact=0)
    assert families.score(0) - 1e-9 <= families.score(0, greedy) <= best + 1e-6
    small = max(families.score(0, s) for s in everything if len(s) <= 1)
    assert families.score(0, best_parents(families, 0, range(5),
                                          max_parents=1)) == pytest.approx(small, abs=1e-6)
    assert set(best_parents(families, 0, range(5), required=[2], exact=0)) >= {2}
    fewer = shrink(families, 0, (1, 2, 3, 4))
    assert set(fewer) <= {1, 2, 3, 4} and families.score(0, fewer) >= families.score(0, range(1, 5))


@quick
@given(st.integers(0, 10**6))
def test_order_network_respects_the_order(seed):
    codes, n_states = make(seed)
    order = np.random.default_rng(seed).permutation(6)
    families = Families(codes, n_states, score="bdeu:10")
    result = order_network(families, order)
    assert not np.tril(result.dag[np.ix_(order, order)]).any()
    assert result.score == pytest.approx(families.total(result.dag)) == order_score(families, order)
    assert result.score >= families.total(np.zeros((6, 6), bool)) - 1e-9


def test_forgetting_changes_nothing():
    codes, n_states = make(3, d=10, n=400)
    a = Families(codes, n_states)
    b = Families(codes, n_states, cache_mb=0)
    assert (climb(a).dag == climb(b).dag).all()
    assert b.rows.used[0] <= 64


SCRIPT = """
import numpy as np
from discrete_score.scores import Families
from discrete_score.search import climb
x = np.random.default_rng(0).integers(0, 3, (200, 6))
x[:, 1] = x[:, 0]
print(climb(Families(x, score='bdeu:10'), seed=5).edges)
"""


def test_same_in_another_process():
    command = [sys.executable, "-c", SCRIPT]
    found = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2)]
    assert found[0].stdout == found[1].stdout


def test_searches_keep_their_arguments():
    codes, n_states = make(0)
    copy, weights = codes.copy(), np.ones(len(codes))
    families = Families(codes, n_states, weights=weights)
    start = np.zeros((6, 6), bool)
    climb(families, start)
    assert (codes == copy).all() and (weights == 1).all() and not start.any()


def test_a_full_memory_forgets_and_stays_right():
    codes, n_states = make(1, d=8)
    small, large = Families(codes, n_states, score="bdeu:10",
                            cache_mb=.01), Families(codes, n_states, score="bdeu:10")
    a, b = climb(small), climb(large)
    assert (a.dag == b.dag).all() and np.isclose(a.score, b.score)
    assert 0 < small.rows.used[0] <= large.rows.used[0]


def test_threads_change_nothing_and_compile_nothing():
    from discrete_score.counts import compiled, using_threads
    net, found = ds.random_network(25, degree=2, states=(2, 4), seed=1), []
    codes = net.codes(100_000, seed=1)
    for n in (1, 2, 3):
        with using_threads(n):
            f = Families(codes, net.n_states, score="bdeu:10", names=net.names)
            found.append(best_ordering(f, patience=1))
            if n == 1: signatures = len(compiled().climb_here.signatures)
    assert len(compiled().climb_here.signatures) == signatures
    assert all(o.order == found[0].order and o.value == found[0].value for o in found)
    assert all(o.margins == found[0].margins for o in found)


@pytest.mark.parametrize("score", ["bdeu:10", "bdeu:1", "bic", "qnml"])
@pytest.mark.parametrize("seed", range(3))
def test_wishes_granted_in_one_kernel_or_one_by_one(score, seed):
    "The same parents with the same scores, to the bit; with bounds on memory and on parents, too."
    codes, n_states = make(seed, d=9, n=300)
    for options in ({}, {"max_parents": 2}, {"cache_mb": 1e-3}):
        found = []
        for counted in (True, False):
            sets = ParentSets(Families(codes, n_states, score=score), **options)
            sets._counted = counted
            better = Ordering(sets, range(9)).improve()
            found.append((better.order, better.choices))
        assert found[0] == found[1]

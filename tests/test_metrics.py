"""Properties of the metrics, and agreement with brute force, gadjid and causal-learn."""
import subprocess
import sys
from dataclasses import FrozenInstanceError
from itertools import permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from discrete_score.graphs import (
    consistent_extension, d_top, dag_to_cpdag, full_dag, induced, skeleton, to_causallearn,
    to_networkx, topological_order,
)
from discrete_score.metrics import evaluate, f1, shd, sid

quick = settings(deadline=None, max_examples=50)


@st.composite
def dag_pairs(draw, min_nodes=0, max_nodes=7):
    "Two DAGs on the same nodes, and the order that the first one follows."
    d = draw(st.integers(min_nodes, max_nodes))
    graphs = []
    for _ in range(2):
        order = draw(st.permutations(range(d)))
        bits = draw(st.lists(st.booleans(), min_size=d*d, max_size=d*d))
        graphs.append((full_dag(order) & np.array(bits, bool).reshape(d, d), order))
    return graphs[0][0], graphs[1][0], graphs[0][1]


def random_dag(rng, d, p):
    return full_dag(rng.permutation(d)) & (rng.random((d, d)) < p)


def kinds(est, true):
    "Two DAGs, a class and a DAG, two classes."
    return (est, true), (dag_to_cpdag(est), true), (dag_to_cpdag(est), dag_to_cpdag(true))


def brute_sid(est, true):
    "Peters and Bühlmann's count, by d-separation in the graph without the causal paths."
    graph, wrong = nx.from_numpy_array(true, create_using=nx.DiGraph), 0
    for i, j in permutations(range(len(true)), 2):
        parents, below = set(np.flatnonzero(est[:, i]).tolist()), nx.descendants(graph, i)
        if j in parents: wrong += j in below
        else: wrong += not is_valid_adjustment(graph, i, j, parents, below)
    return wrong


def is_valid_adjustment(graph, i, j, adjust, below):
    "No member lies on or below a causal path from i to j, and all other paths are blocked."
    on_paths = {k for k in below if k == j or j in nx.descendants(graph, k)}
    forbidden = on_paths.union(*(nx.descendants(graph, k) for k in on_paths))
    if adjust & forbidden: return False
    backdoor = graph.copy()
    backdoor.remove_edges_from([(i, k) for k in list(graph.successors(i)) if k in on_paths])
    return nx.is_d_separator(backdoor, {i}, {j}, adjust)


@quick
@given(dag_pairs(max_nodes=5))
def test_sid_agrees_with_brute_force(pair):
    est, true, _ = pair
    assert sid(est, true) == brute_sid(est, true)


def test_sid_agrees_with_brute_force_on_larger_dags():
    rng = np.random.default_rng(0)
    for _ in range(40):
        d = rng.integers(6, 10)
        est, true = random_dag(rng, d, .3), random_dag(rng, d, .3)
        assert sid(est, true) == brute_sid(est, true)


@quick
@given(dag_pairs())
def test_d_top_is_a_lower_bound_on_shd(pair):
    est, true, order = pair
    assert d_top(order, true) <= shd(est, true)
    assert d_top(order, true) == shd(true & full_dag(order), true)


@quick
@given(dag_pairs(max_nodes=6), st.data())
def test_shd_is_a_metric_and_ignores_labels(pair, data):
    est, true, order = pair
    third = full_dag(order)
    move = data.draw(st.permutations(range(len(est))))
    for a, b in kinds(est, true):
        assert shd(a, b) == shd(b, a) and (shd(a, b) == 0) == np.array_equal(a, b)
        assert shd(a, b) <= shd(a, third) + shd(third, b)
        moved = evaluate(induced(a, move), induced(b, move))
        assert moved.series().equals(evaluate(a, b).series())


@quick
@given(dag_pairs())
def test_sid_is_zero_for_full_dags_of_true_orders(pair):
    _, true, _ = pair
    assert sid(true, true) == 0
    assert sid(full_dag(topological_order(true, seed=0)), true) == 0


@quick
@given(dag_pairs(min_nodes=1))
def test_one_call_agrees_with_the_single_ones(pair):
    est, true, order = pair
    result, n = evaluate(est, true, order), true.sum()
    def alone(**how): return shd(est, true, **how), sid(est, true, **how), d_top(order, true, **how)
    assert (result.shd, result.sid, result.d_top) == alone()
    assert result.f1 == f1(est, true) or not (n and est.any())
    per_edge = result.shd_per_edge, result.sid_per_edge, result.d_top_per_edge
    if n: assert per_edge == alone(normalize=True)
    else: assert np.isnan(per_edge).all()
    assert 0 <= result.f1.direction <= result.f1.mean <= result.f1.skeleton <= 1
    right = result.f1.direction*(result.n_est + result.n_true)/2 if n or est.any() else 0
    pairs = (skeleton(est) | skeleton(true)).sum()/2
    assert pairs - result.shd == pytest.approx(right)


def test_agrees_with_causallearn():
    from causallearn.graph.AdjacencyConfusion import AdjacencyConfusion
    from causallearn.graph.ArrowConfusion import ArrowConfusion
    from causallearn.graph.SHD import SHD
    rng = np.random.default_rng(0)
    for _ in range(150):
        d = rng.integers(3, 9)
        est, true = random_dag(rng, d, .5), random_dag(rng, d, .5)
        for a, b in kinds(est, true):
            assert shd(a, b) == SHD(to_causallearn(b), to_causallearn(a)).get_shd()
        if not (est.any() and true.any()): continue
        ours, truth, guess = f1(est, true), to_causallearn(true), to_causallearn(est)
        adjacency, arrows = AdjacencyConfusion(truth, guess), ArrowConfusion(truth, guess)
        assert ours.skeleton_precision == pytest.approx(adjacency.get_adj_precision())
        assert ours.skeleton_recall == pytest.approx(adjacency.get_adj_recall())
        assert ours.direction_precision == pytest.approx(arrows.get_arrows_precision())
        assert ours.direction_recall == pytest.approx(arrows.get_arrows_recall())


EDGE, BACK, LINE, NONE = [[0, 1], [0, 0]], [[0, 0], [1, 0]], [[0, 1], [1, 0]], [[0, 0], [0, 0]]


@pytest.mark.parametrize("est, true, distance, adjacent, directed", [
    (EDGE, EDGE, 0, 1, 1), (BACK, EDGE, 1, 1, 0), (NONE, EDGE, 1, 0, 0), (EDGE, NONE, 1, 0, 0),
    (LINE, EDGE, 1, 1, 0), (EDGE, LINE, 1, 1, 0), (LINE, LINE, 0, 1, 1), (LINE, NONE, 1, 0, 0),
    (NONE, NONE, 0, 1, 1)])
def test_states_of_one_pair(est, true, distance, adjacent, directed):
    score = f1(est, true)
    assert (shd(est, true), score.skeleton, score.direction) == (distance, adjacent, directed)


@quick
@given(dag_pairs(min_nodes=2))
def test_an_open_edge_is_never_better_than_a_right_one(pair):
    est, true, _ = pair
    opened = est | (est & true).T
    assert shd(opened, true) == shd(est, true) + (est & true).sum()
    before, after = f1(est, true), f1(opened, true)
    assert after.skeleton == before.skeleton and after.direction <= before.direction


def test_extension_of_the_true_class_by_a_true_order_is_perfect():
    rng = np.random.default_rng(0)
    for _ in range(50):
        true = random_dag(rng, 10, .3)
        order = topological_order(true, seed=rng)
        result = evaluate(consistent_extension(dag_to_cpdag(true), order), true, order)
        assert (result.shd, result.sid, result.d_top, result.f1.mean) == (0, 0, 0, 1)


def test_graph_objects_are_matched_by_name():
    dag, names = np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]], bool), ("a", "b", "c")
    true = to_networkx(dag, names)
    est = nx.DiGraph([("c", "b"), ("a", "c")])
    assert shd(est, true) == shd(est, dag, names=names) == 2
    assert evaluate(est, true, order="acb").d_top == 0
    with pytest.raises(ValueError, match="`est`.*Pass `names`"): shd(est, dag)
    with pytest.raises(ValueError, match="lacks: `z`"):
        shd(nx.DiGraph([("a", "z"), ("b", "c")]).subgraph("azb"), true)
    assert shd(to_causallearn(dag), dag) == 0


@pytest.mark.parametrize("metric", [shd, sid, f1, evaluate])
@pytest.mark.parametrize("est, message", [
    (np.zeros((3, 3)), "same nodes"), (np.eye(4), "points to itself"), (np.zeros((4, 3)), "square"),
    (np.roll(np.eye(4), 1, axis=1), "directed cycle"), (np.full((4, 4), .5), "0 and 1 only")])
def test_bad_graphs_are_refused(metric, est, message):
    with pytest.raises(ValueError, match=message): metric(est, np.zeros((4, 4)))


def test_a_cycle_of_two_is_an_undirected_edge_and_has_no_sid():
    with pytest.raises(ValueError, match="`est`: .*0 — 1.*consistent_extension"): sid(LINE, EDGE)
    assert evaluate(LINE, EDGE).sid is None and evaluate(LINE, EDGE).sid_per_edge is None


def test_results_are_frozen_and_inputs_untouched():
    rng = np.random.default_rng(0)
    est, true = random_dag(rng, 6, .5), random_dag(rng, 6, .5)
    copies = est.copy(), true.copy()
    result = evaluate(est, true, range(6))
    assert np.array_equal(est, copies[0]) and np.array_equal(true, copies[1])
    with pytest.raises(FrozenInstanceError): result.shd = 0
    with pytest.raises(FrozenInstanceError): result.f1.skeleton = 0


def test_two_hundred_nodes():
    rng = np.random.default_rng(0)
    est, true = random_dag(rng, 200, .02), random_dag(rng, 200, .02)
    result = evaluate(est, true, rng.permutation(200))
    assert 0 < result.d_top < result.n_true and 0 < result.sid <= 200*199


def test_import_is_light():
    heavy = "torch", "pgmpy", "causallearn", "gadjid", "matplotlib", "scipy.stats", "fastcore"
    code = f"import sys, discrete_score.metrics; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

"""Properties of graphs and orders, and agreement with networkx and causal-learn."""
import os
from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from discrete_score.graphs import (
    check_dag, check_order, check_pdag, closure, consistent_extension, d_top, dag_to_cpdag,
    edge_list, from_causallearn, from_networkx, full_dag, induced, is_dag, is_order, is_pdag,
    markov_blanket, moral_graph, potential_sinks, reachable, reduced, skeleton, to_causallearn,
    to_networkx, to_pgmpy, topological_order, v_structures)

SLOW = bool(os.environ.get("SLOW"))
quick = settings(deadline=None, max_examples=500 if SLOW else 50)


@st.composite
def dags(draw, min_nodes=0, max_nodes=8):
    d = draw(st.integers(min_nodes, max_nodes))
    order = draw(st.permutations(range(d)))
    bits = draw(st.lists(st.booleans(), min_size=d * d, max_size=d * d))
    return full_dag(order) & np.array(bits, bool).reshape(d, d)


@st.composite
def graphs(draw, max_nodes=6):
    d = draw(st.integers(0, max_nodes))
    bits = draw(st.lists(st.booleans(), min_size=d * d, max_size=d * d))
    return np.array(bits, bool).reshape(d, d)


def random_dag(rng, d, p):
    return full_dag(rng.permutation(d)) & (rng.random((d, d)) < p)


def members(pdag):
    "All DAGs with the skeleton, arrows and v-structures of `pdag`, by brute force."
    lines, arrows, found = np.argwhere(np.triu(pdag & pdag.T)), pdag & ~pdag.T, []
    for flips in product((False, True), repeat=len(lines)):
        dag = arrows.copy()
        for (i, j), flip in zip(lines, flips): dag[(j, i) if flip else (i, j)] = True
        if is_dag(dag) and np.array_equal(v_structures(dag), v_structures(pdag)): found.append(dag)
    return found


@quick
@given(graphs())
def test_is_dag_agrees_with_networkx(graph):
    theirs = nx.from_numpy_array(graph, create_using=nx.DiGraph)
    assert is_dag(graph) == nx.is_directed_acyclic_graph(theirs)
    if is_dag(graph): assert is_pdag(graph)
    else:
        with pytest.raises(ValueError): check_dag(graph)


@quick
@given(dags(), st.integers(0, 2**32 - 1))
def test_topological_orders(dag, seed):
    before = dag.copy()
    order = topological_order(dag, seed=seed)
    assert is_order(order, dag) and is_order(topological_order(dag), dag)
    assert np.array_equal(order, topological_order(dag, seed=seed))
    assert np.array_equal(order, topological_order(dag, seed=np.random.default_rng(seed)))
    theirs = nx.lexicographical_topological_sort(to_networkx(dag))
    assert topological_order(dag).tolist() == list(theirs)
    assert np.array_equal(dag, before)


@quick
@given(dags(), st.data())
def test_d_top_counts_what_the_order_forbids(dag, data):
    order = data.draw(st.permutations(range(len(dag))))
    wrong = sum(order.index(i) > order.index(j) for i, j in np.argwhere(dag))
    names = [f"v{k}" for k in range(len(dag))]
    assert d_top(order, dag) == d_top([names[k] for k in order], dag, names=names) == wrong
    assert d_top(order, dag) + d_top(order[::-1], dag) == dag.sum()
    assert (dag & ~full_dag(order)).sum() == wrong


@quick
@given(dags(), st.data())
def test_relabelling_nodes_relabels_results(dag, data):
    move = np.array(data.draw(st.permutations(range(len(dag)))), int)
    moved = induced(dag, move)
    for function in (dag_to_cpdag, skeleton, reachable, moral_graph):
        assert np.array_equal(function(moved), induced(function(dag), move))
    cpdag = dag_to_cpdag(dag)
    assert sorted(move[potential_sinks(induced(cpdag, move))]) == potential_sinks(cpdag).tolist()


@quick
@given(seed=st.integers(0, 10**4), d=st.integers(0, 9))
def test_closure_follows_every_path(seed, d):
    arrows = np.random.default_rng(seed).random((d, d)) < .25
    paths = sum(np.linalg.matrix_power(arrows.astype(int), k) for k in range(1, d + 1)) > 0
    assert (closure(arrows) == paths).all()
    assert is_dag(arrows & ~closure(arrows).T)


@quick
@given(dags(min_nodes=1))
def test_parts_agree_with_networkx(dag):
    graph = to_networkx(dag)
    nodes = range(len(dag))
    paths = nx.to_numpy_array(nx.transitive_closure_dag(graph), nodelist=nodes) > 0
    assert np.array_equal(reachable(dag), paths)
    assert np.array_equal(reachable(dag, themselves=True), paths | np.eye(len(dag), dtype=bool))
    drawn = nx.to_numpy_array(nx.transitive_reduction(graph), nodelist=nodes) > 0
    assert np.array_equal(reduced(dag), drawn) and np.array_equal(reduced(paths), drawn)
    assert {tuple(row) for row in v_structures(dag).tolist()} == {
        (min(i, j), k, max(i, j)) for i, k, j in nx.dag.v_structures(graph)}
    moral = nx.moral_graph(graph)
    for node in range(len(dag)): assert set(markov_blanket(dag, node).tolist()) == set(moral[node])


def test_parts_of_a_graph_without_nodes():
    nothing = np.zeros((0, 0), bool)
    assert reachable(nothing).shape == reduced(nothing).shape == (0, 0)


@quick
@given(dags(max_nodes=5))
def test_cpdag_is_the_union_of_the_class(dag):
    cpdag = dag_to_cpdag(dag)
    assert np.array_equal(cpdag, np.any(members(skeleton(dag) & ~v_arrows(dag).T), axis=0))


def v_arrows(dag):
    arrows = np.zeros_like(dag)
    for i, k, j in v_structures(dag): arrows[i, k] = arrows[j, k] = True
    return arrows


@quick
@given(dags(max_nodes=7), st.data())
def test_extension_is_a_member_and_follows_the_order(dag, data):
    cpdag = dag_to_cpdag(dag)
    order = data.draw(st.permutations(range(len(dag))))
    extension = consistent_extension(cpdag, order)
    assert np.array_equal(dag_to_cpdag(extension), cpdag)
    assert np.array_equal(consistent_extension(cpdag, topological_order(dag)), dag)
    assert d_top(order, extension) >= d_top(order, cpdag & ~cpdag.T)
    assert np.array_equal(consistent_extension(dag, order), dag)


@quick
@given(graphs(max_nodes=5))
def test_extension_exists_exactly_when_brute_force_finds_one(graph):
    pdag = graph & ~np.eye(len(graph), dtype=bool)
    if not is_pdag(pdag): return
    found = members(pdag)
    if found: assert any(np.array_equal(consistent_extension(pdag), dag) for dag in found)
    else:
        with pytest.raises(ValueError, match="no consistent extension.*—"):
            consistent_extension(pdag)


@quick
@given(dags(min_nodes=1, max_nodes=7), st.integers(0, 1000))
def test_removing_potential_sinks_gives_an_order_of_a_member(dag, seed):
    rng, cpdag = np.random.default_rng(seed), dag_to_cpdag(dag)
    left, order = list(range(len(dag))), []
    while left:
        sinks = potential_sinks(cpdag, among=left)
        assert np.array_equal(sinks, np.array(left)[potential_sinks(induced(cpdag, left))])
        order.insert(0, int(rng.choice(sinks)))
        left.remove(order[0])
    extension = consistent_extension(cpdag, order)
    assert is_order(order, extension) and np.array_equal(dag_to_cpdag(extension), cpdag)


def test_extension_is_close_to_the_best_one():
    rng, excess = np.random.default_rng(0), []
    while len(excess) < 100:
        dag = random_dag(rng, 7, .35)
        cpdag = dag_to_cpdag(dag)
        if not 2 <= (cpdag & cpdag.T).sum() // 2 <= 7: continue
        order = rng.permutation(7)
        fewest = min(d_top(order, one) for one in members(cpdag))
        excess.append(d_top(order, consistent_extension(cpdag, order)) - fewest)
    assert min(excess) == 0 and np.mean(np.array(excess) > 0) < .15


def test_extension_takes_the_latest_sink_where_none_agrees():
    chain = skeleton(np.eye(3, k=1, dtype=bool))
    assert edge_list(consistent_extension(chain, "xzy", names="xyz"), "xyz") == ["x → y", "y → z"]
    assert edge_list(consistent_extension(chain, "zxy", names="xyz"), "xyz") == ["y → x", "z → y"]


def test_default_extension_does_not_follow_the_columns():
    chain = skeleton(np.eye(30, k=1, dtype=bool))
    forward = [consistent_extension(chain, seed=seed)[0, 1] for seed in range(20)]
    assert not all(forward)
    assert np.array_equal(consistent_extension(chain), consistent_extension(chain, seed=0))
    assert np.array_equal(consistent_extension(chain, seed=None), np.eye(30, k=1, dtype=bool))


def causallearn_dag(dag):
    from causallearn.graph.Dag import Dag
    general = to_causallearn(dag)
    graph = Dag(general.get_nodes())
    graph.graph, graph.dpath = general.graph, general.dpath
    return graph


def test_agrees_with_causallearn_on_hundreds_of_dags():
    from causallearn.utils.DAG2CPDAG import dag2cpdag
    from causallearn.utils.PDAG2DAG import pdag2dag
    rng = np.random.default_rng(0)
    for _ in range(400 if SLOW else 200):
        dag = random_dag(rng, rng.integers(2, 13), rng.uniform(.1, .8))
        theirs = dag2cpdag(causallearn_dag(dag))
        cpdag = dag_to_cpdag(dag)
        assert np.array_equal(from_causallearn(theirs), cpdag)
        extension = check_dag(pdag2dag(theirs))
        assert np.array_equal(extension, consistent_extension(cpdag, topological_order(extension)))


def test_two_hundred_nodes():
    rng = np.random.default_rng(0)
    for p in (.01, .1, .9):
        dag = random_dag(rng, 200, p)
        cpdag = dag_to_cpdag(dag)
        extension = consistent_extension(cpdag, rng.permutation(200))
        assert np.array_equal(dag_to_cpdag(extension), cpdag)
        assert np.array_equal(consistent_extension(cpdag, topological_order(dag, seed=0)), dag)


@quick
@given(dags(min_nodes=1, max_nodes=6), st.randoms())
def test_converters_return_what_they_got(dag, random):
    names = [f"v{k}" for k in range(len(dag))]
    random.shuffle(names)
    for pdag in (dag, dag_to_cpdag(dag)):
        assert np.array_equal(from_networkx(to_networkx(pdag, names), names), pdag)
        assert np.array_equal(from_causallearn(to_causallearn(pdag, names), names), pdag)
        assert np.array_equal(check_pdag(to_causallearn(pdag)), pdag)


def test_pgmpy_round_trip_and_reading_its_pdag():
    from pgmpy.base import PDAG
    names, dag = ("a", "b", "c"), np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]], bool)
    model = to_pgmpy(dag, names)
    assert type(model).__name__ == "DiscreteBayesianNetwork" and set(model.nodes) == set(names)
    assert np.array_equal(from_networkx(model, names), dag)
    pdag = PDAG(directed_ebunch=[("a", "b")], undirected_ebunch=[("b", "c")])
    assert edge_list(check_pdag(pdag, names), names) == ["a → b", "b — c"]


def test_arrows_reach_causallearn_with_their_direction():
    graph = to_causallearn([[0, 1], [0, 0]], ("cause", "effect"))
    assert str(graph.get_graph_edges()[0]) == "cause --> effect"
    assert graph.is_ancestor_of(graph.get_node("cause"), graph.get_node("effect"))


def test_reads_what_pc_and_ges_return():
    from causallearn.search.ConstraintBased.PC import pc
    from causallearn.search.ScoreBased.GES import ges
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 500))
    data = np.column_stack([a, a + b + .3 * rng.normal(size=500), b])
    for graph in (pc(data, show_progress=False), ges(data)["G"]):
        assert edge_list(check_pdag(graph), "abc") == ["a → b", "c → b"]


@pytest.mark.parametrize("order, message", [
    ([0, 1], "lacks `2`"), ([0, 1, 1], "more than once"), ([0, 1, 3], "integers 0 to 2"),
    (["x", 1, 2], "pass `names`"), ([0, 1, 2.5], "not a node"), ([0, 1, 2, 0], "more than once"),
    ([], "lacks `0`, `1`, `2`")])
def test_orders_that_are_no_permutation(order, message):
    with pytest.raises(ValueError, match=message): check_order(order, 3)

"""Two graphs side by side, and graphs for other tools."""
import io
import json

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from shell import in_shell
import discrete_score as ds
from discrete_score import cli
from discrete_score.dag import VERDICTS, DagResult, compare_graphs

seeds = st.integers(0, 2**16)


def drawn(seed, d=5):
    "A random graph with random marks, its columns in random order."
    rng = np.random.default_rng(seed)
    place = rng.permutation(d)
    dag = (place[:, None] < place) & (rng.random((d, d)) < .5)
    names = tuple("abcdefgh"[:d])
    order = tuple(names[k] for k in np.argsort(place))
    kinds = ("known", "compelled", "voted", "open")
    marks = {(names[i], names[j]): kinds[rng.integers(4)] for i, j in np.argwhere(dag)}
    return DagResult(dag, names, order, "none", "own", {}, marks=marks)


@given(seeds, seeds)
@settings(max_examples=40)
def test_a_comparison_counts_every_pair_once(one, two):
    first, second = drawn(one), drawn(two)
    found = compare_graphs(first, second)
    assert sum(found.count(word) for word in VERDICTS) == len(found.pairs)
    differ = len(found.pairs) - found.count("same") - found.count("other mark")
    assert found.shd == differ == ds.shd(first.pdag(), second.pdag())
    assert found.sid == ds.sid(first.dag, second.dag)
    back = compare_graphs(second, first)
    assert back.shd == found.shd and back.count("turned") == found.count("turned")
    assert back.count("only in the first") == found.count("only in the second")
    same = compare_graphs(first, first)
    assert same.shd == same.sid == 0 and same.count("same") == len(first.edges)
    assert json.dumps(found.to_dict())


def test_columns_may_come_in_another_order():
    first = drawn(3)
    at = [4, 2, 0, 1, 3]
    names = tuple(first.names[k] for k in at)
    other = DagResult(first.dag[np.ix_(at, at)], names, first.order, "none", "own", {},
                      marks=first.marks)
    assert compare_graphs(first, other).shd == compare_graphs(first, other).sid == 0
    with pytest.raises(ValueError, match="only in the second: f"):
        compare_graphs(first, drawn(3, d=6))


@given(seeds)
@settings(max_examples=20)
def test_graphml_and_dot_carry_every_mark(seed):
    graph = drawn(seed)
    read = nx.read_graphml(io.BytesIO(graph.to_graphml().encode()))
    assert {(a, b): mark for a, b, mark in read.edges(data="mark")} == graph.marks
    assert set(read) == set(graph.names)
    dot = graph.to_dot()
    for (a, b), mark in graph.marks.items():
        line = next(text for text in dot.splitlines() if f'"{a}" -> "{b}"' in text)
        assert f'mark="{mark}"' in line and ("dir=none" in line) == (mark == "open")


def test_the_commands(tmp_path):
    data, result, graph = (tmp_path / name for name in ("d.csv", "order.json", "graph.json"))
    assert cli.main(["simulate", "--network", "asia", "--rows", "2000", "-o", str(data),
                     "--truth", str(tmp_path / "truth.json")]) == 0
    assert in_shell("order", data, "--out", result)[0] == 0
    assert in_shell("dag", data, "--base", "ges", "--out", graph)[0] == 0
    out = tmp_path / "far.json"
    code, said, _ = in_shell("compare", result, graph, "--out", out)
    assert code == 0 and said.count("\n") > 3 and "SHD" in said and "order" in said
    found = compare_graphs(ds.load_order(result).dag(), ds.load_dag(graph))
    assert json.loads(out.read_text())["shd"] == found.shd
    true = in_shell("compare", result, tmp_path / "truth.json")[1]
    assert true.splitlines()[:2] == in_shell("compare", result, "asia")[1].splitlines()[:2]
    for bad, word in ((("alarm",), "other columns"), ((data,), "is not JSON"),
                      (("nothing.json",), "nothing.json")):
        code, _, err = in_shell("compare", result, *bad)
        assert code == 2 and word in err and err.count("\n") == 1
    for ending, start in ((".graphml", "<"), (".dot", "digraph"), (".gv", "digraph")):
        path = tmp_path / f"graph{ending}"
        assert in_shell("dag", data, "--out", path)[0] == 0
        assert path.read_text(encoding="utf-8").startswith(start)
    names = nx.read_graphml(tmp_path / "graph.graphml")
    assert set(names) == set(ds.load_network("asia").names)


def test_confidence_goes_with_the_graph(tmp_path):
    frame = ds.load_network("asia").sample(500, seed=1)
    graph = ds.DiscreteScore(unused="drop").fit(frame).dag(bootstrap=3)
    graph.save(tmp_path / "g.graphml")
    read = nx.read_graphml(tmp_path / "g.graphml")
    assert all({"mark", "confidence"} <= set(about) for *_, about in read.edges(data=True))

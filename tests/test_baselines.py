"Baselines: valid graphs that obey orders, references reached, GAM's level, ORDCD's directions."
import importlib.util
import os
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import ndtr

import discrete_score as ds
from discrete_score.baselines import BASELINES, LearnedGraph, OrdinalFamilies, extension, learn
from discrete_score.baselines import without_cycles
from discrete_score.data import Schema, Table
from discrete_score.scores import families_of
from discrete_score.search import order_score
from discrete_score.graphs import check_pdag, dag_to_cpdag, from_causallearn, full_dag, is_dag
from discrete_score.graphs import is_pdag, skeleton, topological_order

SEEDS = range(3 if os.environ.get("SLOW") else 1)
OWN = ["ges", "ges-bic", "ges-bdeu", "ordcd", "gam", "order-search", "hill-climbing"]
HAS_AGRUM = importlib.util.find_spec("pyagrum") is not None
HERE = [name for name, b in BASELINES.items() if b.package != "pyagrum" or HAS_AGRUM]


def sample(seed, d=6, n=600, degree=2, states=(2, 3)):
    net = ds.random_network(d, degree=degree, states=states, seed=seed)
    return net, ds.as_table(net.sample(n, seed=seed), unused="drop")


def random_graph(rng, d):
    "Any mixture of arrows and lines, cycles included."
    kinds = np.triu(rng.integers(4, size=(d, d)), 1)
    return (kinds == 1) | (kinds == 2).T | (kinds == 3) | (kinds == 3).T


@settings(max_examples=150)
@given(st.integers(0, 10**9), st.integers(1, 8), st.booleans())
def test_extension_keeps_all_edges_and_all_arrows_off_cycles(seed, d, is_class):
    rng = np.random.default_rng(seed)
    graph, order = random_graph(rng, d), rng.permutation(d)
    pdag, dag = without_cycles(graph), extension(graph, order, is_class=is_class)
    check_pdag(pdag)
    assert is_dag(dag) and (skeleton(dag) == skeleton(graph)).all()
    assert (pdag | graph == pdag).all() and dag[pdag & ~pdag.T].all()
    arrows = graph & ~graph.T
    given_up = arrows & ~(pdag & ~pdag.T)
    way_back = np.linalg.matrix_power(np.eye(d) + arrows.astype(float), d).T > 0
    assert way_back[given_up].all()


@settings(max_examples=100)
@given(st.integers(0, 10**9), st.integers(2, 9))
def test_extension_of_a_class_is_a_member_and_a_true_order_gives_the_network_back(seed, d):
    rng = np.random.default_rng(seed)
    dag = np.triu(rng.random((d, d)) < .4, 1)[np.ix_(*[rng.permutation(d)] * 2)]
    cpdag = dag_to_cpdag(dag)
    assert (dag_to_cpdag(extension(cpdag, seed=seed)) == cpdag).all()
    assert (extension(cpdag, topological_order(dag, seed=seed)) == dag).all()
    names = tuple(f"v{j}" for j in range(d))
    learned = LearnedGraph("x", cpdag, names, 0., {})
    assert (learned.dag([names[j] for j in topological_order(dag)]) == dag).all()
    assert is_dag(learned.dag())


@pytest.mark.parametrize("name", [n for n in HERE if n != "k2"])
def test_graphs_are_valid_and_follow_an_order(name):
    for seed in range(3) if name in OWN else SEEDS:
        net, table = sample(seed)
        order = topological_order(net.dag, seed=seed)
        free, bound = learn(table, name, seed=seed), learn(table, name, order=order, seed=seed)
        assert is_pdag(free.graph) and is_dag(free.dag())
        assert free.order is None and free.seconds > 0
        assert (bound.graph <= full_dag(order)).all()
        assert bound.order == tuple(table.names[k] for k in order)
        assert free.settings.keys() == BASELINES[name].options.keys() and name in repr(free)
        backwards = learn(table, name, order=[table.names[k] for k in order[::-1]]).graph
        assert (backwards <= full_dag(order[::-1])).all()


@pytest.mark.parametrize("name", [n for n in HERE if n != "k2"])
def test_order_of_columns_and_rows_changes_nothing(name):
    net, table = sample(11, n=400)
    rng, at = np.random.default_rng(0), np.random.default_rng(1).permutation(table.d)
    other = table.select([table.names[k] for k in at]).take(rng.permutation(table.n))
    for order in (None, [table.names[k] for k in topological_order(net.dag)]):
        a, b = learn(table, name, order=order), learn(other, name, order=order)
        assert (a.graph[np.ix_(at, at)] == b.graph).all()
        assert (a.dag()[np.ix_(at, at)] == b.dag()).all()


@pytest.mark.parametrize("name", [n for n in HERE if n not in ("k2", "ordcd")])
def test_names_and_numbering_of_states_change_nothing(name):
    net, table = sample(12, n=400)
    rng = np.random.default_rng(0)
    codes = [rng.permutation(m)[table.codes[:, j]] for j, m in enumerate(table.n_states)]
    turned = Table(table.schema, np.column_stack(codes))
    assert (learn(table, name).graph == learn(turned, name).graph).all()


@pytest.mark.parametrize("name", [n for n in HERE if n not in ("k2", "pgmpy")])
def test_weights_are_repeated_rows(name):
    net, table = sample(13, n=500, states=(2, 2))
    assert table.distinct().n < table.n
    assert (learn(table, name).graph == learn(table.distinct(), name).graph).all()


def test_ges_reaches_the_score_of_causal_learn():
    from causallearn.search.ScoreBased.GES import ges
    for seed in range(4):
        net, table = sample(seed, d=5, n=300, states=(2, 3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reference = from_causallearn(ges(np.asarray(table.codes), "local_score_BDeu")["G"])
        families, ours = families_of(table, "bdeu:1"), learn(table, "ges-bdeu", score="bdeu:1")
        assert families.total(ours.dag()) >= families.total(extension(reference)) - 1e-6


def test_pc_and_ges_find_classes_that_data_show_clearly():
    net = ds.load_network("sachs")
    data = net.sample(5000, seed=3)
    for name in ("pc", "ges-bic", "ges-bdeu", "order-search"):
        assert ds.f1(learn(data, name).dag(), net.dag).skeleton > .93
    assert (learn(data, "ges-bic").graph == dag_to_cpdag(net.dag)).all()


def test_pc_is_that_of_causal_learn():
    from causallearn.search.ConstraintBased.PC import pc
    net, table = sample(5, d=7, n=1500, states=(2, 3))
    found = pc(np.asarray(table.codes), .01, "gsq", show_progress=False)
    reference = from_causallearn(found, bidirected="undirected")
    assert (skeleton(learn(table, "pc").graph) == skeleton(reference)).all()
    looser, stricter = (learn(table, "pc", alpha=alpha) for alpha in (.3, 1e-8))
    assert looser.graph.sum() > stricter.graph.sum() and looser.settings["alpha"] == .3


def test_level_and_power_of_gam_under_a_true_order():
    false = nulls = found = edges = 0
    for seed in range(6):
        net, table = sample(seed, d=12, n=4000, states=(3, 5))
        graph = learn(table, "gam", order=topological_order(net.dag, seed=seed)).graph
        false, nulls = false + (graph & ~net.dag).sum(), nulls + 66 - net.dag.sum()
        found, edges = found + (graph & net.dag).sum(), edges + net.dag.sum()
    # the level is .001, of a model that leaves out interactions
    assert false / nulls < .01 and found / edges > .8


def test_gam_options():
    net, table = sample(1, d=6, n=1500, degree=4)
    either, both = learn(table, "gam").graph, learn(table, "gam", combine="and").graph
    assert (both <= either).all() and (either == either.T).all()
    wald, ratio = (learn(table, "gam", order=range(6), test=t).graph for t in ("wald", "ratio"))
    assert (wald != ratio).sum() <= 2
    assert learn(table, "gam", cutoff=1e-12).graph.sum() <= both.sum()
    for option, value in [("combine", "xor"), ("cutoff", 0), ("test", "score")]:
        with pytest.raises(ValueError, match=f"`{option}`"): learn(table, "gam", **{option: value})


def ordinal_chain(seed, n=4000, d=4, m=4):
    "A chain whose links are cumulative probit regressions on factors."
    rng = np.random.default_rng(seed)
    codes = np.empty((n, d), int)
    codes[:, 0] = rng.choice(m, n, p=rng.dirichlet(np.full(m, 5.)))
    for j in range(1, d):
        theta = np.sort(rng.normal(size=m - 1) * .5) + np.linspace(-.8, .8, m - 1)
        beta = rng.permutation(np.linspace(-1.5, 1.5, m))
        codes[:, j] = (rng.random(n)[:, None] > ndtr(theta - beta[codes[:, j - 1], None])).sum(1)
    at = rng.permutation(d)
    place = np.argsort(at)
    dag = np.zeros((d, d), bool)
    for j in range(1, d): dag[place[j - 1], place[j]] = True
    schema = Schema([f"x{j}" for j in range(d)], [[str(k) for k in range(m)]] * d)
    return Table(schema, codes[:, at]), dag


def test_ordcd_directs_edges_that_no_independence_directs():
    right = free = 0
    for seed in range(8):
        table, dag = ordinal_chain(seed)
        right += (learn(table, "ordcd").graph == dag).all()
        oriented = learn(table, "ordcd", orient=dag_to_cpdag(dag)).graph
        free += (oriented == dag).all()
        assert (skeleton(oriented) == skeleton(dag)).all()
    # one in four by chance: a chain of four has four orientations without a v-structure
    assert right >= 6 and free >= 6


def test_ordcd_recovers_earthquake():
    net = ds.load_network("earthquake")
    assert (learn(net.sample(10_000, seed=0), "ordcd").graph == net.dag).all()


def test_ordcd_scores_and_orientation():
    net, table = sample(2, d=6, n=800, states=(3, 4), degree=4)
    families, found = OrdinalFamilies(table), learn(table, "ordcd")
    assert families.total(found.graph) > families.total(np.zeros_like(found.graph))
    for i, j in np.argwhere(~np.eye(6, dtype=bool)):  # no single edge changed does better
        other = found.graph.copy()
        other[i, j] = not other[i, j]
        if is_dag(other): assert families.total(other) <= families.total(found.graph) + 1e-3
    assert families.score(0, [1, 2]) == pytest.approx(families.extend(0, [1], [2])[2])
    pdag = learn(table, "ges-bic").graph
    oriented = learn(table, "ordcd", orient=pdag).graph
    start = extension(pdag, names=table.names)
    assert oriented[pdag & ~pdag.T].all()
    assert families.total(oriented) >= families.total(start) - 1e-6
    logit = learn(table, "ordcd", link="logit")
    assert is_dag(logit.graph) and logit.settings["link"] == "logit"
    assert (learn(table, "ordcd", max_parents=1).graph.sum(0) <= 1).all()


def test_with_an_order_the_order_search_takes_the_best_parents():
    net, table = sample(4, d=5, n=500)
    order, families = topological_order(net.dag), families_of(table, "bdeu:10")
    found = learn(table, "order-search", order=order)
    assert families.total(found.graph) == pytest.approx(order_score(families, order))
    climbed = learn(table, "hill-climbing", order=order)
    assert families.total(climbed.graph) <= families.total(found.graph) + 1e-6


@pytest.mark.parametrize("name, options, error, text", [
    ("lingam", {}, ValueError, "there are pc, ges, ges-bic, ges-bdeu, .*ordcd, gam"),
    ("ges", {"alpha": 1}, TypeError, "no option `alpha`; it has score, max_parents"),
    ("ges", {"order": [0, 1]}, ValueError, "the order lacks"),
    ("ges", {"score": "aic"}, ValueError, "unknown score"),
    ("ordcd", {"link": "x"}, ValueError, "`link`"),
])
def test_errors_name_what_is_wrong(name, options, error, text):
    with pytest.raises(error, match=text): learn(sample(0, n=100)[1], name, **options)


def test_tables_that_a_baseline_cannot_take_are_named():
    _, table = sample(0, n=100)
    gaps = pd.DataFrame({"a": [1.5, None], "b": [1, 2]})
    with pytest.raises(ValueError, match="missing"): learn(gaps, "ges")
    halves = Table(table.schema, table.codes, np.full(table.n, .5))
    with pytest.raises(ValueError, match="whole `weights`"): learn(halves, "pc")
    assert is_pdag(learn(halves, "ges").graph)


def test_facts_of_the_learners():
    without = [name for name, baseline in BASELINES.items() if not baseline.has_score]
    assert without == ["pc", "gam", "miic", "k2", "ghc"]
    assert [name for name, baseline in BASELINES.items() if baseline.needs_order] == ["k2"]
    assert all(BASELINES.texts[name] for name in BASELINES)


@pytest.mark.skipif(HAS_AGRUM, reason="pyAgrum is installed")
@pytest.mark.parametrize("name", ["miic", "k2", "ghc"])
def test_missing_libraries_are_named(name):
    _, table = sample(0, n=100)
    with pytest.raises(ImportError, match="needs `pyagrum`, which is not installed"):
        learn(table, name)


@pytest.mark.skipif(not HAS_AGRUM, reason="needs pyAgrum")
def test_k2_needs_an_order():
    net, table = sample(0)
    with pytest.raises(ValueError, match="needs an `order`"): learn(table, "k2")
    order = topological_order(net.dag)
    assert (learn(table, "k2", order=order).graph <= full_dag(order)).all()

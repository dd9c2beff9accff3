"The guide with two witnesses: what is known comes first, what is compelled is held everywhere."
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discrete_score as ds
from discrete_score.belief import Belief, claim_confidence, redraw
from discrete_score.graphs import is_dag, is_order, reachable
from discrete_score.guide import guided_order
from discrete_score.order import Guide
from discrete_score.scores import families_of


def table_of(seed, d=9, n=3000):
    net = ds.random_network(d, degree=2.5, states=(2, 3), seed=seed)
    return ds.as_table(net.sample(n, seed=seed), unused="drop")


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**4))
def test_knowledge_first_then_arrows_then_order(seed):
    table, rng = table_of(seed), np.random.default_rng(seed)
    known = {"before": [tuple(rng.choice(table.names, 2, replace=False).tolist())]}
    belief = Belief(rehearsals=0).fit(table, known)
    before = ds.Knowledge(**known).relation(table.names)
    assert isinstance(belief, Guide) and is_dag(belief.arrows_ | before)
    found = guided_order(ds.BlanketScore().fit(table), table.names, "kl_uniform", belief,
                         knowledge=known)
    graph = belief.graph(found.order)
    assert is_order(found.order, graph | belief.arrows_ | before, table.names)
    assert (belief.arrows_ <= graph).all()
    assert not (belief.ordering_.network & belief.joint_.T).any()
    assert (belief.partial_order() == reachable(belief.arrows_)).all()


@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10**4))
def test_rows_and_weights_say_the_same(seed):
    table = table_of(seed, d=7, n=2000)
    one, two = (Belief(rehearsals=0).fit(t) for t in (table, table.distinct()))
    assert (one.arrows_ == two.arrows_).all()
    assert one.triples_.credibility == two.triples_.credibility


def test_weights_that_are_no_counts_silence_the_tests():
    table = ds.load_network("asia").sample(500, seed=0).assign(w=.5)
    model = ds.DiscreteScore().fit(table, sample_weight="w")
    assert not model.partial_order_.any() and model.credibility_.verdict == "cannot tell"


def test_a_table_without_its_causes_is_not_believed():
    "Alarm without the columns with the most effects: nothing is compelled, and it says so."
    alarm = ds.load_network("alarm")
    gone = np.argsort(-alarm.dag.sum(1), kind="stable")[:3]
    frame = alarm.sample(5000, seed=1)
    model = ds.DiscreteScore(unused="drop").fit(frame.drop(columns=[alarm.names[j] for j in gone]))
    assert model.credibility_.verdict == "no" and not model.partial_order_.any()
    assert len(model.credibility_.unexplained) >= 3
    assert set(model.edges_["mark"]) <= {"open", "voted"}


def test_witnesses_and_confidence_come_with_the_edges():
    child = ds.load_network("child")
    model = ds.DiscreteScore().fit(child.sample(5000, seed=0))
    edges = model.edges_
    compelled = edges["mark"] == "compelled"
    assert compelled.any() and set(edges["tests"][compelled]) <= {"collider", "follows"}
    assert (edges["tests"][~compelled] == "").all()
    assert edges["confidence"][compelled].between(.5, 1).all()
    assert edges["confidence"][~compelled].isna().all()
    again = ds.DiscreteScore().fit(child.sample(5000, seed=0))
    assert again.result_ == model.result_


def test_claims_that_come_back_are_believed_more():
    rows = ds.as_table(ds.load_network("insurance").sample(3000, seed=0), unused="drop")
    belief = Belief().fit(rows)
    again = belief.rehearse().again
    assert set(np.unique(again.round(6))) <= {0., .333333, .666667, 1.}
    graph = belief.graph(belief.own_order())
    said = belief.testify(belief.own_order()).witnesses
    assert np.allclose(said["confidence"], claim_confidence(again[graph]))
    claims = said[said["tests"] != ""]["confidence"]
    assert len(claims) == belief.arrows_.sum() and claims.nunique() > 1


def test_a_rehearsal_needs_no_second_search(monkeypatch):
    belief = Belief().fit(table_of(1))
    def refuse(self, allowed): raise AssertionError("a second search")
    monkeypatch.setattr(Belief, "_hold", refuse)
    assert belief.arrows_.any() and belief.rehearse().tables == 3


def test_redrawn_tables_follow_their_network():
    table = table_of(3, d=4, n=20_000)
    counts, chain = families_of(table).counts, np.zeros((4, 4), bool)
    chain[[0, 1], [1, 2]] = True
    rows = redraw(counts, chain, 20_000, seed=0)
    for i, j in ((0, 1), (1, 2)):
        shape = counts.n_states[i], counts.n_states[j]
        seen, drawn = (np.bincount(c[:, i] * shape[1] + c[:, j], minlength=shape[0] * shape[1])
                       for c in (table.codes, rows))
        assert abs(seen - drawn).max() < 500
    assert abs(np.corrcoef(rows[:, 3], rows[:, 0])[0, 1]) < .03


@pytest.mark.parametrize("guide", ["evidence", "halves"])
def test_both_rules_have_names(guide):
    model = ds.DiscreteScore(guide=guide).fit(ds.load_network("asia").sample(500, seed=0))
    assert (model.credibility_ is None) == (guide == "halves")

"""Effects: exact answers, ranges over what a result allows, refusals, and the command."""
import json
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings, strategies as st

from shell import in_shell
import discrete_score as ds
from discrete_score import words
from discrete_score.effects import (
    Effect, adjusted_shares, exact_effect, parent_sets, read_effect, stratified)
from discrete_score.graphs import dag_to_cpdag, is_dag, v_structures
from discrete_score.triples import Credibility

FEW = settings(max_examples=12)
seeds = st.integers(0, 2**16)
STONES = pd.DataFrame(
    [("small", "A", "yes", 81), ("small", "A", "no", 6), ("small", "B", "yes", 234),
     ("small", "B", "no", 36), ("large", "A", "yes", 192), ("large", "A", "no", 71),
     ("large", "B", "yes", 55), ("large", "B", "no", 25)],
    columns=["size", "treatment", "well", "people"])
FIRST = {"tiers": [["size"], ["treatment"], ["well"]]}


def sampled(seed, d=4, rows=400):
    "A table that a random network wrote, and the network."
    net = ds.random_network(d, degree=2, states=(2, 3), seed=seed)
    frame = net.sample(rows, seed=seed).astype(str)
    assume((frame.nunique() > 1).all())
    return net, frame


def members(dag):
    "All DAGs of the class of a DAG."
    pairs, lines = np.argwhere(np.triu(dag | dag.T)), []
    colliders = v_structures(dag).tolist()
    for way in product((0, 1), repeat=len(pairs)):
        one = np.zeros_like(dag)
        for (i, j), turned in zip(pairs, way): one[(j, i) if turned else (i, j)] = True
        if is_dag(one) and v_structures(one).tolist() == colliders: lines.append(one)
    return lines


@given(seeds)
@FEW
def test_a_known_class_allows_the_parents_of_its_members(seed):
    "As IDA proves: locally valid sets are those of the networks of the class."
    net, frame = sampled(seed)
    model = ds.DiscreteScore(guide=dag_to_cpdag(net.dag), identifiers="keep").fit(frame)
    assume("voted" not in set(model.edges_["mark"]))
    assert (model.pdag_ == dag_to_cpdag(net.dag)).all()
    for j, name in enumerate(net.names):
        found = parent_sets(model.result_, name)
        true = {tuple(net.names[i] for i in np.flatnonzero(one[:, j])) for one in members(net.dag)}
        assert set(found) == true and len(found) == len(true)
        assert found[0] == tuple(net.names[i] for i in np.flatnonzero(model.graph_[:, j]))


@given(seeds)
@FEW
def test_a_range_is_never_narrower_than_its_members(seed):
    _, frame = sampled(seed, d=5)
    model = ds.DiscreteScore(identifiers="keep", seed=seed).fit(frame)
    a, b = np.random.default_rng(seed).permutation(list(frame))[:2]
    found = model.effect(a, b)
    least, most, low, high = found.contrasts()
    for one in found.answers:
        assert (found.low <= one.low).all() and (one.high <= found.high).all()
        assert (one.low <= one.estimate + 1e-12).all() and (one.estimate <= one.high + 1e-12).all()
        assert np.allclose(one.estimate.sum(1), 1)
        assert (low <= one.contrasts[1]).all() and (one.contrasts[2] <= high).all()
        alone = model.effect(a, b, adjust=one.parents) if not one.reversed else None
        if alone is not None: assert (found.low <= alone.low).all()
    assert (low <= least).all() and (least <= most).all() and (most <= high).all()
    assert np.allclose(low, -high.transpose(1, 0, 2))
    assert (found.matters()["narrower"] >= 0).all()


@given(seeds)
@FEW
def test_a_stated_root_has_no_parents(seed):
    _, frame = sampled(seed, d=4)
    a, b = np.random.default_rng(seed).permutation(list(frame))[:2].tolist()
    told = ds.DiscreteScore(identifiers="keep", knowledge={"roots": [a]}).fit(frame)
    assert parent_sets(told.result_, a) == [()]
    assert not told.effect(a, b).answers[0].parents


def test_simpsons_paradox_is_solved():
    table = ds.read_table(STONES, weights="people")
    naive = ds.DiscreteScore().fit(table).effect("treatment", "well", adjust=[])
    solved = ds.DiscreteScore(knowledge=FIRST).fit(table).effect("treatment", "well")
    yes = naive.outcomes.index("yes")
    assert naive.frame().query("outcome == 'yes'")["least"].round(3).tolist() == [.78, .826]
    assert [one.parents for one in solved.answers] == [("size",)]
    by_hand = [(357 * 81 / 87 + 343 * 192 / 263) / 700, (357 * 234 / 270 + 343 * 55 / 80) / 700]
    assert solved.least[:, yes] == pytest.approx(by_hand, abs=.005)
    assert naive.contrasts()[0, 0, 1, yes] < 0 < solved.contrasts()[0, 0, 1, yes]
    many = ds.read_table(STONES.assign(people=STONES["people"] * 10), weights="people")
    sure = ds.DiscreteScore(knowledge=FIRST).fit(many).effect("treatment", "well")
    assert "B instead of A would make well = yes less frequent" in repr(sure)


@pytest.mark.parametrize("name, treatment, outcome", [
    ("asia", "smoke", "dysp"), ("asia", "lung", "xray"), ("earthquake", "Alarm", "JohnCalls"),
    ("asia", "bronc", "dysp"), ("sachs", "PKA", "Akt")])
def test_exact_answers_are_those_of_pgmpy(name, treatment, outcome):
    from pgmpy.inference import CausalInference
    net = ds.load_network(name)
    asked = CausalInference(net.to_pgmpy())
    exact = exact_effect(net, treatment, outcome)
    x, y = net.names.index(treatment), net.names.index(outcome)
    assert exact.shape == (len(net.states[x]), len(net.states[y]))
    for state, row in zip(net.states[x], exact):
        said = asked.query([outcome], do={treatment: state}, show_progress=False)
        labels = [said.state_names[outcome].index(label) for label in net.states[y]]
        assert row == pytest.approx(said.values[labels], abs=1e-8)


def test_intervals_hold_the_exact_answer_at_their_level():
    "Bronchitis in asia, given smoking: 200 tables, one share each."
    net = ds.load_network("asia")
    at = [net.names.index(name) for name in ("bronc", "dysp", "smoke")]
    truth, hits = exact_effect(net, at[0], at[1])[0, 0], 0
    for seed in range(200):
        table = ds.as_table(net.sample(500, seed=seed), unused="keep")
        found = adjusted_shares(stratified(table, at[0], at[1], at[2:]), .9)
        hits += found.low[0, 0] <= truth <= found.high[0, 0]
    assert 172 <= hits <= 195


def test_weights_are_rows():
    table = ds.read_table(STONES, weights="people")
    rows = STONES.loc[STONES.index.repeat(STONES["people"])].drop(columns="people")
    one = ds.DiscreteScore(knowledge=FIRST).fit(table).effect("treatment", "well")
    two = ds.DiscreteScore(knowledge=FIRST).fit(rows).effect("treatment", "well")
    pd.testing.assert_frame_equal(one.frame(), two.frame())


def test_columns_and_states_may_be_named_and_ordered_otherwise():
    table = ds.read_table(STONES, weights="people")
    turned = STONES[["people", "well", "size", "treatment"]].replace({"A": "z", "B": "a"})
    options = dict(knowledge=FIRST)
    one = ds.DiscreteScore(**options).fit(table).effect("treatment", "well").frame()
    other = ds.read_table(turned, weights="people")
    two = ds.DiscreteScore(**options).fit(other).effect("treatment", "well").frame()
    two = two.replace({"z": "A", "a": "B"}).sort_values(["do", "outcome"], ignore_index=True)
    pd.testing.assert_frame_equal(one, two)


def test_a_missing_cell_is_no_state_to_set():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 500)
    b = np.where(rng.random(500) < .3, 1 - a, a)
    frame = pd.DataFrame({"a": a, "b": b}).astype(str)
    frame.loc[frame.index % 10 == 0, "a"] = None
    found = ds.DiscreteScore(missing="state").fit(frame).effect("a", "b")
    assert found.states == ("0", "1") and len(found.frame()) == 4
    other = ds.DiscreteScore(missing="state").fit(frame).effect("b", "a")
    assert "(missing)" in other.outcomes


def test_a_state_that_a_stratum_lacks_may_do_anything_there():
    frame = pd.DataFrame({"p": ["u"] * 60 + ["v"] * 40, "x": ["0", "1"] * 30 + ["0"] * 40,
                          "y": ["n", "m"] * 50})
    found = ds.DiscreteScore().fit(frame).effect("x", "y", adjust=["p"])
    assert found.lacking.tolist() == [0, .4]
    assert (found.high - found.low)[1].min() >= .4
    assert "x = 1 (40.0% of the rows)" in repr(found)


def test_an_effect_can_be_stored(tmp_path):
    model = ds.DiscreteScore(knowledge=FIRST).fit(ds.read_table(STONES, weights="people"))
    found = model.effect("treatment", "well")
    model.save(tmp_path / "result.json")
    again = ds.load_order(tmp_path / "result.json").effect("treatment", "well")
    assert again.to_dict() == found.to_dict()
    back = read_effect(json.loads(json.dumps(found.to_dict())))
    assert isinstance(back, Effect) and repr(back) == repr(found)
    assert back._repr_html_() == found._repr_html_() and "<table>" in found._repr_html_()
    model.save(tmp_path / "bare.json", rows=False)
    bare = ds.load_order(tmp_path / "bare.json")
    with pytest.raises(ValueError, match="pass the table as `X`"): bare.effect("treatment", "well")
    rows = ds.read_table(STONES, weights="people")
    assert bare.effect("treatment", "well", X=rows).to_dict() == found.to_dict()


def with_credibility(told):
    "A model whose tests said this."
    model = ds.DiscreteScore().fit(ds.read_table(STONES, weights="people"))
    model.result_ = replace(model.result_, credibility=told)
    return model


def test_what_cannot_be_told_is_refused_with_the_reason():
    lost = tuple(("size", "well") for _ in range(3))
    no = with_credibility(Credibility(pairs=3, unexplained=lost))
    with pytest.raises(ValueError, match="does not behave like a graph.*`adjust="):
        no.effect("treatment", "well")
    assert no.effect("treatment", "well", adjust=["size"]).asked
    clash = with_credibility(Credibility(clashes=(("size", "treatment"),)))
    with pytest.raises(ValueError, match="size – treatment, as they would with a hidden"):
        clash.effect("treatment", "well")
    elsewhere = with_credibility(Credibility(clashes=(("size", "well"),)))
    assert elsewhere.effect("treatment", "well").answers
    table = ds.read_table(STONES, weights="people")
    with pytest.raises(ValueError, match="has no graph; search with `guide='evidence'`"):
        ds.DiscreteScore(guide=None).fit(table).effect("treatment", "well")
    with pytest.raises(ValueError, match="not complete"):
        ds.DiscreteScore().fit(table, max_steps=1).effect("treatment", "well")
    with pytest.raises(ValueError, match="not fitted"): ds.DiscreteScore().effect("a", "b")


@pytest.mark.parametrize("ends, more, said", [
    (("treatment", "treatment"), {}, "the same column"),
    (("treatmet", "well"), {}, "Did you mean `treatment`?"),
    (("treatment", "well"), {"adjust": ["siz"]}, "Did you mean `size`?"),
    (("treatment", "well"), {"adjust": ["well"]}, "must not hold"),
    (("treatment", "well"), {"level": 95}, "between 0 and 1")])
def test_a_question_that_cannot_be_asked(ends, more, said):
    model = ds.DiscreteScore().fit(ds.read_table(STONES, weights="people"))
    with pytest.raises(ValueError, match=said.replace("?", r"\?")): model.effect(*ends, **more)


def test_the_command(tmp_path):
    data, out = tmp_path / "stones.csv", tmp_path / "effect.json"
    STONES.to_csv(data, index=False)
    table = (data, "--weights", "people", "--tiers", "size;treatment;well")
    ends = "--do", "treatment", "--on", "well"
    code, said, _ = in_shell("effect", *table, *ends, "--out", out)
    assert code == 0 and "Adjusted for size: the parents of treatment." in said
    model = ds.DiscreteScore(knowledge=FIRST).fit(ds.read_table(STONES, weights="people"))
    found = model.effect("treatment", "well")
    assert json.loads(out.read_text())["shares"] == found.to_dict()["shares"]
    saved = tmp_path / "result.json"
    assert in_shell("order", *table, "--out", saved)[0] == 0
    assert in_shell("effect", saved, *ends)[1] == said
    code, free, _ = in_shell("effect", saved, *ends, "--adjust", "", "--level", ".5")
    assert code == 0 and "Adjusted for nothing, as you said" in free and "50% interval" in free
    for bad, word in ((("--do", "treatmnt", "--on", "well"), "--do names no column"),
                      (("--do", "well", "--on", "well"), "--do and --on are the same"),
                      ((*ends, "--level", "2"), "--level must lie"),
                      ((*ends, "--bins", "x=2"), "leave --bins out")):
        code, _, err = in_shell("effect", saved, *bad)
        assert code == 2 and word in err and err.count("\n") == 1
    model.save(saved, rows=False)
    code, _, err = in_shell("effect", saved, *ends)
    assert code == 2 and "without its rows" in err


def test_words_stay_apart_from_settings():
    table = ds.read_table(STONES, weights="people")
    said = words.would_change(ds.DiscreteScore().fit(table).effect("treatment", "well"))
    shown = " ".join(words.lines(said))
    assert "--before" in shown and "`knowledge`" not in shown

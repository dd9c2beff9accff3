"""Tests of independence, in-degrees, verdicts, the choice of the measure, and `discrete-score diagnose` as a process."""
import json, subprocess, sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import discrete_score as ds
from discrete_score.cli import main
from discrete_score.diagnosis import RULES, TESTS, Answer, Sample, choose_measure, in_degree_p_value
from discrete_score.guide import EvidenceGuide, pick_measure
from discrete_score.networks import BayesNet, TableCPT


def chain():
    flip = TableCPT(np.array([[.8, .2], [.2, .8]]), (2,))
    return BayesNet(("X", "Y", "Z"), (("no", "yes"),)*3, ((), (0,), (1,)), (TableCPT(np.array([[.5, .5]])), flip, flip))


def command(*argv, **options):
    return subprocess.run([sys.executable, "-c", "import sys; from discrete_score.cli import main; sys.exit(main())", *map(str, argv)], capture_output=True, text=True, **options)


@pytest.fixture(scope="module")
def alarm(tmp_path_factory):
    folder, net = tmp_path_factory.mktemp("alarm"), ds.load_network("alarm")
    net.sample(10_000, seed=0).to_csv(folder / "data.csv", index=False)
    order = [net.names[k] for k in ds.topological_order(net.dag)]
    (folder / "true.json").write_text(json.dumps({"order": order}))
    (folder / "back.json").write_text(json.dumps(order[::-1]))
    return folder


def test_the_reversed_order_of_alarm_is_violated(alarm):
    run = command("diagnose", alarm / "data.csv", "--order", alarm / "back.json", "--max-in-degree", 4, "--out", alarm / "back_out.json")
    assert run.returncode == 1, run.stderr
    found = json.loads((alarm / "back_out.json").read_text())
    assert run.stdout.startswith("violated") and found["verdict"] == "violated" and found["evidence"]["against"]


def test_the_true_order_of_alarm_is_not(alarm):
    run = command("diagnose", alarm / "data.csv", "--order", alarm / "true.json", "--max-in-degree", 4)
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_reversed_chain_cannot_be_told_also_from_a_pipe(tmp_path):
    (tmp_path / "order.json").write_text('["Z", "Y", "X"]')
    run = command("diagnose", "-", "--order", tmp_path / "order.json", input=chain().sample(5_000, seed=0).to_csv(index=False))
    assert run.returncode == 0 and run.stdout.startswith("cannot tell") and "-0.0" not in run.stdout


@pytest.mark.parametrize("text, said", [("{", "not JSON"), ('{"a": 1}', "holds no order"), ('["X", "Y"]', "lacks"), ('["X", "Y", "Y", "Z"]', "more than once"), ('["X", "Y", "W"]', "W")])
def test_bad_orders_are_refused_in_one_line(tmp_path, capsys, monkeypatch, text, said):
    monkeypatch.setattr("warnings.showwarning", None)
    (tmp_path / "order.json").write_text(text)
    chain().sample(200, seed=0).to_csv(tmp_path / "data.csv", index=False)
    code, told = main(["diagnose", str(tmp_path / "data.csv"), "--order", str(tmp_path / "order.json")]), capsys.readouterr().err
    assert code == 2 and said in told and told.count("\n") == 1


def test_chi2_is_the_test_of_causal_learn_and_algorithm_2_uses_it():
    net = ds.random_network(7, degree=3, states=(3, 6), seed=4)
    table, order = ds.as_table(net.sample(1_500, seed=4)), list(net.names)
    printed = ds.algorithm_2(table, order, n_samples=1_000, seed=3)
    assert printed.tolist() == ds.implied_dag(order, table, test="chi2", n_samples=1_000, seed=3).in_degrees.tolist()


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from(sorted(TESTS)))
def test_column_order_and_state_names_change_nothing(seed, test):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (300, 4))
    codes[:, 3] = (codes[:, 0] + codes[:, 1] + (rng.random(300) < .3)) % 3
    swap, names = rng.permutation(4), list("abcd")
    frame = pd.DataFrame(codes, columns=names)
    other = frame.iloc[:, swap].replace({0: 2, 1: 0, 2: 1})
    one, two = (ds.implied_dag(names, ds.as_table(f), test=test) for f in (frame, other))
    for a in names:
        for b in names:
            p, q = one.p_values[one.names.index(a), one.names.index(b)], two.p_values[two.names.index(a), two.names.index(b)]
            assert np.isclose(p, q, rtol=1e-4, atol=1e-9, equal_nan=True)


@pytest.mark.parametrize("test", ["chi2_exact", "cmh", "screened", "logit"])
def test_levels_and_power_without_a_network(test):
    rng, false, found = np.random.default_rng(0), 0, 0
    for _ in range(100):
        z, w = rng.integers(0, 3, (2, 400))
        copy = lambda v: np.where(rng.random(400) < .5, v, rng.integers(0, 3, 400))
        x, y = copy(z), copy(z)
        sample = Sample(np.column_stack([x, y, z, w, copy(x)]))
        false += TESTS[test](sample, 0, 1, (2, 3)).p_value < .01
        found += TESTS[test](sample, 0, 4, (2, 3)).p_value < .01
    assert false <= 6 and found >= 95


def test_no_p_value_out_of_nothing():
    codes = np.random.default_rng(0).integers(0, 4, (200, 14))
    for name in ("chi2_exact", "cmh", "logit"):
        answer = TESTS[name](Sample(codes), 0, 1, range(2, 14))
        assert isinstance(answer, Answer) and np.isnan(answer.p_value) and answer.reason


def test_weights_are_rows():
    frame = chain().sample(3_000, seed=2)
    counted = frame.value_counts().reset_index(name="rows")
    one, two = ds.diagnose(frame, ["X", "Z", "Y"]), ds.diagnose(ds.as_table(counted, weights="rows"), ["X", "Z", "Y"])
    assert np.allclose(one.implied.p_values, two.implied.p_values, equal_nan=True) and np.isclose(one.evidence.deficit, two.evidence.deficit)
    with pytest.raises(ValueError, match="whole numbers"): Sample(ds.as_table(counted.assign(rows=counted.rows*.37), weights="rows"))


@given(st.lists(st.floats(0, 1), min_size=4, max_size=8), st.integers(0, 3))
def test_the_p_value_of_the_in_degrees_counts_only_what_is_in_excess(p_values, most):
    d = len(p_values) + 1
    p = np.full((d, d), np.nan)
    p[:-1, -1] = p_values
    assert np.isclose(in_degree_p_value(p, most), min(1., (d - 1 - most)*sorted(p_values)[most]))


@pytest.mark.parametrize("guided", [False, True])
def test_the_choice_is_made_by_the_table_that_it_shows(guided):
    table = ds.as_table(ds.load_network("asia").sample(2_000, seed=1))
    estimator, guide = ds.BlanketScore().fit(table), EvidenceGuide().fit(table)
    for rule in RULES:
        choice = choose_measure(estimator, table, rule=rule, guide=guide if guided else None)
        best = {"evidence": choice.table.evidence >= -guide.tau_ - 1e-9, "agreement": choice.table.right == choice.table.right.max(),
                "in-degree": choice.table.get("share_above") == choice.table.get("share_above", pd.Series(dtype=float)).min()}[rule]
        assert best[choice.measure]
    if guided: assert choose_measure(estimator, table, guide=guide).measure == pick_measure(estimator, table.names, guide).measure


def test_the_choice_survives_a_file(tmp_path):
    frame = ds.load_network("asia").sample(1_000, seed=0)
    model = ds.DiscreteScore(measure="auto", guide=None).fit(frame)
    model.save(tmp_path / "result.json")
    pd.testing.assert_frame_equal(ds.load_order(tmp_path / "result.json").choice_, model.choice_)
    assert model.diagnose(frame).implied.order == tuple(model.order_)


def test_bad_settings_are_named():
    frame = chain().sample(200, seed=0)
    for options, said in (({"test": "fisher"}, "unknown test"), ({"alpha": 2}, "alpha"), ({"max_in_degree": -1}, "max_in_degree"), ({"n_samples": 3}, "n_samples")):
        with pytest.raises(ValueError, match=said): ds.diagnose(frame, ["X", "Y", "Z"], **options)
    with pytest.raises(ValueError, match="auto:evidence"): ds.DiscreteScore(measure="auto:luck").fit(frame)

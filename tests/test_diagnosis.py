"In-degrees, verdicts, the choice of the measure, and `discrete-score diagnose` as a process."
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import discrete_score as ds
from discrete_score.cli import main
from discrete_score.diagnosis import RULES, choose_measure, in_degree_p_value
from discrete_score.guide import ClassGuide, EvidenceGuide
from discrete_score.networks import BayesNet, TableCPT
from discrete_score.tests import Sample

RUN = "import sys; from discrete_score.cli import main; sys.exit(main())"


def chain():
    flip = TableCPT(np.array([[.8, .2], [.2, .8]]), (2,))
    tables = TableCPT(np.array([[.5, .5]])), flip, flip
    return BayesNet(("X", "Y", "Z"), (("no", "yes"),) * 3, ((), (0,), (1,)), tables)


def command(*argv, **options):
    call = [sys.executable, "-c", RUN, *map(str, argv)]
    return subprocess.run(call, capture_output=True, text=True, **options)


@pytest.fixture(scope="module")
def alarm(tmp_path_factory):
    folder, net = tmp_path_factory.mktemp("alarm"), ds.load_network("alarm")
    net.sample(10_000, seed=0).to_csv(folder / "data.csv", index=False)
    order = [net.names[k] for k in ds.topological_order(net.dag)]
    (folder / "true.json").write_text(json.dumps({"order": order}))
    (folder / "back.json").write_text(json.dumps(order[::-1]))
    return folder


def test_the_reversed_order_of_alarm_is_violated(alarm):
    data, order, out = (alarm / name for name in ("data.csv", "back.json", "back_out.json"))
    run = command("diagnose", data, "--order", order, "--max-in-degree", 4, "--out", out)
    assert run.returncode == 1, run.stderr
    found = json.loads(out.read_text())
    assert run.stdout.startswith("violated")
    assert found["verdict"] == "violated" and found["evidence"]["against"]


def test_the_true_order_of_alarm_is_not(alarm):
    data, order = alarm / "data.csv", alarm / "true.json"
    run = command("diagnose", data, "--order", order, "--max-in-degree", 4)
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_reversed_chain_cannot_be_told_also_from_a_pipe(tmp_path):
    (tmp_path / "order.json").write_text('["Z", "Y", "X"]')
    rows = chain().sample(5_000, seed=0).to_csv(index=False)
    run = command("diagnose", "-", "--order", tmp_path / "order.json", input=rows)
    assert run.returncode == 0 and run.stdout.startswith("cannot tell")
    assert "-0.0" not in run.stdout


@pytest.mark.parametrize("text, said", [
    ("{", "not JSON"), ('{"a": 1}', "holds no order"), ('["X", "Y"]', "lacks"),
    ('["X", "Y", "Y", "Z"]', "more than once"), ('["X", "Y", "W"]', "W")])
def test_bad_orders_are_refused_in_one_line(tmp_path, capsys, monkeypatch, text, said):
    monkeypatch.setattr("warnings.showwarning", None)
    data, order = tmp_path / "data.csv", tmp_path / "order.json"
    order.write_text(text)
    chain().sample(200, seed=0).to_csv(data, index=False)
    code = main(["diagnose", str(data), "--order", str(order)])
    told = capsys.readouterr().err
    assert code == 2 and said in told and told.count("\n") == 1


def test_weights_are_rows():
    frame = chain().sample(3_000, seed=2)
    counted = frame.value_counts().reset_index(name="rows")
    tables = frame, ds.as_table(counted, weights="rows")
    one, two = (ds.diagnose(table, ["X", "Z", "Y"]) for table in tables)
    assert np.allclose(one.implied.p_values, two.implied.p_values, equal_nan=True)
    assert np.isclose(one.evidence.deficit, two.evidence.deficit)
    parts = ds.as_table(counted.assign(rows=counted.rows * .37), weights="rows")
    with pytest.raises(ValueError, match="whole numbers"): Sample(parts)


@given(st.lists(st.floats(0, 1), min_size=4, max_size=8), st.integers(0, 3))
def test_the_p_value_of_the_in_degrees_counts_only_what_is_in_excess(p_values, most):
    d = len(p_values) + 1
    p = np.full((d, d), np.nan)
    p[:-1, -1] = p_values
    expected = min(1., (d - 1 - most) * sorted(p_values)[most])
    assert np.isclose(in_degree_p_value(p, most), expected)


@pytest.mark.parametrize("guided", [False, True])
def test_the_choice_is_made_by_the_table_that_it_shows(guided):
    table = ds.as_table(ds.load_network("asia").sample(2_000, seed=1))
    estimator, guide = ds.BlanketScore().fit(table), EvidenceGuide().fit(table)
    for rule in RULES:
        choice = choose_measure(estimator, table, rule=rule, guide=guide if guided else None)
        compared = choice.table
        if rule == "evidence": best = compared.evidence >= -guide.tau_ - 1e-9
        elif rule == "agreement": best = compared.right == compared.right.max()
        else: best = compared.share_above == compared.share_above.min()
        assert best[choice.measure]
        assert compared.low.between(0, compared.high).all()


def test_a_known_class_guides_the_search_and_evidence_still_judges():
    net = ds.load_network("asia")
    table = ds.as_table(net.sample(2_000, seed=1))
    known = ClassGuide(ds.dag_to_cpdag(net.dag), table.names).fit(table)
    choice = choose_measure(ds.BlanketScore().fit(table), table, guide=known)
    assert choice.agreement.total == len(known.compelled())
    assert choice.table.evidence.max() == 0


def test_the_choice_survives_a_file(tmp_path):
    frame = ds.load_network("asia").sample(1_000, seed=0)
    model = ds.DiscreteScore(measure="auto", guide=None).fit(frame)
    model.save(tmp_path / "result.json")
    pd.testing.assert_frame_equal(ds.load_order(tmp_path / "result.json").choice_, model.choice_)
    assert model.diagnose(frame).implied.order == tuple(model.order_)


def test_bad_settings_are_named():
    frame = chain().sample(200, seed=0)
    bad = [({"test": "fisher"}, "unknown test"), ({"alpha": 2}, "alpha"),
           ({"max_in_degree": -1}, "max_in_degree"), ({"n_samples": 3}, "n_samples")]
    for options, said in bad:
        with pytest.raises(ValueError, match=said) as found:
            ds.diagnose(frame, ["X", "Y", "Z"], **options)
        assert found.value.phrase.say(lambda setting: f"--{setting.name}") != str(found.value)
    with pytest.raises(ValueError, match="auto:evidence"):
        ds.DiscreteScore(measure="auto:luck").fit(frame)

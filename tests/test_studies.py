"""Studies: killed, resumed, in worker processes, on a Dask cluster, with damaged files and failing rows."""
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings as hypothesis_settings
from hypothesis import strategies as st

from discrete_score.studies import COLUMNS, ResultFile, Setting, Study, check_rows, gains, make_study, read_results, run_setting, run_study

program = Path(sys.executable).with_name("discrete-score")
TIMES = ["seconds", "cpu_seconds"]
NULL = Setting("ER", 6, 2.0, "3-4", 300, 3, estimator="random", guide="none")
SMALL = Study("small", [replace(NULL, seed=s, estimator=e, measure="kl_uniform", guide=g) for s in range(4) for e, g in (("random", "none"), ("blanket", "none"), ("blanket", "evidence"), ("coin", "evidence"))])
GRAPHS = [replace(NULL, estimator=e, measure=m, guide=g, base=b, strategy=s) for (e, m, g), b, s in (
    (("", "", ""), "ges-bic", "alone"), (("true", "", "none"), "ges-bic", "orient"), (("true", "", "none"), "ges-bic", "insert"), (("adjacent:3", "", "none"), "ges-bic", "prune"),
    (("blanket", "kl_uniform", "evidence"), "gam", "inside"), (("marginal", "kl_uniform", "none"), "none", "parents"))]
SMALL = replace(SMALL, settings=(*SMALL.settings, *GRAPHS))


def same(a: pd.DataFrame, b: pd.DataFrame) -> bool:
    return a.drop(columns=TIMES).equals(b.drop(columns=TIMES))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return run_study(SMALL, tmp_path_factory.mktemp("study") / "small.csv")


def test_kill_in_mid_study_then_resume(tmp_path):
    "kill -9 at several moments; what was finished is kept, and the table is the same as undisturbed."
    arguments = [program, "study", "limits", "--only", "graph in ['earthquake', 'sachs'] and seed < 103 and estimator != 'exact'"]
    straight, path = tmp_path / "straight.csv", tmp_path / "killed.csv"
    assert subprocess.run([*arguments, "--out", straight]).returncode == 0
    counts = []
    for at in (10, 40):
        process = subprocess.Popen([*arguments, "--out", path, "--resume"], stdout=subprocess.DEVNULL)
        while process.poll() is None and (not path.exists() or path.read_bytes().count(b"\n") < at): time.sleep(.005)
        process.kill()
        assert process.wait() == -signal.SIGKILL
        counts.append(len(read_results(path)))
    assert 0 < counts[0] < counts[1] < len(read_results(straight))
    assert subprocess.run([*arguments, "--out", path, "--resume"]).returncode == 0
    assert same(read_results(path), read_results(straight))
    assert path.read_text().count("\n") == straight.read_text().count("\n")


def test_worker_processes_and_a_cluster_give_the_same_rows(tmp_path, undisturbed):
    "Two loky processes; then a real scheduler with two worker processes, reached by its address."
    assert same(run_study(SMALL, tmp_path / "loky.csv", jobs=2), undisturbed)
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        assert cluster.scheduler_address.startswith("tcp://")
        table = run_study(SMALL, tmp_path / "dask.csv", scheduler=cluster.scheduler_address)
        with distributed.Client(cluster) as client: busy = [w["metrics"]["cpu"] for w in client.scheduler_info()["workers"].values()]
    assert len(busy) == 2 and same(table, undisturbed)


def test_a_cluster_that_is_not_there(tmp_path):
    pytest.importorskip("distributed")
    with pytest.raises(OSError): run_study(SMALL, tmp_path / "x.csv", scheduler="tcp://127.0.0.1:9", only="seed == 0")


@pytest.mark.parametrize("jobs", [1, 2])
def test_interrupt_is_one_line_and_resumes(tmp_path, jobs):
    path, condition = tmp_path / "l.csv", "graph in ['earthquake', 'sachs'] and estimator != 'exact'"
    process = subprocess.Popen([program, "study", "limits", "--jobs", str(jobs), "--only", condition, "--out", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while process.poll() is None and (not path.exists() or path.read_bytes().count(b"\n") < 8): time.sleep(.01)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and err.count("\n") == 1 and "--resume" in err, err
    assert len(read_results(path)) >= 6
    done = subprocess.run([program, "study", "limits", "--only", condition, "--out", path], capture_output=True, text=True)
    assert done.returncode == 2 and "pass --resume" in done.stderr


def test_torn_last_line(tmp_path, undisturbed):
    "Cut the file at every byte of its last line, and inside the first two: nothing else is lost."
    path = tmp_path / "small.csv"
    whole_table = run_study(SMALL, path, only="seed == 0")
    whole = path.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    for cut in range(last, len(whole)):
        path.write_bytes(whole[:cut])
        with ResultFile(path, "small") as file: assert len(file.rows) == len(whole_table) - 1
        assert path.read_bytes() == whole[:last]
    assert same(run_study(SMALL, path, only="seed == 0", resume=True), whole_table)
    for cut in (0, len("# discrete-score study "), 30, 60):
        path.write_bytes(whole[:cut])
        assert same(run_study(SMALL, path, only="seed == 0"), whole_table)


@pytest.mark.parametrize("content, says", [
    (b"a,b\n1,2\n", "not a result file"), (b"a,b", "not a result file"), (b"\x00\xff\x00", "not a result file"), (b"\n\n", "not a result file"),
    (b"# discrete-score study small\nstudy,graph\nsmall,ER\n", "other columns"), (b"# discrete-score studies of mine", "not a result file")])
def test_foreign_files_are_refused_and_stay(tmp_path, content, says):
    path = tmp_path / "precious.csv"
    path.write_bytes(content)
    for resume in (False, True):
        with pytest.raises(ValueError, match=says): run_study(SMALL, path, resume=resume)
    assert path.read_bytes() == content
    if content != b"a,b": return
    done = subprocess.run([program, "study", "limits", "--resume", "--out", path], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and path.read_bytes() == content


def test_damage_is_named(tmp_path, undisturbed):
    path = tmp_path / "small.csv"
    run_study(SMALL, path, only="seed == 0")
    lines = path.read_bytes().split(b"\n")
    for spoil in (lambda l: l[:len(l) // 2], lambda l: l.replace(b"300", b"3o0"), lambda l: b"", lambda l: l.replace(b"none", b"n\xffne"), lambda l: l + b",1", lambda l: l.replace(b"random", b"rand\x00m")):
        damaged = b"\n".join([*lines[:2], spoil(lines[2]), *lines[3:]])
        path.write_bytes(damaged)
        for read in (lambda: read_results(path), lambda: run_study(SMALL, path, resume=True)):
            with pytest.raises(ValueError, match="line 3 .* damaged"): read()
        assert path.read_bytes() == damaged


@hypothesis_settings(max_examples=60)
@given(st.text(max_size=60), st.text(max_size=20))
def test_any_text_survives_the_file(reason, versions):
    "Commas, quotes, line ends and other letters in a failure do not break the file."
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.csv"
        row = dict.fromkeys(COLUMNS, "") | dict(zip(COLUMNS[1:], NULL.key)) | {"failure": "x" + reason, "versions": versions}
        try: row["failure"].encode(), versions.encode()
        except UnicodeEncodeError: return
        for _ in range(2):
            with ResultFile(path, "t") as file: file.append(row)
        table = read_results(path)
        assert len(table) == 1 and path.read_bytes().count(b"\n") == 4 and table.failure[0].replace(" ", "") == "".join(row["failure"].split())


def test_failures_are_rows_and_can_be_retried(tmp_path, monkeypatch):
    import discrete_score.studies as studies
    path, bad = tmp_path / "f.csv", Study("f", [NULL, replace(NULL, estimator="blanket", measure="no such measure"), replace(NULL, seed=4)])
    table = run_study(bad, path)
    assert len(table) == 3 and (table.failure != "").sum() == 1 and "no such measure" in table.failure.max()
    assert len(run_study(bad, path, resume=True)) == 3 and path.read_text().count("\n") == 5
    monkeypatch.setattr(studies, "as_measure", studies.as_measure)
    run_study(bad, path, resume=True, retry=True)
    assert path.read_text().count("\n") == 6 and len(read_results(path)) == 3


def test_two_writers_are_refused(tmp_path):
    with ResultFile(tmp_path / "a.csv", "a"):
        with pytest.raises(ValueError, match="another process"): ResultFile(tmp_path / "a.csv", "a")
    ResultFile(tmp_path / "a.csv", "a").__exit__()


def test_another_study_is_refused(tmp_path):
    run_study(SMALL, tmp_path / "a.csv", only="seed == 0")
    with pytest.raises(ValueError, match="rows of the study `small`"): run_study(replace(SMALL, name="large"), tmp_path / "a.csv", resume=True)


def test_rows_do_not_depend_on_what_ran_before():
    "A row alone, after others, and in another order: the same."
    rows = [run_setting(s) for s in SMALL.settings]
    backwards = [run_setting(s) for s in reversed(SMALL.settings)][::-1]
    code = "import sys; from discrete_score.studies import *; from tests.test_studies import SMALL; print(run_setting(SMALL.settings[int(sys.argv[1])])['d_top'])"
    strip = lambda row: {k: v for k, v in row.items() if k not in TIMES}
    assert list(map(strip, rows)) == list(map(strip, backwards))
    root = Path(__file__).resolve().parent.parent
    fresh = subprocess.run([sys.executable, "-c", code, "6"], capture_output=True, text=True, cwd=root)
    assert fresh.stdout.strip() == rows[6]["d_top"], fresh.stderr


def test_numbers_of_a_row_against_the_functions():
    "A row with a graph says what the functions of the package say."
    import discrete_score as ds
    from discrete_score.baselines import learn
    from discrete_score.dag import dag_from_order
    from discrete_score.studies import make_dataset
    data = make_dataset(NULL)
    true = [data.table.names[k] for k in ds.topological_order(data.dag, seed=3000)]
    for strategy in ("insert", "prune"):
        row, found = run_setting(replace(NULL, estimator="true", base="ges-bic", strategy=strategy)), dag_from_order(data.table, true, "ges-bic", strategy)
        seen = ds.evaluate(found.dag, data.dag)
        assert row["failure"] == "" and row["d_top"] == "0"
        assert (float(row["shd"]), float(row["sid"])) == (seen.shd, seen.sid) and abs(float(row["f1"]) - seen.f1.mean) < 1e-6
    alone = run_setting(replace(NULL, estimator="", guide="", base="ges-bic", strategy="alone"))
    assert abs(float(alone["shd"]) - np.mean([ds.shd(learn(data.table, "ges-bic").dag(seed=k), data.dag) for k in range(10)])) < 1e-6


def test_methods_share_their_dataset():
    for name in ("er", "real"):
        for full in (False, True):
            frame = make_study(name, full=full).frame()
            assert frame[frame.base != "none"].groupby(["graph", "d", "degree", "seed", "base"]).strategy.apply(lambda s: "alone" in set(s)).all()
            assert not frame.duplicated().any()


def test_check_rows_finds_a_changed_number(tmp_path):
    path = tmp_path / "a.csv"
    run_study(SMALL, path, only="seed == 0")
    assert len(check_rows(path, 4)) == 4
    with ResultFile(path, "small") as file: file.append(file.rows[1] | {"d_top": "99"})
    with pytest.raises(ValueError, match="stored is '99'"): check_rows(path, 4)


def test_gains_against_the_definition():
    "Differences, signs and counts by hand; the interval against scipy, the test against all sign patterns."
    from scipy.stats import ttest_rel
    rng = np.random.default_rng(0)
    rows = [{"graph": "ER", "d": 10, "degree": 2., "states": "3-6", "n_rows": 100, "seed": s, "base": "pc", "strategy": k, "f1": rng.integers(0, 9)/10, "shd": float(rng.integers(9))} for s in range(7) for k in ("alone", "prune")]
    frame = pd.DataFrame(rows)
    a, b = (frame[frame.strategy == k].set_index("seed") for k in ("prune", "alone"))
    for metric, sign in (("f1", 1), ("shd", -1)):
        line, x = gains(frame, "strategy == 'prune'", metric=metric).iloc[0], (sign*(a[metric] - b[metric])).round(9)
        interval = ttest_rel(sign*a[metric], sign*b[metric]).confidence_interval()
        assert np.allclose((line.gain, line.low, line.high), (x.mean(), interval.low, interval.high))
        assert (line.pairs, line.wins, line.ties, line.losses) == (7, (x > 0).sum(), (x == 0).sum(), (x < 0).sum())

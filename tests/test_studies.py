"""Studies: killed, resumed, in worker processes, on a Dask cluster, damaged files, failing rows."""
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings as hypothesis_settings
from hypothesis import strategies as st
from scipy.stats import ttest_rel

from discrete_score.baselines import learn
from discrete_score.blanket import BlanketScore
from discrete_score.cli import main
from discrete_score.dag import dag_from_order
from discrete_score.discover import ESTIMATORS
from discrete_score.graphs import topological_order
from discrete_score.metrics import evaluate, shd
from discrete_score.studies import (
    COLUMNS, STUDIES, ResultFile, Setting, Study, as_key, check_study, gains, load_studies,
    make_dataset, make_study, read_results, run_setting, run_study,
)

root = Path(__file__).resolve().parent.parent
program = Path(sys.executable).with_name("discrete-score")
TIMES = ["seconds", "cpu_seconds"]
NULL = Setting("ER", 6, 2.0, "3-4", 300, 3, estimator="random", guide="none")
ORDERS = [("random", "none"), ("blanket", "none"), ("blanket", "evidence"), ("coin", "evidence")]
GRAPHS = [
    (("", "", ""), "ges-bic", "alone"),
    (("true", "", "none"), "ges-bic", "orient"),
    (("true", "", "none"), "ges-bic", "insert"),
    (("adjacent:3", "", "none"), "ges-bic", "prune"),
    (("blanket", "kl_uniform", "evidence"), "gam", "inside"),
    (("marginal", "kl_uniform", "none"), "none", "parents"),
]
SMALL = Study("small", [
    *(replace(NULL, seed=s, estimator=e, measure="kl_uniform", guide=g)
      for s, (e, g) in product(range(4), ORDERS)),
    *(replace(NULL, estimator=e, measure=m, guide=g, base=b, strategy=s)
      for (e, m, g), b, s in GRAPHS),
])
FIRST = "seed == 0"
DEFINED = '''
import os
from discrete_score.studies import Study

def divisors(setting):
    "One row for each divisor."
    n, seed = setting
    if n == SPOILED: raise ValueError("spoiled")
    for k in range(1, n + 1):
        if n % k == 0: yield {"divisor": k, "process": os.getpid()}

SPOILED = 0
DIVISORS = Study("divisors", [(n, 0) for n in range(1, 13)], "divisors.", divisors,
                 key=("n", "seed"), columns=("n", "seed", "divisor", "process"),
                 measured=("process",))
'''


def same(a: pd.DataFrame, b: pd.DataFrame) -> bool:
    return a.drop(columns=TIMES).equals(b.drop(columns=TIMES))


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def strip(row: dict) -> dict:
    return {k: v for k, v in row.items() if k not in TIMES}


@pytest.fixture
def shell(capsys, monkeypatch):
    "The command line in this process: exit code, and what stands on standard error."
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    def run(*arguments): return main(["study", *map(str, arguments)]), capsys.readouterr().err
    return run


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    "All rows of the small study."
    return run_study(SMALL, tmp_path_factory.mktemp("study")/"small.csv")


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    "A file with the rows of the first seed."
    path = tmp_path_factory.mktemp("first")/"small.csv"
    run_study(SMALL, path, only=FIRST)
    return path


@pytest.fixture
def copied(first, tmp_path):
    "A copy of that file."
    return Path(shutil.copy(first, tmp_path/"small.csv"))


@pytest.fixture
def defined(tmp_path):
    "A file that defines a study with several rows a setting."
    path = tmp_path/"divisors.py"
    path.write_text(DEFINED)
    yield path
    STUDIES.pop("divisors", None)


def test_kill_in_mid_study_then_resume(tmp_path, shell):
    "kill -9 at several moments: what was finished is kept, and the table is as if undisturbed."
    condition = "graph == 'earthquake' and estimator != 'exact'"
    straight, path = tmp_path/"straight.csv", tmp_path/"killed.csv"
    expected = run_study(make_study("limits"), straight, only=condition)
    arguments = ["limits", "--only", condition, "--out", path, "--resume"]
    counts = []
    for at in (10, 40):
        process = subprocess.Popen([program, "study", *arguments], stdout=subprocess.DEVNULL)
        while process.poll() is None and lines(path) < at: time.sleep(.005)
        process.kill()
        assert process.wait() == -signal.SIGKILL
        counts.append(len(read_results(path)))
    assert 0 < counts[0] < counts[1] < len(expected)
    assert shell(*arguments)[0] == 0
    assert same(read_results(path), expected)
    assert lines(path) == lines(straight)


def test_worker_processes_and_a_cluster_give_the_same_rows(tmp_path, undisturbed):
    "Two loky processes; then a real scheduler with two worker processes, reached by its address."
    assert same(run_study(SMALL, tmp_path/"loky.csv", jobs=2), undisturbed)
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True,
                                  dashboard_address=None) as cluster:
        assert cluster.scheduler_address.startswith("tcp://")
        table = run_study(SMALL, tmp_path/"dask.csv", cluster=cluster.scheduler_address)
        with distributed.Client(cluster) as client:
            workers = client.scheduler_info()["workers"].values()
            busy = [worker["metrics"]["cpu"] for worker in workers]
    assert len(busy) == 2 and same(table, undisturbed)


COINS = """from discrete_score.studies import Study
def rows(setting):
    coin, k = setting
    yield {"worth": {"penny": 1, "dime": 10}[coin] * int(k)}
COINS = Study("coins", [(c, k) for c in ("penny", "dime") for k in range(4)], "what is it worth?",
              rows, key=("coin", "k"), columns=("coin", "k", "worth"))
"""


def test_a_study_of_a_file_runs_on_a_cluster_from_the_shell_and_resumes(tmp_path, shell):
    distributed = pytest.importorskip("distributed")
    file, here, there = tmp_path/"coins.py", tmp_path/"here.csv", tmp_path/"there.csv"
    file.write_text(COINS)
    assert shell(file, "--out", here)[0] == 0
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True,
                                  dashboard_address=None) as cluster:
        address = "--cluster", cluster.scheduler_address
        assert shell(file, "--out", there, "--only", "k < 2", *address)[0] == 0
        first = there.read_text()
        assert len(read_results(there)) == 4
        assert shell(file, "--out", there, "--resume", *address)[0] == 0
    assert there.read_text().startswith(first)
    one, two = (read_results(path).sort_values(["coin", "k"]).values.tolist()
                for path in (here, there))
    assert one == two and len(one) == 8
    assert shell(file, "--out", there, "--check", "8")[0] == 0


def test_a_cluster_that_is_not_there(tmp_path):
    pytest.importorskip("distributed")
    with pytest.raises(ValueError, match="no scheduler answers"):
        run_study(SMALL, tmp_path/"x.csv", cluster="tcp://127.0.0.1:9", only=FIRST)


@pytest.mark.parametrize("jobs", [1, 2])
def test_interrupt_is_one_line_and_resumes(tmp_path, shell, jobs):
    path, condition = tmp_path/"l.csv", "graph in ['earthquake', 'sachs'] and estimator != 'exact'"
    arguments = ["limits", "--only", condition, "--out", path]
    process = subprocess.Popen(
        [program, "study", *arguments, "--jobs", str(jobs)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True)
    while process.poll() is None and lines(path) < 8: time.sleep(.01)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130 and err.count("\n") == 1 and "--resume" in err, err
    assert len(read_results(path)) >= 6
    code, err = shell(*arguments)
    assert code == 2 and "pass --resume" in err


def test_torn_last_line(first, copied):
    "Cut the file at every byte of its last line, and inside the first two: no more is lost."
    whole_table, whole = read_results(first), first.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    for cut in range(last, len(whole)):
        copied.write_bytes(whole[:cut])
        with ResultFile(copied, "small") as file: assert len(file.rows) == len(whole_table) - 1
        assert copied.read_bytes() == whole[:last]
    assert same(run_study(SMALL, copied, only=FIRST, resume=True), whole_table)
    for cut in (0, len("# discrete-score study "), 30, 60):
        copied.write_bytes(whole[:cut])
        assert same(run_study(SMALL, copied, only=FIRST), whole_table)


def test_torn_inside_a_setting_of_several_rows(defined, tmp_path):
    "Cut the file at every byte: settings are there as a whole or not at all, and come back."
    study, path = make_study(str(defined)), tmp_path/"d.csv"
    table, whole = run_study(study, path), path.read_bytes()
    assert len(table) == sum(n % k == 0 for n in range(1, 13) for k in range(1, n + 1))
    for cut in range(whole.find(b"check\n") + 6, len(whole)):
        path.write_bytes(whole[:cut])
        with ResultFile(path, "divisors", columns=study.columns) as file: kept = file.rows
        found = {int(row["n"]): 0 for row in kept}
        for row in kept: found[int(row["n"])] += 1
        assert found == {n: sum(n % k == 0 for k in range(1, n + 1)) for n in found}
        assert list(found) == list(range(1, len(found) + 1))
    again = run_study(study, path, resume=True)
    assert again.drop(columns="process").equals(table.drop(columns="process"))


@pytest.mark.parametrize("content, says", [
    (b"a,b\n1,2\n", "not a result file"),
    (b"a,b", "not a result file"),
    (b"\x00\xff\x00", "not a result file"),
    (b"\n\n", "not a result file"),
    (b"# discrete-score study small\nstudy,graph\nsmall,ER\n", "other columns"),
    (b"# discrete-score studies of mine", "not a result file"),
])
def test_foreign_files_are_refused_and_stay(tmp_path, shell, content, says):
    path = tmp_path/"precious.csv"
    path.write_bytes(content)
    for resume in (False, True):
        with pytest.raises(ValueError, match=says): run_study(SMALL, path, resume=resume)
    assert path.read_bytes() == content
    code, err = shell("limits", "--resume", "--out", path)
    assert code == 2 and err.count("\n") == 1 and path.read_bytes() == content


@pytest.mark.parametrize("spoil", [
    lambda line: line[:len(line)//2],
    lambda line: line.replace(b"300", b"3o0"),
    lambda line: b"",
    lambda line: line.replace(b"none", b"n\xffne"),
    lambda line: line + b",1",
    lambda line: line.replace(b"random", b"rand\x00m"),
])
def test_damage_is_named(copied, spoil):
    head, names, line, *rest = copied.read_bytes().split(b"\n")
    damaged = b"\n".join([head, names, spoil(line), *rest])
    copied.write_bytes(damaged)
    for read in (lambda: read_results(copied), lambda: run_study(SMALL, copied, resume=True)):
        with pytest.raises(ValueError, match="line 3 .* damaged"): read()
    assert copied.read_bytes() == damaged


@hypothesis_settings(max_examples=30)
@given(st.text(max_size=60), st.text(max_size=20))
def test_any_text_survives_the_file(tmp_path_factory, reason, versions):
    "Commas, quotes, line ends and other letters in a failure do not break the file."
    path = tmp_path_factory.mktemp("text")/"r.csv"
    row = dict.fromkeys(COLUMNS, "") | dict(zip(COLUMNS[1:], NULL.key))
    row |= {"failure": "x" + reason, "versions": versions}
    try: row["failure"].encode(), versions.encode()
    except UnicodeEncodeError: return
    for _ in range(2):
        with ResultFile(path, "t") as file: file.append(row)
    table = read_results(path)
    assert len(table) == 1 and lines(path) == 4
    assert table.failure[0].replace(" ", "") == "".join(row["failure"].split())


def test_failures_are_rows_and_can_be_retried(tmp_path):
    path, unknown = tmp_path/"f.csv", replace(NULL, estimator="blanket", measure="no such measure")
    bad = Study("f", [NULL, unknown, replace(NULL, seed=4)])
    table = run_study(bad, path)
    assert len(table) == 3 and (table.failure != "").sum() == 1
    assert "no such measure" in table.failure.max()
    assert len(run_study(bad, path, resume=True)) == 3 and lines(path) == 5
    run_study(bad, path, resume=True, retry=True)
    assert lines(path) == 6 and len(read_results(path)) == 3


def test_two_writers_are_refused(tmp_path):
    with ResultFile(tmp_path/"a.csv", "a"):
        with pytest.raises(ValueError, match="another process"): ResultFile(tmp_path/"a.csv", "a")
    ResultFile(tmp_path/"a.csv", "a").__exit__()


def test_another_study_is_refused(copied):
    with pytest.raises(ValueError, match="rows of the study `small`"):
        run_study(replace(SMALL, name="large"), copied, resume=True)


def test_rows_do_not_depend_on_what_ran_before():
    "A row alone, after others, and in another order: the same."
    rows = [run_setting(s) for s in SMALL.settings]
    backwards = [run_setting(s) for s in reversed(SMALL.settings)][::-1]
    assert list(map(strip, rows)) == list(map(strip, backwards))
    code = "from discrete_score.studies import *; from tests.test_studies import SMALL; " \
           "print(run_setting(SMALL.settings[6])['d_top'])"
    fresh = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root)
    assert fresh.stdout.strip() == rows[6]["d_top"], fresh.stderr


def test_numbers_of_a_row_against_the_functions():
    "A row with a graph says what the functions of the package say."
    data = make_dataset(NULL)
    true = [data.table.names[k] for k in topological_order(data.dag, seed=3000)]
    for strategy in ("insert", "prune"):
        row = run_setting(replace(NULL, estimator="true", base="ges-bic", strategy=strategy))
        seen = evaluate(dag_from_order(data.table, true, "ges-bic", strategy).dag, data.dag)
        assert row["failure"] == "" and row["d_top"] == "0"
        assert (float(row["shd"]), float(row["sid"])) == (seen.shd, seen.sid)
        assert abs(float(row["f1"]) - seen.f1.mean) < 1e-6
    alone = run_setting(replace(NULL, estimator="", guide="", base="ges-bic", strategy="alone"))
    members = [learn(data.table, "ges-bic").dag(seed=k) for k in range(10)]
    assert abs(float(alone["shd"]) - np.mean([shd(dag, data.dag) for dag in members])) < 1e-6


def test_a_registered_estimator_is_a_setting():
    ESTIMATORS.register("toy", lambda seed, network: BlanketScore(seed=seed))
    try: toy = run_setting(replace(SMALL.settings[1], estimator="toy"))
    finally: del ESTIMATORS["toy"]
    blanket = run_setting(SMALL.settings[1])
    assert toy["failure"] == "" and toy["d_top"] == blanket["d_top"]


@pytest.mark.parametrize("name, full", list(product(("er", "real"), (False, True))))
def test_methods_share_their_dataset(name, full):
    frame = make_study(name, full=full).frame()
    groups = frame[frame.base != "none"].groupby(["graph", "d", "degree", "seed", "base"])
    assert groups.strategy.apply(lambda s: "alone" in set(s)).all()
    assert not frame.duplicated().any()


def test_check_study_finds_a_changed_number(copied):
    assert len(check_study(SMALL, copied, 4)) == 4
    with ResultFile(copied, "small") as file: file.append(file.rows[1] | {"d_top": "99"})
    with pytest.raises(ValueError, match="stored is '99'"): check_study(SMALL, copied, 4)


def test_a_study_in_a_file_runs_checks_and_resumes(defined, tmp_path, shell):
    "From the shell and from Python, in worker processes that do not know the file."
    path = tmp_path/"d.csv"
    code, err = shell(defined, "--jobs", "2", "--only", "n <= 6", "--out", path)
    assert code == 0, err
    study = make_study(f"{defined}::divisors")
    table = run_study(study, path, resume=True)
    assert sorted(table.n.unique()) == list(range(1, 13)) and table.process.nunique() > 1
    assert path.read_text().startswith("# discrete-score study divisors ")
    assert check_study(study, path, 3, only="n > 6").n.nunique() == 3
    assert shell(defined, "--check", "2", "--out", path)[0] == 0
    with ResultFile(path, "divisors", columns=study.columns) as file:
        file.append({"n": 12, "seed": 0, "divisor": 5})
    with pytest.raises(ValueError, match="6 rows now, stored are 1"):
        check_study(study, path, only="n == 12")
    code, err = shell(defined, "--check", "2", "--only", "n == 12", "--out", path)
    assert code == 2 and "stored are 1" in err


def test_mistakes_in_a_study_in_a_file(defined, tmp_path):
    with pytest.raises(ValueError, match="there is no file"): make_study("nowhere.py")
    with pytest.raises(ValueError, match="there are divisors"): make_study(f"{defined}::primes")
    with pytest.raises(ValueError, match="has its own seeds"): make_study(str(defined), seed=7)
    defined.write_text(DEFINED + 'MORE = Study("more", [], "more.")\n')
    with pytest.raises(ValueError, match="defines divisors, more; name one"):
        make_study(str(defined))
    STUDIES.pop("more")
    defined.write_text(DEFINED.replace('"divisor": k', '"divider": k'))
    with pytest.raises(ValueError, match="no column 'divider'"):
        run_study(make_study(str(defined)), tmp_path/"d.csv")
    defined.write_text(DEFINED.replace("SPOILED = 0", "SPOILED = 5"))
    with pytest.raises(ValueError, match="spoiled"):
        run_study(make_study(str(defined)), tmp_path/"e.csv")
    assert read_results(tmp_path/"e.csv").n.max() == 4


@pytest.mark.parametrize("path", sorted((root/"nbs"/"studies").glob("*.py")), ids=lambda p: p.stem)
def test_every_stored_row_belongs_to_a_definition(path):
    "Columns are those of the definition, and settings are listed by it, pyAgrum's excepted."
    if path.stem == "diffusion": pytest.importorskip("torch")
    module = load_studies(path)
    for study in [value for value in vars(module).values() if isinstance(value, Study)]:
        study = make_study(study.name, full=True)
        stored = read_results(path.parent/"results"/f"{study.name}.csv")
        assert tuple(stored) == study.columns
        known = set(map(as_key, study.settings))
        found = set(map(as_key, stored[list(study.key)].itertuples(index=False)))
        if importlib.util.find_spec("pyagrum") is None:
            found = {key for key in found if not {"k2", "ghc", "miic"} & set(" ".join(key).split())}
        assert found and found <= known
        del STUDIES[study.name]


def test_gains_against_the_definition():
    "Differences, signs and counts by hand; the interval against scipy's."
    rng = np.random.default_rng(0)
    dataset = {"graph": "ER", "d": 10, "degree": 2., "states": "3-6", "n_rows": 100, "base": "pc"}
    frame = pd.DataFrame([
        dataset | {"seed": s, "strategy": k, "f1": rng.integers(0, 9)/10,
                   "shd": float(rng.integers(9))}
        for s, k in product(range(7), ("alone", "prune"))])
    a, b = (frame[frame.strategy == k].set_index("seed") for k in ("prune", "alone"))
    for metric, sign in (("f1", 1), ("shd", -1)):
        line = gains(frame, "strategy == 'prune'", metric=metric).iloc[0]
        x = (sign*(a[metric] - b[metric])).round(9)
        interval = ttest_rel(sign*a[metric], sign*b[metric]).confidence_interval()
        assert np.allclose((line.gain, line.low, line.high),
                           (x.mean(), interval.low, interval.high))
        counts = (x > 0).sum(), (x == 0).sum(), (x < 0).sum()
        assert (line.pairs, line.wins, line.ties, line.losses) == (7, *counts)

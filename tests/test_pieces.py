"""Tables in pieces: the same result to the bit, wherever the rows are."""
import contextlib
import inspect
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from itertools import combinations

import matplotlib
import matplotlib.pyplot
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.base import clone

from shell import in_shell
import discrete_score as ds
from discrete_score.counts import Counts
from discrete_score.discover import Fitted
from discrete_score.files import Reading, fingerprint
from discrete_score.order import resample
from discrete_score.pieces import Ask, Elsewhere, OnDisk, PieceCounts, PieceTable, as_source
from discrete_score.pieces import make_piece, parquet_parts
from discrete_score.tests import Sample, chi2_exact_many

matplotlib.use("Agg")


def survey(seed, n=300):
    "A random table with text, numbers, categories, gaps and weights."
    rng = np.random.default_rng(seed)
    state, columns = rng.integers(0, 3, n), {}
    makers = [lambda s: np.array(["lo", "mid", "hi"], object)[s], lambda s: s,
              lambda s: s + rng.normal(size=n).round(2), lambda s: s > 0,
              lambda s: pd.Categorical.from_codes(s, ["b", "a", "c"])]
    for k in range(6):
        state = np.where(rng.random(n) < .7, state, rng.integers(0, 3, n))
        cells = pd.Series(makers[k % 5](state))
        columns[f"c{k}"] = cells.mask(rng.random(n) < .05) if k in (0, 2, 4) else cells
    return pd.DataFrame(columns | {"times": rng.integers(0, 4, n)})


def write(frame, folder, cuts=(90, 91, 200), rows=60):
    "Write a frame as several Parquet files of several row groups: a pattern that fits them."
    whole, edges = pa.Table.from_pandas(frame, preserve_index=False), [0, *cuts, len(frame)]
    for k, (low, high) in enumerate(zip(edges, edges[1:])):
        parquet.write_table(whole.slice(low, high - low), folder / f"part{k}.parquet",
                            row_group_size=rows)
    return f"{folder}/*.parquet"


def found(model, source, **options):
    "All that a search finds, as plain data."
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(source, **options).to_dict(rows=False)


@pytest.fixture(scope="module")
def threads():
    "A cluster of two workers in threads of this process."
    distributed = pytest.importorskip("distributed")
    options = dict(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0")
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


CASES = [dict(missing="drop", bins="auto"), dict(missing="state", bins=3),
         dict(missing="drop", bins={"c2": [-np.inf, 0., 1.5, np.inf]}, guide="halves"),
         dict(missing="state", bins="auto", guide=None)]


@pytest.mark.parametrize("seed", range(8))
def test_the_result_does_not_depend_on_where_the_rows_are(seed, tmp_path, threads):
    frame, settings = survey(seed), CASES[seed % 4]
    weights = "times" if seed % 3 else None
    if weights is None: frame = frame.drop(columns="times")
    pattern = write(frame, tmp_path)
    model = ds.DiscreteScore(**settings, seed=seed)
    memory = found(model, pd.concat(map(pd.read_parquet, sorted(tmp_path.glob("*")))),
                   sample_weight=weights)
    assert found(model, pattern, sample_weight=weights) == memory
    cluster = as_source(pattern, cluster=threads)
    assert found(model, cluster, sample_weight=weights) == memory


def test_a_dask_dataframe_is_fitted_like_its_frame(threads):
    dask = pytest.importorskip("dask.dataframe")
    frame = survey(3).drop(columns="times")
    parts = dask.from_pandas(frame, npartitions=3)
    model = ds.DiscreteScore(missing="state")
    assert found(model, parts) == found(model, frame)
    one, two = (model.fit(data).bootstrap(n=2).orders for data in (parts, frame))
    assert (one == two).all()


def test_partitions_without_rows_or_without_a_cell_are_no_obstacle(threads):
    dask = pytest.importorskip("dask.dataframe")
    frame = survey(4).drop(columns="times").astype({"c0": object})
    frame.loc[:99, "c0"] = None
    parts = dask.from_pandas(frame, npartitions=3)
    model, rows = ds.DiscreteScore(missing="state"), frame[frame.c3]
    assert found(model, parts) == found(model, frame)
    assert found(model, parts[parts.c3].drop(columns="c3")) == found(model, rows.drop(columns="c3"))


def test_a_driver_on_a_cluster_keeps_counts_too(tmp_path, threads):
    pattern = write(survey(5), tmp_path)
    kept = dict(cluster=threads, folder=tmp_path / "kept")
    reading = Reading(missing="state", weights="times")
    first = reading.table(as_source(pattern, **kept))
    one = found(ds.DiscreteScore(), first)
    third = reading.table(as_source(pattern, **kept))
    assert found(ds.DiscreteScore(), third) == one
    assert third.counts.rounds == 0 < first.counts.rounds


def test_a_table_of_many_equal_rows_is_folded_and_counted_alike(tmp_path, threads):
    frame = ds.load_network("earthquake").sample(12_000, seed=0).astype(str)
    pattern = write(frame, tmp_path, cuts=(5000,), rows=5000)
    table = Reading().table(as_source(pattern))
    assert all(piece.shape[1] < 200 for piece in table.counts.pieces)
    model = ds.DiscreteScore()
    assert found(model, table) == found(model, frame)
    assert found(model, as_source(pattern, cluster=threads)) == found(model, frame)


def test_messages_are_those_of_a_frame(tmp_path):
    frame = survey(0)
    frame["id"], frame["one"] = np.arange(len(frame)) * 7, "x"
    pattern = write(frame, tmp_path)
    with pytest.raises(ValueError) as memory: Reading().table(frame)
    with pytest.raises(ValueError) as pieces: Reading().table(as_source(pattern))
    assert str(pieces.value) == str(memory.value)
    assert len(memory.value.problems) >= 2


def counted(seed, weighted, n=400, d=6, most=12):
    "The same random rows, counted in memory and in three pieces."
    rng = np.random.default_rng(seed)
    states = rng.integers(most * 2 // 3, most, d)
    codes = (rng.integers(0, 10**6, (n, d)) % states).astype(np.uint8)
    weights = rng.integers(1, 30, n).astype(float) if weighted else None
    pieces = [make_piece(codes[rows].T, states, None if weights is None else weights[rows])
              for rows in np.array_split(np.arange(n), 3)]
    total = None if weights is None else weights.sum()
    far = PieceCounts(OnDisk(), pieces, states, n, total)
    return Counts(codes, states, weights), far


@pytest.mark.parametrize("weighted", [False, True])
def test_tests_give_the_same_bits_even_with_very_many_strata(weighted):
    near, far = counted(1, weighted)
    sets = [(), (2,), (2, 3), (2, 3, 4), (2, 3, 4, 5), (3, 4, 5)]
    assert near.size(sets[4]) > 4 * near.n + 1024
    one, two = (chi2_exact_many(counts, 0, 1, sets) for counts in (near, far))
    assert one.p_values.tobytes() == two.p_values.tobytes()
    assert one.excess.tobytes() == two.excess.tobytes()


@pytest.mark.parametrize("weighted", [False, True])
def test_large_tables_are_sent_by_their_cells(weighted):
    near, far = counted(2, weighted, most=40)
    assert near.size(range(6)) > 2**16
    for child, parents in ((0, (1, 2, 3, 4, 5)), (3, (0, 1)), (5, ())):
        one, two = (counts.lookup(child, parents) for counts in (near, far))
        rows = near.columns.T
        assert (one.counts[one.locate(rows)] == two.counts[two.locate(rows)]).all()
    for one, two in zip(near.seen(range(6)), far.seen(range(6))): assert (one == two).all()


def test_scores_are_the_same_bits():
    near, far = counted(3, False)
    for score in ("loo", "bdeu:3", "qnml", "bic", "dirichlet"):
        one, two = (ds.scores.Families(counts, score=score) for counts in (near, far))
        rest = np.array([1, 3, 4, 5])
        assert one.score(0, (1, 2)) == two.score(0, (1, 2))
        assert (one.extend(0, (2,), rest)[rest] == two.extend(0, (2,), rest)[rest]).all()
        assert one.alpha(0, (1, 2)) == two.alpha(0, (1, 2))


def test_tables_are_asked_for_in_one_round():
    far = counted(4, False)[1]
    far.fetch(Ask((j,), tuple(k for k in range(6) if k != j)) for j in range(6))
    assert far.rounds == 1
    assert far.table((1, 4)).sum() == far.table((2,)).sum() == 400
    assert far.rounds == 1


def test_what_the_driver_remembers_has_a_bound():
    near, far = counted(5, False)
    far.limit, far.room = 2**15, 2**12
    for columns in combinations(range(6), 3):
        one, two = (counts.family(columns[0], columns[1:]) for counts in (near, far))
        assert (one.sum(1) == two.sum(1)).all()
        far.seen(columns)
    held = sum(table.nbytes + 256 for table in far._tables.values())
    assert held == far._bytes <= 2**15 and 1 < len(far._tables) < 20
    assert sum(seen.nbytes for seen in far._seen.values()) <= 2**12


def test_bad_files_are_named_in_one_message(tmp_path):
    pattern = write(survey(0), tmp_path)
    frame = pd.read_parquet(tmp_path / "part1.parquet")
    frame.rename(columns={"c1": "other"}).to_parquet(tmp_path / "part5.parquet", index=False)
    frame.assign(c1="text").to_parquet(tmp_path / "part6.parquet", index=False)
    with pytest.raises(ValueError) as error: as_source(pattern)
    said = str(error.value)
    assert "part5.parquet" in said and "part6.parquet" in said and "`c1`" in said
    (tmp_path / "part7.parquet").touch()
    (tmp_path / "part8.parquet").write_bytes(b"no parquet at all")
    with pytest.raises(ValueError) as error: as_source(pattern)
    assert "part7.parquet" in str(error.value) and "part8.parquet" in str(error.value)
    with pytest.raises(ValueError, match="part9.parquet"):
        parquet_parts([tmp_path / "part0.parquet", tmp_path / "part9.parquet"])
    with pytest.raises(ValueError, match="no file fits"): as_source(f"{tmp_path}/x*.parquet")


def test_a_file_without_rows_is_named_and_the_others_are_read(tmp_path):
    frame = survey(0)
    pattern = write(frame, tmp_path)
    empty = pa.Table.from_pandas(frame, preserve_index=False).slice(0, 0)
    parquet.write_table(empty, tmp_path / "part9.parquet")
    with pytest.warns(UserWarning, match="part9.parquet"): source = as_source(pattern)
    table = Reading(missing="state").table(source)
    assert fingerprint(table) == fingerprint(Reading(missing="state").table(frame))


def test_what_needs_rows_in_one_place_says_so_first(tmp_path):
    table = Reading(missing="state").table(as_source(write(survey(0), tmp_path)))
    with pytest.raises(ValueError, match="in pieces"):
        ds.DiscreteScore(estimator=ds.ExactScore(ds.load_network("earthquake"))).fit(table)
    model = ds.DiscreteScore(missing="state").fit(table)
    with pytest.raises(ValueError, match="`n_jobs` at 1"): model.bootstrap(n=2, n_jobs=2)
    with pytest.raises(ValueError, match="`n_jobs` at 1"): model.dag(bootstrap=2, n_jobs=2)
    with pytest.raises(ValueError, match="in pieces"): model.dag(base="ordcd")
    with pytest.raises(ValueError, match="in pieces"): model.estimator_.conditionals(None, range(7))
    with pytest.raises(ValueError, match="whole numbers"):
        half = survey(0).assign(times=.5)
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
        Reading(missing="state", weights="times").table(as_source(write(half, tmp_path)))


@pytest.fixture(scope="module", params=["times", None], ids=["weighted", "plain"])
def fitted(request, tmp_path_factory):
    "The same table, searched in memory and in pieces."
    frame = survey(1) if request.param else survey(1).drop(columns="times")
    folder = tmp_path_factory.mktemp("after")
    pattern, model = write(frame, folder), ds.DiscreteScore(missing="state", bins="auto")
    whole = pd.concat(map(pd.read_parquet, sorted(folder.glob("*"))))
    return [clone(model).fit(data, sample_weight=request.param) for data in (whole, pattern)]


ASKED = dict(
    diagnose=lambda model, path: model.diagnose(max_in_degree=2).to_dict(),
    bootstrap=lambda model, path: model.bootstrap(n=2).orders.tolist(),
    with_replacement=lambda model, path: model.bootstrap(n=2, method="rows").orders.tolist(),
    resampled=lambda model, path: fingerprint(resample(model.result_.table, "half", seed=3)),
    dag=lambda model, path: model.dag().dag.tolist(),
    dag_of_a_learner=lambda model, path: model.dag(base="ges").dag.tolist(),
    arrows=lambda model, path: model.dag(bootstrap=2).confidence.tolist(),
    report=lambda model, path: model.report(path / "page.html").read_text(),
    view=lambda model, path: model.view().page,
    effect=lambda model, path: model.effect("c1", "c3", adjust=["c0"]).to_dict(),
    calibration=lambda model, path: model.estimator_.calibration().to_csv(),
    guide=lambda model, path: model.guide_.margins().to_csv(),
    markdown=lambda model, path: model._repr_markdown_(),
    result=lambda model, path: model.to_dict(rows=False),
)


@pytest.mark.parametrize("asked", ASKED)
def test_whatever_is_asked_after_the_search_is_the_same(asked, fitted, tmp_path):
    near, far = (ASKED[asked](model, tmp_path) for model in fitted)
    assert near == far


def test_attributes_and_pictures_after_the_search_are_the_same(fitted):
    names = [name for name, kind in inspect.getmembers(Fitted) if isinstance(kind, property)]
    assert len(names) > 10
    for name in names: assert repr(getattr(fitted[0], name)) == repr(getattr(fitted[1], name)), name
    for model in fitted: matplotlib.pyplot.close(model.plot().figure)


def test_nothing_after_the_search_is_left_untried():
    public = {name for name, kind in inspect.getmembers(ds.DiscreteScore, inspect.isfunction)
              if not name.startswith("_")}
    tried = {"bootstrap", "dag", "diagnose", "effect", "fit", "plot", "report", "save", "to_dict",
             "view"}
    about_settings = {"get_metadata_routing", "get_params", "set_params", "settings"}
    assert public <= tried | about_settings


def test_blankets_with_very_many_configurations_give_the_same_bits(monkeypatch):
    frame = ds.load_network("sachs").sample(900, seed=4).astype(str)
    near = ds.BlanketScore().fit(Reading().table(frame))
    far = ds.BlanketScore().fit(in_pieces(Reading().table(frame)))
    monkeypatch.setattr(ds.blanket, "BLOCK", 64)
    monkeypatch.setattr(far.families_.counts, "room", 0)
    columns = range(11)
    assert far.families_.counts.is_long(columns)
    for one, two in zip(near.values(columns), far.values(columns)):
        assert one.tobytes() == two.tobytes()
    assert near.calibration().equals(far.calibration())
    assert not far._terms.items


def in_pieces(table):
    "The same table with its rows in three pieces."
    codes = [rows.T.astype(np.uint8) for rows in np.array_split(np.asarray(table.codes), 3)]
    pieces = [make_piece(rows, table.n_states) for rows in codes]
    counts = PieceCounts(OnDisk(), pieces, table.n_states, table.n)
    return PieceTable(table.schema, Elsewhere(), None, counts=counts)


def test_rows_can_be_drawn_on_a_cluster(tmp_path, threads):
    frame = survey(2)
    pattern, reading = write(frame, tmp_path), Reading(missing="state", weights="times")
    near, far = (reading.table(as_source(pattern, cluster=place)) for place in (None, threads))
    for method in ("half", "rows"):
        one, two = (resample(table, method, seed=5) for table in (near, far))
        assert fingerprint(one) == fingerprint(two)
        assert (one.counts.table((0, 3)) == two.counts.table((0, 3))).all()
    assert (Sample(near, 40).codes == Sample(far, 40).codes).all()
    with pytest.raises(ValueError, match="`n_samples`"):
        far.rows(np.full(far.n, 2**20))


def test_effects_and_saved_results_need_only_counts(tmp_path):
    frame = ds.load_network("sachs").sample(800, seed=1).astype(str)
    pattern = write(frame, tmp_path, cuts=(300,))
    one, two = ds.DiscreteScore().fit(frame), ds.DiscreteScore().fit(pattern)
    treatment, outcome = one.order_[0], one.order_[-1]
    assert one.effect(treatment, outcome).to_dict() == two.effect(treatment, outcome).to_dict()
    two.save(tmp_path / "result.json")
    again = ds.load_order(tmp_path / "result.json")
    assert again.order_ == one.order_ and again.fingerprint_ == one.fingerprint_


class Killed(BaseException): "A driver that is gone."


def test_a_driver_that_was_killed_goes_on_from_its_folder(tmp_path):
    frame = ds.load_network("sachs").sample(600, seed=2).astype(str)
    pattern, kept = write(frame, tmp_path, cuts=(300,)), tmp_path / "kept"
    table = Reading().table(as_source(pattern, folder=kept))
    ask, left = table.counts.place.ask, [60]
    def killed(*args, **options):
        left[0] -= 1
        if not left[0]: raise Killed
        return ask(*args, **options)
    table.counts.place.ask = killed
    with pytest.raises(Killed): ds.DiscreteScore().fit(table)
    with open(kept / "counts", "ab") as file: file.write(b"half a rec")
    again = Reading().table(as_source(pattern, folder=kept))
    assert found(ds.DiscreteScore(), again) == found(ds.DiscreteScore(), frame)
    third = Reading().table(as_source(pattern, folder=kept))
    found(ds.DiscreteScore(), third)
    assert third.counts.rounds == 0 < again.counts.rounds


def test_the_command_line_reads_in_pieces(tmp_path):
    frame = ds.load_network("earthquake").sample(900, seed=0).astype(str)
    frame.to_parquet(tmp_path / "table.parquet", index=False)
    one = in_shell("order", tmp_path / "table.parquet", "--out", tmp_path / "one.json")
    two = in_shell("order", tmp_path / "table.parquet", "--pieces", "--folder", tmp_path / "kept",
                   "--out", tmp_path / "two.json")
    assert one[0] == two[0] == 0 and one[1] == two[1]
    results = [ds.load_order(tmp_path / f"{name}.json") for name in ("one", "two")]
    assert results[0].fingerprint_ == results[1].fingerprint_
    first, second = (result.to_dict(rows=False) | {"data": None} for result in results)
    assert first == second
    code, _, said = in_shell("order", tmp_path / "table.csv", "--pieces")
    assert code != 0 and "Parquet" in said
    half = "order", tmp_path / "table.parquet", "--bootstrap", "2"
    code, out, said = in_shell(*half, "--pieces", "--jobs", "2")
    assert code != 0 and not out and "--jobs" in said
    assert in_shell(*half, "--pieces")[:2] == in_shell(*half)[:2]
    diagnose = "diagnose", tmp_path / "table.parquet", "--order", tmp_path / "one.json"
    for call in (("dag", tmp_path / "table.parquet"), diagnose):
        assert in_shell(*call, "--pieces")[:2] == in_shell(*call)[:2]


def test_a_killed_worker_changes_nothing(tmp_path):
    distributed = pytest.importorskip("distributed")
    frame = ds.load_network("sachs").sample(600, seed=3).astype(str)
    pattern, memory = write(frame, tmp_path, cuts=(300,)), found(ds.DiscreteScore(), frame)
    options = dict(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        table = Reading().table(as_source(pattern, cluster=client))
        ask, left = table.counts.place.ask, [40]
        def unlucky(*args, **more):
            left[0] -= 1
            if not left[0]: os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
            return ask(*args, **more)
        table.counts.place.ask = unlucky
        assert found(ds.DiscreteScore(), table) == memory
        assert left[0] < 0


@contextlib.contextmanager
def cluster_of_processes(folder):
    "A scheduler and a worker, each a program of its own: the scheduler, and its address."
    about, calls = folder / "scheduler.json", []
    options = dict(stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=folder)
    for words in ("scheduler --port 0", "worker --nthreads 1 --no-nanny --death-timeout 60"):
        call = [sys.executable, "-m", "dask", *words.split(), "--no-dashboard"]
        calls.append(subprocess.Popen([*call, "--scheduler-file", str(about)], **options))
    try:
        while not about.exists() or not about.read_text().endswith("}"): time.sleep(.05)
        yield calls[0], json.loads(about.read_text())["address"]
    finally:
        for call in calls: call.kill()
        for call in calls: call.wait()


def test_a_killed_scheduler_is_one_message_and_its_counts_are_used_again(tmp_path, threads):
    frame = ds.load_network("sachs").sample(300, seed=3).astype(str)
    pattern, kept = write(frame, tmp_path, cuts=(150,)), tmp_path / "kept"
    with cluster_of_processes(tmp_path) as (scheduler, address):
        table = Reading().table(as_source(pattern, cluster=address, folder=kept))
        ask, left = table.counts.place.ask, [30]
        def unlucky(*args, **more):
            left[0] -= 1
            if not left[0]: scheduler.kill()
            return ask(*args, **more)
        table.counts.place.ask = unlucky
        with pytest.raises(ValueError, match="scheduler of the cluster is lost.*same `folder"):
            ds.DiscreteScore().fit(table)
        table.counts.place.client.close(timeout=1)
    again = Reading().table(as_source(pattern, cluster=threads, folder=kept))
    known = len(again.counts.ledger.found)
    assert found(ds.DiscreteScore(), again) == found(ds.DiscreteScore(), frame)
    assert 0 < known < len(again.counts.ledger.found)

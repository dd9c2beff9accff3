"The command line as a user meets it: processes, pipes, signals, bad files."
import json, os, signal, subprocess, sys, time
from pathlib import Path

import pytest

import discrete_score as ds

program = Path(sys.executable).parent / "discrete-score"


def run(*argv, **kwargs): return subprocess.run([program, *map(str, argv)], capture_output=True, text=True, **kwargs)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    assert run("simulate", "--nodes", 8, "--rows", 2000, "--seed", 3, "--out", folder / "data.csv", "--truth", folder / "truth.json").returncode == 0
    return folder


def test_help_is_quick_and_complete():
    start = time.perf_counter()
    done = run("--help")
    assert done.returncode == 0 and time.perf_counter() - start < 2
    for command in ("demo", "order", "report", "simulate", "check-prior"):
        assert command in done.stdout
        text = run(command, "--help").stdout
        assert "--seed" in text and "--out" in text


def test_help_loads_nothing_heavy():
    code = "import sys, discrete_score.cli as c\ntry: c.main(['--help'])\nexcept SystemExit: pass\nprint({'numpy', 'pandas', 'torch', 'sklearn'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.splitlines()[-1] == "set()"


def test_order_from_a_pipe(files):
    with open(files / "data.csv") as data: done = run("order", "-", "--out", files / "r.json", stdin=data)
    assert done.returncode == 0 and all(line.startswith("discrete-score: note: ") for line in done.stderr.splitlines())
    saved, table = ds.load_order(files / "r.json"), ds.read_table(files / "data.csv")
    assert saved.order_ == ds.DiscreteScore().fit(table).order_
    listed, _, believed = done.stdout.partition("\n\n")
    assert [line.split()[1] for line in listed.splitlines()[1:]] == saved.order_ and believed.startswith("The data c")


def test_same_seed_same_file(files):
    for name in ("a.json", "b.json"): assert run("order", files / "data.csv", "--seed", 5, "--out", files / name).returncode == 0
    assert (files / "a.json").read_bytes() == (files / "b.json").read_bytes()


def test_knowledge_is_obeyed(files):
    free = [line.split()[1] for line in run("order", files / "data.csv").stdout.partition("\n\n")[0].splitlines()[1:]]
    first, last = free[0], free[-1]
    done = run("order", files / "data.csv", "--before", last, first, "--leaves", free[3])
    order = [line.split()[1] for line in done.stdout.partition("\n\n")[0].splitlines()[1:]]
    assert order.index(last) < order.index(first) and order[-1] == free[3]


@pytest.mark.parametrize("text, options, says", [
    ("a,b\n" + "x,u\ny,u\n" * 5, (), "`b`"),
    ("a,b\n" + "x,1.5\ny,2.25\n" * 5, (), "`b`"),
    ("a,b\nx,u\ny\n", (), "2"),
    ("a;b\n" + "x;u\ny;v\n" * 5, (), "column"),
    ("", (), "empty"),
    ("a,b\n" + "x,\ny,v\n" * 5, (), "`b`"),
    ("a,b\n" + "x,u\ny,v\n" * 5, ("--measure", "nonsense"), "nonsense"),
    ("a,b\n" + "x,u\ny,v\n" * 5, ("--before", "a", "z"), "z"),
])
def test_bad_input_exits_2_with_one_line(tmp_path, text, options, says):
    (tmp_path / "bad.csv").write_text(text)
    done = run("order", tmp_path / "bad.csv", *options)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("discrete-score: ") and done.stderr.count("\n") == 1 and says in done.stderr


def test_missing_file_and_foreign_result(files):
    assert run("order", files / "nothing.csv").returncode == 2
    done = run("order", files / "data.csv", "--resume", files / "truth.json")
    assert done.returncode == 2 and "not a result" in done.stderr


def test_a_closed_pipe_is_no_error(files):
    writer = subprocess.Popen([program, "simulate", "--network", "alarm", "--rows", "50000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    writer.stdout.readline()
    writer.stdout.close()
    assert writer.wait(60) == 0 and writer.stderr.read() == b""


def test_interrupt_keeps_what_was_done(tmp_path):
    "Ctrl-C during a long search: exit 130, one line, and the file resumes to the same order."
    assert run("simulate", "--nodes", 120, "--rows", 20000, "--out", tmp_path / "big.csv").returncode == 0
    out = tmp_path / "part.json"
    waiting = ("import sys, signal, discrete_score.cli as c, discrete_score.discover as d\n"
               "original = d.causal_order\n"
               "def slowed(*a, callback=None, **k):\n"
               "    def stop(step):\n"
               "        callback(step)\n"
               "        if step.step == 2: signal.raise_signal(signal.SIGINT)\n"
               "    return original(*a, callback=stop, **k)\n"
               "d.causal_order = slowed\n"
               f"sys.exit(c.main(['order', {str(tmp_path / 'big.csv')!r}, '--nrows', '2000', '--out', {str(out)!r}]))")
    done = subprocess.run([sys.executable, "-c", waiting], capture_output=True, text=True)
    assert done.returncode == 130 and done.stderr.count("\n") == 1 and "--resume" in done.stderr
    kept = f"{out}.partial"
    assert len(ds.load_order(kept).order_) == 3 and not ds.load_order(kept).result_.complete and not out.exists()
    resumed = run("order", tmp_path / "big.csv", "--nrows", 2000, "--resume", kept, "--out", tmp_path / "full.json")
    straight = run("order", tmp_path / "big.csv", "--nrows", 2000)
    assert resumed.returncode == 0 and resumed.stdout == straight.stdout


def test_interrupt_by_signal(tmp_path):
    "A real SIGINT at an arbitrary moment ends with 130 and no traceback."
    process = subprocess.Popen([program, "order", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130 and "Traceback" not in err and err.count("\n") == 1


def test_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    from discrete_score.discover import write_json
    path = tmp_path / "result.json"
    write_json({"order": [1]}, path)
    monkeypatch.setattr(os, "fsync", lambda *_: (_ for _ in ()).throw(OSError("no space left on device")))
    with pytest.raises(OSError): write_json({"order": [2]}, path)
    assert json.loads(path.read_text()) == {"order": [1]} and [f.name for f in tmp_path.iterdir()] == ["result.json"]


def test_demo_and_check_prior(tmp_path):
    done = run("demo", "--network", "earthquake", "--rows", 2000, "--plot", tmp_path / "demo.png", cwd=tmp_path)
    assert done.returncode == 0 and "D_top" in done.stdout and (tmp_path / "demo.png").stat().st_size > 5000
    done = run("check-prior", "--network", "earthquake", "--out", tmp_path / "prior.json")
    assert done.returncode == 0 and len(json.loads((tmp_path / "prior.json").read_text())["edges"]) == 4


def test_the_advice_can_be_followed(tmp_path):
    "A table with an identifier, a missing cell and a number: each refusal names an option, and with all of them it works."
    rows = [f"c{k},{'' if k == 3 else k % 3},{20 + k % 40 + .5},{'yes' if k % 2 else 'no'}" for k in range(200)]
    (tmp_path / "people.csv").write_text("\n".join(["id,visits,age,loan", *rows]))
    options = []
    for hint, more in [("--missing drop", ["--missing", "drop"]), ("--bins 'age=4'", ["--bins", "age=4"]), ("--drop", ["--drop", "id"])]:
        done = run("order", tmp_path / "people.csv", *options)
        assert done.returncode == 2 and hint in done.stderr, done.stderr
        options += more
    done = run("order", tmp_path / "people.csv", *options)
    assert done.returncode == 0 and done.stdout.startswith("place  column") and "note:" in done.stderr


def test_resuming_on_another_table_is_refused(files, tmp_path):
    assert run("order", files / "data.csv", "--max-steps", 2, "--out", tmp_path / "part.json").returncode == 0
    done = run("order", files / "data.csv", "--nrows", 500, "--resume", tmp_path / "part.json")
    assert done.returncode == 2 and "another table" in done.stderr
    done = run("order", files / "data.csv", "--out", tmp_path / "missing" / "r.json")
    assert done.returncode == 2 and "no folder" in done.stderr


def test_graph_from_a_pipe(files):
    with open(files / "data.csv") as data: done = run("dag", "-", "--out", files / "g.json", "--dot", files / "g.dot", "--png", files / "g.svg", stdin=data)
    assert done.returncode == 0 and all(line.startswith("discrete-score: note: ") for line in done.stderr.splitlines())
    graph, table = ds.load_dag(files / "g.json"), ds.read_table(files / "data.csv")
    assert (graph.dag == ds.DiscreteScore().fit(table).dag().dag).all()
    printed = {tuple(line.split()[::2]) for line in done.stdout.splitlines() if " -> " in line}
    assert printed == set(graph.edges) and (files / "g.dot").read_text().count(" -> ") == len(printed) and "<svg" in (files / "g.svg").read_text()


def test_graph_along_a_given_order(files):
    truth = json.loads((files / "truth.json").read_text())
    done = run("dag", files / "data.csv", "--order", files / "truth.json", "--strategy", "prune", "--inside", "--bootstrap", 3, "--out", files / "p.json")
    assert done.returncode == 0
    graph = ds.load_dag(files / "p.json")
    place = {name: k for k, name in enumerate(truth["order"])}
    assert all(place[a] < place[b] for a, b in graph.edges) and graph.confidence is not None


@pytest.mark.parametrize("options, says", [
    (("--base", "nonsense"), "nonsense"), (("--base", "gam"), "--strategy prune"), (("--inside",), "--strategy insert"), (("--png", "g.txt"), ".png"),
    (("--order", "data.csv"), "JSON"), (("--out", "no/g.json"), "no folder"),
])
def test_graph_refuses_in_one_line(files, options, says):
    done = run("dag", "data.csv", *options, cwd=files)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1 and says in done.stderr


def test_report_of_strings_with_missing_cells(files):
    rows = (files / "data.csv").read_text().splitlines()
    (files / "holes.csv").write_text("\n".join([rows[0].replace("X1", "<b>X1</b>"), *(row if k % 7 else "," + row.split(",", 1)[1] for k, row in enumerate(rows[1:]))]))
    done = run("report", files / "holes.csv", "-o", files / "report.html")
    assert done.returncode == 2 and "--missing" in done.stderr and not (files / "report.html").exists()
    done = run("report", files / "holes.csv", "--missing", "state", "-o", files / "report.html")
    page = (files / "report.html").read_text(encoding="utf-8")
    assert done.returncode == 0 and done.stdout.strip() == str(files / "report.html")
    assert page.index("What the data compel") < page.index("The total order") and page.count("data:image/png") >= 3
    assert "<b>X1</b>" not in page and "&lt;b&gt;X1&lt;/b&gt;" in page
    assert "http" not in page.replace("http-equiv", "") and "<script" not in page


def test_noise_is_said_to_be_noise(tmp_path):
    "Independent columns: the order is printed, and so is that nothing is to be believed; the graph has no direction by the data."
    import numpy as np
    rng = np.random.default_rng(0)
    (tmp_path / "noise.csv").write_text("a,b,c,d\n" + "\n".join(",".join(map(str, row)) for row in rng.integers(0, 3, (800, 4))))
    done = run("order", tmp_path / "noise.csv")
    assert done.returncode == 0 and "The data cannot tell: they compel the order of none of the 6 pairs" in done.stdout
    done = run("order", tmp_path / "noise.csv", "--out", tmp_path / "noise.csv")
    assert done.returncode == 2 and "is the table itself" in done.stderr and (tmp_path / "noise.csv").read_text().startswith("a,b,c,d\n")


@pytest.mark.parametrize("content, options, says", [
    ("a;b\n" + "x;1,5\ny;2,5\n" * 20, (), "--sep ';'"),
    ("a\tb\n" + "x\tu\ny\tv\n" * 20, (), "--sep tab"),
    ("a,b\n" + "x,2024-05-01\ny,2024-05-02\n" * 20, (), "column `b` holds dates"),
    ("a,b,c\n" + "x,u,\ny,v,\n" * 20, (), "--drop 'c'"),
    ("a,b\n" + "x,NA\ny,v\nx,u\n" * 20, (), "--na 'NA'"),
    ("PK\x03\x04", (), "spreadsheet"),
])
def test_files_as_people_have_them(tmp_path, content, options, says):
    (tmp_path / "data.csv").write_text(content)
    done = run("order", tmp_path / "data.csv", *options)
    assert says in done.stderr and "`na=" not in done.stderr and "Traceback" not in done.stderr

"""The command line as a user meets it: pipes, signals, bad files.

A process is started where a process is the point; everything else calls `main`.
"""
import contextlib
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from shell import in_shell
import discrete_score as ds
from discrete_score import cli, discover
from discrete_score.files import write_json

program = Path(sys.executable).parent / "discrete-score"


def process(*argv, **options):
    "Run the program."
    argv = [program, *map(str, argv)]
    return subprocess.run(argv, capture_output=True, text=True, **options)


def run(*argv):
    "Run the command line in this process."
    code, out, err = in_shell(*argv)
    return SimpleNamespace(returncode=code, stdout=out, stderr=err)


def printed_order(done):
    "The columns that `order` printed."
    table = done.stdout.partition("place  column")[2].partition("\n\n")[0]
    return [line.split()[1] for line in table.splitlines()[1:]]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    "A folder with a table and its truth."
    folder = tmp_path_factory.mktemp("cli")
    written = ("--out", folder / "data.csv", "--truth", folder / "truth.json")
    done = run("simulate", "--nodes", 8, "--rows", 2000, "--seed", 3, *written)
    assert done.returncode == 0
    return folder


@pytest.fixture(scope="module")
def model(files):
    "The search that `order` makes of that table."
    return ds.DiscreteScore().fit(ds.read_table(files / "data.csv"))


def test_help_is_complete():
    done = process("--help")
    assert done.returncode == 0
    for command in ("demo", "order", "report", "simulate", "check-prior"):
        assert command in done.stdout
        text = run(command, "--help").stdout
        assert "--seed" in text and "--out" in text


def test_help_loads_nothing_heavy():
    code = ("import sys, discrete_score.cli as c\n"
            "try: c.main(['--help'])\n"
            "except SystemExit: pass\n"
            "print({'numpy', 'pandas', 'torch', 'sklearn'} & set(sys.modules))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_the_module_runs(files):
    argv = [sys.executable, "-m", "discrete_score.cli", "--version"]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0 and ds.__version__ in done.stdout


def test_only_the_first_process_speaks(files, tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    done = run("order", files / "data.csv", "--max-steps", 2, "--out", tmp_path / "r.json")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not list(tmp_path.iterdir())


def test_order_from_a_pipe(files, model):
    with open(files / "data.csv") as data:
        done = process("order", "-", "--out", files / "r.json", stdin=data)
    notes = done.stderr.splitlines()
    assert done.returncode == 0 and all(n.startswith("discrete-score: note: ") for n in notes)
    saved = ds.load_order(files / "r.json")
    assert saved.order_ == model.order_ == printed_order(done)
    assert done.stdout.startswith("The data c")
    said, _, order = done.stdout.partition("\n\n")
    assert "place  column" not in said and order.startswith("One order of many")


def test_same_seed_same_file(files):
    for start, name in ((process, "a.json"), (run, "b.json")):
        done = start("order", files / "data.csv", "--seed", 5, "--out", files / name)
        assert done.returncode == 0
    assert (files / "a.json").read_bytes() == (files / "b.json").read_bytes()


def test_knowledge_is_obeyed(files, model):
    free = model.order_
    first, last = free[0], free[-1]
    known = ("--before", last, first, "--leaves", free[3])
    order = printed_order(run("order", files / "data.csv", *known))
    assert order.index(last) < order.index(first) and order[-1] == free[3]


GOOD = "a,b\n" + "x,u\ny,v\n" * 5


@pytest.mark.parametrize("text, options, says", [
    ("a,b\n" + "x,u\ny,u\n" * 5, (), "`b`"),
    ("a,b\n" + "x,1.5\ny,2.25\n" * 5, ("--bins", "none"), "`b`"),
    ("a,b\nx,u\ny\n", (), "2"),
    ("a;b\n" + "x;u\ny;v\n" * 5, ("--sep", ","), "column"),
    ("", (), "empty"),
    ("a,b\n" + "x,\ny,v\n" * 5, (), "`b`"),
    (GOOD, ("--measure", "nonsense"), "nonsense"),
    (GOOD, ("--estimator", "nonsense"), "nonsense"),
    (GOOD, ("--guide", "nonsense"), "nonsense"),
    (GOOD, ("--epochs", "3"), "--estimator diffusion"),
    (GOOD, ("--before", "a", "z"), "z"),
])
def test_bad_input_exits_2_with_one_line_and_what_works(tmp_path, text, options, says):
    (tmp_path / "bad.csv").write_text(text)
    done = run("order", tmp_path / "bad.csv", *options)
    assert done.returncode == 2 and done.stdout == ""
    first, *rest = done.stderr.splitlines()
    assert first.startswith("discrete-score: ") and says in first
    if not rest: return
    works, = rest
    assert works.startswith("This works: discrete-score order ")
    assert run(*shlex.split(works.removeprefix("This works: "))[1:]).returncode == 0


def test_missing_file_and_foreign_result(files):
    assert run("order", files / "nothing.csv").returncode == 2
    done = run("order", files / "data.csv", "--resume", files / "truth.json")
    assert done.returncode == 2 and "not a result" in done.stderr


def test_a_closed_pipe_is_no_error(files):
    argv = [program, "simulate", "--network", "alarm", "--rows", "50000"]
    writer = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    writer.stdout.readline()
    writer.stdout.close()
    assert writer.wait(60) == 0 and writer.stderr.read() == b""


def test_interrupt_keeps_what_was_done(tmp_path, monkeypatch):
    "Ctrl-C during a search: exit 130, one line, and the file resumes to the same order."
    big, out, original = tmp_path / "big.csv", tmp_path / "part.json", discover.causal_order
    assert run("simulate", "--nodes", 30, "--rows", 4000, "--out", big).returncode == 0

    def slowed(*args, callback=None, **options):
        def stop(step):
            callback(step)
            if step.step == 2: signal.raise_signal(signal.SIGINT)
        return original(*args, callback=stop, **options)

    with monkeypatch.context() as patched:
        patched.setattr(discover, "causal_order", slowed)
        done = run("order", big, "--nrows", 2000, "--out", out)
    assert done.returncode == 130 and done.stderr.count("\n") == 1 and "--resume" in done.stderr
    kept = f"{out}.partial"
    partial = ds.load_order(kept)
    assert len(partial.order_) == 3 and not partial.result_.complete and not out.exists()
    again = ("--resume", kept, "--out", tmp_path / "full.json")
    resumed = run("order", big, "--nrows", 2000, *again)
    straight = run("order", big, "--nrows", 2000)
    assert resumed.returncode == 0 and resumed.stdout == straight.stdout


def test_interrupt_by_signal(tmp_path):
    "A real SIGINT at an arbitrary moment ends with 130 and no traceback."
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    running = subprocess.Popen([program, "order", "-"], text=True, **pipes)
    time.sleep(3)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=300)
    assert running.returncode == 130 and "Traceback" not in err and err.count("\n") == 1


def test_an_interrupt_waits_for_imports(tmp_path, monkeypatch):
    "Compiled libraries may abort when an exception meets them while they are loaded."
    lines = ("import signal, time", "signal.raise_signal(signal.SIGINT)", "time.sleep(.2)",
             "done = 1")
    (tmp_path / "loads_slowly.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt), cli._patient():
        import loads_slowly
        time.sleep(5)
    assert loads_slowly.done and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt), cli._patient(): signal.raise_signal(signal.SIGINT)
    monkeypatch.delitem(sys.modules, "loads_slowly")
    with pytest.raises(KeyboardInterrupt), cli._patient():
        import loads_slowly
        raise ValueError("an error before the interrupt is through does not hide it")


def test_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    def full(*_): raise OSError("no space left on device")

    path = tmp_path / "result.json"
    write_json({"order": [1]}, path)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError): write_json({"order": [2]}, path)
    assert json.loads(path.read_text()) == {"order": [1]}
    assert [f.name for f in tmp_path.iterdir()] == ["result.json"]


def test_demo_and_check_prior(tmp_path):
    picture, prior = tmp_path / "demo.png", tmp_path / "prior.json"
    done = run("demo", "--network", "earthquake", "--rows", 2000, "--plot", picture)
    assert done.returncode == 0 and "D_top" in done.stdout and picture.stat().st_size > 5000
    said = r"\d edges found, \d of them compelled by the data, \d of these right"
    assert re.search(said, done.stdout)
    done = run("check-prior", "--network", "earthquake", "--out", prior)
    assert done.returncode == 0 and len(json.loads(prior.read_text())["edges"]) == 4


def test_the_advice_can_be_followed(tmp_path):
    "An identifier, a missing cell and a date: one message, and its last line works."
    cells = lambda k: ("" if k == 3 else k % 3, 20 + k % 40 + .5, f"2024-05-{k % 28 + 1:02}")
    rows = [",".join(map(str, (f"c{k}", *cells(k), k % 2))) for k in range(210)]
    (tmp_path / "people.csv").write_text("\n".join(["id,visits,age,day,loan", *rows]))
    done = run("order", tmp_path / "people.csv")
    said = done.stderr.splitlines()
    assert done.returncode == 2 and said[0] == "discrete-score: 3 problems" and len(said) == 5
    for line, hint in zip(said[1:], ("--drop 'day'", "--missing drop", "--drop 'id'")):
        assert hint in line
    command = shlex.split(said[-1].removeprefix("This works: "))
    done = run(*command[1:])
    assert done.returncode == 0 and "place  column" in done.stdout
    assert "cut into bins of about equal size: `age` (4); see --bins" in done.stderr


def test_resuming_on_another_table_is_refused(files, tmp_path):
    part = tmp_path / "part.json"
    assert run("order", files / "data.csv", "--max-steps", 2, "--out", part).returncode == 0
    done = run("order", files / "data.csv", "--nrows", 500, "--resume", part)
    assert done.returncode == 2 and "another table" in done.stderr
    done = run("order", files / "data.csv", "--out", tmp_path / "missing" / "r.json")
    assert done.returncode == 2 and "no folder" in done.stderr


def test_graph_from_a_pipe(files, model, monkeypatch):
    out, dot, svg = (files / f"g.{kind}" for kind in ("json", "dot", "svg"))
    with open(files / "data.csv") as data:
        monkeypatch.setattr(sys, "stdin", data)
        done = run("dag", "-", "--out", out, "--dot", dot, "--png", svg)
    notes = done.stderr.splitlines()
    assert done.returncode == 0 and all(n.startswith("discrete-score: note: ") for n in notes)
    graph = ds.load_dag(out)
    assert (graph.dag == model.dag().dag).all()
    rows = [row.split() for row in done.stdout.splitlines() if {"->", "--"} & set(row.split())]
    assert {(a, b): mark for a, _, b, mark in rows} == graph.marks == model.dag().marks
    printed = {(a, b) for a, _, b, _ in rows}
    assert printed == set(graph.edges)
    assert dot.read_text().count(" -> ") == len(printed) and "<svg" in svg.read_text()


def test_graph_along_a_given_order(files):
    truth, out = json.loads((files / "truth.json").read_text()), files / "p.json"
    options = ("--strategy", "prune", "--inside", "--bootstrap", 3, "--out", out)
    done = run("dag", files / "data.csv", "--order", files / "truth.json", *options)
    assert done.returncode == 0
    graph = ds.load_dag(out)
    place = {name: k for k, name in enumerate(truth["order"])}
    assert all(place[a] < place[b] for a, b in graph.edges) and graph.confidence is not None


@pytest.mark.parametrize("options, says", [
    (("--base", "nonsense"), "nonsense"), (("--base", "gam"), "--strategy prune"),
    (("--inside",), "--strategy insert"), (("--png", "g.txt"), ".png"),
    (("--order", "data.csv"), "JSON"), (("--out", "no/g.json"), "no folder"),
])
def test_graph_refuses_in_one_line(files, options, says, monkeypatch):
    monkeypatch.chdir(files)
    done = run("dag", "data.csv", *options)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and says in done.stderr


def test_report_of_strings_with_missing_cells(files):
    first, *rows = (files / "data.csv").read_text().splitlines()
    holed = [row if k % 7 else "," + row.split(",", 1)[1] for k, row in enumerate(rows)]
    holes, out = files / "holes.csv", files / "report.html"
    holes.write_text("\n".join([first.replace("X1", "<b>X1</b>"), *holed]))
    done = run("report", holes, "-o", out)
    assert done.returncode == 2 and "--missing" in done.stderr and not out.exists()
    done = run("report", holes, "--missing", "state", "-o", out)
    page = out.read_text(encoding="utf-8")
    assert done.returncode == 0 and done.stdout.strip() == str(out)
    assert page.index("What the data compel") < page.index("One total order")
    assert page.count("data:image/svg+xml") >= 3
    assert "<b>X1</b>" not in page and "&lt;b&gt;X1&lt;/b&gt;" in page
    assert not re.search("""(src|href)=["']?(http|//)""", page) and "default-src 'none'" in page


def test_noise_is_said_to_be_noise(tmp_path):
    "Independent columns: the order is printed, and so is that nothing is to be believed."
    noise = tmp_path / "noise.csv"
    cells = np.random.default_rng(0).integers(0, 3, (800, 4))
    noise.write_text("a,b,c,d\n" + "\n".join(",".join(map(str, row)) for row in cells))
    done = run("order", noise)
    said = "The data cannot tell: they compel the order of none of the 6 pairs"
    assert done.returncode == 0 and said in done.stdout
    done = run("order", noise, "--out", noise)
    assert done.returncode == 2 and "is the table itself" in done.stderr
    assert noise.read_text().startswith("a,b,c,d\n")


@pytest.mark.parametrize("content, says", [
    ("a;b\n" + "x;1,5\ny;2,5\n" * 20, "read with --sep ';'"),
    ("a\tb\n" + "x\tu\ny\tv\n" * 20, "read with --sep tab"),
    ("a,b\n" + "x,2024-05-01\ny,2024-05-02\n" * 20, "column `b` holds dates"),
    ("a,b,c\n" + "x,u,\ny,v,\n" * 20, "--drop 'c'"),
    ("a,b\n" + "x,NA\ny,v\nx,u\n" * 20, "--na 'NA'"),
    ("PK\x03\x04", "spreadsheet"),
])
def test_files_as_people_have_them(tmp_path, content, says):
    (tmp_path / "data.csv").write_text(content)
    done = run("order", tmp_path / "data.csv")
    assert says in done.stderr and "`na=" not in done.stderr and "Traceback" not in done.stderr


CLINIC = "id,day,cough,weight\n" + "".join(
    f"p{k},2024-05-{k % 28 + 1:02},{['yes', 'no', ''][k % 3]},{50 + k % 41}.5\n"
    for k in range(120))


@contextlib.contextmanager
def terminal(typed, monkeypatch):
    "A terminal at which somebody has typed."
    ours, theirs = os.openpty()
    os.write(ours, typed.encode())
    with os.fdopen(theirs) as screen, monkeypatch.context() as patched:
        patched.setattr(sys, "stdin", screen)
        yield
    os.close(ours)


@pytest.mark.parametrize("typed, options", [
    ("\n2\n7\n\n0,60,80,200\n", "--drop 'day,id' --missing state --bins 'weight=0,60,80,200'"),
    ("2\n\n1\n4\n", "--text 'day' --drop 'id' --missing drop --bins 'weight=5'"),
    ("!\n", "--drop 'day,id' --missing drop")])
def test_questions_in_a_terminal(tmp_path, monkeypatch, typed, options):
    "Enter takes what is advised; the command that is printed gives the same without questions."
    path = tmp_path / "clinic.csv"
    path.write_text(CLINIC)
    with terminal(typed, monkeypatch): done = run("order", path, "--ask", "--guide", "none")
    assert done.returncode == 0 and "place  column" in done.stdout
    assert ("there is no choice '7'" in done.stderr) == ("7" in typed)
    command = done.stderr.splitlines()[-1].partition("the same without questions: ")[2]
    assert command.split("--guide none ")[1] == options and "--ask" not in command
    assert run(*shlex.split(command)[1:]).stdout == done.stdout
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdin", io.StringIO(typed))
        assert "--ask needs a terminal" in run("order", path, "--ask").stderr


def test_look_shows_what_columns_become(tmp_path):
    path, out = tmp_path / "clinic.csv", tmp_path / "look.json"
    path.write_text(CLINIC)
    done = run("look", path, "--out", out)
    look = json.loads(out.read_text())
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == f"This works: {look['command']}"
    becomes = {column["name"]: column["becomes"] for column in look["columns"]}
    assert becomes == {"id": "left out", "day": "left out", "cough": "2 states", "weight": "3 bins"}
    assert look["rows"] == 120 and look["rows_of_use"] == 80 and len(look["problems"]) == 3
    done = run("look", path, "--drop", "id,day", "--missing", "state")
    assert "This works" not in done.stdout and "3 states" in done.stdout


def test_a_limit_in_seconds_is_named_in_a_note(files):
    done = run("order", files / "data.csv", "--max-seconds", 0)
    assert done.returncode == 0 and "stopped after 0 seconds" in done.stderr
    assert "--max-seconds" in done.stderr
    assert "--max-seconds" in run("order", files / "data.csv", "--max-seconds", -1).stderr


def test_a_terminal_is_told_of_compiling(monkeypatch):
    "What the command line asks to be told is said on a terminal, and nowhere else."
    class Terminal(io.StringIO):
        def isatty(self): return True
    asked = []
    monkeypatch.setattr(ds.counts, "when_compiling", asked.append)
    for stream, times in ((io.StringIO(), 0), (Terminal(), 1)):
        with contextlib.redirect_stderr(stream), contextlib.redirect_stdout(io.StringIO()):
            assert cli.main(["simulate", "--network", "asia", "--rows", "5"]) == 0
            for act in asked: act()
        assert len(asked) == times and stream.getvalue().count("compiling") == times


def test_the_graph_of_a_result_is_its_own(tmp_path):
    "The file of a search gives the graph that the search gave; what is stated anew, another one."
    kept, out = tmp_path / "order.json", [tmp_path / f"{k}.json" for k in range(3)]
    table = tmp_path / "asia.csv"
    ds.load_network("asia").sample(4000, seed=0).to_csv(table, index=False)
    assert run("order", table, "--out", kept).returncode == 0
    once = run("dag", table, "--out", out[0])
    again = run("dag", table, "--order", kept, "--out", out[1])
    assert again.stdout == once.stdout and "compelled" in again.stdout
    first, second = map(ds.load_dag, out[:2])
    assert (first.dag == second.dag).all() and first.marks == second.marks
    order = json.loads(kept.read_text())["order"]
    stated = run("dag", table, "--order", kept, "--roots", order[0], "--out", out[2])
    assert stated.returncode == 0 and ds.load_dag(out[2]).base == "ges"
    assert "Against the order" not in once.stdout
    kept.write_text(json.dumps(order[::-1]))
    turned = run("dag", table, "--order", kept, "--out", out[2])
    back = sum(order.index(a) < order.index(b) for a, b in ds.load_dag(out[2]).edges)
    assert 0 < back and f"Against the order: {back} arrow" in turned.stdout

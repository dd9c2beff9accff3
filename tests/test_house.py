"""The house: who may import whom, and how wide a line may be.

Run as a program, this file prints what it finds: `python tests/test_house.py [NAME ...]`, where a
name is a part of a path.
"""
import ast
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 100
FLOORS = [
    ["base"], ["kernels"],
    ["data"], ["files"],
    ["graphs"], ["networks"],
    ["measures"], ["dirichlet"],
    ["counts"], ["pieces"], ["scores"], ["search"], ["regression"],
    ["score"], ["blanket"], ["ctmc"], ["hollow"], ["diffusion"],
    ["order"], ["tests"], ["triples"], ["guide"], ["diagnosis"], ["belief"],
    ["baselines"], ["dag"],
    ["result"], ["discover"], ["effects"],
    ["words"], ["figures"], ["report"], ["cli"], ["explorer"],
    ["metrics"], ["studies"],
]
LEVEL = {module: level for level, modules in enumerate(FLOORS) for module in modules}
# The referee is read by those above the result, and never imports a player; studies are run by cli.
ALLOWED_UP = {("dag", "metrics"), ("cli", "studies")}
# Own modules that pull in torch, numba, jupyter or matplotlib may be imported inside a function.
GATES = {"diffusion", "explorer", "figures", "hollow", "kernels"}


def modules():
    "Own modules that were exported from notebooks, by name."
    skip = ("__init__", "_modidx")
    return {p.stem: p for p in sorted((ROOT / "discrete_score").glob("*.py")) if p.stem not in skip}


def own_imports(path):
    "Imports of own modules: (module, names, inside a function?)."
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = set(map(id, tree.body))
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Import, ast.ImportFrom)): continue
        inside = id(node) not in top
        names = [alias.name for alias in node.names]
        if isinstance(node, ast.Import):
            for name in names:
                if name.startswith("discrete_score."): yield name.split(".")[1], [], inside
            continue
        module = node.module or ""
        if not node.level and module.split(".")[0] != "discrete_score": continue
        module = module if node.level else module.partition(".")[2]
        for one in [module] if module else [name for name in names if name in LEVEL]:
            yield one.split(".")[0], names if module else [], inside


def wall_problems(paths):
    "What goes through a wall, or up the stairs."
    found = []
    for name, path in paths.items():
        if name not in LEVEL: found.append(f"{name}: stands on no floor of tests/test_house.py")
        for other, names, inside in own_imports(path):
            private = [n for n in names if n.startswith("_") and n != "__version__"]
            if private: found.append(f"{name}: takes {', '.join(private)} from {other}")
            if inside and other not in GATES: found.append(f"{name}: imports {other} in a function")
            up = LEVEL.get(other, -1) >= LEVEL.get(name, len(LEVEL))
            if up and (name, other) not in ALLOWED_UP:
                found.append(f"{name}: imports {other}, above it")
    return found


def cells(path):
    "Code cells of a notebook: (id, source)."
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code": yield cell["id"], "".join(cell["source"])


def notebooks():
    "All notebooks of the book."
    found = sorted((ROOT / "nbs").rglob("*.ipynb"))
    return [path for path in found if ".ipynb_checkpoints" not in path.parts]


def wide_lines(text):
    "Lines that a page would clip; the list of names that nbdev writes is not ours."
    generated = text.find("# %% auto")
    tail = text.find("\n# %%", generated + 1) if generated >= 0 else -1
    if generated >= 0:
        gap = "\n" * text[generated:tail].count("\n")
        text = text[:generated] + gap + text[tail:]
    return [(k, line) for k, line in enumerate(text.splitlines(), start=1) if len(line) > WIDTH]


def width_problems():
    "Lines over the width in modules, tests, .ci, studies and cells."
    files = [*modules().values(), ROOT / "discrete_score" / "__init__.py", ROOT / "setup.py"]
    files += [*(ROOT / "tests").glob("*.py"), *(ROOT / ".ci").glob("*.*")]
    files += [ROOT / ".ci" / "run", ROOT / "Makefile", *(ROOT / "nbs").rglob("*.py")]
    found = []
    for path in files:
        for k, line in wide_lines(path.read_text(encoding="utf-8")):
            found.append(f"{path.relative_to(ROOT)}:{k}: {len(line)} characters")
    for path in notebooks():
        for name, source in cells(path):
            for _, line in wide_lines(source):
                found.append(f"{path.relative_to(ROOT)} #{name}: {len(line)}: {line.strip()[:60]}")
    return found


def definitions(source):
    "How many functions and classes a cell defines at its top."
    source = re.sub(r"^\s*[%!].*$", "", source, flags=re.M)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return sum(isinstance(node, kinds) for node in ast.parse(source).body)


def exported(path):
    "Exported cells of a notebook: (id, source)."
    mark = re.compile(r"^#\|\s*exports?\b", re.M)
    return [(name, source) for name, source in cells(path) if mark.search(source)]


def crowded_cells(path):
    "Exported cells with more than one definition."
    return [f"{path.name} #{name}" for name, source in exported(path) if definitions(source) > 1]


def test_modules_import_only_from_floors_below():
    assert not wall_problems(modules())


def test_no_line_is_clipped():
    assert not width_problems()


def test_exported_cells_hold_one_definition():
    cells = [cell for path in notebooks() for cell in exported(path)]
    crowded = [cell for path in notebooks() for cell in crowded_cells(path)]
    assert len(crowded) <= .1 * len(cells), crowded


def test_every_wall_is_watched(tmp_path):
    "Each kind of violation is found when it is added."
    guide = tmp_path / "guide.py"
    for line, word in (
        ("from .discover import DiscreteScore", "above it"),
        ("from .order import _margin", "takes _margin from order"),
        ("def f():\n    from .order import margin", "in a function"),
        ("from discrete_score.report import write_report", "above it"),
    ):
        guide.write_text(line, encoding="utf-8")
        assert any(word in said for said in wall_problems({"guide": guide})), line
    guide.write_text("from .order import margin", encoding="utf-8")
    assert not wall_problems({"guide": guide})
    assert "stands on no floor" in wall_problems({"attic": guide})[0]


def test_a_wide_line_and_a_crowded_cell_are_seen(tmp_path):
    assert wide_lines("x = 1\n" + "y" * 101) == [(2, "y" * 101)]
    assert not wide_lines("y" * 100)
    sources = ["#| export\ndef a(): pass\ndef b(): pass", "#| export\ndef c(): pass"]
    content = {"cells": [{"cell_type": "code", "id": str(k), "source": [source]}
                         for k, source in enumerate(sources)]}
    path = tmp_path / "page.ipynb"
    path.write_text(json.dumps(content), encoding="utf-8")
    assert crowded_cells(path) == ["page.ipynb #0"]


if __name__ == "__main__":
    said = [*wall_problems(modules()), *width_problems()]
    said += [f"{cell}: several definitions" for path in notebooks() for cell in crowded_cells(path)]
    wanted = sys.argv[1:]
    said = [line for line in said if not wanted or any(word in line for word in wanted)]
    print(*said, f"{len(said)} places", sep="\n")

"The package as a whole: light to import, complete, installable, tested by tests that can fail."
import ast
import configparser
import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import nbformat
import pytest

import discrete_score as ds

root = Path(__file__).resolve().parent.parent
tools = Path(sys.executable).parent
settings = configparser.ConfigParser(delimiters=["="])
settings.read(root / "settings.ini", encoding="utf-8")
settings = settings["DEFAULT"]
modules = sorted(f.stem for f in (root / "discrete_score").glob("[!_]*.py"))
EXTRAS = ["requirements", "diffusion_requirements", "explorer_requirements", "cluster_requirements"]


def run(*command, **kwargs):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **kwargs)


def python(code, **kwargs):
    done = run(sys.executable, "-c", code, **kwargs)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_is_light():
    loaded = python("import sys, discrete_score; print(*sys.modules)").split()
    assert not {"numpy", "pandas", "torch", "numba", "scipy", "matplotlib"} & set(loaded)


def test_no_module_loads_torch():
    light = [m for m in modules if m not in ("ctmc", "hollow", "diffusion")]
    code = (f"import sys, importlib\nfor m in {light}: "
            "importlib.import_module(f'discrete_score.{m}')\n"
            "print('torch' in sys.modules, 'pgmpy' in sys.modules)")
    assert python(code).split() == ["False", "False"]


def test_modules_are_there_without_an_import():
    code = ("import sys, discrete_score as ds; before = 'discrete_score.graphs' in sys.modules;"
            "print(before, ds.graphs.reduced.__name__, 'graphs' in dir(ds))")
    assert python(code).split() == ["False", "reduced", "True"]
    assert {getattr(ds, module).__name__ for module in modules} == {
        f"discrete_score.{module}" for module in modules}


def test_public_names_exist_and_are_documented():
    for module, names in ds._PUBLIC.items():
        source = __import__(f"discrete_score.{module}", fromlist=["x"])
        for name in names:
            assert name in source.__all__, f"{module}.{name} is not exported by its notebook"
            value = getattr(ds, name)
            if callable(value): assert value.__doc__, f"{name} has no docstring"
    with pytest.raises(AttributeError, match="no attribute `nothing`"): ds.nothing


def test_readme_is_current():
    done = run(sys.executable, root / ".ci" / "readme.py", "--check")
    assert done.returncode == 0, done.stderr


def test_false_notebook_fails(tmp_path):
    "The canary: `nbdev_test` fails on a cell whose assertion is false, and passes on a true one."
    shutil.copy(root / "settings.ini", tmp_path)
    (tmp_path / "nbs").mkdir()
    kernel = {"display_name": "python3", "language": "python", "name": "python3"}
    for claim, code in (("1 + 1 == 2", 0), ("1 + 1 == 3", 1)):
        cells = [nbformat.v4.new_markdown_cell("# Canary"),
                 nbformat.v4.new_code_cell(f"assert {claim}")]
        nb = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
        nbformat.write(nb, tmp_path / "nbs" / "canary.ipynb")
        done = run(tools / "nbdev_test", "--n_workers", "0", cwd=tmp_path)
        assert (done.returncode != 0) == bool(code), done.stdout + done.stderr


def test_slow_cells_are_skipped_by_flag(): assert settings["tst_flags"].split() == ["slow", "gpu"]


def third_party(path):
    "What a module imports, anywhere in it, without the standard library and itself."
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import): names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0: names.add(node.module)
    names = {name.split(".")[0] for name in names}
    return names - set(sys.stdlib_module_names) - {"discrete_score"}


def test_every_import_is_a_declared_requirement():
    declared = " ".join(settings[key] for key in EXTRAS).split()
    declared = {re.split(r"[<>=!~\[]", d)[0].lower().replace("-", "_") for d in declared}
    provider = {"causallearn": "causal_learn", "sklearn": "scikit_learn", "IPython": "jupyterlab",
                "cycler": "matplotlib", "matplotlib_inline": "jupyterlab"}
    used_if_installed = {"pyagrum"}
    for path in (root / "discrete_score").glob("*.py"):
        for name in third_party(path) - used_if_installed:
            assert provider.get(name, name).lower() in declared, f"{path.name} imports {name}"


def plain(name): return re.sub(r"[-_.]+", "-", name).lower()


def locked(name):
    "Versions by package that a lock file holds."
    lines = (root / name).read_text().splitlines()
    lines = [line for line in lines if line and not line.startswith("#")]
    assert all("==" in line and "://" not in line for line in lines)
    return {plain(name): version for name, version in (line.split("==") for line in lines)}


def test_environment_is_what_the_lock_says():
    lock = locked("requirements-dev.lock")
    installed = {plain(package.metadata["Name"]): package.version.split("+")[0]
                 for package in importlib.metadata.distributions()}
    missing = {name: version for name, version in lock.items() if installed.get(name) != version}
    assert not missing, f"not installed as locked: {missing}"
    core = locked("requirements.lock")
    assert {name: lock.get(name) for name in core} == core


def test_wheel_works_outside_the_source_tree(tmp_path):
    "The wheel works in a clean environment that borrows only the dependencies."
    pip, source = ["-m", "pip", "-q", "-q"], tmp_path / "source"
    left_out = (".venv*", ".git", "_docs", "_proc", "build", "*.egg-info", ".pytest_cache",
                ".hypothesis", "tests", "nbs")
    shutil.copytree(root, source, ignore=shutil.ignore_patterns(*left_out))
    build = ["wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path, source]
    subprocess.run([sys.executable, *pip, *build], check=True)
    wheel, = tmp_path.glob("*.whl")
    shutil.rmtree(source)
    env = tmp_path / "clean"
    venv.create(env)
    site, inside = next(env.glob("lib/python*/site-packages")), env / "bin" / "python"
    install = ["--python", inside, "install", "--no-deps", wheel]
    subprocess.run([sys.executable, *pip, *install], check=True)
    (site / "dependencies.pth").write_text(str(Path(nbformat.__file__).parent.parent) + "\n")
    code = ("import json, discrete_score as ds; net = ds.load_network('earthquake');"
            "df = net.sample(100, seed=0);"
            "print(json.dumps([ds.__file__, ds.__version__, df.shape[1]]))")
    done = run(inside, "-I", "-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    file, version, columns = json.loads(done.stdout)
    assert Path(file).is_relative_to(env) and version == settings["version"] and columns == 5
    assert (site / "discrete_score" / "py.typed").exists()

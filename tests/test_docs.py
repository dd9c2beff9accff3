"""The documentation: every public name says what it is and takes; the site's checker works."""
import importlib
import inspect
import re
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path

import nbformat
import pytest
from fastcore.docments import docments

import discrete_score as ds
from discrete_score.cli import main

root = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(root / ".ci"))
from check_docs import check
from docs import WIDTH, api, contents

MODULES = sorted(f.stem for f in (root / "discrete_score").glob("[!_]*.py"))

PRIVATE = re.compile(r"(?:/tmp/|/home/|/root/|/work/)\w+"
                     r"|\b20\d\d-\d\d-\d\d \d\d:\d\d|0x[0-9a-f]{9,}")
TUTORIALS = sorted((root / "nbs" / "tutorials").glob("*.ipynb"))


def public(module):
    "The public names that a module defines."
    module = importlib.import_module(f"discrete_score.{module}")
    return {name: getattr(module, name) for name in getattr(module, "__all__", [])}


def undocumented(label, value):
    "What a public function or method leaves unsaid."
    found = [] if (inspect.getdoc(value) or "").strip() else [f"{label}: no docstring"]
    try: parameters, notes = inspect.signature(value).parameters, docments(value, full=True)
    except (TypeError, ValueError): return found
    code = value.__code__
    first, last = code.co_posonlyargcount, code.co_argcount + code.co_kwonlyargcount
    own = set(code.co_varnames[first:last]) - {"self"}
    asked = [name for name in parameters if name in own]
    return found + unexplained(label, asked, notes)


def unexplained(label, names, notes):
    "The names without a note."
    return [f"{label}: `{name}` is not explained" for name in names
            if not (notes.get(name) or {}).get("docment")]


def methods(cls):
    "Public methods that the class itself defines in this package."
    for name, value in vars(cls).items():
        if name.startswith("_") or not inspect.isfunction(value): continue
        if value.__module__.startswith("discrete_score"): yield name


def class_problems(name, cls):
    "What a public class leaves unsaid of itself, its fields or settings, and its methods."
    doc = (cls.__doc__ or "").strip()
    found = [] if doc and not doc.startswith(f"{name}(") else [f"{name}: no docstring"]
    if is_dataclass(cls):
        own = vars(cls).get("__annotations__", {})
        asked = [field.name for field in fields(cls) if field.name in own
                 and not field.name.startswith("_") and not field.metadata.get("text")]
        found += unexplained(name, asked, docments(cls, full=True))
    elif "__init__" in vars(cls) and not getattr(cls, "_is_protocol", False):
        found += [p for p in undocumented(name, cls.__init__) if "docstring" not in p]
    return found + [f"{name}.{method}: no docstring" for method in methods(cls)
                    if not (inspect.getdoc(getattr(cls, method)) or "").strip()]


@pytest.mark.parametrize("module", MODULES)
def test_public_api_is_documented(module):
    problems = []
    for name, value in public(module).items():
        if inspect.isclass(value): problems += class_problems(name, value)
        elif inspect.isfunction(value): problems += undocumented(name, value)
    assert not problems, "\n".join(problems)


def test_stored_outputs_are_small_and_say_nothing_of_a_machine():
    for path in sorted((root / "nbs").glob("**/*.ipynb")):
        if ".ipynb_checkpoints" in path.parts: continue
        size = path.stat().st_size
        assert size < 500_000, f"{path.name} has {size // 1000} KB; the most is 500 KB"
        for cell in nbformat.read(path, as_version=4).cells:
            for output in cell.get("outputs", []):
                found = PRIVATE.search(said(output))
                assert not found, f"{path.name}: {found[0]} in the output of {cell.source[:60]!r}"


def said(output):
    "The text of a stored output, without its pictures."
    data = {**output.get("data", {}), "text": output.get("text", "")}
    return "".join(str(value) for key, value in data.items() if not key.startswith("image/"))


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_tutorials_use_public_names_and_end_with_where_next(path):
    cells = nbformat.read(path, as_version=4).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    assert "default_exp" not in code
    assert not re.search(r"from discrete_score|import discrete_score\.", code)
    for name, inner in re.findall(r"\bds\.([A-Za-z]\w*)(?:\.([A-Za-z]\w*))?", code):
        known = inner in public(name) if name in MODULES else name in ds.__all__
        assert known, f"ds.{name}.{inner} is not public"
    quoted = re.compile(r'"[^"]*"|\'[^\']*\'')
    assert not re.search(r"\b\w+\._(?!_|repr_)[a-z]", quoted.sub("", code)), "no private attribute"
    assert cells[-1].cell_type == "markdown" and cells[-1].source.startswith("## Where next")


README = (root / "README.md").read_text(encoding="utf-8")
LINK = re.compile(r"\]\(([^)#]+)")


def test_readme_can_be_read_in_five_minutes():
    words = len(README.split())
    assert words <= 900, f"README.md has {words} words; the most is 900"


def test_readme_links_to_what_is_there():
    targets = [link for link in LINK.findall(README) if not link.startswith("http")]
    assert {"nbs/book.ipynb", "nbs/studies/belief.ipynb", "CONTRIBUTING.md"} <= set(targets)
    assert not [link for link in targets if not (root / link).is_file()]


def test_readme_commands_have_their_flags(capsys):
    lines = re.findall(r"^discrete-score (\S+)(.*)$", README, flags=re.M)
    assert {"look", "order", "dag", "effect", "report"} <= {command for command, _ in lines}
    for command, rest in lines:
        with pytest.raises(SystemExit): main([command, "--help"])
        known, flags = capsys.readouterr().out, re.findall(r"(?<=\s)--?[a-z]\S*", rest)
        assert all(re.search(rf"{flag}\b", known) for flag in flags), f"{command}{rest}"


def test_every_notebook_is_in_the_book():
    cells = nbformat.read(root / "nbs" / "book.ipynb", as_version=4).cells
    listed = {link for cell in cells for link in LINK.findall(cell.source)}
    found = {path.relative_to(root / "nbs").as_posix() for path in (root / "nbs").glob("**/*.ipynb")
             if ".ipynb_checkpoints" not in path.parts}
    assert found - listed == {"index.ipynb", "book.ipynb"}


def test_every_notebook_is_a_page_of_the_site():
    names = [path.relative_to(root / "nbs").with_suffix("").as_posix()
             for path in (root / "nbs").glob("**/*.ipynb")]
    parts = contents(names)["parts"]
    pages = [chapter["file"] for part in parts for chapter in part["chapters"]]
    assert len(pages) == len(set(pages)) and set(names) - set(pages) == {"index"}
    assert pages[0] == "tutorials/quickstart"


def test_the_checker_of_the_site_finds_problems(tmp_path):
    (tmp_path / "index.html").write_text(
        '<h1 id="top">A</h1><a href="other.html#here">x</a><a href="#top">y</a>'
        '<a href="https://example.org">out</a><pre>x = 1 | a |---| b |</pre>')
    (tmp_path / "other.html").write_text(
        '<p id="here">B <code>#| export</code></p><script>"#| export"</script>')
    assert check(tmp_path) == []
    (tmp_path / "bad.html").write_text(
        '<a href="gone.html">x</a><a href="other.html#gone">y</a>'
        '<script src="https://example.org/a.js"></script>'
        '<p>| a | b |\n|---|---:|\n| 1 | 2 |</p>'
        '<pre><span>#| export</span>\ndef f(): pass</pre>')
    found = "\n".join(check(tmp_path))
    assert found.count("bad.html") == 5
    assert "a table shows as text" in found
    assert "broken link gone.html" in found
    assert "no such place other.html#gone" in found
    assert "fetches https://example.org/a.js" in found
    assert "the directive #| export shows" in found


def test_signatures_keep_their_quotes_and_wrap():
    text = api("DiscreteScore", ds.DiscreteScore)
    signature = text.split("```")[1]
    assert 'measure="kl_uniform"' in signature and '| `"kl_uniform"` |' in text
    assert max(map(len, signature.splitlines())) <= WIDTH
    many = [f"DiscreteScore.{name}" for name in methods(ds.DiscreteScore)]
    for name in many:
        text = api(name, getattr(ds.DiscreteScore, name.split(".")[1]))
        assert max(map(len, text.split("```")[1].splitlines())) <= WIDTH, name

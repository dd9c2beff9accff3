"""The documentation: every public name says what it is and what it takes; the checker of the site finds what it should."""
import inspect, re, sys
from dataclasses import is_dataclass
from pathlib import Path

import nbformat
import pytest
from fastcore.docments import docments

import discrete_score as ds

root = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(root / ".ci"))
from check_docs import check

names = [name for names in ds._PUBLIC.values() for name in names]


def undocumented(label, value):
    "What a public function or method leaves unsaid."
    found = [] if (inspect.getdoc(value) or "").strip() else [f"{label}: no docstring"]
    try: parameters, notes = inspect.signature(value).parameters, docments(value, full=True)
    except (TypeError, ValueError): return found
    return found + [f"{label}: `{p}` is not explained" for p, kind in parameters.items() if p != "self" and kind.kind not in (kind.VAR_KEYWORD, kind.VAR_POSITIONAL) and not (notes.get(p) or {}).get("docment")]


def methods(cls):
    "Public methods that the class itself defines in this package."
    for name, value in vars(cls).items():
        if not name.startswith("_") and inspect.isfunction(value) and value.__module__.startswith("discrete_score"): yield name, value


@pytest.mark.parametrize("name", names)
def test_public_api_is_documented(name):
    value = getattr(ds, name)
    if inspect.isclass(value):
        assert (value.__doc__ or "").strip() and not value.__doc__.startswith(f"{name}("), f"{name}: no docstring"
        if is_dataclass(value): problems = [f"{name}: field `{f}` is not explained" for f, field in value.__dataclass_fields__.items() if not f.startswith("_") and not (docments(value, full=True).get(f) or {}).get("docment")]
        elif value.__init__ is not object.__init__ and not getattr(value, "_is_protocol", False): problems = [p for p in undocumented(name, value.__init__) if "docstring" not in p]
        else: problems = []
        problems += [f"{name}.{m}: no docstring" for m, f in methods(value) if not (f.__doc__ or "").strip()]
    elif callable(value): problems = undocumented(name, value)
    else: problems = []
    assert not problems, "\n".join(problems)


def test_stored_outputs_are_small_and_say_nothing_of_a_machine():
    private = re.compile(r"(?:/tmp/|/home/|/root/|/work/)\w+|\b20\d\d-\d\d-\d\d \d\d:\d\d|0x[0-9a-f]{9,}")
    for path in sorted((root / "nbs").glob("**/*.ipynb")):
        if ".ipynb_checkpoints" in path.parts: continue
        assert path.stat().st_size < 500_000, f"{path.name} has {path.stat().st_size // 1000} KB; a notebook must stay under 500 KB"
        for cell in nbformat.read(path, as_version=4).cells:
            for output in cell.get("outputs", []):
                text = "".join(str(value) for key, value in {**output.get("data", {}), "text": output.get("text", "")}.items() if not key.startswith("image/"))
                assert not private.search(text), f"{path.name}: {private.search(text)[0]} in the output of {cell.source[:60]!r}"


@pytest.mark.parametrize("path", sorted((root / "nbs" / "tutorials").glob("*.ipynb")), ids=lambda path: path.stem)
def test_tutorials_use_public_names_and_end_with_where_next(path):
    cells = nbformat.read(path, as_version=4).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    assert "default_exp" not in code and not re.search(r"from discrete_score|import discrete_score\.", code)
    assert set(re.findall(r"\bds\.([A-Za-z]\w*)", code)) <= set(ds.__all__), "only public names"
    assert not re.search(r"\b\w+\._(?!_|repr_)[a-z]", re.sub(r'"[^"]*"|\'[^\']*\'', "", code)), "no private attribute"
    assert cells[-1].cell_type == "markdown" and cells[-1].source.startswith("## Where next")


def test_the_checker_of_the_site_finds_problems(tmp_path):
    (tmp_path / "index.html").write_text('<h1 id="top">A</h1><a href="other.html#here">x</a><a href="#top">y</a><a href="https://example.org">out</a><pre>x = 1</pre>')
    (tmp_path / "other.html").write_text('<p id="here">B <code>#| export</code></p><script>"#| export"</script>')
    assert check(tmp_path) == []
    (tmp_path / "bad.html").write_text('<a href="gone.html">x</a><a href="other.html#gone">y</a><script src="https://example.org/a.js"></script><pre><span>#| export</span>\ndef f(): pass</pre>')
    found = "\n".join(check(tmp_path))
    assert found.count("bad.html") == 4
    for problem in ("broken link gone.html", "no such place other.html#gone", "fetches https://example.org/a.js", "the directive #| export shows"): assert problem in found

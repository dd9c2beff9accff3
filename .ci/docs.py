"""Build the notebooks into a site in _docs that works offline, by jupyter-book.

It has an environment of its own. Pages are prepared here: hidden cells and directives go, every
public definition gets its signature with a table of its parameters, the source of exported cells
folds away. Then the site is checked: links, directives, requests to the network.
"""
import ast
import importlib
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import venv
from pathlib import Path

import nbformat
from fastcore.docments import docments

root = Path(__file__).resolve().parent.parent
pages, site, env = root / "_proc", root / "_docs", root / ".venv" / "docs"
sys.path[:0] = [str(root / ".ci"), str(root)]
from check_docs import check
from readme import DIRECTIVE, visible

WIDTH = 84  # Characters of a signature that a page shows without scrolling
WIDGET = "application/vnd.jupyter.widget-view+json"
PACKAGES = ["jupyter-book==1.0.4", "sphinx-mathjax-offline==0.0.2"]
PARTS = [("Tutorials", "tutorials/"), ("Contents", "book"), ("Foundations", "0"),
         ("Estimating", "1"), ("Deciding", "2"), ("Graphs and results", "3"), ("Saying it", "4"),
         ("The referee", "5"), ("Below the ground", "9"), ("Studies", "studies/")]
FIRST = ["tutorials/quickstart", "tutorials/own_csv", "tutorials/explorer", "tutorials/doubt",
         "studies/overview", "studies/belief"]  # the others follow by name
SPHINX = {"html_theme_options": {"use_download_button": False}, "myst_heading_anchors": 3,
          "suppress_warnings": ["mystnb.unknown_mime_type"], "nb_ipywidgets_js": {},
          "nb_render_markdown_format": "myst"}  # commonmark has no tables
CONFIG = {"title": "discrete_score", "only_build_toc_files": True,
          "execute": {"execute_notebooks": "off"},
          "sphinx": {"extra_extensions": ["sphinx-mathjax-offline"], "config": SPHINX},
          "html": {"use_issues_button": False, "use_repository_button": False}}
HOMES = "typing|collections\\.abc|numpy|pandas|pathlib|discrete_score"  # not shown before a type


def shown(value):
    "A type or a default as Python writes it, in one line that a Markdown table can hold."
    if value is inspect.Parameter.empty: return ""
    text = repr(value)
    if isinstance(value, str): text = json.dumps(value, ensure_ascii=False)
    elif inspect.isclass(value) and not hasattr(value, "__args__"): text = value.__name__
    text = re.sub(rf"\b(?:{HOMES})(?:\.\w+)*\.(?=\w)", "", text)
    text = re.sub(r"<(?:function|class|built-in function) '?([\w.<>]+)'?.*?>", r"\1", text)
    text = re.sub(r" at 0x[0-9a-f]+", "", text)
    return "`" + text.replace("|", "\\|").replace("`", "'") + "`"


def call(name, parameters):
    "A definition as it is called, with defaults."
    words = []
    for p in parameters:
        starred = any(q.kind == q.VAR_POSITIONAL for q in parameters)
        if p.kind == p.KEYWORD_ONLY and not starred and "*" not in words: words.append("*")
        word = str(p).split(":")[0].split("=")[0]
        if p.default is not p.empty: word += "=" + shown(p.default).strip("`").replace("\\|", "|")
        words.append(word)
    line = f"{name}({', '.join(words)})"
    if len(line) <= WIDTH: return line
    inner = textwrap.wrap(", ".join(words), WIDTH - 4, break_long_words=False,
                          break_on_hyphens=False)
    return "\n    ".join([f"{name}(", *inner]) + ")"


def kind(annotation):
    "A type as it was written."
    if not isinstance(annotation, str): return shown(annotation)
    return "`" + annotation.replace("|", "\\|") + "`"


def row(name, annotation, default, note):
    "A line of a table of parameters."
    note = str(note).replace("\n", " ").replace("|", "\\|")
    return f"| {name} | {kind(annotation)} | {default} | {note} |"


def api(name, value):
    "Signature, one line, and a table of parameters of a public definition, as Markdown."
    try: signature, notes = inspect.signature(value), docments(value, full=True)
    except (TypeError, ValueError): return None
    parameters = [p for p in signature.parameters.values() if p.name != "self"]
    note = lambda name: (notes.get(name) or {}).get("docment") or ""
    rows = [row(f"`{p.name}`", p.annotation, shown(p.default), note(p.name)) for p in parameters]
    back = (notes.get("return") or {}).get("anno", inspect.Parameter.empty)
    if note("return"): rows.append(row("*returns*", back, "", note("return")))
    head = ["", "| parameter | type | default | what it is |", "|---|---|---|---|"] if rows else []
    first = (inspect.getdoc(value) or "").split("\n")[0]
    return "\n".join([f"```python\n{call(name, parameters)}\n```", first, *head, *rows])


def definitions(source):
    "Public names that a cell defines: functions, classes, and methods added by `patch`."
    for node in ast.parse(source).body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)): continue
        if node.name.startswith("_"): continue
        patched = any(getattr(d, "id", "") == "patch" for d in node.decorator_list)
        yield ast.unparse(node.args.args[0].annotation) if patched else None, node.name


def documented(cell, module):
    "The signatures of what an exported cell defines, as a Markdown cell, or None."
    found = []
    for owner, name in definitions(cell.source):
        home = getattr(module, owner) if owner and hasattr(module, owner) else module
        value = getattr(home, name, None)
        text = api(f"{owner}.{name}" if owner else name, value) if callable(value) else None
        if text: found.append(text)
    return nbformat.v4.new_markdown_cell("\n\n".join(found)) if found else None


def page(nb):
    "The cells that a reader should see."
    exports = [re.search(r"^#\|\s*default_exp\s+(\S+)", c.source, re.M) for c in nb.cells]
    export = next((found[1] for found in exports if found), None)
    module, cells = importlib.import_module(f"discrete_score.{export}") if export else None, []
    for cell in nb.cells:
        found = [DIRECTIVE.match(line) for line in cell.source.splitlines()]
        marks = {mark[1].rstrip(":") for mark in found if mark}
        cell = visible(cell)
        if cell is None: continue
        for output in cell.get("outputs", []): output.get("data", {}).pop(WIDGET, None)
        if module and cell.cell_type == "code" and marks & {"export", "exports"}:
            text = documented(cell, module)
            if text: cells.append(text)
            if "export" in marks: cell.metadata["tags"] = ["hide-input"]
        cells.append(cell)
    return cells


STYLE = """/* Code wraps instead of running off the page; wide tables scroll in their own box. */
div.highlight pre, div.cell_output pre { white-space: pre-wrap; overflow-wrap: anywhere;
  font-size: .82em; }
main table { display: block; width: fit-content !important; max-width: 100%; overflow-x: auto; }
div.cell_output table :is(td, th) { padding: .2em .6em; }
main table code { white-space: normal; overflow-wrap: anywhere; }
div.cell_output img { max-width: 100%; height: auto; }
"""


def prepare():
    "Copy every notebook as a page; return their paths without ending."
    shutil.rmtree(pages, ignore_errors=True)
    names = []
    for path in sorted((root / "nbs").glob("**/*.ipynb")):
        if ".ipynb_checkpoints" in path.parts: continue
        nb, name = nbformat.read(path, as_version=4), path.relative_to(root / "nbs")
        nb.cells = page(nb)
        if name.stem == "index":
            for cell in nb.cells: cell.source = cell.source.replace("](../", "](")
        (pages / name).parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(nb, pages / name)
        names.append(name.with_suffix("").as_posix())
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "CITATION.cff"):
        shutil.copy(root / name, pages)
    (pages / "_static").mkdir()
    (pages / "_static" / "wrap.css").write_text(STYLE, encoding="utf-8")
    images = root / "nbs" / "images"
    if images.is_dir(): shutil.copytree(images, pages / "images")
    return names


def contents(names):
    "The table of contents: parts with their chapters."
    place = lambda name: FIRST.index(name) if name in FIRST else len(FIRST)
    names, parts = sorted(names, key=lambda n: (n.split("/")[0], place(n), n)), []
    for caption, start in PARTS:
        chapters = [{"file": name} for name in names if name.startswith(start)]
        parts.append({"caption": caption, "chapters": chapters})
    about = [{"file": "CHANGELOG"}, {"file": "CONTRIBUTING"}]
    parts.append({"caption": "About", "chapters": about})
    parts = [part for part in parts if part["chapters"]]
    return {"format": "jb-book", "root": "index", "parts": parts}


def builder():
    "The program that builds the site, installed on first use."
    mark = env / ("installed-" + "-".join(PACKAGES).replace("=", ""))
    if not mark.exists():
        venv.create(env, with_pip=True)
        install = [env / "bin" / "python", "-m", "pip", "install", "-qq"]
        subprocess.run([*install, "--disable-pip-version-check", *PACKAGES], check=True)
        mark.touch()
    return env / "bin" / "jupyter-book"


def no_network(folder):
    "Take out what a page would fetch from elsewhere: the site must work without a network."
    start = r'<(script|link)\b[^>]*\b(?:src|href)="https?://[^"]*"[^>]*>'
    outside = re.compile(start + r"(?:\s*</script>)?")
    for path in folder.glob("**/*.html"):
        text = path.read_text(encoding="utf-8")
        path.write_text(outside.sub("", text), encoding="utf-8")


if __name__ == "__main__":
    names = prepare()
    (pages / "_toc.yml").write_text(json.dumps(contents(names)), encoding="utf-8")
    (pages / "_config.yml").write_text(json.dumps(CONFIG), encoding="utf-8")
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    subprocess.run([builder(), "build", "--quiet", pages], check=True, env=clean)
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(pages / "_build" / "html", site)
    no_network(site)
    problems = check(site)
    print(*problems, sep="\n")
    if problems: sys.exit(f"{len(problems)} problems in the site")
    print(f"{len(names)} notebooks, no broken link, no directive: open _docs/index.html")

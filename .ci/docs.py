"""Build the notebooks into a site in _docs that works offline: jupyter-book in an environment of its own.

Pages are prepared here: hidden cells and directives go, every public definition gets its signature with a table of its parameters,
the source of exported cells folds away. Then the site is checked: links, directives, requests to the network.
"""
import ast, importlib, inspect, json, os, re, shutil, subprocess, sys, venv
from pathlib import Path

import nbformat
from fastcore.docments import docments

root = Path(__file__).resolve().parent.parent
pages, site, env = root / "_proc", root / "_docs", root / ".venv" / "docs"
sys.path[:0] = [str(root / ".ci"), str(root)]
from check_docs import check
from readme import DIRECTIVE, visible

PACKAGES = ["jupyter-book==1.0.4", "sphinx-mathjax-offline==0.0.2"]
PARTS = [("Foundations", "0"), ("Scores", "1"), ("Discovery", "2"), ("Evaluation", "3"), ("Use", "4"), ("Tutorials", "tutorials/"), ("Studies", "studies/")]
CONFIG = {"title": "discrete_score", "execute": {"execute_notebooks": "off"}, "only_build_toc_files": True,
          "sphinx": {"extra_extensions": ["sphinx-mathjax-offline"],
                     "config": {"html_theme_options": {"use_download_button": False}, "myst_heading_anchors": 3, "suppress_warnings": ["mystnb.unknown_mime_type"], "nb_ipywidgets_js": {}}},
          "html": {"use_issues_button": False, "use_repository_button": False}}


def shown(value):
    "A type or a default as Python writes it, in one line that a Markdown table can hold."
    if value is inspect.Parameter.empty: return ""
    text = value if isinstance(value, str) and value.isidentifier() else getattr(value, "__name__", None) if inspect.isclass(value) and not hasattr(value, "__args__") else repr(value)
    text = re.sub(r"<(?:function|class|built-in function) '?([\w.<>]+)'?.*?>", r"\1", re.sub(r"\b(?:typing|collections\.abc|numpy|pandas|pathlib|discrete_score)(?:\.\w+)*\.(?=\w)", "", text))
    return "`" + re.sub(r" at 0x[0-9a-f]+", "", text).replace("|", "\\|").replace("`", "'") + "`"


def api(name, value):
    "Signature, one line, and a table of parameters of a public definition, as Markdown."
    try: signature, notes = inspect.signature(value), docments(value, full=True)
    except (TypeError, ValueError): return None
    words = [str(p).split(":")[0].split("=")[0] + ("" if p.default is p.empty else "=" + shown(p.default).strip("`").replace("\\|", "|")) for p in signature.parameters.values() if p.name != "self"]
    named = [p for p in signature.parameters.values() if p.kind == p.KEYWORD_ONLY]
    if named and not any(p.kind == p.VAR_POSITIONAL for p in signature.parameters.values()): words.insert(words.index(next(w for w in words if w.split("=")[0] == named[0].name)), "*")
    kind = lambda value: f"`{value}`".replace("|", "\\|") if isinstance(value, str) else shown(value)
    rows = [(f"`{p.name}`", kind(p.annotation), shown(p.default), (notes.get(p.name) or {}).get("docment") or "") for p in signature.parameters.values() if p.name != "self"]
    back = notes.get("return") or {}
    if back.get("docment"): rows.append(("*returns*", kind(back.get("anno", inspect.Parameter.empty)), "", back["docment"]))
    cells = lambda row: "| " + " | ".join(str(c).replace("\n", " ").replace("|", "\\|") if k == 3 else c for k, c in enumerate(row)) + " |"
    table = ["", "| parameter | type | default | what it is |", "|---|---|---|---|", *map(cells, rows)] if rows else []
    return "\n".join([f"```python\n{name}({', '.join(words)})\n```", (inspect.getdoc(value) or "").split("\n")[0], *table])


def definitions(source):
    "Public names that a cell defines: functions, classes, and methods added by `patch`."
    for node in ast.parse(source).body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name.startswith("_"): continue
        if isinstance(node, ast.FunctionDef) and any(getattr(d, "id", "") == "patch" for d in node.decorator_list): yield ast.unparse(node.args.args[0].annotation), node.name
        else: yield None, node.name


def documented(cell, module):
    "The signatures of what an exported cell defines, as a Markdown cell, or None."
    found = []
    for owner, name in definitions(cell.source):
        value = getattr(getattr(module, owner), name, None) if owner and hasattr(module, owner) else getattr(module, name, None)
        text = api(f"{owner}.{name}" if owner else name, value) if callable(value) else None
        if text: found.append(text)
    return nbformat.v4.new_markdown_cell("\n\n".join(found)) if found else None


def page(nb):
    "The cells that a reader should see."
    export = next((m[1] for c in nb.cells if (m := re.search(r"^#\|\s*default_exp\s+(\S+)", c.source, re.M))), None)
    module, cells = importlib.import_module(f"discrete_score.{export}") if export else None, []
    for cell in nb.cells:
        marks = {m[1].rstrip(":") for line in cell.source.splitlines() if (m := DIRECTIVE.match(line))}
        cell = visible(cell)
        if cell is None: continue
        for output in cell.get("outputs", []): output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
        if module and cell.cell_type == "code" and marks & {"export", "exports"}:
            text = documented(cell, module)
            if text: cells.append(text)
            if "export" in marks: cell.metadata["tags"] = ["hide-input"]
        cells.append(cell)
    return cells


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
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "CITATION.cff"): shutil.copy(root / name, pages)
    if (root / "nbs" / "images").is_dir(): shutil.copytree(root / "nbs" / "images", pages / "images")
    return names


def contents(names):
    first = ["tutorials/quickstart", "tutorials/own_csv", "tutorials/explorer", "tutorials/doubt"]
    names = sorted(names, key=lambda n: (n.split("/")[0], first.index(n) if n in first else len(first), n))
    parts = [{"caption": caption, "chapters": [{"file": n} for n in names if n.startswith(start)]} for caption, start in PARTS]
    parts.append({"caption": "About", "chapters": [{"file": "CHANGELOG"}, {"file": "CONTRIBUTING"}]})
    return {"format": "jb-book", "root": "index", "parts": [part for part in parts if part["chapters"]]}


def builder():
    "The program that builds the site, installed on first use."
    program, mark = env / "bin" / "jupyter-book", env / ("installed-" + "-".join(PACKAGES).replace("=", ""))
    if not mark.exists():
        venv.create(env, with_pip=True)
        subprocess.run([env / "bin" / "python", "-m", "pip", "install", "-qq", "--disable-pip-version-check", *PACKAGES], check=True)
        mark.touch()
    return program


def no_network(folder):
    "Take out what a page would fetch from elsewhere: the site must work from a folder, without a network."
    outside = re.compile(r'<(script|link)\b[^>]*\b(?:src|href)="https?://[^"]*"[^>]*>(?:\s*</script>)?')
    for path in folder.glob("**/*.html"):
        text = path.read_text(encoding="utf-8")
        path.write_text(outside.sub("", text), encoding="utf-8")


if __name__ == "__main__":
    names = prepare()
    (pages / "_toc.yml").write_text(json.dumps(contents(names)), encoding="utf-8")
    (pages / "_config.yml").write_text(json.dumps(CONFIG), encoding="utf-8")
    subprocess.run([builder(), "build", "--quiet", pages], check=True, env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"})
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(pages / "_build" / "html", site)
    no_network(site)
    problems = check(site)
    print(*problems, sep="\n")
    if problems: sys.exit(f"{len(problems)} problems in the site")
    print(f"{len(names)} notebooks, no broken link, no directive: open _docs/index.html")

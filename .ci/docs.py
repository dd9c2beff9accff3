"""Build the notebooks into a site in _docs that works offline: jupyter-book in an environment of its own.

nbdev's processors prepare the pages first (hidden cells and directives go, signatures come in).
"""
import json, shutil, subprocess, sys, venv
from pathlib import Path

import nbformat

root = Path(__file__).resolve().parent.parent
pages, site, env = root / "_proc", root / "_docs", root / ".venv" / "docs"
sys.path.insert(0, str(root / ".ci"))
from readme import visible

PARTS = [("Foundations", "0"), ("Scores", "1"), ("Discovery", "2"), ("Evaluation", "3"), ("Use", "4"), ("Tutorials", "tutorials/"), ("Studies", "studies/")]
CONFIG = {"title": "discrete_score", "execute": {"execute_notebooks": "off"}, "only_build_toc_files": True,
          "sphinx": {"config": {"html_theme_options": {"use_download_button": False}, "myst_heading_anchors": 3, "suppress_warnings": ["mystnb.unknown_mime_type"]}},
          "html": {"use_issues_button": False, "use_repository_button": False}}


def prepare():
    "Copy every notebook without hidden cells and directives; return their paths without ending."
    shutil.rmtree(pages, ignore_errors=True)
    names = []
    for path in sorted((root / "nbs").glob("**/*.ipynb")):
        if ".ipynb_checkpoints" in path.parts: continue
        nb, name = nbformat.read(path, as_version=4), path.relative_to(root / "nbs")
        nb.cells = [cell for cell in map(visible, nb.cells) if cell is not None]
        if name.stem == "index":
            for cell in nb.cells: cell.source = cell.source.replace("](../", "](")
        (pages / name).parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(nb, pages / name)
        names.append(name.with_suffix("").as_posix())
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "CITATION.cff"): shutil.copy(root / name, pages)
    return names


def contents(names):
    parts = [{"caption": caption, "chapters": [{"file": n} for n in names if n.startswith(start)]} for caption, start in PARTS]
    parts.append({"caption": "About", "chapters": [{"file": "CHANGELOG"}, {"file": "CONTRIBUTING"}]})
    return {"format": "jb-book", "root": "index", "parts": [part for part in parts if part["chapters"]]}


def builder():
    "The program that builds the site, installed on first use."
    program = env / "bin" / "jupyter-book"
    if not program.exists():
        venv.create(env, with_pip=True)
        subprocess.run([env / "bin" / "python", "-m", "pip", "install", "-qq", "jupyter-book==1.0.4"], check=True)
    return program


if __name__ == "__main__":
    names = prepare()
    (pages / "_toc.yml").write_text(json.dumps(contents(names)), encoding="utf-8")
    (pages / "_config.yml").write_text(json.dumps(CONFIG), encoding="utf-8")
    subprocess.run([builder(), "build", "--quiet", pages], check=True)
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(pages / "_build" / "html", site)
    print(f"{len(names)} notebooks: open _docs/index.html")

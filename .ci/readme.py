"""Write README.md from nbs/index.ipynb, or with --check see that it is current.

nbdev's own `nbdev_readme` needs Quarto; this needs nbdev's processors and nbconvert only.
"""
import re
import sys
from pathlib import Path

from nbconvert import MarkdownExporter
import nbformat

root = Path(__file__).resolve().parent.parent
DIRECTIVE = re.compile(r"^#\|\s*(\S+).*$")


def visible(cell):
    "The cell as a reader should see it: no hidden cells, no directives."
    lines = cell.source.splitlines()
    directives = {m[1].rstrip(":") for line in lines if (m := DIRECTIVE.match(line))}
    if directives & {"hide", "default_exp"}: return None
    cell.source = "\n".join(line for line in lines if not DIRECTIVE.match(line)).strip("\n")
    return cell if cell.source or cell.get("outputs") else None


def render():
    nb = nbformat.read(root / "nbs" / "index.ipynb", as_version=4)
    nb.cells = [cell for cell in map(visible, nb.cells) if cell is not None]
    nb.metadata["language_info"] = {"name": "python"}
    text, resources = MarkdownExporter().from_notebook_node(nb)
    if resources.get("outputs"):
        sys.exit("index.ipynb has picture outputs; README.md can hold text and tables only.")
    text = re.sub(r"<style scoped>.*?</style>\n?", "", text, flags=re.S)
    text = re.sub(r"\]\(((?:[\w/]+\.ipynb|images/[\w.]+))\)", r"](nbs/\1)", text)
    text = text.replace("](../", "](")
    head = "<!-- Generated from nbs/index.ipynb by `make export`; edit the notebook. -->\n\n"
    return head + re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


if __name__ == "__main__":
    readme = root / "README.md"
    if "--check" in sys.argv[1:]:
        if readme.read_text(encoding="utf-8") != render():
            sys.exit("README.md is not current: run `make export` and commit it.")
    else: readme.write_text(render(), encoding="utf-8")

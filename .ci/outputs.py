"""Run notebooks (all, or those named) in fresh kernels, keep their outputs, clean them, export.

Slow cells run too; cells that carry `#| gpu` or `#| eval: false` do not, and keep what they have.
Pictures are stored with a palette of 256 colours: a third of the size, and no difference to see.
Of a graph that can be touched only its SVG is stored.
"""
import base64
import io
import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from export import export

root = Path(__file__).resolve().parent.parent


def skipped(cell):
    "Is this a cell that must not run here?"
    lines = cell.source.lstrip().splitlines() if cell.cell_type == "code" else []
    return any(line.startswith(("#| gpu", "#| eval: false")) for line in lines)


def shrink(picture):
    "A PNG in base64 with a palette, if that is smaller."
    from PIL import Image
    small, large = io.BytesIO(), Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    few = large.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(small, "PNG", optimize=True)
    return min(picture, base64.b64encode(small.getvalue()).decode(), key=len)


def run(path):
    nb = nbformat.read(path, as_version=4)
    held = {cell.id: (cell.cell_type, cell.source) for cell in nb.cells if skipped(cell)}
    for cell in nb.cells:
        if cell.id in held: cell.cell_type = "raw"
    where = {"metadata": {"path": str(path.parent)}}
    options = dict(timeout=3600, store_widget_state=False, kernel_name="python3", resources=where)
    NotebookClient(nb, **options).execute()
    for cell in nb.cells:
        if cell.id in held: cell.cell_type = "code"
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data: data["image/png"] = shrink(data["image/png"])
            if 'class="ds-frame"' in data.get("text/html", ""): del data["text/html"]
    nbformat.write(nb, path)


if __name__ == "__main__":
    os.environ.setdefault("JUPYTER_PLATFORM_DIRS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.pop("MPLBACKEND", None)  # a backend set outside would keep figures out of the page
    named = [Path(p).resolve() for p in sys.argv[1:]]
    for path in named or sorted(root.glob("nbs/**/*.ipynb")):
        print(path.relative_to(root), flush=True)
        run(path)
    export()

"""Run notebooks (all, or those named) in a fresh kernel each, keep their outputs, clean them, export.

Slow cells run too; cells that carry `#| gpu` or `#| eval: false` do not, and keep what they have.
Pictures are stored with a palette of 256 colours: a third of the size, and no difference to see.
"""
import base64, io, os, subprocess, sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

root = Path(__file__).resolve().parent.parent
tools = Path(sys.executable).parent


def skipped(cell): return cell.cell_type == "code" and any(cell.source.lstrip().startswith(mark) or f"\n{mark}" in cell.source for mark in ("#| gpu", "#| eval: false"))


def shrink(picture):
    "A PNG in base64 with a palette, if that is smaller."
    from PIL import Image
    small = io.BytesIO()
    Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return min(picture, base64.b64encode(small.getvalue()).decode(), key=len)


def run(path):
    nb = nbformat.read(path, as_version=4)
    held = {cell.id: (cell.cell_type, cell.source) for cell in nb.cells if skipped(cell)}
    for cell in nb.cells:
        if cell.id in held: cell.cell_type = "raw"
    NotebookClient(nb, timeout=3600, store_widget_state=False, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}).execute()
    for cell in nb.cells:
        if cell.id in held: cell.cell_type = "code"
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}): output.data["image/png"] = shrink(output.data["image/png"])
    nbformat.write(nb, path)


if __name__ == "__main__":
    os.environ.setdefault("JUPYTER_PLATFORM_DIRS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.pop("MPLBACKEND", None)  # a backend set outside would keep figures out of the page
    for path in [Path(p).resolve() for p in sys.argv[1:]] or sorted(root.glob("nbs/**/*.ipynb")):
        print(path.relative_to(root), flush=True)
        run(path)
    for tool in ("nbdev_clean", "nbdev_export"): subprocess.run([tools / tool], cwd=root, check=True)

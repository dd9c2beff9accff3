"""Fail when a notebook is not clean or a module does not match its notebook.

Runs `nbdev_export` and `nbdev_clean` and compares every notebook and module before and after,
so that it works in a clean clone as well as in the middle of a change.
"""
import subprocess
import sys
from pathlib import Path

root = Path(__file__).resolve().parent.parent
tools = Path(sys.executable).parent


def snapshot():
    files = [*root.glob("nbs/**/*.ipynb"), *root.glob("discrete_score/**/*.py")]
    files = [f for f in files if ".ipynb_checkpoints" not in f.parts]
    return {f.relative_to(root): f.read_bytes() for f in files}


before = snapshot()
for tool in ("nbdev_export", "nbdev_clean"): subprocess.run([tools / tool], cwd=root, check=True)
after = snapshot()
changed = sorted(f for f in before.keys() | after.keys() if before.get(f) != after.get(f))
if changed:
    print("nbdev_export or nbdev_clean changed these files; "
          "look at them and commit notebook and module together:")
    print(*(f"  {f}" for f in changed), sep="\n")
    sys.exit(1)
print(f"clean: {len(after)} notebooks and modules match")

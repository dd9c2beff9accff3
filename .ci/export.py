"""Export all modules and clean all notebooks; with --check, fail if that changes a file.

The check compares before and after, so it works in a clean clone as well as amid a change.
"""
import subprocess
import sys
from pathlib import Path

root = Path(__file__).resolve().parent.parent
tools = Path(sys.executable).parent


def snapshot():
    "What every notebook and module holds."
    files = [*root.glob("nbs/**/*.ipynb"), *root.glob("discrete_score/**/*.py")]
    return {f: f.read_bytes() for f in files if ".ipynb_checkpoints" not in f.parts}


def export():
    "Export and clean; all files before, and after."
    before = snapshot()
    for tool in ("nbdev_export", "nbdev_clean"):
        subprocess.run([tools / tool], cwd=root, check=True)
    return before, snapshot()


if __name__ == "__main__":
    before, after = export()
    files = before.keys() | after.keys()
    changed = sorted(f.relative_to(root) for f in files if before.get(f) != after.get(f))
    if "--check" in sys.argv and changed:
        print("nbdev_export or nbdev_clean changed these files; "
              "look at them and commit notebook and module together:")
        print(*(f"  {f}" for f in changed), sep="\n")
        sys.exit(1)
    if "--check" in sys.argv: print(f"clean: {len(after)} notebooks and modules match")

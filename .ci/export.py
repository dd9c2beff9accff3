"""Export all modules and clean all notebooks; with --check, fail if that changes one.

A file that stays the same keeps its time: compiled kernels are kept as long as their module does.
The check compares before and after, so it works in a clean clone as well as amid a change.
"""
import os
import subprocess
import sys
from pathlib import Path

root = Path(__file__).resolve().parent.parent
tools = Path(sys.executable).parent


def snapshot():
    "What every notebook and module holds, and its times."
    files = [*root.glob("nbs/**/*.ipynb"), *root.glob("discrete_score/**/*.py")]
    files = [f for f in files if ".ipynb_checkpoints" not in f.parts]
    return {f: (f.read_bytes(), f.stat()) for f in files}


def export():
    "Export and clean; all files, and those that changed."
    before = snapshot()
    for tool in ("nbdev_export", "nbdev_clean"):
        subprocess.run([tools / tool], cwd=root, check=True)
    after, changed = snapshot(), []
    for file in sorted(before.keys() | after.keys()):
        (old, times), (new, _) = before.get(file, (None, None)), after.get(file, (None, None))
        if old != new: changed.append(file.relative_to(root))
        else: os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    return after, changed


if __name__ == "__main__":
    files, changed = export()
    if "--check" in sys.argv and changed:
        print("nbdev_export or nbdev_clean changed these files; "
              "look at them and commit notebook and module together:")
        print(*(f"  {f}" for f in changed), sep="\n")
        sys.exit(1)
    if "--check" in sys.argv: print(f"clean: {len(files)} notebooks and modules match")

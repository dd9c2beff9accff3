"""Run every `#| gpu` cell on a machine that has a GPU, and write a JSON verdict; say clearly if there is none.

    python .ci/gpu_check.py [--out gpu-check.json]
"""
import argparse, json, subprocess, sys
from pathlib import Path

import torch

root = Path(__file__).resolve().parent.parent


def flagged():
    "Notebooks with cells that need a GPU, and how many such cells each has."
    found = {}
    for path in sorted((root / "nbs").rglob("*.ipynb")):
        if ".ipynb_checkpoints" in path.parts: continue
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        n = sum(cell["cell_type"] == "code" and any(line.strip() == "#| gpu" for line in "".join(cell["source"]).splitlines()) for cell in cells)
        if n: found[str(path.relative_to(root))] = n
    return found


def check(path):
    "Run one notebook with its GPU cells."
    done = subprocess.run([Path(sys.executable).parent / "nbdev_test", "--path", path, "--flags", "gpu", "--n_workers", "0"], cwd=root, capture_output=True, text=True)
    return {"passed": done.returncode == 0, "message": "" if done.returncode == 0 else (done.stdout + done.stderr)[-2000:]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default=root / "gpu-check.json")
    out, cells = Path(parser.parse_args().out), flagged()
    verdict = {"gpu": torch.cuda.get_device_name(0) if torch.cuda.is_available() else None, "n_gpus": torch.cuda.device_count(), "torch": torch.__version__, "cells": cells}
    if verdict["gpu"] is None: verdict |= {"verdict": "not run", "reason": "this machine has no GPU that torch can use; no GPU cell was checked"}
    else:
        verdict["notebooks"] = {path: check(path) for path in cells}
        verdict["verdict"] = "passed" if all(n["passed"] for n in verdict["notebooks"].values()) else "failed"
    out.write_text(json.dumps(verdict, indent=1) + "\n")
    print(f"{verdict['verdict']}: {verdict.get('reason', ', '.join(cells))} ({out.name})")
    sys.exit(verdict["verdict"] == "failed")

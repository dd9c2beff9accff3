"""Run every `#| gpu` cell on a machine that has a GPU, and write a JSON verdict.

Without a GPU the verdict says so.

    python .ci/gpu_check.py [--out gpu-check.json]
"""
import argparse
import json
import subprocess
import sys
from pathlib import Path

import torch

root = Path(__file__).resolve().parent.parent


def flagged():
    "Notebooks with cells that need a GPU, and how many such cells each has."
    found = {}
    for path in sorted((root / "nbs").rglob("*.ipynb")):
        if ".ipynb_checkpoints" in path.parts: continue
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        n = sum(needs_gpu(cell) for cell in cells)
        if n: found[str(path.relative_to(root))] = n
    return found


def needs_gpu(cell):
    if cell["cell_type"] != "code": return False
    lines = "".join(cell["source"]).splitlines()
    return any(line.strip() == "#| gpu" for line in lines)


def check(path):
    "Run one notebook with its GPU cells."
    tool = Path(sys.executable).parent / "nbdev_test"
    command = [tool, "--path", path, "--flags", "gpu", "--n_workers", "0"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    passed = done.returncode == 0
    return {"passed": passed, "message": "" if passed else (done.stdout + done.stderr)[-2000:]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default=root / "gpu-check.json")
    out, cells = Path(parser.parse_args().out), flagged()
    gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
    verdict = {"gpu": gpu, "n_gpus": torch.cuda.device_count()}
    verdict |= {"torch": torch.__version__, "cells": cells}
    if gpu is None:
        reason = "this machine has no GPU that torch can use; no GPU cell was checked"
        verdict |= {"verdict": "not run", "reason": reason}
    else:
        verdict["notebooks"] = {path: check(path) for path in cells}
        passed = all(n["passed"] for n in verdict["notebooks"].values())
        verdict["verdict"] = "passed" if passed else "failed"
    out.write_text(json.dumps(verdict, indent=1) + "\n")
    print(f"{verdict['verdict']}: {verdict.get('reason', ', '.join(cells))} ({out.name})")
    sys.exit(verdict["verdict"] == "failed")

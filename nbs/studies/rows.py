"The result file of a study: one row per dataset, on disk before the next is begun."
import csv, os
from pathlib import Path


def stored(path: Path) -> list[dict]:
    "The rows that are there already."
    if not path.exists(): return []
    with open(path, newline="", encoding="utf-8") as file: return list(csv.DictReader(file))


def append(path: Path, fields: list[str], *rows: dict) -> None:
    "Add rows; the file is complete up to the last of them when this returns."
    new = not path.exists()
    with open(path, "a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fields)
        if new: writer.writeheader()
        writer.writerows(rows)
        file.flush()
        os.fsync(file.fileno())

"""The arena and the paper's claims: limits, means by hand, pages that say what is stored."""
import os
import re
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest

from discrete_score.cli import main
from discrete_score.data import as_table
from discrete_score.graphs import dag_to_cpdag
from discrete_score.networks import load_network
from discrete_score.studies import (
    STUDIES, as_key, compare_plan, load_studies, make_study, read_results)

root = Path(__file__).resolve().parent.parent
studies = root/"nbs"/"studies"
VERDICTS = {"holds", "holds with the correction", "does not hold", "not checkable here"}
SECTIONS = [  # Of the paper, in its order; `PAPER=paper.tex` compares them with its source
    "Introduction", "Preliminaries", "Structural Causal Model", "Generalized Score Matching",
    "Learning DAGs from the Score", "Ordering-based Causal Discovery via Discrete Score Matching",
    "Identification of Causal Order", "Connection to Additive Noise Models",
    "Numerical Experiments", "Experimental Design", "Results & Discussion",
    "Practical Diagnosis for Order Validity", "Limitations and Conclusion", "Acknowledgement",
    "Proofs", "Proof for Theorem 1", "Proof for Proposition 1", "Related Work"]


@pytest.fixture(scope="module")
def arena():
    "The definitions, without leaving their studies behind."
    before = set(STUDIES)
    yield load_studies(studies/"arena.py")
    for name in set(STUDIES) - before: del STUDIES[name]


@pytest.fixture(scope="module")
def rows(arena): return arena.results()


def cells(name): return nbformat.read(studies/f"{name}.ipynb", as_version=4).cells


def words(path): return " ".join(path.read_text(encoding="utf-8").split())


# Contestants

def test_a_method_that_takes_too_long_is_ended_and_said_so(arena):
    def forever():
        while True: pass
    ran = arena.peers.apart(forever, limit=1)
    assert ran.value is None and ran.failure == "not done after 1 s" and ran.seconds > 0


def test_a_method_that_fails_or_answers(arena):
    def fails(): raise KeyError("gone")
    assert arena.peers.apart(fails).failure == "KeyError: 'gone'"
    assert arena.peers.apart(lambda: os.kill(os.getpid(), 9)).failure == "ended by signal 9"
    ran = arena.peers.apart(lambda: np.ones(30_000_000).sum())
    assert ran.value == 30_000_000 and ran.failure == "" and 200 < ran.megabytes < 300


def test_answers_come_back_in_the_order_of_the_table(arena):
    "Columns are mixed on the way in; a graph over names is the same as without mixing."
    table = as_table(load_network("asia").sample(2000, seed=3))
    shuffled, at = arena.peers.mixed(table, 0)
    assert list(at) != sorted(at) and shuffled.names == tuple(table.names[k] for k in at)
    inside = arena.peers.METHODS["ges-bdeu"](shuffled, 0)
    graph = arena.peers.graph_of(arena.peers.METHODS["ges-bdeu"], table, 0).value
    assert (graph[np.ix_(at, at)] == inside).all() and graph.any()


def test_judging_a_known_answer(arena):
    "The truth as an order, as a class, and turned round."
    truth = arena.truth_of("network", "blind", "asia", 1000, 0)
    names, cpdag = truth.table.names, dag_to_cpdag(truth.dag)
    order = arena.topological_order(truth.dag).tolist()
    right = arena.judged(arena.answer(truth.dag, order, dag=True), truth)
    assert (right["shd"], right["sid"], right["aid"], right["d_top"]) == (0, 0, 0, 0)
    assert right["direction"] == right["skeleton"] == 1 and right["against"] == 0
    assert right["claims"] == right["right"] == right["recalled"] == right["truly"] > 0
    whole = arena.judged(arena.answer(cpdag), truth)
    assert whole["shd"] == 0 and 0 < whole["d_top"] < truth.dag.sum()
    turned = arena.judged(arena.answer(truth.dag.T, order[::-1], dag=True), truth)
    assert turned["d_top"] == truth.dag.sum() and turned["direction"] == 0
    assert len(names) == 8


def test_the_arena_runs_by_its_name_and_resumes(tmp_path, capsys):
    "The command of the page, on what is quick; a second run has nothing to do, a check agrees."
    path = tmp_path/"arena.csv"
    condition = "name in ['asia', 'sachs'] and method == 'true-class' and n == 1000"
    for more in ((), ("--resume",), ("--check", "2")):
        arguments = ["study", "arena", "--only", condition, "--out", str(path), *more]
        assert main(arguments) == 0, capsys.readouterr().err
    stored = read_results(path)
    assert len(stored) == 2 and (stored.shd == 0).all() and (stored.failure == "").all()
    assert make_study("arena_votes").key == make_study("arena").key[:-1]


def test_impossible_arrows_by_hand(arena):
    claims = np.zeros((3, 3), bool)
    claims[0, 1] = claims[2, 0] = claims[1, 2] = True
    assert arena.checked(claims, (0,)) == (1, 1)
    assert arena.checked(claims, (0, 1)) == (2, 1)
    assert arena.checked(claims, ()) == (0, 0)


# Stored rows

def test_the_stored_plan_is_there_and_nothing_else(rows):
    study = make_study("arena")
    change = compare_plan(study, studies/"results"/"arena.csv")
    assert not change.foreign
    assert len(change.missing) <= int(LACKING.search(first_line()).group(1).replace(",", ""))
    full = {as_key(s) for s in make_study("arena", full=True).settings}
    assert {as_key(s) for s in study.settings} <= full
    assert rows.versions.str.startswith("discrete_score ").all()


LACKING = re.compile(r"\*\*([\d,]+) of its [\d,]+ settings were not run\*\*")


def first_line(): return cells("arena")[1].source.split("\n")[0]


def test_means_by_hand(arena):
    "Tables of one network are averaged first; only tables that all have done count."
    frame = pd.DataFrame([
        ("a", "x", 0, .5, 2, 1), ("a", "x", 1, .7, 2, 2), ("a", "y", 0, .9, 4, 1),
        ("b", "x", 0, .1, 1, 1), ("b", "x", 1, .3, 1, 0), ("b", "y", 0, np.nan, 0, 0)],
        columns=["contestant", "name", "seed", "direction", "claims", "right"])
    frame = frame.assign(kind="k", part="p", n=1, done=frame.direction.notna(), truly=4,
                         recalled=frame.right, against=0)
    for name in ("D_top", "SHD", "SID", "AID", "seconds", "megabytes"): frame[name] = 1.
    found = arena.means(frame[frame.contestant == "a"])
    assert found.direction["a"] == pytest.approx((.6 + .9)/2)
    assert found.right["a"] == 4/8 and found.recall["a"] == 4/12
    shared = arena.shared(frame, ["a", "b"])
    assert set(shared.name) == {"x"} and arena.means(shared).direction["a"] == pytest.approx(.6)
    ends = arena.intervals(frame[frame.contestant == "a"], "direction")
    assert ends.low["a"] == pytest.approx(.6) and ends.high["a"] == pytest.approx(.9)


def headline(arena, rows):
    "The numbers that README and CHANGELOG repeat."
    quick = [c for c in rows.contestant.unique() if c not in arena.SLOW + arena.MEDIUM]
    part = arena.shared(rows[(rows.kind == "network") & (rows.n == 10_000)], quick)
    return part, arena.means(part)


def two(value): return f"{value:.2f}".removeprefix("0")


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md"])
def test_readme_and_changelog_say_what_the_rows_say(arena, rows, name):
    part, means = headline(arena, rows)
    others = means.drop(index=[*arena.READINGS, *arena.NULLS])
    text = words(root/name)
    said = (f"{part.name.nunique()} known networks", two(means.direction["ours"]),
            two(others.direction.max()), two(means.recall["ours"]), two(others.recall.max()),
            two(means.right["ours"]), two(others.right[others.recall.idxmax()]))
    place = text.index(said[0])
    sentence = text[place:place + 420]
    assert [s for s in said if s not in sentence] == []


def test_the_page_shows_the_means_of_the_rows(arena, rows):
    _, means = headline(arena, rows)
    shown = next(c for c in cells("arena") if c.source.endswith("by_network.round(3)"))
    text = shown.outputs[0]["data"]["text/plain"]
    for name in ("ours", "ours-order", "ges-bdeu", "miic", "true-class"):
        line = re.search(rf"^{name} .*$", text, flags=re.M)[0].split()
        numbers = means.loc[name, [*arena.QUALITY]].round(3)
        assert [float(x) for x in line[1:8]] == numbers.tolist()


def test_every_row_of_the_belief_peers_is_of_a_known_method(arena):
    stored = read_results(studies/"results"/"belief_peers.csv")
    assert set(stored.method) <= {"ours", *arena.peers.METHODS}


# The paper's claims

def claims():
    "Sections of the page with the rows of their tables."
    found, section = {}, None
    for cell in cells("claims"):
        if cell.cell_type != "markdown": continue
        if cell.source.startswith("## "): section = cell.source[3:].strip()
        if not cell.source.startswith("| the paper says"): continue
        lines = cell.source.split("\n")[2:]
        found[section] = [[x.strip() for x in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return found


def test_no_section_of_the_paper_is_without_a_row():
    found = claims()
    assert [s for s in found if s != "Abstract"] == SECTIONS
    assert all(len(row) == 3 and all(row) for lines in found.values() for row in lines)
    assert {row[1].strip("*") for lines in found.values() for row in lines} == VERDICTS


def test_every_claim_leads_to_a_heading_that_is_there():
    heads = {c.source.lstrip("#").strip() for c in cells("claims")
             if c.cell_type == "markdown" and c.source.startswith("#")}
    for lines in claims().values():
        for _, verdict, why in lines:
            for target, head in re.findall(r"\]\(([^)]+)\)(?:, \*([^*]+)\*)?", why):
                page = nbformat.read((studies/target).resolve(), as_version=4).cells
                titles = {line.lstrip("#").strip() for c in page if c.cell_type == "markdown"
                          for line in c.source.split("\n") if line.startswith("#")}
                assert not head or head in titles, f"{target} has no section {head!r}"
            for head in re.findall(r"this page, \*([^*]+)\*", why): assert head in heads, head
            if verdict.strip("*") != "not checkable here": assert "*" in why, why


@pytest.mark.skipif("PAPER" not in os.environ, reason="PAPER names the source of the paper")
def test_sections_are_those_of_the_paper():
    text = Path(os.environ["PAPER"]).read_text(encoding="utf-8")
    titles = re.findall(r"^\\(?:sub)?section\*?\{(.+?)\}", text, flags=re.M | re.S)
    names = {"theorem:main": "Theorem 1", "prop:main": "Proposition 1"}
    def plain(title):
        title = re.sub(r"\\ref\{?([\w:]+)\}?", lambda m: names.get(m[1], m[1]), title)
        return " ".join(title.replace("\\&", "&").split()).replace("Theorem Theorem", "Theorem")
    found = [plain(title).replace("Proposition Proposition", "Proposition") for title in titles]
    assert sorted(found) == sorted(SECTIONS)

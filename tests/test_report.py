"""What a result says of itself: printed, in a notebook, and on a page that is passed on."""
import html
import json
import re

import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("Agg")

import discrete_score as ds
from discrete_score import cli, report, words


@pytest.fixture(scope="module")
def babies():
    "A fitted search with compelled and open edges."
    return ds.DiscreteScore(unused="drop").fit(ds.load_network("child").sample(2000, seed=0))


@pytest.fixture(scope="module")
def three():
    "Two causes of one effect, which the data tell: two compelled arrows."
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 4000))
    c = np.where(rng.random(4000) < .1, rng.integers(0, 3, 4000), a + b)
    return ds.DiscreteScore().fit(pd.DataFrame({"a": a, "b": b, "c": c}))


def test_a_printed_model_speaks(babies):
    "Verdict, graph, what is compelled, what is open, what to state next."
    text = str(babies)
    for said in ("The data compel the order of", "LungFlow → ChestXray", "The graph has 25 edges",
                 "Nobody can say which way 19 of 25 edges point", "Disease – LVH",
                 "You know more than the data: which columns come first?", "`knowledge`"):
        assert said in text.replace("\n  ", " "), said
    assert repr(babies) == "DiscreteScore(unused='drop')"
    assert str(ds.DiscreteScore(seed=3)) == "DiscreteScore(seed=3)"


def test_what_was_stated_is_printed_first(three):
    told = ds.DiscreteScore(knowledge={"before": [("a", "b")]}).fit(three.result_.table)
    assert str(told).splitlines()[1].startswith("You stated the order of 1 of 3 pairs")


def test_next_steps_speak_the_language_of_their_reader(babies):
    said = words.next_steps(babies.result_)
    assert "--tiers" in " ".join(words.lines(said))
    assert "the panel What is known" in words.paragraph(said, words.form)
    assert "Begin with Disease, which 8 of the 19 open edges touch" in words.paragraph(said)


def test_one_arrow_is_no_arrows(three):
    said = words._explained(three.result_, {"total": 3, "pairs": 1}, 1)
    assert "from this arrow" in said[1] and "these 1" not in " ".join(said)


def table_counts(page):
    "Every count of a table behind an edge."
    elements = json.loads(re.search(r'"application/json">(.*?)</script>', page, re.S)[1])
    tables = [element["data"]["table"] for element in elements["elements"]
              if "table" in element["data"]]
    cells = [cell for table in tables for cell in re.findall(r'<td class="n">(.*?)</td>', table)]
    return [cell.replace(",", "") for cell in cells]


def few_people():
    "A table with a rare state and small cells."
    rng = np.random.default_rng(3)
    ill = np.where(rng.random(400) < .04, "yes", "no")
    home = np.where(rng.random(400) < .1, rng.choice(["east", "west"], 400),
                    np.where(ill == "yes", "west", "east")).astype(object)
    home[:3] = "the old mill"
    return pd.DataFrame({"ill": ill, "home": home})


def test_counts_below_five_are_shown_only_if_asked_for(tmp_path):
    model = ds.DiscreteScore().fit(few_people())
    assert len(model.edges_) == 1
    page = model.report(tmp_path / "a.html").read_text(encoding="utf-8")
    shown = table_counts(page)
    assert "·" in shown and not [c for c in shown if c.isdecimal() and int(c) < 5]
    assert "the old mill" not in page and "1 with fewer than 5 rows" in page
    asked = model.report(tmp_path / "b.html", small_counts=True).read_text(encoding="utf-8")
    assert [c for c in table_counts(asked) if int(c) < 5] and "the old mill" in asked
    view = model.view()._repr_mimebundle_()["text/html"]
    assert "the old mill" not in html.unescape(view)


def test_a_hidden_count_is_not_alone_in_its_row_or_column():
    rng = np.random.default_rng(0)
    for _ in range(200):
        counts = rng.integers(0, 30, rng.integers(2, 6, 2))
        hidden = words.hidden_cells(counts)
        assert hidden[counts < 5].all()
        assert not {1} & {*hidden.sum(0), *hidden.sum(1)}


def test_the_page_begins_with_the_verdict_and_folds_the_rest(babies, tmp_path):
    page = babies.report(tmp_path / "r.html").read_text(encoding="utf-8")
    verdict, graph = page.index("The data compel the order"), page.index('class="ds-graph"')
    todo, rest = page.index("What to do next"), page.index("<details>")
    assert verdict < graph < todo < rest
    drawn = json.loads(re.search(r'"application/json">(.*?)</script>', page, re.S)[1])["elements"]
    names = babies.result_.names
    edges = {(names[int(e["data"]["source"])], names[int(e["data"]["target"])]): e["data"]["mark"]
             for e in drawn if "mark" in e["data"]}
    assert edges == dict(babies.dag().marks)
    assert "white-space: pre-wrap" in page and "@media print" in page


def test_every_toss_up_is_listed(babies, tmp_path):
    rng, names = np.random.default_rng(0), babies.result_.names
    orders = np.array([rng.permutation(20) for _ in range(9)])
    few = ds.order.Bootstrap(names, orders, "half", 0)
    n = len(few.toss_ups())
    page = babies.report(tmp_path / "r.html", stability=few).read_text(encoding="utf-8")
    part = page.split("<h2>Toss-ups</h2>")[1].split("</section>")[0]
    assert f"{n} of 190 pairs are toss-ups" in part and part.count("<tr>") == n + 1
    said = words.lines(words.toss_ups(few, babies.result_), most=20)
    assert said[-1] == f"and {n - 20} more" and n > 20


def test_the_title_is_from_the_file(tmp_path, capsys):
    few_people().to_csv(tmp_path / "village.csv", index=False)
    out = tmp_path / "page.html"
    assert cli.main(["report", str(tmp_path / "village.csv"), "-o", str(out)]) == 0
    page = out.read_text(encoding="utf-8")
    assert "<title>What comes before what in village.csv</title>" in page
    assert "the old mill" not in page
    more = ["--small-counts", "--title", "Ours"]
    assert cli.main(["report", str(tmp_path / "village.csv"), "-o", str(out), *more]) == 0
    page = out.read_text(encoding="utf-8")
    assert "<title>Ours</title>" in page and "the old mill" in page


def test_a_model_with_bins_weights_or_from_a_file_reports(tmp_path):
    "`DiscreteScore(bins=...).fit(df).report(...)` used to be refused."
    rng = np.random.default_rng(0)
    age = rng.uniform(18, 90, 300).round(2)
    frame = pd.DataFrame({"age": age, "votes": np.where(age + rng.normal(0, 9, 300) > 50, "y", "n"),
                          "n": rng.integers(1, 4, 300)})
    model = ds.DiscreteScore(bins={"age": 4}).fit(frame, sample_weight="n")
    model.save(tmp_path / "m.json")
    for k, found in enumerate((model, ds.load_order(tmp_path / "m.json"))):
        page = found.report(tmp_path / f"{k}.html").read_text(encoding="utf-8")
        assert "age" in page and table_counts(page)
        assert "<svg" in found.view().svg and "votes" in str(found)
    model.save(tmp_path / "bare.json", rows=False)
    bare = ds.load_order(tmp_path / "bare.json")
    page = bare.report(tmp_path / "bare.html").read_text(encoding="utf-8")
    assert "ds-graph" in page and not table_counts(page)


def test_a_notebook_shows_the_picture_as_svg(babies):
    shown = babies._repr_mimebundle_()
    assert shown["text/plain"] == str(babies)
    assert "data:image/svg+xml" in shown["text/html"] and "<script" not in shown["text/html"]
    assert set(ds.DiscreteScore()._repr_mimebundle_()) == {"text/plain", "text/markdown"}
    assert report.draw_svg(babies.dag().plot) == report.draw_svg(babies.dag().plot)

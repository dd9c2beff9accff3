"""What a result says of itself: printed, in a notebook, and on a page that is passed on."""
import numpy as np
import pandas as pd
import pytest

import discrete_score as ds
from discrete_score import words


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

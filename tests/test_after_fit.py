"""After `fit` everything works without the data, however the table came in.

Two values each of bins, weights, missing cells, knowledge and "loaded from a file", in eight
combinations of which any two factors meet in all four ways.
"""
import inspect

import matplotlib
import matplotlib.pyplot
import numpy as np
import pandas as pd
import pytest

import discrete_score as ds
from discrete_score.discover import Fitted

matplotlib.use("Agg")
EIGHT = [(a, b, a ^ b, c, a ^ c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]


def frame(weighted):
    "A chain of four columns: a number, two answers, one of them with holes, and a count."
    rng, n = np.random.default_rng(3), 150
    age = rng.normal(40, 12, n).round(1)
    works = np.where(rng.random(n) < np.where(age > 40, .8, .3), "yes", "no").astype(object)
    owns = np.where(rng.random(n) < np.where(works == "yes", .7, .2), "yes", "no")
    works[rng.random(n) < .06] = None
    found = pd.DataFrame({"age": age, "works": works, "owns": owns, "rooms": rng.integers(1, 5, n)})
    return found.assign(times=rng.integers(1, 4, n)) if weighted else found


@pytest.fixture(scope="module", params=EIGHT, ids=str)
def model(request, tmp_path_factory):
    "A fitted model, perhaps out of a file."
    bins, weights, missing, knowledge, loaded = request.param
    model = ds.DiscreteScore(bins={"age": [0, 30, 45, 120]} if bins else "auto",
                             missing="state" if missing else "drop",
                             knowledge={"roots": ["age"]} if knowledge else None)
    model.fit(frame(weights), sample_weight="times" if weights else None)
    if not loaded: return model
    path = tmp_path_factory.mktemp("after") / "order.json"
    model.save(path)
    return ds.load_order(path)


def test_attributes_are_there(model):
    names = [name for name, kind in inspect.getmembers(Fitted) if isinstance(kind, property)]
    assert {"order_", "edges_", "graph_", "credibility_"} <= set(names)
    for name in names: getattr(model, name)
    assert sorted(model.order_) == ["age", "owns", "rooms", "works"]
    assert model.result_.table.binned == ("age",)
    binned = model.edges_[["from", "to"]].isin(["age"]).any(axis=1)
    assert "voted" not in set(model.edges_.loc[binned, "mark"])


def test_methods_need_no_data(model, tmp_path):
    assert model.diagnose().verdict
    assert model.bootstrap(n=2).orders.shape == (2, 4)
    assert model.dag().dag.shape == model.dag(base="ges").dag.shape == (4, 4)
    assert model.report(tmp_path / "page.html").stat().st_size > 5000
    assert model._repr_markdown_() and repr(model)


def test_it_is_stored_whole(model, tmp_path):
    content = model.to_dict()
    model.save(tmp_path / "again.json")
    again = ds.load_order(tmp_path / "again.json")
    assert again.to_dict() == content and again.result_ == model.result_
    assert again.result_.table.binned == ("age",)


def test_a_fit_without_data_is_the_same(model):
    again = ds.DiscreteScore(**model.get_params(deep=False)).fit(model.result_.table)
    assert again.order_ == model.order_ and again.edges_.equals(model.edges_)


def test_pictures_are_drawn(model):
    for draw in (model.plot, model.dag().plot):
        axes = draw()
        assert axes.figure is not None
        matplotlib.pyplot.close(axes.figure)

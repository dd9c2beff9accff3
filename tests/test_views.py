"""One result, many views: frame, picture, files, other packages, report, shell and explorer.

No view may differ from another in any mark, none may contradict what was stated, and none may
credit the data with it."""
import html
import json
import re
from types import SimpleNamespace

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

matplotlib.use("Agg")

from shell import in_shell
import discrete_score as ds
from discrete_score import dag, explorer, figures, result, words
from discrete_score.graphs import full_dag, is_dag, reachable

FEW = settings(max_examples=12)
SOME = settings(max_examples=5)
seeds = st.integers(0, 2**16)
NAMES = tuple("abcdef")


def frame_of(seed, d=5, rows=700):
    "A table that a random network wrote."
    net = ds.random_network(d, degree=2.5, states=(2, 3), seed=seed)
    frame = net.sample(rows, seed=seed).set_axis(list(NAMES[:d]), axis=1).astype(str)
    frame.iloc[0] = ["other" if lonely else cell  # a column needs two levels
                     for lonely, cell in zip(frame.nunique() == 1, frame.iloc[0])]
    return frame


def statements(seed, d=5):
    "What somebody could state; often against the data, sometimes nothing."
    rng = np.random.default_rng(seed)
    a, b, c, e = rng.permutation(list(NAMES[:d]))[:4].tolist()
    kinds = [None, {"leaves": [a]}, {"roots": [a, b]}, {"before": [(a, b), (b, c)]},
             {"tiers": [[a, c], [b]], "leaves": [e]}]
    return kinds[seed % len(kinds)]


def fitted(seed, **options):
    "A search with statements."
    settings = {"knowledge": statements(seed), "identifiers": "keep"} | options
    return ds.DiscreteScore(**settings).fit(frame_of(seed))


def unordered(marks):
    "Marks of edges; an open edge is a pair without a direction."
    return {(frozenset(edge) if mark == "open" else edge): mark for edge, mark in marks.items()}


# One reader per view: each gives (tail, head) -> mark, or a pair without direction -> "open".

def of_frame(model):
    edges = model.edges_
    return unordered(dict(zip(zip(edges["from"], edges["to"]), edges["mark"])))


def of_rows(rows, arrow, line):
    "Rows of texts: tail, sign, head, mark."
    found = {}
    for tail, sign, head, mark, *_ in rows:
        assert sign == (line if mark == "open" else arrow), (tail, sign, head, mark)
        found[tail, head] = mark
    return unordered(found)


def drawn(draw, names):
    "What is given to the function that draws an edge, and with which edges."
    said, lines, kinds, edge = [], [], figures.edge_kinds, figures._draw_edge

    def record(*args, **options):
        found = kinds(*args, **options)
        said.extend(found)
        return found

    def keep(ax, line, kind, *, tip, **options):
        lines.append((kind, tip))
        return edge(ax, line, kind, tip=tip, **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(figures, "edge_kinds", record)
        patched.setattr(figures, "_draw_edge", keep)
        plt.close(draw().figure)
    assert [kind for kind, _ in lines] == [kind for *_, kind in said]
    assert all(tip == (kind != "open") for kind, tip in lines)
    return unordered({(names[i], names[j]): kind for i, j, kind in said})


def of_picture(model):
    graph = model.dag()
    return drawn(graph.plot, graph.names)


def of_dot(model):
    found, pattern = {}, r'"(\w+)" -> "(\w+)" \[mark="(\w+)", ([^\]]*)\]'
    for tail, head, mark, look in re.findall(pattern, model.dag().to_dot()):
        assert ("dir=none" in look) == (mark == "open")
        found[tail, head] = mark
    return unordered(found)


def of_json(model):
    content = json.loads(json.dumps(model.dag().to_dict()))
    return unordered({(row["from"], row["to"]): row["mark"] for row in content["edges"]})


def of_result_file(model):
    again = result.read_result(json.loads(json.dumps(model.to_dict())))
    return unordered(again.dag().marks)


def of_networkx(model):
    edges = model.dag().to_networkx().edges(data="mark")
    return unordered({(a, b): mark for a, b, mark in edges})


def of_mixed_networkx(model):
    graph = model.dag().to_networkx(mixed=True)
    found = {}
    for a, b, mark in graph.edges(data="mark"):
        assert graph.has_edge(b, a) == (mark == "open")
        found[a, b] = mark
    return unordered(found)


def of_causallearn(model):
    "causal-learn has no marks: which edges are open, and where the others point."
    graph, found, marks = model.dag().to_causallearn(), {}, of_frame(model)
    for edge in map(str, graph.get_graph_edges()):
        tail, sign, head = edge.split()
        key = frozenset((tail, head)) if sign == "---" else (tail, head)
        assert sign in ("---", "-->")
        found[key] = "open" if sign == "---" else marks.get(key)
    return found


def of_pgmpy(model):
    edges = model.dag().to_pgmpy().edges(data="mark")
    return unordered({(a, b): mark for a, b, mark in edges})


def cells_of(page):
    "Rows of the tables of a page."
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.S)
    return [[html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.S)]
            for row in rows]


def section(page, heading):
    "A section of a report."
    return page.split(f"<h2>{heading}</h2>")[1].split("</section>")[0]


def of_report(model, tmp_path):
    page = model.report(tmp_path / "report.html").read_text(encoding="utf-8")
    return of_rows(filter(None, cells_of(section(page, "The graph"))), "→", "–")


def typed(known):
    "Statements as options."
    argv = []
    for name, said in (known or {}).items():
        if name == "before":
            for pair in said: argv += ["--before", *pair]
        elif name == "tiers": argv += ["--tiers", ";".join(map(",".join, said))]
        elif name in ("required", "forbidden"):
            flag = "--require" if name == "required" else "--forbid"
            for edge in said: argv += [flag, "->".join(edge)]
        else: argv += [f"--{name}", ",".join(said)]
    return argv


def of_shell(model, tmp_path, *more):
    data = tmp_path / "data.csv"
    model.result_.table.frame().to_csv(data, index=False)
    code, out, _ = in_shell("dag", data, "--keep-identifiers", *typed(model.knowledge), *more)
    assert code == 0
    rows = [line.split() for line in out.splitlines() if {"->", "--"} & set(line.split())]
    return of_rows(rows, "->", "--")


def app_for(model):
    "An explorer that has made this search."
    app = ds.Explorer("earthquake", rows=50)
    app._drawn = set()
    app.search = SimpleNamespace(model=model, second=None, table=model.result_.table,
                                 running=False, source=None)
    return app


def of_explorer(model):
    app = app_for(model)
    app._show_graph()
    return of_rows(filter(None, cells_of(app.learner_note.value)), "→", "–")


def of_explorer_picture(model):
    search = SimpleNamespace(model=model, table=model.result_.table)
    steps = len(model.result_.steps)
    return drawn(lambda: explorer.draw_graph(search, steps), model.result_.names)


VIEWS = (of_picture, of_dot, of_json, of_result_file, of_networkx, of_mixed_networkx,
         of_causallearn, of_pgmpy, of_explorer_picture)


def test_there_is_one_list_of_marks():
    assert set(dag.MARKS) <= set(figures.EDGE_STYLES)
    assert set(dag.MARKS) == set(words._MEANT)


@given(seeds)
@FEW
def test_the_order_extends_the_graph_and_what_is_held_is_in_both(seed):
    model = fitted(seed)
    found, names = model.result_, model.result_.names
    forward = full_dag([names.index(name) for name in model.order_])
    assert is_dag(model.graph_) and not (model.graph_ & ~forward).any()
    assert not (found.directed() & ~forward).any()
    edges = model.edges_
    held = edges[edges["mark"].isin(["known", "compelled"])]
    assert not (result.arrows(held, names) & ~found.held()).any()
    assert not (model.graph_ & found.stated().T).any()
    both = model.pdag_ & model.pdag_.T
    assert both.sum() == 2 * (edges["mark"] == "open").sum()


def test_what_clashes_with_a_statement_is_not_held():
    "The guide's network may contradict a statement along a path; the statement stands."
    model = fitted(113)
    found = model.result_
    assert is_dag(found.held()) and found.held()[found.stated()].all()
    assert is_dag(model.dag("ges").dag | found.held()) and words.compelled(found).headline


@given(seeds)
@FEW
def test_arrows_that_the_guide_compels_are_in_the_graph(seed):
    model = fitted(seed)
    missing = [pair for pair in model.guide_.compelled() if not model.graph_[pair]]
    assert not missing


@given(seeds)
@FEW
def test_no_view_differs_from_another_in_any_mark(seed):
    model = fitted(seed)
    marks = of_frame(model)
    for view in VIEWS: assert view(model) == marks, view.__name__
    assert (model.dag().pdag() == model.pdag_).all()


@pytest.mark.parametrize("seed", [3, 11, 14])
def test_report_shell_and_explorer_agree_too(seed, tmp_path):
    model = fitted(seed)
    marks = of_frame(model)
    assert of_report(model, tmp_path) == marks
    assert of_shell(model, tmp_path) == marks
    assert of_explorer(model) == marks


def test_a_truth_does_not_bring_an_arrowhead_back():
    model = fitted(11)
    seen, edge = [], figures._draw_edge

    def keep(ax, line, kind, *, tip, **options):
        seen.append(tip)
        return edge(ax, line, kind, tip=tip, **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(figures, "_draw_edge", keep)
        plt.close(model.dag().plot(truth=model.graph_).figure)
    assert seen.count(False) == (model.edges_["mark"] == "open").sum()


WAYS = ((None, None), ("ges", None), ("ges", "prune"), (None, "parents"), ("pc", "prune"))


@given(seeds)
@SOME
def test_every_graph_obeys_and_none_turns_what_the_result_directs(seed):
    model = fitted(seed)
    found = model.result_
    for base, strategy in WAYS:
        graph = model.dag(base, strategy)
        together = graph.dag | found.directed()
        assert is_dag(together), (base, strategy)
        assert graph.marks == found.marks_of(graph.dag)
        for (a, b), mark in graph.marks.items():
            i, j = found.names.index(a), found.names.index(b)
            assert (mark == "known") == bool(found.known()[i, j])
    for k in range(len(found.steps) + 1):
        assert is_dag(explorer.graph_so_far(model, k) | found.stated())


@given(seeds)
@SOME
def test_searches_without_a_guide_and_stopped_ones_obey_too(seed):
    free = fitted(seed, guide=None)
    graph = free.dag()
    assert graph.strategy == "parents" and set(graph.marks.values()) <= {"known", "open"}
    assert is_dag(graph.dag | free.result_.stated())
    table = free.result_.table
    stopped = ds.DiscreteScore(knowledge=statements(seed)).fit(table, max_steps=2)
    for model in (free, stopped):
        for k in range(len(model.result_.steps) + 1):
            assert is_dag(explorer.graph_so_far(model, k, table) | model.result_.stated())


@pytest.mark.parametrize("more", [(), ("--base", "ges"), ("--strategy", "parents"),
                                  ("--base", "pc", "--strategy", "prune")])
def test_the_shell_obeys_in_every_way(tmp_path, more):
    model = fitted(6)
    last, = model.knowledge["leaves"]
    marks = of_shell(model, tmp_path, *more)
    assert not any(isinstance(edge, tuple) and edge[0] == last for edge in marks)
    assert all(mark == "known" for edge, mark in marks.items() if last in edge)


def test_an_order_that_contradicts_what_is_stated_is_refused():
    frame = frame_of(1)
    with pytest.raises(ValueError, match="which `knowledge` forbids"):
        ds.dag_from_order(frame, list("abcde"), knowledge={"leaves": ["a"]})


@given(seeds, st.integers(3, 6))
@settings(max_examples=60)
def test_turned_edges_obey_and_the_others_stay(seed, d):
    rng = np.random.default_rng(seed)
    place, other = rng.permutation(d), rng.permutation(d)
    graph = full_dag(place) & (rng.random((d, d)) < .5)
    before = reachable(full_dag(other) & (rng.random((d, d)) < .3))
    found = dag.obey(graph, before, other)
    assert is_dag(found | before) and ((found | found.T) == (graph | graph.T)).all()
    if is_dag(graph | before): assert (found == graph).all()


@given(seeds)
@SOME
def test_what_is_stated_is_never_credited_to_the_data(seed):
    model = fitted(seed)
    found, known = model.result_, model.result_.stated()
    pairs = {(found.names[i], found.names[j]) for i, j in np.argwhere(known)}
    said = words.compelled(found)
    assert not set(said.items) & pairs
    assert said.headline.slots["pairs"] == (found.held() & ~known).sum()
    assert said.headline.slots["total"] == words.count_pairs(found.names) - known.sum()
    assert bool(words.stated(found)) == known.any()
    if known.any(): assert words.stated(found).headline.slots["pairs"] == known.sum()
    for tail, _, head, mark, why, _ in words.who_decided(found).rows.cells:
        assert ((tail, head) in pairs) == (mark == "known") == (why == "you stated it")
    assert found.arrows_compelled() == said.items or not said.items
    if not said.items: assert words.vote(found).headline.startswith("Without a compelled arrow")


@pytest.mark.parametrize("seed", [1, 3, 14])
def test_statements_are_held_against_the_data(seed):
    model = fitted(seed)
    known = model.diagnose(n_samples=300).knowledge
    free = ds.DiscreteScore(identifiers="keep").fit(frame_of(seed))
    assert known.pairs == model.result_.stated().sum() and known.cost >= 0
    best, least = free.guide_.ordering_.value, model.guide_.ordering_.value
    most = best - model.guide_.evidence(model.order_)
    assert max(0, best - least) - 1e-6 <= known.cost <= max(0, most) + 1e-6
    assert free.diagnose(n_samples=300).knowledge is None
    said = " ".join(model.diagnose(n_samples=300).reasons())
    assert f"What you stated ({known.pairs} pairs) costs {known.cost:.1f} nats" in said


def test_no_limit_of_parents_is_assumed():
    "Five causes of one effect: fine, unless somebody says that no column has so many."
    rng = np.random.default_rng(0)
    causes = rng.integers(0, 2, (6000, 5))
    effect = np.where(rng.random(6000) < .1, 1 - causes.sum(1) % 2, causes.sum(1) % 2)
    frame = pd.DataFrame(np.column_stack([causes, effect]), columns=list(NAMES))
    found, limited = ds.diagnose(frame, NAMES), ds.diagnose(frame, NAMES, max_in_degree=3)
    assert found.p_value is None and not found.above and found.max_in_degree is None
    assert not any("more than" in reason and "parents" in reason for reason in found.reasons())
    assert limited.p_value is not None and any("more than 3" in r for r in limited.reasons())
    assert json.dumps(found.to_dict()) and json.dumps(limited.to_dict())


def test_implied_independences_are_tested():
    frame = frame_of(2, rows=4000)
    model = ds.DiscreteScore(identifiers="keep").fit(frame)
    found = model.diagnose().independences
    assert found.tested + found.untestable == 10 - model.graph_.sum()
    empty = ds.diagnosis.rejected_independences(np.zeros((5, 5), bool), list("abcde"), frame)
    assert len(empty.rejected) > len(found.rejected)


def weighted_and_binned():
    "Counts of rows with a number: 97 of 100 say yes below 40, 3 of 100 above."
    rows = [(age, vote, 97 if (age < 40) == (vote == "yes") else 3)
            for age in (20.5, 30.5, 50.5, 60.5) for vote in ("yes", "no")]
    return pd.DataFrame(rows, columns=["age", "vote", "n"])


def test_weights_and_bins_reach_the_model_of_pgmpy():
    rows = weighted_and_binned()
    model = ds.DiscreteScore(bins={"age": [0, 40, 100]}).fit(rows, sample_weight="n")
    table = model.result_.table
    for graph in (model.dag(), model.dag("ges"), model.dag(strategy="parents")):
        net = graph.to_pgmpy()
        assert net.check_model() and len(graph.edges) == 1
        tail, head = graph.edges[0]
        cpd = net.get_cpds(head)
        for name in table.names:
            labels = table.schema.states[table.names.index(name)]
            assert cpd.state_names[name] == list(labels)
        shares = np.sort(cpd.get_values(), axis=0)
        assert shares[1] == pytest.approx([.97, .97], abs=.01)
    with pytest.raises(ValueError, match="Leave `data` out"):
        model.dag().to_pgmpy(rows[["age", "vote"]].astype(str))


def test_a_network_without_rows_asks_for_them(tmp_path):
    model = fitted(1)
    model.dag().save(tmp_path / "graph.json")
    again = ds.load_dag(tmp_path / "graph.json")
    assert again.marks == model.dag().marks
    with pytest.raises(ValueError, match="pass the table as `data`"): again.to_pgmpy()
    assert again.to_pgmpy(model.result_.table).check_model()


def test_the_total_order_comes_last_and_never_in_bold(tmp_path):
    model = fitted(3)
    chain = " → ".join(model.order_)
    text = model._repr_markdown_()
    assert chain in text and not any(chain in bold for bold in re.findall(r"\*\*(.*?)\*\*", text))
    assert text.index("compel") < text.index("The graph has") < text.index(chain)
    page = model.report(tmp_path / "r.html").read_text(encoding="utf-8")
    heads = re.findall(r"<h2>(.*?)</h2>", page)
    assert heads[:3] == ["What to do next", "What was stated", "What the data compel"]
    assert heads.index("The graph") < heads.index("One total order of many")
    assert chain in page and not re.search(rf'class="key">[^<]*{chain}', page)
    app = app_for(model)
    app._show_order()
    shown = app.headline.value
    assert shown.index("compel") < shown.index(chain) and f'class="key">{chain}' not in shown
    assert explorer._TABS.index("Graph") < explorer._TABS.index("Order")
    data = tmp_path / "data.csv"
    model.result_.table.frame().to_csv(data, index=False)
    code, out, _ = in_shell("order", data, "--keep-identifiers", *typed(model.knowledge))
    assert code == 0 and out.startswith("You stated")
    assert out.index("compel") < out.index("place  column")


def test_shares_of_half_samples_are_called_so(tmp_path):
    model = fitted(11)
    graph = model.dag(bootstrap=3)
    said = words.graph_edges(graph)
    assert said.rows.head[-1] == "share of half-samples"
    assert any("takes no mark away" in text for text in said.details)
    assert graph.marks == model.dag().marks
    assert not (graph.confidence[model.result_.stated().T] > 0).any()
    few = model.bootstrap(n=3)
    tossed = words.toss_ups(few, model.result_)
    assert tossed.rows.head[-2:] == ("share of half-samples", "all rows")


def edge_statements(seed, d=5):
    "Edges that somebody could require or forbid, often against the data."
    rng = np.random.default_rng(seed)
    a, b, c, e = rng.permutation(list(NAMES[:d]))[:4].tolist()
    kinds = [{"required": [(a, b)]}, {"forbidden": [(a, b), (b, c), (c, e)]},
             {"forbidden": [(a, b), (b, a)], "required": [(c, a)]},
             {"required": [(a, b), (b, c)], "forbidden": [(a, c), (e, a)], "roots": [a]},
             {"forbidden": [(x, y) for x in (a, b) for y in (c, e)], "before": [(a, c)]}]
    return kinds[seed % len(kinds)]


def obeys(marks, known):
    "Do these edges hold what is required, and nothing that is forbidden?"
    there = all(marks.get(tuple(edge)) == "known" for edge in known.get("required", ()))
    absent = [edge for edge in known.get("forbidden", ())
              if tuple(edge) in marks or frozenset(edge) in marks]
    return there and not absent


@given(seeds, st.sampled_from(["evidence", "halves"]))
@FEW
def test_required_and_forbidden_edges_hold_in_every_view(seed, guide):
    known = edge_statements(seed)
    model = fitted(seed, knowledge=known, guide=guide)
    marks, names = of_frame(model), model.result_.names
    assert obeys(marks, known)
    for view in VIEWS: assert view(model) == marks, view.__name__
    told = model.result_.knowledge()
    assert model.graph_[told.required].all() and not (model.pdag_ & told.forbidden).any()
    assert not (told.before & full_dag(model.order_, names).T).any()
    assert not (model.result_.directed() & told.required.T).any()
    assert is_dag(model.graph_ | model.result_.directed())
    for tail, _, head, mark, why, _ in words.who_decided(model.result_).rows.cells:
        assert (mark == "known") == (why == "you stated it")
    assert words.stated(model.result_) is not None


@given(seeds)
@SOME
def test_required_and_forbidden_edges_hold_in_every_graph(seed):
    known = edge_statements(seed)
    model = fitted(seed, knowledge=known)
    for base, strategy in WAYS:
        graph = model.dag(base, strategy)
        assert obeys(unordered(graph.marks), known), (base, strategy)
        assert not (graph.pdag() & model.result_.knowledge().forbidden).any()
    free = fitted(seed, knowledge=known, guide=None)
    assert obeys(unordered(free.dag().marks), known)
    half = model.dag(bootstrap=2)
    told = model.result_.knowledge()
    assert (half.confidence[told.required] == 1).all()
    assert (half.confidence[told.forbidden] == 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_shell_and_a_file_know_the_edges(seed, tmp_path):
    known = edge_statements(seed)
    model = fitted(seed, knowledge=known)
    assert of_shell(model, tmp_path) == of_frame(model)
    assert obeys(of_shell(model, tmp_path, "--base", "ges"), known)
    model.save(tmp_path / "result.json")
    again = ds.load_order(tmp_path / "result.json")
    assert again.result_ == model.result_ and obeys(of_frame(again), known)
    assert obeys(unordered(again.dag("ges").marks), known)


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_edges_are_held_against_the_data(seed):
    known = edge_statements(seed)
    model = fitted(seed, knowledge=known)
    found = model.diagnose(n_samples=300).knowledge
    assert found.required == len(known.get("required", ())) and found.cost >= 0
    assert found.forbidden == len(known.get("forbidden", ()))
    kind = "required" if found.required else "forbidden"
    assert f"{kind} arrow" in " ".join(model.diagnose(n_samples=300).reasons())


def test_an_edge_against_the_data_costs_evidence():
    frame = frame_of(3, rows=3000)
    free = ds.DiscreteScore(identifiers="keep").fit(frame)
    row = free.edges_.loc[free.edges_["evidence"].abs().idxmax()]
    edge = row["from"], row["to"]
    gone = {"forbidden": [edge, edge[::-1]]}
    told = ds.DiscreteScore(identifiers="keep", knowledge=gone).fit(frame)
    assert told.diagnose(n_samples=300).knowledge.contradicted
    kept = {"required": [(a, b) for a, b in zip(free.edges_["from"], free.edges_["to"])]}
    same = ds.DiscreteScore(identifiers="keep", knowledge=kept).fit(frame)
    assert (same.graph_ == free.graph_).all() and set(same.edges_["mark"]) == {"known"}
    assert same.diagnose(n_samples=300).knowledge.cost == pytest.approx(0, abs=1.)


@pytest.mark.parametrize("known, said", [
    ({"required": [("a", "b")], "forbidden": [("a", "b")]}, "both hold a → b"),
    ({"required": [("a", "b"), ("b", "a")]}, "contradicts itself: (a before b|b before a)"),
    ({"required": [("a", "b")], "tiers": [["b"], ["a"]]}, "contradicts itself"),
    ({"required": [("a", "a")]}, "contradicts itself: a before a"),
    ({"forbidden": [("a", "zz")]}, "does not have: zz"),
    ({"required": ["ab"]}, r"`required` must hold pairs \(from, to\)"),
    ({"forbidden": "ab"}, "`forbidden` must be a list")])
def test_edges_that_contradict_each_other_are_refused(known, said):
    with pytest.raises(ValueError, match=said):
        ds.DiscreteScore(knowledge=known).fit(frame_of(1))


def test_a_given_class_and_edges_that_it_excludes():
    frame, chain = frame_of(1)[["a", "b", "c"]], np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    options = dict(guide=chain, identifiers="keep")
    turned = ds.DiscreteScore(knowledge={"forbidden": [("a", "b")]}, **options).fit(frame)
    assert of_frame(turned)[("b", "a")] == "known"
    for known, said in (({"required": [("a", "c")]}, "requires arrows that the guide's class"),
                        ({"forbidden": [("a", "b"), ("b", "a")]}, "contradicts these arrows")):
        with pytest.raises(ValueError, match=said):
            ds.DiscreteScore(knowledge=known, **options).fit(frame)

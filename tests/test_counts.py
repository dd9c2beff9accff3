"""Contingency tables against plain loops, and that arguments are left alone."""
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tables import make

from discrete_score.counts import Counts, as_mask, members, name_hashes

quick = settings(max_examples=25, deadline=None)


def weights_of(kind, n, seed):
    rng = np.random.default_rng(seed)
    return {"none": None, "whole": rng.integers(1, 4, n), "parts": rng.random(n) + .1}[kind]


def by_loops(codes, columns, weights):
    "Weight of every configuration of `columns` that occurs."
    found = Counter()
    for row, w in zip(codes[:, list(columns)].tolist(),
                      np.ones(len(codes)) if weights is None else weights):
        found[tuple(row)] += w
    return found


@quick
@given(st.integers(0, 10**6), st.sampled_from(["none", "whole", "parts"]), st.integers(0, 8))
def test_every_way_of_counting_gives_the_same_table(seed, kind, n_parents):
    codes, n_states = make(seed, d=9, n=90)
    weights = weights_of(kind, 90, seed)
    counts, parents = Counts(codes, n_states, weights), tuple(range(1, 1 + n_parents))
    cells = by_loops(codes, (0, *parents), weights)
    family = counts.family(0, parents)
    assert np.sort(family[family > 0]) == pytest.approx(np.sort(list(cells.values())))
    assert family.sum() == pytest.approx(counts.total)
    different = counts.distinct((0, *parents))
    shown = codes[different.row][:, [0, *parents]].tolist()
    assert [cells[tuple(row)] for row in shown] == pytest.approx(different.weight)
    assert (codes[different.row][different.config][:, [0, *parents]] == codes[:,
                                                                              [0, *parents]]).all()
    table = counts.lookup(0, parents)
    found = table.counts[table.locate(codes), codes[:, 0]]
    assert found == pytest.approx([cells[tuple(row)] for row in codes[:, [0, *parents]].tolist()])


@quick
@given(st.integers(0, 10**6), st.sampled_from(["none", "whole", "parts"]))
def test_extensions_are_families_with_one_more_parent(seed, kind):
    codes, n_states = make(seed, d=8, n=70, top=7)
    counts = Counts(codes, n_states, weights_of(kind, 70, seed))
    for parents in ((), (1,), (1, 2, 3)):
        seen = []
        for group, stack in counts.extensions(0, parents, np.arange(4, 8)):
            for c, found in zip(group.tolist(), stack):
                expected = counts.family(0, (c, *parents))
                assert np.sort(found[found > 0]) == pytest.approx(np.sort(expected[expected > 0]))
                seen.append(c)
        assert sorted(seen) == [4, 5, 6, 7]


def test_counting_keeps_its_arguments():
    codes, n_states = make(0)
    copy, weights = codes.copy(), np.ones(len(codes))
    counts = Counts(codes, n_states, weights)
    list(counts.extensions(0, (1,), np.arange(2, 6)))
    assert counts.family(0).shape == (n_states[0], 1)
    assert (codes == copy).all() and (weights == 1).all()


def test_too_many_configurations_to_look_up_are_refused():
    codes = np.zeros((3, 64), int)
    codes[1] = 1
    with pytest.raises(ValueError, match="Use fewer parents"):
        Counts(codes, np.full(64, 2)).lookup(0, range(1, 64))


@quick
@given(st.sets(st.integers(0, 200)))
def test_a_mask_holds_its_members(columns):
    assert members(as_mask(columns)) == sorted(columns)


def test_hashes_go_by_name_and_seed():
    names = [f"x{k}" for k in range(50)]
    assert len({*name_hashes(names, 0).tolist(), *name_hashes(names, 1).tolist()}) == 100
    assert (name_hashes(names[::-1], 0)[::-1] == name_hashes(names, 0)).all()

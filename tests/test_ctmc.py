"Forward processes: the closed form for any number of states, the reverse identity on any joint."
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.linalg import expm

from discrete_score.ctmc import Process, Schedule, noised_joint, rate_matrix, reverse_rates
from discrete_score.ctmc import singletons

kinds = st.sampled_from(["uniform", "absorbing"])
shapes = st.sampled_from(["constant", "linear", "log_linear"])
schedules = st.builds(Schedule, shapes, st.floats(.1, 8.))


@settings(max_examples=60, deadline=None)
@given(kinds, schedules, st.integers(2, 9), st.floats(0, 1), st.floats(.1, 3.))
def test_closed_form_is_the_matrix_exponential(kind, schedule, n, t, rate):
    exact = expm(rate_matrix(n, kind, rate) * schedule.integrated(t))[:n]
    found = Process(kind, schedule, rate).transition(t, n)
    assert np.abs(found - exact).max() < 1e-10
    assert np.abs(found.sum(1) - 1).max() < 1e-12


@settings(max_examples=30, deadline=None)
@given(schedules, st.floats(0, 1), st.floats(0, 1))
def test_schedules_grow_from_nothing(schedule, s, t):
    assert schedule.integrated(0.) == 0
    assert schedule.integrated(min(s, t)) <= schedule.integrated(max(s, t)) + 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_reverse_rates_are_ratios_of_the_joint(seed):
    "The definition: forward rate back, times q(y)/q(x)."
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 5, size=3))
    process, t = Process(), .1
    q = noised_joint(rng.dirichlet(np.ones(np.prod(shape))).reshape(shape), process, t)
    for j, p in enumerate(singletons(q)):
        Q, moved = rate_matrix(shape[j]) * process.schedule.rate(t), np.moveaxis(q, j, -1)
        ratio = Q.T * moved[..., None, :] / moved[..., :, None] * (1 - np.eye(shape[j]))
        assert np.allclose(reverse_rates(p, j, Q), ratio)


def test_noise_is_reproducible_and_leaves_its_argument_alone():
    codes = np.zeros((50, 3), int)
    a, b = (Process().noise(codes, [3, 4, 5], .3, seed=7) for _ in range(2))
    assert (a == b).all() and not codes.any() and (a < [3, 4, 5]).all() and a.any()


def test_import_does_not_load_torch():
    code = "import sys, discrete_score.ctmc; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr

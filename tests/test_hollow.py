"The networks: hollow whatever their size, blind to absent states, no trace in torch's seeds."
import pytest
import torch
from hypothesis import given, settings, strategies as st

from discrete_score.hollow import EnergyMLP, HollowTransformer

torch.set_num_threads(1)
sizes = st.lists(st.integers(2, 6), min_size=1, max_size=7)


def generator(seed): return torch.Generator().manual_seed(seed)


def rows(n_states, n, seed):
    g = generator(seed)
    return torch.stack([torch.randint(k + 1, (n,), generator=g) for k in n_states], 1)


@settings(max_examples=25, deadline=None)
@given(sizes, st.sampled_from([HollowTransformer, EnergyMLP]), st.integers(0, 3), st.booleans(),
       st.integers(0, 100))
def test_own_cell_never_matters(n_states, network, layers, time, seed):
    model = network(n_states, width=16, layers=layers, time=time, seed=seed).eval()
    x, t = rows(n_states, 8, seed), torch.linspace(0, 1, 8) if time else None
    p = model(x, t).softmax(-1)
    for j, n in enumerate(n_states):
        y = x.clone()
        y[:, j] = torch.randint(n + 1, (8,), generator=generator(seed + 1))
        assert (model(y, t).softmax(-1)[:, j] - p[:, j]).abs().max() < 1e-5
        assert (p[:, j, n:] == 0).all()
        assert torch.allclose(p[:, j].sum(-1), torch.ones(8), atol=1e-5)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(2, 5), min_size=2, max_size=6), st.integers(0, 2), st.integers(0, 100))
def test_own_embedding_has_no_gradient_and_all_others_do(n_states, layers, seed):
    model = HollowTransformer(n_states, width=16, layers=layers, seed=seed)
    x, others = rows(n_states, 8, seed), ~torch.eye(len(n_states), dtype=bool)
    for j in range(len(n_states)):
        e = model.tokens(x).detach().requires_grad_()
        logits = model.from_embedding(e)[:, j, :n_states[j]]
        weights = torch.randn(logits.shape, generator=generator(seed))
        found = torch.autograd.grad((logits * weights).sum(), e)[0].abs().sum((0, 2))
        assert found[j] == 0 and (found[others[j]] > 0).all()


@pytest.mark.parametrize("network", [HollowTransformer, EnergyMLP])
def test_every_weight_learns_and_absent_states_give_no_nan(network):
    model, x = network([2, 5, 3], time=True), rows([2, 5, 3], 32, 0)
    logp = model(x, torch.rand(32, generator=generator(0))).log_softmax(-1)
    (-logp[..., 0].mean()).backward()
    assert all(w.grad is not None and torch.isfinite(w.grad).all() for w in model.parameters())


@pytest.mark.parametrize("network", [HollowTransformer, EnergyMLP])
def test_random_state_of_torch_is_left_alone(network):
    before = torch.random.get_rng_state()
    a, b, c = network([3, 4], seed=1), network([3, 4], seed=1), network([3, 4], seed=2)
    assert torch.equal(before, torch.random.get_rng_state())
    x = rows([3, 4], 4, 0)
    assert torch.equal(a(x), b(x)) and not torch.equal(a(x), c(x))

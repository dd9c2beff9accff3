"""Tables and graphs that several tests draw."""
import numpy as np


def make(seed, d=6, n=120, top=4):
    "A table with dependences: each column copies an earlier one now and then."
    rng = np.random.default_rng(seed)
    n_states = rng.integers(2, top + 1, d)
    codes = np.stack([rng.integers(0, m, n) for m in n_states], axis=1)
    for j in range(1, d):
        i, copy = rng.integers(j), rng.random(n) < rng.uniform(0, .9)
        codes[copy, j] = codes[copy, i] % n_states[j]
    return codes[:, (p := rng.permutation(d))], n_states[p]


def random_dag(rng, d, p=.4):
    order = rng.permutation(d)
    dag = np.zeros((d, d), bool)
    dag[np.ix_(order, order)] = np.triu(rng.random((d, d)) < p, 1)
    return dag


def is_acyclic(dag):
    left = dag.copy()
    for _ in range(len(dag)):
        sinks = ~left.any(1)
        left[:, sinks] = False
    return not left.any()

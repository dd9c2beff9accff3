"""Cost as ratios of one run: GES and the order search here against causal-learn's and (where installed) pyAgrum's, and the guided order search against the unguided one.

    python nbs/studies/search.py          # Alarm and Sachs; causal-learn's GES takes about a minute with 1,000 rows

Writes results/search.csv. `times`: CPU time of `other` over that of `ours`; `nats`: how much more the network of `ours` scores in our engine.
"""
import importlib.util, time
from pathlib import Path

import pandas as pd

import discrete_score as ds
from discrete_score.guide import EvidenceGuide, guided_order
from discrete_score.search import best_network, ges

OURS = {"ges": ges, "best_network": best_network}


def timed(run):
    start = time.process_time()
    return run(), time.process_time() - start


def compared(name, n, score, others):
    "One row per search of ours and of others on the same table."
    table = ds.as_table(ds.load_network(name).sample(n, seed=500), unused="drop")
    engine = ds.families_of(table, score)
    ours = {k: timed(lambda: search(ds.families_of(table, score))) for k, search in OURS.items()}
    for other, run in others.items():
        dag, long = timed(lambda: run(table))
        for k, (found, short) in ours.items():
            yield {"network": name, "n": n, "score": score, "other": other, "ours": k, "times": round(long/short, 2), "nats": round(found.score - engine.total(dag), 1)}


def guided_cost():
    "The guided order search against the unguided one, best of three."
    table = ds.as_table(ds.load_network("alarm").sample(10_000, seed=500), unused="drop")
    unguided = min(timed(lambda: ds.causal_order(ds.BlanketScore().fit(table), table.names, "entropy"))[1] for _ in range(3))
    guided = min(timed(lambda: guided_order(ds.BlanketScore().fit(table), table.names, "entropy", EvidenceGuide().fit(table)))[1] for _ in range(3))
    return {"network": "alarm", "n": 10_000, "score": "", "other": "guided order", "ours": "unguided order", "times": round(guided/unguided, 2)}


def causallearn(search):
    return lambda table: ds.consistent_extension(ds.from_causallearn(search(table.codes.astype(int), score_func="local_score_BDeu")))


if __name__ == "__main__":
    from causallearn.search.PermutationBased.BOSS import boss
    from causallearn.search.ScoreBased.GES import ges as theirs
    rows = [guided_cost()]
    if importlib.util.find_spec("pyagrum"): rows += compared("alarm", 10_000, "bdeu:10", {f"pyAgrum {way}": lambda table, way=way: ds.learn(table, way).dag() for way in ("ghc", "miic")})
    their_ges, their_boss = causallearn(lambda *a, **k: theirs(*a, **k)["G"]), causallearn(lambda *a, **k: boss(*a, verbose=False, **k))
    rows += compared("sachs", 1000, "bdeu:1", {"causal-learn GES": their_ges, "causal-learn BOSS": their_boss})
    rows += compared("alarm", 1000, "bdeu:1", {"causal-learn GES": their_ges})  # its BOSS takes more than seven minutes there
    frame = pd.DataFrame(rows)
    frame.to_csv(Path(__file__).parent / "results" / "search.csv", index=False)
    print(frame.to_string(index=False))

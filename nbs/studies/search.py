"""Cost as ratios of one run: GES and the order search here against causal-learn's and (where installed) pyAgrum's, and the guided order search against the unguided one.

    python nbs/studies/search.py          # Alarm and Sachs; causal-learn's GES takes about a minute with 1,000 rows
    python nbs/studies/search.py large    # only causal-learn's GES on Alarm with 10,000 rows, for an hour of CPU time at most

Writes results/search.csv. `times`: CPU time of `other` over that of `ours`; `nats`: how much more the network of `ours` scores in our engine.
`note` says so if `other` was stopped at its limit; then `times` is a lower bound and `nats` is empty.
"""
import importlib.util, signal, sys, time
from pathlib import Path

import pandas as pd

import discrete_score as ds
from discrete_score.guide import EvidenceGuide, guided_order
from discrete_score.search import best_network, ges

OURS = {"ges": ges, "best_network": best_network}


def timed(run):
    start = time.process_time()
    return run(), time.process_time() - start


def limited(run, seconds):
    "The result of `run`, or None if it takes more than so many seconds of CPU time."
    def stop(*_): raise TimeoutError
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try: return run()
    except TimeoutError: return None
    finally: signal.setitimer(signal.ITIMER_PROF, 0)


def compared(name, n, score, others, limit=3600):
    "One row per search of ours and of others on the same table."
    table = ds.as_table(ds.load_network(name).sample(n, seed=500), unused="drop")
    engine = ds.families_of(table, score)
    ours = {k: timed(lambda: search(ds.families_of(table, score))) for k, search in OURS.items()}
    for other, run in others.items():
        dag, long = timed(lambda: limited(lambda: run(table), limit))
        for k, (found, short) in ours.items():
            yield {"network": name, "n": n, "score": score, "other": other, "ours": k, "times": round(long/short, 2), "nats": None if dag is None else round(found.score - engine.total(dag), 1),
                   "note": "" if dag is not None else f"not finished after {limit} s"}


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
    path, their_ges = Path(__file__).parent / "results" / "search.csv", causallearn(lambda *a, **k: theirs(*a, **k)["G"])
    large = list(compared("alarm", 10_000, "bdeu:1", {"causal-learn GES": their_ges}))
    if sys.argv[1:] == ["large"]:
        frame = pd.concat([pd.read_csv(path), pd.DataFrame(large)]).drop_duplicates(["network", "n", "score", "other", "ours"], keep="last")
    else:
        rows = [guided_cost()]
        if importlib.util.find_spec("pyagrum"): rows += compared("alarm", 10_000, "bdeu:10", {f"pyAgrum {way}": lambda table, way=way: ds.learn(table, way).dag() for way in ("ghc", "miic")})
        their_boss = causallearn(lambda *a, **k: boss(*a, verbose=False, **k))
        rows += compared("sachs", 1000, "bdeu:1", {"causal-learn GES": their_ges, "causal-learn BOSS": their_boss})
        rows += compared("alarm", 1000, "bdeu:1", {"causal-learn GES": their_ges})  # its BOSS takes more than seven minutes there
        frame = pd.DataFrame(rows + large)
    frame.to_csv(path, index=False)
    print(frame.to_string(index=False))

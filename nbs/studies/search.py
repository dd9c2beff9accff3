"""Cost as ratios of one run: GES and the order search here against causal-learn's and (where installed) pyAgrum's, and the guided order search against the unguided one.

    python nbs/studies/search.py          # Alarm; causal-learn's GES takes about a minute with 1,000 rows
"""
import importlib.util, time

import discrete_score as ds
from discrete_score.guide import EvidenceGuide, guided_order
from discrete_score.search import best_network, ges


def timed(run):
    start = time.process_time()
    return run(), time.process_time() - start


if __name__ == "__main__":
    net = ds.load_network("alarm")
    table = ds.as_table(net.sample(10_000, seed=500), unused="drop")
    unguided = min(timed(lambda: ds.causal_order(ds.BlanketScore().fit(table), table.names, "entropy"))[1] for _ in range(3))
    guided = min(timed(lambda: guided_order(ds.BlanketScore().fit(table), table.names, "entropy", EvidenceGuide().fit(table)))[1] for _ in range(3))
    print(f"guided / unguided order search, 10,000 rows: {guided/unguided:.1f}")

    if importlib.util.find_spec("pyagrum"):
        data, engine = net.sample(10_000, seed=500), ds.families_of(table, "bdeu:10")
        best, longer = timed(lambda: best_network(ds.families_of(table, "bdeu:10")))
        mine, short = timed(lambda: ges(ds.families_of(table, "bdeu:10")))
        for way in ("ghc", "miic"):
            found, long = timed(lambda: ds.learn(data, way))
            gain = engine.total(found.dag())
            print(f"pyAgrum {way}, 10,000 rows: time / ges {long/short:.2f}, / best_network {long/longer:.2f}; ges scores {mine.score - gain:+.1f} nats, best_network {best.score - gain:+.1f}")

    from causallearn.search.PermutationBased.BOSS import boss
    from causallearn.search.ScoreBased.GES import ges as theirs
    for name in ("sachs", "alarm"):
        table = ds.as_table(ds.load_network(name).sample(1000, seed=500), unused="drop")
        codes, engine = table.codes.astype(int), ds.families_of(table, "bdeu:1")
        score = lambda found: engine.total(ds.consistent_extension(ds.from_causallearn(found)))
        ours, mine = timed(lambda: ges(ds.families_of(table, "bdeu:1")))
        best, longer = timed(lambda: best_network(ds.families_of(table, "bdeu:1")))
        found, long = timed(lambda: theirs(codes, score_func="local_score_BDeu")["G"])
        print(f"{name}, 1,000 rows: causal-learn GES / ges: time {long/mine:.0f}, ours scores {ours.score - score(found):+.1f} nats, best_network {best.score - score(found):+.1f}")
        if name == "alarm": continue  # its BOSS takes more than seven minutes there
        found, long = timed(lambda: boss(codes, score_func="local_score_BDeu", verbose=False))
        print(f"{name}, 1,000 rows: causal-learn BOSS / best_network: time {long/longer:.0f}, ours scores {best.score - score(found):+.1f} nats")

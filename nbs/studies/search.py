"""Cost of the searches, as ratios of one run.

GES and the order search here against causal-learn's and (where installed) pyAgrum's, and the guided
order search against the unguided one. `times`: CPU time of `other` over that of `ours`; `nats`: how
much more the network of `ours` scores in our engine. `note` says so if `other` was stopped at its
limit; then `times` is a lower bound and `nats` is empty. causal-learn's GES takes about a minute on
Alarm with 1,000 rows, its BOSS more than seven.
"""
import importlib.util
import signal
import time

from discrete_score.baselines import learn
from discrete_score.blanket import BlanketScore
from discrete_score.data import as_table
from discrete_score.graphs import consistent_extension, from_causallearn
from discrete_score.guide import EvidenceGuide, guided_order
from discrete_score.networks import load_network
from discrete_score.order import causal_order
from discrete_score.scores import families_of
from discrete_score.search import best_network, ges
from discrete_score.studies import Study

KEY = "network", "n", "score", "other"
LIMIT = 3600  # Seconds of CPU time
OURS = {"ges": ges, "best_network": best_network}
SETTINGS = [("alarm", 10_000, "", "guided order")]
if importlib.util.find_spec("pyagrum"):
    SETTINGS += [("alarm", 10_000, "bdeu:10", f"pyAgrum {way}") for way in ("ghc", "miic")]
SETTINGS += [("sachs", 1000, "bdeu:1", f"causal-learn {way}") for way in ("GES", "BOSS")]
SETTINGS += [("alarm", n, "bdeu:1", "causal-learn GES") for n in (1000, 10_000)]


def timed(run):
    "What a function gives, and its seconds."
    start = time.process_time()
    return run(), time.process_time() - start


def limited(run):
    "The result of `run`, or None if it takes too long."
    def stop(*_): raise TimeoutError
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try: return run()
    except TimeoutError: return None
    finally: signal.setitimer(signal.ITIMER_PROF, 0)


def searched(table, other):
    "The DAG that another package finds."
    package, way = other.split()
    if package == "pyAgrum": return learn(table, way).dag()
    from causallearn.search.PermutationBased.BOSS import boss
    from causallearn.search.ScoreBased.GES import ges as their_ges
    how, codes = {"score_func": "local_score_BDeu"}, table.codes.astype(int)
    found = boss(codes, verbose=False, **how) if way == "BOSS" else their_ges(codes, **how)["G"]
    return consistent_extension(from_causallearn(found))


def guided_cost(table):
    "The guided order search over the unguided one, best of three."
    def order(): return causal_order(BlanketScore().fit(table), table.names, "entropy")
    def guided(): return guided_order(
        BlanketScore().fit(table), table.names, "entropy", EvidenceGuide().fit(table))
    long, short = (min(timed(run)[1] for _ in range(3)) for run in (guided, order))
    return {"ours": "unguided order", "times": round(long/short, 2)}


def rows(setting):
    "One search of others, and two of ours on the same table."
    name, n, score, other = setting
    table = as_table(load_network(name).sample(n, seed=500), unused="drop")
    if other == "guided order":
        yield guided_cost(table)
        return
    ours = {k: timed(lambda: search(families_of(table, score))) for k, search in OURS.items()}
    dag, long = timed(lambda: limited(lambda: searched(table, other)))
    for name, (found, short) in ours.items():
        row = {"ours": name, "times": round(long/short, 2)}
        if dag is None: yield row | {"note": f"not finished after {LIMIT} s"}
        else: yield row | {"nats": round(found.score - families_of(table, score).total(dag), 1)}


SEARCH = Study(
    "search", SETTINGS, "what do the searches cost, beside those of others?", rows,
    key=KEY, columns=(*KEY, "ours", "times", "nats", "note"), measured=("times",),
)

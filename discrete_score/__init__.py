"""What comes before what: causal orders from tables of categories by generalized score matching."""
__version__ = "0.1.0"

import importlib as _importlib

# Public names by module. Modules load on first use, so that `import discrete_score` stays light.
_PUBLIC = {
    "data": ["Schema", "Table", "as_table", "read_table"],
    "graphs": ["check_dag", "check_order", "check_pdag", "consistent_extension", "d_top", "dag_to_cpdag", "edge_list", "from_causallearn", "from_networkx", "full_dag", "is_dag", "is_order",
               "markov_blanket", "potential_sinks", "reachable", "skeleton", "to_causallearn", "to_networkx", "to_pgmpy", "topological_order", "v_structures"],
    "networks": ["BayesNet", "TableCPT", "additive_noise_network", "load_network", "network_names", "random_dag", "random_network", "read_bif"],
    "measures": ["MEASURES", "as_measure", "examine", "majorizes", "refute", "warn_if_unproven"],
    "dirichlet": ["check_prior"],
    "families": ["Families", "families_of"],
    "regression": ["Regression", "cumulative", "multinomial"],
    "score": ["ExactScore", "ScoreEstimator", "brook", "check_conditions", "fisher_divergence", "generalized_score"],
    "blanket": ["BlanketScore"],
    "ctmc": ["Process", "Schedule"],
    "hollow": ["EnergyMLP", "HollowTransformer"],
    "diffusion": ["DiffusionScore"],
    "order": ["Bootstrap", "Knowledge", "OrderResult", "Step", "algorithm_1", "bootstrap", "causal_order"],
    "search": ["best_network", "ges"],
    "guide": ["Agreement", "ClassGuide", "EvidenceGuide", "agreement", "coin_order", "explain", "guided_order", "marginal_order", "pick_measure", "random_order"],
    "baselines": ["BASELINES", "Learned", "extension", "learn"],
    "diagnosis": ["Diagnosis", "TESTS", "algorithm_2", "choose_measure", "diagnose", "implied_dag", "order_evidence"],
    "dag": ["DagResult", "EdgeConfidence", "dag_from_order", "edge_confidence", "load_dag"],
    "discover": ["Cost", "DiscreteScore", "expected_cost", "load_order"],
    "report": ["python_code", "write_report"],
    "metrics": ["Evaluation", "F1", "evaluate", "f1", "shd", "sid"],
    "studies": ["STUDIES", "ResultFile", "Setting", "Study", "check_rows", "gains", "make_study", "read_results", "run_setting", "run_study", "spoiled_order"],
    "figures": ["plot_comparison", "order_layout", "plot_dag", "plot_elimination", "plot_in_degrees", "plot_measures", "plot_order", "plot_precedence", "plot_simplex", "plot_step", "plot_two_orders", "use_style"],
    "explorer": ["Explorer", "Search", "Source", "export_all", "graph_so_far"],
}
_MODULE_OF = {name: module for module, names in _PUBLIC.items() for name in names}
__all__ = ["__version__", *_MODULE_OF]


def __getattr__(name):
    if name in _MODULE_OF:
        value = getattr(_importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    elif name in _PUBLIC:
        value = _importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    globals()[name] = value
    return value


def __dir__(): return sorted({*globals(), *__all__, *_PUBLIC})

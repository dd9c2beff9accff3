"""What comes before what: causal orders from tables of categories by generalized score matching."""
__version__ = "0.2.0"

import importlib as _importlib
import pkgutil as _pkgutil

# Public names by module. Modules load on first use, so that `import discrete_score` stays light.
_PUBLIC = {
    "data": ["Schema", "Table", "as_table"],
    "files": ["FORMATS", "Reading", "read_table"],
    "graphs": ["d_top", "dag_to_cpdag", "topological_order"],
    "networks": ["BayesNet", "TableCPT", "load_network", "network_names", "random_network"],
    "measures": ["MEASURES", "as_measure"],
    "dirichlet": ["check_prior"],
    "scores": ["SCORES"],
    "score": ["ExactScore", "ScoreEstimator"],
    "blanket": ["BlanketScore"],
    "diffusion": ["DiffusionScore"],
    "order": ["Knowledge", "causal_order"],
    "tests": ["TESTS"],
    "guide": ["guided_order"],
    "diagnosis": ["choose_measure", "diagnose"],
    "baselines": ["BASELINES"],
    "dag": ["dag_from_order", "load_dag"],
    "result": ["Result"],
    "discover": ["DiscreteScore", "ESTIMATORS", "GUIDES", "expected_cost", "load_order"],
    "metrics": ["evaluate", "f1", "shd", "sid"],
    "figures": ["plot_dag", "plot_order", "use_style"],
    "report": ["write_report"],
    "explorer": ["Explorer"],
    "studies": ["STUDIES", "run_study"],
}
_MODULE_OF = {name: module for module, names in _PUBLIC.items() for name in names}
__all__ = ["__version__", *_MODULE_OF]


def __getattr__(name):
    if name in _MODULE_OF:
        value = getattr(_importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    elif name in _modules():
        value = _importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    globals()[name] = value
    return value


def _modules():
    "The names of all modules, whether they are loaded or not."
    return {module.name for module in _pkgutil.iter_modules(__path__) if module.name[0] != "_"}


def __dir__(): return sorted({*globals(), *__all__, *_modules()})

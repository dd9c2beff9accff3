"Build settings of the package; everything that can change is in `settings.ini`."
import ast
from configparser import ConfigParser
from pathlib import Path
from setuptools import find_packages, setup

here = Path(__file__).parent
config = ConfigParser(delimiters=["="])
config.read(here / "settings.ini", encoding="utf-8")
cfg = config["DEFAULT"]


def words(key): return cfg.get(key, "").split()


def version():
    "The version that nbdev wrote into the package, so that wheel and module never disagree."
    tree = ast.parse((here / cfg["lib_path"] / "__init__.py").read_text(encoding="utf-8"))
    return next(ast.literal_eval(node.value) for node in tree.body
                if isinstance(node, ast.Assign) and node.targets[0].id == "__version__")


parts = ("diffusion", "explorer", "cluster", "spreadsheet", "dev")
extras = {name: words(f"{name}_requirements") for name in parts}
extras["dev"] = extras["dev"] + extras["diffusion"] + extras["explorer"] + extras["cluster"]

setup(
    name=cfg["lib_name"],
    version=version(),
    description=cfg["description"],
    long_description=(here / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    author=cfg["author"],
    author_email=cfg["author_email"],
    keywords=cfg["keywords"],
    license="MIT",
    packages=find_packages(include=[cfg["lib_path"], f"{cfg['lib_path']}.*"]),
    package_data={cfg["lib_path"]: ["py.typed", "assets/*"]},
    python_requires=f">={cfg['min_python']}",
    install_requires=words("requirements"),
    extras_require=extras,
    entry_points={"console_scripts": words("console_scripts")},
    classifiers=["Development Status :: 3 - Alpha", "Intended Audience :: Science/Research",
                 "Programming Language :: Python :: 3", "Topic :: Scientific/Engineering"],
    zip_safe=False,
)

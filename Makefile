# Two commands do everything: `make demo` (the main job) and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check
JOBS ?= 2
export JUPYTER_PLATFORM_DIRS := 1

.PHONY: demo test test-all gpu-check bench export outputs docs notebooks explorer browser lock
ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)

demo: $(VENV)/.runtime  ## the main job on data that ships with the package
	$(BIN)/discrete-score demo

test: $(VENV)/.dev  ## everything that CI runs
	$(BIN)/python .ci/export.py --check
	$(BIN)/nbdev_test --n_workers $(JOBS)
	$(BIN)/python -m pytest -q tests

test-all: $(VENV)/.dev  ## make test, with the exhaustive runs and the slow cells (an hour or more)
	$(BIN)/python .ci/export.py --check
	$(BIN)/nbdev_test --n_workers $(JOBS) --flags slow
	SLOW=1 $(BIN)/python -m pytest -q tests

gpu-check: $(VENV)/.dev  ## every cell that needs a GPU, with a verdict in gpu-check.json
	$(BIN)/python .ci/gpu_check.py

SPEED := nbs/studies/results/speed.csv

bench: $(VENV)/.runtime  ## speed as ratios of one run (an hour); PART="one thread / two": only that
	$(if $(PART),sed -i '\|^$(PART)|d' $(SPEED),rm -f $(SPEED))
	OMP_NUM_THREADS=1 $(BIN)/discrete-score study nbs/studies/speed.py --full --out $(SPEED) \
		$(if $(PART),--resume --only "quantity == '$(PART)'")

export: $(VENV)/.dev  ## notebooks to modules, README from the index
	$(BIN)/python .ci/export.py
	$(BIN)/python .ci/readme.py

outputs: $(VENV)/.dev  ## run notebooks and keep their outputs: make outputs NB="nbs/00_data.ipynb"
	$(BIN)/python .ci/outputs.py $(NB)

docs: $(VENV)/.dev  ## the notebooks as a site in _docs
	$(BIN)/python .ci/docs.py

notebooks: $(VENV)/.dev  ## JupyterLab on the notebooks
	$(BIN)/jupyter lab $(ROOT) --notebook-dir nbs

explorer: $(VENV)/.dev  ## the explorer in JupyterLab: run all cells
	$(BIN)/jupyter lab $(ROOT) --notebook-dir nbs \
		--LabApp.default_url=/lab/tree/tutorials/explorer.ipynb

browser:  ## Debian's chromium for the browser tests, if it is missing and can be installed
	@.ci/browser.sh

lock:  ## write the lock files anew
	.ci/lock.sh

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: requirements.lock settings.ini setup.py | $(BIN)/python
	$(PIP) -r requirements.lock
	$(PIP) --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.runtime
	$(BIN)/python .ci/compile_kernels.py & $(PIP) -r requirements-dev.lock && wait $$!
	touch $@

# Every target sets up what it needs: a virtual environment in .venv with the pinned minimum versions.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
WORKERS ?= 2

.PHONY: demo notebooks test-wheel test-newest soak test test-slow test-x64 docs check format bench bench-smoke study fitted clean

# What x64 could change: everything that computes with JAX.
NUMERIC := tests/foundation tests/model tests/closed_form tests/montecarlo tests/estimators tests/inference \
           tests/learning tests/test_metrics.py

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

$(VENV)/.ready-bench: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[bench]'
	touch $@

demo: $(READY)            ## the ladder on built-in tasks: figures, tables and report.html in coverjax-demo/
	$(BIN)/coverjax demo --out coverjax-demo

test: $(READY)            ## the default tests: x64 off, as users have it
	$(BIN)/python -m pytest -q -n $(WORKERS) -m "not slow"

test-slow: $(READY)       ## the tests of more than a few seconds
	$(BIN)/python -m pytest -q -n $(WORKERS) -m slow

test-x64: $(READY)        ## the second lane: what computes, with x64 on
	COVERJAX_X64=1 $(BIN)/python -m pytest -q -n $(WORKERS) -m "not slow" $(NUMERIC)

docs: $(READY)            ## every example in docstrings, README and docs is run
	$(BIN)/python -m pytest -q -p no:cacheprovider --doctest-modules --doctest-glob='*.md' coverjax README.md docs

soak: $(READY)            ## a sweep killed at fifty random moments, resumed each time
	COVERJAX_SOAK=50 $(BIN)/python -m pytest -q tests/sweep/test_survival.py

check: $(READY)           ## format, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.ready-bench   ## the speed table at full size, and how cost grows, written to benchmarks/
	$(BIN)/python -m benchmarks.table --write benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks.scaling --write benchmarks/SCALING.md

study: $(READY)           ## the fits of the sequence models that are missing; hours; goes on where it was stopped
	$(BIN)/python -m benchmarks.sequence_study

fitted: $(READY)          ## the base model that comes with the package
	$(BIN)/coverjax sequences fit --task list_summation --steps 4000 --every 200 --texts 20000 --decay 0 --seed 0 --out .fitted
	$(BIN)/python -m benchmarks.ship_fitted .fitted/model.npz coverjax/sequences/fitted/list_summation.npz

bench-smoke: $(VENV)/.ready-bench
	$(BIN)/python -m benchmarks.table --smoke

notebooks: $(READY)       ## the notebooks as .ipynb with their output, in build/notebooks
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[notebooks]'
	mkdir -p build/notebooks
	for file in notebooks/*.py; do \
	  $(BIN)/jupytext --quiet --to ipynb --output build/notebooks/$$(basename $$file .py).ipynb $$file || exit 1; \
	done
	$(BIN)/jupyter nbconvert --log-level WARN --to notebook --execute --inplace build/notebooks/*.ipynb

test-wheel:               ## wheel and sdist, built and used in an empty environment
	bash tools/wheel.sh $(PYTHON)

NEWEST_PYTHON ?= python3.13
NEWEST_TESTS  ?= tests

test-newest:              ## the default tests with the newest Python and the newest of everything, unpinned
	$(NEWEST_PYTHON) -m venv build/newest
	build/newest/bin/python -m pip install --quiet --upgrade --upgrade-strategy eager --editable '.[test]'
	build/newest/bin/python -m pip list 2>/dev/null | grep -E '^(jax|jaxlib|numpy|equinox|optax|matplotlib) '
	build/newest/bin/python -m pytest -q -n $(WORKERS) -m "not slow" $(NEWEST_TESTS)

clean:
	rm -rf $(VENV) coverjax-demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks

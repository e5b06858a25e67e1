# Every target sets up what it needs: a virtual environment in .venv with the pinned minimum versions.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
WORKERS ?= 2

.PHONY: demo test test-x64 docs check format bench bench-smoke clean

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

$(VENV)/.ready-bench: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[bench]'
	touch $@

demo: $(READY)            ## a log made on the spot, estimated: tables, figures, summary in coverjax-demo/
	$(BIN)/coverjax demo --out coverjax-demo

test: $(READY)            ## the default tests: x64 off, as users have it
	$(BIN)/python -m pytest -q -n $(WORKERS)

test-x64: $(READY)        ## the second lane: x64 on, without the slow tests
	COVERJAX_X64=1 $(BIN)/python -m pytest -q -n $(WORKERS) -m "not slow"

docs: $(READY)            ## every example in docstrings, README and docs is run
	$(BIN)/python -m pytest -q -p no:cacheprovider --doctest-modules --doctest-glob='*.md' coverjax README.md docs

check: $(READY)           ## format, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.ready-bench   ## the speed table at full size, written to benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks.table --write benchmarks/RESULTS.md

bench-smoke: $(VENV)/.ready-bench
	$(BIN)/python -m benchmarks.table --smoke

clean:
	rm -rf $(VENV) coverjax-demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks

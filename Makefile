# Everything a developer or CI runs. The first target that needs it creates .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints/ci.txt

# Two workers with one thread each: more threads than cores make small matrix products slower.
SERIAL := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest
PYTEST := $(SERIAL) -n auto --maxprocesses=2

.DEFAULT_GOAL := help
.PHONY: help demo quick lint test ci docs wheel test-cluster test-neural test-browser test-oldest \
  bench calibrate reproduce fuzz audit clean

help:
	@echo "make demo          which 20 of 500 columns matter? depmax compare, as its users install it"
	@echo "make quick         ruff and few cases of the fast tests, in about a minute: while you work"
	@echo "make lint          ruff, mypy, and which package may import which"
	@echo "make test          lint, then the tests with coverage, in about six minutes on two cores"
	@echo "make ci            what CI runs after make test: the targets from docs to test-neural"
	@echo "make docs          the pages' code, and the site with its gallery, into docs/_build/html"
	@echo "make wheel         sdist and wheel, into dist; the wheel is used in an empty environment"
	@echo "make test-cluster  worker processes of a Dask cluster, some of which are killed"
	@echo "make test-browser  the report in headless Chromium, installed if it can be"
	@echo "make test-neural   install torch into .venv and test depmax.neural"
	@echo "make test-oldest   a part of the tests with the oldest supported dependencies"
	@echo "make bench         benchmarks/bench_*.py, side by side with other libraries; also"
	@echo "                   SMOKE=1 (all scripts, in seconds each), SCRIPTS='shootout recovery verdicts' (hours)"
	@echo "make calibrate     simulate what the statistical tests promise (hours on two cores)"
	@echo "make reproduce     the published tables beside ours; needs DEPMAX_DATA for most (hours)"
	@echo "make fuzz          damaged files for every reader and loader (minutes; CASES=100000 for hours)"
	@echo "make audit         known vulnerabilities of the pinned libraries; needs the network"
	@echo "make clean         remove .venv, caches and builds"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "depmax needs Python 3.11 or newer. Name one: make PYTHON=/path/to/python3.12" >&2; \
	  exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo-stamp: pyproject.toml constraints/ci.txt | $(BIN)/python
	$(PIP) -e ".[cli]"
	@touch $@

$(VENV)/.dev-stamp: pyproject.toml constraints/ci.txt | $(BIN)/python
	$(PIP) -e ".[dev]"
	@touch $@

$(VENV)/.docs-stamp: pyproject.toml constraints/ci.txt | $(BIN)/python
	$(PIP) -e ".[dev,docs]"
	@touch $@

$(VENV)/.browser-stamp: pyproject.toml constraints/ci.txt | $(BIN)/python
	$(PIP) -e ".[dev,browser]"
	@touch $@

# torch is large: only this target installs it.
$(VENV)/.neural-stamp: $(VENV)/.dev-stamp
	$(PIP) torch==2.13.0
	@touch $@

$(VENV)/.bench-stamp: pyproject.toml constraints/ci.txt | $(BIN)/python
	$(PIP) -e ".[dev,bench]"
	@touch $@

demo: $(VENV)/.demo-stamp
	$(BIN)/depmax compare bundled:madelon --report report.html
	@echo
	@echo "Of these 500 columns 20 matter, and only several together: all columns predict hardly"
	@echo "better than guessing, the few that depmax kept predict well."
	@echo "Open report.html for the columns, how sure this is, and how to use them."
	@echo "On your own table: $(BIN)/depmax compare your.csv --target COLUMN"

# Few cases of every test; no whole runs, simulations, scikit-learn's checks and doctests: see conftest.py.
quick: $(VENV)/.dev-stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(PYTEST) tests --quick -q

lint: $(VENV)/.dev-stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# While types are checked, the other core compiles loops, which otherwise both workers do, counting
# lines meanwhile. Lines are counted in few cases of every test; all cases run: see conftest.py.
LOOPS := from importlib import import_module as load; from pathlib import Path; \
  [load(".".join(path.with_suffix("").parts[1:])) for path in Path("src").rglob("_*_loop.py")]
test: $(VENV)/.dev-stamp
	@$(BIN)/python -c '$(LOOPS)' & compiling=$$!; \
	  $(MAKE) --no-print-directory lint || exit 1; wait $$compiling || true
	$(PYTEST) -m "not cluster and not pages" --cov --cov-report=term

# One after the other, whatever -j says: they share .venv.
ci: $(VENV)/.dev-stamp
	@set -e; for target in docs wheel test-cluster bench test-browser test-neural; do \
	  $(MAKE) --no-print-directory $$target SMOKE=1; done

# -W: a broken link, a name without a page and a malformed docstring fail the build.
docs: $(VENV)/.docs-stamp
	$(PYTEST) -q -m pages tests/docs
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# From another folder, so that the wheel is imported and not the tree.
wheel: $(VENV)/.dev-stamp
	rm -rf dist build/wheel
	$(BIN)/python -m build --outdir dist
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet --disable-pip-version-check -c constraints/ci.txt \
	  "$$(ls dist/*.whl)[cli]"
	cd build/wheel && bin/depmax --version && bin/python $(CURDIR)/tests/wheel/smoke.py

# Each test starts two workers of its own.
test-cluster: $(VENV)/.dev-stamp
	$(SERIAL) -q -m cluster tests

test-neural: $(VENV)/.neural-stamp
	$(PYTEST) tests/neural src/depmax/neural

test-oldest: constraints/oldest.txt
	test -x build/oldest/bin/python || $(PYTHON) -m venv build/oldest
	build/oldest/bin/python -m pip install --quiet --disable-pip-version-check \
	  -c constraints/oldest.txt -e ".[cli]" pandas hypothesis "pytest>=8.2"
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 build/oldest/bin/python -m pytest -q --quick \
	  -o filterwarnings=default tests/dependence tests/selection tests/extraction tests/kernels

# As root on Debian, Chromium and its driver are installed; where they cannot be, this says so.
test-browser: $(VENV)/.browser-stamp
	@if ! command -v chromedriver >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  { apt-get update -q && timeout 600 apt-get install -y -q --no-install-recommends \
	    chromium chromium-driver fonts-dejavu-core; } >/dev/null 2>&1 || true; fi
	@if command -v chromedriver >/dev/null; then \
	  OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q tests/browser; \
	else \
	  echo "NOT TESTED IN A BROWSER: chromium and chromedriver are missing and cannot be" \
	    "installed here (root and apt-get are needed)."; \
	fi

# With SMOKE every script that no other imports, as small as it goes, without the other libraries.
SMOKE ?=
SCRIPTS ?= $(patsubst benchmarks/%.py,%,$(filter-out %/common.py,$(wildcard benchmarks/$(if $(SMOKE),[a-z],bench_)*.py)))
bench: $(VENV)/.$(if $(SMOKE),docs,bench)-stamp
	@set -e; for script in $(SCRIPTS); do echo "benchmarks/$$script.py"; \
	  env $(if $(SMOKE),OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1) PYTHONPATH=. $(BIN)/python benchmarks/$$script.py $(if $(SMOKE),--smoke); done

reproduce: $(VENV)/.bench-stamp
	@set -e; for table in $$($(BIN)/python -m reproduction --names); do \
	  echo "$$table"; $(BIN)/python -m reproduction "$$table" --n-jobs 2; done
	$(BIN)/python -m reproduction --page

calibrate: $(VENV)/.bench-stamp
	$(BIN)/python benchmarks/calibration.py

# Exits with 1 if a damaged file ended a process, hung, took too much memory or was not refused
# in words; each bad case is named, and `python -m tests.fuzz TARGET --case N` runs it again.
CASES ?= 10000
fuzz: $(VENV)/.dev-stamp
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.fuzz --cases $(CASES)

# In an environment of its own: pip-audit would change the pinned libraries.
audit: | $(BIN)/python
	$(PYTHON) -m venv $(VENV)-audit
	$(VENV)-audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(VENV)-audit/bin/python constraints/audit.py

clean:
	rm -rf $(VENV)-audit $(VENV) build dist docs/_build docs/gallery docs/reference/generated htmlcov .coverage .coverage.* .hypothesis \
	  .mypy_cache .pytest_cache .ruff_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

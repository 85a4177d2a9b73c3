# make reproduce: everything, from a fresh clone.   make test: the tests.   make help: the rest.
PRESET ?= quick
CORES ?= all
MINUTES ?= 5
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
STAMP := $(VENV)/.installed
PEERS := $(VENV)/.peers-installed
export PATH := $(CURDIR)/$(RUN):$(PATH)
# In place of paths that programs of the environment were installed with: the folder may have been moved.
export PYTHONPATH := $(CURDIR)/src:$(CURDIR)

.DEFAULT_GOAL := help
.PHONY: help setup reproduce claims check-claims publish restore verify test test-all test-newest test-lowest line-coverage benchmarks docs check format clean

help:
	@echo "make reproduce   figures, tables, claims and report of all studies (PRESET=smoke|quick|paper, CORES=all)"
	@echo "make claims      judge all claims from the tables that are there (PRESET=...)"
	@echo "make check-claims       whether every check of a claim can fail: perturbed tables must change its verdict (PRESET=...)"
	@echo "make publish     keep the results of a preset in published/, and its counts in README.md (PRESET=..., SO_FAR=--so-far, COSTS_ONLY=--costs-only)"
	@echo "make restore     put the cases that published/ holds into results/, so that the preset goes on from there (PRESET=...)"
	@echo "make verify      run published cases again and compare (PRESET=..., MINUTES=5, SEED=..., CASES=radon/nuts)"
	@echo "make test        style checks, and the tests that tell a broken program from a right one"
	@echo "make test-all    all tests: every study from start to end, SLURM, documentation, fresh random numbers"
	@echo "make test-newest        the tests of make test with the newest versions of all packages, in an environment beside .venv (PYTHON=python3.13)"
	@echo "make test-lowest        the same with the lowest versions that pyproject.toml allows (PYTHON=python3.11)"
	@echo "make line-coverage      the lines of src/ and experiments/ that make test runs: a table, and pages in .cache/line_coverage"
	@echo "make benchmarks  speed and errors beside other packages: one table, the pages that show it (QUICK=1, ONLY='NAME ...', AGAIN=1, SEEDS=3)"
	@echo "make docs        the documentation and the report of the published results as a site, in docs/_build/html"
	@echo "make check       style, types and imports only"
	@echo "make format      formats the code"
	@echo "make setup       the isolated environment only, in $(VENV)"
	@echo "make clean       remove results, figures and caches, keep the environment"

setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v <= (3, 13) else "Python 3.11, 3.12 or 3.13 is needed, this is %d.%d: name another with make PYTHON=python3.12" % v)'
	$(PYTHON) -m venv $(VENV)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes -r requirements.lock
	@# On all cores, and not left to the first use: where PYTHONDONTWRITEBYTECODE is set, every process would compile what it
	@# imports, for three seconds. Files for other versions of Python, which some packages have, do not matter.
	$(RUN)/python -m compileall -qq -j 0 $(VENV)/lib || true
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

reproduce: $(STAMP)
	@$(RUN)/python -m auxmc_pipeline.steps.reproduce $(PRESET) --cores $(CORES)

claims: $(STAMP)
	@$(RUN)/python -m snakemake claims --allowed-rules claims judge_claims --cores $(CORES) --config preset=$(PRESET)

check-claims: $(STAMP)
	$(RUN)/python -m auxmc_pipeline.steps.check_claims $(PRESET)

publish: $(STAMP)
	$(RUN)/python -m auxmc_pipeline.steps.publish $(PRESET) $(SO_FAR) $(COSTS_ONLY)

verify: $(STAMP)
	@$(RUN)/python -m auxmc_pipeline.steps.verify $(if $(filter command line environment,$(origin PRESET)),$(PRESET)) --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(if $(CASES),--cases $(CASES)) --cores $(CORES)

restore: $(STAMP)
	$(RUN)/python -m auxmc_pipeline.steps.restore $(PRESET)

test: check
	$(RUN)/python -m pytest -m "not slow"

# With the programs of a real run: see tests/conftest.py.
test-all: export XLA_FLAGS = --xla_backend_optimization_level=2

test-all: check
	$(RUN)/python -m pytest --ignore tests/statistical
	AUXMC_STATISTICAL_SEED="$$(date)" $(RUN)/python -m pytest tests/statistical

test-newest:
	$(PYTHON) -m venv --clear $(VENV)-newest
	$(VENV)-newest/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,numpyro,pymc,dask]"
	$(VENV)-newest/bin/python -m pytest -m "not slow"

test-lowest:
	$(PYTHON) -m venv --clear $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(VENV)-lowest/bin/uv pip install --quiet --python $(VENV)-lowest --resolution lowest-direct --editable ".[dev,numpyro,pymc,dask]"
	$(VENV)-lowest/bin/python -m pytest -m "not slow"

line-coverage: $(STAMP)
	$(RUN)/python -m pytest -m "not slow" --cov --cov-report=term:skip-covered --cov-report=html:.cache/line_coverage

benchmarks: $(PEERS)
	@$(RUN)/python -m benchmarks $(if $(QUICK),--quick) $(if $(AGAIN),--again) $(if $(SEEDS),--seeds $(SEEDS)) $(ONLY)

# What the comparisons need beside requirements.lock, none of whose versions it changes. UltraNest wants a C compiler.
$(PEERS): $(STAMP) benchmarks/requirements.lock
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r benchmarks/requirements.lock
	@touch $@

docs: $(STAMP)
	$(RUN)/python -m sphinx -W --keep-going -q docs docs/_build/html
	$(RUN)/python -m auxmc_pipeline.report published --out docs/_build/html/report/index.html
	@echo "open docs/_build/html/index.html"

check: $(STAMP)
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy
	$(RUN)/lint-imports --cache-dir .cache/import_linter

format: $(STAMP)
	$(RUN)/ruff check --fix .
	$(RUN)/ruff format .

clean:
	rm -rf .venv-newest .venv-lowest .coverage* results/*/ paper_figures/*/ docs/_build docs/api docs/auto_tutorials logs .snakemake .checkpoints .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis

# make reproduce: everything, from a fresh clone.   make test: the tests.   Further commands: CONTRIBUTING.md.
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
.PHONY: help setup reproduce test test-all check format docs benchmarks slurm verify clean

help:
	@echo "make setup       create the environment in $(VENV)"
	@echo "make reproduce   run all studies: figures, tables, claims, report (PRESET=smoke|quick|paper, CORES=all)"
	@echo "make test        checks and the fast tests"
	@echo "make test-all    checks and all tests, with fresh random numbers"
	@echo "make check       style, types, imports, vocabulary"
	@echo "make format      format the code"
	@echo "make docs        documentation and report of the published results, in docs/_build/html"
	@echo "make benchmarks  speed and errors compared with other packages (QUICK=1, ONLY='NAME ...', AGAIN=1, SEEDS=3)"
	@echo "make slurm       add the SLURM executor of Snakemake to the environment"
	@echo "make verify      re-run published cases and compare (PRESET=..., MINUTES=5, SEED=..., CASES=radon/nuts)"
	@echo "make clean       remove results, figures and caches"

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

verify: $(STAMP)
	@$(RUN)/python -m auxmc_pipeline.steps.verify $(if $(filter command line environment,$(origin PRESET)),$(PRESET)) --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(if $(CASES),--cases $(CASES)) --cores $(CORES)

test: check
	$(RUN)/python -m pytest -m "not slow"

# With the programs of a real run: see tests/conftest.py.
test-all: export XLA_FLAGS = --xla_backend_optimization_level=2

test-all: check
	$(RUN)/python -m pytest --ignore tests/statistical
	AUXMC_STATISTICAL_DRAWS=2 AUXMC_STATISTICAL_SEED="$$(date)" $(RUN)/python -m pytest tests/statistical

benchmarks: $(PEERS)
	@$(RUN)/python -m benchmarks $(if $(QUICK),--quick) $(if $(AGAIN),--again) $(if $(SEEDS),--seeds $(SEEDS)) $(ONLY)

# What the comparisons need besides requirements.lock, none of whose versions it changes. UltraNest wants a C compiler.
$(PEERS): $(STAMP) benchmarks/requirements.lock
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r benchmarks/requirements.lock
	@touch $@

# What a cluster needs besides: every start of Snakemake imports the plugin, and pandas with it.
slurm: $(STAMP)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r profiles/slurm/requirements.lock

docs: $(STAMP)
	$(RUN)/python -m sphinx -W --keep-going -q docs docs/_build/html
	$(RUN)/python -m auxmc_pipeline.report published --out docs/_build/html/report/index.html
	@echo "open docs/_build/html/index.html"

check: $(STAMP)
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy
	$(RUN)/lint-imports --cache-dir .cache/import_linter
	$(RUN)/codespell

format: $(STAMP)
	$(RUN)/ruff check --fix .
	$(RUN)/ruff format .

clean:
	rm -rf .venv-newest .venv-lowest .coverage* results/*/ paper_figures/*/ docs/_build docs/api docs/studies docs/auto_tutorials logs .snakemake .checkpoints .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis

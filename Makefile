# Targets a newcomer can guess. `make` alone lists them.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
EXTRAS := client,dask,dataframe,demo,mcp,optuna,plots,postgres,ray,server,sklearn,vizier

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore

.PHONY: help setup demo test test-long lint format docs bench bench-env bench-report bench-latency bench-storage bench-server clean

help:  ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

setup: $(READY)  ## create .venv and install everything for development

# Made again only when the metadata changes; the package itself is installed editable.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version.split()[0]; sys.exit(sys.version_info < (3, 11) and f"Photinus needs Python 3.11 or newer, got {v}; say make setup PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -qq --upgrade pip
	$(BIN)/python -m pip install -qq --editable '.[$(EXTRAS)]' --group dev
	touch $@

demo: $(READY)  ## tune a classifier and write a page to look at
	$(BIN)/python -m photinus.demo

test: $(READY)  ## run the tests
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not long" --durations=30

test-long: $(READY)  ## run the tests that take long
	$(BIN)/python -m pytest -m long --durations=15

lint: $(READY)  ## check style, types and import layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/basedpyright
	$(BIN)/lint-imports

format: $(READY)  ## put the code into its standard form
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(READY)  ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html"

bench-env: $(READY)  ## make the environment of a rival, for example NAME=optuna
	PYTHONPATH=bench/src $(BIN)/python -m photinus_bench.envs $(NAME)

bench: $(READY)  ## run what is missing of a suite of benchmarks, for example SUITE=bbob-20d
	PYTHONPATH=bench/src $(BIN)/python -m photinus_bench.runner $(SUITE) $(ARGS)
	PYTHONPATH=bench/src $(BIN)/python -m photinus_bench.records compact

bench-report: $(READY)  ## write docs/benchmarks.md and its figures from the records
	PYTHONPATH=bench/src $(BIN)/python -m photinus_bench.report.writing

bench-latency: $(READY)  ## print seconds per suggestion, beside the rivals that have an environment
	PYTHONPATH=bench/src $(BIN)/python -m photinus_bench.latency

bench-storage: $(READY)  ## print trials per second of the stores, beside Optuna's if it has an environment
	PYTHONPATH=bench/src $(BIN)/python -m photinus_bench.storage

bench-server: $(READY)  ## load servers with workers, also while they are killed, for example ARGS="--kill 8"
	PYTHONPATH=bench/src $(BIN)/python -m photinus_bench.server $(ARGS)

clean:  ## remove the environment and everything that was made
	rm -rf $(VENV) .pytest_cache .ruff_cache .import_linter_cache .hypothesis demo-output build dist site
	find src tests bench -name __pycache__ -not -path '*/.venv/*' -prune -exec rm -rf {} +

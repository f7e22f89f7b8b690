# The whole developer interface. Every target makes what it needs: on a fresh machine one command is enough.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Every target starts many Python processes: let them keep their bytecode.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help up test lint format bench soak controlplane conformance clean

help:  ## Show the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(READY): pyproject.toml constraints.txt
	@rm -f $@
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || { \
		echo "Moorage needs Python 3.11 or newer, and $(PYTHON) says: $$($(PYTHON) --version 2>&1 | head -n 1);" \
			"name another: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@echo "Installing Moorage and about $$(grep -c == constraints.txt) packages into $(VENV), once:"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { \
		rm -rf $(VENV); echo "No virtual environment could be made, for the reason above" >&2; exit 1; }
	@{ $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[dev]' && touch $@; } | \
		while read -r does what _; do case $$does:$$what in \
			Collecting:*) echo "  $${what%%[<>=!~;[]*}";; \
			Installing:build) echo "  setuptools";; \
			Installing:collected) echo "  All are there and are being unpacked.";; \
		esac; done
	@test -e $@ || { echo "pip failed, for the reason above; the next make goes on from here" >&2; exit 1; }

up: $(READY)  ## Start an embedded cluster with the scheduler in it; flags as in ARGS="--nodes 100"
	@$(BIN)/moorage up $(ARGS)

test: $(READY)  ## Run every test, with small numbers where `make soak` uses large ones
	@$(BIN)/python -m pytest -n 2 --dist loadfile

lint: $(READY)  ## Check formatting, lint, types, the import table, the page and that examples use public names only
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy src examples tests bench tools conformance
	@$(BIN)/lint-imports
	@$(BIN)/python -m tools.check_examples
	@$(BIN)/python -m tools.check_page

format: $(READY)  ## Format the code and fix what can be fixed
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .
	@$(BIN)/python -m tools.check_page --write

bench: $(READY)  ## Measure speed and memory; exit 1 when a stated bound is missed; one as in ARGS="drain plain --nodes 500"
	@$(BIN)/python -m bench $(ARGS)

soak: $(READY)  ## Run the long checks
	@$(BIN)/python -m pytest -m soak --soak -n 2 --dist loadfile

controlplane: $(READY)  ## Build etcd, kube-apiserver, kube-scheduler and kubectl; print their folder
	@$(BIN)/python -m tests.controlplane.build

conformance: $(READY)  ## Run Kubernetes' own end-to-end tests of scheduling; flags as in ARGS="--focus Preemption"
	@$(BIN)/python -m conformance $(ARGS)

clean:  ## Remove the virtual environment and caches
	@rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache build src/*.egg-info

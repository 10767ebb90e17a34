# make demo | test | lint | bench | clean      (make demo ARGS="--duration 1min")

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo test lint bench clean

# The newest Python from 3.11 on that can make a virtual environment.
PYTHON ?= $(shell for p in python3.15 python3.14 python3.13 python3.12 python3.11 python3; do \
	$$p -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
READY := .venv/ready

help:
	@echo "make demo   the bench in one command: simulated instruments, the gateway, a broker, texts"
	@echo "make test   format, lint, types, import contracts, tests"
	@echo "make lint   the same without the tests"
	@echo "make bench  measurements"
	@echo "make clean  everything this file made, away"

$(READY): pyproject.toml
	@test -x $(BIN)/python || test -n "$(PYTHON)" || \
		{ echo "no Python 3.11 or newer with venv found (Debian: apt install python3-venv)" >&2; exit 1; }
	@test -x $(BIN)/python || { echo "making .venv with $(PYTHON)"; $(PYTHON) -m venv .venv; }
	@echo "installing into .venv"
	@$(BIN)/python -m pip install -qq --no-input --disable-pip-version-check -e '.[dev]' 2>&1 \
		| sed -E 's#[a-z+]+://[^ ]+#(index)#g'; exit $${PIPESTATUS[0]}
	@touch $@

demo: $(READY)
	@PATH="$$PATH:/usr/sbin" $(BIN)/manhole-gateway demo $(ARGS)

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: $(READY)
	@$(BIN)/python tests/programs.py
	@$(MAKE) --no-print-directory lint
	$(BIN)/python -m pytest -p xdist -n auto --dist loadfile $(ARGS)

bench: $(READY)
	$(BIN)/python -m bench $(ARGS)

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

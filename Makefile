.DEFAULT_GOAL := help
PYTHON ?= python3.11
VENV ?= .venv
BIN := $(VENV)/bin
NICE := --quiet --disable-pip-version-check

help:  ## Say what each target does
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

$(VENV)/.test: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(NICE) --editable '.[test]'
	@touch $@

$(VENV)/.demo: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(NICE) --editable '.[demo]'
	@touch $@

install: $(VENV)/.test  ## Make .venv with everything the tests need

demo: $(VENV)/.demo  ## Run the PV/UV scenario on a real PostgreSQL, twice
	$(BIN)/mendgraph demo

test: lint types test-all bench-quick  ## Check everything: lint, types, tests, guards

lint: $(VENV)/.test  ## Style, formatting and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PYTHONPATH=.typing $(BIN)/lint-imports

types: $(VENV)/.test  ## mypy, strict
	$(BIN)/mypy

test-all: $(VENV)/.test  ## All tests, those with real servers too
	$(BIN)/pytest -n auto --dist loadgroup

test-fast: $(VENV)/.test  ## Unit tests only, under a minute
	$(BIN)/pytest -n auto tests/unit -m "not slow"

bench: $(VENV)/.bench  ## Every benchmark beside its peers; writes docs/BENCHMARKS.md
	$(BIN)/python benchmarks/all.py

bench-quick: $(VENV)/.test  ## The regression guard: ratios with generous margins
	$(BIN)/python benchmarks/all.py --quick

$(VENV)/.bench: $(VENV)/.test
	$(BIN)/python -m pip install $(NICE) --editable '.[bench]'
	@touch $@

links:  ## Renew the symlinks that show mypy the installed layout
	@cd .typing/mendgraph && find . -type l -delete \
	  && for room in graph nodes state tools; do ln -s ../../$$room $$room; done \
	  && for file in ../../app/*; do \
	       case "$$file" in *__pycache__*) ;; *) ln -s "$$file" .;; esac; done

clean:  ## Remove what the targets made
	rm -rf $(VENV) .demo build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache

.PHONY: help install demo test lint types test-all test-fast bench bench-quick links clean

.DEFAULT_GOAL := help
PYTHON ?= python3.11
VENV ?= .venv
BIN := $(VENV)/bin

help:  ## Say what each target does
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

install: $(VENV)/.installed  ## Make .venv with everything the tests need

.PHONY: help install test test-fast lint types links demo bench bench-quick clean

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
# Two doors for a newcomer. Each sets up all it needs, system packages too, then hands over to nox or ansible-playbook.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The distribution's Python, whatever else stands first on PATH.
PYTHON ?= /usr/bin/python3
VENV := .venv
ROOT := $(if $(filter 0,$(shell id -u)),,sudo)
STARTED := $(shell date +%s)
PACKAGES := ca-certificates git openssh-client python3 python3-venv
# One Debian package a line; the lab is what needs them, the tests need more.
LAB_PACKAGES := $(shell sed 's/\#.*//' server/rackwright_lab/packages.txt)
TEST_PACKAGES := $(shell sed 's/\#.*//' tests/packages.txt)
unexport PYTHONDONTWRITEBYTECODE PYTHONHOME PYTHONPATH PYENV_VERSION VIRTUAL_ENV

.PHONY: help
help: ## Say what there is
	@sed -n 's/^\([a-z]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

.PHONY: demo
demo: $(VENV)/ready ## Build a virtual rack and take its machines from enroll to a booted system
	$(VENV)/bin/ansible-playbook -i inventory/lab.yml -e demo_started=$(STARTED) rackwright.metal.demo

.PHONY: test
test: PACKAGES += $(TEST_PACKAGES)
test: $(VENV)/ready ## Run every check, the quick ones first, and say how long each took
	$(VENV)/bin/nox

.PHONY: conformance
conformance: $(VENV)/ready ## Run real clients against the daemon, unmodified
	$(VENV)/bin/nox --session conformance -- --write

.PHONY: system
system: ## Install the Debian packages that are missing
	@missing=$$(for name in $(PACKAGES) $(LAB_PACKAGES); do \
	  dpkg-query --show --showformat='$${db:Status-Status}\n' $$name 2>/dev/null | grep -qx installed || echo $$name; done); \
	if [[ -n $$missing ]]; then \
	  $(ROOT) apt-get update -q; \
	  $(ROOT) env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $$missing; fi

# The pins stand in for the sources of the environment: it is filled again when they change.
$(VENV)/ready: pyproject.toml hatch_build.py noxfile.py tests/constraints.txt | system
	[[ -x $(VENV)/bin/python ]] || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --constraint tests/constraints.txt nox uv
	$(VENV)/bin/nox --session dev
	touch $@

.PHONY: clean
clean: ## Remove all that was built, the environment too
	rm -rf $(VENV) .nox .ansible build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

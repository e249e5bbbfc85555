.DEFAULT_GOAL := help
.PHONY: help setup demo test prove check fresh portable bench docs dist clean

python := .venv/bin/python

# Every simulation starts Python: without bytecode each would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

setup: ## install everything: Debian packages (root or sudo), Python packages into .venv
	@PYTHON=$(PYTHON) bash scripts/upkeep/setup.sh

demo: export BROWSER = no
demo: setup ## the main job: Verilog, regression, figures, a network on the hardware, a proof
	@.venv/bin/carrysave demo

test: setup ## all tests, on two cores; one: .venv/bin/pytest -k NAME
	@$(python) -m pytest -n 2 --dist worksteal

prove: setup ## the long proofs, simulations and mutants
	@$(python) -m pytest -n 2 --dist worksteal -m prove

portable: setup ## the same bytes on other processors, emulated; needs qemu-user
	@$(python) scripts/upkeep/portable.py

check: setup ## lint, format and types
	@$(python) -m ruff check .
	@$(python) -m ruff format --check .
	@$(python) -m mypy

fresh: ## demo and test in a new Debian 12 (root, debootstrap); TARGETS=... for others
	@bash scripts/upkeep/fresh.sh $(TARGETS)

bench: setup ## the benchmarks, into docs/figures: simulation speed, area, period, power
	@$(python) scripts/figures/bench.py --docs

docs: setup ## the documentation, a site: build/docs/html/index.html
	@$(python) scripts/upkeep/docs.py

dist: setup ## wheel and sdist of the last commit, built twice to the same bytes: dist
	@$(python) scripts/upkeep/dist.py

clean: ## remove what was generated; .venv and the cache in the home folder stay
	rm -rf build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name .venv -prune -o -name __pycache__ -prune -exec rm -rf {} +

# Everything a person or CI does here; `make` alone lists it.
# Each target sets up what it needs: Python 3.11 or newer and make are all that must be there.

.DEFAULT_GOAL := help
SHELL := /bin/sh
MAKEFLAGS += --no-builtin-rules
# else every worker and every command of a test compiles all that it imports, each time anew
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
PYTEST_ARGS ?=
BENCH_ARGS ?=
BACKEND ?=
CHAOS_ARGS ?=
PORT ?= 8000

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z][a-z-]*:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /|/' | awk -F'|' '{ printf "  make %-12s %s\n", $$1, $$2 }'

.PHONY: serve
serve: venv-runtime ## serve on 127.0.0.1:8000 (PORT=8001) with a demo tenant (SQLite under instance/)
	@exec $(BIN)/restante serve --demo --port $(PORT)

.PHONY: test
test: venv ## the whole suite on SQLite, MariaDB and MySQL; PYTEST_ARGS="-k claim" narrows it
	@exec $(BIN)/python -m pytest $(PYTEST_ARGS)

.PHONY: venv
venv: ## the environment for development, in .venv
	@sh deploy/bootstrap.sh dev

.PHONY: venv-runtime
venv-runtime:
	@sh deploy/bootstrap.sh runtime

.PHONY: lint
lint: venv ## ruff (rules and format), mypy, import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

.PHONY: format
format: venv ## let ruff format the code and mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: ci
ci: venv ## what CI runs: lint, types, import rules, then the tests
	@$(MAKE) --no-print-directory --jobs 2 --output-sync lint collected
	@$(MAKE) --no-print-directory test

# What pytest compiles of the tests is there for all its workers then, made beside mypy.
.PHONY: collected
collected: venv
	@said=$$($(BIN)/python -m pytest --collect-only -qq -n 0 --backends sqlite 2>&1) || { echo "$$said"; exit 1; }

.PHONY: bench
bench: venv ## measure against raw PyMySQL and an empty inbox; BENCH_ARGS=--short takes minutes
	@exec $(BIN)/python -m bench $(BENCH_ARGS)

.PHONY: lock
lock: ## resolve the dependencies anew into the two locks
	sh deploy/lock.sh

.PHONY: demo
demo: venv ## real webhooks for agents that are away, and kills; BACKEND=mariadb, mysql, sqlite
	@exec $(BIN)/python -m tests.acceptance.full demo $(BACKEND)

.PHONY: acceptance
acceptance: venv ## the acceptances in full, on MariaDB and MySQL (half an hour)
	@for backend in mariadb mysql; do for name in fire demo webhooks; do \
		$(BIN)/python -m tests.acceptance.full $$name $$backend || exit 1; done; done

.PHONY: chaos
chaos: venv ## faults under clients, then the checker; BACKEND=mariadb, mysql, sqlite, cluster SECONDS=60 SEED=7 BROKEN=no_fence
	@exec $(BIN)/python -m tests.chaos.run $(or $(BACKEND),mariadb) --seconds $(or $(SECONDS),60) \
		$(if $(SEED),--seed $(SEED)) $(if $(BROKEN),--broken $(BROKEN)) $(CHAOS_ARGS)

.PHONY: drill
drill: venv ## a rolling restart onto a new release under load, and a restored backup; BACKEND=mariadb, mysql SEED=7
	@$(BIN)/python -m tests.chaos.rolling $(or $(BACKEND),mariadb) $(if $(SEED),--seed $(SEED))
	@exec $(BIN)/python -m tests.chaos.restoring $(or $(BACKEND),mariadb)

.PHONY: herd
herd: venv ## ten thousand agents whose server restarts under them; BACKEND=mariadb, mysql AGENTS=10000 SEED=7
	@exec $(BIN)/python -m tests.chaos.herd $(or $(BACKEND),mariadb) --agents $(or $(AGENTS),10000) \
		$(if $(SEED),--seed $(SEED))

.PHONY: fuzz
fuzz: venv ## hostile input to every endpoint of a served installation; BACKEND=sqlite, mariadb, mysql SECONDS=60 SEED=7
	@exec $(BIN)/python -m tests.fuzz.run $(or $(BACKEND),sqlite) --seconds $(or $(SECONDS),60) \
		$(if $(SEED),--seed $(SEED))

.PHONY: screenshots
screenshots: venv ## pictures of every page of the console into screenshots/, to be looked at
	@exec $(BIN)/python -m tests.browser.screenshots

.PHONY: clean
clean: ## remove the environment and caches (instance/ stays)
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One verb each. `make demo` and `make test` make their own environment; nothing else has to be installed but Python 3.11+ and make.
PYTHON ?= $(shell for v in 3.13 3.12 3.11 3; do if command -v python$$v >/dev/null 2>&1 && python$$v -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo python$$v; break; fi; done)
VENV := .venv
BIN := $(VENV)/bin
RUN := .venv-demo/bin
PYTEST := $(BIN)/python -m pytest

.PHONY: help demo test test-oldest check generate bench fuzz lock stack stack-native test-stack wheel clean pictures

help: ## Show the verbs
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: .venv-demo/.ready ## Run agents against a stand-in for the providers and show what was recorded
	@$(RUN)/otel-agent demo $(ARGS)

test: $(VENV)/.ready ## Run the tests (what needs Docker or Go is skipped with its reason)
	$(PYTEST) -n auto --dist loadfile -m "not stack and not long" $(ARGS)

test-oldest: .venv-oldest/.ready ## Run what touches the SDKs with the oldest supported version of everything
	.venv-oldest/bin/python -m pytest -n auto --dist loadfile -m "not stack and not long" tests/contract tests/unit tests/standin $(ARGS)

check: $(VENV)/.ready ## Lint, types, import contracts, generated files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m schema.generate --check
	$(BIN)/python -m dashboards.build --check

generate: $(VENV)/.ready ## Write schema/, dashboards/ and the guards from the records
	$(BIN)/python -m schema.generate
	$(BIN)/python -m dashboards.build
	$(BIN)/python collector/generate_contrib.py schema/allowlist.json collector/contrib/guard.yaml

bench: $(VENV)/.ready ## Print what observation costs, as ratios
	$(BIN)/python -m tests.benchmarks $(ARGS)

fuzz: $(VENV)/.ready ## 100,000 generated responses and streams per adapter
	$(PYTEST) -m long -n auto tests/fuzz $(ARGS)

stack-native: $(VENV)/.ready ## Build the servers from Go modules (once) and run them on loopback
	$(BIN)/python -m tests.stack up

stack: collector/compose/secrets/grafana-password ## Bring up the whole stack with Docker
	docker compose up -d --wait

collector/compose/secrets/grafana-password:
	@mkdir -p -m 700 $(@D)
	@$(or $(PYTHON),python3) -c 'import secrets; print(secrets.token_urlsafe(24))' > $@
	@chmod 644 $@ # the folder is closed to others; the server in the container has a user id of its own

test-stack: $(VENV)/.ready ## End-to-end tests on the real servers: native, and Docker where it answers
	-@$(BIN)/python -m tests.stack build
	$(PYTEST) -n 2 --dist loadfile -m stack tests/stack tests/dashboards $(ARGS)

pictures: $(VENV)/.ready ## Play agents into the native stack for some minutes and draw the dashboards
	$(BIN)/python -m tests.stack pictures $(ARGS)

wheel: $(VENV)/.ready ## Build the wheel and try it in an empty environment
	$(BIN)/python -m tests.wheel

lock: ## Resolve the pinned requirements again (needs uv)
	uv pip compile pyproject.toml --extra demo --group build --universal --generate-hashes --no-header --no-annotate --no-emit-index-url -q -o requirements/demo.lock
	uv pip compile pyproject.toml --all-extras --group dev --universal --generate-hashes --no-header --no-annotate --no-emit-index-url -q -o requirements/dev.lock
	uv pip compile pyproject.toml --extra demo --extra auto --group test --group build --resolution lowest-direct --python-version 3.11 --universal --generate-hashes --no-header --no-annotate --no-emit-index-url -q -o requirements/oldest.lock

$(VENV)/.ready: requirements/dev.lock pyproject.toml
	$(call environment,$(VENV),requirements/dev.lock)

.venv-demo/.ready: requirements/demo.lock pyproject.toml
	$(call environment,.venv-demo,requirements/demo.lock)

.venv-oldest/.ready: requirements/oldest.lock pyproject.toml
	$(call environment,.venv-oldest,requirements/oldest.lock)

define environment
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name one with make PYTHON=/path/to/python3"; exit 1; }
	@echo "making $(1) with $(PYTHON) ..."
	@$(PYTHON) -m venv $(1)
	@$(1)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(2)
	@$(1)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
endef

clean: ## Remove the environments and what tools left behind
	rm -rf $(VENV) .venv-demo .venv-oldest dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

# Every target makes the virtual environment itself: with uv where it is on PATH, otherwise with venv and pip.
#   PYTHON=...  the interpreter to build on (default: the first of python3, python3.14 ... that is 3.11 or newer)
#   VENV=...    where the environment lives (default .venv)
#   ARGS=...    further arguments of the command behind the target, as in: make test ARGS="tests/core -k simhash"

VENV ?= .venv
ARGS ?=
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
COMPILE := uv pip compile --quiet --universal --generate-hashes --python-version 3.11 \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links $(ARGS)

.DEFAULT_GOAL := help
.PHONY: help demo test check bench research lock sbom audit clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1  /p' Makefile | awk '{ name = $$1; $$1 = ""; printf "make %-9s%s\n", name, $$0 }'

demo: $(INSTALLED) ## start the service on a small library, post it and find its near-duplicates
	@$(BIN)/bookprint demo $(ARGS)

test: $(INSTALLED) ## run the tests against real servers that they start themselves (ARGS="-m slow": the slow ones)
	@$(BIN)/python -m pytest -n auto --dist loadfile -m "not slow and not engine and not browser" $(ARGS)

check: $(INSTALLED) ## lint, format, types and the import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(INSTALLED) ## measure, and write bench/results/*.json and bench/REPORT.md
	@$(BIN)/python -m bench $(ARGS)

research: $(INSTALLED) ## repeat the experiments of publications, and write research/results/*.json and research/REPORT.md
	@$(BIN)/python -m research $(ARGS)

lock: ## pin the dependencies of pyproject.toml anew (needs uv; ARGS=--upgrade takes the newest)
	@command -v uv >/dev/null || { echo "make lock needs uv on PATH" >&2; exit 1; }
	$(COMPILE) pyproject.toml --extra build --extra test --extra bench --extra research --extra dev -o requirements.lock
	$(COMPILE) pyproject.toml --extra build --extra parquet -c requirements.lock -o requirements-run.lock
	{ sed -n 's/^pyspark-client\(==[^ ]*\).*/pyspark\1/p' requirements.lock; printf 'setuptools\nwheel\n'; } | \
		$(COMPILE) - -o .ci/requirements-spark.lock

sbom: $(INSTALLED) ## write sbom.json, the bill of materials of what runs (CycloneDX), from requirements-run.lock
	@PYTHONWARNINGS=ignore $(BIN)/cyclonedx-py requirements --pyproject pyproject.toml --mc-type application --output-reproducible -o sbom.json requirements-run.lock

audit: ## look the pins that run up in the public lists of vulnerabilities (needs the network)
	@[ -x .audit/bin/pip-audit ] || { python3 -m venv .audit && .audit/bin/python -m pip install --quiet pip-audit; } || { \
		rm -rf .audit; echo "make audit needs the network: pip-audit could not be installed." >&2; exit 1; }
	@.audit/bin/pip-audit --strict --requirement requirements-run.lock --require-hashes --disable-pip $(ARGS) || { \
		echo "make audit: a pin above is vulnerable, or the lists could not be asked (no network?): then nothing is known." >&2; exit 1; }

clean: ## remove the environment and every cache
	rm -rf $(VENV) .audit sbom.json .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find app client workers migrations bench research tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): requirements.lock pyproject.toml tools/make-venv
	@sh tools/make-venv $(VENV)
	@touch $@

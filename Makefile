# Every target makes the virtual environment itself: with uv where it is on PATH, otherwise with venv and pip.
#   PYTHON=...  the interpreter to build on (default: the first of python3, python3.14 ... that is 3.11 or newer)
#   VENV=...    where the environment lives (default .venv)
#   ARGS=...    further arguments of the command behind the target, as in: make test ARGS="tests/core -k simhash"

VENV ?= .venv
ARGS ?=
BIN := $(VENV)/bin
OURS := $(patsubst %,--no-emit-package bookprint-%,client core corpus readers)
COMPILE := uv pip compile --quiet --universal --generate-hashes --python-version 3.11 \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links $(OURS) pyproject.toml
ADDED := build parquet test check bench research

.DEFAULT_GOAL := help
.PHONY: help demo test guards check bench research lock sbom audit clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1  /p' Makefile | awk '{ name = $$1; $$1 = ""; printf "make %-9s%s\n", name, $$0 }'

demo: $(VENV)/.run ## start the service on a small library, post it and find its near-duplicates
	@$(BIN)/bookprint demo $(ARGS)

test: $(VENV)/.test ## run the tests against real servers that they start themselves (ARGS="-m slow": the slow ones)
	@$(BIN)/python -m pytest -n auto --dist loadfile -m "not slow and not engine and not browser" $(ARGS)

guards: $(VENV)/.test ## write anew what tests/guards compares with (ARGS="help schema": of these two alone)
	@$(BIN)/python -m tests.guards $(ARGS)

check: $(VENV)/.check ## lint, format, types, the import contract, the site, and tests of the project's own files and benchmarks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not slow" tests/project tests/bench

bench: $(VENV)/.bench ## measure, and write bench/results/*.json and bench/REPORT.md
	@$(BIN)/python -m bench $(ARGS)

research: $(VENV)/.research ## repeat the experiments of publications, and write research/results/*.json and research/REPORT.md
	@$(BIN)/python -m research $(ARGS)

# One resolution pins everything, so that no version differs between two locks. requirements-run.lock is what runs; each
# other lock holds only what its extra adds to it, and what runs on Windows alone.
lock: ## pin the dependencies of pyproject.toml anew (needs uv; ARGS=--upgrade takes the newest)
	@command -v uv >/dev/null || { echo "make lock needs uv on PATH" >&2; exit 1; }
	cat requirements-*.lock >all.lock
	$(COMPILE) $(ADDED:%=--extra %) $(ARGS) -o all.lock
	$(COMPILE) -c all.lock -o requirements-run.lock
	for extra in $(ADDED); do \
		$(COMPILE) --extra $$extra -c all.lock -o requirements-$$extra.lock \
			$$(sed -n "/== 'win32'/!s/^\\([a-z0-9.-]*\\)==.*/--no-emit-package \\1/p" requirements-run.lock) || exit; \
	done
	{ sed -n 's/^pyspark-client\(==[^ ]*\).*/pyspark\1/p' requirements-test.lock; printf 'setuptools\nwheel\n'; } | \
		$(COMPILE:pyproject.toml=-) -o .ci/requirements-spark.lock
	rm all.lock

sbom: $(VENV)/.check ## write sbom.json, the bill of materials of what runs (CycloneDX), from requirements-run.lock
	@PYTHONWARNINGS=ignore $(BIN)/cyclonedx-py requirements --pyproject pyproject.toml --mc-type application --output-reproducible -o sbom.json requirements-run.lock

audit: ## look the pins that run up in the public lists of vulnerabilities (needs the network)
	@[ -x .audit/bin/pip-audit ] || { python3 -m venv .audit && .audit/bin/python -m pip install --quiet pip-audit; } || { \
		rm -rf .audit; echo "make audit needs the network: pip-audit could not be installed." >&2; exit 1; }
	@.audit/bin/pip-audit --strict --requirement requirements-run.lock --require-hashes --disable-pip $(ARGS) || { \
		echo "make audit: a pin above is vulnerable, or the lists could not be asked (no network?): then nothing is known." >&2; exit 1; }

clean: ## remove the environment and every cache
	rm -rf $(VENV) .audit sbom.json site .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find app packages workers migrations bench research tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.run: requirements-run.lock requirements-build.lock pyproject.toml tools/make-venv
	@sh tools/make-venv $(VENV)
	@touch $@

# the check reads the types of everything, and runs tests of the project's own files
$(VENV)/.check: requirements-test.lock requirements-bench.lock
$(VENV)/.%: requirements-%.lock $(VENV)/.run
	@sh tools/make-venv $(VENV) $(patsubst requirements-%.lock,%,$(filter %.lock,$^))
	@touch $@

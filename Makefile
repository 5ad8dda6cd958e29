# `make demo` and `make test` do all the set-up they need: Python 3.11 or newer, git and make are enough.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
# The engines for many machines are large: `make test EXTRAS=all,dev,dev-distributed` tests them too.
EXTRAS ?= all,dev
# Tests that meet on one server run in one process, and those of the embedded model and the browser in another.
SERVERS := postgres or mysql or clickhouse or spark
MODEL_OR_BROWSER := (embedded or browser) and not ($(SERVERS))
INSTALLED := $(VENV)/.installed

.PHONY: demo test test-servers test-model lint bench train docs clean

demo: $(INSTALLED)
	$(BIN)/datasphinx demo

test: lint
	$(BIN)/pytest -n auto --maxprocesses 4 --dist worksteal -m "not ($(SERVERS)) and not ($(MODEL_OR_BROWSER))"
	$(MAKE) --no-print-directory --jobs 2 --output-sync=target test-servers test-model

test-servers:
	$(BIN)/pytest -m "$(SERVERS)"

test-model:
	$(BIN)/pytest -m "$(MODEL_OR_BROWSER)"

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(INSTALLED)
	$(BIN)/python -m tests.benchmarks.latency

# The embedded model's adapter anew: on two cores 90 minutes, on a GPU a few. It goes on where it was stopped.
SPIDER ?= ../shared
train: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS),train]'
	$(BIN)/python -m training --out build/training \
	  --schemas $(SPIDER)/benchmarks/spider_schemas.json.gz --questions $(SPIDER)/training/spider_train.jsonl.gz \
	  --held-out $(SPIDER)/benchmarks/spider_dev/questions.jsonl --databases $(SPIDER)/benchmarks/spider_dev/databases

docs: $(INSTALLED)
	$(BIN)/python -m tests.generated_docs

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]'
	touch $(INSTALLED)

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .langgraph_api

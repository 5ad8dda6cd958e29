# `make demo` and `make test` do all the set-up they need: Python 3.11 or newer, git and make are enough.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
# The engines for many machines are large: `make test-all EXTRAS=all,dev,dev-distributed` tests them too.
EXTRAS ?= all,dev
# `make test HEAVY=1`, also `make test-all`, runs the long tests too, as CI does.
SELECTION := $(if $(HEAVY),,-m "not heavy")
FAST := not (heavy or integration or process or server or postgres or mysql or clickhouse or spark or embedded or browser)
# One run of pytest: tests that share a server, the model or the browser stay in one worker (tests/conftest.py).
PYTEST := $(BIN)/pytest -n auto --maxprocesses 4
# Workers and the commands that tests start read compiled modules; without them every process compiles all of them.
export PYTHONDONTWRITEBYTECODE :=
INSTALLED := $(VENV)/.installed

.PHONY: demo test test-all test-fast versions lint bench train docs clean

demo: $(INSTALLED)
	$(BIN)/datasphinx demo

test: lint
	@# Tests do not use the network; without the weights, the tests of the embedded model are skipped.
	-@$(BIN)/datasphinx model pull base >/dev/null
	$(PYTEST) $(SELECTION)

test-all:
	$(MAKE) --no-print-directory test HEAVY=1

test-fast: $(INSTALLED)
	$(PYTEST) -m "$(FAST)"

# The product in new environments: with uv.lock, and with the lowest and the newest versions of its dependencies.
versions: $(INSTALLED)
	$(BIN)/python -m tests.support.versions

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(INSTALLED)
	$(BIN)/python -m benchmarks.latency

# The embedded model's adapter anew: on two cores 90 minutes, on a GPU a few. It goes on where it was stopped.
SPIDER ?= ../shared
train: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS),train]'
	$(BIN)/python -m training --out build/training \
	  --schemas $(SPIDER)/benchmarks/spider_schemas.json.gz --questions $(SPIDER)/training/spider_train.jsonl.gz \
	  --held-out $(SPIDER)/benchmarks/spider_dev/questions.jsonl --databases $(SPIDER)/benchmarks/spider_dev/databases

docs: $(INSTALLED)
	$(BIN)/python -m tests.support.generated_docs

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]'
	touch $(INSTALLED)

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .langgraph_api

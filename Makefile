# Two commands do all the set-up on a machine with git and Python 3.11: `make demo` and `make test`.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
# Packages are installed with their bytecode, or each of the hundreds of test processes would compile them again.
export PYTHONDONTWRITEBYTECODE :=
FIXTURES := $(wildcard fixtures/*)

.PHONY: demo test test-slow bench record check format coverage dry-runs clean

demo: $(VENV)/demo.stamp
	$(BIN)/planexec run --fixture fixtures/login_return_to contracts/login-return-to.yaml

test: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -n auto --dist loadfile tests

# Real runs by the dozen: variants of the fixture, a kill at every event. Minutes, not seconds.
test-slow: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -n auto --dist loadfile -m slow tests

# Figures of this machine: what a turn with a model costs by itself, and how long its requests are.
bench: $(VENV)/dev.stamp
	$(BIN)/python -m tests.benchmarks.turns

check: $(VENV)/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

coverage: $(VENV)/dev.stamp
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n auto --dist loadfile tests
	$(BIN)/coverage combine -q
	$(BIN)/coverage report --skip-covered --sort=cover --fail-under=90

# Every fixture with the contract of the same name, as CI runs them: a proof or a non-zero exit code. First without a
# model, then with the recorded answers of one in both roles.
dry-runs: $(VENV)/dev.stamp
	@set -e; for fixture in $(FIXTURES); do \
	  name=$$(basename $$fixture | tr _ -); \
	  echo "== $$fixture with contracts/$$name.yaml"; \
	  $(BIN)/planexec run --fixture $$fixture contracts/$$name.yaml; \
	  echo "== $$fixture with contracts/$$name.yaml and recordings/$$name.jsonl"; \
	  $(BIN)/planexec run --fixture $$fixture contracts/$$name.yaml \
	    --planner model --executor model --replay recordings/$$name.jsonl; \
	done

# The recordings with the questions that are asked now, after a prompt has changed.
record: $(VENV)/dev.stamp
	$(BIN)/python -m tests.benchmarks.record

format: $(VENV)/dev.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage* htmlcov

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[fixtures]"
	@touch $@

$(VENV)/dev.stamp: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@

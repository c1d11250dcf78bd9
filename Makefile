# Every target sets up what it needs into .venv, once; a change of pyproject.toml sets it up again.
#
#   PYTHON   the interpreter the environment is made from (3.11 or later)
#   LIGHT    the optional extras `make test` installs; name fewer where one has no wheel for the machine
#   ARGS     passed on to pytest, e.g. make test ARGS="-k thermostat"

PYTHON ?= python3
LIGHT  ?= scip,smt,onnxruntime,gym
ARGS   ?=

BIN   := .venv/bin
CORE  := .venv/.core-installed
DEV   := .venv/.dev-installed
DOCS  := .venv/.docs-installed

# Third-party networks and models, where they stand beside the checkout. An exported VERNAL_DATA wins, even an empty one.
ifeq ($(origin VERNAL_DATA),undefined)
ifneq ($(wildcard ../shared/data/.),)
export VERNAL_DATA := $(abspath ../shared/data)
endif
endif

.DEFAULT_GOAL := help
.PHONY: help setup verify test test-all test-quick test-lowest lint bench docs docs-test gallery sbom release clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(DEV)  ## the environment for development, in .venv

verify: $(CORE)  ## check the built-in example, show its verdicts and trace, replay the trace
	@VERNAL=$(BIN)/vernal scripts/verify.sh

# Bytecode is kept whatever the surroundings say: dozens of tests start Python anew, and would compile the package each time.
test: export PYTHONDONTWRITEBYTECODE :=
test: lint  ## lint, types and the tests, of costly ones some cases (tests/portions.txt)
	VERNAL_TESTS=$(or $(VERNAL_TESTS),some) $(BIN)/python -m pytest -n 2 --dist worksteal -q -rs $(ARGS)

# Random tests ask a part of their questions in `make test` (tests/portion.py), costly ones some of their cases; here all: half an hour.
test-all: export VERNAL_TESTS := all
test-all: test  ## the same with every test, every case and every question of random tests

# What most changes break first, chosen by the time it takes: the foundations whole, of the engines the table of ground truth by auto.
QUICK := tests/model tests/logic tests/interpret tests/evidence tests/simulate tests/solvers \
  tests/test_house.py tests/test_vocabulary.py tests/engines/test_truth.py

test-quick: export PYTHONDONTWRITEBYTECODE :=
test-quick: $(DEV)  ## the quick tests only, in less than a minute: for the loop of editing and trying
	$(BIN)/python -m pytest -n 2 --dist worksteal -q --ignore tests/interpret/flow -k "not test_truth or auto" $(QUICK) $(ARGS)

lint: $(DEV)  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -n 2

bench: $(DEV)  ## the benchmarks
	$(BIN)/python -m benchmarks.bounds

# A warning of the build, a link that leads nowhere among them, is an error. (The variable hides a notice about the theme's successor.)
docs: $(DOCS)  ## build the site, in site/ (open site/index.html)
	$(BIN)/python scripts/pages.py build/pages
	$(BIN)/python scripts/playground.py build/pages/docs/play
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-test: $(DEV)  ## run the documentation: every example in it is executed
	$(BIN)/python -m pytest -q -rs tests/test_docs.py tests/test_site.py $(ARGS)

gallery: $(DEV)  ## draw the pictures of docs/gallery.md and docs/nonlinear-dynamics.md again, and run the notebooks again
	$(BIN)/python scripts/gallery.py
	$(BIN)/python scripts/notebooks.py

# The floors of pyproject.toml are the oldest versions that pass; they are tried in an environment of their own.
test-lowest:  ## all tests with the oldest versions that pyproject.toml allows, in .venv-lowest
	@test -x .venv-lowest/bin/python || $(PYTHON) -m venv .venv-lowest
	$(PYTHON) scripts/lowest.py > .venv-lowest/lowest.txt
	.venv-lowest/bin/python -m pip install -q --prefer-binary -c .venv-lowest/lowest.txt -e '.[dev,$(LIGHT)]'
	.venv-lowest/bin/python -m pytest -n 2 --dist worksteal -q -rs $(ARGS)

release: $(CORE)  ## build sdist and wheels into dist/, check them, install them in empty environments (ARGS="--write 0.2.0")
	$(BIN)/python -m pip install -q build twine
	$(BIN)/python scripts/release.py $(ARGS)

sbom: $(CORE)  ## the software bill of materials (CycloneDX), in sbom.json
	$(BIN)/python scripts/sbom.py > sbom.json

clean:  ## remove the environment, caches and built files
	rm -rf .venv .venv-lowest build dist site .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Some systems split `ensurepip` off Python: there the environment borrows the pip at hand.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "set-up: Vernal needs Python 3.11 or later; name one with: make PYTHON=python3.11" >&2; exit 1; }
	@echo "set-up: making .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv .venv >/dev/null 2>&1 || \
	  { $(PYTHON) -m venv --clear --without-pip .venv && $(PYTHON) -m pip --python $@ install -q pip; } || \
	  { rm -rf .venv; echo "set-up: $(PYTHON) can make no virtual environment; it needs the venv module and pip" >&2; exit 1; }

$(CORE): pyproject.toml | $(BIN)/python
	@echo "set-up: installing Vernal and its core dependencies"
	@$(BIN)/python -m pip install -q --prefer-binary -e .
	@touch $@

$(DEV): pyproject.toml | $(BIN)/python
	@echo "set-up: installing Vernal with dev,$(LIGHT) (a minute or two)"
	@$(BIN)/python -m pip install -q --prefer-binary -e '.[dev,$(LIGHT)]' || { \
	  echo "set-up: an install failed; the lines above name the package. If it belongs to an optional extra ($(LIGHT))" >&2; \
	  echo "        and has no wheel for this machine, leave that extra out: make test LIGHT=smt,onnxruntime" >&2; \
	  echo "        (the tests that need it are then skipped, and say so)." >&2; exit 1; }
	@touch $(CORE) $@

$(DOCS): pyproject.toml | $(BIN)/python
	@echo "set-up: installing Vernal with docs"
	@$(BIN)/python -m pip install -q --prefer-binary -e '.[docs]'
	@touch $(CORE) $@

# The benchmarks of closed loops need the published networks (VERNAL_DATA).
.PHONY: bench-vcas bench-frozenlake bench-guarding bench-worlds bench-pendulum-rnn bench-lander bench-spread bench-forever bench-cartpole \
  bench-pendulum bench-explicit bench-queries bench-larger bench-ppa bench-neural-abstractions bench-papers

bench-papers: $(DEV)  ## the tables of the five papers in one run at small limits, under an hour (ARGS="--cap 2 --only vcas lander")
	$(BIN)/python -m benchmarks.papers $(ARGS)

bench-vcas: $(DEV)  ## VerticalCAS by every method, the whole encounter, the map (ARGS="--quick": the table only)
	$(BIN)/python -m benchmarks.vcas $(ARGS)

bench-frozenlake: $(DEV)  ## the frozen lake, whose ground is a network
	$(BIN)/vernal sweep benchmarks/frozenlake/frozenlake.toml --over k=1..6 $(ARGS)

bench-explicit: $(DEV)  ## every state of finite systems, to 150,000 states (ARGS="--full": beyond a million)
	$(BIN)/python -m benchmarks.explicit $(ARGS)

bench-queries: $(DEV)  ## network queries with known answers, beside the verifiers that are installed (ARGS="--marabou-python PATH")
	$(BIN)/python -m benchmarks.queries $(ARGS)

bench-larger: $(DEV)  ## policies of 64 x 64 tanh and 256 x 256 ReLU units in the cart pole and the lander (ARGS="--cap 20")
	$(BIN)/python -m benchmarks.larger $(ARGS)

bench-ppa: $(DEV)  ## planning policies by predicate abstraction and its competitors (ARGS="blocksworld-6 --cap 20")
	$(BIN)/python -m benchmarks.ppa $(ARGS)

bench-neural-abstractions: $(DEV)  ## flows by neural abstraction beside Table 1 of the paper (ARGS="--seeds 10 --widths --growth")
	$(BIN)/python -m benchmarks.neural_abstractions $(ARGS)

bench-worlds: $(DEV)  ## how faithful the worlds are (the lander needs Box2D: pip install 'gymnasium[box2d]')
	$(BIN)/python -m benchmarks.worlds

# Agents with memory: our own policies. Under an hour for all three (ARGS="--cap 10": minutes; "--full": 600 s a cell).
bench-pendulum-rnn: $(DEV)  ## a recurrent policy balances a pendulum, by every unrolling
	$(BIN)/python -m benchmarks.pendulum_rnn $(ARGS)

bench-lander: $(DEV)  ## a recurrent policy of two layers lands in the wind, by every unrolling
	$(BIN)/python -m benchmarks.lander $(ARGS)

bench-spread: $(DEV)  ## two and four recurrent agents look for landmarks
	$(BIN)/python -m benchmarks.spread $(ARGS)

# Questions for all time, beside the AAMAS 2025 paper's algorithms. Under an hour for all three (ARGS="--full": 600 s a cell).
bench-forever: $(DEV)  ## twenty small systems with known answers, by every engine for questions without a bound
	$(BIN)/python -m benchmarks.forever $(ARGS)

bench-cartpole: $(DEV)  ## three recurrent policies balance a pole for all time
	$(BIN)/python -m benchmarks.cartpole $(ARGS)

bench-pendulum: $(DEV)  ## three recurrent policies swing a pendulum up eventually
	$(BIN)/python -m benchmarks.pendulum $(ARGS)

bench-guarding: $(DEV)  ## the guarding game of two, three and four agents
	$(BIN)/vernal sweep benchmarks/guarding/guarding.toml --set n=2 --over start=3,4 --over k=1..6 $(ARGS)
	$(BIN)/vernal sweep benchmarks/guarding/guarding.toml --set n=3 --over start=3,4 --over k=1..6 $(ARGS)
	$(BIN)/vernal sweep benchmarks/guarding/guarding.toml --set n=4 --over start=3,4 --over k=1..6 $(ARGS)

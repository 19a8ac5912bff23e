# Everything is installed into .venv by the targets that need it. `make help` lists them.
PYTHON ?= python3
BIN := .venv/bin
CORE_SOURCES := CMakeLists.txt $(wildcard cpp/core/*) $(wildcard cpp/bindings/*)
STRESS_ROUNDS ?= 60

.DEFAULT_GOAL := help

.PHONY: help
help:  ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 18

.venv/.tools: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/pip install --quiet --group dev
	@touch $@

.venv/.built: .venv/.tools $(CORE_SOURCES)
	$(BIN)/pip install --quiet --no-build-isolation --editable .
	@touch $@

.PHONY: build
build: .venv/.built  ## Set up .venv and build the package into it

.PHONY: demo
demo: build  ## Train, delete, add and verify on bundled data, against retraining
	$(BIN)/python -m deciduous.demo

.PHONY: test
test: build check debug asan  ## Everything that must pass: checks, debug and address-sanitizer builds, all tests but the slow ones
	$(BIN)/python -m pytest -m "not slow"

.PHONY: test-slow
test-slow: build  ## The slow tests, and the state machine for a long time
	DECIDUOUS_HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest

.PHONY: test-oldest
test-oldest:  ## The estimator's tests with the oldest versions of the dependencies that we declare
	$(PYTHON) -m venv build/oldest
	build/oldest/bin/pip install --quiet "numpy==1.26.*" "scipy==1.11.*" "scikit-learn==1.6.*" "pandas==2.2.*" \
	    "pytest==8.*" "hypothesis>=6.100" "polars==1.0.*" "pyarrow==15.*" rich .
	build/oldest/bin/python -m pytest tests/test_estimator_checks.py tests/test_forest.py tests/test_weights.py

.PHONY: check
check: build  ## Formatting, lints, types, import layers
	$(BIN)/ruff format --check src tests docs examples
	$(BIN)/ruff check src tests docs examples
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run --Werror cpp/core/* cpp/bindings/* tests/cpp/*

STUB := src/deciduous/_core.pyi
.PHONY: stub
stub: build  ## Write the type stub of the core anew, after a change of the bindings
	$(BIN)/python -m nanobind.stubgen --quiet --module deciduous._core --output-file $(STUB)

.PHONY: docs
docs: build  ## Write docs/api.md anew, after a change of docstrings
	$(BIN)/python docs/make_api.py

.PHONY: format
format: .venv/.tools  ## Format all sources
	$(BIN)/ruff format src tests docs examples
	$(BIN)/ruff check --fix src tests docs examples
	$(BIN)/clang-format -i cpp/core/* cpp/bindings/* tests/cpp/*

# The randomised stress test of the core, built without Python in four ways.
.PHONY: debug asan tsan
debug: SANITIZE :=
asan: SANITIZE := address,undefined
tsan: SANITIZE := thread
debug: ## Stress test of the core that recounts every statistic after each update
asan:  ## Stress test under the address and undefined-behaviour sanitizers
tsan:  ## Stress test under the thread sanitizer
debug asan tsan: .venv/.tools
	@$(BIN)/cmake -S . -B build/$@ -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DDECIDUOUS_STRESS=ON \
	    -DDECIDUOUS_CHECKS=ON -DDECIDUOUS_SANITIZE=$(SANITIZE) -DCMAKE_BUILD_TYPE=RelWithDebInfo > build/$@.log \
	    || (cat build/$@.log; exit 1)
	@$(BIN)/cmake --build build/$@ >> build/$@.log || (cat build/$@.log; exit 1)
	build/$@/stress $(STRESS_ROUNDS)

.PHONY: clean
clean:  ## Remove everything that was built
	rm -rf .venv build .hypothesis .mypy_cache .pytest_cache .ruff_cache

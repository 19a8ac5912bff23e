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
test: build check debug asan guard postgres chromium  ## Everything that must pass: checks, debug and address-sanitizer builds, the guard, all tests but the slow ones
	$(BIN)/python -m pytest -m "not slow" --numprocesses auto --dist worksteal

.PHONY: postgres
postgres:  ## Find PostgreSQL's server programs, or install them; the tests of live tables start a server of their own
	@scripts/postgres.sh --install || echo "Tests that need it are skipped."

.PHONY: chromium
chromium:  ## Find Chromium, or install it; a test prints certificates with it
	@command -v chromium || scripts/install_package.sh chromium || echo "Tests that need it are skipped."

.PHONY: test-slow
test-slow: build postgres  ## The slow tests, and the state machine for a long time
	DECIDUOUS_HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest

.PHONY: test-oldest
test-oldest:  ## The estimator's tests with the oldest versions of the dependencies that we declare
	$(PYTHON) -m venv build/oldest
	build/oldest/bin/pip install --quiet "numpy==1.26.*" "scipy==1.11.*" "scikit-learn==1.6.*" "pandas==2.2.*" \
	    "pytest==8.*" "hypothesis>=6.100" "narwhals==1.20.*" "polars==1.0.*" "pyarrow==15.*" rich .
	build/oldest/bin/python -m pytest tests/test_columns.py tests/test_estimator_checks.py tests/test_forest.py \
	    tests/test_weights.py

.PHONY: check
check: build  ## Formatting, lints, types, import layers
	$(BIN)/ruff format --check src tests docs examples benchmarks
	$(BIN)/ruff check src tests docs examples benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run --Werror cpp/core/* cpp/bindings/* tests/cpp/* tests/native/*

STUB := src/deciduous/_core.pyi
.PHONY: stub
stub: build  ## Write the type stub of the core anew, after a change of the bindings
	$(BIN)/python -m nanobind.stubgen --quiet --module deciduous._core --output-file $(STUB)

.PHONY: docs
docs: build  ## Write docs/api.md and docs/cli.md anew, after a change of docstrings, the results in docs/experiments.md, and the README's transcript
	$(BIN)/python docs/make_api.py
	$(BIN)/python docs/make_cli.py
	$(BIN)/python docs/make_experiments.py
	$(BIN)/python docs/make_transcript.py

DATA ?= ../shared/data
.PHONY: experiments
experiments: build  ## Run the paper's evaluation at the small scale, half an hour, and write its results into docs/
	$(BIN)/deciduous experiment all --scale small --data $(DATA) --offline --out docs/results
	$(BIN)/python docs/make_experiments.py

.PHONY: format
format: .venv/.tools  ## Format all sources
	$(BIN)/ruff format src tests docs examples benchmarks
	$(BIN)/ruff check --fix src tests docs examples benchmarks
	$(BIN)/clang-format -i cpp/core/* cpp/bindings/* tests/cpp/* tests/native/*

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

# A fixed workload of the core under callgrind. `make guard UPDATE=1` writes its counts as the new baseline.
.PHONY: guard
guard: .venv/.tools  ## Count the instructions of a fixed workload; fails if a phase takes a tenth more than before
	@mkdir -p build
	@$(BIN)/cmake -S . -B build/guard -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DDECIDUOUS_WORKLOAD=ON \
	    -DCMAKE_BUILD_TYPE=Release > build/guard.log || (cat build/guard.log; exit 1)
	@$(BIN)/cmake --build build/guard >> build/guard.log || (cat build/guard.log; exit 1)
	$(BIN)/python -m benchmarks.instructions build/guard/workload $(if $(UPDATE),--update)

.venv/.peers: .venv/.tools
	$(BIN)/pip install --quiet --group bench
	@touch $@

BENCH ?=
.PHONY: bench
bench: build .venv/.peers  ## Measure everything beside the peers, about an hour; BENCH=--quick for five minutes
	$(BIN)/python -m benchmarks $(BENCH)

.PHONY: clean
clean:  ## Remove everything that was built
	rm -rf .venv build .hypothesis .mypy_cache .pytest_cache .ruff_cache

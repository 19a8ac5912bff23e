# Everything is installed into .venv by the targets that need it. `make help` lists them.
PYTHON ?= python3
BIN := .venv/bin
PACKAGE := build/package
CORE_SOURCES := CMakeLists.txt $(wildcard cpp/core/* cpp/core/*/* cpp/bindings/*)
CPP_FOLDERS := cpp/core cpp/core/* cpp/bindings tests/cpp tests/cpp/unit tests/native
CPP_FILES = $(wildcard $(foreach ending,h cpp c,$(addsuffix /*.$(ending),$(CPP_FOLDERS))))
STRESS_ROUNDS ?= 60
STRESS_STATES ?= 5000
ALLOCATION_ROUNDS ?= 3

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
	$(BIN)/pip install --quiet --no-build-isolation --config-settings=build-dir=$(PACKAGE) --editable .
	@touch $@

.PHONY: build
build: .venv/.built  ## Set up .venv and build the package into it

.PHONY: demo
demo: build  ## Delete one person from a forest of many rows, in a minute: cost, proof, certificate, latency against retraining
	$(BIN)/python -m deciduous.demo

# First two steps at a time, each with its output in one piece, the longest first; then tests in all processors, beside
# those on Ray clusters, which wait more than they work.
.PHONY: test test-package test-cluster
test: build doctest valgrind postgres chromium jq  ## Everything that must pass: checks, unit tests, debug and address-sanitizer builds, the guard, all tests but the slow ones
	$(MAKE) --jobs=2 --output-sync=target asan guard debug unit check
	$(MAKE) --jobs=2 --output-sync=target test-package test-cluster

test-package: build
	$(BIN)/python -m pytest -m "not slow" --ignore=tests/cluster --numprocesses auto --dist worksteal

test-cluster: build
	$(BIN)/python -m pytest -m "not slow" tests/cluster --numprocesses 2 --dist loadfile

.PHONY: postgres
postgres:  ## Find PostgreSQL's server programs, or install them; the tests of live tables start a server of their own
	@scripts/postgres.sh --install || echo "Tests that need it are skipped."

.PHONY: chromium
chromium:  ## Find Chromium and common fonts, or install them; a test prints certificates with them
	@command -v chromium || scripts/install_package.sh chromium || echo "Tests that need it are skipped."
	@scripts/fonts.sh || echo "Tests that need them are skipped."

.PHONY: jq
jq:  ## Find jq and OpenSSL, or install them; a test checks signed statements by hand with them
	@for tool in jq openssl; do \
	    command -v $$tool || scripts/install_package.sh $$tool || echo "Tests that need it are skipped."; done

.PHONY: test-slow
test-slow: build postgres  ## The slow tests, and the state machine for a long time
	DECIDUOUS_HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest

.PHONY: test-oldest
test-oldest:  ## The estimator's tests with the oldest versions of the dependencies that we declare
	$(PYTHON) -m venv build/oldest
	build/oldest/bin/pip install --quiet "numpy==1.26.*" "scipy==1.11.*" "scikit-learn==1.6.*" "pandas==2.2.*" \
	    "pytest==8.*" "hypothesis>=6.100" "narwhals==1.20.*" "polars==1.0.*" "pyarrow==15.*" rich .
	build/oldest/bin/python -m pytest tests/test_columns.py tests/test_estimator_checks.py tests/test_forest.py \
	    tests/test_oob.py tests/test_real_weights.py tests/test_refused.py tests/test_regressor.py tests/test_weights.py

.PHONY: check
check: build  ## Formatting, lints, types, import layers
	$(BIN)/ruff format --check src tests docs examples benchmarks
	$(BIN)/ruff check src tests docs examples benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run --Werror $(CPP_FILES)

STUB := src/deciduous/_core.pyi
.PHONY: stub
stub: build  ## Write the type stub of the core anew, after a change of the bindings
	$(BIN)/python -m nanobind.stubgen --quiet --module deciduous._core --output-file $(STUB)

.PHONY: docs
docs: build  ## Write docs/api.md and docs/cli.md again after a change of docstrings, with the transcript and the results of the experiments
	$(BIN)/python docs/make_api.py
	$(BIN)/python docs/make_cli.py
	$(BIN)/python docs/make_experiments.py
	$(BIN)/python docs/make_scale.py
	$(BIN)/python docs/make_transcript.py

.PHONY: experiments
experiments: build  ## Run the paper's evaluation at the small scale, half an hour, and write its results into docs/; DATA=folder of data sets
	$(BIN)/deciduous experiment all --scale small $(if $(DATA),--data $(DATA) --offline) --out docs/results
	$(BIN)/python docs/make_experiments.py

.PHONY: format
format: .venv/.tools  ## Format all sources
	$(BIN)/ruff format src tests docs examples benchmarks
	$(BIN)/ruff check --fix src tests docs examples benchmarks
	$(BIN)/clang-format -i $(CPP_FILES)

# Programs of the core alone, without Python, each in a folder of its own. Ninja cannot share the jobs of this make.
define build_core  # folder, options of cmake
	@mkdir -p build
	@$(BIN)/cmake -S . -B build/$(1) -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja $(2) > build/$(1).log \
	    || (cat build/$(1).log; exit 1)
	@MAKEFLAGS= $(BIN)/cmake --build build/$(1) >> build/$(1).log || (cat build/$(1).log; exit 1)
endef

.PHONY: doctest
doctest:  ## Find doctest, with which the unit tests of the core are written, or install it
	@find /usr/include /usr/local/include -path '*/doctest/doctest.h' | grep . \
	    || scripts/install_package.sh doctest-dev || echo "Tests that need it are skipped."

# The randomised stress test, built in three ways; the unit tests come with the one under the address sanitizer.
.PHONY: built-debug built-asan built-tsan
built-debug: SANITIZE :=
built-asan: SANITIZE := address,undefined
built-tsan: SANITIZE := thread
built-asan: WITH_UNIT := -DDECIDUOUS_UNIT=ON
built-asan: doctest
built-debug built-asan built-tsan: built-%: .venv/.tools
	$(call build_core,$*,-DDECIDUOUS_STRESS=ON -DDECIDUOUS_CHECKS=ON -DDECIDUOUS_SANITIZE=$(SANITIZE) $(WITH_UNIT) \
	    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1")

.PHONY: unit
unit: built-asan  ## Unit tests of the core's small classes, under the address and undefined-behaviour sanitizers
	@if [ -x build/asan/unit ]; then build/asan/unit; else echo "There is no doctest: the unit tests are skipped."; fi

.PHONY: debug asan tsan
debug: ## Stress test of the core that recounts every statistic after each update
asan:  ## Stress test under the address and undefined-behaviour sanitizers
tsan:  ## Stress test under the thread sanitizer
debug: STRESS_ROUNDS := 200
debug asan tsan: %: built-%
	build/$@/stress $(STRESS_ROUNDS)
	build/$@/stress --states $(STRESS_STATES) --seed $(SEED)
	build/$@/allocations $(ALLOCATION_ROUNDS)

# What `make test` does for minutes, for an hour or two: docs/reliability.md says what came of it.
SEED ?= 0
STATES ?= 1000000
FAILURES ?= 60
INTERRUPTS ?= 5000
MUTANTS ?= 1000000
KILLS ?= 500
.PHONY: torture torture-core torture-memory torture-interrupts torture-files torture-live torture-cluster
torture: torture-core torture-memory torture-interrupts torture-files torture-live torture-cluster  ## Everything that may go wrong, many times over

# As users have it, without recounts: a fault of the caches shows in the forest, or nowhere.
torture-core: .venv/.tools  ## Hostile histories at the limits of all counts, each state against a fresh fit; STATES=1000000
	$(call build_core,release,-DDECIDUOUS_STRESS=ON -DCMAKE_BUILD_TYPE=Release)
	build/release/allocations 1
	build/release/stress --states $(STATES) --seed $(SEED)

torture-memory:  ## Every allocation of every operation fails once, under the address sanitizer; FAILURES=60 rounds
	$(MAKE) asan STRESS_ROUNDS=1 ALLOCATION_ROUNDS=$(FAILURES)

torture-interrupts: build  ## Ctrl-C at random moments of every operation; INTERRUPTS=5000
	$(BIN)/python tests/torture/interrupts.py --interrupts $(INTERRUPTS) --seed $(SEED)

torture-files: build  ## Damaged model files with repaired checksums: each is refused, or a sound forest; MUTANTS=1000000
	$(BIN)/python tests/torture/files.py --mutants $(MUTANTS)

torture-live: build postgres  ## Kills of processes that work on live forests, with SQLite and PostgreSQL each; KILLS=500
	$(BIN)/python tests/torture/live_kills.py --kills $(KILLS) --seed $(SEED)

torture-cluster: build  ## Kills of processes of a forest on a Ray cluster, at random moments of every operation; KILLS=500
	DECIDUOUS_KILLS=$(KILLS) $(BIN)/python -m pytest tests/cluster/test_ray_failures.py tests/cluster/test_ray_kills.py -k kill

# A fixed workload of the core under callgrind. `make guard UPDATE=1` writes its counts as the new baseline.
.PHONY: guard
guard: build  ## Count the instructions of a fixed workload; fails if a phase takes a tenth more than before
	@MAKEFLAGS= $(BIN)/cmake --build $(PACKAGE) --target workload > build/guard.log || (cat build/guard.log; exit 1)
	$(BIN)/python -m benchmarks.instructions $(PACKAGE)/workload $(if $(UPDATE),--update)

.PHONY: valgrind
valgrind:  ## Find valgrind, with which the guard counts, or install it
	@command -v valgrind || scripts/install_package.sh valgrind || echo "The guard is skipped."

.venv/.peers: .venv/.tools
	$(BIN)/pip install --quiet --group bench
	@touch $@

# Tools that `make test` does without, by their group in pyproject.toml.
.venv/.group-%: .venv/.tools
	$(BIN)/pip install --quiet --group $*
	@touch $@

# Lines of the package that a part of the tests runs, and of the core that its own programs run: five minutes.
COVERED_PYTHON ?= 93
COVERED_CORE ?= 93
COVERAGE := build/coverage
COVERING := $(patsubst %,tests/test_%.py,categorical cli cli_data cli_live columns errors evidence \
    evidence_anchors evidence_cli evidence_live export forest frozen labels live \
    live_capture live_certificate live_people live_predicting live_record model_file pictures progress row_names tuning \
    update weights)
.PHONY: coverage coverage-python coverage-core
coverage: coverage-python coverage-core  ## Lines of package and core that tests run; fails below the floors

coverage-python: build .venv/.group-coverage
	@mkdir -p $(COVERAGE)/report
	COVERAGE_FILE=$(COVERAGE)/python $(BIN)/python -m pytest -m "not slow" --numprocesses auto --dist worksteal \
	    --cov --cov-report=term:skip-covered --cov-report=html:$(COVERAGE)/report/python \
	    --cov-fail-under=$(COVERED_PYTHON) $(COVERING)

coverage-core: .venv/.group-coverage doctest
	@mkdir -p $(COVERAGE)/report/core
	$(call build_core,coverage/core,-DDECIDUOUS_STRESS=ON -DDECIDUOUS_UNIT=ON -DCMAKE_BUILD_TYPE=Debug \
	    -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1 --coverage -fprofile-update=atomic")
	find $(COVERAGE)/core -name '*.gcda' -delete
	$(COVERAGE)/core/unit
	$(COVERAGE)/core/stress 30
	$(COVERAGE)/core/allocations 1
	$(BIN)/gcovr --root . --filter cpp/core --exclude-throw-branches $(COVERAGE)/core \
	    --html-nested $(COVERAGE)/report/core/index.html --print-summary --fail-under-line $(COVERED_CORE)

# .clang-tidy says which checks. The compiler of the compile commands does not matter to it.
.PHONY: tidy
tidy: .venv/.group-tidy  ## clang-tidy over the core and the bindings, minutes
	@mkdir -p build
	@$(BIN)/cmake -S . -B build/tidy -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
	    -Dnanobind_DIR=$$($(BIN)/python -m nanobind --cmake_dir) -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python > build/tidy.log
	$(BIN)/run-clang-tidy.py -quiet -p build/tidy -clang-tidy-binary $(BIN)/clang-tidy 'cpp/(core|bindings)/'

.PHONY: lint-workflows
lint-workflows: .venv/.group-lint  ## Lint the workflows of GitHub
	$(BIN)/actionlint
	$(BIN)/zizmor --offline --quiet .github

.PHONY: site
site: .venv/.group-site  ## Build the documentation as a site, in build/site
	$(BIN)/mkdocs build --strict --quiet

BENCH ?=
.PHONY: bench
bench: build .venv/.peers  ## Measure everything beside the peers, about an hour; BENCH=--quick for five minutes
	$(BIN)/python -m benchmarks $(BENCH)

.PHONY: clean
clean:  ## Remove everything that was built
	rm -rf .venv build .hypothesis .mypy_cache .pytest_cache .ruff_cache

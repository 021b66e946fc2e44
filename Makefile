# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
# Shortcuts for developers; they need python3, g++ and make, and make the rest
# themselves in .venv/ and build/. 'make help' lists them.

# The first Python that TensorFlow has wheels for; 'make PYTHON=...' overrides.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 \
  python3.10; do $$python -c 'import sys; \
  sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && \
  echo $$python && exit; done; echo python3)
VENV := .venv
BUILD := build/make
BIN := $(VENV)/bin
JOBS ?= $(shell nproc)

# Tools of the environment come first; what wants a home gets one.
export PATH := $(CURDIR)/$(BIN):$(PATH)
ifeq ($(HOME),)
export HOME := $(CURDIR)/build/home
endif
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
export PRE_COMMIT_HOME := $(CURDIR)/build/pre-commit
# For setup.py, whoever calls it below.
export TPULESS_BUILD_DIR := $(BUILD)
export CMAKE_ARGS := -DTPULESS_BUILD_TESTS=ON

# ThreadSanitizer of older compilers wants a plain address space.
PLAIN_ADDRESSES := $(shell setarch -R true 2>/dev/null && echo setarch -R)

CC_SOURCES := $(shell find cc -name '*.h' -o -name '*.cc')
CMAKE_SOURCES := CMakeLists.txt $(wildcard cmake/*)
PYTEST := $(BIN)/python -m pytest
# TensorFlow makes its devices once a process.
VIRTUAL_CORES := 1 2 4 8

.DELETE_ON_ERROR:
# Recipes run many jobs of their own, in one build folder.
.NOTPARALLEL:
.PHONY: help setup build test test-slow test-cc test-python test-java matrix \
  demo lint format wheel sdist bazel bench bench-quick bench-peers bench-cc \
  bench-optimizers bench-virtual-tpu asan tsan arm64 requirements clean

help: ## Lists the targets.
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' Makefile | expand -t 18

setup: $(VENV)/.dev ## Makes .venv/ with all tools, pinned.
build: build/.built ## Builds into python/tpuless/, installed as editable.

$(VENV)/.dev: requirements/dev.txt
	$(PYTHON) requirements/install.py $(VENV) $<
	@touch $@

$(VENV)/.demo: requirements/demo.txt $(VENV)/.dev
	$(PYTHON) requirements/install.py $(VENV) $<
	@touch $@

build/.editable: $(VENV)/.dev pyproject.toml setup.py $(CMAKE_SOURCES)
	@echo "Building; the first time takes some minutes."
	$(BIN)/python -m pip install --quiet --no-build-isolation --no-deps \
	  --editable .
	@touch $@

build/.built: build/.editable $(CC_SOURCES)
	cmake --build $(BUILD) --target tpuless_python
	cmake --install $(BUILD)
	@touch $@

test: test-cc test-python ## Runs all tests but the slow ones.

test-cc: build ## Runs the C++ tests.
	cmake --build $(BUILD)
	ctest --test-dir $(BUILD) --output-on-failure --parallel $(JOBS)

test-python: build $(VENV)/.demo ## Runs the Python tests but the slow ones.
	$(PYTEST)
	for cores in $(VIRTUAL_CORES); do \
	  TPULESS_CORES=$$cores $(PYTEST) tests/virtual_tpu || exit; \
	done

# Of tests/matrix.py: the library in python/tpuless/ must be refused by others.
ifdef TF_JAVA
test-java: build
	$(PYTHON) tests/matrix.py --java $(TF_JAVA)
else
test-java: build ## Runs tests in a JVM, by JDK and Maven; TF_JAVA=1.1.0 chooses TF Java.
	$(BIN)/python tests/java/run.py
endif

matrix: ## Builds and tests with every TensorFlow minor; TF=2.18.1 chooses one.
	$(PYTHON) tests/matrix.py $(TF)

test-slow: build $(VENV)/.demo ## Runs the slow tests alone: builds and installs of all kinds.
	$(PYTEST) -m slow --timeout 3600

demo: build $(VENV)/.demo ## Trains on flight delays, and shows a picture.
	$(BIN)/python examples/flights.py

lint: $(VENV)/.dev ## Checks what git tracks, as CI does.
	pre-commit run --all-files --show-diff-on-failure

format: $(VENV)/.dev ## Formats what git tracks.
	-pre-commit run --all-files clang-format
	-pre-commit run --all-files gersemi
	-pre-commit run --all-files ruff-format

wheel: $(VENV)/.dev ## Makes dist/*.whl for the TensorFlow in .venv/, as manylinux.
	rm -rf build/wheel dist/tpuless-*.whl
	@echo "Building; the first time takes some minutes."
	TPULESS_LABEL=1 $(BIN)/python -m pip wheel --quiet --no-build-isolation \
	  --no-deps --wheel-dir build/wheel .
	auditwheel repair --wheel-dir dist --exclude libtensorflow_cc.so.2 \
	  --exclude libtensorflow_framework.so.2 build/wheel/*.whl
	@ls -l dist/*.whl

sdist: $(VENV)/.dev ## Makes dist/*.tar.gz, for any TensorFlow.
	rm -f dist/tpuless-*.tar.gz
	$(BIN)/python -c 'from setuptools import build_meta; \
	  build_meta.build_sdist("dist")'

# No server stays behind. Bazel takes the Python of the path, with TensorFlow.
bazel: $(VENV)/.dev ## Builds and tests with Bazel, which Debian has as bazel-bootstrap.
	@command -v bazel >/dev/null || { echo "tpuless needs Bazel 4.2.3 or" \
	  "later, found none; 'apt-get install bazel-bootstrap' gives it on" \
	  "Debian" >&2; exit 1; }
	bazel --batch test --jobs=$(JOBS) //...
	$(BIN)/python bazel/run_python_tests.py

build/peers/.%: benchmarks/requirements-%.txt
	$(PYTHON) requirements/install.py build/peers/$* $<
	@touch $@

build/peers/roofline: benchmarks/roofline.cc
	mkdir -p $(@D)
	g++ -std=c++17 -O3 -march=native -pthread $< -o $@

bench-peers: build/peers/.tf build/peers/.torch build/peers/roofline ## Makes the environments of what is compared; 7 GB.

bench-cc: $(VENV)/.dev
	cmake --preset benchmark
	cmake --build --preset benchmark

bench: build $(VENV)/.demo bench-peers bench-cc ## Measures all that is claimed, in half an hour.
	$(BIN)/python benchmarks/bench.py
	$(BIN)/python benchmarks/enqueue.py
	$(BIN)/python benchmarks/load.py

bench-quick: build $(VENV)/.demo bench-peers bench-cc ## Measures the most of it, in three minutes.
	$(BIN)/python benchmarks/bench.py --quick

bench-optimizers: bench-cc ## Measures the update of every optimizer.
	$(BIN)/python benchmarks/optimizers.py build/benchmark/optimizers_benchmark

bench-virtual-tpu: build $(VENV)/.demo ## Measures a DLRM on virtual TPU cores.
	$(BIN)/python benchmarks/virtual_tpu.py

asan: $(VENV)/.dev ## Tests the engine under AddressSanitizer and UBSan.
	cmake --preset asan
	cmake --build --preset asan
	ctest --preset asan --parallel $(JOBS)

tsan: $(VENV)/.dev ## Tests the engine under ThreadSanitizer.
	cmake --preset tsan
	$(PLAIN_ADDRESSES) cmake --build --preset tsan
	$(PLAIN_ADDRESSES) ctest --preset tsan --parallel $(JOBS)

# Debian has both: g++-aarch64-linux-gnu and qemu-user.
arm64: $(VENV)/.dev ## Tests the engine for AArch64, by cross compiler and emulator.
	cmake --preset arm64
	cmake --build --preset arm64
	ctest --preset arm64 --parallel $(JOBS)

requirements: $(VENV)/.dev ## Pins all requirements anew.
	cd requirements && for name in dev demo; do \
	  command="uv pip compile --universal --python-version 3.10"; \
	  command="$$command --no-emit-index-url --overrides overrides.txt"; \
	  command="$$command $$name.in -o $$name.txt"; \
	  $$command --upgrade --quiet --custom-compile-command "$$command" \
	  || exit; done
	cd benchmarks && for name in tf torch tfra; do \
	  uv pip compile --quiet --universal --python-version 3.11 \
	  --no-emit-index-url --custom-compile-command "make requirements" \
	  $$(test $$name = tfra || echo --overrides ../requirements/overrides.txt) \
	  requirements-$$name.in -o requirements-$$name.txt || exit; done
	cd requirements && for name in matrix/*.in; do \
	  uv pip compile --upgrade --quiet --universal --python-version 3.10 \
	  --no-emit-index-url --custom-compile-command "make requirements" \
	  --overrides overrides.txt $$name -o $${name%.in}.txt || exit; done

clean: ## Removes what was built; .venv/ stays.
	rm -rf build dist bazel-* python/*.egg-info python/tensorflow-plugins
	rm -f python/tpuless/*.so python/tpuless/_build_info.py

# make demo   a tour on a built-in sample, or on MODEL=path
# make test   every gate: lint, types, freshness, tests
# The rest is listed by `make help`. Everything happens in the virtual environment .venv.

PYTHON ?= python3
VENV ?= .venv
JOBS ?= auto
MODEL ?=
FUZZ_SECONDS ?= 60

BIN := $(VENV)/bin
# Where there is a C compiler, a compile that fails is an error and not a silent fallback.
export GGUFSPEC_NATIVE := $(if $(shell command -v cc || command -v gcc || command -v clang),1,)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

BUILD_INPUTS := pyproject.toml CMakeLists.txt spec/VERSION \
  $(shell find runtime/c generated/c -name '*.[ch]' 2>/dev/null)
PYTEST := $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help demo install develop test lint format types fresh pytest fuzz cross conformance sweep \
  bench generate pages vectors docs realfiles wheel clean
.NOTPARALLEL:

help: ## list the targets
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

demo: install ## info, quantize, dequantize, compare, on a sample or MODEL=path
	@$(BIN)/python -m ggufspec.demo $(if $(MODEL),"$(MODEL)")

install: $(VENV)/.installed ## the package, editable

develop: $(VENV)/.developed ## the package, editable, and everything the tests need

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or newer is needed")'
	$(PYTHON) -m venv $(VENV)

# Without build isolation all builds, the tests' wheel too, share one folder and compile a file once.
$(VENV)/.build: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q scikit-build-core cmake ninja
	@touch $@

$(VENV)/.installed: $(BUILD_INPUTS) | $(VENV)/.build
	@echo "installing the package; compiling its kernels takes some minutes, once"
	$(BIN)/python -m pip install -q --no-build-isolation -e .
	@touch $@

# Programs and libraries follow pyproject.toml; the compiled part follows its sources.
$(VENV)/.tools: pyproject.toml | $(VENV)/.build
	@echo "installing what the tests need; compiling kernels takes some minutes, once"
	$(BIN)/python -m pip install -q --no-build-isolation -e '.[test]'
	@touch $@ $(VENV)/.developed $(VENV)/.installed $(VENV)/.site

$(VENV)/.site: pyproject.toml | $(VENV)/.installed
	$(BIN)/python -m pip install -q --no-build-isolation -e '.[codegen,docs]'
	@touch $@

$(VENV)/.developed: $(BUILD_INPUTS) | $(VENV)/.tools
	$(BIN)/python -m pip install -q --no-deps --no-build-isolation -e .
	@touch $@ $(VENV)/.installed

# `fuzz` runs two of the files with more time than they have by themselves.
test: PYTEST_REST := --ignore=tests/fuzz/test_fuzzers.py --ignore=tests/fuzz/test_sanitized.py
test: lint types fresh fuzz pytest ## every gate

lint: $(VENV)/.tools ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.tools ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# mypy does not see through the editable install, so it gets a regular one.
types: $(VENV)/.tools ## mypy --strict
	@rm -rf build/types
	@GGUFSPEC_NATIVE=0 $(BIN)/python -m pip install -q --no-deps --target build/types .
	MYPYPATH=build/types $(BIN)/mypy --strict -p ggufspec
	MYPYPATH=build/types:tests $(BIN)/mypy --strict -p support

fresh: $(VENV)/.tools ## generated/ is what the specification says
	$(BIN)/ggufspec generate --check

# A file's tests stay on one worker, so that what they share is made once.
pytest: develop ## the tests alone
	$(PYTEST) -n $(JOBS) --dist loadfile $(PYTEST_REST)

fuzz: develop ## fuzzers and sanitizers, FUZZ_SECONDS=60 each: libFuzzer, atheris, damaged files
	GGUFSPEC_FUZZ_SECONDS=$(FUZZ_SECONDS) $(PYTEST) -q -n $(JOBS) --dist load tests/fuzz/test_fuzzers.py tests/fuzz/test_sanitized.py
	PYTHONPATH=tests $(BIN)/python -m support.sanitized -m pytest -q tests/roundtrip/test_pack.py

cross: develop ## AArch64 and s390x (big-endian) builds under qemu-user
	GGUFSPEC_CROSS=1 $(PYTEST) tests/cross

conformance: develop ## every vector through every language whose tools are here: a matrix
	PYTHONPATH=tests $(BIN)/python -m languages

sweep: develop ## the exhaustive tests that `make test` leaves out
	$(PYTEST) -n $(JOBS) -m sweep

bench: develop ## speed against ggml, libgguf and gguf-py, from one run; LANG=all: other languages
	PYTHONPATH=tests $(BIN)/python -m bench $(if $(filter all,$(LANG)),--part languages)

generate: $(VENV)/.tools ## write generated/ anew from spec/
	$(BIN)/ggufspec generate --fix

pages: ## generated/pages/ from runtime/web and generated/typescript; needs node
	cd runtime/web && npm ci --ignore-scripts --no-audit --no-fund && npx --no-install tsc && node build.mjs

vectors: develop ## write spec/conformance/ anew
	PYTHONPATH=tests $(BIN)/python -m vectors

docs: $(VENV)/.site ## the reference site, in build/site; a link that leads nowhere is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

realfiles: $(VENV)/.tools ## fetch the real model files that the tests read (500 MB)
	PYTHONPATH=tests $(BIN)/python -m support.realfiles

wheel: $(BIN)/python ## dist/*.whl, with the compiled part
	$(BIN)/python -m pip wheel -q --no-deps --wheel-dir dist .

clean: ## everything but the virtual environment
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

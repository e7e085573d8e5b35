# Every target makes what it needs, starting with a virtual environment inside this folder. `make help` lists them.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ORACLE := .venv-oracle
RIVAL := .venv-rivals
RIVALS ?= jax numba torch
BENCH ?= --threads 1 2
PROJECT := pyproject.toml setup.py
RUNTIME := $(wildcard csrc/*.c csrc/*.h csrc/*.inc csrc/*.py csrc/math/*.h)
TINYTRACE_CACHE_DIR ?= $(CURDIR)/.cache/demo
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# The requirements of an extra, one a line. To install these alone compiles the package's C no second time.
EXTRA := $(BIN)/python -c 'import sys, tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	print("\n".join(project["optional-dependencies"][sys.argv[1]]))'

# The tests that run compiled programs, and the settings under which they must be green besides the usual ones.
COMPILED := $(addprefix tests/,api codegen control_flow csrc lax primitives random runtime seeds testing)
MATRIX := "--threads=1" "--threads=5" "--exact --threads=1" "--exact --threads=2" "--exact --threads=5"

# Three processes more than there are cores: tests wait for compilers, locks and processes. On two cores that saves a tenth.
# The fast tests wait less, and each process reads all of them first, for four seconds.
CORES := $(shell getconf _NPROCESSORS_ONLN)
WORKERS := $(shell expr $(CORES) + 3)
QUICK_WORKERS := $(shell expr $(CORES) + 1)

# Python's bytecode is kept: without it every process compiles the package's 300 modules first.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-thorough test-fast test-matrix sanitize test-compilers dist-check array-api-tests jax-tests mutants lint exhaustive golden notebooks tutorials lab docs bench sweep scaling clean

help:  ## print this list
	@echo "make TARGET, where TARGET is one of"
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## (.*)/  \1|\2/' | awk -F'|' '{printf "%-12s %s\n", $$1, $$2}'

demo: $(VENV)/.installed  ## run the programs of the introductions: jaxpr, C, output, hit or miss
	@echo "==> the demo (its cache is $(TINYTRACE_CACHE_DIR))"
	@TINYTRACE_CACHE_DIR="$(TINYTRACE_CACHE_DIR)" $(BIN)/python -m tinytrace.cli demo

test: $(VENV)/.dev  ## run all tests (minutes)
	@echo "==> all tests"
	@PYTEST_XDIST_AUTO_NUM_WORKERS=$(WORKERS) $(BIN)/python -m pytest -n auto --dist worksteal

test-thorough: $(VENV)/.dev  ## run all tests with whole products of axes and fresh random programs (an hour)
	@echo "==> all tests, thoroughly"
	@HYPOTHESIS_PROFILE=search PYTEST_XDIST_AUTO_NUM_WORKERS=$(WORKERS) $(BIN)/python -m pytest --thorough -n auto --dist worksteal

test-fast: $(VENV)/.dev  ## run what is quick of each file of tests, the laws of primitives on all of them (about a minute)
	@echo "==> the fast tests"
	@HYPOTHESIS_PROFILE=quick PYTEST_XDIST_AUTO_NUM_WORKERS=$(QUICK_WORKERS) $(BIN)/python -m pytest -q -n auto \
		--dist worksteal --quick

# Of long tables each setting takes a third, and together they take all.
test-matrix: $(VENV)/.dev  ## run what runs compiled programs with 1, 2 and 5 threads, in default and exact mode (minutes)
	@first=0; for options in $(MATRIX); do echo "==> $$options"; HYPOTHESIS_PROFILE=fast $(BIN)/python -m pytest -q -n auto \
		--dist worksteal -m "not slow" --thorough --sample=3 --first=$$first $$options $(COMPILED) || exit 1; \
		first=$$((first + 1)); done

sanitize: $(VENV)/.dev  ## run compiled programs under the address, undefined behaviour and thread sanitizers (minutes)
	@echo "==> gcc's sanitizers"
	@$(BIN)/python -m tests.sanitized

test-compilers: $(VENV)/.dev  ## run what runs compiled programs with each gcc and clang that is installed (minutes)
	@$(BIN)/python -m tests.compilers

dist-check: $(VENV)/.dev  ## build the sdist, make and install the wheel in a fresh environment, run compiled functions there
	@$(BIN)/python -m tests.distribution

array-api-tests: $(VENV)/.dev  ## run data-apis' tests of the array API standard; SRC=FOLDER where they are already
	@echo "==> the tests of the array API standard"
	@$(PIP) install $$($(EXTRA) array-api)
	@PYTEST_XDIST_AUTO_NUM_WORKERS=$(WORKERS) $(BIN)/python -m tests.array_api.run $(SRC) $(ARRAY_API) -- array_api_tests -n auto --dist worksteal

jax-tests: $(VENV)/.dev  ## run JAX 0.4.35's own tests: SRC=FOLDER with its tag jax-v0.4.35, FILES="lax_test nn_test" for some
	@$(PIP) install $$($(EXTRA) jax-tests)
	@JAX_NUM_GENERATED_CASES=$${JAX_NUM_GENERATED_CASES:-3} $(BIN)/python -m tests.jax_tests.run $(SRC) $(FILES)

mutants: $(VENV)/.dev  ## plant 350 faults in copies of the package and tell which of them no test catches (an hour)
	@$(BIN)/python -m tests.mutants all

lint: $(VENV)/.dev  ## check style (ruff) and types (mypy --strict)
	@echo "==> ruff"; $(BIN)/ruff check .; style=$$?; \
		echo "==> mypy --strict"; $(BIN)/mypy && exit $$style

exhaustive: $(VENV)/.dev  ## try the math functions on every float32 and write docs/math.md (half an hour)
	@echo "==> every float32"
	@$(BIN)/python -m tests.csrc.exhaustive

golden: $(ORACLE)/.installed  ## ask JAX 0.4.35 for the expected texts again and show what changed
	@echo "==> regenerating tests/goldens with JAX 0.4.35"
	@$(ORACLE)/bin/python -m tests.goldens.regenerate
	@for maker in $(basename $(notdir $(wildcard tests/goldens/make_*.py))); do \
		echo "$$maker ..."; $(ORACLE)/bin/python -m tests.goldens.$$maker || exit 1; done
	@git --no-pager diff --stat -- tests/goldens

notebooks: $(VENV)/.dev  ## execute the notebooks, which must show what they say they show
	@echo "==> the notebooks"
	@$(BIN)/python tutorials/execute.py
	@$(BIN)/python tutorials/execute.py --without compiler tutorials/00_ten_minute_tour.ipynb tutorials/04_what_is_in_a_cache_key.ipynb
	@$(BIN)/python tutorials/execute.py --without extensions

tutorials: notebooks  ## execute the notebooks, and run the tests of the twelve steps (`make test` does, too)
	@echo "==> the twelve steps"
	@$(BIN)/python -m pytest -q -n auto --dist worksteal tutorials/build

lab: $(VENV)/.lab  ## open the notebooks in JupyterLab, which is installed first; LAB="--no-browser" only serves them
	@$(BIN)/jupyter lab $(LAB) tutorials

docs: $(VENV)/.docs  ## build the documentation in docs/_build/html; a warning is an error
	@echo "==> the pages"
	@$(BIN)/python -m sphinx -q -a -W --keep-going -b html docs docs/_build/html

.PHONY: step
step: $(VENV)/.dev  ## run the tests of a step of tutorials/build: make step N=7; MODULE=mine.py for your own module
	@STEP_MODULE="$(MODULE)" $(BIN)/python -m pytest -q tutorials/build/step_$$(printf %02d $(N))_*

bench: $(VENV)/.installed $(RIVAL)/.installed  ## time us against JAX, torch, Numba and NumPy (minutes); BENCH=--quick for less
	@echo "==> the benchmarks"
	@$(BIN)/python benchmarks/run.py $(BENCH) --python tinytrace=$(BIN)/python \
		$(foreach rival,$(RIVALS) numpy,$(rival)=$(RIVAL)/bin/python)

sweep: $(VENV)/.installed $(RIVAL)/.installed  ## time every public function against JAX and NumPy, five minutes at a time
	@$(BIN)/python benchmarks/sweep.py $(SWEEP) --python tinytrace=$(BIN)/python \
		$(foreach rival,jax numpy,$(rival)=$(RIVAL)/bin/python)

scaling: $(VENV)/.installed $(RIVAL)/.installed  ## time against elements, leaves, equations, turns: exponents and jumps
	@$(BIN)/python benchmarks/scaling.py --python tinytrace=$(BIN)/python jax=$(RIVAL)/bin/python

clean:  ## remove everything that the other targets made
	rm -rf $(VENV) $(ORACLE) $(RIVAL) .cache benchmarks/results docs/_build docs/tutorials docs/made build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find tinytrace -name '*.so' -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@echo "==> creating the virtual environment $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tinytrace needs Python 3.11 or newer: make PYTHON=python3.11")'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(PROJECT) $(RUNTIME) | $(VENV)/bin/python
	@echo "==> installing tinytrace and compiling its C runtime (about a minute the first time)"
	@$(PIP) install --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.installed
	@echo "==> installing the tools of the tests"
	@$(PIP) install $$($(EXTRA) dev)
	@touch $@

$(VENV)/.lab: $(VENV)/.installed
	@echo "==> installing JupyterLab"
	@$(PIP) install $$($(EXTRA) lab)
	@touch $@

$(VENV)/.docs: $(VENV)/.installed
	@echo "==> installing the tools of the documentation"
	@$(PIP) install $$($(EXTRA) docs)
	@touch $@

$(ORACLE)/.installed:
	@echo "==> installing the oracle, JAX 0.4.35, in $(ORACLE)"
	@$(PYTHON) -m venv $(ORACLE)
	@$(ORACLE)/bin/python -m pip --disable-pip-version-check --quiet install 'jax==0.4.35' 'jaxlib==0.4.35' 'numpy<2.3'
	@touch $@

$(RIVAL)/.installed:
	@echo "==> installing the rivals ($(RIVALS)) in $(RIVAL)"
	@$(PYTHON) -m venv $(RIVAL)
	@$(RIVAL)/bin/python -m pip --disable-pip-version-check --quiet install numpy $(RIVALS:torch=torch==2.13.0)
	@touch $@

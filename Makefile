# Commands of the project.  `make env` once, then the others; each of them brings the environment up to date itself.
unexport PYTHONSAFEPATH  # `python -m tools...` finds tools/ here
BIN := .venv/bin
STAMP := .venv/.installed
DOCS := .venv-docs
ALL := $(wildcard $(STAMP))$(filter-out docs,$(MAKECMDGOALS))
N ?= 20000
VERSION_OF = $(shell $(1) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)

# The environment is of the Python named by PYTHON=..., and made again where it is of another.  Where none is named: the one it
# is of, else the first of these that starts.  A pyenv shim of a version that is not active is there and does not start
ifeq ($(PYTHON),)
PYTHON := $(shell for name in $(BIN)/python python3 python3.11 python3.12 python3.13 python3.10 python3.14; do \
	$$name -c 'import sys, venv; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null && echo $$name && break; done)
endif
ifneq ($(call VERSION_OF,$(PYTHON)),$(call VERSION_OF,$(BIN)/python))
$(STAMP): again
endif

.PHONY: core machine package compiled compiled-test wheels nightly nightly-issue again env pythons browser test lint types docs tutorials pictures unit corpus site selftest scoreboard mutate attack attack-reader replay fuzz breakfuzz cutfuzz bench demo gallery torch-matrix newest models clean

env: $(STAMP)

$(STAMP): pyproject.toml tools/env/environment.py
	@test -n "$(PYTHON)" || { echo "no Python from 3.10 to 3.14 on the PATH: make env PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m tools.env.environment .venv "$(PYTHON)"
	touch $@

# The interpreters 3.8 to 3.15 that tests and tools work with: finds them, or installs them (uv, pyenv, Debian's packages)
pythons:
	$(or $(PYTHON),python3) -m tools.env.pythons $(PYTHONS)

# Chromium and Node, for the tests of the report: finds them, or installs Debian's packages
browser:
	$(or $(PYTHON),python3) -m tools.env.browser

test: lint types docs unit

lint: $(STAMP)
	$(BIN)/ruff check src tools tests
	$(BIN)/ruff format --check src tools tests
	$(BIN)/python -m tools.env.javascript

types: $(STAMP)
	$(BIN)/mypy --strict src

# The site, in build/docs/html: a warning is an error, and every link inside it leads somewhere
# The site needs no torch: where there is no environment yet, and nothing else is asked for, a small one is made
docs: $(if $(ALL),$(STAMP),$(DOCS)/.installed)
	$(if $(ALL),$(BIN),$(DOCS)/bin)/python -m tools.docs.docs

$(DOCS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --editable '.[docs,cli]'
	touch $@

# The commands on the site's pages, run anew, with what they print: make tutorials, or make tutorials PAGES=docs/tutorials/find_the_nan.md
tutorials: $(STAMP)
	$(BIN)/python -m tools.docs.docs_outputs $(PAGES)

# The pictures of the report in README.md and the site, photographed in Chromium
pictures: $(STAMP)
	$(BIN)/python -m tools.docs.screenshots

# One process for each core and one more, up to four; a file's tests stay together.  make unit JOBS=0 PYTEST_ARGS="tests/unit -x": in one process.
# All have one hash seed, another in each run: a test may be named after a set
JOBS ?= auto
unit: $(STAMP)
	PYTHONHASHSEED=$$$$ $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder --slowest-files 15 $(PYTEST_ARGS)

# The tests that may do something else on a machine with other programs (tests/support/machine.py finds their files): with
# tools/env/fresh, those that a newcomer's machine may fail
machine:
	$(MAKE) unit PYTEST_ARGS="--machine $(PYTEST_ARGS)"

# What needs no torch, in an environment without it: for systems and Pythons that torch has no wheel for
CORE := .venv-core/$(if $(filter Windows_NT,$(OS)),Scripts,bin)/python
core:
	$(PYTHON) -m venv .venv-core
	$(CORE) -m pip install --quiet --disable-pip-version-check -e ".[cli,test]"
	$(CORE) -m pytest -n auto --dist loadfile $(addprefix tests/unit/,cli decompiler run safety views) $(PYTEST_ARGS)

# The files of a release, in dist/: a source archive, the wheel made of it, checked and installed into empty environments
package: $(STAMP)
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python -m pytest tests/test_package.py

# The compiled build (setup.py says what is in it), in .venv-compiled, which finds all other packages in .venv; and its tests:
# the golden cases, the units and a sample of the library, on what is installed there, not on src/.  CI runs them in a job of
# .github/workflows/tests.yml, not in .ci/run: the build takes eight minutes of CPU time
COMPILED := .venv-compiled/bin/python
COMPILED_TESTS := tests/test_cases.py $(addprefix tests/unit/,decompiler safety test_native.py)
compiled: $(STAMP)
	$(BIN)/python -m tools.native.compiled install .venv-compiled
compiled-test: compiled
	PYTHONHASHSEED=$$$$ $(COMPILED) -m pytest -o pythonpath=". tests/support" -n $(JOBS) --dist loadfile $(COMPILED_TESTS) $(PYTEST_ARGS)
	$(COMPILED) -m tools.native.compiled same json argparse asyncio typing

# A compiled wheel for each Python from 3.10 to 3.14 that is found, in dist/
wheels: $(STAMP)
	$(BIN)/python -m tools.native.compiled wheels $(WHEELS)

# The tests with the newest torch that pip finds (PIP_PRE=1 PIP_EXTRA_INDEX_URL=...: the nightly one); and the issue that says it failed
nightly:
	TORCH=torch $(MAKE) env
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile tests/torch $(PYTEST_ARGS)
nightly-issue:
	tools/torch/nightly_issue

# Every code object of the standard library, beside what ast.unparse's text gives: make corpus VERSION=3.13, or VERSION=all
VERSION ?= 3.11
corpus: $(STAMP)
	$(BIN)/python -m tools.corpus.corpus --control --version $(VERSION) $(ARGS)

# The same for installed packages, compiled by 3.11 and by 3.13: make site, or make site SITE=numpy
SITE ?= torch transformers numpy sympy networkx setuptools pip
SITE_VERSIONS ?= 3.11 3.13
site: $(STAMP)
	$(BIN)/python -m tools.corpus.corpus --control $(SITE_VERSIONS:%=--version %) \
		$(SITE:%=--path $(wildcard .venv/lib/python3*/site-packages)/%) $(ARGS)

# The standard library's own tests, run on its decompiled text
selftest: $(STAMP)
	$(BIN)/python -m tools.corpus.stdlib_selftest $(ARGS)

# Meaning-changing edits, each of which the proof must reject: make mutate ARGS="--version 3.13"
mutate: $(STAMP)
	$(BIN)/python -m tools.proof.mutate $(ARGS)

# Mutants of decompiled texts, then of bytecode: what the proof accepts is run, and must do the same: make attack ARGS="--version 3.13 --count 10000"
attack: $(STAMP)
	$(BIN)/python -m tools.proof.attack.texts $(ARGS)
	$(BIN)/python -m tools.proof.attack.bytecodes $(ARGS)

# What this working tree writes, against what a commit writes: make replay BASE=main, or make replay BASE=main ARGS="--quick"
BASE ?= HEAD
replay: $(STAMP)
	$(BIN)/python -m tools.corpus.replay --base $(BASE) $(ARGS)

# Coverage-guided attack on the reader of .pyc files, with atheris (Linux, Pythons with a wheel of it): make attack-reader SECONDS=600
SECONDS ?= 60
attack-reader: $(STAMP)
	test -d .venv/atheris/atheris || $(BIN)/pip install --quiet --no-deps --target .venv/atheris atheris
	PYTHONPATH=.venv/atheris:src $(BIN)/python -m tools.proof.attack.reader .cache/reader -max_total_time=$(SECONDS) -artifact_prefix=.cache/

# Random control-flow graphs, proven and executed: make fuzz N=100000
fuzz: $(STAMP)
	$(BIN)/python -m tools.fuzz.fuzz --count $(N) $(ARGS)
	$(BIN)/python -m tools.fuzz.mutantnames --count 100

# Unreachable code put into 500 files of each version's library, decompiled and proven: make deadcode ARGS="--version 3.14"
deadcode: $(STAMP)
	$(BIN)/python -m tools.fuzz.deadcode $(ARGS)

# Random programs with graph breaks, compiled plainly and under prepare_debug: make breakfuzz ARGS="--count 500"
breakfuzz: $(STAMP)
	$(BIN)/python -m tools.fuzz.breakfuzz $(ARGS)

# Functions cut in two at random calls, as Dynamo cuts them, and their second halves: make cutfuzz ARGS="json.decoder --count 900"
cutfuzz: $(STAMP)
	$(BIN)/python -m tools.fuzz.cutfuzz argparse inspect tarfile typing zipfile torch.nn.functional $(ARGS)

# CPU time against ast.unparse(ast.parse(source)), how the work grows, and the other decompilers in one table; what prepare_debug
# costs a compilation; what is left in the text that runs for Dynamo frames
scoreboard: $(STAMP)
	$(BIN)/python -m tools.bench.scoreboard $(ARGS)

bench: $(STAMP)
	$(BIN)/python -m tools.bench.bench $(ARGS)
	$(BIN)/python -m tools.bench.bench_torch
	$(BIN)/python -m tools.bench.dynamo_readability

# The integration tests on each supported torch, in environments of their own (5 GB each, removed afterwards):
# make torch-matrix, or make torch-matrix TORCHES="2.6 2.13-py3.10"
TORCHES ?=
torch-matrix: $(STAMP)
	$(BIN)/python -m tools.torch.torch_matrix $(TORCHES) $(ARGS)

# A share of these tests on the newest torch of the matrix, in an environment that stays: .venv-newest (some 5 GB of CUDA wheels)
newest: $(STAMP)
	$(BIN)/python -m tools.torch.newest $(ARGS)

# Every model of the paper and the architectures since, with depyf and without; goes on where the last run ended:
# make models, or make models ARGS="--only Bert --backend eager --shard 1/4 --seconds 600"
models: $(STAMP)
	$(BIN)/python -m tools.torch.models $(ARGS)

# Scripts of small compiled models, in examples/gallery: make gallery, or make gallery ARGS="--only kv_cache"
gallery: $(STAMP)
	$(BIN)/python -m tools.docs.gallery $(ARGS)

demo: $(STAMP)
	$(BIN)/python -m tools.docs.demo

clean:
	rm -rf build dist .venv-compiled corpus_out models_out demo_dump .mypy_cache .ruff_cache .pytest_cache src/*.egg-info

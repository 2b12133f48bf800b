# Commands of the project.  `make env` once, then the others; each of them brings the environment up to date itself.
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3.10 || command -v python3)
BIN := .venv/bin
STAMP := .venv/.installed
TORCH ?= torch==2.13.0
VISION ?= torchvision==0.28.0 timm>=1.0
TRITON ?= triton==3.7.1
N ?= 20000

.PHONY: env test lint types unit corpus site selftest mutate attack attack-reader fuzz breakfuzz cutfuzz bench demo gallery torch-matrix models clean

env: $(STAMP)

# torch first: everything else then resolves against it.  torchvision (the version that belongs to this torch) and timm lie in
# a folder of their own, found by tools/models only: its wheel needs help beside a CPU torch.  So does triton, for its
# interpreter, found by tests/torch/test_triton_kernels.py only: torch behaves differently beside it
$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -c "import torch" 2>/dev/null || $(BIN)/pip install --quiet "$(TORCH)"
	$(BIN)/pip install --quiet -e ".[cli,test,tools,models]"
	test -d .venv/vision/timm || $(BIN)/pip install --quiet --no-deps --target .venv/vision $(VISION:%="%")
	test -d .venv/triton/triton || $(BIN)/pip install --quiet --no-deps --target .venv/triton "$(TRITON)"
	touch $@

test: lint types unit

lint: $(STAMP)
	$(BIN)/ruff check src tools tests
	$(BIN)/ruff format --check src tools tests

types: $(STAMP)
	$(BIN)/mypy --strict src

# One process for each core, up to four; a file's tests stay together.  make unit JOBS=0 PYTEST_ARGS="tests/unit -x": in one process.
# All have one hash seed, another in each run: a test may be named after a set
JOBS ?= auto
unit: $(STAMP)
	PYTHONHASHSEED=$$$$ $(BIN)/python -m pytest -n $(JOBS) --maxprocesses 4 --dist loadfile --durations 25 $(PYTEST_ARGS)

# Every code object of the standard library, beside what ast.unparse's text gives: make corpus VERSION=3.13, or VERSION=all
VERSION ?= 3.11
corpus: $(STAMP)
	$(BIN)/python tools/corpus.py --control --version $(VERSION) $(ARGS)

# The same for installed packages, compiled by 3.11 and by 3.13: make site, or make site SITE=numpy
SITE ?= torch transformers numpy sympy networkx setuptools pip
SITE_VERSIONS ?= 3.11 3.13
site: $(STAMP)
	$(BIN)/python tools/corpus.py --control $(SITE_VERSIONS:%=--version %) \
		$(SITE:%=--path $(wildcard .venv/lib/python3*/site-packages)/%) $(ARGS)

# The standard library's own tests, run on its decompiled text
selftest: $(STAMP)
	$(BIN)/python tools/stdlib_selftest.py $(ARGS)

# Meaning-changing edits, each of which the proof must reject: make mutate ARGS="--version 3.13"
mutate: $(STAMP)
	$(BIN)/python tools/mutate.py $(ARGS)

# Mutants of decompiled texts, then of bytecode: what the proof accepts is run, and must do the same: make attack ARGS="--version 3.13 --count 10000"
attack: $(STAMP)
	PYTHONPATH=src:tools $(BIN)/python -m attack.texts $(ARGS)
	PYTHONPATH=src:tools $(BIN)/python -m attack.bytecodes $(ARGS)

# Coverage-guided attack on the reader of .pyc files, with atheris (Linux, Pythons with a wheel of it): make attack-reader SECONDS=600
SECONDS ?= 60
attack-reader: $(STAMP)
	test -d .venv/atheris/atheris || $(BIN)/pip install --quiet --no-deps --target .venv/atheris atheris
	PYTHONPATH=.venv/atheris:src:tools $(BIN)/python -m attack.reader .cache/reader -max_total_time=$(SECONDS) -artifact_prefix=.cache/

# Random control-flow graphs, proven and executed: make fuzz N=100000
fuzz: $(STAMP)
	$(BIN)/python tools/fuzz.py --count $(N) $(ARGS)

# Unreachable code put into 500 files of each version's library, decompiled and proven: make deadcode ARGS="--version 3.14"
deadcode: $(STAMP)
	$(BIN)/python tools/deadcode.py $(ARGS)

# Random programs with graph breaks, compiled plainly and under prepare_debug: make breakfuzz ARGS="--count 500"
breakfuzz: $(STAMP)
	$(BIN)/python tools/breakfuzz.py $(ARGS)

# Functions cut in two at random calls, as Dynamo cuts them, and their second halves: make cutfuzz ARGS="json.decoder --count 900"
cutfuzz: $(STAMP)
	$(BIN)/python tools/cutfuzz.py argparse inspect tarfile typing zipfile torch.nn.functional $(ARGS)

# CPU time against ast.unparse(ast.parse(source)), and per instruction as functions grow; what prepare_debug costs a
# compilation; what is left in the text that runs for Dynamo frames
bench: $(STAMP)
	$(BIN)/python tools/bench.py $(ARGS)
	$(BIN)/python tools/bench_torch.py
	$(BIN)/python tools/dynamo_readability.py

# The integration tests on each supported torch, in environments of their own (5 GB each, removed afterwards):
# make torch-matrix, or make torch-matrix TORCHES="2.6 2.13-py3.10"
TORCHES ?=
torch-matrix: $(STAMP)
	$(BIN)/python tools/torch_matrix.py $(TORCHES) $(ARGS)

# Every model of the paper and the architectures since, with depyf and without; goes on where the last run ended:
# make models, or make models ARGS="--only Bert --backend eager --shard 1/4 --seconds 600"
models: $(STAMP)
	PYTHONPATH=src:tools $(BIN)/python -m models $(ARGS)

# Scripts of small compiled models, in examples/gallery: make gallery, or make gallery ARGS="--only kv_cache"
gallery: $(STAMP)
	$(BIN)/python tools/gallery.py $(ARGS)

demo: $(STAMP)
	$(BIN)/python tools/demo.py

clean:
	rm -rf build dist corpus_out models_out demo_dump .mypy_cache .ruff_cache .pytest_cache src/*.egg-info

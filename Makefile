# Two commands on a fresh machine: `make demo` and `make test`. Both first create their environment
# from the lock file and need no network after that.
PYTHON ?= python3
VENV   ?= .venv
CORES  ?= 2
BIN    := $(VENV)/bin

# vLLM pins the libraries it stands on, so it has an environment of its own. With a GPU: make vllm VLLM=vllm==0.32.0
VENV_VLLM ?= .venv-vllm

# unbabel-comet needs transformers 4 and numpy 1.
VENV_COMET ?= .venv-comet

# The site is built by a few small libraries, which stay out of the main lock file.
VENV_DOCS ?= .venv-docs

# What `revocab verify` asks beside the installed libraries: transformers 4, and a built llama.cpp for Node.
VENV_TRANSFORMERS4 ?= .venv-transformers4
LLAMA ?= .llama

# A file's tests share their fixtures, so a file goes to one worker.
PARALLEL = $(BIN)/python -m pytest -n $(CORES) --dist loadfile --no-loadscope-reorder --durations 10

# Real text and benchmarks, for demos.
DATA ?= $(or $(REVOCAB_SHARED),../shared)

# Tests start hundreds of processes, and each would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install vllm comet transformers4 llama demo demos real test long test-all soak mutate hub quick same-bytes same-results lint format clean papers \
    docs

help:  ## show the targets
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

install: $(VENV)/.installed  ## create the environment

$(VENV)/.installed: requirements.lock requirements-parity.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --progress-bar off -r requirements.lock
	$(BIN)/python -m pip install --quiet --progress-bar off --no-deps -r requirements-parity.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	touch $@

vllm: $(VENV_VLLM)/.installed  ## create the environment for engine: vllm (docs/evaluation.md)

# --no-deps: the lock file is complete, and leaves out torchvision, torchaudio and torchcodec, whose
# wheels on PyPI are built for CUDA and break the import of the CPU build.
$(VENV_VLLM)/.installed: requirements-vllm.lock pyproject.toml
	$(PYTHON) -m venv $(VENV_VLLM)
	$(VENV_VLLM)/bin/python -m pip install --quiet --upgrade pip
ifdef VLLM
	$(VENV_VLLM)/bin/python -m pip install --quiet --progress-bar off "$(VLLM)" sacrebleu==2.6.0 rouge_score==0.1.2 \
	    lm_eval==0.4.13 datasets==5.2.0 accelerate==1.15.0
else
	$(VENV_VLLM)/bin/python -m pip install --quiet --progress-bar off --no-deps --retries 1 \
	    --extra-index-url https://download.pytorch.org/whl/cpu torch==2.13.0+cpu
	$(VENV_VLLM)/bin/python -m pip install --quiet --progress-bar off --no-deps -r requirements-vllm.lock
endif
	$(VENV_VLLM)/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
	$(VENV_VLLM)/bin/python -c "import lm_eval; from vllm import LLM"
	touch $@

comet: $(VENV_COMET)/.installed  ## create the environment for COMET-22 and xCOMET (1.4 GB)

$(VENV_COMET)/.installed: requirements-comet.lock
	$(PYTHON) -m venv $(VENV_COMET)
	$(VENV_COMET)/bin/python -m pip install --quiet --upgrade pip
	$(VENV_COMET)/bin/python -m pip install --quiet --progress-bar off -r requirements-comet.lock
	$(VENV_COMET)/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
	touch $@

transformers4: $(VENV_TRANSFORMERS4)/.installed  ## create the environment with transformers 4 (docs/ship.md)

$(VENV_TRANSFORMERS4)/.installed: requirements-transformers4.lock
	$(PYTHON) -m venv $(VENV_TRANSFORMERS4)
	$(VENV_TRANSFORMERS4)/bin/python -m pip install --quiet --upgrade pip
	$(VENV_TRANSFORMERS4)/bin/python -m pip install --quiet --progress-bar off -r requirements-transformers4.lock
	touch $@

llama: $(LLAMA)/.installed  ## install a built llama.cpp for Linux on x86-64 (85 MB, docs/ship.md)

# Optional packages are builds for other machines, half a gigabyte.
$(LLAMA)/.installed: envs/llama/package.json envs/llama/package-lock.json
	@command -v node > /dev/null && command -v npm > /dev/null || { \
	    echo "make llama needs node and npm (20 or later): install Node.js, or name an installed folder in REVOCAB_LLAMA" >&2; exit 1; }
	mkdir -p $(LLAMA)
	cp $^ $(LLAMA)
	npm install --prefix $(LLAMA) --no-save --ignore-scripts --omit=optional --no-audit --no-fund --loglevel=error
	touch $@

demo: install  ## run the whole DAG on the embedded demo, with tables and report
	$(BIN)/snakemake --cores $(CORES)
	@echo "report: results/demo/report.html   tables: results/demo/tables/"

# The ranking of starts is left out: it takes hours (docs/results.md).
demos: demo  ## run every shipped demo, and the experiments on real text if there is a data folder
	@for file in $(addprefix config/demos/,bilingual.yaml lep.yaml vocadt.yaml); do \
	    $(BIN)/snakemake --cores $(CORES) --configfile $$file || exit 1; \
	done
	@if [ -d "$(DATA)/data" ]; then \
	    for file in $(sort $(wildcard config/demos/*local*.yaml)); do \
	        $(BIN)/snakemake --cores $(CORES) --configfile $$file --config data_root=$(DATA) || exit 1; \
	    done; \
	else echo "experiments on real text were skipped: no data folder at $(DATA) (set REVOCAB_SHARED)"; fi
	@ls results/*/report.html

# About ten hours of CPU time; a run that was stopped goes on.
real: install  ## compare starts on a real model, SmolLM2-135M, on text of a data folder: 27 trainings, hours
	$(BIN)/python scripts/real_models.py resources/inputs/models
	ln -sfn $(abspath $(DATA))/data resources/inputs/data
	$(BIN)/snakemake --cores $(CORES) --rerun-incomplete --configfile config/demos/real.yaml --config data_root=resources/inputs

test: install  ## check style, run tests and a small experiment; `make lint` and `make long` check types
	$(PARALLEL) -m "not hub and not long"

long: install  ## check types, run whole experiments, several processes, kills, the real vLLM, a cluster and notebooks (CI does, after `make test`)
	$(PARALLEL) -m "long and not hub"

soak: install  ## kill runs of the small experiment KILLS times (200), and compare all bytes
	$(BIN)/python tests/support/soak.py --kills $(or $(KILLS),200) --cores $(CORES)

mutate: install  ## plant COUNT faults (200) in formulas, one at a time, and list those that no test finds
	$(BIN)/python tests/support/mutate.py --count $(or $(COUNT),200) $(ARGS)

hub: install  ## run experiments of papers from a filled cache, with pico models (docs/machines.md)
	$(BIN)/python -m pytest -m hub

test-all: export REVOCAB_VLLM_PYTHON = $(abspath $(VENV_VLLM))/bin/python
test-all: export REVOCAB_COMET_PYTHON = $(abspath $(VENV_COMET))/bin/python
test-all: export REVOCAB_TRANSFORMERS4_PYTHON = $(abspath $(VENV_TRANSFORMERS4))/bin/python
test-all: export REVOCAB_LLAMA = $(abspath $(LLAMA))
test-all: install vllm comet transformers4 llama  ## run `make test` with the real vLLM and COMET, and `make hub`
	$(PARALLEL) -m "not hub"
	$(BIN)/python -m pytest -m hub

quick: install  ## run the fast tests: no DAG, no style, no training
	$(PARALLEL) -m "not slow and not dag and not long and not hub"

# More options: make same-bytes BASE=COMMIT ARGS="--moved results/a=results/b"
same-bytes: install  ## compare the smaller demo at BASE=<commit> and in the working tree (CONTRIBUTING.md)
	$(if $(BASE),,$(error name the commit to compare with: make same-bytes BASE=<commit>))
	$(BIN)/python tests/support/same_bytes.py $(BASE) --cores $(CORES) $(ARGS)

same-results: install  ## compare the numbers of the small experiment and the plans of all files with BASE=<commit>
	$(if $(BASE),,$(error name the commit to compare with: make same-results BASE=<commit>))
	$(BIN)/python tests/support/same_results.py $(BASE) --cores $(CORES) $(ARGS)

papers: install  ## write docs/papers from config/published/*/settings.yaml and the experiment files
	$(BIN)/python scripts/write_papers.py

$(VENV_DOCS)/.installed: requirements-docs.lock
	$(PYTHON) -m venv $(VENV_DOCS)
	$(VENV_DOCS)/bin/python -m pip install --quiet --progress-bar off -r requirements-docs.lock
	touch $@

docs: install $(VENV_DOCS)/.installed  ## build the site in build/site, with every link and anchor checked
	$(BIN)/python scripts/write_site.py --out build/pages
	NO_MKDOCS_2_WARNING=1 $(VENV_DOCS)/bin/mkdocs build --strict --quiet
	cd build/pages && find . -name '*.md' -exec cp --parents {} ../site \;

lint: install  ## check style and types of Python, style of the workflow
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint

format: install  ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow

clean:  ## remove what the rules have written
	rm -rf resources .snakemake
	find results -mindepth 1 ! -name README.md -delete

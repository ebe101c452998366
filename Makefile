# make help lists the targets. Everything is installed into .venv; nothing outside it changes.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
SOURCES := $(shell find csrc cuda python -type f -not -name '*.so' -not -path '*/__pycache__/*' -not -path '*.egg-info/*') setup.py pyproject.toml
C_FILES := $(shell find csrc cuda tests bench -name '*.[ch]' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh')
# What runs on the host: no function is longer than 60 lines, or has more than 20 ways through it.
HOST_FILES := $(filter csrc/% cuda/runtime/% cuda/pipeline/% cuda/emu/%,$(C_FILES))

.PHONY: help demo notebooks test test-emulated test-all wheels core-wheel all-wheels sdist cuda-wheel wheel-test attack peer-tests schedules races foreign sanitize sanitize-emu sanitize-rest sanitize-cpu clang mutate sizes golden ncu gpu-test gpu-sanitize gpu-record gpu-bench bench format lint readme docs links docs-serve clean
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "warpkit needs Python 3.11 or newer; name one with make PYTHON=..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "python3 -m venv failed (Debian, Ubuntu: apt install python3-venv)"; exit 1; }
	$(PY) -m pip install -q --upgrade pip

# CUDA code is for the GPU that is here: for all those that are not it takes 40 minutes of processor
# time, and nothing here could run it.
# The demo does without the emulated device, which is half of what there is to compile, and without
# what other processors than this one would run.
INSTALLED := $(VENV)/installed$(WARPKIT_CUDA:%=-%)
LIGHT := $(VENV)/demo$(WARPKIT_CUDA:%=-%)
DEMO := $(or $(wildcard $(INSTALLED)),$(LIGHT))
$(INSTALLED) $(LIGHT): $(PY) $(SOURCES)
	@if [ -z "$$WARPKIT_CUDA" ] && ! nvidia-smi -L 2>/dev/null | grep -q '^GPU '; then \
	  echo "no GPU here, so no CUDA code is compiled; with it: WARPKIT_CUDA=1 make $(MAKECMDGOALS)"; \
	  export WARPKIT_CUDA=0; fi; \
	extras=test,demo; if [ $@ = $(LIGHT) ]; then extras=demo; \
	  echo "the emulated GPU is not compiled either, as the demo needs none: make test does that"; \
	  export WARPKIT_EMU=0 WARPKIT_NATIVE=1; fi; \
	echo "pip install: packages first, then compilers; minutes on two processors"; \
	if [ -t 2 ]; then export WARPKIT_PROGRESS=/proc/$$$$/fd/2; fi; $(PY) -m pip install -q ".[$$extras]"
	@rm -f $(VENV)/installed* $(VENV)/demo*
	@touch $@

# mypy reads the types of what the examples and the benchmarks import
$(VENV)/linters: $(INSTALLED)
	$(PY) -m pip install -q --group lint
	@touch $@

demo: $(DEMO) ## all five operations on real data, with pictures in examples/out
	$(PY) examples/quickstart.py

$(VENV)/notebooks: $(INSTALLED)
	$(PY) -m pip install -q --group notebooks
	@touch $@

# Some name their device themselves.
ANYWHERE = examples/reduction.ipynb examples/shared_memory.ipynb examples/warp.ipynb
notebooks: $(VENV)/notebooks ## run the notebooks of examples on the CPU and on the emulated device
	WARPKIT_DEVICE=cpu $(VENV)/bin/jupyter execute examples/*.ipynb
	WARPKIT_DEVICE=emu $(VENV)/bin/jupyter execute $(ANYWHERE)

# TURN=7: of each test's parameters the odd ones, under sanitizers those of number 7 modulo 16, in other schedules
# modulo 8; nothing: all of them.
HALF = $(if $(TURN),--part $(TURN)/2)
PART = $(if $(TURN),--part $(TURN)/16)

# What a newcomer waits for: each kernel beside its oracle, awkward arrays, errors.
FIRST = rows hostile errors where_numpy_differs warp keyed
test: $(INSTALLED) ## every kernel beside its oracle, at small sizes, on every device present; in CI the CPU's suite
	@$(if $(CI),:,echo "each kernel beside its oracle, small sizes, on all processors: two minutes on two; make test-all is the whole suite")
	$(PY) -m pytest $(if $(CI),tests --device cpu $(HALF),$(FIRST:%=tests/test_%.py) --small $(ALL_PROCESSORS))

# In CI large arrays are for the CPU. On the emulated device the sanitized modules are tested; here what
# is not for those: some tests, and what is Python's alone, of which some files ask for no device.
EMULATED = bench lab
PYTHONS = $(EMULATED) dask distributed house gpu_record notebooks
test-emulated: $(INSTALLED)
	$(PY) -m pytest tests --device emu --small -m unsanitized $(HALF)
	$(PY) -m pytest $(EMULATED:%=tests/test_%.py) --device emu --small -m 'not unsanitized'

ALL_PROCESSORS = -n auto --dist worksteal
test-all: $(INSTALLED) ## the whole test suite on every device present
	$(PY) -m pytest tests $(ALL_PROCESSORS)

# Wheels hold the same bytes whenever and wherever a commit is built, by one compiler.
core-wheel all-wheels cuda-wheel sdist: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 1767225600)
WHEEL = $(PY) -m pip wheel -q --no-deps --no-build-isolation -w build/wheels
REPAIR = PATH="$(abspath $(VENV)/bin):$$PATH" auditwheel repair --strip -w dist

$(VENV)/wheels: $(PY)
	$(PY) -m pip install -q --group wheels
	@touch $@

wheels: core-wheel cuda-wheel ## dist/*.whl: the core (CPU, emulated device), and the plug-in for GPUs, which takes half an hour

core-wheel: $(VENV)/wheels
	rm -rf build/lib.* build/wheels/pywarpkit-*
	WARPKIT_CUDA=0 $(WHEEL) .
	$(REPAIR) build/wheels/pywarpkit-*.whl

# In containers of old systems, so that the wheels run on those too; pyproject.toml says which.
all-wheels: $(VENV)/wheels ## dist/*.whl: the core for every Python, by cibuildwheel (needs docker)
	$(PY) -m pip install -q cibuildwheel
	$(PY) -m cibuildwheel --output-dir dist

sdist: $(VENV)/wheels ## dist/*.tar.gz: the source distribution
	$(PY) -c 'from setuptools import build_meta; build_meta.build_sdist("dist")'

# CUDA's compiler, where the machine has none.
NVCC = $(or $(CUDA_HOME),$(shell command -v nvcc),$(wildcard /usr/local/cuda/bin/nvcc))
build/cuda: | $(PY)
	$(PY) -m pip install -q --target $@ 'nvidia-cuda-nvcc==13.0.*' 'nvidia-cuda-runtime==13.0.*' \
	  'nvidia-cuda-crt==13.0.*' 'nvidia-nvvm==13.0.*'

# The distribution of CUDA's major version; PTX of the last serves newer chips.
cuda-wheel: export WARPKIT_CUDA_ARCHS ?= 80 86 89 90 100 120
cuda-wheel: export CUDA_HOME ?= $(if $(NVCC),,$(CURDIR)/build/cuda/nvidia/cu13)
cuda-wheel: $(VENV)/wheels $(if $(NVCC),,build/cuda)
	rm -rf cuda13/build build/wheels/pywarpkit_cuda13-*
	WARPKIT_CUDA=1 $(WHEEL) ./cuda13
	$(REPAIR) build/wheels/pywarpkit_cuda13-*.whl

# Only Python is in PATH: neither a compiler nor CUDA.
BARE = build/wheel-test
ALONE = cd $(BARE) && env -i PATH="$$PWD/bin" HOME="$$PWD" LC_ALL=C.UTF-8 WARPKIT_DEVICE=cpu bin/python
NUMPY ?= numpy>=2.0
wheel-test: ## try dist's wheels in a new environment, with NUMPY='numpy==2.0.*', say: quickstart, part of the suite
	$(PYTHON) -m venv --clear $(BARE)
	$(BARE)/bin/python -m pip install -q --no-index --no-deps --find-links dist pywarpkit \
	  $(if $(wildcard dist/pywarpkit_cuda13-*),pywarpkit-cuda13)
	$(BARE)/bin/python -m pip install -q --only-binary :all: '$(NUMPY)' 'pywarpkit[test,demo]'
	$(ALONE) $(CURDIR)/examples/quickstart.py
	$(ALONE) -m warpkit config
	$(ALONE) -m pytest -p no:cacheprovider --small -k 'float32 and (cpu or 257)' \
	  $(CURDIR)/tests/test_rows.py $(CURDIR)/tests/test_against_numpy.py

# The row suite, where the threads of the emulated device take turns otherwise than in make test.
ROW_SUITE = $(PY) -m pytest tests/test_rows.py --device emu -p no:cacheprovider

build/watched/done: $(SOURCES) tools/watched.py | $(INSTALLED)
	$(PY) tools/watched.py build/watched
	@touch $@

schedules: build/watched/done ## the row suite on the emulated device: other schedules, weak memory, and a look for races in the ladders
	$(if $(CI),,WARPKIT_EMU_SCHEDULE=reverse $(ROW_SUITE) --small)
	PYTHONPATH=build/watched WARPKIT_EMU_SCHEDULE=random WARPKIT_EMU_MEMORY=weak $(ROW_SUITE) --small \
	  $(if $(TURN),--part $(TURN)/8)

# Not beside others that build: setuptools does it in one folder.
build/races/done: $(SOURCES) | $(INSTALLED)
	WARPKIT_SANITIZE=races WARPKIT_CUDA=0 $(PY) -m pip install -q --no-deps --upgrade --target build/races .
	@touch $@

# But transposes by tiles: those that overlap write the same bytes twice.
races: build/races/done ## the row suite on the emulated device, which looks for races in the kernels
	PYTHONPATH=build/races $(ROW_SUITE) --small -k 'not emu-tiles'

FOLDER ?= $(error FOLDER=... names the folder of the Indigo suite, or of cuda-samples)
foreign: $(INSTALLED) ## run the CUDA programs in FOLDER=..., plainly and with a look for races; writes docs/foreign.md
	$(PY) tools/foreign.py $(FOLDER)

# NumPy asks for more than there is, and gets NULL as it would without a sanitizer; Python itself
# keeps memory until it exits.
ASAN = LD_PRELOAD="$$($${CC:-cc} -print-file-name=libasan.so)" \
       ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=0:detect_stack_use_after_return=0:quarantine_size_mb=16 \
       UBSAN_OPTIONS=print_stacktrace=1

build/sanitized/done: $(SOURCES) | $(INSTALLED)
	WARPKIT_SANITIZE=1 WARPKIT_NATIVE=1 WARPKIT_CUDA=0 $(PY) -m pip install -q --no-deps --upgrade --target build/sanitized .
	@touch $@

SANITIZED = $(ASAN) PYTHONPATH=build/sanitized $(PY) -m pytest --small \
            -m 'not unsanitized' -p no:cacheprovider --capture=sys

sanitize: sanitize-emu sanitize-rest sanitize-cpu ## small sizes on CPU and emulated device under AddressSanitizer, UBSan

# What is of no device too, but for what is Python's alone, as the oracles are, and builds. Two halves, as one
# takes longer than all else.
BUILDS = make sdist
ON_EMU = $(filter-out $(PYTHONS:%=tests/test_%.py),$(wildcard tests/test_[$(1)]*.py))
sanitize-emu: build/sanitized/done
	$(SANITIZED) $(PART) $(call ON_EMU,a-o) --device emu -k 'not (against_numpy and reference)'

sanitize-rest: build/sanitized/done
	$(SANITIZED) $(PART) $(call ON_EMU,p-z) tests/attack $(BUILDS:%=--ignore tests/attack/test_%.py) --device emu

sanitize-cpu: build/sanitized/done
	$(SANITIZED) $(PART) tests --device cpu -k cpu

# Not beside others that build, either.
build/clang/done: $(SOURCES) | $(INSTALLED)
	CXX=clang++ CXXFLAGS=-O0 WARPKIT_CUDA=0 $(PY) -m pip install -q --no-deps --upgrade --target build/clang .
	@touch $@

clang: build/clang/done ## the row suite on the emulated device as clang++ builds it
	PYTHONPATH=build/clang $(ROW_SUITE) --small

mutate: $(INSTALLED) ## remove each barrier and fence of the kernels, list those nothing misses
	$(PY) tools/mutate.py $(if $(CI),cuda/histogram/ladder/0)

sizes: $(INSTALLED) ## kernels, bytes of machine code and seconds of compilation of each CUDA file
	$(PY) tools/sizes.py

ncu: $(INSTALLED) ## Nsight Compute counts the kernels that warpkit.lab is compared with; writes tests/golden. Without a GPU: compare
	$(if $(shell command -v nvidia-smi),$(PY) tools/ncu.py --out tests/golden)
	$(foreach file,$(wildcard tests/golden/ncu_*.json),$(PY) tools/ncu.py --compare $(file);)

golden: $(INSTALLED) ## 20,000 reductions on every device present: do they give the bits that they gave?
	$(PY) tools/golden.py check
	$(PY) tools/golden.py check --there

$(VENV)/peers: $(INSTALLED)
	$(PY) -m pip install -q --group peers
	@touch $@

# CuPy's tests are in its sources only, which are not built.
CUPY = cupy-14.2.0
CUPY_SOURCE ?= build/peers/$(CUPY)
build/peers/$(CUPY): | $(VENV)/peers
	$(PY) -m pip download -q --no-deps --no-binary cupy -d build/peers $(subst cupy-,cupy==,$(CUPY))
	tar -xzf $@.tar.gz -C build/peers

peer-tests: $(VENV)/peers $(CUPY_SOURCE) ## tests of NumPy, SciPy, CuPy, bottleneck, the array API, run on warpkit's functions
	CUPY_SOURCE=$(CUPY_SOURCE) $(PY) tools/peer_tests.py

ATTACK = 300 # seconds that each search may take
attack: $(INSTALLED) build/raced/done ## the searches of tests/attack for what breaks the code, ATTACK=300 seconds each
	$(PY) -m pytest tests/attack --attack $(ATTACK)
	$(PY) tests/attack/races.py build/raced $(ATTACK)
	$(PY) tests/attack/partials.py 100000

build/raced/done: $(SOURCES) | $(INSTALLED)
	WARPKIT_SANITIZE=thread WARPKIT_EMU=0 WARPKIT_CUDA=0 $(PY) -m pip install -q --no-deps --upgrade --target build/raced .
	@touch $@

# Python's time is most of it: processes that share the GPU take 100 s where one takes 500 (H100, 16 cores).
gpu-test: $(INSTALLED) ## the test suite on the GPU; writes tests/gpu_record.json
	$(PY) -m pytest tests $(ALL_PROCESSORS) --maxprocesses 9 --device cuda --record tests/gpu_record.json

gpu-record: ## one line: which GPU has verified this tree, or since which file the record is stale
	@$(PYTHON) tools/gpu_record.py

bench: $(INSTALLED) ## the benchmarks; writes bench/results
	$(PY) bench/cpu.py
	$(PY) bench/emu.py

gpu-bench: $(INSTALLED) ## reductions, transposes, stencils, histograms, what crosses the bus, memories on the chip, beside CuPy, PyTorch, CUB, cuBLAS; writes bench/results
	$(PY) bench/reduce.py
	$(PY) bench/transpose.py
	$(PY) bench/stencil.py
	$(PY) bench/histogram.py
	$(PY) bench/keyed.py
	$(PY) bench/transfer.py
	$(PY) bench/smem.py

gpu-sanitize: $(INSTALLED) ## the suite's small sizes on the GPU under compute-sanitizer
	compute-sanitizer --tool memcheck --error-exitcode 1 $(PY) -m pytest tests/test_rows.py --device cuda --small
	for tool in memcheck racecheck synccheck; do \
	  compute-sanitizer --tool $$tool --error-exitcode 1 \
	    $(PY) -m pytest tests/test_warp.py tests/test_smem.py --device cuda --small || exit 1; done

format: $(VENV)/linters ## clang-format and ruff over the sources
	$(VENV)/bin/clang-format -i $(C_FILES)
	$(VENV)/bin/ruff check -q --fix .
	$(VENV)/bin/ruff format -q .

lint: $(VENV)/linters ## fail on what make format would change, on type errors and on long functions
	$(VENV)/bin/clang-format --dry-run -Werror $(C_FILES)
	$(VENV)/bin/ruff check -q .
	$(VENV)/bin/ruff format -q --check .
	$(VENV)/bin/codespell
	$(VENV)/bin/mypy
	$(VENV)/bin/check-jsonschema -q --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(if $(shell command -v actionlint),actionlint)
	$(VENV)/bin/pyright --pythonpath $(PY)
	$(VENV)/bin/lizard -m -C 20 -L 60 -w -l c -l cpp $(HOST_FILES)

readme: $(INSTALLED) ## run README's examples and renew its output and tables
	$(PY) tools/readme.py

$(VENV)/docs: $(INSTALLED)
	$(PY) -m pip install -q --group docs
	@touch $@

# Notebooks are run a first time, in a minute; CI, which runs them anyway, shows them as they are.
docs: $(VENV)/docs ## the documentation as a site, in build/docs; a warning is an error
	WARPKIT_DEVICE=cpu $(PY) -m sphinx -q -n -W --keep-going -c docs -D nb_execution_mode=$(if $(CI),off,cache) . build/docs

links: $(VENV)/docs ## ask the network whether the pages that the documentation links to are there
	WARPKIT_DEVICE=cpu $(PY) -m sphinx -q -b linkcheck -c docs -D nb_execution_mode=off . build/links

docs-serve: docs ## the site at http://localhost:8000
	$(PY) -m http.server -d build/docs -b localhost 8000

clean: ## remove what was built
	rm -rf build dist $(VENV) python/warpkit/*.so python/*.egg-info cuda13/build cuda13/*.egg-info

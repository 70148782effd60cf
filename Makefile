# make test and make demo need python3 (3.10 to 3.13) with pip, and make; each sets up what it runs.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
TEST_ARGS ?=
DEMO_ARGS ?=
BENCH_ARGS ?=

.PHONY: help demo test test-all bench docs lint clean
.DEFAULT_GOAL := help

help:
	@echo "make demo     set up and run the demo        DEMO_ARGS='--seconds 10'"
	@echo "make test     set up and run the tests       TEST_ARGS='-k urdf'"
	@echo "make test-all set up and run all tests, the long ones too"
	@echo "make bench    set up and run benchmarks      BENCHMARKS=distance BENCH_ARGS='--robots ur5'"
	@echo "make docs     write what docs/ has from code, and draw its pictures  PAGES='api parameters'"
	@echo "make lint     check style with ruff"
	@echo "make clean    remove $(VENV), caches and build folders"
	@echo "Another Python: PYTHON=python3.12; another place for the environment: VENV=path"

# Where venv cannot bring pip along (Debian without python3-venv), the pip of $(PYTHON) does.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo "Python 3.10 to 3.13 is needed; $(PYTHON) is $$($(PYTHON) -V 2>&1). Set PYTHON=..."; exit 1; }
	@$(PYTHON) -m venv "$(VENV)" >/dev/null 2>&1 || { \
	  $(PYTHON) -m venv --without-pip "$(VENV)" && \
	  $(PYTHON) -m pip install --quiet pip --target \
	    "$$("$(BIN)/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"; } || \
	  { echo "No virtual environment: install pip or venv (Debian: apt install python3-venv)"; exit 1; }
	"$(BIN)/python" -m pip install --quiet --upgrade pip
	@touch "$@"

# One stamp for each set of extras: installed anew when what setup.py asks for has changed.
$(VENV)/.has-%: setup.py setup.cfg pyproject.toml | $(VENV)/.made
	PYTHONWARNINGS=ignore "$(BIN)/python" -m pip install --quiet --editable ".[$*]"
	@touch "$@"

# Three workers for two cores, as many wait for other processes; at most four: each may have a ROS graph
# of several processes that want to be on time.
WORKERS ?= $(shell cores=$$(nproc); echo $$(( (3 * cores + 1) / 2 )))
# Byte code is kept, whatever the caller has set: rewriting the assertions of all tests takes each worker seconds.
test test-all: export PYTHONDONTWRITEBYTECODE =
# Tests may skip what is not installed; here all is.
test test-all: export TESTS_ARE_COMPLETE = yes
test: $(VENV)/.has-test
	"$(BIN)/python" -m collision_monitor warm-up
	"$(BIN)/python" -m pytest -n $(WORKERS) --maxprocesses 4 --dist loadscope --no-loadscope-reorder --durations=15 -m "not slow" $(TEST_ARGS)

test-all: $(VENV)/.has-test
	"$(BIN)/python" -m collision_monitor warm-up
	"$(BIN)/python" -m pytest -n $(WORKERS) --maxprocesses 4 --dist loadscope --no-loadscope-reorder --durations=15 $(TEST_ARGS)

demo: $(VENV)/.has-demo
	"$(BIN)/python" -m collision_monitor warm-up
	"$(BIN)/python" -m collision_monitor demo $(DEMO_ARGS)

# Those at the top of docs/reports/performance.md, with the options of that page: they print its tables. All take hours.
BENCHMARKS ?= distance first_distance tightness hybrid_tree mesh_hierarchies exact_distance vendor_robots adjustment continuous_check node
OPTIONS_tightness := --robots ur5,panda,xarm7,baxter,tiago_dual --seconds 20
OPTIONS_hybrid_tree := --cycle 0.05 --passes 3
OPTIONS_vendor_robots := --poses 300
OPTIONS_adjustment := --motions 30
ENVIRONMENT_adjustment := OMP_NUM_THREADS=1
bench: $(VENV)/.has-bench
	$(foreach b,$(BENCHMARKS),@echo "== $(b)"$(NEWLINE)	$(ENVIRONMENT_$(b)) "$(BIN)/python" benchmarks/$(b).py $(OPTIONS_$(b)) $(BENCH_ARGS)$(NEWLINE))

define NEWLINE


endef

# Names of docs/make_*.py. view_picture needs Chromium.
PAGES ?= api parameters picture marker_picture adjustment_plots verification_plots method_pictures view_picture
docs: $(VENV)/.has-test
	for page in $(PAGES); do PYTHONPATH=test:. "$(BIN)/python" docs/make_$$page.py || exit 1; done

lint: $(VENV)/.has-test
	"$(BIN)/python" -m ruff check .

clean:
	rm -rf "$(VENV)" build install log dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	find collision_monitor test urdf benchmarks docs examples launch -name __pycache__ -prune -exec rm -rf {} +

# make test and make demo need python3 (3.10 to 3.13) with pip, and make; each sets up what it runs.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
TEST_ARGS ?=
DEMO_ARGS ?=
BENCH_ARGS ?=

.PHONY: help test test-all demo bench lint picture marker-picture view-picture parameters api adjustment-plots verification-plots method-pictures clean
.DEFAULT_GOAL := help

help:
	@echo "make test     set up and run the tests       TEST_ARGS='-k urdf'"
	@echo "make test-all set up and run all tests, the long ones too"
	@echo "make demo     set up and run the demo        DEMO_ARGS='--seconds 10'"
	@echo "make bench    set up and run the benchmark   BENCH_ARGS='--robots ur5'"
	@echo "make lint     check style with ruff"
	@echo "make picture  render the picture of the README"
	@echo "make marker-picture  draw what RViz shows from the messages of the nodes"
	@echo "make parameters      write docs/parameters.md from what the nodes declare"
	@echo "make api      write docs/api.md from the docstrings"
	@echo "make view-picture  take the picture of the page in the browser (needs Chromium)"
	@echo "make adjustment-plots  plot the published experiment of two arms, before and after"
	@echo "make verification-plots  verify four motions of the space arm and plot them"
	@echo "make method-pictures  draw the pictures of docs/methods.md"
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
	"$(BIN)/python" -m pytest -n $(WORKERS) --maxprocesses 4 --dist loadscope --no-loadscope-reorder --durations=15 -m "not slow" $(TEST_ARGS)

test-all: $(VENV)/.has-test
	"$(BIN)/python" -m pytest -n $(WORKERS) --maxprocesses 4 --dist loadscope --no-loadscope-reorder --durations=15 $(TEST_ARGS)

demo: $(VENV)/.has-demo
	"$(BIN)/python" -m collision_monitor demo $(DEMO_ARGS)

bench: $(VENV)/.has-bench
	"$(BIN)/python" benchmarks/distance.py $(BENCH_ARGS)

lint: $(VENV)/.has-test
	"$(BIN)/python" -m ruff check .

picture: $(VENV)/.has-picture
	"$(BIN)/python" docs/make_picture.py

marker-picture: $(VENV)/.has-test
	PYTHONPATH=test "$(BIN)/python" docs/make_marker_picture.py

parameters: $(VENV)/.has-demo
	"$(BIN)/python" docs/make_parameters.py

api: $(VENV)/.has-test
	"$(BIN)/python" docs/make_api.py

view-picture: $(VENV)/.has-test
	PYTHONPATH=test "$(BIN)/python" docs/make_view_picture.py

adjustment-plots: $(VENV)/.has-adjust
	"$(BIN)/python" docs/make_adjustment_plots.py

verification-plots: $(VENV)/.has-verify
	"$(BIN)/python" docs/make_verification_plots.py

method-pictures: $(VENV)/.has-test
	"$(BIN)/python" benchmarks/hybrid_tree.py --cycle 0.05 --passes 7 --fit published --plot docs/hybrid_tree.png
	"$(BIN)/python" -m collision_monitor fit urdf/dual_arm.urdf --srdf urdf/dual_arm.srdf --leaves urdf/dual_arm_leaves.yaml \
	  --hierarchy octree --boxes 2 --q right_joint_2=-1.4,right_joint_4=-1.3,left_joint_2=1.4,left_joint_4=1.3 --picture docs/octree.png
	"$(BIN)/python" benchmarks/two_level_check.py --plot docs/two_level.png
	"$(BIN)/python" docs/make_verification_plots.py
	"$(BIN)/python" docs/make_adjustment_plots.py

clean:
	rm -rf "$(VENV)" build install log dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	find collision_monitor test urdf benchmarks docs examples launch -name __pycache__ -prune -exec rm -rf {} +

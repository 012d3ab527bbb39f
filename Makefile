# SPDX-License-Identifier: BSD-3-Clause
# The two commands are `make demo` and `make test`; `make help` names the others.
# Everything that is generated goes under build/. The work is done by the scripts in scripts/.

.DEFAULT_GOAL := all
MAKEFLAGS += --no-print-directory --no-builtin-rules

# Each line of a recipe ends when its make does, however that ended, so nothing outlives it.
SHELL := /usr/bin/setpriv
.SHELLFLAGS := --pdeathsig TERM /bin/sh -ec

export LC_ALL := C.UTF-8
export PYTHONPYCACHEPREFIX := $(CURDIR)/build/pycache
export PYTHONPATH :=
export PYTHONSAFEPATH := 1
# An account without a home keeps its caches here instead.
ifneq ($(shell test -n "$$HOME" && test -d "$$HOME" && test -w "$$HOME" && echo yes),yes)
export HOME := $(CURDIR)/build/home
endif

# How long each fuzz target runs, and how long the demo measures, in seconds.
SECONDS := 300
TIME := 120
# What `make simulate` runs.
SEEDS := 10000
SEED := 1
# What `make bench` measures: scripts/bench --help names them.
NAME := all
# What `make unit` and `make system` are to run, such as TESTS="-k lab".
TESTS :=

GOALS := $(or $(MAKECMDGOALS),all)

.PHONY: help
help:
	@exec sed -n 's/^#: //p' Makefile

ifneq ($(filter-out help,$(GOALS)),)
ifndef LOCKED

# One make at a time in a checkout: all goals are handed to a second make that has the lock.
.PHONY: $(GOALS) locked
$(filter-out help,$(GOALS)): locked
	@:
locked:
	@exec scripts/with-lock $(MAKE) LOCKED=1 $(filter-out help,$(GOALS))

else

.NOTPARALLEL:

#: make                 build, and stage the engine so that ./beowire works
.PHONY: all built
all: built
	@echo 'Next: ./beowire compare --lab measures protocols; docs/CLUSTER.md sets up your cluster'
built:
	@exec scripts/install-packages demo
	@exec scripts/make-venv demo
	@exec scripts/build demo

#: make demo            compare TCP, raw frames and Beowire in a virtual cluster (TIME=120 seconds)
.PHONY: demo
demo: built
	@exec scripts/demo $(TIME)

#: make bench           the transport's figures, and whether they are met (NAME=latency for one)
.PHONY: bench
bench:
	@exec scripts/bench $(NAME)

#: make test            lint, unit, asan, tsan, fuzz and system, side by side; 17 to 20 minutes
.PHONY: test
test:
	@exec scripts/test

#: make test-long       the same, with more seeds, long fuzzing and all MPIs; two hours, for the night
.PHONY: test-long
test-long:
	@exec scripts/test --long

.PHONY: tools
tools:
	@exec scripts/install-packages test
	@exec scripts/make-venv test
	@rm -rf build/results; exec scripts/build release
	@exec scripts/build asan

#: make lint            formatting, clang-tidy, ruff, mypy, shellcheck, the house's own rules
.PHONY: lint
lint: tools
	@exec scripts/lint

#: make format          format all C and Python
.PHONY: format
format: tools
	@exec scripts/format

#: make unit            unit tests, C and Python (TESTS="-k histogram" for some of the Python ones)
.PHONY: unit
unit: tools
	@$(if $(TESTS),:,exec scripts/run-meson-tests asan)
	@$(if $(TESTS),:,exec scripts/run-meson-tests release)
	@exec scripts/run-pytest unit-python tests/unit $(TESTS)

#: make asan            of these the C tests under AddressSanitizer and UndefinedBehaviorSanitizer
.PHONY: asan
asan: tools
	@exec scripts/run-meson-tests asan

#: make tsan            the C tests that have threads under ThreadSanitizer
.PHONY: tsan
tsan: tools
	@exec scripts/build tsan
	@exec scripts/run-meson-tests tsan

#: make simulate        SEEDS=10000 runs of the protocol on a simulated wire, from SEED=1 on
.PHONY: simulate
simulate: all
	@exec ./beowire simulate --seeds $(SEEDS) --seed $(SEED)

#: make fuzz            each fuzz target for SECONDS=300
.PHONY: fuzz
fuzz: tools
	@exec scripts/fuzz $(SECONDS)

#: make system          system tests: the lab, ssh, the whole comparison (TESTS="-k lab" for some)
.PHONY: system
system: tools
	@exec scripts/run-pytest system-python tests/system $(TESTS)

#: make mpi-test        Open MPI 5, MPICH and Intel MPI over Beowire (fetches 0.5 GB from PyPI)
.PHONY: mpi-test
mpi-test:
	@exec scripts/install-packages test
	@exec scripts/make-venv test
	@exec scripts/build release
	@exec scripts/install-mpi all
	@exec scripts/run-pytest wheels-python tests/wheels $(TESTS)

#: make test-programs   programs of others over TCP and Beowire (2 GB of packages; about an hour)
.PHONY: test-programs
test-programs:
	@exec scripts/test-programs

#: make deb             Debian packages of the library, the provider and the command, in build/deb
.PHONY: deb
deb:
	@exec scripts/make-deb

#: make deb-test        install these in a copy of this machine's root, use them, and remove them
.PHONY: deb-test
deb-test: deb
	@exec scripts/deb-test

#: make wheel           a wheel of the command, with library and headers, in build/wheel
.PHONY: wheel
wheel:
	@exec scripts/install-packages demo
	@exec scripts/make-wheel

#: make package-test    `pip install .` in a fresh virtual environment, and use what it installed
.PHONY: package-test
package-test:
	@exec scripts/install-packages demo
	@exec scripts/package-test

#: make bare-root-test  both commands in a bare Debian root (needs root and debootstrap; 15 minutes)
.PHONY: bare-root-test
bare-root-test:
	@exec scripts/bare-root-test

#: make test-platforms  the matrix of docs/PLATFORMS.md: suites of Debian, compilers (root; hours)
.PHONY: test-platforms
test-platforms:
	@exec scripts/platforms-test

#: make pin             write requirements*.txt anew from what pyproject.toml asks for
.PHONY: pin
pin:
	@exec scripts/pin-requirements

#: make clean           remove what was built (distclean: the virtual environment too)
.PHONY: clean distclean
clean:
	@exec find build -mindepth 1 -maxdepth 1 ! -name venv ! -name .lock -exec rm -rf {} +
distclean: clean
	@exec rm -rf build/venv

endif
endif

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Parts of kernels: no machine code of their own, and kept on disk for other kernels to link."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numba import types

from collision_monitor.common.array_views import Window, borrow
from collision_monitor.common.compiled import kernel
from collision_monitor.common.far_call import addresses
from collision_monitor.common.part_library import PartLibrary

PARTS = """
from collision_monitor.common.array_views import borrow
from collision_monitor.common.compiled import kernel

@kernel
def _total(window):
    total = 0.0
    for k in range(len(window)):
        total += window[k, 0]
    return total

@kernel
def total(numbers):
    return _total(borrow(numbers, 0, len(numbers), 1))

@kernel
def twice(numbers):
    return 2.0 * _total(borrow(numbers, 0, len(numbers), 1))
"""
QUESTION = """
import numpy as np, some_parts
print(some_parts.{name}(np.arange(5.0)), sum(some_parts._total.stats.cache_hits.values()))
"""


def ask(folder, name):
    """What a kernel says in a fresh process, and how often its part came from disk."""
    (folder / "some_parts.py").write_text(PARTS)
    place = {"NUMBA_CACHE_DIR": str(folder / "cache")}
    path = os.pathsep.join([str(folder), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", QUESTION.format(name=name)],
        env={**os.environ, **place, "PYTHONPATH": path},
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    answer, hits = done.stdout.split()[-2:]
    return float(answer), int(hits)


def test_parts_on_disk_are_linked_into_kernels_that_are_not(tmp_path):
    assert ask(tmp_path, "total") == (10.0, 0)
    assert ask(tmp_path, "twice") == (20.0, 1)
    assert ask(tmp_path, "twice") == (20.0, 0)  # whole from disk, without its part


@kernel
def _first(window):
    return window[0, 0]


@kernel
def _first_of(numbers):
    return _first(borrow(numbers, 0, len(numbers), 1))


def test_what_is_handed_windows_has_no_machine_code():
    assert _first_of(np.array([3.0, 4.0])) == 3.0
    (part,), (whole,) = _first.overloads.values(), _first_of.overloads.values()
    assert isinstance(part.library, PartLibrary)
    assert not isinstance(whole.library, PartLibrary)
    assert "define" in str(part.library._get_module_for_linking())


def test_a_part_has_no_address():
    with pytest.raises(AssertionError, match="_first must be a far_kernel"):
        addresses([(_first, (Window(types.float64),))])

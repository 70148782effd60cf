# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Where MuJoCo is missing, the message says which extra brings it."""

import sys

import pytest

from collision_monitor.errors import MissingDependencyError
from collision_monitor.simulation.mujoco_model import mujoco_library


def test_a_missing_mujoco_is_said_with_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    mujoco_library.cache_clear()
    with pytest.raises(MissingDependencyError, match=r"collision_monitor\[simulation\]"):
        mujoco_library()
    mujoco_library.cache_clear()


def test_an_old_one_is_said_too(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", type(sys)("mujoco"))
    mujoco_library.cache_clear()
    with pytest.raises(MissingDependencyError, match=r"3\.3 or later.*MjSpec"):
        mujoco_library()
    mujoco_library.cache_clear()

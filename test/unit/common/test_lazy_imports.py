# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A library that is missing or too old is reported with the command that installs it."""

import sys

import pytest

from collision_monitor.common.lazy_imports import optional_dependency
from collision_monitor.errors import MissingDependencyError
from collision_monitor.simulation.mujoco_model import mujoco_library
from collision_monitor.viewer.picture import require_pyvista
from collision_monitor.viewer.server import require_viser

LIBRARIES = {
    "viser": (require_viser, r"viser 1\.1 or later .*pip install 'viser>="),
    "mujoco": (mujoco_library, r"mujoco 3\.3 or later .*pip install .*'mujoco>="),
    "pyvista": (require_pyvista, r"pyvista .*pip install 'pyvista>="),
}


@pytest.fixture(autouse=True)
def anew():
    """Import MuJoCo anew in each test and after it."""
    mujoco_library.cache_clear()
    yield
    mujoco_library.cache_clear()


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_missing_library_is_reported_with_the_command_that_installs_it(name, monkeypatch):
    require, says = LIBRARIES[name]
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingDependencyError, match=says):
        require()


@pytest.mark.parametrize(("name", "lacks"), [("viser", "MainPanelHandle"), ("mujoco", "MjSpec")])
def test_an_old_library_is_reported_with_what_it_lacks(name, lacks, monkeypatch):
    require, says = LIBRARIES[name]
    monkeypatch.setitem(sys.modules, name, type(sys)(name))
    with pytest.raises(MissingDependencyError, match=says) as caught:
        require()
    assert lacks in str(caught.value)


def test_other_errors_pass():
    with pytest.raises(ZeroDivisionError), optional_dependency("a need", "extra"):
        1 / 0  # noqa: B018

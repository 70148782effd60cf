# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Simulated robots for tests: the package's own and real ones."""

from functools import cache

import pytest

from support.paths import ROOT
from support.robots.robots import RobotFiles, require

pytest.importorskip("mujoco", reason="mujoco is not installed: pip install '.[simulation]'")

from collision_monitor.simulation.mujoco_model import SimulationSettings  # noqa: E402
from collision_monitor.simulation.simulation import Simulation  # noqa: E402

DUAL_ARM = RobotFiles(ROOT / "urdf/dual_arm.urdf", ROOT / "urdf/dual_arm.srdf", ())


def files_of(name: str) -> RobotFiles:
    """The files of a robot by its name."""
    return DUAL_ARM if name == "dual_arm" else require(name)


@cache
def _simulation(name: str, settings: SimulationSettings) -> Simulation:
    files = files_of(name)
    return Simulation.from_urdf(files.urdf, files.srdf, files.package_dirs, settings=settings)


def simulation(name: str, **options) -> Simulation:
    """A simulation of a robot at its start; the same one for the same settings."""
    found = _simulation(name, SimulationSettings(**options))
    found.reset()
    return found

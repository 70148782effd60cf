# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Forwarded trajectories as a controller executes them, checked by pinocchio and coal alone."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from collision_monitor import CollisionModel
from support.geometry.mesh_clearance import MeshClearance
from support.geometry.reference import Reference
from support.ros.self_collision_cell import rows_of, times_of

from trajectory_msgs.msg import JointTrajectory  # isort: skip

INSTANTS, ON_THE_WAY = 2000, 100


class CoalCheck:
    """Coal's distances of all checked pairs of links of a robot along a trajectory."""

    def __init__(self, urdf: Path, model: CollisionModel) -> None:
        """``urdf``: the file of the model, with absolute paths of meshes."""
        self._names = model.joint_names
        every = np.ones(len(model.pairs), dtype=bool)
        self._meshes = MeshClearance(model, Reference(urdf, [], model), every)

    def rows(
        self, message: JointTrajectory, present: Mapping[str, float], instants: int = INSTANTS
    ) -> np.ndarray:
        """(ON_THE_WAY + instants, nq) from ``present`` to the first point, then along all.

        Interpolated as by a controller that is given positions alone: linearly. Joints that are not
        named stay at ``present``.
        """
        times, points = times_of(message), rows_of(message)
        assert not any(point.velocities or point.accelerations for point in message.points)
        assert np.all(np.diff(times) > 0.0)
        at = np.linspace(times[0], times[-1], instants)
        part = np.linspace(0.0, 1.0, ON_THE_WAY)
        rows = np.tile([present[name] for name in self._names], (ON_THE_WAY + instants, 1))
        for name, column in zip(message.joint_names, points.T, strict=True):
            way = present[name] + part * (column[0] - present[name])
            rows[:, self._names.index(name)] = np.r_[way, np.interp(at, times, column)]
        return rows

    def least(
        self, message: JointTrajectory, present: Mapping[str, float], instants: int = INSTANTS
    ) -> float:
        """The smallest distance of any checked pair, metres; 0 or less where links touch."""
        return self._meshes.least(self.rows(message, present, instants))[0]

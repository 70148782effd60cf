# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A motion of a robot with what was found and assumed while it was read."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from scipy.interpolate import PPoly

from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.motion.violation import Violation


@dataclass(frozen=True, eq=False)
class LoadedMotion:
    """A motion from a file.

    Attributes:
        trajectory: all independent joints of the robot, in its order; it begins at 0 s.
        violations: found while a command was converted to a motion.
        warnings: assumptions that were made, as sentences that begin with the file.
        source: description of the source, for a report.
        along_line: whether the command moves a link along a line.
        named: joints of the trajectory that the file names; the others are held.
        known: held joints whose positions are given, by the caller or the start state of a plan.
        begin: the time of its first point in the file, seconds.
    """

    trajectory: Trajectory
    violations: tuple[Violation, ...]
    warnings: tuple[str, ...]
    source: str
    along_line: bool = False
    named: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()
    begin: float = 0.0

    def only(self, joint_names: Collection[str]) -> LoadedMotion:
        """Return the same motion with only the given joints."""
        kept = [k for k, name in enumerate(self.trajectory.joint_names) if name in joint_names]
        polynomial = self.trajectory.polynomial
        names = tuple(self.trajectory.joint_names[k] for k in kept)
        part = Trajectory(names, PPoly(polynomial.c[:, :, kept], polynomial.x))
        return replace(self, trajectory=part)

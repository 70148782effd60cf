# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Random straight motions through `adjust`, judged by `check_clearance` and by coal."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from collision_monitor import CollisionModel
from collision_monitor.errors import AdjustmentError
from collision_monitor.motion.trajectory import Motion, Trajectory
from collision_monitor.robot.scene import Scene
from collision_monitor.self_collision import Arm, adjust
from collision_monitor.verification.clearance.clearance_check import check_clearance
from collision_monitor.verification.joint_limits_check import check_joint_limits
from support.geometry.mesh_clearance import MeshClearance, between
from support.geometry.reference import Reference
from support.robots.robots import RobotFiles

_STEP = 0.1  # rad or m between waypoints
_BETWEEN = 10  # instants between two waypoints at which coal is asked


@dataclass
class Judged:
    """What became of some motions; times in seconds of the processor.

    ``ends``, ``refused_ends``: random poses without contact, and those that `adjust` refuses.
    ``wrong``: results in which links touch, as `check_clearance` or coal says, or that exceed
    limits of the URDF, as `check_joint_limits` says.
    """

    ends: int = 0
    refused_ends: int = 0
    safe: int = 0
    adjusted: int = 0
    refused: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


class RandomMotions:
    """Straight motions of some arms between random poses that `adjust` takes as a start.

    ``changes``: settings of `adjust`.
    """

    def __init__(
        self, model: CollisionModel, arms: tuple[Arm, ...], seed: int, **changes: float
    ) -> None:
        self.model, self.arms, self.changes = model, arms, changes
        self._random = np.random.default_rng(seed)
        self.names = tuple(name for arm in arms for name in arm.joint_names)
        self.columns = [model.joint_names.index(name) for name in self.names]
        self.rest = np.clip(0.0, model.lower, model.upper)
        self.ends = self.refused_ends = 0  # poses without contact, and those refused

    def rows(self, positions: np.ndarray) -> np.ndarray:
        """(n, nq) of the arms' ``positions`` (n, joints)."""
        rows = np.repeat(self.rest[None], len(positions), axis=0)
        rows[:, self.columns] = positions
        return rows

    def touches(self, rows: np.ndarray) -> bool:
        """Whether any pair touches at any of ``rows``."""
        found = (self.model.distance(q, exact=True, any_contact=True) for q in rows)
        return any(clearance.distance <= 0.0 for clearance in found)

    def _pose(self) -> np.ndarray:
        lower = np.maximum(self.model.lower, -np.pi)[self.columns]
        upper = np.minimum(self.model.upper, np.pi)[self.columns]
        while True:
            pose = self._random.uniform(lower, upper)
            if self.touches(self.rows(pose[None])):
                continue
            self.ends += 1
            try:
                motion = Motion(self.names, np.zeros(1), pose[None])
                adjust(self.model, motion, self.arms, **self.changes)
            except AdjustmentError:
                self.refused_ends += 1
                continue
            return pose

    def take(self, count: int, touching: bool = False) -> Iterator[Motion]:
        """``count`` motions; ``touching``: only those on which links touch."""
        while count:
            start, end = self._pose(), self._pose()
            steps = max(2, int(np.ceil(np.abs(end - start).max() / _STEP)))
            positions = start + np.linspace(0.0, 1.0, steps + 1)[:, None] * (end - start)
            if not touching or self.touches(self.rows(positions[1:-1])):
                count -= 1
                yield Motion(self.names, 0.2 * np.arange(steps + 1.0), positions)


def judge(
    model: CollisionModel,
    files: RobotFiles,
    arms: tuple[Arm, ...],
    count: int,
    seed: int = 0,
    touching: bool = False,
    **changes: float,
) -> Judged:
    """Adjust ``count`` motions, and check the results; coal checks the robot without its scene.

    ``changes``: settings of `adjust`.
    """
    source, out = RandomMotions(model, arms, seed, **changes), Judged()
    alone = model.with_scene(Scene())
    every = np.ones(len(alone.pairs), dtype=bool)
    meshes = MeshClearance(alone, Reference(files.urdf, files.package_dirs, alone), every)
    for k, motion in enumerate(source.take(count, touching)):
        begin = time.process_time()
        try:
            found = adjust(model, motion, arms, **changes)
        except AdjustmentError as error:
            out.refused.append(str(error))
            continue
        finally:
            out.seconds.append(time.process_time() - begin)
        out.adjusted += found.changed
        out.safe += not found.changed
        path = Trajectory.through(source.names, found.motion.times, found.motion.positions)
        verdict = check_clearance(model, path, exact=True)
        rows = source.rows(found.motion.positions)
        distance, _, links = meshes.least(between(rows, _BETWEEN))
        broken = check_joint_limits(path, model.robot, from_rest=True).violations
        if not verdict.ok or distance <= 0.0 or broken:
            out.wrong.append(
                f"motion {k}: {verdict.verdict.value}; coal: {distance:.4f} m {links}; "
                f"limits: {[(v.code.value, v.joint) for v in broken]}"
            )
    out.ends, out.refused_ends = source.ends, source.refused_ends
    return out

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The published two-level check of a motion of an arm's tip against one obstacle.

After Gao Jiacai, Li Lihong and Yuan Gang (Computer Simulation 39(6), 2022): a bound on the way of
the tip certifies parts that stay away from a ball around the obstacle; the rest is tested against
its box. Use `clearance_check`, which does the same for all links without gaps. This is the method
as it was published, with its errors corrected:

- The way is bounded by the sum over the joints of |dq| times the tip's greatest distance from the
  axis (Schwarzer, Saha, Latombe). The number that is printed is less than the true way.
- The gaps are those to the ball and not to its centre. ``printed`` takes the centre.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.errors import ConfigurationError
from collision_monitor.published import two_level_kernels

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel


class Box:
    """An obstacle.

    Attributes:
        rows: (5, 3) its axes, its centre and its half sides in the base frame, metres.
        radius: of the ball around it, metres.
    """

    def __init__(self, pose: np.ndarray, size: np.ndarray) -> None:
        """``pose`` (4, 4) in the base frame; ``size`` (3,) edges, metres."""
        half = 0.5 * np.asarray(size, dtype=float)
        self.rows = np.vstack([pose[:3, :3].T, pose[:3, 3], half])
        self.radius = float(np.linalg.norm(half))


@dataclass(frozen=True)
class TwoLevel:
    """Result of checking a motion of n points.

    Attributes:
        tests: of a bound on the way.
        placed: points at which the tip was placed for these.
        suspects: points that the first level cannot certify, from 0.
        hits: those of them that are in the box.
    """

    tests: int
    placed: int
    suspects: tuple[int, ...]
    hits: tuple[int, ...]


class Tip:
    """The tip of an arm; ``link`` is the link whose origin it is.

    ``reaches`` (nq,): its greatest distance from each axis, metres (1 for a joint that slides).
    """

    def __init__(self, model: CollisionModel, link: str, reaches: np.ndarray) -> None:
        if link not in model.bodies.link_bodies:
            raise ConfigurationError(f"'{model.name}' has no link {link!r} to be the tip")
        self.reaches = np.ascontiguousarray(reaches, dtype=float)
        if self.reaches.shape != (len(model.joint_names),):
            raise ConfigurationError(
                f"reaches have shape {self.reaches.shape}; ({len(model.joint_names)},) is right, "
                "one for each joint"
            )
        self._arrays = model.work_space()
        self._body = model.bodies.link_bodies[link]
        self._point = np.ascontiguousarray(model.bodies.link_poses[link][:3, 3])

    def arguments(self, rows: np.ndarray, box: Box) -> tuple:
        """First arguments of the kernels of `published.two_level_kernels`."""
        return *self._arrays, rows, self._body, self._point, box.rows, box.radius

    def two_levels(self, rows: np.ndarray, box: Box, printed: bool = False) -> TwoLevel:
        """Check a straight motion of the joints through ``rows`` (n, nq), as published.

        ``printed``: with gaps to the centre of the ball, as it is printed: no certificate.
        """
        marks = np.empty((2, len(rows)), dtype=bool)
        tests, placed, hits = two_level_kernels.two_levels(
            *self.arguments(rows, box)[:-1], 0.0 if printed else box.radius, self.reaches, True,
            np.empty((len(rows), 3)), marks[0], marks[1],
        )  # fmt: skip
        chosen, found = (tuple(mark.nonzero()[0].tolist()) for mark in marks)
        return TwoLevel(tests, placed, chosen, found if hits else ())

    def check(self, rows: np.ndarray, box: Box) -> TwoLevel:
        """As `two_levels`, in fewer tests, and for any way through ``rows`` (n, nq).

        The distances from the axes are those where the arm is, and a gap certifies as many rows
        about its own as it reaches to: no test asks again about what another has certified.
        """
        marks = np.empty((2, len(rows)), dtype=bool)
        placed, hits = two_level_kernels.cover(
            *self.arguments(rows, box), np.empty((len(rows), 3)), marks[0], marks[1]
        )
        chosen, found = (tuple(mark.nonzero()[0].tolist()) for mark in marks)
        return TwoLevel(placed, placed, chosen, found if hits else ())

    def all_points(self, rows: np.ndarray, box: Box) -> tuple[int, ...]:
        """Rows at which the tip is in the ball around the box: every point is tested."""
        found = np.empty(len(rows), dtype=bool)
        two_level_kernels.in_ball(*self.arguments(rows, box), np.empty((len(rows), 3)), found)
        return tuple(found.nonzero()[0].tolist())

    def way_bound(self, start: np.ndarray, end: np.ndarray) -> float:
        """Metres that the tip can go from one configuration (nq,) to another at most."""
        return float(np.abs(end - start) @ self.reaches)

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Geometric Jacobians of a robot's bodies at one configuration, in numpy."""

from __future__ import annotations

import numpy as np

from collision_monitor.robot.bodies import Bodies


class Jacobians:
    """Velocities of points per joint speed, at one configuration; base frame.

    Joint k of ``bodies`` acts along or about the z axis z_k of its body's frame, through its
    origin o_k: a point p beyond it moves with z_k x (p - o_k) per radian, or with z_k per metre.
    A mimic joint adds to the column of its leader, times its gain.
    """

    def __init__(self, bodies: Bodies, q: np.ndarray) -> None:
        """Place all bodies at ``q`` (nq,), radians and metres."""
        self._bodies = bodies
        count = len(bodies.parents)
        self._frames = np.empty((count + 1, 4, 4))
        self._frames[0] = np.eye(4)
        positions = bodies.gains * np.asarray(q, dtype=float)[bodies.columns] + bodies.offsets
        sines, cosines = np.sin(positions), np.cos(positions)
        for k in range(count):
            frame = self._frames[bodies.parents[k]] @ bodies.placements[k]
            if bodies.slides[k]:
                frame[:3, 3] += positions[k] * frame[:3, 2]
            else:
                x, y = frame[:3, 0].copy(), frame[:3, 1].copy()
                frame[:3, 0] = cosines[k] * x + sines[k] * y
                frame[:3, 1] = cosines[k] * y - sines[k] * x
            self._frames[k + 1] = frame
        self._chains: dict[int, np.ndarray] = {}

    def _chain(self, body: int) -> np.ndarray:
        """Rows of the joints that move ``body``, from the base."""
        if body not in self._chains:
            rows, at = [], body
            while at > 0:
                rows.append(at - 1)
                at = int(self._bodies.parents[at - 1])
            self._chains[body] = np.array(rows[::-1], dtype=np.int64)
        return self._chains[body]

    def link_pose(self, link: str) -> np.ndarray:
        """Pose (4, 4) of a link of the robot."""
        bodies = self._bodies
        return self._frames[bodies.link_bodies[link]] @ bodies.link_poses[link]

    def of_point(self, body: int, point: np.ndarray) -> np.ndarray:
        """(6, nq) of the point of ``body`` that is at ``point`` (3,): velocity, then turning."""
        bodies, rows = self._bodies, self._chain(body)
        out = np.zeros((6, len(bodies.joints)))
        axes = self._frames[rows + 1, :3, 2] * bodies.gains[rows, None]
        slides = bodies.slides[rows]
        arms = np.asarray(point, dtype=float) - self._frames[rows + 1, :3, 3]
        linear = np.where(slides[:, None], axes, np.cross(axes, arms))
        turning = np.where(slides[:, None], 0.0, axes)
        # A mimic joint may stand in the same chain as its leader.
        np.add.at(out.T, bodies.columns[rows], np.hstack([linear, turning]))
        return out

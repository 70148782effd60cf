# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joint rates that move a link as wanted, with the least norm, and the path that they make.

Resolved rates after Whitney, IEEE Trans. Man-Machine Systems 10(2), 1969, 47-53, by the Jacobian's
pseudo-inverse: of all rates that give the twist, those of least norm (Liu Qian, Liu Chuankai et
al., J. NUAA 54(1), 2022, remove the null-space component, which is the same). Near singularities
they are damped after Nakamura and Hanafusa, J. Dyn. Syst. Meas. Control 108(3), 1986, 163-171.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.integrate import DOP853, OdeSolution
from scipy.spatial.transform import Rotation

from collision_monitor.common.text import shortened
from collision_monitor.errors import MotionError
from collision_monitor.robot.bodies import Bodies, Jacobians
from collision_monitor.robot.poses import rotation_about


@dataclass(frozen=True, eq=False)
class CartesianLine:
    """Poses (4, 4) ``start`` and ``end`` of a link in the base frame; s from 0 to 1 in between."""

    start: np.ndarray
    end: np.ndarray

    @cached_property
    def twist(self) -> np.ndarray:
        """(6,) per unit of s, the same all along: displacement in metres, turn in radians.

        The turn is the logarithm of SO(3), at most pi long, in the base frame. (The axis of the
        paper, half the sum of the cross products of the frames' axes, has the length sin(phi): it
        finds 89 degrees where 91 are meant and nothing at 180.)
        """
        turn = Rotation.from_matrix(self.end[:3, :3] @ self.start[:3, :3].T).as_rotvec()
        return np.concatenate([self.end[:3, 3] - self.start[:3, 3], turn])

    @cached_property
    def length(self) -> float:
        """Metres."""
        return float(np.linalg.norm(self.twist[:3]))

    @cached_property
    def angle(self) -> float:
        """Radians, 0 to pi."""
        return float(np.linalg.norm(self.twist[3:]))

    def poses(self, s: np.ndarray) -> np.ndarray:
        """Poses (n, 4, 4) at ``s`` (n,); the line goes on beyond 0 and 1."""
        s = np.asarray(s, dtype=float)
        out = np.broadcast_to(np.eye(4), (len(s), 4, 4)).copy()
        turns = Rotation.from_rotvec(s[:, None] * self.twist[3:]).as_matrix()
        out[:, :3, :3] = turns @ self.start[:3, :3]
        out[:, :3, 3] = self.start[:3, 3] + s[:, None] * self.twist[:3]
        return out

    def ahead(self, s: np.ndarray, poses: np.ndarray) -> np.ndarray:
        """(n, 6) what leads from ``poses`` (n, 4, 4) to those at ``s`` (n,): metres, radians."""
        due = self.poses(s)
        turns = Rotation.from_matrix(due[:, :3, :3] @ poses[:, :3, :3].transpose(0, 2, 1))
        return np.hstack([due[:, :3, 3] - poses[:, :3, 3], turns.as_rotvec()])

    def pull(self, s: float, pose: np.ndarray) -> np.ndarray:
        """(6,) towards the pose at ``s`` from ``pose`` (4, 4), in metres and radians.

        It is `ahead` up to the third order of what is missing, and much cheaper: half the turn's
        skew part, of length sin(phi). Good enough to feed back, not to measure.
        """
        axis = self.twist[3:] / (self.angle or 1.0)
        off = rotation_about(axis, s * self.angle) @ self.start[:3, :3] @ pose[:3, :3].T
        place = self.start[:3, 3] + s * self.twist[:3] - pose[:3, 3]
        turn = 0.5 * np.array([off[2, 1] - off[1, 2], off[0, 2] - off[2, 0], off[1, 0] - off[0, 1]])
        return np.concatenate([place, turn])


SINGULAR = 0.01  # smallest singular value below which rates are damped; lengths over the arm's
_DAMPING = 0.5 * SINGULAR  # at singular value zero
_FEEDBACK = 30.0  # per unit of s: how fast what is off the line is made up for
_LOST = (0.02, 0.05)  # parts of the reach, and radians, off the line at which it is given up
_MOST_EVALUATIONS = 20_000  # a few seconds; a line takes a few hundred


class ResolvedRates:
    """Rates of the joints between the base and a link, for a line that the link follows."""

    def __init__(
        self,
        bodies: Bodies,
        link: str,
        line: CartesianLine,
        q: np.ndarray,
        joint_names: Sequence[str] | None = None,
    ) -> None:
        """Start at ``q`` (nq,); ``joint_names``: the only joints that may move.

        Raises:
            MotionError: an unknown link or joint, or none that moves the link.
        """
        if link not in bodies.link_bodies:
            known = shortened(map(repr, bodies.link_bodies), 20)
            raise MotionError(f"the robot has no link {link!r}; it has {known}")
        self._bodies, self._link, self._line = bodies, link, line
        self._body = bodies.link_bodies[link]
        self._q = np.array(q, dtype=float)
        rows = bodies.chain(self._body)
        # The length of the stretched arm: what a turn of its first joint moves, at most.
        self.reach = float(np.linalg.norm(bodies.placements[rows[:-1], :3, 3], axis=1).sum())
        self.reach += float(np.linalg.norm(bodies.link_poses[link][:3, 3]))
        columns = np.unique(bodies.columns[rows])
        movers = [bodies.joint_names[column] for column in columns]
        for name in joint_names or ():
            if name not in movers:
                known = shortened(map(repr, movers), 20)
                raise MotionError(f"joint {name!r} does not move {link!r}; {known} do")
        self.columns = np.array(
            [c for c, name in zip(columns, movers, strict=True) if name in (joint_names or movers)],
            dtype=np.int64,
        )
        if not len(self.columns):
            raise MotionError(f"no joint moves {link!r}")
        self._scale = np.array([1.0 / (self.reach or 1.0)] * 3 + [1.0] * 3)

    def configurations(self, moving: np.ndarray) -> np.ndarray:
        """(n, nq) of the joints that move, (n, len(columns)); the others are where they began."""
        out = np.repeat(self._q[None, :], len(moving), axis=0)
        out[:, self.columns] = moving
        return out

    def _jacobian(self, moving: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pose (4, 4) of the link, and its Jacobian (6, len(columns)) with scaled rows."""
        at = Jacobians(self._bodies, self.configurations(moving[None])[0])
        pose = at.link_pose(self._link)
        jacobian = at.of_point(self._body, pose[:3, 3])[:, self.columns]
        return pose, jacobian * self._scale[:, None]

    def smallest_singular_value(self, moving: np.ndarray) -> float:
        """Of the Jacobian there, lengths divided by the length of the stretched arm."""
        return float(np.linalg.svd(self._jacobian(moving)[1], compute_uv=False)[-1])

    def per_s(self, s: float, moving: np.ndarray) -> np.ndarray:
        """Change (len(columns),) of the joints per unit of s that keeps the link on the line."""
        pose, jacobian = self._jacobian(moving)
        wanted = (self._line.twist + _FEEDBACK * self._line.pull(s, pose)) * self._scale
        left, values, right = np.linalg.svd(jacobian, full_matrices=False)
        near = min(1.0, values[-1] / SINGULAR)
        damping = _DAMPING**2 * (1.0 - near * near)
        return right.T @ ((left.T @ wanted) * values / (values * values + damping + 1e-300))

    def path(self) -> tuple[Callable[[np.ndarray], np.ndarray], float]:
        """The joints (n, len(columns)) at s (n,), integrated from 0, and until which s.

        Drift is fed back. The path ends before 1 where the link cannot follow the line, so that
        it is far off it, or the rates too wild to be integrated.
        """
        solver = DOP853(
            self.per_s,
            0.0,
            self._q[self.columns],
            1.0,
            rtol=1e-8,
            atol=1e-9,
            max_step=1.0 / 8.0,
        )
        ends, pieces = [0.0], []
        while solver.status == "running":
            try:
                solver.step()
            except np.linalg.LinAlgError:
                break
            if solver.status == "failed":
                break
            ends.append(solver.t)
            pieces.append(solver.dense_output())
            if self._lost(solver.t, solver.y) or solver.nfev > _MOST_EVALUATIONS:
                break
        if not pieces:
            raise MotionError("the line cannot be followed: rates change too fast at its start")
        solution = OdeSolution(ends, pieces)
        return lambda s: solution(s).T, ends[-1]

    def _lost(self, s: float, moving: np.ndarray) -> bool:
        pose = Jacobians(self._bodies, self.configurations(moving[None])[0]).link_pose(self._link)
        ahead = self._line.ahead(np.array([s]), pose[None])[0]
        metres, radians = np.linalg.norm(ahead[:3]), np.linalg.norm(ahead[3:])
        return bool(metres > _LOST[0] * self.reach or radians > _LOST[1])

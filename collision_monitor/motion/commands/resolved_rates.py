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

import numpy as np
from scipy.integrate import DOP853, OdeSolution

from collision_monitor.errors import MotionError
from collision_monitor.motion.commands.cartesian_line import CartesianLine
from collision_monitor.robot.bodies import Bodies
from collision_monitor.robot.jacobian import Jacobians

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
            raise MotionError(f"the robot has no link {link!r}; it has {_some(bodies.link_bodies)}")
        self._bodies, self._link, self._line = bodies, link, line
        self._body = bodies.link_bodies[link]
        self._q = np.array(q, dtype=float)
        rows, at = [], self._body
        while at > 0:
            rows.append(at - 1)
            at = int(bodies.parents[at - 1])
        # The length of the stretched arm: what a turn of its first joint moves, at most.
        self.reach = float(np.linalg.norm(bodies.placements[rows][1:, :3, 3], axis=1).sum())
        self.reach += float(np.linalg.norm(bodies.link_poses[link][:3, 3]))
        columns = np.unique(bodies.columns[rows])
        movers = [bodies.joint_names[column] for column in columns]
        for name in joint_names or ():
            if name not in movers:
                raise MotionError(f"joint {name!r} does not move {link!r}; {_some(movers)} do")
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


def _some(names: Sequence[str]) -> str:
    names = list(names)
    return ", ".join(map(repr, names[:20])) + (" and more" if len(names) > 20 else "")

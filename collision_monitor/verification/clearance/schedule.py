# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Simultaneous trajectories on one clock: their joints and start times."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import PPoly

from collision_monitor.common.limits import LARGEST
from collision_monitor.common.settings import is_number
from collision_monitor.common.text import closest
from collision_monitor.continuous.clearance_scan import RESOLUTION
from collision_monitor.continuous.scan_space import ScanMotion
from collision_monitor.errors import ConfigurationError, TrajectoryError
from collision_monitor.motion.trajectory import LONGEST, Trajectory, joined, own_knots

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

# rad or m that a joint may move within the resolution of times: a tenth of that of thresholds, at a
# lever arm of a metre.
_UNTIMED = 0.1 * RESOLUTION


@dataclass(frozen=True)
class Scheduled:
    """A trajectory and its start time.

    Attributes:
        trajectory: of some joints of the model.
        start: seconds.
        prefix: prepended to the names of its joints: that of one of several robots
            (`robot.composed.Mounted`).
    """

    trajectory: Trajectory
    start: float = 0.0
    prefix: str = ""

    def __post_init__(self) -> None:
        """Reject an invalid start."""
        if not abs(self.start) <= LONGEST:  # NaN too
            raise TrajectoryError(
                f"a trajectory cannot start at {self.start!r} s: starts are {-LONGEST:g} to "
                f"{LONGEST:g} s from a common time 0, not times of a clock"
            )


def together(parts: Sequence[Scheduled]) -> tuple[PPoly, np.ndarray | None]:
    """The positions of the joints of all parts, one part after another, over the common time.

    Also their knots, as of a `Trajectory`.
    """
    polynomials = [
        PPoly(part.trajectory.polynomial.c, part.trajectory.polynomial.x + part.start)
        for part in parts
    ]
    knots = [part.trajectory.knots for part in parts]
    if len(parts) == 1:
        return polynomials[0], knots[0]
    whole = joined(polynomials)
    return whole, own_knots(polynomials, whole.x, knots)


# Of a pair in contact; `adjust` and `verify` say the same.
UNMOVED = (
    "the motion does not move these links against each other: hold their joints elsewhere, or, if "
    "they touch by design, leave the pair out in the SRDF"
)


def moved_relatively(model: CollisionModel, columns: Collection[int]) -> np.ndarray:
    """(pairs,) bool: pairs whose relative pose depends on the joints ``columns`` of q.

    For example, that of two fingers of a hand does not depend on the joints of the arm.
    """
    turning = np.isin(model.bodies.columns, list(columns))
    carries = (model.link_reach() > 0.0) & turning
    a, b = model.pair_links.T
    return (carries[a] != carries[b]).any(axis=1)


class Schedule:
    """Motion of all joints of a model over time.

    Attributes:
        parts: the given trajectories.
        begin, end: seconds; nothing moves before or after.
        rest: (nq,) positions of joints that no part drives.
    """

    def __init__(
        self,
        model: CollisionModel,
        motion: Trajectory | Scheduled | Sequence[Trajectory | Scheduled],
        held: Mapping[str, float] | None = None,
    ) -> None:
        """Combine the parts of ``motion``, and check them against the model.

        ``held``: positions of joints that no part drives; default 0, or the nearer limit.

        Raises:
            TrajectoryError: no trajectory, an unknown joint, or one that is driven twice.
            ConfigurationError: ``held`` names an unknown joint, or a value is not a number.
        """
        given = [motion] if isinstance(motion, (Trajectory, Scheduled)) else list(motion)
        self.parts = tuple(p if isinstance(p, Scheduled) else Scheduled(p) for p in given)
        if not self.parts:
            raise TrajectoryError("no trajectory is given: at least one is needed")
        self.begin = min(part.start for part in self.parts)
        ends = [part.start + part.trajectory.duration for part in self.parts]
        self.end = max(*ends, self.begin + 1e-9)
        self.rest = rest_configuration(model, held or {})
        self._columns: list[int] = []
        for part in self.parts:
            self._columns += self._place(model, part)
        self._polynomial, _ = together(self.parts)
        self._packed: ScanMotion | None = None

    def _place(self, model: CollisionModel, part: Scheduled) -> list[int]:
        """Indices into q of the joints that ``part`` drives."""
        columns: list[int] = []
        trajectory = part.trajectory
        _check_path_lengths(part)
        for own_name in trajectory.joint_names:
            name = part.prefix + own_name
            if name not in model.joint_names:
                raise TrajectoryError(
                    f"'{model.name}' has no joint '{name}' that a trajectory can move; it has "
                    f"{closest(name, model.joint_names)}"
                )
            column = model.joint_names.index(name)
            if column in self._columns or column in columns:
                raise TrajectoryError(f"joint '{name}' is moved by two trajectories, or twice")
            columns.append(column)
        return columns

    def moving(self) -> list[int]:
        """Indices into q of the joints that move."""
        c = self._polynomial.c
        moves = (c[:-1] != 0.0).any(axis=(0, 1)) | (np.ptp(c[-1], axis=0) > 0.0)
        return np.asarray(self._columns)[moves].tolist()

    def configuration(self, time: float) -> np.ndarray:
        """(nq,) configuration at ``time`` s; the ends are held."""
        q = self.rest.copy()
        breaks = self._polynomial.x
        q[self._columns] = self._polynomial(min(max(time, breaks[0]), breaks[-1]))
        return q

    def bins(self, count: int) -> np.ndarray:
        """Edges of about ``count`` time bins, seconds; at all breakpoints if these are fewer."""
        even = np.linspace(self.begin, self.end, count + 1)
        ends = [part.trajectory.times + part.start for part in self.parts]
        breaks = np.unique(np.concatenate([[self.begin, self.end], *ends]))
        if len(breaks) > count:
            return even
        steps = np.maximum(1, np.round(np.diff(breaks) / (even[1] - even[0]))).astype(int)
        pieces = [
            np.linspace(a, b, n, endpoint=False)
            for a, b, n in zip(breaks[:-1], breaks[1:], steps, strict=True)
        ]
        return np.unique(np.append(np.concatenate(pieces), self.end))

    def packed(self) -> ScanMotion:
        """The motion as arguments of kernels."""
        if self._packed is None:
            polynomial = self._polynomial
            # Ascending powers; pieces x joints x order.
            coefficients = np.ascontiguousarray(polynomial.c[::-1].transpose(1, 2, 0), dtype=float)
            self._packed = ScanMotion(
                np.ascontiguousarray(polynomial.x, dtype=float), coefficients.ravel(),
                np.array(self._columns, dtype=np.int64), len(polynomial.c),
            )  # fmt: skip
        return self._packed


def _check_path_lengths(part: Scheduled) -> None:
    """Reject unrealistic motions: bounds would not converge, or rounding of times would hide them.

    Between two neighbouring floating-point numbers there is no instant that could be checked.
    """
    polynomial, start = part.trajectory.polynomial, part.start
    order, gaps = len(polynomial.c), np.diff(polynomial.x)
    resolved = np.spacing(abs(start) + polynomial.x[-1])
    with np.errstate(over="ignore", invalid="ignore"):
        powers = gaps ** np.arange(order - 1, 0, -1)[:, None]
        ways = np.abs(polynomial.c[:-1] * powers[:, :, None]).sum(axis=0)
        untimed = ways * (resolved / gaps)[:, None]
    bad = np.argwhere(~((ways <= LARGEST) & (untimed <= _UNTIMED)))
    if len(bad):
        piece, column = bad[0].tolist()
        begin, end = start + polynomial.x[piece : piece + 2]
        moves = (
            f"joint '{part.prefix}{part.trajectory.joint_names[column]}' moves by up to "
            f"{ways[piece, column]:.3g} rad or m between {begin:.15g} s and {end:.15g} s"
        )
        if ways[piece, column] <= LARGEST:
            raise TrajectoryError(
                f"{moves}, in {gaps[piece]:g} s: too fast for times so far from 0 s, which are "
                f"resolved to {resolved:.1g} s; start nearer to 0 s, or move more slowly"
            )
        raise TrajectoryError(
            f"{moves}, more than the maximum of {LARGEST:g}; are these radians, metres and seconds?"
        )


def rest_configuration(model: CollisionModel, held: Mapping[str, float]) -> np.ndarray:
    """(nq,) positions of joints that no part drives.

    Those of ``held``; otherwise 0, or the nearer limit.

    Raises:
        ConfigurationError: ``held`` is no mapping, names an unknown joint, or a value is not a
            finite number.
    """
    if not isinstance(held, Mapping):
        raise ConfigurationError(f"held: {held!r} is not a mapping of joints to positions")
    rest = np.clip(0.0, model.lower, model.upper)
    for name, value in held.items():
        if name not in model.joint_names:
            raise ConfigurationError(f"held: '{model.name}' has no joint '{name}'")
        if not is_number(value):
            raise ConfigurationError(f"held: {value!r} for '{name}' is not a finite number")
        rest[model.joint_names.index(name)] = value
    return rest

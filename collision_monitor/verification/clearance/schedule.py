# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Schedule of simultaneous trajectories: their joints and start times.

If the start of a trajectory is unknown, it is a range, and results hold for all starts in it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.continuous.scan_space import ScanMotion
from collision_monitor.errors import ConfigurationError, TrajectoryError
from collision_monitor.motion.trajectory import Trajectory

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

_FARTHEST = 1e4  # rad or m between two points: 1,600 turns


@dataclass(frozen=True)
class Scheduled:
    """A trajectory and its start time.

    Attributes:
        trajectory: of some joints of the model.
        earliest: earliest start, seconds.
        latest: latest start, seconds; None means ``earliest``.
        prefix: prepended to the names of its joints: that of one of several robots
            (`robot.composed.Mounted`).
    """

    trajectory: Trajectory
    earliest: float = 0.0
    latest: float | None = None
    prefix: str = ""

    def __post_init__(self) -> None:
        """Reject invalid ranges."""
        latest = self.earliest if self.latest is None else self.latest
        if not (np.isfinite(self.earliest) and np.isfinite(latest) and self.earliest <= latest):
            raise TrajectoryError(
                f"a trajectory cannot begin between {self.earliest!r} s and {latest!r} s: two "
                "numbers are needed, the earlier one first"
            )

    @property
    def width(self) -> float:
        """Half of the range of its start, seconds."""
        return 0.0 if self.latest is None else 0.5 * (self.latest - self.earliest)

    @property
    def middle(self) -> float:
        """Middle of the range of its start, seconds."""
        return self.earliest + self.width


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
        starts, widths: (parts,) middles and half ranges of the starts, seconds.
        begin, end: seconds; nothing moves before or after, for all starts.
        rest: (nq,) positions of joints that no part drives.
        path_of: (nq,) the part that drives each entry of q, or -1.
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
            TrajectoryError: no trajectory, an unknown joint, one that is driven twice, or a
                polynomial that is not finite.
            ConfigurationError: ``held`` names an unknown joint, or a value is not a number.
        """
        given = [motion] if isinstance(motion, (Trajectory, Scheduled)) else list(motion)
        self.parts = tuple(p if isinstance(p, Scheduled) else Scheduled(p) for p in given)
        if not self.parts:
            raise TrajectoryError("no trajectory is given: at least one is needed")
        self.starts = np.array([part.middle for part in self.parts], dtype=float)
        self.widths = np.array([part.width for part in self.parts], dtype=float)
        self.begin = min(part.earliest for part in self.parts)
        ends = [p.middle + p.width + p.trajectory.duration for p in self.parts]
        self.end = max(*ends, self.begin + 1e-9)
        self.rest = rest_configuration(model, held or {})
        self.path_of = np.full(len(model.joint_names), -1)
        self._columns = [self._place(model, k) for k in range(len(self.parts))]
        self._driven = model.bodies.columns
        self._packed: ScanMotion | None = None

    def _place(self, model: CollisionModel, part: int) -> list[int]:
        """Indices into q of the joints that ``part`` drives."""
        columns = []
        trajectory = self.parts[part].trajectory
        if not np.isfinite(trajectory.polynomial.c).all():
            raise TrajectoryError(f"trajectory {part} has coefficients that are not finite")
        _check_path_lengths(trajectory, self.parts[part].prefix)
        for own_name in trajectory.joint_names:
            name = self.parts[part].prefix + own_name
            if name not in model.joint_names:
                raise TrajectoryError(
                    f"'{model.name}' has no joint '{name}' that a trajectory can move; it has "
                    f"{', '.join(model.joint_names)}"
                )
            column = model.joint_names.index(name)
            if self.path_of[column] >= 0:
                raise TrajectoryError(f"joint '{name}' is moved by two trajectories, or twice")
            self.path_of[column] = part
            columns.append(column)
        return columns

    def moving(self) -> list[int]:
        """Indices into q of the joints that move."""
        moving = []
        for part, columns in zip(self.parts, self._columns, strict=True):
            c = part.trajectory.polynomial.c
            moves = (c[:-1] != 0.0).any(axis=(0, 1)) | (np.ptp(c[-1], axis=0) > 0.0)
            moving += np.asarray(columns)[moves].tolist()
        return moving

    def only(self, part_index: int) -> Schedule:
        """Schedule of part ``part_index`` only, starting at 0; all others rest.

        From its ``begin`` to its ``end`` it has all configurations that it can have in this
        schedule.
        """
        alone = object.__new__(Schedule)
        part = self.parts[part_index]
        alone.parts = (Scheduled(part.trajectory),)
        alone.starts, alone.widths = np.zeros(1), np.zeros(1)
        alone.begin = self.begin - (self.starts[part_index] + self.widths[part_index])
        alone.end = self.end - (self.starts[part_index] - self.widths[part_index])
        alone.rest = self.configuration(self.begin)
        alone.path_of = np.where(self.path_of == part_index, 0, -1)
        alone._columns = [self._columns[part_index]]
        alone._driven, alone._packed = self._driven, None
        return alone

    def configuration(self, time: float, starts: Iterable[float] | None = None) -> np.ndarray:
        """(nq,) configuration at ``time`` s, if the parts start at ``starts`` (parts,) s."""
        q = self.rest.copy()
        for part, columns, start in zip(
            self.parts, self._columns, self.starts if starts is None else starts, strict=True
        ):
            q[columns] = part.trajectory.positions(np.array([time - start]))[0]
        return q

    def bins(self, count: int) -> np.ndarray:
        """Edges of about ``count`` time bins, seconds; at all breakpoints if these are fewer."""
        even = np.linspace(self.begin, self.end, count + 1)
        if self.widths.any():
            return even
        ends = [part.trajectory.times + part.earliest for part in self.parts]
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
        """The paths as arguments of kernels."""
        if self._packed is None:
            self._packed = self._pack()
        return self._packed

    def _pack(self) -> ScanMotion:
        polynomials = [part.trajectory.polynomial for part in self.parts]
        order = max(polynomial.c.shape[0] for polynomial in polynomials)
        width = max(map(len, self._columns))
        pieces = [polynomial.c.shape[1] for polynomial in polynomials]
        coefficients = np.zeros((sum(pieces), width, order))
        columns = np.full((len(pieces), width), -1, dtype=np.int64)
        paths = np.zeros((len(pieces), 4), dtype=np.int64)
        first_break, first = 0, 0
        for index, polynomial in enumerate(polynomials):
            powers = polynomial.c[::-1].transpose(1, 2, 0)  # ascending; pieces x joints x order
            count = len(self._columns[index])
            coefficients[first : first + pieces[index], :count, : powers.shape[2]] = powers
            columns[index, :count] = self._columns[index]
            paths[index] = first_break, first, pieces[index], count
            first_break, first = first_break + pieces[index] + 1, first + pieces[index]
        groups = np.maximum(self.path_of[self._driven], 0).astype(np.int64)
        breaks = np.concatenate([polynomial.x for polynomial in polynomials])
        return ScanMotion(
            breaks.astype(float), coefficients.ravel(), paths.ravel(), columns.ravel(), order,
            groups,
        )  # fmt: skip


def _check_path_lengths(trajectory: Trajectory, prefix: str) -> None:
    """Reject unrealistic motions, for which bounds would not converge."""
    polynomial = trajectory.polynomial
    order = len(polynomial.c)
    with np.errstate(over="ignore", invalid="ignore"):
        powers = np.diff(polynomial.x) ** np.arange(order - 1, 0, -1)[:, None]
        ways = np.abs(polynomial.c[:-1] * powers[:, :, None]).sum(axis=0)
    bad = np.argwhere(~(ways <= _FARTHEST))
    if len(bad):
        piece, column = bad[0].tolist()
        raise TrajectoryError(
            f"joint '{prefix}{trajectory.joint_names[column]}' moves by up to "
            f"{ways[piece, column]:.3g} rad or m between {polynomial.x[piece]:g} s and "
            f"{polynomial.x[piece + 1]:g} s, more than the maximum of {_FARTHEST:g}; are these "
            "radians, metres and seconds?"
        )


def _is_finite(value: object) -> bool:
    """Whether a value is a real number that a float can hold."""
    if not isinstance(value, (int, float, np.integer, np.floating)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an int above 1.8e308
        return False


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
        if not _is_finite(value):
            raise ConfigurationError(f"held: {value!r} for '{name}' is not a finite number")
        rest[model.joint_names.index(name)] = value
    return rest

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Motions as tables, written to files, and as piecewise polynomials over time."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy.interpolate import PPoly

from collision_monitor.common.files import write_text
from collision_monitor.common.text import closest, time_text
from collision_monitor.errors import MotionError, TrajectoryError

# -- tables --

NANO = 1_000_000_000  # nanoseconds in a second
OTHER_CLOCK = 3600.0  # seconds between two times that indicate different clocks
YAML_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, eq=False)
class Motion:
    """Waypoints of joint positions, with linear interpolation between them.

    Attributes:
        joint_names: names of the joints, one per column.
        times: (n,) seconds, increasing.
        positions: (n, len(joint_names)) radians or metres.
        held: positions of other joints of the robot, if they are known: of a plan.
    """

    joint_names: tuple[str, ...]
    times: np.ndarray
    positions: np.ndarray
    held: Mapping[str, float] = field(default_factory=dict)

    @property
    def duration(self) -> float:
        """Seconds from the first to the last waypoint."""
        return float(self.times[-1] - self.times[0])

    def at(self, time: float) -> np.ndarray:
        """Positions (len(joint_names),) at ``time`` seconds after the first waypoint.

        Before the first and after the last waypoint the positions are constant.
        """
        t = self.times[0] + time
        return np.array([np.interp(t, self.times, column) for column in self.positions.T])

    def of_joints(self, joint_names: Sequence[str], rest: np.ndarray, owner: str) -> Motion:
        """The motion of all joints of a robot, in their order; those it does not name are at rest.

        ``rest`` (len(joint_names),) radians or metres; ``owner``: of these joints, for errors.

        Raises:
            MotionError: it names another joint.
        """
        if unknown := [name for name in self.joint_names if name not in joint_names]:
            raise MotionError(
                f"{owner} has no joint {unknown[0]!r}; it has "
                f"{closest(unknown[0], joint_names) or 'none'}"
            )
        positions = np.tile(np.asarray(rest, dtype=float), (len(self.times), 1))
        columns = [joint_names.index(name) for name in self.joint_names]
        positions[:, columns] = self.positions
        return Motion(tuple(joint_names), self.times, positions)

    def with_held(self) -> Motion:
        """The motion with the joints of ``held`` as columns."""
        rows = np.broadcast_to(list(self.held.values()), (len(self.times), len(self.held)))
        names = (*self.joint_names, *self.held)
        return Motion(names, self.times, np.column_stack([self.positions, rows]))


def write_motion(path: str | os.PathLike, motion: Motion) -> None:
    """Write a motion: a JointTrajectory in YAML to ``*.yaml`` and ``*.yml``, otherwise CSV.

    CSV is lossless; YAML keeps times to the nanosecond. The file is written atomically.

    Raises:
        MotionError: it is none that can be read again: there is no point, shapes differ, times do
            not increase, values are not finite, or a time does not fit into the message; or the
            file cannot be written.
    """
    path = Path(path)
    to_text = yaml_text if path.suffix.lower() in YAML_SUFFIXES else csv_text
    try:
        times = numbers("times", motion.times)
        positions = numbers("positions", motion.positions)
        check_points(motion.joint_names, times, positions)
        write_text(path, to_text(motion.joint_names, times, positions))
    except (MotionError, TrajectoryError) as error:
        raise MotionError(f"{path}: {error}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise MotionError(f"{path}: cannot be written: {reason}") from None


def csv_text(joint_names: Sequence[str], times: np.ndarray, positions: np.ndarray) -> str:
    """Return CSV text that `csv_points` restores exactly."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["time", *joint_names])
    table = np.column_stack([times, positions])
    writer.writerows(map(repr, row) for row in table.tolist())
    return out.getvalue()


def yaml_text(joint_names: Sequence[str], times: np.ndarray, positions: np.ndarray) -> str:
    """Return a JointTrajectory that `find_points` restores: positions exactly, times to the ns.

    Raises:
        MotionError: a time does not fit into a Duration, or two are within one nanosecond.
    """
    points, last = [], -1
    for time, row in zip(times.tolist(), positions.tolist(), strict=True):
        whole = math.floor(time)
        now = whole * NANO + round((time - whole) * NANO)
        if not 0 <= now < 2**31 * NANO:
            raise MotionError(
                f"time {time!r} s cannot be written as time_from_start, which is 0 to 2^31 s; "
                "write CSV, or shift the times"
            )
        if now <= last:
            raise MotionError(f"time {time!r} s: less than a nanosecond after the one before")
        last = now
        seconds, rest = divmod(now, NANO)
        points.append({"positions": row, "time_from_start": {"sec": seconds, "nanosec": rest}})
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    document = {"joint_names": list(joint_names), "points": points}
    return yaml.dump(
        document, Dumper=dumper, sort_keys=False, default_flow_style=None, width=1_000_000
    )


# -- polynomials --

LONGEST = 1e8  # seconds, three years
SHORTEST = 1e-10  # seconds between two points; messages have nanoseconds
REST = 1e-9  # seconds: the duration of a single point, at which a joint rests


@dataclass(frozen=True, eq=False)
class Samples:
    """A trajectory sampled at ``times`` (n,), seconds; all other arrays are (n, joints).

    Radians or metres, and their time derivatives.
    """

    times: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray
    accelerations: np.ndarray
    jerks: np.ndarray


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Joint positions as a piecewise polynomial.

    Attributes:
        joint_names: names of the joints.
        polynomial: ``scipy.interpolate.PPoly`` over seconds, with coefficients (order, pieces,
            joints); its breakpoints begin at 0.
        knots: (pieces + 1, joints) bool: which breakpoints are the joint's own. The others come
            from other publishers or profiles, and its polynomial goes on there. None: all are.

    Raises:
        TrajectoryError: ``polynomial`` has other columns, does not begin at 0, or is not finite.
    """

    joint_names: tuple[str, ...]
    polynomial: PPoly
    knots: np.ndarray | None = None

    def __post_init__(self) -> None:
        """Check the polynomial: one of `scipy` may have any shape and begin."""
        shape, begin = self.polynomial.c.shape, float(self.polynomial.x[0])
        if shape[2:] != (len(self.joint_names),):
            raise TrajectoryError(
                f"the coefficients have shape {shape}, not (order, pieces, {len(self.joint_names)})"
            )
        if begin != 0.0:
            raise TrajectoryError(f"the polynomial begins at {begin:g} s; its times are from 0 s")
        if not np.isfinite(self.polynomial.c).all():
            raise TrajectoryError("positions are not finite, too large, or too close in time")

    @classmethod
    def through(
        cls,
        joint_names: Sequence[str],
        times: np.ndarray,
        positions: np.ndarray,
        velocities: np.ndarray | None = None,
        accelerations: np.ndarray | None = None,
    ) -> Trajectory:
        """Interpolate points like the joint_trajectory_controller of ros2_control.

        A piece is linear, cubic if velocities are given at both of its ends, and quintic if
        accelerations are given too. A row of NaN means that these values are not given.

        Args:
            joint_names: names of the joints.
            times: (n,) seconds, increasing; the trajectory begins at the first.
            positions: (n, joints) radians or metres.
            velocities: (n, joints) rad/s or m/s, or None.
            accelerations: (n, joints) rad/s^2 or m/s^2, or None.

        Raises:
            TrajectoryError: there is no point, shapes differ, times do not increase, values are no
                finite numbers, or accelerations are given without velocities.
        """
        times, tables = numbers("times", times), [numbers("positions", positions)]
        for what, part in (("velocities", velocities), ("accelerations", accelerations)):
            missing = np.full(tables[0].shape, np.nan)
            tables.append(missing if part is None else numbers(what, part))
        check_points(joint_names, times, *tables)
        times = times - times[0]
        if len(times) == 1:  # a single point: at rest
            times, tables = np.array([0.0, REST]), [row.repeat(2, axis=0) for row in tables]
            tables[1:] = [np.full(tables[0].shape, np.nan)] * 2
        return cls(tuple(joint_names), PPoly(_coefficients(np.diff(times), *tables), times))

    @property
    def times(self) -> np.ndarray:
        """Breakpoints (pieces + 1,), seconds, from 0."""
        return self.polynomial.x

    @property
    def duration(self) -> float:
        """Seconds from the first to the last point."""
        return float(self.polynomial.x[-1])

    @property
    def is_straight(self) -> bool:
        """Whether all pieces are linear."""
        return not self.polynomial.c[:-2].any()

    def positions(self, times: np.ndarray) -> np.ndarray:
        """Joint positions (n, joints) at ``times`` (n,), constant beyond the ends."""
        return self.polynomial(np.clip(times, 0.0, self.duration))

    def sample(self, times: np.ndarray) -> Samples:
        """Positions, velocities, accelerations and jerks at ``times`` (n,), seconds.

        At a breakpoint the values are those of the later piece. Beyond the ends the rates are zero.
        """
        times = np.asarray(times, dtype=float)
        inside = ((times >= 0.0) & (times <= self.duration))[:, None]
        at = np.clip(times, 0.0, self.duration)
        rates = [np.where(inside, self.polynomial(at, k), 0.0) for k in (1, 2, 3)]
        return Samples(times, self.polynomial(at), *rates)


def _coefficients(steps: np.ndarray, p: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Polynomials of the highest order that the values at both ends of each piece allow."""
    points = [~np.isnan(part).all(axis=1) if part.size else np.ones(len(part), bool)
              for part in (v, a)]  # fmt: skip
    alone = np.flatnonzero(points[1] & ~points[0])
    if len(alone):
        raise TrajectoryError(
            f"accelerations of point {alone[0]} are given without velocities: give both, or neither"
        )
    with_v, with_a = (given[:-1] & given[1:] for given in points)
    if not with_v.any():
        return hermite(steps, [p[:-1]], [p[1:]])
    out = np.zeros((6, len(steps), p.shape[1]))
    for chosen, parts in ((~with_v, (p,)), (with_v & ~with_a, (p, v)), (with_a, (p, v, a))):
        left, right = ([part[end][chosen] for part in parts] for end in (slice(-1), slice(1, None)))
        out[-2 * len(parts) :, chosen] = hermite(steps[chosen], left, right)
    return out if with_a.any() else out[2:]


def numbers(what: str, values: Any) -> np.ndarray:
    """``values`` as an array of numbers; TrajectoryError if they are ragged, or no numbers."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise TrajectoryError(f"{what} are not an array of numbers: {error}") from None


def check_points(joint_names: Sequence[str], times: np.ndarray, *tables: np.ndarray) -> None:
    """Raise TrajectoryError unless these are points of a trajectory.

    ``times`` (n,), seconds, are finite, increase by `SHORTEST` at least, and by `LONGEST` in all at
    most. ``tables`` (n, joints) are positions, velocities and accelerations; they are finite, but
    for rows of NaN of the latter two.
    """
    if times.ndim != 1 or len(times) == 0:
        raise TrajectoryError(f"times have shape {times.shape}, not (n,) with at least one point")
    if not np.isfinite(times).all():
        bad = np.flatnonzero(~np.isfinite(times))[0]
        raise TrajectoryError(f"time of point {bad} is not finite: {times[bad]}")
    late = np.flatnonzero(np.diff(times) <= 0.0)
    if len(late):
        raise TrajectoryError(
            f"time of point {late[0] + 1} is {time_text(times[late[0] + 1])}, not after the "
            f"{time_text(times[late[0]])} of the point before"
        )
    gaps = np.diff(times)
    if times[-1] - times[0] > LONGEST:
        raise TrajectoryError(
            f"it takes {times[-1] - times[0]:g} s, more than the maximum of {LONGEST:g} s; are "
            "its times in seconds?"
        )
    if len(gaps) and gaps.min() < SHORTEST:
        k = int(gaps.argmin())
        raise TrajectoryError(
            f"points {k} and {k + 1} are {gaps[k]:g} s apart, less than the minimum of "
            f"{SHORTEST:g} s; are its times in seconds?"
        )
    shape = (len(times), len(joint_names))
    for name, table in zip(("positions", "velocities", "accelerations"), tables, strict=False):
        if table.shape != shape:
            raise TrajectoryError(f"{name} have shape {table.shape}, not {shape}")
        bad = ~np.isfinite(table)
        if name != "positions":
            bad[np.isnan(table).all(axis=1)] = False
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise TrajectoryError(
                f"{name} of point {row} are not finite: {table[row, column]} for joint "
                f"'{joint_names[column]}' at {time_text(times[row])}"
            )


def hermite(
    steps: np.ndarray, left: Sequence[np.ndarray], right: Sequence[np.ndarray]
) -> np.ndarray:
    """Polynomials through values at both ends: linear, cubic or quintic.

    Args:
        steps: (pieces,) durations, seconds.
        left: one to three arrays (pieces, joints): positions, velocities, accelerations.
        right: as many, at the other end.

    Returns:
        Coefficients (order, pieces, joints) in seconds since the left end of each piece.
    """
    count = len(left)
    scales = steps[:, None] ** np.arange(2 * count)[:, None, None]
    # On the unit interval, relative to the left position, so that differences keep their digits.
    start = np.asarray(left[0])
    ends = [np.zeros_like(start), *left[1:], right[0] - start, *right[1:]]
    values = np.stack(ends) * np.concatenate([scales[:count], scales[:count]])
    coefficients = np.einsum("ij,jkl->ikl", _from_ends(count), values) / scales
    coefficients[0] = start
    return coefficients[::-1]


@cache
def _from_ends(count: int) -> np.ndarray:
    """Coefficients of a polynomial on [0, 1] from ``count`` derivatives at each end."""
    derivatives = [
        [math.perm(k, order) * end ** max(k - order, 0) for k in range(2 * count)]
        for end in (0.0, 1.0)
        for order in range(count)
    ]
    return np.round(2.0 * np.linalg.inv(derivatives)) / 2.0  # the entries are multiples of 1/2



def shifted(coefficients: np.ndarray, by: np.ndarray | float) -> np.ndarray:
    """Return the same polynomials (order, ...) in time since ``by`` seconds later."""
    out = coefficients.copy()
    # Horner's scheme, once for each power: the remainders are value, slope, and so on.
    for last in range(len(out) - 1, 0, -1):
        for k in range(1, last + 1):
            out[k] += out[k - 1] * by
    return out


def joined(parts: Sequence[PPoly]) -> PPoly:
    """Return one polynomial with the columns of all ``parts``, (order, pieces, columns) each.

    Its breakpoints are those of all parts that last longer than `REST`: a knot that no joint needs
    would make steps beside it look sudden. A part is held before its begin and after its end. The
    result is exact.
    """
    lasting = [part.x for part in parts if part.x[-1] - part.x[0] > 2.0 * REST or part.c[:-1].any()]
    inner = np.concatenate(lasting or [[]])
    first, last = inner.min(initial=math.inf), inner.max(initial=-math.inf)
    outer = [part.x[0] for part in parts if not first <= part.x[0] <= last]
    breaks = np.unique(np.concatenate([inner, outer]))
    breaks = breaks[np.concatenate([[True], np.diff(breaks) > SHORTEST])]
    if len(breaks) == 1:
        breaks = np.array([breaks[0], breaks[0] + REST])
    order = max(len(part.c) for part in parts)
    columns = [_on_breaks(part, breaks, order) for part in parts]
    return PPoly(np.concatenate(columns, axis=2), breaks)


def own_knots(
    parts: Sequence[PPoly], breaks: np.ndarray, knots: Sequence[np.ndarray | None] = ()
) -> np.ndarray:
    """(breaks, columns) bool: which breakpoints of `joined` ``parts`` each column has itself.

    ``knots``: of each part, as of a `Trajectory`.
    """
    columns = []
    for number, part in enumerate(parts):
        mine = np.zeros((len(breaks), part.c.shape[2]), dtype=bool)
        at = np.searchsorted(breaks, part.x + SHORTEST, side="right") - 1
        of_part = knots[number] if knots else None
        np.logical_or.at(mine, np.maximum(at, 0), True if of_part is None else of_part)
        columns.append(mine)
    return np.concatenate(columns, axis=1)


def _on_breaks(part: PPoly, breaks: np.ndarray, order: int) -> np.ndarray:
    """Coefficients (order, pieces, columns) of ``part`` relative to the times ``breaks[:-1]``."""
    middle = 0.5 * (breaks[:-1] + breaks[1:])
    piece = np.clip(np.searchsorted(part.x, middle, side="right") - 1, 0, part.c.shape[1] - 1)
    shift = (breaks[:-1] - part.x[piece])[:, None]
    out = np.zeros((order, len(middle), part.c.shape[2]))
    out[order - len(part.c) :] = shifted(part.c[:, piece], shift)
    for outside, at in ((middle < part.x[0], part.x[0]), (middle > part.x[-1], part.x[-1])):
        out[:, outside] = 0.0
        out[-1, outside] = part(at)
    return out

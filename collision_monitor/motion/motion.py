# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A motion as a table: times, and joint positions at them; written to files."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from collision_monitor.common.atomic_file import write_text
from collision_monitor.errors import MotionError

_NANO = 1_000_000_000
YAML_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, eq=False)
class Motion:
    """Waypoints of joint positions, with linear interpolation between them.

    Attributes:
        joint_names: names of the joints, one per column.
        times: (n,) seconds, increasing.
        positions: (n, len(joint_names)) radians or metres.
    """

    joint_names: tuple[str, ...]
    times: np.ndarray
    positions: np.ndarray

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


def write_motion(path: str | os.PathLike, motion: Motion) -> None:
    """Write a motion: a JointTrajectory in YAML to ``*.yaml`` and ``*.yml``, otherwise CSV.

    CSV is lossless; YAML keeps times to the nanosecond. The file is replaced completely or not at
    all.

    Raises:
        MotionError: a value is not finite, a time does not fit into the message, or the file
            cannot be written.
    """
    path = Path(path)
    if not (np.isfinite(motion.times).all() and np.isfinite(motion.positions).all()):
        raise MotionError(f"{path}: is not written: the motion has values that are not finite")
    to_text = yaml_text if path.suffix.lower() in YAML_SUFFIXES else csv_text
    try:
        text = to_text(motion.joint_names, motion.times, motion.positions)
        write_text(path, text)
    except MotionError as error:
        raise MotionError(f"{path}: {error}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise MotionError(f"{path}: cannot be written: {reason}") from None


def csv_text(joint_names: Sequence[str], times: np.ndarray, positions: np.ndarray) -> str:
    """What `read_csv` reads back bit by bit."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["time", *joint_names])
    table = np.column_stack([times, positions])
    writer.writerows(map(repr, row) for row in table.tolist())
    return out.getvalue()


def yaml_text(joint_names: Sequence[str], times: np.ndarray, positions: np.ndarray) -> str:
    """A JointTrajectory that `find_points` reads back: positions bit by bit, times to the ns.

    Raises:
        MotionError: a time that a Duration cannot hold, or two within one nanosecond.
    """
    points, last = [], -1
    for time, row in zip(times.tolist(), positions.tolist(), strict=True):
        whole = math.floor(time)
        now = whole * _NANO + round((time - whole) * _NANO)
        if not 0 <= now < 2**31 * _NANO:
            raise MotionError(
                f"time {time!r} s cannot be written as time_from_start, which is 0 to 2^31 s; "
                "write CSV, or shift the times"
            )
        if now <= last:
            raise MotionError(f"time {time!r} s: less than a nanosecond after the one before")
        last = now
        seconds, rest = divmod(now, _NANO)
        points.append({"positions": row, "time_from_start": {"sec": seconds, "nanosec": rest}})
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    document = {"joint_names": list(joint_names), "points": points}
    return yaml.dump(
        document, Dumper=dumper, sort_keys=False, default_flow_style=None, width=1_000_000
    )

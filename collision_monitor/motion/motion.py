# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A motion as a table: times, and joint positions at them; written to files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from collision_monitor.common.atomic_file import write_text
from collision_monitor.errors import MotionError
from collision_monitor.motion.motion_csv import csv_text
from collision_monitor.motion.motion_yaml import yaml_text

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

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
    """Joint positions over time; linear in between.

    Attributes:
        joint_names: names of the columns.
        times: (n,) seconds, increasing.
        positions: (n, len(joint_names)) radians or metres.
    """

    joint_names: tuple[str, ...]
    times: np.ndarray
    positions: np.ndarray

    @property
    def duration(self) -> float:
        """Seconds from the first to the last row."""
        return float(self.times[-1] - self.times[0])

    def at(self, time: float) -> np.ndarray:
        """Positions (len(joint_names),) at ``time`` s after the first row; held at the ends."""
        t = self.times[0] + time
        return np.array([np.interp(t, self.times, column) for column in self.positions.T])


def write_motion(path: str | os.PathLike, motion: Motion) -> None:
    """Write a motion: a JointTrajectory as YAML to ``*.yaml`` and ``*.yml``, else CSV.

    CSV reads back bit by bit; YAML keeps times to the nanosecond. The file is replaced
    whole, or left as it was.

    Raises:
        MotionError: a value that is not finite, a time that does not fit into YAML, or a
            file that cannot be written.
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

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A motion as a table: times, and joint positions at them."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from collision_monitor.errors import MotionError


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


def _row(cells: list[str], header: list[str], where: str) -> list[float]:
    if len(cells) != len(header):
        raise MotionError(f"{where}: {len(cells)} values under {len(header)} columns")
    values = []
    for name, cell in zip(header, cells, strict=True):
        try:
            value = float(cell)
        except ValueError:
            value = np.nan
        if not np.isfinite(value):
            raise MotionError(f"{where}: {cell!r} under {name!r} is not a finite number")
        values.append(value)
    return values


def read_motion(path: str | os.PathLike) -> Motion:
    """A motion from CSV with the header ``time,<joint>,...``; seconds, radians or metres.

    Raises:
        MotionError: naming file and line; no such file, a header without ``time`` or
            with a joint twice, a row that is short or not finite, times that do not
            increase, or no rows.
    """
    path = Path(path)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [(k, row) for k, row in enumerate(csv.reader(file), 1) if any(row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise MotionError(f"{path}: cannot be read as CSV: {error}") from None
    if not lines:
        raise MotionError(f"{path}: is empty; a header 'time,<joint>,...' and rows are needed")
    header = [cell.strip() for cell in lines[0][1]]
    if header[0] != "time" or len(header) < 2 or not all(header):
        raise MotionError(
            f"{path}:{lines[0][0]}: header {','.join(header)!r}; 'time,<joint>,...' is right"
        )
    repeated = {name for name in header if header.count(name) > 1}
    if repeated:
        raise MotionError(f"{path}:{lines[0][0]}: {sorted(repeated)} stand twice in the header")
    rows = [_row(cells, header, f"{path}:{line}") for line, cells in lines[1:]]
    if not rows:
        raise MotionError(f"{path}: has a header, but no rows")
    table = np.array(rows)
    late = np.flatnonzero(np.diff(table[:, 0]) <= 0.0)
    if len(late):
        line = lines[late[0] + 2][0]
        raise MotionError(f"{path}:{line}: time {table[late[0] + 1, 0]:g} does not increase")
    return Motion(tuple(header[1:]), table[:, 0], table[:, 1:])

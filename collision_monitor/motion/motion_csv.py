# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Motions as CSV: a header ``time,<joint>,...``, then one row a waypoint."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from collision_monitor.common.magnitudes import LARGEST_FILE, read_bounded
from collision_monitor.errors import MotionError


def read_csv(path: Path) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Joint names, times (n,) and positions (n, joints) ; see `motion_files.open_motion`."""
    try:
        data = read_bounded(path)
        if data is None:
            raise MotionError(f"{path}: larger than {LARGEST_FILE} bytes, no motion is")
        file = io.StringIO(data.decode("utf-8-sig"), newline="")
        lines = [(k, row) for k, row in enumerate(csv.reader(file), 1) if any(row)]
    except FileNotFoundError:
        raise MotionError(f"{path}: no such file") from None
    except (OSError, ValueError, csv.Error) as error:
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
    return tuple(header[1:]), table[:, 0], table[:, 1:]


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


def csv_text(joint_names: Sequence[str], times: np.ndarray, positions: np.ndarray) -> str:
    """What `read_csv` reads back bit by bit."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["time", *joint_names])
    table = np.column_stack([times, positions])
    writer.writerows(map(repr, row) for row in table.tolist())
    return out.getvalue()

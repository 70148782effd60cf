# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Limits of magnitudes in all inputs, and of the size of files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

# Limits for every input (docs/safety.md). Beyond them, squares and sums exceed the range or the
# precision of floating point numbers: a distance could be infinite, zero or NaN.
LARGEST = 1e4  # metres of geometry: 10 km; and its angles and factors
LARGEST_POSITION = 1e9  # of a joint: rad, or m
LARGEST_LIMIT = 1e6  # metres, of the limits of a joint: large ones often mean none
LARGEST_RATE = 1e9  # rad/s, m/s, and per second squared
LATEST_STAMP = 1e11  # seconds since 1970
SMALLEST = 1e-7  # metres, of a size that is not zero
SMALLEST_DECELERATION = 1e-3  # rad/s^2, m/s^2: with less, a robot practically never stops

_GRAIN = 1e-3  # metres

LARGEST_FILE = 100_000_000  # bytes: two million triangles as binary STL


def beyond_reason(value: float, is_size: bool = False, largest: float = LARGEST) -> str:
    """Why a number is rejected; empty if it is valid. A size is a positive length."""
    if not abs(value) <= largest:
        return f"{value:g} is beyond reason, {largest:g} is the most"
    if is_size and 0.0 < value < SMALLEST:
        return f"{value:g} is too small to be a size, {SMALLEST:g} m is the least"
    return ""


def any_beyond_reason(values: np.ndarray, largest: float = LARGEST) -> str:
    """The same for the largest number of an array; NaN and infinity are ignored."""
    values = np.abs(values)
    most = float(np.max(values, initial=0.0, where=np.isfinite(values)))
    return beyond_reason(most, largest=largest)


def too_small(kind: str, size: Sequence[float]) -> str:
    """Why a shape is too small for its surface to be triangulated; empty if it is not."""
    if kind == "cylinder" and max(size) < _GRAIN:
        return f"a cylinder below {_GRAIN:g} m in radius and length is too small; a sphere would do"
    return ""


def read_bounded(path: Path, largest: int = LARGEST_FILE) -> bytes | None:
    """Content of a file; None if it is larger than ``largest`` bytes, or endless.

    No more than that is read. Raises OSError and ValueError as `open` does.
    """
    with path.open("rb") as file:
        data = file.read(largest + 1)
    return data if len(data) <= largest else None

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Limits of all inputs: magnitudes, sizes of files; and what loading a robot may take.

A load runs inside `limited`: numbers of links, shapes, triangles and pairs, and time. Functions
that it calls compare their counts with the limits of that context; outside of it the defaults
apply.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np

from collision_monitor.common.settings import setting
from collision_monitor.errors import LoadingLimitError

# -- magnitudes, and sizes of files --

# Limits for every input (docs/safety.md). Beyond them, squares and sums exceed the range or the
# precision of floating point numbers: a distance could be infinite, zero or NaN.
LARGEST = 1e4  # metres of geometry: 10 km; and its angles and factors
LARGEST_LIMIT = 1e6  # of a sliding joint (m), acceleration or jerk: large ones often mean none
LARGEST_OF_JOINT = 1e9  # position, velocity or acceleration: rad, m, and per second (squared)
LATEST_STAMP = 1e11  # seconds since 1970
SMALLEST = 1e-7  # metres, of a size that is not zero
SIX_DIGITS = 1e-6  # relative, or rad, m or s: rounding of numbers in files
SMALLEST_DECELERATION = 1e-3  # rad/s^2, m/s^2: with less, a robot practically never stops

LARGEST_FILE = 100_000_000  # bytes: two million triangles as binary STL


def range_problem(value: float, is_size: bool = False, largest: float = LARGEST) -> str:
    """Why a number is rejected; empty if it is valid. A size is a positive length."""
    if math.isnan(value):
        return "nan is not a number"
    if abs(value) > largest:
        return f"{value:g} exceeds the maximum of {largest:g}"
    if is_size and 0.0 < value < SMALLEST:
        return f"{value:g} is too small for a size; the minimum is {SMALLEST:g} m"
    return ""


def array_range_problem(values: np.ndarray, largest: float = LARGEST) -> str:
    """The same for the largest number of an array; NaN and infinity are ignored."""
    values = np.abs(values)
    most = float(np.max(values, initial=0.0, where=np.isfinite(values)))
    return range_problem(most, largest=largest)


# -- loading a robot --


@dataclass(frozen=True)
class LoadingLimits:
    """Upper limits of a robot and its scene; those of nodes and commands also have bounds."""

    # fmt: off
    max_links: int = setting(
        2000, "maximum number of links with shapes of all robots together, and of moving joints of "
        "each", most=10_000)
    max_shapes: int = setting(
        20_000, "maximum number of shapes of links and obstacles of the scene file", most=1_000_000)
    max_triangles: int = setting(
        5_000_000, "maximum number of triangles of all meshes of the robot and the scene file",
        most=1_000_000_000)
    max_pairs: int = setting(
        2_500_000, "maximum number of pairs to check", most=100_000_000)
    max_load_seconds: float = setting(
        math.inf, "maximum time to load, fit and compile, seconds; then the description is "
        "rejected", most=86400.0, positive=True)
    # fmt: on


_NOUNS = {
    "max_links": "links with shapes", "max_shapes": "shapes and obstacles",
    "max_triangles": "triangles", "max_pairs": "pairs to check",
}  # fmt: skip


class _Load:
    def __init__(self, limits: LoadingLimits) -> None:
        self.limits, self.begin, self.triangles = limits, time.monotonic(), 0


_current: ContextVar[_Load | None] = ContextVar("load", default=None)


@contextmanager
def limited(limits: LoadingLimits | None = None) -> Iterator[None]:
    """Context of a load; a nested one has the limits of the outer one.

    Raises:
        LoadingLimitError: instead of a MemoryError.
    """
    if _current.get() is not None:
        yield
        return
    token = _current.set(_Load(LoadingLimits() if limits is None else limits))
    try:
        yield
    except MemoryError as error:
        raise LoadingLimitError(
            f"not enough memory to load the robot and its scene ({error or 'MemoryError'}); "
            "simplify meshes or leave obstacles out"
        ) from None
    finally:
        _current.reset(token)


def is_limited() -> bool:
    """Whether the caller runs inside `limited`."""
    return _current.get() is not None


def check_count(limit: str, count: int, what: str, noun: str = "") -> None:
    """Compare the number of ``noun`` that ``what`` has with a limit of `LoadingLimits`.

    Raises:
        LoadingLimitError: it is above the limit.
    """
    load = _current.get()
    most = getattr(LoadingLimits() if load is None else load.limits, limit)
    if count > most:
        raise LoadingLimitError(
            f"{what} has {count} {noun or _NOUNS[limit]}; at most {most} are allowed, this is "
            f"{count - most} more (limit {limit}); {_remedy(limit)}"
        )


def add_triangles(count: int, what: str) -> None:
    """Count triangles that ``what`` has.

    Raises:
        LoadingLimitError: those of all meshes of this load are more than max_triangles.
    """
    load = _current.get()
    if load is not None:
        load.triangles += count
        check_count("max_triangles", load.triangles, f"{what}: with it the input")


def check_time(step: str) -> None:
    """Compare the time of this load with max_load_seconds; ``step`` names the current step.

    Raises:
        LoadingLimitError: it is over.
    """
    load = _current.get()
    if load is None:
        return
    spent, most = time.monotonic() - load.begin, load.limits.max_load_seconds
    if spent > most:
        raise LoadingLimitError(
            f"loading was stopped after {spent:.1f} s, {spent - most:.1f} s more than the limit "
            f"max_load_seconds ({most:g}), while {step}; {_remedy('max_load_seconds')}"
        )


def _remedy(limit: str) -> str:
    parameter = limit
    if limit in ("max_triangles", "max_pairs"):
        parameter = limit.replace("max_", "max_thousand_")
    return f"raise it (parameter {parameter}, option --{limit.replace('_', '-')}) if intended"

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Values of a YAML mapping with checks whose messages start with the key's path.

Strict: an unknown key is an error with the nearest known one, and a text or a boolean is no number.
A mistyped key would otherwise silently remove an obstacle or a limit.
"""

from __future__ import annotations

import math
import os
import reprlib
from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from scipy.spatial.transform import Rotation

from collision_monitor.common.limits import range_problem
from collision_monitor.common.safe_files import read_document
from collision_monitor.common.text import did_you_mean, shortened, six_digits
from collision_monitor.errors import SceneError
from collision_monitor.robot.poses import pose, rotation_from_rpy, rpy_problem

# A quaternion typed with three digits is off by about this much and still meant.
QUATERNION_TOLERANCE = 1e-2


def read_yaml(source: str | os.PathLike, what: str) -> Any:
    """Return the contents of a YAML file, None for an empty one; SceneError names the line.

    ``what`` the file should be, such as "scene", is for the messages.
    """
    if not os.fspath(source):
        raise SceneError(f"the path of the {what} is empty")
    return read_document(Path(source), SceneError, what)


class Entry:
    """A mapping at ``path`` (such as ``cell.yaml: obstacles[2]``) with known keys."""

    def __init__(self, path: str, data: object, keys: tuple[str, ...]):
        if not isinstance(data, Mapping):
            raise SceneError(
                f"{path}: expected a mapping with the keys {', '.join(keys)}, got {_kind(data)}"
            )
        self._path = path
        self._data = {
            key: value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
            for key, value in data.items()
        }
        self._separator = "." if path.endswith("]") else ": "
        for key in data:
            if key not in keys:
                hint = did_you_mean(key, keys) or f"known: {', '.join(keys)}"
                self.fail(key, f"unknown key; {hint}")

    def __contains__(self, key: str) -> bool:
        """Return whether the key is there; one without a value counts."""
        return key in self._data

    def fail(self, key: object, problem: str) -> NoReturn:
        """Raise SceneError about a key."""
        raise SceneError(f"{self._path}{self._separator}{str(key)[:80]}: {problem}")

    def allow_only(self, keys: tuple[str, ...], what: str) -> None:
        """Raise SceneError where a key that exists elsewhere makes no sense here."""
        for key in self._data:
            if key not in keys:
                self.fail(key, f"{what} has no such key; allowed keys are {', '.join(keys)}")

    def is_list(self, key: str) -> bool:
        """Return whether the value is a sequence."""
        return isinstance(self._data[key], (list, tuple))

    def list(self, key: str) -> list:
        """Return a list, empty where the key is missing or has no value."""
        value = self._data.get(key)
        if value is None:
            return []
        if not isinstance(value, (list, tuple)):
            self.fail(key, f"expected a list, got {_kind(value)}")
        return list(value)

    def text(self, key: str) -> str:
        """Return a text that is not empty."""
        value = self._get(key)
        if not isinstance(value, str) or not value.strip():
            self.fail(key, f"expected a text, got {_kind(value)}")
        return value.strip()

    def choice(self, key: str, choices: tuple[str, ...], what: str = "value") -> str:
        """Return a text out of several."""
        value = self.text(key)
        if value not in choices:
            hint = did_you_mean(value, choices) or f"known: {shortened(choices, 20)}"
            self.fail(key, f"unknown {what} {value!r}; {hint}")
        return value

    def number(self, key: str, positive: bool = False) -> float:
        """Return a finite number."""
        return self._number(key, self._get(key), positive)

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false."""
        value = self._data.get(key, default)
        if not isinstance(value, (bool, np.bool_)):
            self.fail(key, f"expected true or false, got {shown(value)}")
        return bool(value)

    def numbers(self, key: str, count: int, positive: bool = False) -> tuple[float, ...]:
        """Return a list of that many finite numbers."""
        value = self._get(key)
        if not isinstance(value, (list, tuple)) or len(value) != count:
            self.fail(key, f"expected a list of {count} numbers, got {shown(value)}")
        return tuple(self._number(f"{key}[{i}]", v, positive) for i, v in enumerate(value))

    def _get(self, key: str) -> object:
        if key not in self._data:
            self.fail(key, "is missing")
        return self._data[key]

    def _number(self, key: str, value: object, positive: bool) -> float:
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
            hint = ""
            if not math.isnan(finite_number(value)):
                hint = "; write numbers without quotes"
            self.fail(key, f"expected a number, got {_kind(value)}{hint}")
        try:
            result = float(value)
        except OverflowError:
            result = math.inf
        if not math.isfinite(result):
            self.fail(key, f"expected a finite number, got {result}")
        if positive and result <= 0.0:
            self.fail(key, f"should be positive, got {result:g}")
        return result


def pose_of(entry: Entry) -> np.ndarray:
    """Return the pose (4, 4) of the keys position, and rpy or orientation; identity without."""
    position, rotation = position_of(entry), rotation_of(entry)
    return pose(
        np.eye(3) if rotation is None else rotation, np.zeros(3) if position is None else position
    )


def position_of(entry: Entry) -> np.ndarray | None:
    """Return the position (3,) under the key position, metres; None without."""
    if "position" not in entry:
        return None
    position = entry.numbers("position", 3)
    for value in position:
        if problem := range_problem(value):
            entry.fail("position", problem)
    return np.array(position)


def rotation_of(entry: Entry, key: str = "orientation", radians: float = 1.0) -> np.ndarray | None:
    """Return the rotation (3, 3) of rpy, or of the quaternion x y z w under ``key``; else None.

    ``radians`` in the file's unit of angle.
    """
    if "rpy" in entry and key in entry:
        entry.fail("rpy", f"give {key} or rpy, not both")
    if "rpy" in entry:
        angles = entry.numbers("rpy", 3)
        if problem := rpy_problem(angles, radians):
            entry.fail("rpy", problem)
        return rotation_from_rpy([radians * angle for angle in angles])
    if key not in entry:
        return None
    quaternion = entry.numbers(key, 4)
    norm = math.hypot(*quaternion)
    if not abs(norm - 1.0) <= QUATERNION_TOLERANCE:
        given = list(six_digits(quaternion))
        entry.fail(key, f"a quaternion x y z w has norm 1, {given} has {norm:.4g}")
    return Rotation.from_quat(quaternion).as_matrix()


def finite_number(value: object) -> float:
    """A finite number, also as text such as 1e-3, which YAML 1.1 takes for text; else nan."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return math.nan
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return math.nan
    return number if math.isfinite(number) else math.nan


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    return f"{type(value).__name__} {shown(value)}"


def shown(value: object) -> str:
    """Return a short text of a value, however large its aliases make it."""
    short = reprlib.Repr()
    short.maxlevel, short.maxlist, short.maxdict, short.maxstring = 2, 5, 5, 60
    return short.repr(value)[:80]

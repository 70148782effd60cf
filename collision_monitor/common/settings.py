# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Settings of a capability: fields of a dataclass that say what they mean and what they may be.

Options of commands, ROS parameters and their pages are made of these fields, which check themselves
wherever a value comes from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from numbers import Integral
from typing import Any

from collision_monitor.errors import CollisionMonitorError


@dataclass(frozen=True)
class Setting:
    """One setting.

    Attributes:
        name: its name.
        default: its default value, which has its type.
        text: what it means, with its unit.
        most: upper bound of a number; None without one.
        least: lower bound of a number; that of an integer with an upper bound is 1.
        or_zero: whether 0 is allowed as well.
        positive: whether 0 is not allowed.
        choices: the values that a text may have; empty if it may be any.
        reader: raises a CollisionMonitorError for a text that is not valid; None without one.
    """

    name: str
    default: Any
    text: str
    most: float | None = None
    least: float = 0.0
    or_zero: bool = False
    positive: bool = False
    choices: tuple[str, ...] = ()
    reader: Callable[[str], object] | None = None

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers."""
        return isinstance(self.default, (int, float)) and not isinstance(self.default, bool)

    @property
    def is_integer(self) -> bool:
        """Whether its values are integers."""
        return self.is_number and isinstance(self.default, int)

    @property
    def range(self) -> tuple[float, float]:
        """The least and the largest number."""
        least = 1 if self.is_integer and self.most is not None else self.least
        return least, math.inf if self.most is None else self.most

    def problem(self, value: Any) -> str:
        """Why a value is rejected; empty if it is valid."""
        if self.choices:
            known = value in self.choices
            return "" if known else f"{value!r} is not one of {', '.join(self.choices)}"
        if self.reader is not None:
            try:
                self.reader(value)
            except CollisionMonitorError as error:
                return str(error)
        if not self.is_number:
            return ""
        least, most = self.range
        if is_number(value) and (isinstance(value, Integral) or not self.is_integer):
            if value == 0 and (self.or_zero or self.positive):
                return "" if self.or_zero else "0 is not allowed"
            if least <= value <= most:
                return ""
        kind = "an integer" if self.is_integer else "a finite number"
        upper = f" to {most:g}" if math.isfinite(most) else " on"
        return f"{value!r} is not {'0, or ' * self.or_zero}{kind} from {least:g}{upper}"


def is_number(value: object) -> bool:
    """Whether a value is a finite real number, and not a text."""
    try:
        return not isinstance(value, (str, bytes, complex)) and math.isfinite(value)  # type: ignore
    except (TypeError, ValueError, OverflowError):
        return False


def setting(default: Any, text: str, **bounds: Any) -> Any:
    """A field of a dataclass that is a `Setting`; ``bounds``: its further attributes."""
    return field(default=default, metadata={"text": text, **bounds})


def settings_of(kind: type) -> dict[str, Setting]:
    """The fields of a dataclass that are settings, by name."""
    return {
        each.name: Setting(each.name, each.default, **each.metadata)
        for each in fields(kind)
        if each.metadata
    }


def values_of(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of ``values`` that are settings of a dataclass."""
    return {name: values[name] for name in settings_of(kind) if name in values}


def check_settings(values: object, error: type[Exception]) -> None:
    """Raise ``error`` for the first setting of a dataclass whose value is not valid."""
    for name, each in settings_of(type(values)).items():
        if problem := each.problem(getattr(values, name)):
            raise error(f"{name}: {problem}")

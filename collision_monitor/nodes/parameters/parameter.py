# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of nodes: definition, declaration of tables, and common checks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from collision_monitor.errors import ConfigurationError
from collision_monitor.fitting.fitter import check_fit
from collision_monitor.fitting.shapes import FitSettings


@dataclass(frozen=True)
class Parameter:
    """One parameter; ``most``: upper bound of a number; the lower one is 0, or 1 for integers."""

    name: str
    default: Any
    text: str
    most: float | None = None
    read_only: bool = False

    def descriptor(self) -> ParameterDescriptor:
        """Descriptor, as shown by ``ros2 param describe``."""
        descriptor = ParameterDescriptor(description=self.text, read_only=self.read_only)
        if self.most is not None and isinstance(self.default, int):
            descriptor.integer_range = [IntegerRange(from_value=1, to_value=int(self.most), step=0)]
        elif self.most is not None:
            descriptor.floating_point_range = [
                FloatingPointRange(from_value=0.0, to_value=self.most, step=0.0)
            ]
        return descriptor


fixed = partial(Parameter, read_only=True)


# Raises a CollisionMonitorError if values are inconsistent.
Check = Callable[[Mapping[str, Any]], None]


def declare_parameters(
    node: Node, parameters: Sequence[Parameter], check: Check = lambda values: None
) -> dict[str, Any]:
    """Declare all parameters; returns their values by name.

    Raises:
        CollisionMonitorError: the values are inconsistent.
    """
    values = {
        p.name: node.declare_parameter(p.name, p.default, p.descriptor()).value
        for p in parameters
    }
    check(values)
    return values


def changed_values(
    values: Mapping[str, Any], parameters: Iterable[RosParameter], check: Check
) -> dict[str, Any]:
    """Changed entries of ``values``.

    Raises:
        CollisionMonitorError: the changed values are not finite or inconsistent.
    """
    changed = {p.name: p.value for p in parameters if p.name in values}
    for name, value in changed.items():
        if isinstance(value, float) and not math.isfinite(value):  # ROS ranges accept NaN
            raise ConfigurationError(f"{name}: {value} is not a finite number")
    check({**values, **changed})
    return changed


def check_positive(values: Mapping[str, Any], names: Iterable[str]) -> None:
    """Raise ConfigurationError if one of these values is not positive."""
    for name in names:
        if not values[name] > 0.0:
            raise ConfigurationError(f"{name} {values[name]:g} is not above 0")


def check_choice(values: Mapping[str, Any], name: str, choices: Sequence[str]) -> None:
    """Raise ConfigurationError if a value is not one of the choices."""
    if values[name] not in choices:
        raise ConfigurationError(f"{name} {values[name]!r} is not one of {', '.join(choices)}")


def check_state_rate(values: Mapping[str, Any]) -> None:
    """Raise ConfigurationError if the state_rate is too low."""
    if values["state_rate"] < 1.0:
        raise ConfigurationError(
            f"state_rate {values['state_rate']:g} is below 1 Hz: the heartbeat cannot be slower"
        )


def check_fit_values(values: Mapping[str, Any]) -> None:
    """Raise FitError if parameters of the fit are inconsistent."""
    settings = FitSettings(values["max_leaves_per_link"], values["leaf_tolerance"])
    check_fit(values["fit"], settings, values["leaves"] or None)


def package_dirs_of(values: Mapping[str, Any]) -> tuple[str, ...]:
    """The folders that contain packages."""
    return tuple(folder for folder in values["package_dirs"] if folder)

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

from collision_monitor.errors import CollisionMonitorError, FitError
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


# Returns why values are inconsistent, or empty.
Refusal = Callable[[Mapping[str, Any]], str]


def declare_parameters(
    node: Node, parameters: Sequence[Parameter], refusal: Refusal = lambda values: ""
) -> dict[str, Any]:
    """Declare all parameters; returns their values by name.

    Raises:
        CollisionMonitorError: the values are refused.
    """
    values = {
        p.name: node.declare_parameter(p.name, p.default, p.descriptor()).value
        for p in parameters
    }
    if reason := refusal(values):
        raise CollisionMonitorError(reason)
    return values


def changed_values(
    values: Mapping[str, Any], parameters: Iterable[RosParameter], refusal: Refusal
) -> tuple[dict[str, Any], str]:
    """Changed entries of ``values``, and why they are rejected; empty if they are accepted."""
    changed = {p.name: p.value for p in parameters if p.name in values}
    for name, value in changed.items():
        if isinstance(value, float) and not math.isfinite(value):  # ROS ranges accept NaN
            return changed, f"{name}: {value} is not a finite number"
    return changed, refusal({**values, **changed})


def not_positive(values: Mapping[str, Any], names: Iterable[str]) -> str:
    """Message about the first of these values that is not positive, or empty."""
    for name in names:
        if not values[name] > 0.0:
            return f"{name} {values[name]:g} is not above 0"
    return ""


def not_a_choice(values: Mapping[str, Any], name: str, choices: Sequence[str]) -> str:
    """Message about a value that is not one of the choices, or empty."""
    if values[name] in choices:
        return ""
    return f"{name} {values[name]!r} is not one of {', '.join(choices)}"


def package_dirs_of(values: Mapping[str, Any]) -> tuple[str, ...]:
    """The folders that contain packages."""
    return tuple(folder for folder in values["package_dirs"] if folder)


def fit_refusal(values: Mapping[str, Any]) -> str:
    """Message about inconsistent parameters of the fit, or empty."""
    try:
        settings = FitSettings(values["max_leaves_per_link"], values["leaf_tolerance"])
        check_fit(values["fit"], settings, values["leaves"] or None)
    except FitError as error:
        return str(error)
    return ""


def too_slow(values: Mapping[str, Any]) -> str:
    """Message about a state_rate that is too low, or empty."""
    if values["state_rate"] < 1.0:
        return f"state_rate {values['state_rate']:g} is below 1 Hz: the heartbeat cannot be slower"
    return ""

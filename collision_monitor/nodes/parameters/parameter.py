# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""One parameter of a node, how a node declares a table of them, and checks that all nodes share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node


@dataclass(frozen=True)
class Parameter:
    """One parameter; ``most`` is the upper bound of a number, 0 (1 of an integer) the lower."""

    name: str
    default: Any
    text: str
    most: float | None = None
    read_only: bool = False

    def descriptor(self) -> ParameterDescriptor:
        """What ``ros2 param describe`` shows."""
        descriptor = ParameterDescriptor(description=self.text, read_only=self.read_only)
        if self.most is not None and isinstance(self.default, int):
            descriptor.integer_range = [IntegerRange(from_value=1, to_value=int(self.most), step=0)]
        elif self.most is not None:
            descriptor.floating_point_range = [
                FloatingPointRange(from_value=0.0, to_value=self.most, step=0.0)
            ]
        return descriptor


fixed = partial(Parameter, read_only=True)


def declare_parameters(node: Node, parameters: Sequence[Parameter]) -> dict[str, Any]:
    """Declare them all; returns their values by name."""
    return {
        p.name: node.declare_parameter(p.name, p.default, p.descriptor()).value
        for p in parameters
    }


def not_finite(values: Mapping[str, Any]) -> str:
    """Message about the first value that is not finite, or empty: ROS ranges accept NaN."""
    for name, value in values.items():
        if isinstance(value, float) and not math.isfinite(value):
            return f"{name}: {value} is not a finite number"
    return ""


def not_positive(values: Mapping[str, Any], names: Iterable[str]) -> str:
    """Message about the first of these values that is not above 0, or empty."""
    for name in names:
        if not values[name] > 0.0:
            return f"{name} {values[name]:g} is not above 0"
    return ""


def too_slow(values: Mapping[str, Any]) -> str:
    """Message about a state_rate that is too low, or empty."""
    if values["state_rate"] < 1.0:
        return f"state_rate {values['state_rate']:g} is below 1 Hz: the heartbeat cannot be slower"
    return ""

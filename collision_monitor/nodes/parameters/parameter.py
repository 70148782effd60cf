# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""One parameter of a node: name, default, range, description."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor


@dataclass(frozen=True)
class Parameter:
    """One parameter; ``most`` of a number is its upper bound, 0 (1 of an integer) the lower."""

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

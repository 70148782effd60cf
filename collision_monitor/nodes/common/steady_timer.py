# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Timers of a steady clock: simulated time may be paused."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.timer import Timer

_CLOCK = Clock(clock_type=ClockType.STEADY_TIME)


def steady_timer(node: Node, period: float, callback: Callable[[], object]) -> Timer:
    """A timer of ``node`` with a period in seconds."""
    return node.create_timer(period, callback, clock=_CLOCK)

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The node ``collision_monitor``: publishes distance, state and markers for joint states."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node

from collision_monitor.nodes.common.executor import run_program, split_arguments
from collision_monitor.nodes.monitor_core import MonitorCore
from collision_monitor.nodes.node_core import RobotNode


class CollisionMonitorNode(RobotNode):
    """Monitors a robot from its start; see `MonitorCore`."""

    def __init__(self, **options: Any) -> None:
        """Declare parameters, load a robot given by parameter, and start.

        Raises:
            CollisionMonitorError: inconsistent parameters, or a robot given by parameter cannot be
                loaded.
        """
        super().__init__("collision_monitor", _started, **options)


def _started(node: Node) -> MonitorCore:
    core = MonitorCore(node)
    core.configure(is_active=True)
    core.activate()
    return core


def main(args: list[str] | None = None) -> None:
    """Run the node; it prints an error and exits with code 1 if parameters are invalid."""
    options, args = split_arguments(args)
    run_program(lambda: CollisionMonitorNode(**options), args, "collision_monitor")


if __name__ == "__main__":
    main()

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The node ``collision_monitor``: publishes distance, state and markers for joint states."""

from __future__ import annotations

from rclpy.node import Node

from collision_monitor.nodes.common.executor import run_program, split_arguments
from collision_monitor.nodes.common.failures import left_if_interrupted
from collision_monitor.nodes.monitor_core import MonitorCore


class CollisionMonitorNode(Node):
    """Monitors a robot from its start; see `MonitorCore`."""

    def __init__(self, **options) -> None:
        """Declare parameters, load a robot given by parameter, and start.

        Raises:
            CollisionMonitorError: inconsistent parameters, or a robot given by parameter cannot be
                loaded.
        """
        super().__init__("collision_monitor", **options)
        with left_if_interrupted(self):
            self._core = MonitorCore(self)
            self._core.configure(is_active=True)
            self._core.activate()

    def failed(self, error: Exception) -> None:
        """Publish that a callback has failed."""
        self._core.failed(error)

    def publish_stale(self, reason: str) -> None:
        """Publish that nothing is monitored now."""
        self._core.publish_stale(reason)

    def close(self) -> None:
        """Publish that monitoring has ended; write pending recordings."""
        self._core.end()


def main(args: list[str] | None = None) -> None:
    """Run the node; it prints an error and exits with code 1 if parameters are invalid."""
    options, args = split_arguments(args)
    run_program(lambda: CollisionMonitorNode(**options), args, "collision_monitor")


if __name__ == "__main__":
    main()

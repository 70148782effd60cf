# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The node ``collision_monitor``: publishes distance, state and markers for joint states.

As a lifecycle node, configuring loads the robot and compiles kernels; activating starts monitoring
and publishing.
"""

from __future__ import annotations

from typing import Any

from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.node import Node

from collision_monitor.errors import CollisionMonitorError
from collision_monitor.nodes.common.arguments import split_arguments
from collision_monitor.nodes.common.executor import run_program
from collision_monitor.nodes.monitor_core import MonitorCore
from collision_monitor.nodes.node_core import CoreNode, RobotNode

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE


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


class CollisionMonitorLifecycleNode(CoreNode, LifecycleNode):
    """Monitors a robot while it is active; see `MonitorCore`."""

    def __init__(self, **options) -> None:
        """Declare all parameters.

        Raises:
            CollisionMonitorError: inconsistent parameters.
        """
        super().__init__("collision_monitor", **options)
        self._core = MonitorCore(self)

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the robot; the node stays unconfigured if that fails."""
        try:
            self._core.configure()
        except CollisionMonitorError as error:
            self.get_logger().error(str(error))
            return FAILURE
        return SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start monitoring."""
        self._core.activate()
        return SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Publish that monitoring is disabled, and stop publishing."""
        self._core.deactivate()
        return SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Unload the robot."""
        self._core.cleanup()
        return SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Shut down from any state."""
        if state.label == "active":
            self._core.deactivate()
        if state.label in ("active", "inactive"):
            self._core.cleanup()
        return SUCCESS


def main(args: list[str] | None = None, kind: type = CollisionMonitorNode) -> None:
    """Run the node; it prints an error and exits with code 1 if parameters are invalid."""
    options, args = split_arguments(args)
    run_program(lambda: kind(**options), args, "collision_monitor")


def lifecycle_main() -> None:
    """Run the lifecycle node; see `main`."""
    main(kind=CollisionMonitorLifecycleNode)


if __name__ == "__main__":
    main()

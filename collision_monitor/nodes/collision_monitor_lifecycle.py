# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The node ``collision_monitor`` managed from outside: a lifecycle node.

Configuring loads the robot and compiles, activating begins to watch and to publish.
"""

from __future__ import annotations

from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from collision_monitor.errors import CollisionMonitorError
from collision_monitor.nodes.common.executor import run_program, split_arguments
from collision_monitor.nodes.monitor_core import MonitorCore

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE


class CollisionMonitorLifecycleNode(LifecycleNode):
    """Watches a robot while it is active; see `MonitorCore`."""

    def __init__(self, **options) -> None:
        """Declare all parameters.

        Raises:
            CollisionMonitorError: parameters that contradict each other.
        """
        super().__init__("collision_monitor", **options)
        self._core = MonitorCore(self)

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load and compile; what cannot be loaded leaves the node unconfigured."""
        try:
            self._core.configure()
        except CollisionMonitorError as error:
            self.get_logger().error(str(error))
            return FAILURE
        return SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to watch."""
        self._core.activate()
        return SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Say that nobody watches, and fall silent."""
        self._core.deactivate()
        return SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget the robot."""
        self._core.cleanup()
        return SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """End in whatever state it is."""
        if state.label == "active":
            self._core.deactivate()
        if state.label in ("active", "inactive"):
            self._core.cleanup()
        return SUCCESS

    def close(self) -> None:
        """Say that nobody watches any more; write what is still to be recorded."""
        self._core.end()


def main(args: list[str] | None = None) -> None:
    """Run the node; what is wrong with its parameters is said, and ends it with code 1."""
    options, args = split_arguments(args)
    run_program(lambda: CollisionMonitorLifecycleNode(**options), args, "collision_monitor")


if __name__ == "__main__":
    main()

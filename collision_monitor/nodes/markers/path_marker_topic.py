# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The topic ``~/markers`` of adjustments."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rclpy.node import Node
from visualization_msgs.msg import MarkerArray

from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.nodes.common.messages import VALUES
from collision_monitor.nodes.markers.markers import MarkerBuilder, PathMarkers
from collision_monitor.self_collision.adjustment import Adjustment
from collision_monitor.self_collision.arms import Arm
from collision_monitor.self_collision.hold_supervisor import names_of
from collision_monitor.self_collision.motion_clearance import approach_points
from collision_monitor.self_collision.trajectory_filter import Job

_WAYPOINTS = 100  # maximum number that is drawn


class PathMarkerTopic:
    """Shows the last adjustment, at a rate, while there are subscribers."""

    def __init__(self, node: Node, values: Mapping[str, Any]) -> None:
        """``values``: parameters of the node."""
        self._node, self._values = node, values
        self._publisher = node.create_publisher(MarkerArray, "~/markers", VALUES)
        self._last: tuple[Job, Adjustment] | None = None
        self._next = -math.inf

    def use_robot(self, root: str) -> None:
        """Begin again, with the root link of another robot."""
        self._builder, self._last = PathMarkers(root), None
        self._publisher.publish(MarkerBuilder.clear())

    def show(self, job: Job, adjustment: Adjustment) -> None:
        """Show this adjustment from now on."""
        self._last = job, adjustment
        self.send_at_once()

    def send_at_once(self) -> None:
        """Publish in the next `watch`."""
        self._next = -math.inf

    def watch(self, now: float, model: CollisionModel, right: Arm) -> None:
        """Publish if it is due at ``now``; ``model`` has the monitored pairs, ``right`` an arm."""
        rate = self._values["marker_rate"]
        if rate == 0.0 or now < self._next or not self._publisher.get_subscription_count():
            return
        self._next = now + 1.0 / rate
        if self._last is None:
            return
        job, adjustment = self._last
        names = names_of(model, right)
        before, after = (
            approach_points(model, names, motion, job.held, _WAYPOINTS)
            for motion in (adjustment.desired, adjustment.motion)
        )
        index = adjustment.index_before, adjustment.index_after
        self._publisher.publish(
            self._builder.build(
                before,
                after,
                job.settings.safe_distance,
                job.settings.danger_distance,
                tuple(float(each.max()) for each in index),
                self._node.get_clock().now().to_msg(),
                max(2.0, 3.0 / rate),
            )
        )

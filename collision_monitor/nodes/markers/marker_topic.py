# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The topic ``~/markers`` of a monitored robot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from rclpy.node import Node

from collision_monitor.model.proximity import Nearness
from collision_monitor.monitoring.monitor import Monitor, MonitorState
from collision_monitor.nodes.markers.markers import MarkerBuilder, levels_of


class MarkerTopic:
    """Builds and publishes markers; a new robot or new parameters begin with a DELETEALL."""

    def __init__(self, node: Node, values: Mapping[str, Any], publisher: Any) -> None:
        """``values``: parameters of the node; ``publisher``: of ``~/markers``."""
        self._node, self._values, self._publisher = node, values, publisher
        self._builder: MarkerBuilder | None = None

    def forget(self) -> None:
        """Begin again with the next markers: the robot or a parameter is another one."""
        self._builder = None

    def send(self, monitor: Monitor | None, state: MonitorState) -> None:
        """Publish the markers of a state."""
        # A stopped timer may have been due when its rate was set to 0.
        if monitor is None or self._values["marker_rate"] == 0.0:
            return
        if self._builder is None:
            self._start(monitor)
        thresholds, q = monitor.behaviour.all_thresholds, monitor.buffer.q
        if monitor.narrow_phase == "leaf":
            nearness = self._nearness.of_leaves(q, thresholds)
        else:
            nearness = self._nearness.of_distances(monitor.model_distances(), thresholds)
            if not monitor.live.is_empty:
                first = len(monitor.model.pairs)
                of_objects = self._nearness.of_leaves(q, thresholds, first)
                nearness = np.minimum(nearness, of_objects)
        stamp = self._node.get_clock().now().to_msg()
        for message in self._builder.build(q, state, stamp, nearness):
            self._publisher.publish(message)

    def _start(self, monitor: Monitor) -> None:
        v = self._values
        lifetime = max(1.0, 3.0 / v["marker_rate"])
        levels = levels_of(v["show_aabb_levels"])
        mesh_level = max(levels_of(v["show_mesh_level"], "show_mesh_level"), default=-1)
        builder = MarkerBuilder(monitor.model, lifetime, monitor.live, levels, mesh_level)
        for remark in builder.remarks:
            self._node.get_logger().warning(remark)
        self._builder, self._nearness = builder, Nearness(monitor.model, monitor.live)
        self._publisher.publish(MarkerBuilder.clear())

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""MonitorState as messages."""

from __future__ import annotations

from collections.abc import Mapping

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from collision_monitor.monitoring.monitor import MonitorState

# -- qualities of service --


# The last message is kept for those who come late.
LATCHED = QoSProfile(
    depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE
)
# Reliable, so that both reliable and best-effort subscribers match.
VALUES = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)


def status_message(
    state: MonitorState, name: str, hardware_id: str, extra: Mapping[str, str]
) -> DiagnosticStatus:
    """The state with action, nearest links and points, distance and age as key-values."""
    values = {
        "action": state.action,
        "reason": state.message,
        "distance": f"{state.distance:.6f}",
        "speed_scale": f"{state.speed_scale:.4f}",
        "age": f"{state.age:.4f}",
    }
    if state.clearance is not None:
        a, b = state.clearance.points
        values["narrow_phase"] = "mesh" if state.clearance.exact else "leaf"
        values["link_a"], values["link_b"] = state.clearance.links
        values["point_a"], values["point_b"], values["normal"] = (
            " ".join(f"{x:.6f}" for x in vector) for vector in (a, b, state.clearance.normal)
        )
    values.update(extra)
    return DiagnosticStatus(
        level=bytes([state.level]),
        name=name,
        message=state.message,
        hardware_id=hardware_id,
        values=key_values(values),
    )


def key_values(values: Mapping[str, str]) -> list[KeyValue]:
    """As messages have them."""
    return [KeyValue(key=key, value=value) for key, value in values.items()]


def distances_message(distances: list[float]) -> Float64MultiArray:
    """One value a pair, in the order of ~/pair_names."""
    message = Float64MultiArray(data=distances)
    count = len(distances)
    message.layout.dim = [MultiArrayDimension(label="pair", size=count, stride=count)]
    return message

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states for tests of buffers and monitors."""

from typing import Any

from collision_monitor.monitoring.joint_state_buffer import JointState


def send(receiver: Any, *message: Any, **options: Any) -> None:
    """Give a buffer a `JointState` with these fields."""
    receiver.update(JointState(*message, **options))

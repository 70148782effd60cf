# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What scene topics need of a node, without a graph, and a robot that they are about."""

import logging
import time
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np

from collision_monitor import CollisionModel
from collision_monitor.model.live.live_objects import Bounds
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.monitoring.monitor import Monitor
from support.robots.toys import chain

NAMES = ["j1", "j2", "j3"]
Q = [0.5, 0.5, 0.3]
VALUES = {
    "package_dirs": [], "scene_leaves_per_object": 8, "scene_timeout": 0.0, "cloud_timeout": 0.0,
    "cloud_voxel_size": 0.05, "cloud_padding": 0.05, "cloud_max_voxels": 50, "hierarchy": "aabb",
}  # fmt: skip


def stub_subscription(*arguments, **options):
    """Hears nothing."""
    handle = MagicMock()
    handle.take_message.return_value = None
    return SimpleNamespace(handle=handle, topic_name="stub", msg_type=None)


def stub_node():
    """A node that hears only what `receive(topic, data)` gives it, serialized.

    What waits in the middleware is that of `subscriptions`, by topic.
    """
    callbacks, subscriptions = {}, {}

    def create_subscription(kind, topic, callback, *arguments, **options):
        callbacks[topic], subscriptions[topic] = callback, stub_subscription()
        return subscriptions[topic]

    return SimpleNamespace(
        create_subscription=create_subscription,
        receive=lambda topic, data: callbacks[topic](data),
        subscriptions=subscriptions,
        count_publishers=lambda topic: 0,
        get_publishers_info_by_topic=lambda topic: [],
        resolve_topic_name=lambda topic: topic,
        destroy_subscription=lambda subscription: None,
        create_timer=lambda *arguments, **options: MagicMock(),
        destroy_timer=lambda timer: None,
        get_clock=lambda: SimpleNamespace(ros_time_is_active=False),
        get_logger=lambda: logging.getLogger("stub"),
    )


def robot(prefix: str = "") -> CollisionModel:
    """Four links that turn about z."""
    return CollisionModel.from_urdf(chain(4).replace('"l', f'"{prefix}l'))


def watch(model: CollisionModel, timeout: float = 0.5, carried: int = 16) -> Monitor:
    """A monitor that has heard nothing; ``carried``: how many objects links may carry."""
    live = LiveScene(model, Bounds(8, 8, 50, carried))
    return Monitor(model, joint_state_timeout=timeout, behaviour=None, live=live)


def hear(monitor: Monitor, ago: float = 0.0):
    """The state after a joint state that came ``ago`` seconds ago."""
    return monitor.update(NAMES, np.array(Q), time.monotonic() - ago)


def until(topics, condition):
    """Wait until something holds that a worker makes; ``topics`` take what it has made."""
    end = time.monotonic() + 30.0
    while not condition():
        assert time.monotonic() < end
        topics.watch()
        time.sleep(0.005)

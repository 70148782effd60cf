# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Distances of the leaves while kernels of the monitor are compiled, once on a machine.

Fitting leaves and compiling their distances takes a third of the time of a first start. Exact
distances and braking paths are compiled meanwhile, in other processes; until they are available
the state is STALE, and only the minimum distance is published.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from collision_monitor.errors import JointStateError
from collision_monitor.model.loading import Loaded
from collision_monitor.monitoring.cell_buffer import buffer_of
from collision_monitor.monitoring.compile_ahead import CompilingProcess
from collision_monitor.nodes.robot_topics import RobotTopics

_PERIOD = 0.1  # seconds


def publish_leaf_distances(
    robots: RobotTopics,
    loaded: Loaded,
    timeout: float,
    publish: Callable[[float], None],
    processes: Sequence[CompilingProcess],
    has_objects: Callable[[], bool],
) -> None:
    """Publish the minimum distance at 10 Hz until all ``processes`` have ended.

    Args:
        robots: joint states are taken from its subscriptions, without an executor.
        loaded: the model and its joints.
        timeout: joint states older than this have no distance, seconds; 0 for any age.
        publish: called with each distance, metres.
        processes: those that compile.
        has_objects: whether there are objects on topics, which are not known here: no distance is
            published then.
    """
    model, buffer = loaded.model, buffer_of(loaded.model, loaded.joints)
    robots.subscribe_joint_states()
    if model.scene.joints:
        robots.subscribe_scene_joints()
    while any(process.is_running for process in processes):
        now = time.monotonic()
        for source, data in robots.waiting():
            with suppress(JointStateError):  # reported once the robot is monitored
                buffer.update(source.reader.read(data, now))
        is_old = bool(buffer.missing() or (timeout and buffer.too_old(timeout, now)))
        if not (is_old or has_objects()):
            publish(model.distance(buffer.q).distance)
        time.sleep(_PERIOD)

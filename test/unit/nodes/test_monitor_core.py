# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A node that is behind: obstacles that wait count first, and no joint state that waits is lost."""

import time

import pytest
from support.robots.toys import chain

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rclpy  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.serialization import serialize_message  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from support.ros.obstacle_messages import marker  # noqa: E402
from visualization_msgs.msg import MarkerArray  # noqa: E402

from collision_monitor.monitoring.monitor import Level  # noqa: E402
from collision_monitor.nodes.collision_monitor import CollisionMonitorNode  # noqa: E402


@pytest.fixture
def node(domain, monkeypatch):
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    context = rclpy.Context()
    context.init(domain_id=domain.number)
    values = {"robot_description": chain(3), "narrow_phase": "leaf"}
    overrides = [Parameter(name, value=value) for name, value in values.items()]
    node = CollisionMonitorNode(context=context, parameter_overrides=overrides)
    yield node
    node.close()
    node.destroy_node()
    context.shutdown()


@pytest.mark.parametrize("is_behind", [True, False])
def test_waiting_obstacles_count_for_the_next_joint_state_if_the_node_is_behind(node, is_behind):
    core = node._core
    (source,) = core._joint_states._sources.values()
    core._watchdogs.cycles.is_behind = lambda start: is_behind
    names = list(core._monitor.model.joint_names)
    publisher = node.create_publisher(MarkerArray, f"/{node.get_name()}/scene", 10)
    end = time.monotonic() + 20.0
    while not publisher.get_subscription_count():
        assert time.monotonic() < end
        time.sleep(0.02)
    post = marker(ns="post", at=(1.0, 0.0, 0.0), frame=core._monitor.model.root)
    publisher.publish(MarkerArray(markers=[post]))
    time.sleep(0.5)  # the message is at the node, which does not spin
    message = serialize_message(JointState(name=names, position=[0.0] * len(names)))
    core._on_joint_state(source, message)
    assert ("post/1" in core._monitor.live.objects) is is_behind


def test_obstacles_that_were_received_count_for_the_next_joint_state(node):
    core = node._core
    (source,) = core._joint_states._sources.values()
    names = list(core._monitor.model.joint_names)
    post = marker(ns="post", at=(1.0, 0.0, 0.0), frame=core._monitor.model.root)
    message = MarkerArray(markers=[post])
    core._scene.waiting.receive("scene", 0, lambda: core._scene._on_scene(message))
    assert "post/1" not in core._monitor.live.objects
    core._on_joint_state(source, serialize_message(JointState(name=names, position=[0.0] * 3)))
    assert "post/1" in core._monitor.live.objects


@pytest.mark.parametrize("is_behind", [True, False])
def test_scene_messages_take_a_bounded_time_of_a_cycle_and_what_is_left_is_a_warning(
    node, is_behind
):
    def steps():
        for _ in range(200):
            end = time.thread_time() + 1e-3
            while time.thread_time() < end:
                pass
            yield

    def seconds_of(callback, *arguments):
        begin = time.thread_time()
        callback(*arguments)
        return time.thread_time() - begin

    core = node._core
    (source,) = core._joint_states._sources.values()
    core._watchdogs.cycles.is_behind = lambda start: is_behind
    names = list(core._monitor.model.joint_names)
    message = serialize_message(JointState(name=names, position=[0.5] * len(names)))
    core._on_joint_state(source, message)
    published = []
    core.state.topics.state = lambda status, state: published.append(state)
    core._scene.waiting.receive("scene", 0, steps)
    assert 0.01 <= seconds_of(core._on_joint_state, source, message) < 0.025
    state = published[-1]
    assert state.level == Level.WARN and state.clearance is not None
    assert "changes of the scene are not applied yet: 1 message, and 0 objects" in state.message
    assert 0.01 <= seconds_of(core._scene.watch) < 0.015  # joint states wait meanwhile
    while core._scene.waiting:
        core._on_joint_state(source, message)
    assert published[-1].level == Level.OK and "applied" not in published[-1].message


def test_a_joint_state_is_not_lost_if_one_before_it_is_unreadable_and_the_node_is_behind(node):
    core = node._core
    (source,) = core._joint_states._sources.values()
    core._watchdogs.cycles.is_behind = lambda start: True
    names = list(core._monitor.model.joint_names)
    newest = serialize_message(JointState(name=names, position=[0.5] * len(names)))
    core._joint_states.waiting = lambda: iter([(source, b"no message"), (source, newest)])
    core._on_joint_state(source, b"no message")
    assert core._monitor.buffer.q.tolist() == [0.5] * len(names)
    assert core._watchdogs.refused["unreadable"] == 2
    state = core.state.current()  # it is at fault all the same
    assert state.level == Level.ERROR and "unreadable joint state" in state.message

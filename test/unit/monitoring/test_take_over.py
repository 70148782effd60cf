# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A monitor that goes on where another is, with another model of the same robot."""

import gc
import math
import weakref

import numpy as np
import pytest
from support.joint_states import send
from support.robots.toys import chain, joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.monitoring.joint_state_buffer import JointStateBuffer
from collision_monitor.monitoring.monitor import Level, Monitor
from collision_monitor.monitoring.settings import SpeedSettings
from collision_monitor.monitoring.speed_policy.speed_policy import SpeedPolicy

JOINTS = ("j1", "j2", "j3")
BENT = [0.2, 1.0, 1.2]


def monitor(urdf=None, **options):
    model = CollisionModel.from_urdf(chain(4) if urdf is None else urdf)
    behaviour = SpeedPolicy(model, SpeedSettings(release_cycles=3, rise_time=1.0))
    return Monitor(model, behaviour=behaviour, **options)


def fed(watch, now=10.0, count=6, names=JOINTS, q=BENT, speed=0.0):
    for k in range(count):
        there = [x + speed * 0.01 * (k + 1 - count) for x in q]
        state = watch.update(names, there, now + 0.01 * (k + 1 - count), now + 0.01 * k)
    return state


def test_the_verdict_is_known_at_once_and_is_the_new_models():
    old, new = monitor(), monitor(chain(4).replace('radius="0.1"', 'radius="0.05"'))
    before = fed(old)
    new.take_over(old, 10.05)
    state = new.state(10.05)
    assert state.level == Level.OK and state.cause == ""
    assert state.distance == pytest.approx(before.distance + 0.1, abs=1e-9)
    assert state.distance == new.model.distance(BENT).distance
    assert state.age == pytest.approx(0.05)


def test_joints_go_by_name_in_whatever_order():
    turned = robot(
        link("l0"), link("arm"), link("other"),
        joint("j3", "l0", "arm"), joint("j1", "arm", "other"),
    )  # fmt: skip
    old, new = monitor(), monitor(turned)
    fed(old)
    new.take_over(old, 10.01)
    assert new.buffer.joint_names == ("j3", "j1")
    assert new.buffer.q.tolist() == [BENT[2], BENT[0]]
    assert new.state(10.01).distance == new.model.distance([BENT[2], BENT[0]]).distance


def test_other_joints_are_waited_for():
    old, new = monitor(), monitor(chain(5))
    fed(old)
    new.take_over(old, 10.01)
    state = new.state(10.01)
    assert (state.level, state.reason) == (Level.STALE, "no joint state yet for j4")
    assert state.distance != state.distance
    assert new.update(["j4"], [0.1], 10.02).level == Level.OK
    nothing = monitor(chain(4).replace('"j', '"k'))
    nothing.take_over(old, 10.01)
    assert nothing.state(10.01).reason == "no joint state received yet"


def test_what_was_stale_or_a_fault_stays_unknown():
    old = monitor()
    fed(old)
    new = monitor()
    new.take_over(old, 20.0)
    assert new.state(20.0).level == Level.STALE and "10.00 s old" in new.state(20.0).reason
    old.update(JOINTS, [math.nan] * 3, 10.1, 10.1)
    new = monitor()
    new.take_over(old, 10.11)
    assert new.state(10.11).level == Level.STALE and not new.state(10.11).safe
    assert new.update(JOINTS, BENT, 10.12, 10.12).level == Level.OK
    young = monitor()
    fed(young, count=1, q=[0.0, 0.0, 0.0])
    new = monitor()
    new.take_over(young, 10.01)
    assert "all zeros" in new.state(10.01).reason


def test_speeds_and_what_is_held_go_on():
    folded = [math.pi - 0.2, 1.0, 0.0]  # l2 touches l0
    old = monitor()
    stopped = fed(old, q=folded)
    assert stopped.action == "stop" and stopped.speed_scale == 0.0
    new = monitor(chain(4).replace('radius="0.1"', 'radius="0.01"'))
    new.take_over(old, 10.001)
    # The small links are clear, but a stop is not left, nor the scale raised, by a swap alone.
    assert new.model.distance(folded).distance > 0.1
    assert new.state(10.001).action == "stop" and new.state(10.001).speed_scale == 0.0
    scales = [fed(new, 10.0 + 0.01 * k, 1, q=folded).speed_scale for k in range(1, 10)]
    assert scales[0] == 0.0 and np.diff(scales).max() <= 0.0101
    moving = monitor()
    fed(moving, speed=-0.4)
    new = monitor()
    new.take_over(moving, 10.001)
    assert new.behaviour.velocities.known
    assert new.behaviour.velocities.values == pytest.approx([-0.4] * 3, abs=1e-6)


def test_two_publishers_that_quarrel_go_on_quarrelling():
    old, new = (JointStateBuffer(["a", "b"], [1.0, 1.0]) for _ in range(2))
    for k in range(8):
        send(old, ["a", "b"], [0.1 + (k % 2), 0.2], 5.0 + 0.01 * k)
    new.take_over(old)
    assert "two publishers" in new.conflict(5.1)
    send(new, ["b"], [0.3], 5.2)
    assert new.q[1] == 0.3


@pytest.mark.parametrize("narrow_phase", ["leaf", "auto"])
def test_a_model_that_is_not_watched_any_more_is_gone_without_a_search(narrow_phase):
    model = CollisionModel.from_urdf(chain(4))
    live = LiveScene(model)
    live.add("ball", np.array([[0.0] * 6 + [0.1]]), "l0", np.eye(4))
    behaviour = SpeedPolicy(model, live=live)
    watch = Monitor(model, narrow_phase=narrow_phase, behaviour=behaviour, live=live)
    fed(watch)
    watch.distances()
    gone = [weakref.ref(each) for each in (model, live, behaviour, watch)]
    gc.disable()
    try:
        del watch, behaviour, live, model
        assert [each() for each in gone] == [None] * 4
    finally:
        gc.enable()


def test_watchdogs_and_their_counts_outlive_a_swap():
    old, new = monitor(), monitor()
    old.watchdogs.publishers.update("js", 1, 9.0)
    old.watchdogs.publishers.report_message("js", 10.6)
    fed(old)
    old.update(["x"], [1.0], 10.01)
    fed(old, now=10.6)
    old.watchdogs.publishers.update("js", 0, 10.7)
    new.take_over(old, 10.71)
    assert new.watchdogs.counts() == old.watchdogs.counts()
    assert new.watchdogs.refused["unknown"] == new.watchdogs.publishers.lost == 1
    assert new.state(10.71).message == "the publisher of the joint states is gone"


def test_a_clock_set_back_is_a_fault_over_a_swap_too():
    old, new = monitor(), monitor()
    fed(old)
    assert old.update(JOINTS, BENT, 10.1, 2.0).cause == "fault"
    new.take_over(old, 10.11)
    assert new.state(10.11).cause == "fault" and "a clock was set back" in new.state(10.11).message
    assert new.update(JOINTS, BENT, 10.7, 2.6).level == Level.OK

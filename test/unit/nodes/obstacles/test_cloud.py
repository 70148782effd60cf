# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Clouds that come before the robot is known, while it is swapped, and one upon another."""

import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from geometry_msgs.msg import TransformStamped  # noqa: E402
from rclpy.serialization import serialize_message  # noqa: E402
from rclpy.time import Time  # noqa: E402
from support.robots.toys import chain  # noqa: E402
from support.ros.obstacle_messages import cloud_message  # noqa: E402
from support.ros.scene_stub import (  # noqa: E402
    NAMES,
    VALUES,
    Q,
    hear,
    robot,
    stub_node,
    until,
    watch,
)

from collision_monitor import CollisionModel  # noqa: E402
from collision_monitor.model.live.live_objects import Bounds  # noqa: E402
from collision_monitor.model.live.live_scene import CLOUD, LiveScene  # noqa: E402
from collision_monitor.monitoring.faults import FaultRegister  # noqa: E402
from collision_monitor.nodes.obstacles.cloud import Cloud, robot_leaves  # noqa: E402
from collision_monitor.nodes.obstacles.scene_topics import SceneTopics  # noqa: E402


@pytest.fixture(scope="module")
def model():
    return robot()


class Cell:
    """What the node does with a cloud."""

    def __init__(self, model):
        self.node = stub_node()
        self.scene = SceneTopics(self.node, VALUES, lambda: None, FaultRegister())
        self.values, self.faults = dict(VALUES), FaultRegister()
        self.cloud = Cloud(
            self.node, self.values, self.scene.objects, lambda: None,
            lambda stamp: time.time() - stamp if stamp else 0.0, self.faults,
        )  # fmt: skip
        self.use_robot(model)

    def use_robot(self, model):
        self.monitor = watch(model)
        self.scene.objects.use_robot(self.monitor)
        self.cloud.use_robot()

    def say(self, points, frame="l0", stamp=0.0):
        self.node.receive("~/cloud", serialize_message(cloud_message(points, frame, stamp)))

    def until(self, condition):
        until(self.cloud, condition)

    @property
    def centre(self):
        """Of the cloud, (3,); None without one."""
        found = self.scene.objects.live.objects.get(CLOUD)
        return None if found is None else found.rows[:, :3].mean(axis=0)


@pytest.fixture
def cell(model):
    found = Cell(model)
    yield found
    found.cloud.destroy()
    found.scene.destroy()


def is_near(cell, point):
    return lambda: cell.centre is not None and np.abs(cell.centre - point).max() < 0.06


def test_a_cloud_that_comes_before_joint_states_is_there_with_them(cell):
    cell.say([[0.0, 3.0, 0.0]])
    assert cell.centre is None
    hear(cell.monitor)
    cell.until(is_near(cell, [0.0, 3.0, 0.0]))


def test_a_cloud_seen_from_a_link_that_was_not_known_where_is_an_error_until_the_next(cell):
    cell.say([[0.0, 3.0, 0.0]], "l3")
    hear(cell.monitor)
    cell.until(lambda: "where its sensor link 'l3' was" in cell.scene.fault(0.0))
    assert cell.centre is None
    cell.say([[0.0, 3.0, 0.0]], "l3")
    cell.until(lambda: not cell.scene.fault(0.0))
    pose = cell.scene.objects.live.model.link_poses(np.array(Q))["l3"]
    assert is_near(cell, pose[:3, :3] @ [0.0, 3.0, 0.0] + pose[:3, 3])()


@pytest.mark.parametrize("is_stamped", [False, True])
def test_a_cloud_that_came_in_a_gap_of_joint_states_never_leaves_the_one_before_without_a_word(
    cell, is_stamped
):
    """Such as that of a camera on a gripper, which sends one cloud when it is asked to."""
    now, moved = time.time(), np.array(Q) + [0.8, 0.0, 0.0]
    cell.monitor.update(NAMES, np.array(Q), time.monotonic(), now - 3.0)
    cell.say([[0.0, 3.0, 0.0]])
    cell.until(is_near(cell, [0.0, 3.0, 0.0]))
    cell.monitor.update(NAMES, np.array(Q), time.monotonic() - 1.0, now - 2.9)
    assert cell.scene.objects.q is None  # too old
    cell.say([[0.0, 4.0, 0.0]], "l3", now - 2.0 if is_stamped else 0.0)
    cell.monitor.update(NAMES, moved, time.monotonic(), now - 1.0)
    cell.until(lambda: "where its sensor link 'l3' was" in cell.scene.fault(0.0))
    assert is_near(cell, [0.0, 3.0, 0.0])()  # it stays, as the fault says


def test_a_cloud_is_where_its_camera_was_when_it_looked(cell):
    # A second ago: no stamp is of the future.
    model, now = cell.scene.objects.live.model, time.time() - 1.0
    moved = np.array(Q) + [0.8, 0.0, 0.0]
    for k in range(11):  # a second
        at = np.array(Q) + 0.1 * k * (moved - Q)
        cell.monitor.update(NAMES, at, time.monotonic(), now + 0.1 * k)
    pose = model.link_poses(np.array(Q) + 0.25 * (moved - Q))["l3"]
    cell.say([[0.0, 3.0, 0.0]], "l3", now + 0.25)
    cell.until(is_near(cell, pose[:3, :3] @ [0.0, 3.0, 0.0] + pose[:3, 3]))
    pose = model.link_poses(moved)["l3"]
    cell.say([[0.0, 3.0, 0.0]], "l3", now + 1.01)  # newer than all joint states
    cell.until(is_near(cell, pose[:3, :3] @ [0.0, 3.0, 0.0] + pose[:3, 3]))
    cell.say([[0.0, 3.0, 0.0]], "l3", now - 4.0)  # longer ago than is known
    why = "where its sensor link 'l3' was when it was measured, 5."
    cell.until(lambda: why in cell.scene.fault(0.0))
    cell.say([[0.0, 2.0, 0.0]], "l0", now - 5.0)  # which does not move
    cell.until(is_near(cell, [0.0, 2.0, 0.0]))


@pytest.mark.parametrize("moves", [True, False])
def test_a_camera_that_only_tf_knows_is_where_it_was_when_it_looked(model, monkeypatch, moves):
    begin, end = time.time() - 9.0, time.time() - 1.0  # what tf knows

    class Buffer:
        """A camera one metre farther along x in each second, or one that does not move."""

        def lookup_transform(self, target, source, at):
            seconds = at.nanoseconds / 1e9 or end
            if moves and not begin <= seconds <= end:
                raise LookupError("extrapolation")
            found = TransformStamped()
            if moves:
                found.header.stamp = Time(nanoseconds=int(seconds * 1e9)).to_msg()
            found.transform.translation.x = seconds - begin if moves else 1.0
            found.transform.rotation.w = 1.0
            return found

    listener = SimpleNamespace(unregister=lambda: None)
    tf2 = SimpleNamespace(Buffer=Buffer, TransformListener=lambda buffer, node: listener)
    monkeypatch.setitem(sys.modules, "tf2_ros", tf2)
    cell = Cell(model)
    for stamp in (begin + 2.0, end + 0.5, 0.0, begin - 2.0):
        hear(cell.monitor)
        cell.say([[0.0, 3.0, 0.0]], "camera", stamp)
        if moves and 0.0 < stamp < begin:
            assert "tf2 has no transform to 'l0': extrapolation" in cell.scene.fault(0.0)
        else:
            x = min(stamp or end, end) - begin if moves else 1.0
            cell.until(is_near(cell, [x, 3.0, 0.0]))
    cell.cloud.destroy()
    cell.scene.destroy()


def test_a_cloud_is_as_old_as_its_stamp_and_none_is_of_the_future(cell):
    def say(y, stamp=0.0):
        hear(cell.monitor)
        cell.say([[0.0, y, 0.0]], stamp=stamp)
        cell.until(is_near(cell, [0.0, y, 0.0]))

    cell.values["cloud_timeout"] = 100.0
    frozen = time.time() - 90.0
    say(3.0, frozen)
    now = time.monotonic()
    assert cell.cloud.fault(now) == ""
    say(4.0, frozen)  # its driver repeats the last one
    fault = cell.cloud.fault(now + 20.0)
    assert fault.startswith("no usable cloud for 11") and "by the stamp of the last one" in fault
    say(3.0, time.time() - 3600.0)
    assert "no usable cloud for 36" in cell.cloud.fault(time.monotonic())
    cell.say([[0.0, 4.0, 0.0]], stamp=time.time() + 3600.0)
    fault = cell.scene.fault(time.monotonic())
    assert "cloud: its stamp is 3" in fault and "s in the future" in fault
    say(5.0)  # without a stamp, its age is that of its reception
    now = time.monotonic()
    assert cell.cloud.fault(now) == "" and cell.scene.fault(now) == ""
    assert cell.cloud.fault(now + 110.0).endswith(" s; 100 s are allowed")


def test_a_cloud_that_comes_while_the_robot_is_swapped_is_there_for_the_next(cell, model):
    hear(cell.monitor)
    cell.say([[0.0, 3.0, 0.0]])
    cell.use_robot(model)  # whatever the thread has come to
    hear(cell.monitor)
    cell.until(is_near(cell, [0.0, 3.0, 0.0]))
    cell.use_robot(model)
    assert is_near(cell, [0.0, 3.0, 0.0])()


def test_a_publisher_has_time_to_its_first_cloud_while_the_node_listens(cell, monkeypatch):
    now = [time.monotonic()]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def warns_after(seconds, publishers=1, looks=100):
        cell.node.count_publishers = lambda topic: publishers
        for _ in range(looks):
            now[0] += seconds / looks
            cell.cloud.watch()
        return "no cloud has arrived" in cell.faults.text("clouds", now[0])

    # Inactive or loading for a minute: the camera was started meanwhile.
    assert not warns_after(60.0, looks=1) and not warns_after(3.0)
    assert not warns_after(60.0, looks=1) and warns_after(2.0)
    cell.say([[0.0, 3.0, 0.0]])
    assert not warns_after(60.0)
    assert not warns_after(60.0, publishers=0) and not warns_after(4.0)  # another camera
    assert warns_after(2.0)
    cell.values["cloud_timeout"] = 20.0  # clouds may be as rare
    assert not warns_after(10.0) and warns_after(5.0)


def test_the_last_of_many_clouds_is_what_counts(cell):
    hear(cell.monitor)
    for k in range(200):
        if k % 20 == 0:
            hear(cell.monitor)  # on a slow machine the first one is stale by then
        cell.say([[0.0, 3.0 + 0.1 * k, 0.0]])
        cell.cloud.apply_result()
    cell.until(is_near(cell, [0.0, 22.9, 0.0]))
    cell.say([])
    cell.until(lambda: cell.centre is None)


def test_what_a_scene_file_fixes_to_a_link_that_moves_is_the_robots_own(model):
    ball = {"type": "sphere", "radius": 0.05}
    scene = {"obstacles": [
        {"name": "camera", "link": "l3", "position": [0.0, 0.0, 0.4], **ball},
        {"name": "post", "position": [0.0, 2.0, 0.0], **ball},
    ]}  # fmt: skip
    live = LiveScene(CollisionModel.from_urdf(chain(4), scene=scene), Bounds(2, 2, 2))
    q = np.array(Q)
    ends, _ = robot_leaves(live, q)
    segments = dict(zip((leaf.link for leaf in live.model.leaves), live.model.leaf_segments(q),
                        strict=True))  # fmt: skip
    there = ends.reshape(-1, 2, 3)[:, 0]
    assert np.abs(there - segments["camera"][0]).max(axis=1).min() < 1e-9
    assert np.abs(there - segments["post"][0]).max(axis=1).min() > 0.5


def test_bytes_that_are_no_cloud_are_an_error_until_one_comes(cell):
    cell.node.receive("~/cloud", b"\0\1\0\0 no cloud")
    assert "cloud: a message that cannot be read" in cell.scene.fault(time.monotonic())


def test_of_clouds_that_are_refused_and_used_in_turns_the_state_is_the_log(cell, caplog):
    hear(cell.monitor)
    for height in range(3):  # two cameras, one of them with a frame that is no link
        cell.say([[0.0, 3.0, float(height)]])
        cell.until(lambda z=height: is_near(cell, [0.0, 3.0, z])() and not cell.scene.fault(0.0))
        cell.say([[0.0, 3.0, 0.0]], "camera")
        assert "frame 'camera' is not a link" in cell.scene.fault(0.0)
    assert not caplog.records

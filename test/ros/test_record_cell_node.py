# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A recording of two robots among obstacles of topics: who sent what, and what stood where."""

import contextlib
import io
import json
import math

import numpy as np
import pytest
from support.robots.toys import chain
from support.ros.ros_graph import ERROR, OK, Graph

from collision_monitor.cli.main import main

from rclpy.qos import qos_profile_sensor_data  # isort: skip
from sensor_msgs.msg import PointCloud2, PointField  # isort: skip
from visualization_msgs.msg import Marker, MarkerArray  # isort: skip

pytest.importorskip("mcap", reason="mcap is not installed")
highlevel = pytest.importorskip("rosbags.highlevel", reason="rosbags is not installed")

LEFT, RIGHT = chain(4), chain(3)
CLEAR = [0.5, 0.5, 0.3]
TIP = [1.0 + math.cos(0.5) + math.cos(1.0), math.sin(0.5) + math.sin(1.0)]  # of l3, at its start


def ball(number, x, y, z, frame="left/l0", size=0.2, **more):
    marker = Marker(ns="cell", id=number, type=Marker.SPHERE, **more)
    marker.header.frame_id = frame
    marker.pose.position.x, marker.pose.position.y, marker.pose.position.z = x, y, z
    marker.scale.x = marker.scale.y = marker.scale.z = size
    return marker


def cloud():
    fields = [
        PointField(name=name, offset=4 * k, datatype=PointField.FLOAT32, count=1)
        for k, name in enumerate("xyz")
    ]
    data = np.array([[0.0, 0.0, 4.0], [0.5, 0.0, 4.0]], dtype="<f4").tobytes()
    message = PointCloud2(
        height=1, width=2, fields=fields, point_step=12, row_step=24, data=data, is_dense=True
    )
    message.header.frame_id = "left/l0"
    return message


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """(the folder of a file of one stop at an obstacle of ~/scene, distance that was said)."""
    folder = tmp_path_factory.mktemp("cell")
    for name, urdf in (("left", LEFT), ("right", RIGHT)):
        (folder / f"{name}.urdf").write_text(urdf)
    graph = Graph()
    node = graph.start(
        "-p", "robots:=[left, right]", "-p", "right.mount:=[0.0, 9.0, 0.0, 0.0, 0.0, 0.0]",
        "-p", f"left.robot_description:={folder / 'left.urdf'}",
        "-p", f"right.robot_description:={folder / 'right.urdf'}",
        "-p", "record_after:=0.3", "-p", f"record:={folder / 'stop.mcap'}",
        "-p", "joint_state_timeout:=5.0", "-p", "prediction:=false",
    )  # fmt: skip
    scene, attach, points = (
        graph.node.create_publisher(kind, f"/collision_monitor/{topic}", qos)
        for kind, topic, qos in (
            (MarkerArray, "scene", 10), (MarkerArray, "attach", 10),
            (PointCloud2, "cloud", qos_profile_sensor_data),
        )
    )  # fmt: skip

    def send():
        graph.send(("j1", "j2", "j3"), CLEAR, topic="left/joint_states")
        graph.send(("j1", "j2"), (0.1, 0.2), topic="right/joint_states")

    def until(condition):
        graph.until(lambda: condition(graph.values), 20.0, send)

    try:
        graph.until_distance(send)
        graph.until_level(OK, send)
        graph.until(lambda: all(p.get_subscription_count() for p in (scene, attach, points)))
        attach.publish(MarkerArray(markers=[ball(2, 0.0, 0.0, 0.3, "left/l3", text="left/l2")]))
        until(lambda values: values.get("scene_carried") == "cell/2")
        points.publish(cloud())
        until(lambda values: "cloud" in values)
        scene.publish(MarkerArray(markers=[ball(1, *TIP, -0.21)]))
        graph.until_level(ERROR, send)
        distance = float(graph.values["distance"])
        graph.until(lambda: (folder / "stop.mcap").exists(), 20.0, send)
        graph.stop(node)
    finally:
        graph.close()
    return folder, distance


def test_every_topic_of_every_robot_has_a_channel_of_its_own(recording):
    folder, _ = recording
    with highlevel.AnyReader([folder / "stop.mcap"]) as reader:
        topics = [c.topic for c in reader.connections]
        found = {}
        for c, _, data in reader.messages():
            found.setdefault(c.topic, []).append(reader.deserialize(data, c.msgtype))
    assert len(set(topics)) == len(topics)
    assert {t for t in topics if "joint_states" in t or "robot_description" in t} == {
        "/left/joint_states", "/right/joint_states",
        "/left/robot_description", "/right/robot_description",
    }  # fmt: skip
    for name, urdf, joints in (("left", LEFT, 3), ("right", RIGHT, 2)):
        assert {m.data for m in found[f"/{name}/robot_description"]} == {urdf}
        states = found[f"/{name}/joint_states"]
        assert len(states) > 5 and {len(m.position) for m in states} == {joints}
    heard = {topic: found[f"/collision_monitor/{topic}"] for topic in ("scene", "attach", "cloud")}
    assert [m.markers[0].id for m in heard["scene"] if m.markers] == [1]
    assert [m.markers[0].header.frame_id for m in heard["attach"] if m.markers] == ["left/l3"]
    assert [m.width for m in heard["cloud"]] == [2]
    spaces = {m.ns for each in found["/collision_monitor/markers"] for m in each.markers}
    assert {"scene", "scene/carried", "scene/cloud", "leaves"} <= spaces


def test_verify_takes_what_was_there_at_the_stop_or_says_that_it_does_not(recording):
    folder, distance = recording
    assert 0.0 < distance <= 0.02

    def verify(*more):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = main([
                "verify", str(folder / "left.urdf"), str(folder / "stop.mcap"), "--json",
                "--stop", "0.02", "--topic", "/left/joint_states", "--recorded", *more,
            ])  # fmt: skip
        return code, json.loads(out.getvalue())

    code, said = verify()
    assert code == 0, said
    assert any("at its stop are not checked (4)" in note for note in said["notes"])

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A node that records: what other readers find in the file of a stop, and what verify says."""

import contextlib
import io
import json
import math
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

pytest.importorskip("mcap", reason="mcap is not installed")

from rclpy.qos import qos_profile_sensor_data  # noqa: E402
from sensor_msgs.msg import JointState, PointCloud2  # noqa: E402
from support.robots.toys import chain  # noqa: E402
from support.ros.obstacle_messages import cloud_message, marker  # noqa: E402
from support.ros.ros_graph import ERROR, OK, Graph  # noqa: E402
from visualization_msgs.msg import MarkerArray  # noqa: E402

from collision_monitor import CollisionModel  # noqa: E402
from collision_monitor.__main__ import main  # noqa: E402
from collision_monitor.motion.motion_files import load_trajectory  # noqa: E402
from collision_monitor.verification.clearance.clearance_check import check_clearance  # noqa: E402

highlevel = pytest.importorskip("rosbags.highlevel", reason="rosbags is not installed")

BALL = {"name": "ball", "type": "sphere", "radius": 0.2, "position": [1.0, 1.1, 0.0]}
CLEAR, NEAR = np.array([-0.5, -0.5, 0.3]), np.array([math.pi / 2 - 0.28, 0.0, 0.0])
TOPICS = {
    "/cell/joint_states": "sensor_msgs/msg/JointState",
    "/cell/collision_monitor/scene": "visualization_msgs/msg/MarkerArray",
    "/cell/collision_monitor/attach": "visualization_msgs/msg/MarkerArray",
    "/cell/collision_monitor/cloud": "sensor_msgs/msg/PointCloud2",
    "/cell/robot_description": "std_msgs/msg/String",
    "/cell/collision_monitor/min_distance": "std_msgs/msg/Float64",
    "/cell/collision_monitor/distances": "std_msgs/msg/Float64MultiArray",
    "/cell/collision_monitor/pair_names": "std_msgs/msg/String",
    "/cell/collision_monitor/state": "diagnostic_msgs/msg/DiagnosticStatus",
    "/cell/collision_monitor/markers": "visualization_msgs/msg/MarkerArray",
}


def content(message):
    """All that is in a joint state; its bytes have gaps with anything in them."""
    stamp = message.header.stamp
    numbers = [[*values] for values in (message.position, message.velocity, message.effort)]
    return (stamp.sec, stamp.nanosec, message.header.frame_id, [*message.name], *numbers)


def verified(*arguments):
    """Exit code and JSON of the command verify."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main(["verify", *map(str, arguments), "--json"])
    return code, json.loads(out.getvalue())


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """(folder, model, joint states sent, exit code): two stops, the second just before the end."""
    folder = tmp_path_factory.mktemp("cell with a space")
    (folder / "chain.urdf").write_text(chain(4))
    (folder / "cell.yaml").write_text(json.dumps({"obstacles": [BALL]}))
    model = CollisionModel.from_urdf(folder / "chain.urdf", scene={"obstacles": [BALL]})
    graph = Graph("/cell/collision_monitor")
    sent = []

    def send(q):
        stamp = graph.node.get_clock().now().to_msg()
        message = JointState(name=model.joint_names, position=q.tolist(), effort=[0.0, 1.0, 2.0])
        message.header.stamp, message.header.frame_id = stamp, "base"
        sent.append(content(message))
        graph.publisher("/cell/joint_states").publish(message)

    node = graph.start(
        "-r", "__ns:=/cell", "-p", f"robot_description:={folder / 'chain.urdf'}",
        "-p", f"scene:={folder / 'cell.yaml'}", "-p", "record_after:=3.0",
        # A state that is STALE is a stop, too.
        "-p", "joint_state_timeout:=5.0", "-p", "prediction:=false",
        "--", "--record", str(folder / "stop.mcap"),
    )  # fmt: skip
    scene = graph.node.create_publisher(MarkerArray, "/cell/collision_monitor/scene", 10)
    try:
        graph.until_distance(lambda: send(CLEAR))
        graph.until_level(OK, lambda: send(CLEAR))
        there_and_back = np.r_[np.linspace(0.0, 1.0, 40), np.linspace(1.0, 0.0, 40)[1:]]
        for share in there_and_back:
            seen = len(graph.heard["min_distance"])
            send(CLEAR + share * (NEAR - CLEAR))
            graph.until(lambda seen=seen: len(graph.heard["min_distance"]) > seen, period=0.01)
        graph.until_level(OK, lambda: send(CLEAR))
        graph.until(
            lambda: "stop.mcap" in graph.values.get("record", "").partition("last ")[2],
            sending=lambda: send(CLEAR),
        )
        bump = marker(7, at=(1.0, 0.0, 0.205), frame="l2")  # nearer to the tip than the ball is
        scene.publish(MarkerArray(markers=[bump]))
        graph.until(lambda: graph.values.get("scene_objects") == "1", sending=lambda: send(CLEAR))
        graph.until_level(ERROR, lambda: send(NEAR))
        graph.spin(0.3)  # the node has taken all that was sent
        code, output = graph.stop(node)
    finally:
        graph.close()
    assert "Traceback" not in output
    yield folder, model, sent, code


def messages(path):
    """(topic, nanoseconds, message) of an independent reader, types from the file alone."""
    with highlevel.AnyReader([path]) as reader:
        kinds = {c.topic: c.msgtype for c in reader.connections}
        assert kinds == TOPICS
        return [
            (c.topic, time, reader.deserialize(data, c.msgtype))
            for c, time, data in reader.messages()
        ]


def test_joint_states_are_there_as_they_came_and_the_rest_at_its_rate(story):
    folder, model, sent, _ = story
    found = messages(folder / "stop.mcap")
    heard = [content(m) for topic, _, m in found if topic == "/cell/joint_states"]
    assert len(heard) > 70 and all(message in sent for message in heard)
    q, checked = None, 0
    for topic, _, message in found:
        if topic == "/cell/joint_states":
            q = message.position
        elif topic.endswith("min_distance") and not math.isnan(message.data):
            # Of leaves that are far, of shapes that are near.
            assert message.data in [
                model.distance(q, exact=exact, by_design=False).distance for exact in (False, True)
            ]
            checked += 1
    assert checked > 70
    latched = [m.data for topic, _, m in found if topic == "/cell/robot_description"]
    assert ElementTree.fromstring(latched[0]).get("name") == "toy"
    names = [m.data for topic, _, m in found if topic.endswith("pair_names")]
    assert names[0] == "\n".join(f"{a} {b}" for a, b in model.pairs)
    rows = [m.data for topic, _, m in found if topic.endswith("/distances")]
    assert len(rows) > 10 and {len(row) for row in rows} == {len(model.pairs)}
    markers = [m.markers for topic, _, m in found if topic.endswith("markers")]
    seen = {marker.ns for message in markers[-30:] for marker in message}
    assert len(markers) > 10 and {"leaves", "obstacles", "nearest"} <= seen
    levels = [m.level for topic, _, m in found if topic.endswith("/state")]
    assert 0 in levels and 2 in levels and levels[-1] == 0


def test_verify_finds_the_same_minimum_at_the_same_time(story):
    folder, model, _, _ = story
    path = folder / "stop.mcap"
    first = stamp = best = None
    for topic, _, message in messages(path):
        if topic == "/cell/joint_states":
            stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
            first = stamp if first is None else first
        elif topic.endswith("min_distance") and not math.isnan(message.data):
            best = min(best or (math.inf,), (message.data, stamp - first))
    code, said = verified(
        folder / "chain.urdf", path, "--scene", folder / "cell.yaml", "--stop", "0.02"
    )
    assert code == 1, "nearer than it may come"
    nearest = said["nearest"]
    assert set(nearest["links"]) == {"l2", "ball"}
    # What a verdict needs no closer look at, it does not look at closer.
    assert nearest["distance"] == pytest.approx(best[0], abs=0.003)
    assert nearest["time"] == pytest.approx(best[1], abs=0.05)
    sharp = check_clearance(model, load_trajectory(path, model.robot).trajectory, accuracy=1e-9)
    assert 0.99 * best[0] - 1e-9 <= sharp.at_least <= best[0] + 1e-12
    assert sharp.time == pytest.approx(best[1], abs=0.01)


def test_a_stop_just_before_the_end_is_written_before_the_node_is_gone(story):
    folder, _, sent, code = story
    assert code == 0
    assert sorted(p.name for p in folder.glob("*.mcap")) == ["stop.mcap", "stop_2.mcap"]
    assert not list(folder.glob(".*"))
    found = messages(folder / "stop_2.mcap")
    heard = [content(m) for topic, _, m in found if topic == "/cell/joint_states"]
    assert heard[-1] in sent[-3:]


def test_verify_takes_what_was_on_topics_at_the_stop_or_says_that_it_does_not(story):
    folder, _, _, _ = story
    files = (folder / "chain.urdf", folder / "stop_2.mcap", "--scene", folder / "cell.yaml")
    _, said = verified(*files, "--recorded")
    assert "cell/7" not in said["nearest"]["links"]
    assert any("at its stop are not checked (1)" in note for note in said["notes"])
    _, said = verified(*files, "--recorded", "--recorded-scene")
    assert set(said["nearest"]["links"]) == {"l3", "cell/7"}
    assert said["nearest"]["distance"] == pytest.approx(0.005, abs=0.003)
    assert not any("obstacles of topics" in note for note in said["notes"])


def test_a_recording_that_cannot_be_ends_the_node_at_its_start(graph):
    process = graph.start("--", "--record", "no/such/folder/a.mcap")
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 1 and "no/such/folder: cannot be written to" in output
    assert "Traceback" not in output


# -- a recording of two robots among obstacles of topics: who sent what, and what stood where --


LEFT, RIGHT = chain(4), chain(3)
AT_START = [0.5, 0.5, 0.3]
TIP = [1.0 + math.cos(0.5) + math.cos(1.0), math.sin(0.5) + math.sin(1.0)]  # of l3, at its start


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """The folder of a file of one stop at an obstacle of ~/scene."""
    folder = tmp_path_factory.mktemp("cell")
    for name, urdf in (("left", LEFT), ("right", RIGHT)):
        (folder / f"{name}.urdf").write_text(urdf)
    graph = Graph()
    node = graph.start(
        "-p", "robots:=[left, right]", "-p", "right.mount:=[0.0, 9.0, 0.0, 0.0, 0.0, 0.0]",
        "-p", f"left.robot_description:={folder / 'left.urdf'}",
        "-p", f"right.robot_description:={folder / 'right.urdf'}",
        "-p", "record_after:=0.3", "-p", f"record:={folder / 'stop.mcap'}",
        "-p", "joint_state_timeout:=60.0", "-p", "prediction:=false",
    )  # fmt: skip
    scene, attach, points = (
        graph.node.create_publisher(kind, f"/collision_monitor/{topic}", qos)
        for kind, topic, qos in (
            (MarkerArray, "scene", 10), (MarkerArray, "attach", 10),
            (PointCloud2, "cloud", qos_profile_sensor_data),
        )
    )  # fmt: skip

    def send():
        graph.send(("j1", "j2", "j3"), AT_START, topic="left/joint_states")
        graph.send(("j1", "j2"), (0.1, 0.2), topic="right/joint_states")

    def until(condition):
        graph.until(lambda: condition(graph.values), 20.0, send)

    try:
        graph.until_distance(send)
        graph.until_level(OK, send)
        graph.until(lambda: all(p.get_subscription_count() for p in (scene, attach, points)))
        carried = marker(2, at=(0.0, 0.0, 0.3), frame="left/l3", text="left/l2")
        attach.publish(MarkerArray(markers=[carried]))
        until(lambda values: values.get("scene_carried") == "cell/2")
        points.publish(cloud_message([[0.0, 0.0, 4.0], [0.5, 0.0, 4.0]], "left/l0"))
        until(lambda values: "cloud" in values)
        near = marker(1, at=(*TIP, -0.21), frame="left/l0")
        scene.publish(MarkerArray(markers=[near]))
        graph.until_level(ERROR, send)
        graph.until(lambda: (folder / "stop.mcap").exists(), 20.0, send)
        graph.stop(node)
    finally:
        graph.close()
    return folder


def test_every_topic_of_every_robot_has_a_channel_of_its_own(recording):
    with highlevel.AnyReader([recording / "stop.mcap"]) as reader:
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


def test_a_node_that_ends_without_a_stop_says_that_nothing_was_written(tmp_path):
    (tmp_path / "chain.urdf").write_text(chain(4))
    graph = Graph()
    try:
        node = graph.start(
            "-p", f"robot_description:={tmp_path / 'chain.urdf'}",
            "-p", f"record:={tmp_path / 'stop.mcap'}", "-p", "joint_state_timeout:=5.0",
        )  # fmt: skip
        graph.until_distance(lambda: graph.send(["j1", "j2", "j3"], CLEAR))
        _, output = graph.stop(node)
    finally:
        graph.close()
    assert "record: nothing was written, since there was no stop" in output
    assert not (tmp_path / "stop.mcap").exists()

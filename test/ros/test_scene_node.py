# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Obstacles on topics, on a real ROS graph: one node, and everything that may come."""

import math
import os
import signal
import time
from functools import partial

import numpy as np
import pytest
import trimesh
from support.robots.toys import chain
from support.ros.obstacle_messages import cloud_message, marker
from support.ros.ros_graph import ERROR, OK, STALE, WARN, Graph, rclpy

from diagnostic_msgs.msg import DiagnosticStatus  # isort: skip
from rclpy.qos import ReliabilityPolicy, qos_profile_sensor_data  # isort: skip
from rclpy.serialization import serialize_message  # isort: skip
from sensor_msgs.msg import LaserScan, PointCloud2  # isort: skip
from visualization_msgs.msg import Marker, MarkerArray  # isort: skip

from collision_monitor.nodes.obstacles.planning_scene import message_type

NAMES = ["j1", "j2", "j3"]
CLEAR = [0.5, 0.5, 0.3]
TETRAHEDRON = np.array([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]])
FACES = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]


class Cell:
    """A graph with a node, and publishers of everything that it hears."""

    def __init__(self, folder):
        (folder / "chain.urdf").write_text(chain(4))
        trimesh.Trimesh(TETRAHEDRON, FACES).export(folder / "rock.stl")
        self.graph = Graph()
        self.graph.start(
            "-p", f"robot_description:={folder / 'chain.urdf'}", "-p", "scene_max_objects:=6",
            "-p", f"package_dirs:=[{folder}]", "-p", "cloud_max_voxels:=20",
            "-p", "joint_state_timeout:=5.0",
        )  # fmt: skip
        node = self.graph.node
        self._scene = node.create_publisher(MarkerArray, "/collision_monitor/scene", 10)
        self._attach = node.create_publisher(MarkerArray, "/collision_monitor/attach", 10)
        self.new_camera()
        self.graph.until_distance(self.send)
        self.graph.until(
            lambda: all(
                each.get_subscription_count() for each in (self._scene, self._attach, self._cloud)
            )
        )
        self.until(lambda values, state: "cloud" in values, lambda: self.cloud(np.empty((0, 3))))

    def new_camera(self):
        # Of one in best effort, the middleware would lose large clouds.
        self._cloud = self.graph.node.create_publisher(PointCloud2, "/collision_monitor/cloud", 1)

    def end_camera(self):
        self.graph.node.destroy_publisher(self._cloud)

    def send(self):
        self.graph.send(NAMES, CLEAR)

    def scene(self, *markers):
        self._scene.publish(MarkerArray(markers=markers))

    def attach(self, *markers):
        self._attach.publish(MarkerArray(markers=markers))

    def cloud(self, points, frame="l0", **more):
        self._cloud.publish(cloud_message(points, frame, **more))

    def until(self, condition, what=None):
        """Until the state fulfils ``condition``; ``what`` is said again and again."""
        self.graph.until(
            lambda: condition(self.graph.values, self.graph.state), 60.0,
            lambda: (self.send(), what and what()), 0.03,
        )  # fmt: skip

    def until_nearest(self, name, distance, within=1e-3):
        def is_it(values, state):
            return (
                name in (values.get("link_a"), values.get("link_b"))
                and abs(float(values["distance"]) - distance) < within
            )

        self.until(is_it)

    def until_clear(self):
        self.until(lambda values, state: state.level == OK and "scene_refused" not in values)


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    found = Cell(tmp_path_factory.mktemp("cell"))
    yield found
    found.graph.close()


@pytest.fixture
def cell(running):
    """The node with an empty scene."""
    running.scene(Marker(action=Marker.DELETEALL))
    running.cloud(np.empty((0, 3)))
    running.until_clear()
    return running


def tip():
    """Where the middle of the last link is at CLEAR, in the frame of the root."""
    turn = np.cumsum([0.0, *CLEAR])
    return np.array([1.0 + np.cos(turn[1]) + np.cos(turn[2]), np.sin(turn[1]) + np.sin(turn[2]), 0])


def test_an_obstacle_comes_moves_becomes_a_mesh_and_goes(cell):
    x, y, _ = tip()
    cell.scene(marker(1, at=(x, y, 0.5)))
    cell.until_nearest("cell/1", 0.3)  # two balls of 0.1 m
    cell.scene(marker(1, at=(x, y, 0.6)))
    cell.until_nearest("cell/1", 0.4)
    rock = {"size": (0.5,) * 3, "mesh_resource": "rock.stl"}
    cell.scene(marker(5, Marker.MESH_RESOURCE, (x, y, 0.17), **rock))
    cell.until_nearest("cell/5", 0.07)
    assert cell.graph.values["scene_objects"] == "2"
    cell.scene(marker(5, action=Marker.DELETE))
    cell.until_nearest("cell/1", 0.4)


BAD = {
    "not finite": marker(9, at=(math.nan, 0, 0)),
    "'nowhere' is not a link of 'toy'; other frames require tf2_ros": marker(9, frame="nowhere"),
    "no file 'gone.stl'": marker(9, Marker.MESH_RESOURCE, mesh_resource="gone.stl"),
}


def test_an_obstacle_that_cannot_be_monitored_is_an_error_until_it_is_deleted(cell):
    for why, bad in BAD.items():
        cell.scene(bad)
        cell.until(
            lambda values, state, why=why: state.level == ERROR
            and why in values.get("scene_refused", "")
            and state.message.startswith("scene refused: cell/9: ")
            and values["action"] == "stop"
        )
    cell.scene(marker(9, action=Marker.DELETE))
    cell.until_clear()


def test_waiting_scene_messages_are_processed_and_lost_ones_reported(cell):
    graph = cell.graph
    (process,) = graph.processes
    deep = graph.node.create_publisher(MarkerArray, "/collision_monitor/scene", 1000)
    flat = graph.node.create_publisher(MarkerArray, "/collision_monitor/attach", 1)
    nothing = [MarkerArray(markers=[marker(100 + k, action=Marker.DELETE)]) for k in range(900)]
    graph.until(lambda: deep.get_subscription_count() and flat.get_subscription_count())
    # Until the node has found a publisher, nothing that it sends arrives.
    cell.until(
        lambda values, state: values.get("scene_objects") == "1" and state.level == OK,
        lambda: deep.publish(MarkerArray(markers=[marker(1)])),
    )

    def while_it_is_held_up(publisher, messages):
        os.kill(process.pid, signal.SIGSTOP)
        try:
            for message in messages:
                publisher.publish(message)
        finally:
            os.kill(process.pid, signal.SIGCONT)

    while_it_is_held_up(deep, [MarkerArray(markers=[marker(2)]), *nothing[:300]])
    cell.until(lambda values, state: values.get("scene_objects") == "2" and state.level == OK)
    for _ in range(8):  # a node that is late still ignores losses while it finds the publisher
        while_it_is_held_up(flat, nothing)  # more than the middleware keeps for it
        end = time.monotonic() + 3.0
        while "messages were lost" not in graph.state.message and time.monotonic() < end:
            cell.send()
            graph.spin(0.03)
        if "messages were lost" in graph.state.message:
            break
    assert "on ~/attach" in graph.state.message and graph.state.level == ERROR
    cell.scene(marker(0, action=Marker.DELETEALL))  # of its namespace alone
    cell.until(lambda values, state: "scene_objects" not in values)
    assert "messages were lost" in graph.state.message
    cell.until(  # the middleware may report losses late
        lambda values, state: state.level == OK, lambda: cell.scene(Marker(action=Marker.DELETEALL))
    )
    for publisher in (deep, flat):
        graph.node.destroy_publisher(publisher)


def test_joint_states_come_before_a_flood_of_markers(cell):
    """Ten seconds of work, if every marker of every message were applied.

    The state is repeated meanwhile, though its timer waits behind joint states.
    """
    publisher = cell.graph.node.create_publisher(MarkerArray, "/collision_monitor/scene", 200)
    cell.graph.until(lambda: publisher.get_subscription_count())
    flood = serialize_message(
        MarkerArray(markers=[marker(k % 5, at=(0.0, 4.0, 0.1 * (k % 5))) for k in range(300)])
    )
    heard, begin = [], time.monotonic()
    listener = cell.graph.node.create_subscription(
        DiagnosticStatus, "/collision_monitor/state", heard.append, 1000
    )
    times = [begin]

    def all_applied(values, state):
        if len(heard) >= len(times):
            times.append(time.monotonic())
        return values.get("scene_objects") == "6" and state.level == OK

    def send_several():  # which are merged
        for _ in range(10):
            cell.send()

    for _ in range(100):
        publisher.publish(flood)
    publisher.publish(MarkerArray(markers=[marker(5, at=(0.0, 5.0, 0.0))]))
    cell.until(all_applied, send_several)
    messages = [state.message for state in heard]
    assert max(np.diff(times)) < 2.0, messages
    assert not any(state.level == STALE for state in heard), messages
    cell.graph.node.destroy_subscription(listener)
    cell.graph.node.destroy_publisher(publisher)


def test_missing_scene_messages_are_an_error_if_a_timeout_is_set(cell):
    for name, why, what in (
        ("scene_timeout", "no message on ~/scene", cell.scene),
        ("cloud_timeout", "no usable cloud", lambda: cell.cloud([[0, 0, 3]])),
    ):
        assert cell.graph.set_parameters(**{name: 0.4}).successful
        cell.until(lambda values, state: state.level == OK, what)
        cell.until(
            lambda values, state, why=why: state.level == ERROR and state.message.startswith(why)
        )
        cell.until(lambda values, state: state.level == OK, what)
        assert cell.graph.set_parameters(**{name: 0.0}).successful


@pytest.mark.parametrize(
    ("topic", "kind", "qos", "why"),
    [
        ("scene", MarkerArray, qos_profile_sensor_data, "service: Best effort publisher"),
        ("attach", Marker, 10, "its type is visualization_msgs/msg/Marker, not visualization_msgs"),
        ("cloud", LaserScan, 10, "its type is sensor_msgs/msg/LaserScan, not sensor_msgs"),
        ("planning_scene", Marker, 10, "of this topic are not installed"),
    ],
)
def test_a_publisher_whose_messages_do_not_arrive_is_an_error(cell, topic, kind, qos, why):
    if topic == "planning_scene" and message_type() is not None:
        pytest.skip("moveit_msgs is installed")
    other = rclpy.Context()  # in one context a topic has one type
    other.init(domain_id=cell.graph.domain)
    node = rclpy.create_node("detector", context=other)
    node.create_publisher(kind, f"/collision_monitor/{topic}", qos)
    cell.until(lambda values, state: f"/detector on /collision_monitor/{topic} (" in state.message)
    assert cell.graph.state.level == ERROR and why in cell.graph.state.message
    node.destroy_node()
    other.shutdown()
    cell.until_clear()


def test_what_is_grasped_moves_along_and_stays_where_it_is_left(cell):
    x, y, _ = tip()
    # Touching the tip; told that it may, it is what else may come near it that counts.
    cell.scene(marker(1, at=(x, y, 0.15)), marker(2, at=(x, y, 0.5)))
    cell.until(lambda values, state: state.level == ERROR and "scene_refused" not in values)
    cell.attach(marker(1, frame="l3", size=(0.0, 0.0, 0.0), text="l2"))
    cell.until_nearest("cell/2", 0.15)
    assert cell.graph.values["scene_carried"] == "cell/1"
    assert {cell.graph.values["link_a"], cell.graph.values["link_b"]} == {"cell/1", "cell/2"}
    cell.attach(marker(1, action=Marker.DELETE))
    cell.until(lambda values, state: state.level == ERROR and "scene_carried" not in values)
    cell.attach(marker(7, frame="l3", size=(0.0, 0.0, 0.0)))
    cell.until(lambda values, state: "there is no such object" in values.get("scene_refused", ""))


def test_a_cloud_is_monitored_except_for_points_of_the_robot(cell):
    x, y, _ = tip()
    rng = np.random.default_rng(1)
    own = rng.normal(size=(200, 3))
    own = own / np.linalg.norm(own, axis=1)[:, None] * 0.12 + tip()  # seen on its surface
    wall = np.column_stack([np.full(50, x), np.full(50, y), np.full(50, 0.525)])
    points = np.vstack([own, wall, np.full((3, 3), np.nan)])
    cell.until(
        lambda values, state: "200 of the robot" in values.get("cloud", "")
        and "cloud" in (values.get("link_a"), values.get("link_b")),
        lambda: cell.cloud(points),
    )
    radius = 0.5 * math.sqrt(3) * 0.05
    distance = float(cell.graph.values["distance"])
    assert 0.425 - 2 * radius < distance <= 0.425
    assert cell.graph.values["cloud"].startswith("1 voxels of 0.05 m, 50 points")
    # More voxels than there is room for: larger ones.
    many = rng.uniform(-1.0, 1.0, (500, 3)) + [x, y, 3.0]
    cell.until(
        lambda values, state: "500 points" in values.get("cloud", ""), lambda: cell.cloud(many)
    )
    assert int(cell.graph.values["cloud"].split()[0]) <= 20
    cell.until(
        lambda values, state: state.level == ERROR
        and "no field 'x'" in values.get("scene_refused", ""),
        lambda: cell.cloud(many, fields=[]),
    )
    cell.until(lambda values, state: "scene_refused" not in values, lambda: cell.cloud(many))


def test_two_publishers_of_clouds_are_a_warning_until_one_ends(cell):
    node = cell.graph.node
    camera = node.create_publisher(PointCloud2, "/collision_monitor/cloud", qos_profile_sensor_data)
    says = "2 publishers on ~/cloud, whose clouds replace each other"
    cell.until(lambda values, state: state.level == WARN and says in state.message)
    cell.until(
        lambda values, state: values.get("cloud", "").startswith("1 voxels"),
        lambda: camera.publish(cloud_message([[0.0, 3.0, 0.0]])),
    )
    node.destroy_publisher(camera)
    cell.until_clear()


def test_a_publisher_whose_clouds_do_not_arrive_is_a_warning(cell):
    cell.end_camera()
    cell.graph.spin(2.0)  # until the node knows
    cell.new_camera()
    says = "a publisher on ~/cloud, but no cloud has arrived"
    cell.until(lambda values, state: state.level == WARN and says in state.message)
    cell.until(lambda _, state: state.level == OK, lambda: cell.cloud([[0.0, 3.0, 0.0]]))


def test_each_large_cloud_of_a_reliable_publisher_arrives(cell):
    node, topic = cell.graph.node, "/collision_monitor/cloud"
    listeners = partial(node.get_subscriptions_info_by_topic, topic)
    reliable = ReliabilityPolicy.RELIABLE
    cell.until(lambda *_: [each.qos_profile.reliability for each in listeners()] == [reliable])
    cell.graph.spin(1.0)  # until both have discovered each other
    for count in range(400_000, 400_005):
        cell.cloud(np.tile([0.0, 3.0, 0.0], (count, 1)))  # 5 MB
        cell.until(lambda values, _, n=count: f"{n} points" in values.get("cloud", ""))

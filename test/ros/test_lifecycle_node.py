# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The managed variant: configure loads, activate watches, and nothing stays believed after it."""

import math

import pytest
from support.robots.toys import chain
from support.robots.two_slides import JOINTS, URDF, apart
from support.ros.ros_graph import OK, STALE, Graph

from lifecycle_msgs.msg import Transition  # isort: skip
from lifecycle_msgs.srv import ChangeState, GetState  # isort: skip
from std_msgs.msg import String  # isort: skip
from visualization_msgs.msg import Marker, MarkerArray  # isort: skip
from support.ros.ros_graph import LATCHED  # isort: skip

NAMES = (*JOINTS, "mast_joint")
ME = "/collision_monitor"


@pytest.fixture
def graph():
    """A graph of its own."""
    graph = Graph()
    yield graph
    graph.close()


def change(graph, name):
    """Whether a transition succeeded."""
    number = getattr(Transition, f"TRANSITION_{name.upper()}")
    return graph.call(ChangeState, f"{ME}/change_state", transition=Transition(id=number)).success


def far_away(number):
    """An obstacle that nothing comes near to."""
    found = Marker(ns="cell", id=number, type=Marker.SPHERE)
    found.header.frame_id = "base"
    found.pose.position.z = 50.0
    found.scale.x = found.scale.y = found.scale.z = 0.1
    return found


def label(graph):
    return graph.call(GetState, f"{ME}/get_state").current_state.label


def send(graph):
    graph.send(NAMES, (*apart(0.5), 0.3))


def test_it_watches_while_it_is_active_and_only_then(graph, tmp_path):
    (tmp_path / "robot.urdf").write_text(URDF)
    process = graph.start(
        "-p", f"robot_description:={tmp_path / 'robot.urdf'}", node="collision_monitor_lifecycle"
    )
    assert label(graph) == "unconfigured"
    assert change(graph, "configure")
    assert label(graph) == "inactive"
    graph.until(lambda: graph.heard["pair_names"], sending=lambda: send(graph))
    assert not graph.heard["state"] and not graph.heard["min_distance"]
    obstacles = graph.node.create_publisher(MarkerArray, f"{ME}/scene", 10)
    graph.until(obstacles.get_subscription_count)
    for number in range(2):
        obstacles.publish(MarkerArray(markers=[far_away(number)]))  # while nobody watches, too
        graph.spin(0.2)
        assert change(graph, "activate")
        graph.until_distance(lambda: send(graph), 10.0)
        graph.until(
            lambda n=number: graph.values.get("scene_objects") == str(n + 1),
            sending=lambda: send(graph),
        )
        graph.until_level(OK, lambda: send(graph))
        assert graph.heard["safe"][-1].data is True
        assert change(graph, "deactivate")
        graph.until_level(STALE)
        assert "inactive" in graph.state.message
        assert graph.heard["safe"][-1].data is False
        assert math.isnan(graph.heard["min_distance"][-1].data)
        heard = len(graph.heard["min_distance"]), len(graph.heard["state"])
        for _ in range(30):
            send(graph)
            graph.spin(0.02)
        assert (len(graph.heard["min_distance"]), len(graph.heard["state"])) == heard
    assert change(graph, "cleanup")
    assert label(graph) == "unconfigured"
    assert change(graph, "configure")
    assert change(graph, "activate")
    graph.until_distance(lambda: send(graph), 10.0)
    # What stands around the robot is still known.
    graph.until(
        lambda: graph.state.level == OK and graph.values.get("scene_objects") == "2",
        sending=lambda: send(graph),
    )
    assert change(graph, "active_shutdown")
    assert label(graph) == "finalized"
    code, output = graph.stop(process)
    assert code == 0, output
    assert "Traceback" not in output


def test_a_robot_that_cannot_be_loaded_leaves_it_unconfigured(graph, tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text("<robot")
    process = graph.start("-p", f"robot_description:={path}", node="collision_monitor_lifecycle")
    assert not change(graph, "configure")
    assert label(graph) == "unconfigured"
    path.write_text(URDF)
    assert change(graph, "configure")
    assert change(graph, "activate")
    graph.until_distance(lambda: send(graph), 10.0)
    assert "not XML" in graph.stop(process)[1]


def test_a_description_may_come_after_it_was_activated(graph):
    topic = graph.node.create_publisher(String, "robot_description", LATCHED)
    graph.start(node="collision_monitor_lifecycle")
    assert change(graph, "configure")
    assert change(graph, "activate")
    graph.until(lambda: graph.heard["state"] and "waiting" in graph.state.message)
    topic.publish(String(data=chain(4)))
    graph.until_distance(lambda: graph.send(("j1", "j2", "j3"), (-0.5, -0.5, 0.3)))
    graph.until_level(OK, lambda: graph.send(("j1", "j2", "j3"), (-0.5, -0.5, 0.3)))

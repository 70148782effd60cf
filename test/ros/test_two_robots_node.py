# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""One node that watches two robots with topics of their own, and what is between them."""


from functools import cache

import numpy as np
import pytest
from support.paths import ROOT
from support.robots.toys import chain
from support.ros.ros_graph import ERROR, LATCHED, OK, STALE, Graph

from collision_monitor.model.loading import Recipe, RobotSource

from std_msgs.msg import String  # isort: skip

LEFT, RIGHT = chain(4), chain(3)
PLACE = [0.4, -1.2, 0.1, 0.0, 0.1, 1.3]
MODEL = Recipe((
    RobotSource(LEFT, "", "left", "left/", (0.0, 1.0, 0.0, 0.0, 0.0, 0.0)),
    RobotSource(RIGHT, "", "right", "right/", tuple(PLACE)),
)).load().model  # fmt: skip
ACROSS = [k for k, pair in enumerate(MODEL.pairs) if {n[0] for n in pair} == {"l", "r"}]


@pytest.fixture(scope="module")
def graph():
    """A node with one robot of a parameter, and one of a topic."""
    graph = Graph()
    graph.listen("distances")
    graph.start(
        "--params-file", str(ROOT / "config" / "two_robots.yaml"),
        "-p", "left.mount:=[0.0, 1.0, 0.0, 0.0, 0.0, 0.0]", "-p", f"left.robot_description:={LEFT}",
        "-p", f"right.mount:={PLACE}", "-p", "right.robot_description_topic:=cell/right_urdf",
        "-p", "joint_state_timeout:=0.6", "-p", "distances_rate:=50.0",
        "-p", "pair_thresholds:=['left/* right/* warn=0.05 stop=0.01']",
    )  # fmt: skip
    graph.until(lambda: graph.heard["state"], 180.0)
    yield graph
    graph.close()


def send(graph, q):
    left, right = np.split(np.asarray(q), [3])
    graph.send(("j1", "j2", "j3"), left, topic="left/joint_states")
    graph.send(("j1", "j2"), right, topic="right/joint_states")


@cache
def poses():
    """Some where pairs across are nearest, near and in contact; one where they are far."""
    rows = MODEL.random_configurations(1000, seed=3)
    distances = np.array([MODEL.distances(q) for q in rows])
    across, own = distances[:, ACROSS].min(axis=1), np.delete(distances, ACROSS, 1).min(axis=1)
    usable = own > 0.15
    near = rows[usable & (np.abs(across - 0.08) < 0.01)][:3]
    touching = rows[usable & (across < -0.02)][:3]
    far = rows[usable & (across > 0.2)][:3]
    assert len(near) and len(touching) and len(far)
    return near, touching, far


def test_it_waits_for_every_description_and_every_robot_by_name(graph):
    graph.until(lambda: "waiting for a robot description on cell/right_urdf" in graph.state.message)
    graph.descriptions = graph.node.create_publisher(String, "cell/right_urdf", LATCHED)
    graph.descriptions.publish(String(data=RIGHT))
    graph.until(lambda: graph.heard["pair_names"], 180.0)
    pairs = [tuple(line.split()) for line in graph.heard["pair_names"][-1].data.splitlines()]
    assert pairs == MODEL.pairs and ACROSS
    graph.until(
        lambda: graph.state.message == (
            "right: no joint state received yet: no publisher on right/joint_states"
        ),
        20.0, lambda: graph.send(("j1", "j2", "j3"), (0.1, 0.1, 0.1), topic="left/joint_states"),
    )  # fmt: skip
    assert graph.state.level == STALE
    graph.until_safe(False)


def test_distances_are_those_of_the_library(graph):
    for q in (some[0] for some in poses()):
        expected = MODEL.distances(q)
        graph.until(
            lambda expected=expected: (
                graph.heard["distances"]
                and np.abs(graph.heard["distances"][-1].data - expected).max() < 1e-9
                and abs(graph.heard["min_distance"][-1].data - expected.min()) < 1e-9
            ),
            20.0, lambda q=q: send(graph, q),
        )  # fmt: skip
        assert graph.heard["distances"][-1].layout.dim[0].size == len(MODEL.pairs)


def test_a_pair_across_decides_by_its_own_thresholds_and_is_named(graph):
    near, touching, far = poses()
    assert MODEL.distance(near[0]).distance < 0.1  # warn_distance, of pairs that are not across
    graph.until_level(OK, lambda: send(graph, near[0]), 20.0)
    expected = MODEL.distance(touching[0])
    assert {name.split("/")[0] for name in expected.links} == {"left", "right"}
    graph.until(
        lambda: (
            graph.state.level == ERROR
            and abs(float(graph.values["distance"]) - expected.distance) < 1e-5
        ),
        20.0, lambda: send(graph, touching[0]),
    )  # fmt: skip
    assert {graph.values["link_a"], graph.values["link_b"]} == set(expected.links)
    graph.until_level(OK, lambda: send(graph, far[0]), 20.0)


def test_a_robot_that_falls_silent_or_is_at_fault_is_named_and_not_made_good_by_the_other(graph):
    q = poses()[2][0]
    graph.until_level(OK, lambda: send(graph, q), 20.0)

    def sending():
        graph.send(("j1", "j2"), q[3:], topic="right/joint_states")

    graph.until(
        lambda: graph.state.message.startswith("left: joint states are ")
        and "right:" not in graph.state.message, 20.0, sending,
    )  # fmt: skip
    assert graph.state.level == STALE and "(all joints)" in graph.state.message
    assert float(graph.values["age.left"]) > 0.6 > float(graph.values["age.right"])
    graph.until_safe(False, sending)
    graph.until_level(OK, lambda: send(graph, q), 20.0)

    def sending_nan():
        send(graph, q)
        graph.send(("j1", "j2"), (0.1, float("nan")), topic="right/joint_states")

    said = "right: position of joint 'right/j2' is nan"
    graph.until(lambda: graph.state.message.startswith(said), 20.0, sending_nan)
    assert graph.state.level == ERROR
    graph.until_safe(False, sending_nan)
    graph.until_level(OK, lambda: send(graph, q), 20.0)


def test_a_new_description_of_one_robot_is_swapped_in(graph):
    thin = RIGHT.replace('radius="0.1"', 'radius="0.02"')
    q = poses()[0][0]
    before = MODEL.distance(q)
    graph.until(lambda: abs(graph.heard["min_distance"][-1].data - before.distance) < 1e-9, 20.0,
                lambda: send(graph, q))  # fmt: skip
    graph.descriptions.publish(String(data=thin))
    graph.until(
        lambda: abs(graph.heard["min_distance"][-1].data - before.distance - 0.08) < 1e-9,
        60.0, lambda: send(graph, q),
    )  # fmt: skip

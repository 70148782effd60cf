# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The node with ``narrow_phase: auto`` on two arms that run into each other."""

import numpy as np
import pytest
from support.ros.ros_graph import ERROR, Graph

from collision_monitor import CollisionModel
from collision_monitor.cli.demo import demo_parameters, package_file
from collision_monitor.motion import read_motion

WARN_DISTANCE = 0.05


@pytest.fixture(scope="module")
def model():
    """The demo's robot, for exact distances too."""
    given = demo_parameters()
    model = CollisionModel.from_urdf(
        given["robot_description"], given["robot_description_semantic"], scene=given["scene"],
        leaves=given["leaves"],
    )
    model.prepare_exact()
    return model


@pytest.fixture(scope="module")
def poses(model):
    """Poses along the demo's motion that are far, near by leaves, and in contact by meshes."""
    motion = read_motion(package_file("config/dual_arm_motion.csv"))
    assert motion.joint_names == model.joint_names
    rows = np.array([motion.at(t) for t in np.linspace(0.0, motion.duration, 125)])
    leaf = model.min_distances(rows)
    found = [model.distance(q, exact=True, by_design=False) for q in rows]
    exact = np.array([each.distance for each in found])
    return {
        "far": rows[leaf.argmax()],
        "near": rows[np.where((leaf < 0.03) & (exact > 0.0), exact - leaf, -1.0).argmax()],
        "contact": rows[exact.argmin()],
    }


@pytest.fixture(scope="module")
def graph(model):
    """A graph with the node."""
    graph = Graph()
    given = {**demo_parameters(), "narrow_phase": "auto", "marker_rate": "2.0"}
    graph.start(*(word for name, value in given.items() for word in ("-p", f"{name}:={value}")))
    graph.until_distance(
        lambda: graph.send(model.joint_names, np.full(len(model.joint_names), 0.01))
    )
    yield graph
    graph.close()


def heard(graph, model, q, expected):
    """Send ``q`` until the distance is what is expected, and the state has it too."""

    def there():
        said = graph.heard["min_distance"]
        return (
            said
            and abs(said[-1].data - expected) < 1e-9
            and abs(float(graph.values.get("distance", "nan")) - expected) < 1e-5
        )

    graph.until(there, 20.0, lambda: graph.send(model.joint_names, q))


def test_triangles_are_measured_where_leaves_are_near_and_the_phase_can_be_set(graph, model, poses):
    distance = model.distance(poses["far"], by_design=False).distance
    assert distance > WARN_DISTANCE
    heard(graph, model, poses["far"], distance)
    assert graph.values["narrow_phase"] == "leaf"
    q = poses["near"]
    exact = model.distance(q, exact=True, by_design=False)
    assert exact.distance > model.distance(q, by_design=False).distance + 1e-4
    heard(graph, model, q, exact.distance)
    assert graph.values["narrow_phase"] == "mesh"
    assert {graph.values["link_a"], graph.values["link_b"]} == set(exact.links)
    graph.listen("distances")
    near = model.distances(q) <= WARN_DISTANCE
    expected = np.where(near, model.distances(q, exact=True), model.distances(q))
    graph.until(
        lambda: (
            graph.heard["distances"]
            and np.allclose(graph.heard["distances"][-1].data, expected, atol=1e-9)
        ),
        20.0,
        lambda: graph.send(model.joint_names, q),
    )
    assert graph.set_parameters(narrow_phase="leaf").successful
    heard(graph, model, q, model.distance(q, by_design=False).distance)
    refused = graph.set_parameters(narrow_phase="fine")
    assert not refused.successful and "not one of leaf, auto" in refused.reason
    assert graph.set_parameters(narrow_phase="auto").successful
    heard(graph, model, q, exact.distance)


def test_contact_shows_the_triangles_that_cross(graph, model, poses):
    q = poses["contact"]
    exact = model.distance(q, exact=True)
    assert exact.distance < 0.0
    graph.listen("markers")
    graph.until_level(ERROR, lambda: graph.send(model.joint_names, q))
    graph.until(
        lambda: graph.values["reason"].startswith("collision"), 20.0,
        lambda: graph.send(model.joint_names, q),
    )  # fmt: skip
    # Several pairs touch: it tells of one of them.
    depths = dict(zip(map(frozenset, model.pairs), model.distances(q, exact=True), strict=True))
    links = graph.values["link_a"], graph.values["link_b"]
    assert depths[frozenset(links)] <= 0.0
    heard(graph, model, q, depths[frozenset(links)])

    def triangles():
        """The last marker of contact, if it shows any."""
        found = [m for a in graph.heard["markers"] for m in a.markers if m.ns == "contact"]
        return [m for m in found[-1:] if m.points]

    graph.until(triangles, 20.0, lambda: graph.send(model.joint_names, q))
    shown = np.array([[p.x, p.y, p.z] for p in triangles()[0].points]).reshape(-1, 3, 3)
    expected = model.crossing_triangles(q, links, 200).corners.reshape(-1, 3, 3)
    apart = np.abs(shown[:, None] - expected[None]).max(axis=(2, 3))
    assert apart.min(axis=1).max() < 1e-6
    assert apart.min(axis=0).max() < 1e-6
    graph.until(lambda: not triangles(), 20.0, lambda: graph.send(model.joint_names, poses["far"]))

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How deep shapes are in one another: where it is known, where it begins, and that it suffices."""

import numpy as np
import pytest
import trimesh
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.geometry.coal_shapes import coal_distance, coal_shape
from support.geometry.free_body import free_body, mesh_shape, middle_of, outwards, turned
from support.geometry.mesh_cases import KIND_NAMES, mesh, soup
from support.geometry.solid_cases import SOLIDS, solid_cases
from support.paths import ROOT

from collision_monitor import CollisionModel
from collision_monitor.motion import read_motion
from collision_monitor.robot.description import Shape
from collision_monitor.robot.insides import Inside

BOX = Shape("box", np.eye(4), (0.4, 0.3, 0.2))


def box_mesh(*size):
    box = trimesh.creation.box(size)
    return mesh_shape(box.vertices, box.faces)


def ball_mesh(radius=0.1, detail=3):
    ball = trimesh.creation.icosphere(detail, radius)
    return mesh_shape(ball.vertices, ball.faces)


def pose(x=0.0, y=0.0, z=0.0, a=0.0, b=0.0, c=0.0):
    return np.array([x, y, z, a, b, c])


def check(clearance):
    """Points and normal are as the contract says."""
    first, second = clearance.points
    assert np.isfinite(clearance.points).all()
    assert np.linalg.norm(clearance.normal) == pytest.approx(1.0, abs=1e-12)
    assert second - first == pytest.approx(clearance.distance * clearance.normal, abs=1e-9)


BOXES = {"solid": BOX, "mesh": box_mesh(0.4, 0.3, 0.2)}


@pytest.mark.parametrize("first", BOXES)
@pytest.mark.parametrize("second", BOXES)
@pytest.mark.parametrize("depth", [0.0, 1e-6, 0.01, 0.05])
def test_boxes_are_as_deep_as_their_faces(first, second, depth):
    model = free_body([BOXES[first]], [BOXES[second]])
    found = model.distance(pose(x=0.4 - depth, y=0.02, z=-0.03), exact=True)
    assert found.distance == pytest.approx(-depth, abs=1e-9)
    assert found.distance <= 0.0
    check(found)
    if depth > 0.0:
        assert outwards(found) == pytest.approx([1.0, 0.0, 0.0], abs=1e-9)
        assert (0.2 - depth - 1e-9 <= found.points[:, 0]).all()
        assert (found.points[:, 0] <= 0.2 + 1e-9).all()


@pytest.mark.parametrize("kind", KIND_NAMES)
def test_a_ball_of_fine_triangles_is_as_deep_as_it_reaches(kind):
    model = free_body([box_mesh(1.0, 1.0, 0.4)], [ball_mesh()], kind)
    for depth in (0.001, 0.02, 0.09, 0.15):
        found = model.distance(pose(x=0.1, z=0.3 - depth), exact=True)
        assert found.distance == pytest.approx(-depth, abs=1e-3)
        assert outwards(found) == pytest.approx([0.0, 0.0, 1.0], abs=1e-6)
        check(found)


@pytest.mark.parametrize("second", ["mesh", "solid"])
def test_bars_that_cross_part_sideways(second):
    bars = {
        "mesh": box_mesh(0.06, 1.0, 0.06),
        "solid": Shape("box", np.eye(4), (0.06, 1.0, 0.06)),
    }
    model = free_body([box_mesh(1.0, 0.05, 0.05)], [bars[second]])
    found = model.distance(pose(x=0.2, y=0.1, z=0.02), exact=True)
    assert found.distance == pytest.approx(-(0.055 - 0.02), abs=1e-9)
    assert outwards(found) == pytest.approx([0.0, 0.0, 1.0], abs=1e-9)
    check(found)


@pytest.mark.parametrize("kind", KIND_NAMES)
@pytest.mark.parametrize("inner", [ball_mesh(0.02), Shape("sphere", np.eye(4), (0.02,))])
def test_what_a_closed_mesh_holds_is_in_contact(kind, inner):
    model = free_body([box_mesh(1.0, 0.5, 0.4)], [inner], kind)
    for y, z in ((0.0, 0.0), (0.1, 0.05), (0.1, -0.12)):
        found = model.distance(pose(y=y, z=z), exact=True)
        # The way out through the nearest face.
        assert found.distance == pytest.approx(-(0.2 - abs(z) + 0.02), abs=2e-3)
        check(found)
    assert model.distance(pose(z=0.23), exact=True).distance == pytest.approx(0.01, abs=1e-4)


def test_an_open_mesh_and_a_cavity_hold_nothing():
    box = trimesh.creation.box((1.0, 1.0, 1.0))
    open_box = mesh_shape(box.vertices, box.faces[2:])
    model = free_body([open_box], [ball_mesh(0.1)])
    assert model.distance(pose(), exact=True).distance == pytest.approx(0.4, abs=1e-3)
    inner = trimesh.creation.box((0.8, 0.8, 0.8))
    shell = mesh_shape(
        np.vstack([box.vertices, inner.vertices]),
        np.vstack([box.faces, inner.faces[:, ::-1] + len(box.vertices)]),
    )
    model = free_body([shell], [ball_mesh(0.1)])
    assert model.distance(pose(), exact=True).distance == pytest.approx(0.3, abs=1e-3)


def test_a_ball_in_a_board_of_a_shelf_is_free_before_the_next_board():
    boards = [trimesh.creation.box((1, 1, 0.02)).apply_translation((0, 0, z)) for z in (0, 0.5)]
    shelf = trimesh.util.concatenate(boards)
    model = free_body([mesh_shape(shelf.vertices, shelf.faces)], [ball_mesh()])
    found = model.distance(pose(x=0.1, y=0.2, z=0.01 + 0.1 - 0.03), exact=True)
    assert found.distance == pytest.approx(-0.03, abs=1e-3)
    check(found)


def shape_of(name, rng):
    if name in SOLIDS:
        return solid_cases(name, rng).shape
    if name == "soup":
        return mesh_shape(*soup(rng, int(rng.integers(1, 6))))
    return mesh_shape(*mesh(name))


def one_holds(first, second, rotation, translation):
    insides = Inside([first]), Inside([second])
    to_first = insides[1].probes @ rotation.T + translation
    to_second = (insides[0].probes - translation) @ rotation
    return insides[0].holds_any(to_first) or insides[1].holds_any(to_second)


NAMES = (*SOLIDS, "ball", "ring", "rod", "cone", "soup", "arm_link_2.stl")


@given(
    st.sampled_from(NAMES),
    st.sampled_from(NAMES),
    st.sampled_from(KIND_NAMES),
    st.integers(0, 2**31),
)
@settings(max_examples=100, deadline=None)
def test_moved_by_the_depth_shapes_are_apart(first, second, kind, seed):
    # Coal misjudges solids and triangles without an area.
    assume("soup" not in (first, second) or not {first, second} & set(SOLIDS))
    rng = np.random.default_rng(seed)
    shapes = shape_of(first, rng), shape_of(second, rng)
    model = free_body([shapes[0]], [shapes[1]], kind)
    q = np.r_[np.zeros(3), rng.uniform(-3, 3, 3)]
    rotation, _ = turned(q)
    q[:3] = middle_of(model, "fixed") - rotation @ middle_of(model, "moving")
    q[:3] += rng.normal(size=3) * 0.1
    found = model.distance(q, exact=True)
    check(found)
    # Leaves may be less deep, and then their depth is the answer.
    assume(found.distance <= 0.0 and found.distance > model.distance(q).distance + 1e-9)
    rotation, translation = turned(q)
    beyond = translation + (1e-6 - found.distance) * outwards(found)
    assert coal_distance(*map(coal_shape, shapes), rotation, beyond) > 0.0
    assert not one_holds(*shapes, rotation, beyond)


@given(
    st.sampled_from(("box", "cylinder", "sphere", "ball", "cone", "arm_link_2.stl")),
    st.sampled_from(("box", "cylinder", "capsule", "rod", "cone")),
    st.integers(0, 2**31),
)
@settings(max_examples=50, deadline=None)
def test_depth_begins_at_zero(first, second, seed):
    """From apart into touch by less than a micrometre: less deep than some micrometres."""
    rng = np.random.default_rng(seed)
    model = free_body([shape_of(first, rng)], [shape_of(second, rng)])
    way = rng.normal(size=3)
    q = np.r_[2.0 * way / np.linalg.norm(way), rng.uniform(-3, 3, 3)]
    for _ in range(60):  # conservative advancement towards the middle of the other
        clearance = model.distance(q, exact=True)
        if clearance.distance < 1e-7:
            break
        rotation, translation = turned(q)
        towards = middle_of(model, "fixed") - rotation @ middle_of(model, "moving") - translation
        q[:3] += clearance.distance * towards / np.linalg.norm(towards)
    assume(clearance.distance < 1e-5)
    q[:3] -= (clearance.distance + 1e-7) * outwards(clearance)
    found = model.distance(q, exact=True)
    assert -2e-5 < found.distance <= 1e-9
    check(found)


def test_deep_in_one_another_the_depth_changes_no_faster_than_links_move():
    """Too deep for ways to be followed to their ends, where the demo's arms meet."""
    model = CollisionModel.from_urdf(ROOT / "urdf/dual_arm.urdf", srdf=ROOT / "urdf/dual_arm.srdf")
    motion = read_motion(ROOT / "config/dual_arm_motion.csv")
    order = [motion.joint_names.index(name) for name in model.joint_names]
    times = motion.duration * (0.7764 + 5e-5 * np.arange(40))
    rows = np.array([motion.at(t) for t in times])[:, order]
    found = [model.distance(q, exact=True) for q in rows]
    for q, r, one, other in zip(rows, rows[1:], found, found[1:], strict=False):
        assert one.distance < -0.05
        poses, later = model.link_poses(q), model.link_poses(r)
        moved = 0.0
        for link in one.links:
            for shape in model.robot.links[link].shapes:
                there = shape.vertices @ shape.pose[:3, :3].T + shape.pose[:3, 3]
                there = np.c_[there, np.ones(len(there))]
                way = there @ (later[link] - poses[link]).T
                moved += np.linalg.norm(way[:, :3], axis=1).max()
        assert abs(other.distance - one.distance) <= 1.5 * moved
        check(one)

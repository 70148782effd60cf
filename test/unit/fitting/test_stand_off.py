# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How far leaves stand off their shapes: closed forms, and trimesh on meshes."""

import numpy as np
import pytest
import trimesh

from collision_monitor.fitting.enclosure import stand_off
from collision_monitor.geometry.leaf import Leaf
from collision_monitor.robot.description import Shape

HERE = np.eye(4)


def leaf(p0, p1, radius):
    return Leaf("link", np.array(p0, dtype=float), np.array(p1, dtype=float), radius)


def ball(radius, x=0.0):
    return leaf((x, 0, 0), (x, 0, 0), radius)


@pytest.mark.parametrize(
    "shape",
    [Shape("sphere", HERE, (0.1,)), Shape("capsule", HERE, (0.1, 0.6))],
    ids=lambda shape: shape.kind,
)
@pytest.mark.parametrize("more", [0.0, 0.02])
def test_a_larger_leaf_of_the_same_form_stands_off_evenly(shape, more):
    half = 0.0 if shape.kind == "sphere" else 0.3
    around = leaf((0, 0, -half), (0, 0, half), 0.1 + more)
    assert stand_off([shape], [around]) == pytest.approx((more, more), abs=1e-12)


def test_a_box_and_a_cylinder_are_known_by_their_closed_forms():
    box = Shape("box", HERE, (0.2, 0.2, 0.2))
    mean, largest = stand_off([box], [ball(0.1 * np.sqrt(3))])
    assert largest == pytest.approx(0.1 * np.sqrt(3) - 0.1, abs=1e-3)
    assert 0.0 < mean < largest
    cylinder = Shape("cylinder", HERE, (0.1, 0.2))
    # A capsule about it: off by its radius at the ends, by nothing at the side.
    _, largest = stand_off([cylinder], [leaf((0, 0, -0.1), (0, 0, 0.1), 0.1)])
    assert largest == pytest.approx(0.1, abs=1e-3)


def test_a_mesh_is_measured_on_its_triangles():
    mesh = trimesh.creation.annulus(0.1, 0.2, 0.3)
    pose = trimesh.transformations.rotation_matrix(0.7, (1, 2, 3), (0.1, 0, 0))
    shape = Shape("mesh", pose, (), np.asarray(mesh.vertices), np.asarray(mesh.faces))
    around = ball(0.6)
    points = np.random.default_rng(3).normal(size=(2000, 3))
    points *= 0.6 / np.linalg.norm(points, axis=1)[:, None]
    mesh.apply_transform(pose)
    _, gaps, _ = trimesh.proximity.closest_point_naive(mesh, points)
    mean, largest = stand_off([shape], [around])
    assert mean == pytest.approx(gaps.mean(), rel=0.02)
    assert largest == pytest.approx(gaps.max(), rel=0.02)


def test_surfaces_inside_other_leaves_do_not_count():
    shape = Shape("sphere", HERE, (0.1,))
    inside, around = ball(0.05), ball(0.12)
    assert stand_off([shape], [inside, around]) == pytest.approx((0.02, 0.02))
    # The far half is inside the leaf of another link.
    loose = leaf((0, 0, 0), (0.3, 0, 0), 0.1)
    assert stand_off([shape], [loose])[1] == pytest.approx(0.3, abs=2e-3)
    hidden = [leaf((0.2, 0, 0), (0.4, 0, 0), 0.15)]
    assert stand_off([shape], [loose], hidden)[1] < 0.15
    assert stand_off([shape], [loose], [ball(1.0)]) == (0.0, 0.0)


def test_the_nearest_of_several_shapes_counts():
    shapes = [Shape("sphere", trimesh.transformations.translation_matrix((x, 0, 0)), (0.1,))
              for x in (-1.0, 1.0)]  # fmt: skip
    leaves = [ball(0.1, -1.0), ball(0.13, 1.0)]
    mean, largest = stand_off(shapes, leaves)
    assert largest == pytest.approx(0.03)
    assert 0.01 < mean < 0.03

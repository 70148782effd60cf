# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""From shapes to leaves: enclosing for every kind, the smaller volume wins."""

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from collision_monitor.bounding.capsule import fit_capsule
from collision_monitor.bounding.shapes import fit_shape
from collision_monitor.bounding.sphere import fit_sphere
from collision_monitor.robot.description import Shape

size = st.floats(0.01, 3.0)


def pose(seed):
    """A random pose (4, 4)."""
    rng = np.random.default_rng(seed)
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.random(random_state=rng.integers(1 << 30)).as_matrix()
    matrix[:3, 3] = rng.normal(size=3)
    return matrix


def surface(kind, dimensions):
    """Points on the surface of a shape in its own frame, by trimesh."""
    mesh = {
        "box": lambda: trimesh.creation.box(dimensions),
        "sphere": lambda: trimesh.creation.icosphere(3, dimensions[0]),
        "cylinder": lambda: trimesh.creation.cylinder(dimensions[0], dimensions[1], sections=90),
        "capsule": lambda: trimesh.creation.capsule(dimensions[1], dimensions[0]),
    }[kind]()
    return np.vstack([mesh.vertices, mesh.sample(500, seed=1)])


@given(
    st.sampled_from(["box", "sphere", "cylinder", "capsule"]), size, size, size, st.integers(0, 99)
)
@settings(max_examples=150, deadline=None)
def test_every_kind_of_shape_is_enclosed_in_the_link_frame(kind, a, b, c, seed):
    dimensions = {"box": (a, b, c), "sphere": (a,), "cylinder": (a, b), "capsule": (a, b)}[kind]
    placed = pose(seed)
    fit = fit_shape(Shape(kind, placed, dimensions), "link")
    points = surface(kind, dimensions) @ placed[:3, :3].T + placed[:3, 3]
    assert fit.leaf.distances_to(points).max() <= 1e-9
    assert fit.leaf.link == "link"
    assert fit.shape_volume <= fit.leaf.volume * (1 + 1e-9)
    assert fit.shape_volume <= fit.obb_volume * (1 + 1e-9)


@given(st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_a_mesh_gets_the_smaller_of_capsule_and_sphere(seed):
    rng = np.random.default_rng(seed)
    hull = trimesh.convex.convex_hull(rng.normal(size=(40, 3)) * rng.uniform(0.1, 2.0, 3))
    fit = fit_shape(
        Shape("mesh", np.eye(4), vertices=hull.vertices, triangles=hull.faces), "link"
    )
    rivals = fit_capsule(hull.vertices).volume, fit_sphere(hull.vertices).volume
    assert fit.leaf.volume == pytest.approx(min(rivals), rel=1e-6)
    assert fit.leaf.distances_to(hull.sample(300, seed=1)).max() <= 1e-9
    assert fit.hull_volume == pytest.approx(hull.volume, rel=1e-6)
    assert fit.shape_volume == pytest.approx(hull.volume, rel=1e-6)


def test_spheres_and_capsules_are_leaves_as_they_are():
    sphere = fit_shape(Shape("sphere", np.eye(4), (0.2,)), "a").leaf
    assert (sphere.kind, sphere.radius) == ("sphere", 0.2)
    capsule = fit_shape(Shape("capsule", np.eye(4), (0.1, 0.5)), "a").leaf
    assert (capsule.radius, capsule.length) == (0.1, 0.5)
    assert capsule.p1 == pytest.approx([0, 0, 0.25])


def test_the_volume_of_an_open_mesh_is_that_of_its_hull():
    box = trimesh.creation.box([1, 1, 1])
    fit = fit_shape(Shape("mesh", np.eye(4), vertices=box.vertices, triangles=box.faces[:-1]), "a")
    assert fit.shape_volume == pytest.approx(1.0)


def test_a_flat_mesh_is_enclosed_too():
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=float)
    shape = Shape("mesh", np.eye(4), vertices=square, triangles=np.array([[0, 1, 2], [0, 2, 3]]))
    fit = fit_shape(shape, "a")
    assert fit.leaf.distances_to(square).max() <= 0.0
    assert fit.shape_volume == 0.0

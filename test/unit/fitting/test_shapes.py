# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""From shapes to leaves: enclosing for every kind, the smaller volume wins."""

import math

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from support.geometry.free_body import mesh_shape
from support.geometry.shape_fit import fit_shape
from support.robots.toys import link, robot
from support.ros.live_cases import points_of, pose_of

from collision_monitor.errors import FitError
from collision_monitor.fitting.bounding_shapes import MANY, fit_leaf
from collision_monitor.fitting.enclosure import check_enclosing, gap
from collision_monitor.fitting.shapes import FitSettings, fits_in_own_frame, leaf_rows, union_volume
from collision_monitor.robot.description import Shape
from collision_monitor.robot.urdf import load_robot

size = st.floats(0.01, 3.0)


def outside(fit, points):
    """Signed distances (n,) of ``points`` to the union of the leaves."""
    return np.min([leaf.distances_to(points) for leaf in fit.leaves], axis=0)


@given(
    st.sampled_from([("box", 1), ("box", 8), ("sphere", 3), ("cylinder", 1), ("capsule", 2)]),
    size, size, size, st.integers(0, 99),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_every_kind_of_shape_is_enclosed_in_the_link_frame(kind_and_most, a, b, c, seed):
    kind, most = kind_and_most
    dimensions = {"box": (a, b, c), "sphere": (a,), "cylinder": (a, b), "capsule": (a, b)}[kind]
    placed = pose_of(np.random.default_rng(seed))
    shape = Shape(kind, placed, dimensions)
    fit = fit_shape(shape, "link", FitSettings(most))
    points = points_of(shape, np.random.default_rng(seed)) @ placed[:3, :3].T + placed[:3, 3]
    assert outside(fit, points).max() <= 1e-9
    assert {leaf.link for leaf in fit.leaves} == {"link"}
    assert len(fit.leaves) <= most
    assert fit.volumes.shape <= sum(leaf.volume for leaf in fit.leaves) * (1 + 1e-9)
    assert fit.volumes.shape <= fit.volumes.obb * (1 + 1e-9)


@given(st.integers(0, 1000))
@settings(max_examples=8, deadline=None)
def test_a_single_leaf_is_never_larger_than_the_published_ones(seed):
    rng = np.random.default_rng(seed)
    hull = trimesh.convex.convex_hull(rng.normal(size=(40, 3)) * rng.uniform(0.1, 2.0, 3))
    fit = fit_shape(mesh_shape(hull.vertices, hull.faces), "link", FitSettings(1))
    (leaf,) = fit.leaves
    assert leaf.volume <= fit_leaf(hull.vertices).volume * (1 + 1e-9)
    assert leaf.distances_to(hull.sample(300, seed=1)).max() <= 1e-9
    assert fit.volumes.hull == pytest.approx(hull.volume, rel=1e-6)
    assert fit.volumes.shape == pytest.approx(hull.volume, rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_a_capsule_gets_itself_back_however_it_lies(seed):
    mesh = trimesh.creation.capsule(height=0.5, radius=0.1, count=[24, 24])
    turn = Rotation.random(random_state=seed).as_matrix()
    vertices = mesh.vertices @ turn.T + [0.3, 0.2, -0.1]
    (leaf,) = fit_shape(mesh_shape(vertices, mesh.faces), "link", FitSettings(1)).leaves
    exact = np.pi * 0.01 * (0.5 + 0.4 / 3)
    assert leaf.volume == pytest.approx(exact, rel=0.02)


def test_spheres_and_capsules_are_leaves_as_they_are():
    (sphere,) = fit_shape(Shape("sphere", np.eye(4), (0.2,)), "a").leaves
    assert (sphere.kind, sphere.radius) == ("sphere", 0.2)
    (capsule,) = fit_shape(Shape("capsule", np.eye(4), (0.1, 0.5)), "a").leaves
    assert (capsule.radius, capsule.length) == (0.1, 0.5)
    assert capsule.p1 == pytest.approx([0, 0, 0.25])


def test_the_volume_of_an_open_mesh_is_that_of_its_hull():
    box = trimesh.creation.box([1, 1, 1])
    fit = fit_shape(mesh_shape(box.vertices, box.faces[:-1]), "a", FitSettings(1))
    assert fit.volumes.shape == pytest.approx(1.0)


@pytest.mark.parametrize("size", [(1e-4, 1e-4), (1e-7, 1e-3), (1e-3, 1e-7), (1e-7, 1e-7)])
def test_a_cylinder_however_small_is_enclosed(size):
    geometry = f'<cylinder radius="{size[0]:.9f}" length="{size[1]:.9f}"/>'
    loaded = load_robot(robot(link("a", geometry)))
    check_enclosing(loaded, {"a": fit_shape(loaded.links["a"].shapes[0], "a").leaves}, 1e-8)


def test_a_flat_mesh_is_enclosed_too():
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=float)
    fit = fit_shape(mesh_shape(square, [[0, 1, 2], [0, 2, 3]]), "a")
    assert outside(fit, square).max() <= 1e-9
    assert fit.volumes.shape == 0.0


def test_more_leaves_stand_off_less_and_enclose_every_triangle():
    parts = [trimesh.creation.box([0.6, 0.1, 0.1]), trimesh.creation.box([0.1, 0.6, 0.1])]
    parts[1].apply_translation([0.25, 0.25, 0.0])
    both = trimesh.util.concatenate(parts)
    shape = mesh_shape(both.vertices, both.faces)
    fits = fits_in_own_frame(shape, 4, 0.0)
    counts = [len(fit.leaves) for fit in fits]
    off = [fit.stand_off for fit in fits]
    assert counts[0] == 1 and counts == sorted(counts) and len(counts) > 1
    assert off == sorted(off, reverse=True)
    assert fits[-1].union_volume < 0.4 * fits[0].union_volume  # an L fits two capsules, not one
    points = trimesh.Trimesh(shape.vertices, shape.triangles).sample(20_000, seed=1)
    for fit in fits:
        assert outside(fit, points).max() <= 1e-9


def test_fits_stop_at_the_tolerance():
    bar = trimesh.creation.capsule(height=0.6, radius=0.05)
    fits = fits_in_own_frame(mesh_shape(bar.vertices, bar.faces), 8, 0.005)
    assert [len(fit.leaves) for fit in fits] == [1]
    assert fits[0].stand_off <= 0.005


@pytest.mark.parametrize(
    ("field", "value"),
    [("max_leaves_per_link", 0), ("max_leaves_per_link", 65), ("max_leaves_per_link", 2.5),
     ("leaf_tolerance", -0.001), ("leaf_tolerance", math.nan), ("leaf_tolerance", math.inf)],
)  # fmt: skip
def test_what_means_nothing_is_refused_by_name(field, value):
    with pytest.raises(FitError, match=field):
        FitSettings(**{field: value})


BALL = 4.0 / 3.0 * math.pi


def ball(x, radius=1.0):
    return [x, 0.0, 0.0, x, 0.0, 0.0, radius]


def test_one_leaf_is_exact():
    assert union_volume(np.array([ball(3.0)])) == pytest.approx(BALL, rel=1e-12)
    capsule = np.array([[0.0, 0, 0, 0, 0, 2.0, 0.5]])
    assert union_volume(capsule) == pytest.approx(math.pi * 0.25 * (2.0 + 2.0 / 3.0), rel=1e-12)


@pytest.mark.parametrize(
    ("rows", "volume"),
    [([ball(0.0), ball(5.0)], 2 * BALL), ([ball(0.0), ball(0.0)], BALL),
     # two balls of radius 1, centres 1 apart: twice a ball less the lens 5 pi / 12
     ([ball(0.0), ball(1.0)], 2 * BALL - 5.0 * math.pi / 12.0)],
)  # fmt: skip
def test_overlaps_count_once(rows, volume):
    assert union_volume(np.array(rows)) == pytest.approx(volume, rel=0.005)


# -- a few points stand in for a hull of very many, and what is fitted to them encloses them all --


def egg(ball):
    return mesh_shape(np.asarray(ball.vertices) * [0.1, 0.15, 0.2], ball.faces)


def test_leaves_of_a_smooth_mesh_enclose_it():
    few = egg(trimesh.creation.icosphere(4))
    shape = egg(trimesh.creation.uv_sphere(count=(48, 48)))
    assert len(few.vertices) < MANY < len(shape.vertices)
    tight = fits_in_own_frame(few, 2, 0.002)
    fits = fits_in_own_frame(shape, 2, 0.002)
    for fit in fits:
        assert gap(shape, leaf_rows(fit.leaves), 1e-5) == 0.0
    one, other = fits[-1], tight[-1]
    assert one.stand_off <= 1.25 * other.stand_off
    assert one.volumes.hull >= one.volumes.shape == pytest.approx(other.volumes.shape, rel=0.01)
    assert one.volumes.obb == pytest.approx(other.volumes.obb, rel=0.01)

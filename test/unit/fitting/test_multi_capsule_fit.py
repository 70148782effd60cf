# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Several capsules around one mesh: enclosing, tight, and the same every time."""

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st
from support.geometry.free_body import mesh_shape
from support.geometry.shape_fit import fit_shape

from collision_monitor.fitting.body import Body
from collision_monitor.fitting.bounding_shapes import fit_box, fit_leaf
from collision_monitor.fitting.coverage import gaps_to_union
from collision_monitor.fitting.multi_capsule_fit import fit_union, lost, thickness
from collision_monitor.fitting.shapes import FitSettings, leaf_rows, union_volume


def body_of(mesh, watchers=None):
    vertices = np.asarray(mesh.vertices)
    return Body(vertices, np.asarray(mesh.faces), fit_box(vertices), watchers)


def in_metres(body, points):
    """Points of the body's frame, in the frame of its mesh."""
    return body.unscaled(np.column_stack([points, points, np.zeros(len(points))]))[:, :3]


def test_watchers_inside_or_on_the_mesh_are_dropped_and_weights_sum_up_to_one():
    box = trimesh.creation.box((0.2, 0.2, 0.4))
    rows = np.array(
        [
            [0.0, 0.0, 0.0, 5.0],  # inside
            [0.1, 0.05, 0.0, 5.0],  # on it
            [0.3, 0.0, 0.0, 1.0],
            [0.0, 0.0, 0.5, 3.0],
        ]
    )
    body = body_of(box, rows)
    assert in_metres(body, body.watchers) == pytest.approx(rows[2:, :3], abs=1e-12)
    assert body.watcher_weights == pytest.approx([0.25, 0.75])
    assert body.watcher_distances * body.size == pytest.approx([0.2, 0.3], abs=2e-4)
    assert len(body_of(box, rows[:2]).watchers) == len(body_of(box).watchers) == 0


@pytest.mark.parametrize("turned", [False, True])
def test_balls_touch_the_mesh_from_inside(turned):
    half = np.array([0.02, 0.05, 0.5])
    mesh = trimesh.creation.box(2.0 * half)
    if turned:  # with normals that point inwards
        mesh.invert()
    body = body_of(mesh)
    depths = (half - np.abs(in_metres(body, body.balls[:, :3]))).min(axis=1)
    radii = body.balls[:, 3] * body.size
    # Near edges the next sample of the surface may be far.
    assert np.quantile(np.abs(depths - radii), 0.9) < 0.004
    assert 0.015 < np.median(radii) < 0.021


def test_balls_of_an_open_surface_are_points_on_it():
    lid = trimesh.Trimesh([(0, 0, 0), (0.3, 0, 0), (0.3, 0.3, 0), (0, 0.3, 0)], [(0, 1, 2, 3)])
    ball = trimesh.creation.icosphere(radius=0.05).apply_translation((0.15, 0.15, 0.5))
    body = body_of(trimesh.util.concatenate([lid, ball]))
    heights, is_point = in_metres(body, body.balls[:, :3])[:, 2], body.balls[:, 3] == 0.0
    assert is_point.sum() > 200 and (is_point == (heights < 1e-9)).all()


def alone(body, mesh):
    """The published leaf around a mesh (1, 7), in the body's frame."""
    return body.scaled(leaf_rows([fit_leaf(np.asarray(mesh.vertices), body.box)]))


def elbow(seed):
    """Two bars at an angle, of random sizes."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(0.3, 0.8, 2)
    bars = [trimesh.creation.box((a, 0.1, 0.1)), trimesh.creation.box((0.1, b, 0.12))]
    bars[1].apply_translation([0.5 * a, 0.5 * b, 0.0])
    return trimesh.util.concatenate(bars)


def bracket(seed):
    """A convex hull of random points."""
    rng = np.random.default_rng(seed)
    return trimesh.convex.convex_hull(rng.normal(size=(25, 3)) * rng.uniform(0.1, 1.0, 3))


@given(st.sampled_from([elbow, bracket]), st.integers(0, 1000), st.integers(2, 6))
@settings(max_examples=6, deadline=None)
def test_every_point_is_inside(make, seed, count):
    mesh = make(seed)
    body = body_of(mesh)
    first = alone(body, mesh)
    capsules = fit_union(body, count, first)
    assert capsules.shape == (count, 7)
    points = mesh.sample(20_000, seed=seed)
    assert gaps_to_union(points, body.unscaled(capsules)).max() <= 1e-9
    if make is elbow:  # a hull may be fitted best by one; 0.3 %: how well a union is measured
        assert union_volume(capsules) <= 1.003 * union_volume(first)
        assert thickness(body, capsules) <= thickness(body, first)


@pytest.mark.parametrize("seed", [559, 1])
def test_more_leaves_are_only_taken_where_the_union_shrinks(seed):
    hull = bracket(seed)
    shape = mesh_shape(hull.vertices, hull.faces)
    one, four = (fit_shape(shape, "hull", FitSettings(most, 0.002)) for most in (1, 4))
    assert four.union_volume <= 1.003 * one.union_volume


@pytest.mark.parametrize("size", [(0.3, 0.45, 0.46), (0.42, 0.67, 0.94)])
def test_more_leaves_around_a_large_box_stand_off_clearly_less(size):
    body, best, off = body_of(trimesh.creation.box(size)), None, []
    for count in (6, 12, 16):  # each fit begins with the one before, as in a fit of a link
        best = fit_union(body, count, best)
        off.append(thickness(body, best))
    assert off[1] < 0.75 * off[0] and off[2] < 0.7 * off[0]


def test_many_leaves_enclose_and_stand_off_less():
    body = body_of(elbow(3))
    few = fit_union(body, 6)
    many = fit_union(body, 17, few, is_thorough=False)
    assert many.shape == (17, 7)
    assert gaps_to_union(body.dense_surface, many).max() <= 0.0
    assert thickness(body, many) < thickness(body, few)


def test_the_same_body_has_the_same_leaves():
    one, other = (fit_union(body_of(elbow(2)), 3) for _ in range(2))
    assert np.array_equal(one, other)


def test_lost_is_the_distance_that_the_leaves_take_from_watchers():
    mesh = trimesh.creation.box((0.2, 0.2, 0.2))
    body = body_of(mesh, np.array([[0.4, 0, 0, 1.0], [0, 0, 0.3, 3.0]]))
    ball = body.scaled(np.array([[0, 0, 0, 0, 0, 0, 0.18]]))
    assert lost(body, ball) == pytest.approx(0.08, abs=2e-4)
    assert lost(body_of(mesh), ball) == 0.0


@pytest.mark.parametrize("axis", range(3))
def test_leaves_keep_closest_where_they_are_looked_at(axis):
    mesh = trimesh.creation.cylinder(0.05, 0.12, sections=24)
    rng = np.random.default_rng(0)
    looks = rng.uniform(-0.02, 0.02, (60, 3))
    looks[:, axis] = np.where(np.arange(60) % 2, 0.12, -0.12)
    rows = np.column_stack([looks, np.ones(60)])
    watched = body_of(mesh, rows)
    plain = fit_union(body_of(mesh), 4)
    minded = fit_union(watched, 4)
    assert lost(watched, minded) <= lost(watched, plain)
    points = mesh.sample(20_000, seed=1)
    assert gaps_to_union(points, watched.unscaled(minded)).max() <= 1e-9

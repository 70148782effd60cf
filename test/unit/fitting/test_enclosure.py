# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Enclosure by construction: against dense samples, and against shapes made to fail."""

from dataclasses import replace

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from support.geometry.shape_fit import fit_shape
from support.ros.live_cases import pose_of

from collision_monitor.errors import LeavesError
from collision_monitor.fitting.bounding_shapes import fit_leaf
from collision_monitor.fitting.enclosure import check_enclosing, gap, outer_triangles, uncovered
from collision_monitor.fitting.shapes import FitSettings, leaf_rows
from collision_monitor.geometry.leaf import Leaf
from collision_monitor.robot.description import Link, Robot, Shape


def leaf(p0, p1, radius):
    return Leaf("", np.asarray(p0, float), np.asarray(p1, float), radius)


def sticks_out(leaves, points):
    """Largest distance (or smallest depth) of points to the union of leaves."""
    return float(np.min([one.distances_to(points) for one in leaves], axis=0).max())


def barycentric(steps):
    """Weights (n, 3) of a grid over a triangle."""
    return (
        np.array([(i, j, steps - i - j) for i in range(steps + 1) for j in range(steps + 1 - i)])
        / steps
    )


@given(st.integers(0, 100_000), st.integers(1, 5), st.sampled_from([0.05, 0.01, 0.002]))
@settings(max_examples=60, deadline=None)
def test_the_gap_is_that_of_dense_samples_to_within_the_smallest_edge(seed, count, edge):
    rng = np.random.default_rng(seed)
    triangles = rng.uniform(-0.5, 0.5, (rng.integers(1, 6), 3, 3))
    leaves = [leaf(*rng.uniform(-0.5, 0.5, (2, 3)), rng.uniform(0.05, 0.6)) for _ in range(count)]
    found, index = uncovered(triangles, leaf_rows(leaves), edge)
    grid = barycentric(60)
    each = np.array([sticks_out(leaves, grid @ triangle) for triangle in triangles])
    longest = np.linalg.norm(triangles - np.roll(triangles, 1, axis=1), axis=2).max()
    # The grid misses the worst point by less than its step.
    assert max(each.max(), 0.0) <= found + 1e-12
    assert found <= max(each.max() + longest / 60, 0.0) + edge
    if found == 0.0:
        assert index == -1
    else:
        assert each[index] >= found - edge - longest / 60
    grown = [leaf(one.p0, one.p1, one.radius + found + 1e-12) for one in leaves]
    assert uncovered(triangles, leaf_rows(grown), edge)[0] == 0.0


def test_a_hole_between_two_leaves_that_hold_all_corners_is_found():
    bar = trimesh.creation.box([1.0, 0.3, 0.3])
    leaves = [leaf([x, 0, 0], [x, 0, 0], 0.36) for x in (-0.35, 0.35)]
    triangles = np.ascontiguousarray(bar.triangles)
    assert sticks_out(leaves, bar.vertices) < 0.0
    found, _ = uncovered(triangles, leaf_rows(leaves), 1e-4)
    assert found == pytest.approx(np.hypot(0.35, np.hypot(0.15, 0.15)) - 0.36, abs=1e-4)


def test_without_leaves_nothing_is_covered_and_without_triangles_everything():
    nothing = np.zeros((0, 7))
    assert uncovered(np.zeros((1, 3, 3)), nothing, 1e-3) == (np.inf, 0)
    assert uncovered(np.zeros((0, 3, 3)), nothing, 1e-3) == (0.0, -1)


def one_leaf(shape, link):
    """The capsule around a shape: exactly, or by the published fit to its points."""
    if shape.kind in ("mesh", "box"):
        points = outer_triangles(replace(shape, pose=np.eye(4))).reshape(-1, 3)
        return fit_leaf(points).moved(shape.pose, link)
    length = shape.size[1] if len(shape.size) > 1 else 0.0
    half = np.array([0.0, 0.0, 0.5 * length])
    return Leaf(link, -half, half, shape.size[0]).moved(shape.pose, link)


SIZES = {"box": (0.3, 0.2, 0.5), "sphere": (0.2,), "cylinder": (0.1, 0.4), "capsule": (0.1, 0.4)}


COUNT = 16_000


def surface(shape):
    """Dense points on the true surface of a shape, in its link's frame."""
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(COUNT, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    along = rng.uniform(-0.5, 0.5, COUNT)
    if shape.kind == "box":
        points = trimesh.creation.box(shape.size).sample(COUNT, seed=0)
    elif shape.kind == "sphere":
        points = shape.size[0] * directions
    elif shape.kind == "capsule":
        points = shape.size[0] * directions
        points[:, 2] += np.where(along > 0, 0.5, -0.5) * shape.size[1]
    else:
        radius, length = shape.size
        rim = directions[:, :2] / np.linalg.norm(directions[:, :2], axis=1)[:, None]
        points = np.column_stack([radius * rim, along * length])
        caps = slice(0, COUNT // 2)
        points[caps, :2] *= np.sqrt(rng.uniform(0, 1, COUNT // 2))[:, None]
        points[caps, 2] = np.where(along[caps] > 0, 0.5, -0.5) * length
        rims = slice(-COUNT // 8, None)
        points[rims, 2] = np.where(along[rims] > 0, 0.5, -0.5) * length
    return points @ shape.pose[:3, :3].T + shape.pose[:3, 3]


@pytest.mark.parametrize("kind", SIZES)
def test_the_triangles_of_a_primitive_lie_outside_of_it_and_near(kind):
    shape = Shape(kind, pose_of(np.random.default_rng(3)), SIZES[kind])
    hull = trimesh.convex.convex_hull(outer_triangles(shape).reshape(-1, 3))
    normals, origins = hull.face_normals, hull.triangles[:, 0]
    depth = surface(shape)[:2000] @ normals.T - np.einsum("ij,ij->i", normals, origins)
    assert depth.max() <= 1e-9
    own = np.linalg.inv(shape.pose)
    corners = outer_triangles(shape).reshape(-1, 3) @ own[:3, :3].T + own[:3, 3]
    if kind == "cylinder":
        assert np.hypot(corners[:, 0], corners[:, 1]).max() <= 0.1 + 2e-7
        assert np.abs(corners[:, 2]).max() == pytest.approx(0.2)
    elif kind != "box":
        axis = leaf([0, 0, -0.2], [0, 0, 0.2], 0.1)
        axis = leaf([0, 0, 0], [0, 0, 0], 0.2) if kind == "sphere" else axis
        assert 0.0 <= axis.distances_to(corners).max() <= 0.005 * axis.radius


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("seed", range(3))
def test_the_leaf_of_a_primitive_encloses_it_and_a_thinner_one_does_not(kind, seed):
    shape = Shape(kind, pose_of(np.random.default_rng(seed)), SIZES[kind])
    link = Link("a", (shape,))
    robot = Robot("r", "a", {"a": link}, ())
    fitted = one_leaf(shape, "a")
    check_enclosing(robot, {"a": [fitted]})
    thinner = Leaf("a", fitted.p0, fitted.p1, fitted.radius - 0.004)
    sticks = sticks_out([thinner], surface(shape))
    assert gap(shape, leaf_rows([thinner])) == pytest.approx(sticks, abs=5e-4)
    with pytest.raises(LeavesError, match=r"link 'a': .* by 4\.00\d mm"):
        check_enclosing(robot, {"a": [thinner]})
    barely = Leaf("a", fitted.p0, fitted.p1, fitted.radius - 2e-6)
    with pytest.raises(LeavesError, match=r"by 0\.002 mm"):
        check_enclosing(robot, {"a": [barely]})
    check_enclosing(robot, {"a": [barely]}, tolerance=3e-6)


def test_all_links_that_stick_out_are_named_the_worst_first():
    shapes = {name: (Shape("sphere", np.eye(4), (0.1,), source=f"ball {name}"),) for name in "abc"}
    robot = Robot("r", "a", {name: Link(name, shapes[name]) for name in "abc"}, ())
    fits = {name: [leaf([0, 0, 0], [0, 0, 0], 0.1)] for name in "abc"}
    check_enclosing(robot, fits)
    fits["a"] = [leaf([0, 0, 0], [0, 0, 0], 0.09)]
    fits["c"] = [leaf([0, 0, 0], [0, 0, 0], 0.08)]
    with pytest.raises(LeavesError) as caught:
        check_enclosing(robot, fits)
    text = str(caught.value)
    assert text.startswith("link 'c': ball c sticks out of its leaves by 20.0")
    assert "'a' 10.0" in text
    assert "'b'" not in text
    with pytest.raises(LeavesError, match="'b' has a shape .ball b., but no leaf"):
        check_enclosing(robot, {"a": fits["a"], "c": fits["c"]})


@settings(max_examples=20, deadline=None)
@given(st.tuples(*[st.floats(0.02, 0.5)] * 3), st.integers(2, 12))
def test_leaves_that_just_touch_corners_of_a_box_are_not_refused(size, most):
    turned = np.eye(4)
    turned[:3, :3] = Rotation.from_rotvec([0.3, -0.7, 1.1]).as_matrix()
    box = Shape("box", turned, size, source="box b")
    robot = Robot("r", "b", {"b": Link("b", (box,))}, ())
    leaves = fit_shape(box, "b", FitSettings(most, 1e-9)).leaves
    check_enclosing(robot, {"b": leaves})
    thinner = [Leaf("b", one.p0, one.p1, one.radius - 5e-6) for one in leaves]
    with pytest.raises(LeavesError, match="sticks out"):
        check_enclosing(robot, {"b": thinner})


@given(st.sampled_from(sorted(SIZES)), st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_what_several_leaves_leave_of_a_primitive_is_found(kind, seed):
    rng = np.random.default_rng(seed)
    shape = Shape(kind, np.eye(4), SIZES[kind])
    leaves = [leaf(*rng.uniform(-0.2, 0.2, (2, 3)), rng.uniform(0.15, 0.3)) for _ in range(3)]
    true = sticks_out(leaves, surface(shape))
    found = gap(shape, leaf_rows(leaves), 1e-3)
    assert found >= max(true, 0.0) - 1e-9
    assert found <= max(true, 0.0) + 0.03

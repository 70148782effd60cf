# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A mesh as points: on it, inside it, outside of it, and looking at it."""

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from collision_monitor.fitting.body import Body, coarsened, edge_points, surface_points
from collision_monitor.fitting.bounding_shapes import fit_box


def pose(seed):
    """A random rotation (3, 3) and shift (3,)."""
    rng = np.random.default_rng(seed)
    turn = Rotation.random(random_state=rng.integers(1 << 30)).as_matrix()
    return turn, rng.normal(size=3)


def placed(mesh, seed):
    """The mesh turned and moved at random."""
    turn, shift = pose(seed)
    return trimesh.Trimesh(np.asarray(mesh.vertices) @ turn.T + shift, mesh.faces, process=False)


def body_of(mesh, watchers=None):
    vertices = np.asarray(mesh.vertices)
    return Body(vertices, np.asarray(mesh.faces), fit_box(vertices), watchers)


def in_metres(body, points):
    """Points of the body's frame, in the frame of its mesh."""
    return body.unscaled(np.column_stack([points, points, np.zeros(len(points))]))[:, :3]


@given(st.integers(0, 10_000), st.floats(0.02, 2.0), st.floats(0.02, 2.0), st.floats(0.02, 2.0))
@settings(max_examples=25, deadline=None)
def test_points_lie_on_inside_and_outside_of_the_mesh(seed, a, b, c):
    half = 0.5 * np.array([a, b, c])
    body = body_of(placed(trimesh.creation.box(2.0 * half), seed))
    turn, shift = pose(seed)

    def out(points):
        """How far points are outside of the box, negative inside, along its axes."""
        return (np.abs((in_metres(body, points) - shift) @ turn) - half).max(axis=1)

    slack = 1e-9 * half.max()
    assert np.abs(out(body.surface)).max() <= slack
    assert np.abs(out(body.dense_surface)).max() <= slack
    assert out(body.inside).max() <= slack
    assert out(body.outside).min() >= -slack
    assert len(body.prices) == len(body.outside) and (body.prices > 0.0).all()


def test_grid_cells_add_up_to_the_volume():
    mesh = trimesh.creation.torus(0.3, 0.1)
    body = body_of(mesh)
    assert len(body.inside) * body.cell * body.size**3 == pytest.approx(mesh.volume, rel=0.02)
    assert body.hull_volume * body.size**3 == pytest.approx(mesh.convex_hull.volume, rel=1e-6)
    assert body.hull_area * body.size**2 == pytest.approx(mesh.convex_hull.area, rel=1e-6)


def test_a_hole_in_the_mesh_does_no_harm():
    whole = trimesh.creation.icosphere(3, 0.2)
    holed = trimesh.Trimesh(whole.vertices, whole.faces[8:], process=False)
    a, b = body_of(whole), body_of(holed)
    assert len(b.inside) == pytest.approx(len(a.inside), rel=0.02)


def test_far_from_the_surface_is_dearer():
    body = body_of(trimesh.creation.icosphere(3, 0.2))
    far = np.linalg.norm(body.outside, axis=1)
    assert np.corrcoef(far, body.prices)[0, 1] > 0.99


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_capsules_go_there_and_back(seed):
    rng = np.random.default_rng(seed)
    body = body_of(placed(trimesh.creation.box(rng.uniform(0.1, 1.0, 3)), seed))
    rows = np.column_stack([rng.normal(size=(5, 6)), rng.uniform(0.01, 1.0, 5)])
    assert body.unscaled(body.scaled(rows)) == pytest.approx(rows, abs=1e-12)


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


def test_the_same_mesh_has_the_same_points():
    mesh = placed(trimesh.creation.capsule(0.4, 0.1), 3)
    one, other = body_of(mesh), body_of(mesh)
    for name in ("surface", "dense_surface", "inside", "outside", "prices"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def test_surface_points_are_spread_by_area_and_know_their_triangle():
    mesh = trimesh.creation.box((1.0, 2.0, 3.0))
    points, chosen = surface_points(mesh.triangles, 20_000, np.random.default_rng(0))
    share = np.bincount(chosen, minlength=12) / 20_000
    assert share == pytest.approx(mesh.area_faces / mesh.area, abs=0.01)
    normals = mesh.face_normals[chosen]
    off = np.einsum("ij,ij->i", points - mesh.triangles[chosen, 0], normals)
    assert np.abs(off).max() <= 1e-12


def test_edge_points_lie_on_edges():
    mesh = trimesh.creation.icosahedron()
    points = edge_points(mesh.triangles, 500, np.random.default_rng(0))
    ends = mesh.vertices[mesh.edges_unique]
    along = ends[:, 1] - ends[:, 0]
    t = np.einsum("nej,ej->ne", points[:, None] - ends[:, 0], along) / (along**2).sum(axis=1)
    nearest = ends[:, 0] + np.clip(t, 0.0, 1.0)[:, :, None] * along
    assert np.linalg.norm(points[:, None] - nearest, axis=2).min(axis=1).max() <= 1e-12


def test_a_coarse_surface_stays_closed():
    fine = trimesh.creation.icosphere(5, 1.0)
    coarse = coarsened(np.asarray(fine.triangles), 0.1)
    assert len(coarse) < len(fine.faces) / 2
    mesh = trimesh.Trimesh(**trimesh.triangles.to_kwargs(coarse))
    assert mesh.volume == pytest.approx(fine.volume, rel=0.05)

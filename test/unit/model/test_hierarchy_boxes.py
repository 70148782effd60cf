# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Boxes of meshes: they hold the triangles, and those that overlap hold what crosses."""

import coal
import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation
from support.robots.toys import chain, joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.hierarchy.packed import windows
from collision_monitor.model.hierarchy_boxes import (
    Boxes,
    MeshBoxes,
    TreeBoxes,
    overlapping,
    tree_sizes,
)

KINDS = ("aabb", "obb", "rss", "octree")


@pytest.fixture(scope="module")
def urdf(tmp_path_factory):
    """A mesh that slides along x past another, a box and a ball."""
    path = tmp_path_factory.mktemp("boxes") / "m.stl"
    trimesh.creation.icosphere(3).apply_scale([0.1, 0.2, 0.3]).export(path)
    mesh = f'<mesh filename="{path}"/>'
    return robot(
        link("base", mesh), link("slider", mesh, "0 0 0.1"),
        link("box", '<box size="0.1 0.1 0.1"/>'), link("ball", '<sphere radius="0.1"/>'),
        joint("slide", "base", "slider", "prismatic", xyz="0 0 0", axis="1 0 0"),
        joint("b", "slider", "box", xyz="0 1 0"), joint("c", "box", "ball", xyz="0 1 0"),
    )  # fmt: skip


def model_of(urdf, kind):
    return CollisionModel.from_urdf(urdf, max_leaves_per_link=1, hierarchy=kind)


@pytest.mark.parametrize("kind", KINDS)
def test_boxes_of_every_level_hold_the_mesh(urdf, kind):
    model = model_of(urdf, kind)
    boxes = MeshBoxes(model)
    assert boxes.depth > 3
    for name, shown in (("slider", range(boxes.depth)), ("box", [0]), ("ball", [0])):
        (shape,) = model.robot.links[name].shapes
        points = np.array([[0.0, 0.0, 0.049]])
        if shape.kind == "mesh":
            points = shape.vertices[shape.triangles].mean(axis=1) + shape.pose[:3, 3]
        for level in shown:
            own = boxes.at_level(name, level)
            local = np.einsum("nij,pni->pnj", own.axes, points[:, None] - own.centers)
            inside = (np.abs(local) <= own.halves + 1e-9).all(axis=2)
            assert inside.any(axis=1).all()
    assert boxes.deepest_level(8) >= (kind != "octree")
    assert boxes.deepest_level(10**6) == boxes.depth - 1


def test_sizes_of_trees_are_those_of_their_boxes_and_settings_change_no_distance(urdf):
    model, deep = model_of(urdf, "octree"), model_of(urdf, "octree:depth=9,leaf=1")
    (usual, *_), (size, *_) = tree_sizes(model), tree_sizes(deep)
    boxes = MeshBoxes(deep).of_links[size.link]
    assert (size.levels, size.cells) == (boxes.levels.max() + 1, len(boxes.levels))
    assert size.leaves == boxes.lowest.sum() < size.cells
    assert size.triangles == usual.triangles <= size.indices
    assert size.levels > usual.levels and size.cells > usual.cells
    for q in model.random_configurations(20, seed=1):
        found = [one.distance(q, exact=True, any_contact=True).distance for one in (model, deep)]
        assert found[0] == pytest.approx(found[1], abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_overlapping_boxes_hold_the_crossing_triangles_and_none_are_apart(urdf, kind):
    model = model_of(urdf, kind)
    boxes = MeshBoxes(model)
    pair = ("base", "slider")
    for place, crosses in ((0.15, True), (0.5, False)):
        q = np.array([place, 0.0, 0.0])
        edges = boxes.colliding(model.link_poses(q), pair)
        if not crosses:
            assert len(edges) == 0
            continue
        assert edges.shape[1:] == (12, 2, 3) and len(edges) > 0
        # A crossing triangle meets a box that is shown; boxes far from the other mesh are not.
        centers, reach = edges.mean(axis=(1, 2)), 0.5 * np.ptp(edges, axis=(1, 2)).max(axis=1)
        for triangle in model.crossing_triangles(q, pair, 1000).corners.reshape(-1, 3, 3):
            gaps = np.maximum(triangle.min(axis=0) - centers, centers - triangle.max(axis=0))
            assert (gaps.max(axis=1) <= reach + 1e-9).any()
        lowest = sum(int(boxes.of_links[name].lowest.sum()) for name in pair)
        assert len(edges) < 0.7 * lowest


def test_the_test_of_two_boxes_says_what_coal_does():
    rng = np.random.default_rng(5)

    def boxes(count):
        turns = Rotation.random(count, random_state=rng.integers(1 << 30)).as_matrix()
        halves = rng.uniform(0.02, 0.4, (count, 3))
        centers, nothing = rng.uniform(-0.8, 0.8, (count, 3)), np.zeros((count, 2), int)
        return Boxes(centers, turns, halves, nothing[:, 0], nothing[:, 0] == 0, nothing)

    a, b = boxes(60), boxes(40)
    met = np.zeros((60, 40), dtype=bool)
    for i, j in np.ndindex(met.shape):
        solids = (coal.Box(*(2.0 * own.halves[k])) for own, k in ((a, i), (b, j)))
        places = (coal.Transform3s(own.axes[k], own.centers[k]) for own, k in ((a, i), (b, j)))
        (one, other), (here, there) = solids, places
        result = coal.CollisionResult()
        met[i, j] = coal.collide(one, here, other, there, coal.CollisionRequest(), result)
    assert 0.05 < met.mean() < 0.95
    rows, columns = overlapping(a, b)
    assert rows.tolist() == np.flatnonzero(met.any(axis=1)).tolist()
    assert columns.tolist() == np.flatnonzero(met.any(axis=0)).tolist()
    for i in range(60):
        assert overlapping(a[np.array([i])], b)[1].tolist() == np.flatnonzero(met[i]).tolist()


# -- boxes to look at: those that the kernels traverse, level by level --


SCENE = {
    "obstacles": [
        {"name": f"ball{k}", "type": "sphere", "radius": 0.1, "position": [0.7 * k, 2.0, 0.3 * k]}
        for k in range(5)
    ]
}


def test_boxes_hold_the_leaves_below_them():
    model = CollisionModel.from_urdf(chain(6), scene=SCENE)
    boxes, view = TreeBoxes(model), windows(*model.work_space())
    radii = np.array([leaf.radius for leaf in model.leaves])[:, None]
    for q in model.random_configurations(20):
        ends, placed = model.leaf_segments(q), boxes.at(q)
        low, high = ends.min(axis=1) - radii, ends.max(axis=1) + radii
        for node, (left, right) in enumerate(view.nodes[:, :2].tolist()):
            if left >= 0:
                expected = placed[[left, right], :3].min(0), placed[[left, right], 3:].max(0)
            else:
                expected = low[right], high[right]
            assert placed[node] == pytest.approx(np.concatenate(expected), abs=1e-12)

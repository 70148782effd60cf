# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Links of 200,000 triangles: loaded, enclosed and answered for, in a bounded memory."""

import tracemalloc

import numpy as np
import pytest
import trimesh
from support.geometry.large_meshes import LARGE
from support.geometry.two_meshes import mesh_distance
from support.robots.toys import joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.fitting.approach_points import watchers_of
from collision_monitor.fitting.enclosure import check_enclosing
from collision_monitor.mesh_distance.mesh_tree import build_triangle_tree, corners_of, halved
from collision_monitor.robot.description import Shape

MEGABYTE = 1_000_000


@pytest.fixture(scope="module", params=["torus", pytest.param("ellipsoid", marks=pytest.mark.slow)])
def model(request, tmp_path_factory):
    """An arm that carries a large mesh, with a box two links before it."""
    folder = tmp_path_factory.mktemp(request.param)
    vertices, triangles = LARGE[request.param]()
    assert len(triangles) == 200_000
    trimesh.Trimesh(vertices, triangles, process=False).export(folder / "large.stl")
    urdf = folder / "arm.urdf"
    box = '<box size="0.1 0.1 0.3"/>'
    urdf.write_text(
        robot(
            link("l0", box), link("l1", box), link("l2", f'<mesh filename="{folder}/large.stl"/>'),
            joint("j1", "l0", "l1", xyz="0 0 0.4", axis="0 1 0"),
            joint("j2", "l1", "l2", xyz="0 0 0.4", axis="0 1 0"),
        )
    )  # fmt: skip
    return CollisionModel.from_urdf(urdf, max_leaves_per_link=4)


def test_it_is_enclosed_and_never_nearer_than_its_leaves_say(model):
    leaves = {}
    for leaf in model.leaves:
        leaves.setdefault(leaf.link, []).append(leaf)
    assert 1 <= len(leaves["l2"]) <= 4 * 4  # four times as many where the others are loose
    check_enclosing(model.robot, leaves, 1e-5)
    (shape,) = model.robot.links["l2"].shapes
    large = build_triangle_tree(shape.vertices, shape.triangles, "aabb")
    box = trimesh.creation.box((0.1, 0.1, 0.3))
    small = build_triangle_tree(np.asarray(box.vertices), np.asarray(box.faces), "aabb")
    assert model.pairs == [("l2", "l0")]
    found = []
    for q in model.random_configurations(30):
        pose = model.link_poses(q)["l2"]
        there = np.ascontiguousarray(pose[:3, :3]), pose[:3, 3].copy()
        trees = small.numbers, small.index, large.numbers, large.index
        exact = mesh_distance(*trees, *there, -1, -1, np.inf)[0]
        found.append((model.distance(q).distance, exact))
    leaf, exact = np.array(found).T
    assert (leaf <= exact + 1e-9).all() and exact.max() > 0.2
    apart = exact > 0.0
    assert np.mean(exact[apart] - leaf[apart]) < 0.08  # few leaves, large bodies


def peak(work) -> int:
    """Bytes that numpy and Python had at most while it was done."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["torus", "soup"])
def test_looking_for_watchers_takes_little_memory(name, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    shape = Shape("mesh", np.eye(4), (), *LARGE[name]())
    poses = np.tile(np.eye(4), (2, 1, 1))
    poses[:, 0, 3] = 0.6
    links = {"a": (shape,), "b": (Shape("box", np.eye(4), (0.1, 0.1, 0.1)),)}
    places = {"a": np.tile(np.eye(4), (2, 1, 1)), "b": poses}
    found = {}

    def look():
        found.update(watchers_of(links, places, [("a", "b")]))

    assert peak(look) < 400 * MEGABYTE
    assert len(found["a"][0]) == 1


@pytest.mark.parametrize("kind", ["aabb", "obb", "rss"])
@pytest.mark.parametrize("name", ["components", "ellipsoid"])
def test_a_binary_tree_takes_little_memory_and_has_few_levels(name, kind):
    corners = corners_of(*LARGE[name]())
    built = []
    most = peak(lambda: built.append(halved(corners, kind)))
    assert most < 500 * MEGABYTE
    (tree,) = built
    assert len(tree.nodes) == 2 * len(corners) - 1 and len(set(tree.rows)) == len(corners)
    assert np.log2(len(corners)) <= tree.waiting < 1.7 * np.log2(len(corners))


@pytest.mark.parametrize("name", ["components", "ellipsoid"])
def test_an_octree_takes_little_memory_and_knows_every_triangle(name):
    vertices, triangles = LARGE[name]()
    built = []
    most = peak(lambda: built.append(build_triangle_tree(vertices, triangles, "octree")))
    assert most < 500 * MEGABYTE
    nodes, slots, count = built[0].index[1:4].tolist()
    assert count == len(triangles) <= slots <= 32 * count
    assert len(built[0].index) == 4 + 2 * nodes + slots + count

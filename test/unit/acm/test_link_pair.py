# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Two links and the joints between them: poses as in the model, distances as by coal."""

import coal
import numpy as np
import pytest
from support.geometry.coal_shapes import coal_distance, coal_mesh, coal_shape
from support.geometry.range_cases import branched, pair_of, place_links, surface_distance
from support.geometry.segment_distance import segment_distance
from support.robots.robots import load_model

from collision_monitor.acm.link_pair import PairGeometries
from collision_monitor.hierarchy.packed import windows


def test_only_joints_between_the_links_are_columns():
    model, pair = pair_of(branched(np.random.default_rng(3)), "a3", "a1")
    assert [model.joint_names[k] for k in pair.columns] == ["ja2", "ja3"]
    model, pair = pair_of(branched(np.random.default_rng(3)), "b3", "b1")  # jb3 mimics jb0
    assert [model.joint_names[k] for k in pair.columns] == ["jb0", "jb2"]


def coal_link(shapes):
    """Shapes of a link as one hierarchy of coal, with its own triangles."""
    vertices, triangles = [], []
    for shape in shapes:
        assert shape.kind == "mesh"
        triangles.append(shape.triangles + sum(map(len, vertices)))
        vertices.append(shape.vertices @ shape.pose[:3, :3].T + shape.pose[:3, 3])
    return coal_mesh(np.concatenate(vertices), np.concatenate(triangles))


@pytest.mark.parametrize(
    ("name", "links"),
    [("panda", ("panda_link2", "panda_hand")), ("panda", ("panda_link5", "panda_link7"))],
)
def test_surfaces_are_as_far_apart_as_coal_finds_them(name, links):
    model = load_model(name)
    pair = PairGeometries(model).pair(*links)
    trees = [coal_link(model.robot.links[link].shapes) for link in links]
    points = np.empty((3, 3))
    met = 0
    for q in model.random_configurations(30, seed=2):
        place_links(pair.chain, q[pair.columns])
        found = surface_distance(pair.chain, np.inf, points)
        links_at = model.link_poses(q)
        places = [coal.Transform3s(links_at[x][:3, :3], links_at[x][:3, 3]) for x in links]
        both = trees[0], places[0], trees[1], places[1]
        expected = coal.distance(*both, coal.DistanceRequest(), coal.DistanceResult())
        assert found == pytest.approx(max(expected, 0.0), abs=1e-6)
        met += found == 0.0
        if found > 0.0:
            assert np.linalg.norm(points[1] - points[0]) == pytest.approx(found, abs=1e-9)
            assert surface_distance(pair.chain, 0.5 * found, points) == 0.5 * found
    assert met < 30


def test_balls_and_capsules_are_exact():
    urdf = branched(np.random.default_rng(11))
    model, pair = pair_of(urdf, "base", "a1")  # the base is a capsule
    shape = model.robot.links["a1"].shapes[0]
    for q in model.random_configurations(40):
        place_links(pair.chain, q[pair.columns])
        found = surface_distance(pair.chain, np.inf, np.empty((3, 3)))
        at = model.link_poses(q)["a1"] @ shape.pose
        base = model.robot.links["base"].shapes[0]
        apart = np.linalg.inv(base.pose) @ at
        expected = coal_distance(coal_shape(base), coal_shape(shape), apart[:3, :3], apart[:3, 3])
        # A prism around a cylinder may come 0.05 % of the radius nearer.
        assert max(expected, 0.0) - 1e-4 <= found <= max(expected, 0.0) + 1e-5


def test_leaves_lie_where_those_of_the_model_do():
    model, pair = pair_of(branched(np.random.default_rng(4)), "a2", "b3")
    for q in model.random_configurations(20):
        place_links(pair.chain, q[pair.columns])
        view = windows(pair.chain.numbers, pair.chain.index)
        ends, radii = view.ends, view.radii[:, 0]
        lengths = np.linalg.norm(ends[:, 3:] - ends[:, :3], axis=1)
        assert lengths[: pair.chain.rows] == pytest.approx(
            [leaf.length for name in ("a2", "b3") for leaf in model.leaves if leaf.link == name]
        )
        expected = dict(zip(model.pairs, model.distances(q), strict=True))["a2", "b3"]
        nearest = min(
            segment_distance(ends[i].reshape(2, 3), ends[j].reshape(2, 3)) - radii[i] - radii[j]
            for i in range(pair.chain.leaves)
            for j in range(pair.chain.leaves, pair.chain.rows)
        )
        assert nearest == pytest.approx(expected, abs=1e-9)

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The promises of the model on real robots, against pinocchio and coal.

Kinematics equal pinocchio's; leaf distances equal coal's on the same leaves; leaves
enclose the meshes; and so no distance is above coal's distance of the meshes.
"""

import numpy as np
import pytest
import trimesh
from support.geometry.reference import Reference
from support.geometry.segment_distance import segment_distance
from support.robots.robots import NAMES, load_model, require, slow_if_large

pytestmark = pytest.mark.early

DUAL_ARM_OR_SRDF = ["ur5", "panda", "baxter", "pr2", "tiago_dual"]
TIGHT = ["ur5", "panda", "xarm7", "baxter"]
MANY_LEAVES = ["ur5", "panda", "baxter"]
CONFIGURATIONS = 200


@pytest.fixture(scope="module", params=slow_if_large(NAMES, "xarm7", "talos", "tiago_dual"))
def any_robot(request):
    """(model, reference) of each robot; fewer leaves for those with very many links."""
    return load(request.param, max_leaves_per_link=8 if request.param in TIGHT else 1)


@pytest.fixture(
    scope="module",
    params=[*slow_if_large(DUAL_ARM_OR_SRDF), *(f"many leaves {name}" for name in MANY_LEAVES)],
)
def robot(request):
    """(model, reference) with one leaf a shape, or with as many as by default."""
    name = request.param.split()[-1]
    return load(name, max_leaves_per_link=1 if name == request.param else 8)


def load(name, **options):
    """A robot as it is, and its reference."""
    files, model = require(name), load_model(name, **options)
    return model, Reference(files.urdf, files.package_dirs, model)


def test_leaves_are_where_pinocchio_puts_them(any_robot):
    model, reference = any_robot
    for q in model.random_configurations(20, seed=2):
        segments = model.leaf_segments(q)
        poses = {link: reference.link_pose(q, link) for link in model.link_names}
        for leaf, (p0, p1) in zip(model.leaves, segments, strict=True):
            pose = poses[leaf.link]
            assert p0 == pytest.approx(pose[:3, :3] @ leaf.p0 + pose[:3, 3], abs=1e-9)
            assert p1 == pytest.approx(pose[:3, :3] @ leaf.p1 + pose[:3, 3], abs=1e-9)


@pytest.mark.parametrize("count", [5, 400])
def test_clear_is_what_the_distances_say_among_obstacles(count):
    rng = np.random.default_rng(7)
    obstacles = [
        {"name": f"o{k}", "type": "box", "size": [0.1, 0.2, 0.3], "position": position}
        for k, position in enumerate((rng.normal(size=(count, 3)) * 1.5).tolist())
    ]
    model = load_model("ur5", scene={"obstacles": obstacles})
    rows = model.random_configurations(CONFIGURATIONS, seed=5)
    least = model.min_distances(rows)
    # The last one so that some rows are clear.
    for margin in (0.0, 0.05, -0.01, float(np.median(least)) + 1e-6):
        clear = model.is_clear(rows, margin)
        assert np.array_equal(clear, least >= margin)
    assert clear.any() and not clear.all()


def test_every_link_with_geometry_has_leaves(any_robot):
    model, reference = any_robot
    geometry, _ = reference.mesh_geometry()
    expected = {
        reference.pin_model.frames[item.parentFrame].name for item in geometry.geometryObjects
    }
    assert set(model.link_names) == expected


def ranks_of(model, owners):
    """Which pair of the model owns each pair of leaves or meshes."""
    rank = {pair: k for k, pair in enumerate(model.pairs)}
    return np.array([rank[owner] for owner in owners])


def slow_distance(model, segments, pair):
    """A pair's distance from each two leaves' constrained least squares, by scipy."""
    least = np.inf
    for i, a in enumerate(model.leaves):
        for j, b in enumerate(model.leaves):
            if (a.link, b.link) == pair:
                gap = segment_distance(segments[i], segments[j])
                least = min(least, gap - a.radius - b.radius)
    return least


def test_distances_equal_coal_on_the_same_leaves(robot):
    """All pairs at random configurations, and what a single query says of them."""
    model, reference = robot
    count = CONFIGURATIONS if model.settings.max_leaves_per_link == 1 else 80
    geometry, owners = reference.leaf_geometry()
    ranks = ranks_of(model, owners)
    rows = model.random_configurations(count, seed=3)
    batch = model.min_distances(rows)
    for q, from_batch in zip(rows, batch, strict=True):
        theirs = np.full(len(model.pairs), np.inf)
        np.minimum.at(theirs, ranks, reference.distances(geometry, q))
        ours, clearance = model.distances(q), model.distance(q)
        clear = theirs > 0.0
        # Some micrometres too far for short, nearly parallel capsules: that is coal.
        for p in np.flatnonzero(clear & (np.abs(ours - theirs) >= 1e-9)):
            assert theirs[p] - 5e-5 < ours[p] < theirs[p]
            exact = slow_distance(model, model.leaf_segments(q), model.pairs[p])
            assert ours[p] == pytest.approx(exact, abs=1e-12)
        assert (ours[~clear] <= 1e-9).all()
        assert clearance.distance == pytest.approx(from_batch, abs=1e-12)
        assert clearance.distance == pytest.approx(ours.min(), abs=1e-12)
        assert ours[model.pairs.index(clearance.links)] == pytest.approx(ours.min(), abs=1e-12)
        a, b = clearance.points
        assert b - a == pytest.approx(clearance.distance * clearance.normal, abs=1e-9)
        assert np.linalg.norm(clearance.normal) == pytest.approx(1.0, abs=1e-9)


def surface_points(shape, count, seed):
    """``count`` points on a shape's surface, in the link's frame, and all its vertices."""
    make = {
        "box": lambda: trimesh.creation.box(shape.size),
        "sphere": lambda: trimesh.creation.icosphere(4, shape.size[0]),
        "cylinder": lambda: trimesh.creation.cylinder(*shape.size, sections=180),
        "mesh": lambda: trimesh.Trimesh(shape.vertices, shape.triangles, process=False),
    }
    mesh = make[shape.kind]()
    points = np.vstack([mesh.vertices, mesh.sample(count, seed=seed)])
    return points @ shape.pose[:3, :3].T + shape.pose[:3, 3]


def test_no_surface_point_is_outside_the_leaves_of_its_link(any_robot):
    model, _ = any_robot
    for link in model.link_names:
        leaves = [leaf for leaf in model.leaves if leaf.link == link]
        shapes = model.robot.links[link].shapes
        for k, shape in enumerate(shapes):
            points = surface_points(shape, 5000, seed=k)
            outside = np.min([leaf.distances_to(points) for leaf in leaves], axis=0)
            assert outside.max() <= 1e-9, (link, k)


@pytest.mark.parametrize("name", MANY_LEAVES)
def test_several_leaves_take_less_room_than_boxes(name):
    model, _ = load(name)
    fits = [fit for name in model.link_names for fit in model.fits[name]]
    union = sum(fit.union_volume for fit in fits)
    _, hull, obb = np.sum([fit.volumes for fit in fits], axis=0)
    # Measured for the Panda: 1.25 to 1.28 hulls, 0.78 to 0.80 boxes, 5.7 to 6.0 leaves a link.
    assert union <= 1.35 * hull
    assert union <= 0.81 * obb
    # Three quarters of the most, which is 8, for each link, and as many together for loose links.
    assert len(model.leaves) <= 2 * 0.75 * 8 * len(model.link_names)


def test_no_distance_is_above_that_of_the_meshes(robot):
    model, reference = robot
    geometry, owners = reference.mesh_geometry()
    ranks: dict[tuple[str, str], list[int]] = {}
    for k, owner in enumerate(owners):
        ranks.setdefault(owner, []).append(k)
    rng = np.random.default_rng(5)
    near = 0
    for q in model.random_configurations(CONFIGURATIONS, seed=4):
        ours = model.distances(q)
        # the nearest pairs, where a leaf that is too small would show, and some others
        chosen = {*np.argsort(ours)[:4], *rng.integers(len(model.pairs), size=4)}
        objects = [k for p in chosen for k in ranks[model.pairs[p]]]
        theirs = dict(zip(objects, reference.some_distances(geometry, q, objects), strict=True))
        for p in chosen:
            true = min(theirs[k] for k in ranks[model.pairs[p]])
            assert ours[p] <= max(true, 0.0) + 1e-9, (model.pairs[p], q.tolist())
            near += true < 0.3
    assert near > CONFIGURATIONS  # the test has looked at near pairs, hundreds of them

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Exact distances: what the answer says, on shapes of all kinds and in all hierarchies."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from support.geometry.exact_reference import ExactReference
from support.geometry.free_body import at, free_body, mesh_shape, turned
from support.geometry.mesh_cases import KIND_NAMES, mesh
from support.paths import ROOT
from support.robots.toy_models import toy_model
from support.robots.toys import joint, robot
from support.robots.toys import link as link_of

from collision_monitor import CollisionModel
from collision_monitor.errors import ConfigurationError, FitError, NothingToCheckError
from collision_monitor.mesh_distance.link_pair_distance import keep, moved_since
from collision_monitor.mesh_distance.parts import box_around, merged, parts_of
from collision_monitor.robot.description import Link, Robot, Shape
from unit.mesh_distance.test_mesh_distance import distance_to

pytestmark = pytest.mark.early

ARMS = (ROOT / "urdf/dual_arm.urdf", ROOT / "urdf/dual_arm.srdf")
# Shapes of every kind in each link, some of them turned.
TILTED = at(0.1, -0.2, 0.3)
TILTED[:3, :3] = turned(np.array([0, 0, 0, 0.5, -0.4, 1.0]))[0]
MIXED = (
    mesh_shape(*mesh("arm_link_2.stl")),
    mesh_shape(*mesh("cone"), TILTED),
    Shape("cylinder", at(0.3, 0.1, -0.1), (0.05, 0.3)),
    Shape("capsule", TILTED, (0.04, 0.2)),
)
OTHER = (
    Shape("box", TILTED, (0.1, 0.2, 0.05)),
    mesh_shape(*mesh("ring")),
    Shape("sphere", at(0.0, 0.0, 0.2), (0.06,)),
)


class _Kinematics:
    """What `ExactReference` wants to know, of a free body."""

    def link_pose(self, q, link):
        pose = np.eye(4)
        if link == "moving":
            pose[:3, :3], pose[:3, 3] = turned(q)
        return pose


def configurations(count, seed, reach=0.6):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.normal(size=(count, 3)) * reach, rng.uniform(-3, 3, (count, 3))])


@pytest.fixture(scope="module")
def mixed():
    return {kind: free_body(MIXED, OTHER, kind) for kind in KIND_NAMES}


@pytest.fixture(scope="module")
def arms():
    return CollisionModel.from_urdf(ARMS[0], srdf=ARMS[1])


def corners_of(model, q, link, number):
    """Corners of a triangle of a link's meshes in the base frame."""
    shapes = [s for s in model.robot.links[link].shapes if s.kind == "mesh"]
    for shape in shapes:
        if number < len(shape.triangles):
            break
        number -= len(shape.triangles)
    pose = model.link_poses(q)[link] @ shape.pose
    return shape.vertices[shape.triangles[number]] @ pose[:3, :3].T + pose[:3, 3]


def check(model, q, found):
    assert found.exact
    # In contact it is the distance of leaves, unless one is a ball or a capsule beside the other.
    if found.leaves != (-1, -1):
        assert found.distance <= 0.0
        assert tuple(model.leaves[k].link for k in found.leaves) == found.links
    first, second = found.points
    assert np.linalg.norm(found.normal) == pytest.approx(1.0, abs=1e-12)
    assert second - first == pytest.approx(found.distance * found.normal, abs=1e-9)
    assert model.distance(q).distance <= found.distance + 1e-9
    if found.distance > 0.0:
        for link, number, point in zip(found.links, found.triangles, found.points, strict=True):
            if number >= 0:
                assert distance_to(corners_of(model, q, link, number), point) < 1e-9


def test_shapes_of_all_kinds_have_coals_distance_in_all_hierarchies(mixed):
    reference = ExactReference(mixed["obb"], _Kinematics())
    for q in configurations(100, seed=1):
        found = {kind: model.distance(q, exact=True) for kind, model in mixed.items()}
        expected, _ = reference.least(q)
        for kind, clearance in found.items():
            if expected > 0.0 and clearance.distance > 0.0:
                assert clearance.distance == pytest.approx(expected, abs=1e-7)
            else:
                held = reference.holds(q, clearance.links)
                assert (clearance.distance <= 0.0) == (expected <= 1e-8 or held)
            check(mixed[kind], q, clearance)


def test_the_nearest_pair_is_the_least_of_all(arms):
    for q in arms.random_configurations(12, seed=2):
        found, every = arms.distance(q, exact=True), arms.distances(q, exact=True)
        assert found.distance == pytest.approx(every.min(), abs=1e-9)
        assert every[arms.pairs.index(found.links)] == pytest.approx(every.min(), abs=1e-9)
        assert (arms.distances(q) <= every + 1e-9).all()
        check(arms, q, found)


def test_what_was_asked_before_makes_no_difference(arms):
    rows = arms.random_configurations(40, seed=3)
    along = rows[0] + np.linspace(0.0, 1.0, 100)[:, None] * (rows[1] - rows[0])
    for asked in (rows, along):
        fresh = [arms.twin().distance(q, exact=True).distance for q in asked[::5]]
        warm = [arms.distance(q, exact=True).distance for q in asked][::5]
        assert warm == pytest.approx(fresh, abs=1e-12)


def test_the_nearest_of_several_is_found_whoever_it_was_before(tmp_path):
    """A ring goes to and fro between plates, some millimetres a step."""
    trimesh.creation.torus(0.1, 0.04, 12, 8).export(tmp_path / "tool.stl")
    shape = f'<mesh filename="{tmp_path}/tool.stl"/>'
    axes = {"x": "1 0 0", "y": "0 1 0", "tool": "0 0 1"}
    parts = [link_of("base", '<box size="0.02 0.02 0.02"/>', "0 0 3"), link_of("tool", shape)]
    parts += [link_of("x", ""), link_of("y", "")]
    for parent, (child, axis) in zip(("base", "x", "y"), axes.items(), strict=True):
        parts.append(joint(f"to_{child}", parent, child, "prismatic", "0 0 0", axis))
    sides = [(a, s * far) for a, far in zip(np.eye(3), (0.24, 0.24, 0.14), strict=True)
             for s in (-1.0, 1.0)]  # fmt: skip
    plates = [
        {"name": f"plate_{k}", "type": "box", "size": (0.5 - 0.48 * np.abs(a)).tolist(),
         "position": (s * a).tolist()}
        for k, (a, s) in enumerate(sides)
    ]  # fmt: skip
    model = toy_model(*parts, scene={"obstacles": plates}, max_leaves_per_link=2)
    t = np.linspace(0.0, 12.0, 500)[:, None]
    rows = 0.06 * np.sin(t * [1.0, 1.37, 2.11] + [0.0, 1.0, 2.0])
    other = model.twin()
    nearest = set()
    for q in rows:
        clearance = model.distance(q, exact=True)
        nearest.add(clearance.links)
        # Asked for all, it measures all.
        assert clearance.distance == pytest.approx(other.distances(q, exact=True).min(), abs=1e-10)
    assert len(nearest) == 6


def test_threads_with_twins_of_their_own_do_not_disturb_each_other(arms):
    rows = arms.random_configurations(80, seed=4)
    expected = [arms.distance(q, exact=True).distance for q in rows]
    twins = [arms.twin() for _ in range(3)]
    for twin in twins:
        twin.prepare_exact()

    def ask(one):
        return [one.distance(q, exact=True).distance for q in rows]

    with ThreadPoolExecutor(4) as pool:
        for answers in pool.map(ask, [arms, *twins]):
            assert answers == pytest.approx(expected, abs=1e-12)


def test_a_twin_of_fewer_pairs_and_a_pickled_model_answer_as_well(arms):
    q = arms.random_configurations(1, seed=5)[0]
    expected = arms.distances(q, exact=True)
    some = arms.pairs[::4]
    assert arms.twin(some).distances(q, exact=True) == pytest.approx(expected[::4], abs=1e-12)
    again = pickle.loads(pickle.dumps(arms))
    assert again.distances(q, exact=True) == pytest.approx(expected, abs=1e-12)


def test_bounds_along_a_motion_are_never_above_the_distances_and_soon_close(arms):
    start, end = arms.random_configurations(60, seed=5)[[3, 40]]
    judge, every, raised = arms.twin(), np.arange(len(arms.pairs)), 0
    for q in start + np.linspace(0.0, 1.0, 300)[:, None] * (end - start):
        leaves, exact = arms.distances(q), judge.distances(q, exact=True)
        bounds = arms.exact_bounds(q, every, leaves, 0.1)
        assert (bounds >= leaves).all() and (bounds[leaves > 0.1] == leaves[leaves > 0.1]).all()
        assert (bounds <= np.maximum(exact, leaves) + 1e-9).all()
        assert (bounds[exact <= 0.0] <= 0.0).all()
        raised += (bounds > leaves + 1e-4).sum()
        bounds = arms.exact_bounds(q, every, leaves, 0.1, seconds=10.0)
        close = (exact > 0.0) & (leaves <= 0.1)
        assert (bounds >= np.minimum(exact, 0.1) - 1e-3 - 1e-9)[close].all()
        loose = np.where(every % 2, 1e-3, 1e-5)  # of each pair
        bounds = arms.exact_bounds(q, every, leaves, 0.1, loose, seconds=10.0)
        assert (bounds >= np.minimum(exact, 0.1) - loose - 1e-9)[close].all()
    assert raised > 50  # one pair is measured a time
    for _ in every:
        bounds = arms.exact_bounds(q, every, leaves, 0.1)
    close = (exact > 0.0) & (leaves <= 0.1)
    assert close.sum() > 1
    assert (bounds >= np.minimum(exact, 0.1) - 1e-3 - 1e-9)[close].all()
    some = np.flatnonzero(close)[:2]
    again = arms.exact_bounds(q, some, leaves[some], 0.1)
    assert again == pytest.approx(bounds[some], abs=1e-3)
    with pytest.raises(ConfigurationError, match="shape"):
        arms.exact_bounds(q[:2], some, leaves[some], 0.1)


def test_pairs_that_are_asked_for_little_are_not_measured_last(arms):
    """As pairs near by design: a few millimetres decide there, and time may run out."""
    judge, cases = arms.twin(), 0
    for q in arms.random_configurations(100, seed=5):
        leaves, exact = arms.distances(q), judge.distances(q, exact=True)
        some = np.flatnonzero((leaves > 0.0) & (exact > leaves + 2e-3))
        first, *others = some[np.argsort(leaves[some])]
        within = leaves + 0.02
        within[first] -= 5e-3
        if others and (leaves / within)[others].min() > (leaves / within)[first]:
            bounds = arms.twin().exact_bounds(q, some, leaves[some], within[some])
            known = bounds[some == first]
            assert known >= min(exact[first], within[first]) - 1e-3 - 1e-9
            cases += 1
    assert cases > 5


def test_triangles_that_cross_are_named_and_placed(arms):
    for q in arms.random_configurations(200, seed=8):
        found = arms.distance(q, exact=True)
        crossing = arms.crossing_triangles(q, found.links)
        if found.distance > 0.0:
            assert len(crossing.triangles) == 0
            continue
        assert len(crossing.triangles) > 0
        numbers, corners = crossing.triangles[0], crossing.corners[0]
        for link, number, placed in zip(found.links, numbers, corners, strict=True):
            assert placed == pytest.approx(corners_of(arms, q, link, number), abs=1e-9)
        few = arms.crossing_triangles(q, found.links, most=1)
        every = arms.crossing_triangles(q, found.links, most=10**12)
        assert every.triangles.tolist() == crossing.triangles.tolist()
        assert few.triangles.shape == (1, 2)
        return
    pytest.fail("no configuration in contact")


def test_bad_questions_are_refused(arms):
    q = np.zeros(len(arms.joint_names))
    q[2] = np.nan
    for ask in (arms.distance, arms.distances):
        with pytest.raises(ConfigurationError, match=arms.joint_names[2]):
            ask(q, exact=True)
        with pytest.raises(ConfigurationError, match="shape"):
            ask(q[:2], exact=True)
    with pytest.raises(ConfigurationError, match="moon"):
        arms.crossing_triangles(np.zeros(len(q)), (arms.link_names[0], "moon"))
    with pytest.raises(ConfigurationError, match="most"):
        arms.crossing_triangles(np.zeros(len(q)), arms.pairs[0], most=0)
    with pytest.raises(ConfigurationError, match="most: 2.5"):
        arms.crossing_triangles(np.zeros(len(q)), arms.pairs[0], most=2.5)
    name = arms.link_names[0]
    for pair in ((name,), (name, name), name, (*arms.pairs[0], name)):
        with pytest.raises(ConfigurationError, match="two different links"):
            arms.crossing_triangles(np.zeros(len(q)), pair)
    for within in (np.nan, "near", None):
        with pytest.raises(ConfigurationError, match="within: .*not a length"):
            arms.distances(np.zeros(len(q)), exact=True, within=within)


@pytest.mark.parametrize("missing", [0.0, 1e-8, 1e-6, 0.03])
def test_leaves_that_miss_a_little_of_their_shapes_do_not_hide_them(missing):
    """Leaves from a file may let a micrometre stick out, and those that nobody checked anything."""
    urdf = robot(
        link_of("a"), link_of("x", ""), link_of("b"),
        joint("j", "a", "x", "prismatic", "0 0 0", "1 0 0", limits=(-9, 9)),
        joint("k", "x", "b", "prismatic", "0 0 0", "0 1 0", limits=(-9, 9)),
    )  # fmt: skip
    leaves = {"links": {name: [{"center": [0, 0, 0], "radius": 0.1 - missing}] for name in "ab"}}
    model = CollisionModel.from_urdf(urdf, leaves=leaves, check_leaves=missing <= 1e-6)
    for q in ([1.0, 2.0], [0.3, 0.4], [0.4, 0.3], [0.19, 0.5], [0.0, 0.0], [0.2, 5.0]):
        found = model.distance(q, exact=True).distance
        apart = np.hypot(*q) - 0.2
        assert found == pytest.approx(apart, abs=1e-9) if apart > 0.0 else found <= 0.0


def test_a_hierarchy_that_is_none_is_refused():
    with pytest.raises(FitError, match="unknown hierarchy 'ball'.*aabb, obb, rss, octree"):
        CollisionModel.from_urdf(ARMS[0], hierarchy="ball")


def test_without_pairs_there_is_nothing_to_ask():
    box = Shape("box", np.eye(4), (0.1, 0.1, 0.1))
    model = CollisionModel(Robot("one", "base", {"base": Link("base", (box,))}, ()))
    with pytest.raises(NothingToCheckError):
        model.distance(np.empty(0), exact=True)
    assert model.distances(np.empty(0), exact=True).shape == (0,)


SHAPES = (
    Shape("box", at(1.0), (0.2, 0.4, 0.6)),
    mesh_shape(*mesh("ball")),
    Shape("sphere", at(0.0, 1.0), (0.1,)),
    mesh_shape(*mesh("cone"), at(0.0, 0.0, 2.0)),
)


def test_balls_and_extents_hold_their_parts():
    mesh_part, box, sphere = parts_of(SHAPES, "obb")
    vertices, _ = merged([SHAPES[1], SHAPES[3]])
    corners = at(1.0)[:3, 3] + np.array([0.1, 0.2, 0.3]) * [[1, 1, 1], [-1, -1, -1], [1, -1, 1]]
    for part, points in ((mesh_part, vertices), (box, corners)):
        distances = np.linalg.norm(points - part.ball[:3], axis=1)
        assert (distances <= part.ball[3]).all()
        assert part.ball[3] <= 1.01 * distances.max()
    assert sphere.ball == pytest.approx([0.0, 1.0, 0.0, 0.1])
    assert mesh_part.extent == pytest.approx(np.r_[vertices.min(axis=0), vertices.max(axis=0)])
    assert box.extent == pytest.approx([0.9, -0.2, -0.3, 1.1, 0.2, 0.3])
    assert sphere.extent == pytest.approx([-0.1, 0.9, -0.1, 0.1, 1.1, 0.1])
    link = box_around(np.array([mesh_part.extent, box.extent, sphere.extent]))
    assert (np.abs(vertices - link[:3]) <= link[3:]).all()


@given(st.integers(0, 2**32 - 1))
def test_no_two_points_come_nearer_by_more_than_both_links_moved(seed):
    rng = np.random.default_rng(seed)
    boxes = np.hstack([rng.normal(size=(2, 3)), rng.random((2, 3))])
    before, after = np.empty((4, 3)), np.empty((4, 3))
    turns = Rotation.from_rotvec(rng.normal(size=3)), Rotation.from_rotvec(rng.normal(0, 0.1, 3))
    before[:3], before[3] = turns[0].as_matrix(), rng.normal(size=3)
    after[:3] = (turns[1] * turns[0]).as_matrix()
    after[3] = before[3] + rng.normal(0.0, 0.1, 3)
    kept = np.empty((1, 13))
    keep(kept, 0, 1.0, before)
    moved = moved_since(kept, 0, boxes, 0, 1, after)
    one, other = (boxes[k, :3] + boxes[k, 3:] * rng.uniform(-1.0, 1.0, (50, 3)) for k in range(2))

    def distance(pose):
        there = other @ pose[:3].T + pose[3]
        return np.linalg.norm(one[:, None] - there[None], axis=2).min()

    assert abs(distance(after) - distance(before)) <= moved + 1e-12
    # Turning a thin link about its own axis moves it little.
    boxes[1], after[3] = [0.0, 0.0, 0.0, 0.01, 0.01, 1.0], before[3]
    after[:3] = before[:3] @ Rotation.from_rotvec([0.0, 0.0, 0.1]).as_matrix()
    assert moved_since(kept, 0, boxes, 0, 1, after) <= 0.1 * 0.0142
    back = [np.empty((4, 3)) for _ in range(2)]  # the same, seen from the other link
    for pose, inverse in zip((before, after), back, strict=True):
        inverse[:3], inverse[3] = pose[:3].T, -pose[:3].T @ pose[3]
    keep(kept, 0, 1.0, back[0])
    assert moved_since(kept, 0, boxes[::-1].copy(), 0, 1, back[1]) <= 0.1 * 0.0142


def test_obstacles_are_measured_too():
    scene = {
        "obstacles": [
            {"name": "wall", "type": "box", "size": [0.1, 4.0, 4.0], "position": [1.5, 0, 0]},
            {"name": "held", "type": "cylinder", "radius": 0.02, "length": 0.3,
             "link": "left_link_3", "position": [0, 0, 0.4]},
        ]
    }  # fmt: skip
    model = CollisionModel.from_urdf(ARMS[0], srdf=ARMS[1], scene=scene)
    rows = model.random_configurations(40, seed=6)
    seen = set()
    for q in rows:
        found = model.distance(q, exact=True)
        seen.update(found.links)
        assert model.distance(q).distance <= found.distance + 1e-9
    every = model.distances(rows[0], exact=True)
    assert np.isfinite(every).all()
    assert {"wall", "held"} & seen

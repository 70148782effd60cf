# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Objects that come, move and go: every distance as coal measures the same leaves and shapes."""

from dataclasses import replace

import numpy as np
import pytest
import trimesh
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from support.geometry.coal_shapes import coal_shape, least
from support.geometry.free_body import at
from support.geometry.reference import coal
from support.robots.robots import load_model
from support.robots.toys import joint, link, robot
from support.ros.live_cases import (
    LINKS,
    coal_leaves,
    coal_shapes,
    is_inside,
    pose_of,
    shape_of,
    ur5,
)

from collision_monitor import CollisionModel
from collision_monitor.errors import ConfigurationError, LiveSceneError
from collision_monitor.model.live.live_objects import Bounds
from collision_monitor.model.live.live_scene import CLOUD, LiveScene
from collision_monitor.model.live.object_geometry import ObjectGeometry
from collision_monitor.model.proximity import Nearness, Proximity
from collision_monitor.robot.description import Shape

BALL = np.array([[0.0] * 6 + [0.05]])
TOUCHES = ((), ("wrist_1_link", "o/3"), ("upper_arm_link",), ("table",))


@pytest.fixture(scope="module")
def live():
    return LiveScene(ur5(), Bounds(objects=8, leaves_per_object=8, voxels=40, carried=3))


@pytest.fixture(autouse=True)
def _empty(live):
    live.clear()


def several(rng):
    """Several solids and meshes in one object."""
    parts = []
    for kind in rng.choice(["box", "cylinder", "sphere", "capsule", "mesh", "rock"], 3):
        shape = replace(shape_of(kind, rng), pose=pose_of(rng, 0.2))
        parts.append(ObjectGeometry.of_shape(shape, 4))
    return ObjectGeometry.joined(parts)


def balls(rng):
    centers = rng.uniform(-0.3, 0.3, (11, 3))
    return np.column_stack([centers, centers, np.full(11, 0.02)])


def boxes(rng):
    return ObjectGeometry.of_boxes(rng.uniform(-0.3, 0.3, (9, 3)), (0.1, 0.02, 0.05))


# More leaves than `Bounds.leaves_per_object`.
MANY = {"balls": balls, "boxes": boxes, "several": several}


def number_of(live, names):
    one, other = map(live.row_of, names)
    return live.pair_table[one, other]


class Changes(RuleBasedStateMachine):
    """Anything may happen in any order; coal has seen none of it and looks at the leaves."""

    scene = None

    def __init__(self):
        super().__init__()
        if Changes.scene is None:
            Changes.scene = LiveScene(
                ur5(), Bounds(8, leaves_per_object=8, voxels=40, carried=3, triangles=100)
            )
        self.live = Changes.scene
        self.live.clear()
        self.refused = 0

    def some(self, seed):
        names = sorted(set(self.live.objects) - {CLOUD})
        return names[seed % len(names)]

    @rule(
        number=st.integers(0, 9),
        kind=st.sampled_from(["box", "sphere", "cylinder", "capsule", "mesh", "rock", *MANY]),
        carrier=st.sampled_from(LINKS),
        touch=st.sampled_from(TOUCHES),
        seed=st.integers(0, 999),
    )
    def add(self, number, kind, carrier, touch, seed):
        rng = np.random.default_rng(seed)
        pose = pose_of(rng, 0.9 if carrier is None else 0.3)
        before = dict(self.live.objects)
        try:
            shape = MANY[kind](rng) if kind in MANY else shape_of(kind, rng)
            self.live.add(f"o/{number}", shape, carrier, pose, touch)
        except LiveSceneError as error:
            assert "no room" in str(error)
            assert self.live.objects == before

    @precondition(lambda self: set(self.live.objects) - {CLOUD})
    @rule(seed=st.integers(0, 999))
    def move(self, seed):
        self.live.move(self.some(seed), pose_of(np.random.default_rng(seed), 0.9))

    @precondition(lambda self: set(self.live.objects) - {CLOUD})
    @rule(seed=st.integers(0, 999))
    def remove(self, seed):
        assert self.live.remove(self.some(seed))

    @precondition(lambda self: set(self.live.objects) - {CLOUD})
    @rule(
        seed=st.integers(0, 999), carrier=st.sampled_from(LINKS[2:]), touch=st.sampled_from(TOUCHES)
    )
    def attach(self, seed, carrier, touch):
        q = ur5().random_configurations(1, seed)[0]
        name = self.some(seed)
        before = self.live.segments(q)[name][0]
        try:
            if carrier is None:
                self.live.detach(name, q)
            else:
                self.live.attach(name, carrier, q, touch)
        except LiveSceneError as error:
            assert "no room" in str(error)
        np.testing.assert_allclose(self.live.segments(q)[name][0], before, atol=1e-9)

    @rule(count=st.integers(0, 40), seed=st.integers(0, 999))
    def cloud(self, count, seed):
        rng = np.random.default_rng(seed)
        self.live.set_cloud(np.column_stack([rng.uniform(-1, 1, (count, 3)), np.full(count, 0.03)]))

    @invariant()
    def agrees_with_coal(self):
        live = self.live
        q = ur5().random_configurations(1, live.changes)[0]
        found = live.distances(q)
        nearest = live.distance(q)
        assert len(found) == len(live.pairs) == len(set(map(frozenset, live.pairs)))
        if not len(found):
            assert nearest is None
            return
        assert nearest.distance == pytest.approx(found.min(), abs=1e-9)
        assert frozenset(nearest.links) in set(map(frozenset, live.pairs))
        a, b = nearest.points
        np.testing.assert_allclose(b - a, nearest.distance * nearest.normal, atol=1e-9)
        leaves = coal_leaves(live, q)
        expected = np.array([least(leaves[one], leaves[two]) for one, two in live.pairs])
        apart = expected > 1e-6
        np.testing.assert_allclose(found[apart], expected[apart], atol=1e-6)
        assert (found[~apart] < 2e-6).all()
        self.shapes_agree_with_coal(q, found, expected)

    def shapes_agree_with_coal(self, q, leaves, of_leaves):
        live, shapes = self.live, coal_shapes(self.live, q)
        expected = np.array([least(shapes[one], shapes[two]) for one, two in live.pairs])
        assert (of_leaves <= expected + 1e-6)[expected > 0.0].all()
        nearest, found = live.distance(q, exact=True), live.distances(q, 1.5)
        for k in np.flatnonzero((found <= 0.0) & (expected > 0.0)).tolist():
            assert is_inside(live, q, *live.pairs[k])
            expected[k] = 0.0
        near, apart = leaves <= 1.5, expected > 1e-6
        np.testing.assert_array_equal(found[~near], leaves[~near])
        np.testing.assert_allclose(found[near & apart], expected[near & apart], atol=3e-6)
        assert (found[~apart] < 3e-6).all()
        if apart.all() and near.any():
            assert nearest.distance == pytest.approx(expected.min(), abs=3e-6)
            assert frozenset(nearest.links) in set(map(frozenset, live.pairs))
            a, b = nearest.points
            np.testing.assert_allclose(b - a, nearest.distance * nearest.normal, atol=1e-6)
        elif not apart.all():
            assert nearest.distance <= 3e-6
        # What is known from a moment before is a bound.
        there = q + 1e-3
        shapes, numbers = coal_shapes(live, there), [number_of(live, pair) for pair in live.pairs]
        expected = np.array([least(shapes[one], shapes[two]) for one, two in live.pairs])
        leaves = live.distances(there)
        found = live.exact_bounds(there, numbers, leaves, 0.5)
        assert (found >= leaves).all()
        assert (found <= np.maximum(expected, leaves) + 3e-6)[expected > 0.0].all()


Changes.TestCase.settings = settings(max_examples=12, stateful_step_count=12, deadline=None)
TestChanges = Changes.TestCase


def test_a_contact_elsewhere_is_no_contact_of_a_pair_that_is_near(live):
    rng, seen = np.random.default_rng(4), 0
    capsule = ObjectGeometry.of_shape(Shape("capsule", np.eye(4), (0.05, 0.1)), 1)
    loose = replace(capsule, rows=np.array([[0.0] * 6 + [0.4]]))
    for q in ur5().random_configurations(40, 2):
        live.clear()
        poses = ur5().link_poses(q)
        live.add("held", BALL, "wrist_3_link", at(0.0, 0.0, 1.0))
        live.add("struck", BALL, None, poses["wrist_3_link"] @ at(0.0, 0.0, 1.099))
        if live.distance(q, exact=True).distance != pytest.approx(-0.001):
            continue  # another link is there
        live.add("near", loose, None, poses["forearm_link"] @ pose_of(rng, 0.3))
        shapes = coal_shapes(live, q)
        distances = {a: least(shapes[a], shapes[b]) for a, b in live.pairs if b == "near"}
        if min(distances.values()) < 1e-4:
            continue
        live.move("struck", poses["wrist_3_link"] @ at(0.0, 0.0, 1.09))
        assert live.distance(q, exact=True).distance == pytest.approx(-0.01)
        number = number_of(live, ("forearm_link", "near"))
        found = live.exact_bounds(q, [number], [-0.3], 1.0, 1e-6, seconds=1.0)
        np.testing.assert_allclose(found, distances["forearm_link"], atol=2e-6)
        seen += 1
    assert seen > 4


def test_nearness_is_that_of_the_nearest_object_and_of_the_nearest_link(live):
    rng = np.random.default_rng(3)
    for k in range(6):
        live.add(f"o{k}", BALL, "wrist_3_link" if k > 3 else None, at(*rng.uniform(-0.6, 0.6, 3)))
    thresholds = np.tile([0.05, 0.3], (len(live.pair_rows), 1))
    nearness, own = Nearness(ur5(), live), len(ur5().pairs)
    seen = 0
    for q in ur5().random_configurations(20, 4):
        expected = dict.fromkeys([*ur5().link_names, *live.objects], np.inf)
        for pair, distance in zip(live.pairs, live.distances(q), strict=True):
            if distance <= 0.3:
                part = max(0.0, (distance - 0.05) / 0.25)
                for name in pair:
                    expected[name] = min(expected[name], part)
                seen += 1
        rows = list(map(live.row_of, expected))
        found = nearness.of_leaves(q, thresholds, own)
        np.testing.assert_allclose(found[rows], list(expected.values()), atol=1e-9)
        of_links = nearness.of_distances(ur5().distances(q), thresholds)
        everything = nearness.of_leaves(q, thresholds)
        np.testing.assert_allclose(everything, np.minimum(found, of_links), atol=1e-9)
    assert seen > 20


def test_meshes_without_room_are_measured_by_their_leaves_until_there_is_room():
    live = LiveScene(ur5(), Bounds(objects=4, leaves_per_object=2, triangles=90))
    q, rng = np.full(6, 0.3), np.random.default_rng(1)
    center = ur5().link_poses(q)["ee_link"][:3, 3]

    def is_exact(name):
        """Whether distances are those of the mesh; otherwise they are too small."""
        thing, shapes = live.objects[name], coal_shapes(live, q)
        mesh = [(coal_shape(thing.shape), coal.Transform3s(thing.pose[:3, :3], thing.pose[:3, 3]))]
        pairs = [k for k, pair in enumerate(live.pairs) if name in pair]
        true = np.array([least(shapes[live.pairs[k][0]], mesh) for k in pairs])
        found = live.distances(q, 1.0)[pairs]
        assert (true > 1e-3).all() and (found <= true + 3e-6).all()
        return bool((found > true - 3e-6).all())

    def add(name, slices):
        shape = trimesh.creation.cylinder(0.02, 0.2, sections=slices)
        mesh = Shape("mesh", np.eye(4), (), np.array(shape.vertices), np.array(shape.faces))
        live.add(name, mesh, None, at(*center + rng.uniform(0.15, 0.3, 3)))

    for k, slices in enumerate((8, 6, 5)):  # 32, 24 and 20 triangles, and one more each
        add(f"mesh/{k}", slices)
    add("fourth", 6)
    live.prepare_exact()
    assert [is_exact(f"mesh/{k}") for k in range(3)] == [True] * 3
    assert live.measured_by_leaves == ["fourth"] and not is_exact("fourth")
    live.remove("mesh/1")
    live.remove("fourth")
    add("larger", 10)  # 41: only after the last of them is moved to the first
    assert live.measured_by_leaves == []
    assert is_exact("larger") and is_exact("mesh/0") and is_exact("mesh/2")
    add("larger", 16)
    assert live.measured_by_leaves == ["larger"] and not is_exact("larger")
    live.add("larger", Shape("sphere", np.eye(4), (0.02,)), None, at(*center + 0.2))
    assert live.measured_by_leaves == [] and is_exact("mesh/0") and is_exact("mesh/2")
    add("fourth", 11)
    assert live.measured_by_leaves == ["fourth"]
    live.remove("mesh/0")
    fourth = live.objects["fourth"]
    live.add("fourth", fourth.geometry, None, fourth.pose)  # the same again
    assert live.measured_by_leaves == [] and is_exact("fourth") and is_exact("mesh/2")


def test_an_object_keeps_its_parts_while_others_are_moved_in_memory():
    """Leaves move when they are fragmented; a mesh then finds room, so that meshes move as well."""
    live = LiveScene(ur5(), Bounds(objects=8, leaves_per_object=8, voxels=1, triangles=91))
    q, rng = np.full(6, 0.3), np.random.default_rng(1)
    center = ur5().link_poses(q)["ee_link"][:3, 3]

    def add(name, slices, boxes, where=(3.0, 3.0, 3.0)):
        parts = []
        if slices:
            drum = trimesh.creation.cylinder(0.03, 0.1, sections=slices)
            mesh = Shape("mesh", np.eye(4), (), np.array(drum.vertices), np.array(drum.faces))
            parts.append(ObjectGeometry.of_shape(mesh, 4))
        if boxes:
            parts.append(ObjectGeometry.of_boxes(rng.uniform(-0.1, 0.1, (boxes, 3)), (0.02,) * 3))
        live.add(name, ObjectGeometry.joined(parts), None, at(*where))

    live.prepare_exact()
    for name, slices, boxes in (("a", 9, 0), ("b", 5, 0), ("c", 9, 0), ("later", 12, 5)):
        add(name, slices, boxes)
    assert live.measured_by_leaves == ["later"]
    add("near", 0, 8, center + 0.25)
    live.remove("a")
    live.remove("c")
    for name, boxes in (("d", 16), ("e", 16), ("f", 8)):
        add(name, 0, boxes)
    for name in "def":
        live.remove(name)
    add("large", 0, 32)
    assert live.measured_by_leaves == []
    shapes = coal_shapes(live, q)
    for pair, found in zip(live.pairs, live.distances(q, 2.0), strict=True):
        if pair[1] == "near":
            assert found == pytest.approx(least(*(shapes[name] for name in pair)), abs=3e-6)


def test_points_of_a_contact_belong_to_its_links(live):
    """Leaves of a carried object and a fixed one are in another order than the pair."""
    q = np.array([0.0, -1.3, 2.3, -2.57, -1.57, 0.0])
    hand = ur5().link_poses(q)["wrist_3_link"]
    pose = np.linalg.inv(hand) @ at(*hand[:2, 3], -0.17)
    live.add("tool", Shape("box", np.eye(4), (0.03, 0.03, 0.2)), "wrist_3_link", pose,
             [name for name in ur5().link_names if name != "table"])  # fmt: skip
    one, other = (live.distance(q, exact) for exact in (False, True))
    assert one.distance == other.distance < -0.02
    assert set(one.links) == set(other.links) == {"tool", "table"}
    for name, point in zip(one.links, one.points, strict=True):
        np.testing.assert_allclose(other.points[other.links.index(name)], point, atol=1e-9)
    np.testing.assert_allclose(
        other.points[1] - other.points[0], other.distance * other.normal, atol=1e-9
    )


def test_a_mesh_that_is_none_is_refused_by_name(live):
    for triangles, why in (
        (np.zeros((0, 3), dtype=int), "no triangles"), (np.array([[0, 1, 3]]), "vertices 0 to 3")
    ):  # fmt: skip
        with pytest.raises(LiveSceneError, match=f"rock: .*{why}"):
            live.add("rock", Shape("mesh", np.eye(4), (), np.eye(3), triangles))


def test_which_pairs_are_checked(live):
    live.add("part", BALL, "wrist_3_link", touch=["wrist_2_link", "post"])
    live.add("post", BALL)
    live.add("lamp", BALL, "base_link")
    pairs = set(map(frozenset, live.pairs))
    moving = set(ur5().moving_links)
    assert {frozenset((name, "post")) for name in moving} <= pairs
    assert frozenset(("part", "lamp")) in pairs
    assert frozenset(("part", "table")) in pairs
    for one, two in (
        ("part", "post"), ("part", "wrist_2_link"), ("part", "wrist_3_link"), ("post", "lamp"),
        ("post", "table"), ("post", "base_link"),
    ):  # fmt: skip
        assert frozenset((one, two)) not in pairs


def test_a_large_robot_with_mimic_and_sliding_joints():
    model = load_model("pr2", max_leaves_per_link=1)
    live = LiveScene(model, Bounds(objects=40, leaves_per_object=8))
    rng = np.random.default_rng(5)
    carriers = [None] * 8 + ["r_gripper_palm_link", "l_forearm_link"]
    for k in range(40):
        carrier = carriers[k % 10]
        pose = pose_of(rng, 1.0 if carrier is None else 0.2)
        live.add(f"o/{k}", shape_of(["box", "sphere", "capsule"][k % 3], rng), carrier, pose)
    for seed in range(4):
        q = model.random_configurations(1, seed)[0]
        found = live.distances(q)
        assert live.distance(q).distance == pytest.approx(found.min(), abs=1e-9)
        leaves = coal_leaves(live, q)
        for k in rng.integers(0, len(found), 60).tolist():
            one, two = live.pairs[k]
            expected = least(leaves[one], leaves[two])
            if expected > 1e-6:
                assert found[k] == pytest.approx(expected, abs=1e-6)
            else:
                assert found[k] < 2e-6


def test_what_expires_is_gone_and_no_sooner(live):
    live.add("a", BALL, expires=10.0)
    live.add("b", BALL, expires=20.0)
    live.add("c", BALL)
    assert live.expire(9.9) == []
    assert live.expire(10.0) == ["a"]
    assert set(live.objects) == {"b", "c"}
    live.add("b", BALL, expires=30.0)  # said again: it lives on
    assert live.expire(25.0) == []
    assert live.expire(30.0) == ["b"]
    assert set(live.objects) == {"c"}


def test_too_many_objects_are_an_error_and_nothing_is_dropped(live):
    for k in range(8):
        live.add(f"o{k}", BALL, None, at(1.0 + k, 0, 0))
    with pytest.raises(LiveSceneError, match="one_more: no room: there are 8 objects already"):
        live.add("one_more", BALL)
    assert len(live.objects) == 8
    live.add("o3", BALL, None, at(0.5, 0, 0))  # in place of itself there is room
    with pytest.raises(LiveSceneError, match="no room for its 100 leaves"):
        live.add("o3", np.repeat(BALL, 100, axis=0))
    np.testing.assert_allclose(live.objects["o3"].pose, at(0.5, 0, 0))
    with pytest.raises(LiveSceneError, match="41 voxels, but there is room for 40"):
        live.set_cloud(np.zeros((41, 4)))
    for k in range(3):
        live.add(f"o{k}", BALL, "wrist_3_link")
    with pytest.raises(LiveSceneError, match="links carry 3 objects already"):
        live.add("o4", BALL, "wrist_3_link")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("", BALL), "name must be non-empty"),
        (("a b", BALL), "contain no spaces"),
        (("table", BALL), "has this name"),
        (("wrist_3_link", BALL), "has this name"),
        (("x", BALL, "nowhere"), "'nowhere' is not a link"),
        (("x", BALL, None, np.full((4, 4), np.nan)), "not finite"),
        (("x", BALL, None, np.diag([2.0, 1, 1, 1])), "not a rigid transform"),
        (("x", BALL, None, np.diag([-1.0, 1, 1, 1])), "not a rigid transform"),
        (("x", BALL, None, np.eye(3)), r"not \(4, 4\)"),
        (("x", np.full((1, 7), np.inf)), "not finite"),
        (("x", -BALL), "below 0 m"),
        (("x", np.zeros((0, 7))), r"not \(k, 7\)"),
        (("x", Shape("box", np.eye(4), (-0.2, 0.3, 0.4))), r"its size \(-0.2, .*not below 0 m"),
        (("x", Shape("cylinder", np.eye(4), (0.1, -0.4))), "a cylinder has 2 lengths, not below"),
        (("x", Shape("box", np.eye(4), (0.1, 0.4))), "a box has 3 lengths"),
        (("x", Shape("cone", np.eye(4), (0.1, 0.4))), "kind 'cone' is not supported"),
        (("x", Shape("sphere", np.eye(4), (0.1,)), None, np.eye(3)), r"not \(4, 4\)"),
        (("x", BALL, None, np.eye(4), "wrist_3_link"), "not a list of names"),
        (("x", BALL, None, np.eye(4), (), np.nan), "expires: nan is not a time"),
        (("x", [[0.0] * 7, [0.0]]), "its leaves: "),
        (("x", BALL, None, "nowhere"), "its pose: "),
    ],
)
def test_what_cannot_be_taken_is_refused_with_the_reason(live, arguments, why):
    with pytest.raises(LiveSceneError, match=why):
        live.add(*arguments)
    assert live.is_empty
    with pytest.raises(LiveSceneError, match="no such object"):
        live.move("x", np.eye(4))
    assert live.remove("x") is False


def test_a_configuration_of_any_kind_counts_in_full_or_is_refused(live):
    live.add("x", BALL, None, at(0.0, 0.0, 1.5))
    q = np.array([0.4, -1.0, 0.8, 0.1, 0.5, 0.2])
    pairs = np.array([live.pair_table[live.row_of("x"), live.row_of("wrist_3_link")]])
    asked = {
        "distance": lambda q: live.distance(q).distance,
        "exact distance": lambda q: live.distance(q, exact=True).distance,
        "distances": lambda q: live.distances(q, within=np.inf),
        "bounds": lambda q: live.exact_bounds(q, pairs, np.zeros(1), np.inf),
        "points": lambda q: live.surface_points(q, pairs, np.array([np.inf]))[0],
    }
    expected = {name: ask(q) for name, ask in asked.items()}
    for name, ask in asked.items():
        assert ask(q.tolist()) == pytest.approx(expected[name]), name
        for wrong in (q[:3], np.append(q, 0.0), q[None]):
            with pytest.raises(ConfigurationError, match="6 joints"):
                ask(wrong)


def test_a_pair_that_is_none_in_the_table_is_refused(live):
    live.add("x", BALL, None, at(0.0, 0.0, 1.5))
    none = [live.pair_table[live.row_of("x"), live.row_of("x")]]
    for ask in (
        lambda q: live.exact_bounds(q, none, [0.0], np.inf),
        lambda q: live.surface_points(q, none, np.array([np.inf])),
    ):
        with pytest.raises(IndexError, match="no pair -1"):
            ask(np.zeros(6))


def test_poses_balls_and_names_are_read_as_they_are_meant(live):
    live.add("x", BALL, None, at(0.0, 0.0, 1.5).tolist())
    live.move("x", at(0.0, 0.0, 2.0).tolist())
    np.testing.assert_allclose(live.objects["x"].pose, at(0.0, 0.0, 2.0))
    live.set_cloud([[1.0, 0.0, 0.0, 0.1]])
    with pytest.raises(LiveSceneError, match="'x' is not a list of names"):
        live.clear("x")
    assert set(live.objects) == {"x", CLOUD}


@pytest.mark.parametrize("kind", ["box", "mesh"])
def test_an_object_that_is_moved_keeps_its_shape_where_it_is_in_its_frame(live, kind):
    rng, q = np.random.default_rng(7), np.zeros(6)
    shape = replace(shape_of(kind, rng), pose=pose_of(rng, 0.3))
    pose = at(0.0, 0.0, 1.5) @ pose_of(rng, 0.0)
    live.add("x", shape)
    live.move("x", pose)
    place = pose @ shape.pose
    moved = [(coal_shape(shape), coal.Transform3s(place[:3, :3], place[:3, 3]))]
    links = coal_shapes(live, q)
    expected = [least(links[name], moved) for name, _ in live.pairs]
    np.testing.assert_allclose(live.distances(q, np.inf), expected, atol=1e-6)


def test_a_robot_that_does_not_move_has_no_live_scene():
    urdf = robot(link("a", '<sphere radius="0.1"/>'), link("b"), joint("j", "a", "b", "fixed"))
    model = CollisionModel.from_urdf(urdf)
    with pytest.raises(LiveSceneError, match="no link with a shape that moves"):
        LiveScene(model)


def test_a_robot_with_one_link_that_has_a_shape_has_a_live_scene():
    model = CollisionModel.from_urdf(robot(link("l0", ""), link("l1"), joint("j", "l0", "l1")))
    live = LiveScene(model)
    live.add("ball", np.array([[0.0, 0.0, 2.0, 0.0, 0.0, 2.0, 0.1]]))
    assert live.distance(np.zeros(1)).distance > 0.0


def test_a_motion_among_live_objects_is_not_certified(live):
    q = np.zeros(6)
    with pytest.raises(ConfigurationError, match="among live objects cannot be certified"):
        Proximity(ur5(), live).certify(q, q, np.zeros(len(live.pair_rows)))

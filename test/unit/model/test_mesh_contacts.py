# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""In which configurations meshes meet: against the library fcl, and by construction."""

from itertools import combinations

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation
from support.robots import robots, toys

from collision_monitor import CollisionModel
from collision_monitor.model.left_out_pairs import contacts_of_joint
from collision_monitor.model.mesh_contacts import LinkContacts, Solid
from collision_monitor.robot.bodies import link_poses, rigid_bodies
from collision_monitor.robot.description import Link, Robot, Shape
from collision_monitor.robot.insides import Inside
from collision_monitor.robot.urdf import load_robot


def meeting_shares(robot, poses, pairs, threshold=0.95):
    """Part of the configurations in which each pair meets."""
    solids = {name: Solid(robot.links[name].shapes, poses[name]) for pair in pairs for name in pair}
    return np.array([LinkContacts(solids[a], solids[b]).share(threshold) for a, b in pairs])


def at(*rows):
    """Poses (n, 4, 4) without rotation."""
    poses = np.tile(np.eye(4), (len(rows), 1, 1))
    poses[:, :3, 3] = rows
    return poses


def mesh_shape(mesh, pose=None):
    pose = np.eye(4) if pose is None else pose
    return Shape("mesh", pose, (), np.array(mesh.vertices), np.array(mesh.faces))


def two(a, b):
    """A robot of two links."""
    return Robot("r", "a", {"a": Link("a", a), "b": Link("b", b)}, ())


def test_depths_do_not_depend_on_how_a_robot_is_mounted():
    """A sheet in the notch of another, edge on: 1.9 mm thick, whatever way it looks."""
    sheet = (Shape("box", np.eye(4), (0.6, 0.1, 0.0019)),)
    poses = np.tile(np.eye(4), (40, 1, 1))
    poses[:, :3, :3] = Rotation.random(40, random_state=0).as_matrix()
    contacts = LinkContacts(Solid(sheet, poses), Solid(sheet, poses @ at([0.1, 0.05, 0.0])))
    assert all(contacts.is_shallow(k, 0.002) for k in range(40))
    assert not any(contacts.is_shallow(k, 0.0015) for k in range(40))


BALL = trimesh.creation.icosphere(2, 0.1)
ROOM = trimesh.creation.icosphere(2, 1.0)
PRIMITIVES = {
    "box": (0.2, 0.2, 0.2), "sphere": (0.1,), "cylinder": (0.1, 0.2), "capsule": (0.1, 0.1)
}  # fmt: skip
# Far outside, outside, across the surface, inside near it, in the middle.
PLACES = at([5, 0, 0], [1.25, 0, 0], [0.95, 0, 0], [0.7, 0.1, 0], [0, 0, 0])


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("kind", ["mesh", *PRIMITIVES])
def test_what_is_inside_a_closed_mesh_meets_it(kind, flipped):
    small = mesh_shape(BALL) if kind == "mesh" else Shape(kind, np.eye(4), PRIMITIVES[kind])
    poses = {"a": at(*[[0, 0, 0]] * 5), "b": PLACES}
    shapes = ((mesh_shape(ROOM),), (small,))
    pairs = [("a", "b")]
    if flipped:
        shapes, pairs = shapes[::-1], [("b", "a")]
        poses = {"b": poses["a"], "a": poses["b"]}
    assert meeting_shares(two(*shapes), poses, pairs, 0.0) == pytest.approx([3 / 5])


@pytest.mark.parametrize("kind", PRIMITIVES)
def test_a_mesh_inside_a_primitive_meets_it(kind):
    size = tuple(10.0 * value for value in PRIMITIVES[kind])
    robot = two((Shape(kind, np.eye(4), size),), (mesh_shape(BALL),))
    poses = {"a": at(*[[0, 0, 0]] * 3), "b": at([0, 0, 0], [0.95, 0, 0], [3, 0, 0])}
    assert meeting_shares(robot, poses, [("a", "b")], 0.0) == pytest.approx([2 / 3])


def test_an_open_mesh_holds_nothing():
    bowl = trimesh.Trimesh(ROOM.vertices, ROOM.faces[:-1], process=False)
    poses = {"a": at(*[[0, 0, 0]] * 5), "b": PLACES}
    robot = two((mesh_shape(bowl),), (mesh_shape(BALL),))
    assert meeting_shares(robot, poses, [("a", "b")], 0.0) == pytest.approx([1 / 5])


def test_one_closed_part_of_a_mesh_is_enough():
    far = ROOM.copy().apply_translation([9, 0, 0])
    bowl = trimesh.Trimesh(far.vertices, far.faces[:-1], process=False)
    both = trimesh.util.concatenate([bowl, ROOM])
    inside = Inside([mesh_shape(both)])
    assert len(inside.probes) == 2
    assert inside.holds_any(np.array([[0.0, 0.0, 0.0]]))
    assert not inside.holds_any(np.array([[9.0, 0.0, 0.0]]))
    two_balls = trimesh.util.concatenate([BALL.copy().apply_translation([4, 0, 0]), BALL])
    robot = two((mesh_shape(ROOM),), (mesh_shape(two_balls),))
    poses = {"a": at(*[[0, 0, 0]] * 3), "b": at([0, 0, 0], [-4, 0, 0], [-2, 0, 0])}
    assert meeting_shares(robot, poses, [("a", "b")], 0.0) == pytest.approx([2 / 3])


def test_links_without_shapes_never_meet_and_no_pairs_are_no_shares():
    robot = two((), (mesh_shape(BALL),))
    poses = {"a": at([0, 0, 0]), "b": at([0, 0, 0])}
    assert meeting_shares(robot, poses, [("a", "b")]) == [0.0]
    assert meeting_shares(robot, poses, []).shape == (0,)


def scenario(name, count, seed=0):
    """(robot, poses, pairs over different bodies) of a real robot."""
    files = robots.require(name)
    robot = load_robot(files.urdf, files.package_dirs)
    bodies = rigid_bodies(robot)
    links = [link.name for link in robot.links.values() if link.shapes]
    pairs = [
        (a, b) for a, b in combinations(links, 2)
        if bodies.link_bodies[a] != bodies.link_bodies[b]
    ]  # fmt: skip
    lower, upper = ([getattr(j, side) for j in bodies.joints] for side in ("lower", "upper"))
    rows = np.random.default_rng(seed).uniform(lower, upper, (count, len(bodies.joints)))
    return robot, link_poses(bodies, links, rows), pairs


def holding(robot, poses, pairs):
    """Whether (pairs, n) a part of one link lies inside a closed mesh of the other."""
    solids = {name: Solid(robot.links[name].shapes, poses[name]) for pair in pairs for name in pair}

    def holds(outer, inner, k):
        points = inner.inside.probes @ inner.poses[k, :3, :3].T + inner.poses[k, :3, 3]
        to_outer = np.linalg.inv(outer.poses[k])
        return outer.inside.holds_any(points @ to_outer[:3, :3].T + to_outer[:3, 3])

    count = len(next(iter(poses.values())))
    each = [[(solids[a], solids[b]), (solids[b], solids[a])] for a, b in pairs]
    return np.array([[any(holds(*p, k) for p in both) for k in range(count)] for both in each])


def fcl_meets(robot, poses, pairs):
    """Whether (pairs, n) links meet, by a slow loop over fcl, another implementation of the tests.

    Shapes that are wholly inside another are not looked for.
    """
    fcl = pytest.importorskip("fcl", reason="python-fcl is not installed")
    kinds = {"box": fcl.Box, "sphere": fcl.Sphere, "cylinder": fcl.Cylinder}

    def geometry(shape):
        if shape.kind != "mesh":
            return kinds[shape.kind](*shape.size)
        tree = fcl.BVHModel()
        tree.beginModel(len(shape.vertices), len(shape.triangles))
        tree.addSubModel(shape.vertices, shape.triangles)
        tree.endModel()
        return tree

    names = {name for pair in pairs for name in pair}
    objects = {
        name: [(fcl.CollisionObject(geometry(s)), s.pose) for s in robot.links[name].shapes]
        for name in names
    }
    count = len(next(iter(poses.values())))
    hits = np.zeros((len(pairs), count), dtype=bool)
    for k in range(count):
        for name in names:
            for thing, local in objects[name]:
                pose = poses[name][k] @ local
                thing.setTransform(fcl.Transform(pose[:3, :3], pose[:3, 3]))
        for p, (a, b) in enumerate(pairs):
            hits[p, k] = any(
                fcl.collide(one, other, fcl.CollisionRequest(), fcl.CollisionResult())
                for one, _ in objects[a] for other, _ in objects[b]
            )  # fmt: skip
    return hits


@pytest.mark.parametrize("name, count", [("ur5", 40), ("panda", 40), ("baxter", 5)])
def test_real_robots_meet_where_fcl_says_so_or_one_holds_the_other(name, count):
    robot, poses, pairs = scenario(name, count)
    shares = meeting_shares(robot, poses, pairs, 0.0)
    meets = fcl_meets(robot, poses, pairs)
    expected = np.mean(meets | holding(robot, poses, pairs), axis=1)
    both = zip(pairs, zip(shares, expected, strict=True), strict=True)
    differing = {pair: values for pair, values in both if values[0] != values[1]}
    # Closed fingers touch to within 1e-12 m: that is up to rounding.
    for side in "rl":
        differing.pop((f"{side}_gripper_l_finger", f"{side}_gripper_r_finger"), None)
    assert not differing
    assert (shares == 0.0).sum() > 0.3 * len(pairs)
    assert (expected > meets.mean(axis=1)).sum() <= 0.05 * len(pairs)


def test_a_pair_that_always_meets_and_one_that_never_does():
    robot, poses, pairs = scenario("ur5", 100)
    exact = dict(zip(pairs, meeting_shares(robot, poses, pairs, 0.0), strict=True))
    bounds = dict(zip(pairs, meeting_shares(robot, poses, pairs), strict=True))
    assert exact["upper_arm_link", "forearm_link"] == 1.0
    assert exact["base_link", "shoulder_link"] == 0.0
    for pair in pairs:
        assert bounds[pair] >= exact[pair]
        assert (bounds[pair] >= 0.95) == (exact[pair] >= 0.95)


def test_points_are_inside_where_trimesh_has_them():
    rng = np.random.default_rng(0)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = Rotation.random(random_state=1).as_matrix(), [1, 2, 3]
    torus = trimesh.creation.torus(0.5, 0.2)
    inside = Inside([mesh_shape(torus, pose)])
    points = rng.uniform(-0.7, 0.7, (300, 3))
    ring = np.hypot(np.hypot(points[:, 0], points[:, 1]) - 0.5, points[:, 2])
    points, ring = points[np.abs(ring - 0.2) > 0.02], ring[np.abs(ring - 0.2) > 0.02]
    moved = points @ pose[:3, :3].T + pose[:3, 3]
    found = [inside.holds_any(point[None]) for point in moved]
    assert found == (ring < 0.2).tolist()
    assert 10 < sum(found) < 200


def test_cylinders_whose_axes_cross_meet():
    """Without contacts, coal 3.0 stops its search early and misses them."""
    cylinders = (Shape("cylinder", np.eye(4), (0.06, 0.3)),)
    turned = at([0, 0, 0.14], [0, 0, 0.2], [0, 0, 0.22])
    turned[:, :3, :3] = Rotation.from_euler("x", 90, degrees=True).as_matrix()
    poses = {"a": at(*[[0, 0, 0]] * 3), "b": turned}
    shares = meeting_shares(two(cylinders, cylinders), poses, [("a", "b")], 0.0)
    assert shares == pytest.approx([2 / 3])


def slider(kind="prismatic", limit='<limit lower="0" upper="0.2" effort="1" velocity="1"/>'):
    """A box of 0.1 m on a slide along x, 0.05 m beside another; the other joints do not matter."""
    box, first = '<box size="0.1 0.1 0.1"/>', toys.joint("turn", "root", "a")
    slide = toys.joint("slide", "a", "b", kind, axis="-1 0 0", xyz="0.25 0 0")
    slide = slide.replace('<limit lower="-2" upper="2" effort="1" velocity="1"/>', limit)
    return toys.robot(
        toys.link("root"), toys.link("a", box), toys.link("b", box), first, slide
    )  # fmt: skip


def test_neighbours_are_measured_over_the_range_of_the_joint_between_them():
    """They meet from 0.15 of 0.2 m on, and are 0.05 m deep at its end."""
    model = CollisionModel.from_urdf(slider())
    found = contacts_of_joint(model, ("b", "a"))
    assert found[:2] == ("slide", pytest.approx(0.25, abs=2.0 / 64))
    assert found.depth == pytest.approx(0.0515, abs=0.002)
    for lower, upper, share in ((0.0, 0.1, 0.0), (0.17, 0.2, 1.0)):
        limit = f'<limit lower="{lower}" upper="{upper}" effort="1" velocity="1"/>'
        found = contacts_of_joint(CollisionModel.from_urdf(slider(limit=limit)), ("a", "b"))
        assert found == ("slide", share, 0.0)


def test_mimic_joints_are_measured_over_the_range_that_their_leader_gives():
    urdf = slider().replace("</joint></robot>", '<mimic joint="lead" multiplier="0.5"/></joint>')
    urdf += toys.link("far") + toys.joint("lead", "root", "far", "prismatic", xyz="5 0 0")
    urdf = urdf.replace('lower="-2" upper="2"', 'lower="0" upper="0.4"') + "</robot>"
    found = contacts_of_joint(CollisionModel.from_urdf(urdf), ("a", "b"))
    assert found[:2] == ("slide", pytest.approx(0.25, abs=2.0 / 64))
    assert found.depth == pytest.approx(0.0515, abs=0.002)


def test_continuous_joints_are_measured_over_one_turn():
    """A bar beside the axis passes a post in a known part of a turn."""
    urdf = toys.robot(
        toys.link("post", '<box size="0.02 0.02 1"/>', "0.5 0 0"),
        toys.link("bar", '<box size="0.5 0.2 0.2"/>', "0.5 0 0"),
        toys.joint("turn", "post", "bar", "continuous", xyz="0 0 0"),
    )
    found = contacts_of_joint(CollisionModel.from_urdf(urdf), ("post", "bar"))
    half = np.arcsin(0.1 / 0.5)  # the post is half a width off the axis of the bar
    assert found.joint == "turn" and found.share == pytest.approx(half / np.pi, abs=2.0 / 64)
    assert found.depth == pytest.approx(0.1 + 0.01, abs=0.01)  # half of both widths


def test_neighbours_that_no_limit_keeps_apart_are_a_warning(caplog):
    """A continuous joint has no limits; round housings in touch are no collision."""
    thigh = toys.link("thigh", '<box size="0.02 0.02 1"/>', "0.5 0 0")

    def warned(shin, kind="continuous", **options):
        caplog.clear()
        urdf = toys.robot(thigh, shin, toys.joint("knee", "thigh", "shin", kind, xyz="0 0 0"))
        model = CollisionModel.from_urdf(urdf, **options)
        texts = [text for text in model.warnings if "in a part of the turn" in text]
        assert [text in caplog.text for text in texts] == [True] * len(texts)
        return texts

    shin = toys.link("shin", '<box size="0.5 0.2 0.2"/>', "0.5 0 0")
    for _ in range(2):  # the second time from the cache
        (text,) = warned(shin)
        assert "no limits that keep them apart: shin - thigh over 'knee'; rules that" in text
    assert warned(shin, "revolute") == []
    assert warned(shin, checked=["thigh shin"]) == []
    for length, meets in ((0.979, False), (0.983, False), (0.99, True)):  # apart, 1.5 and 5 mm
        assert bool(warned(toys.link("shin", f'<box size="{length} 0.01 0.01"/>'))) == meets


@pytest.mark.parametrize(
    ("places", "part"),
    [
        ([[0.4, 0, 0], [0, 0, 0], [-0.4, 0, 0]], 0.0),  # all at the middle of the second bar
        ([[0.4, 0.4, 0], [0, 0, 0], [-0.4, -0.4, 0]], 0.8),
        ([[2, 0, 0], [3, 0, 0], [4, 0, 0]], 0.0),  # no contact
    ],
)
def test_places_of_contact_are_apart_if_they_are_on_both_links(places, part):
    """Two bars of 1 m that cross each other."""
    sizes = (1.0, 0.02, 0.02), (0.02, 1.0, 0.02)
    bars = [mesh_shape(trimesh.creation.box(size)) for size in sizes]
    contacts = LinkContacts(Solid(bars[:1], at(*[[0, 0, 0]] * 3)), Solid(bars[1:], at(*places)))
    assert contacts.place_part() == pytest.approx(part, abs=0.05)

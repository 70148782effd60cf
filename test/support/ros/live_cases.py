# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Shapes and poses for tests of live scenes, and what coal says of them."""

from functools import cache

import numpy as np
import trimesh
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from collision_monitor import CollisionModel
from collision_monitor.fitting.coverage import winding_numbers
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.robot.description import Shape
from support.geometry.coal_shapes import coal_capsule, coal_shape
from support.geometry.reference import coal
from support.robots.robots import require

TABLE = {"obstacles": [
    {"name": "table", "type": "box", "size": [1.0, 1.0, 0.1], "position": [0.0, 0.0, -0.3]},
], "ignore": [["wrist_2_link", "ee_link"]]}  # fmt: skip
LINKS = (None, None, None, "wrist_3_link", "forearm_link", "base_link")


@cache
def ur5() -> CollisionModel:
    """A UR5 on a table."""
    files = require("ur5")
    return CollisionModel.from_urdf(
        files.urdf, srdf=files.srdf, package_dirs=files.package_dirs, scene=TABLE
    )


def pose_of(rng: np.random.Generator, reach: float = 1.2) -> np.ndarray:
    """A pose (4, 4) at random."""
    pose = np.eye(4)
    pose[:3, :3] = Rotation.random(random_state=rng).as_matrix()
    pose[:3, 3] = rng.uniform(-reach, reach, 3)
    return pose


def shape_of(kind: str, rng: np.random.Generator) -> Shape:
    """A box, sphere, cylinder, capsule, mesh of loose triangles or closed one of 2 to 40 cm."""
    at_home = np.eye(4)
    if kind == "mesh":
        corners = rng.uniform(-0.2, 0.2, (12, 3, 3))
        return Shape("mesh", at_home, (), corners.reshape(-1, 3), np.arange(36).reshape(-1, 3))
    if kind == "rock":
        hull = trimesh.convex.convex_hull(rng.uniform(-0.2, 0.2, (20, 3)))
        return Shape("mesh", at_home, (), np.array(hull.vertices), np.array(hull.faces))
    count = {"box": 3, "sphere": 1, "cylinder": 2, "capsule": 2}[kind]
    return Shape(kind, at_home, tuple(rng.uniform(0.02, 0.4, count).tolist()))


KINDS = st.sampled_from(["box", "sphere", "cylinder", "capsule", "mesh"])


def points_of(shape: Shape, rng: np.random.Generator, count: int = 300) -> np.ndarray:
    """Points (n, 3) of a shape, corners and rims among them, in its own frame."""
    if shape.kind == "mesh":
        weights = rng.dirichlet(np.full(3, 0.5), (count, len(shape.triangles)))
        corners = shape.vertices[shape.triangles]
        inner = np.einsum("ntk,tkd->ntd", weights, corners).reshape(-1, 3)
        return np.vstack([inner, shape.vertices])
    if shape.kind == "box":
        signs = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T
        unit = np.vstack([rng.uniform(-1, 1, (count, 3)), signs])
        return 0.5 * unit * shape.size
    turn = rng.uniform(0, 2 * np.pi, count)
    if shape.kind == "cylinder":
        radius, length = shape.size
        z = rng.choice([-0.5, 0.5, 0.0], count) * length
        return np.column_stack([radius * np.cos(turn), radius * np.sin(turn), z])
    ball = rng.normal(size=(count, 3))
    ball *= shape.size[0] / np.linalg.norm(ball, axis=1)[:, None]
    if shape.kind == "capsule":
        ball[:, 2] += np.sign(ball[:, 2]) * 0.5 * shape.size[1]
    return ball


def coal_leaves(live: LiveScene, q: np.ndarray) -> dict[str, list]:
    """By link and object what coal is asked about: all leaves at q."""
    model = live.model
    found: dict[str, list] = {}
    for leaf, ends in zip(model.leaves, model.leaf_segments(q), strict=True):
        found.setdefault(leaf.link, []).append(coal_capsule(ends, leaf.radius))
    for name, (ends, radii) in live.segments(q).items():
        found[name] = [coal_capsule(*each) for each in zip(ends, radii, strict=True)]
    return found


def coal_shapes(live: LiveScene, q: np.ndarray) -> dict[str, list]:
    """By link and object what coal is asked about: shapes at q, leaves of what has none."""
    found = {}
    for name, link, pose in _links(live, q):
        found[name] = [_placed(shape, pose) for shape in link.shapes]
    poses, leaves = live.model.link_poses(q), coal_leaves(live, q)
    for name, thing in live.objects.items():
        if name in live.measured_by_leaves:
            found[name] = leaves[name]
            continue
        pose, geometry = poses[thing.link] @ thing.pose, thing.geometry
        found[name] = [_placed(mesh, pose) for mesh in geometry.meshes]
        for row, place in zip(*geometry.solids, strict=True):
            at = pose @ place
            found[name].append((_coal_solid(row), coal.Transform3s(at[:3, :3], at[:3, 3])))
    return found


def _links(live: LiveScene, q: np.ndarray):
    """Names, shapes and poses of links and obstacles of the scene file."""
    poses = live.model.link_poses(q)
    for name, link in live.model.exact_shapes.links().items():
        yield name, link, poses.get(name, link.pose)  # obstacles stand on the base


def _coal_solid(row: np.ndarray):
    """A row of `geometry.convex`: a box, a cylinder, or a segment with a radius."""
    x, y, z, is_round, radius = map(float, row)
    if radius > 0.0:
        assert x == y == 0.0
        return coal.Capsule(radius, 2.0 * z) if z > 0.0 else coal.Sphere(radius)
    return coal.Cylinder(x, 2.0 * z) if is_round else coal.Box(2.0 * x, 2.0 * y, 2.0 * z)


def _surfaces(live: LiveScene, q: np.ndarray, name: str) -> tuple[list, np.ndarray]:
    """Triangles of each mesh of a link or object at q, and points of all that it is made of."""
    if name in live.objects:
        thing = live.objects[name]
        pose = live.model.link_poses(q)[thing.link] @ thing.pose
        shapes, places = thing.geometry.meshes, pose @ thing.geometry.solids.places
    else:
        (link, pose), = [(link, pose) for each, link, pose in _links(live, q) if each == name]
        shapes = [shape for shape in link.shapes if shape.kind == "mesh"]
        places = np.array([pose @ s.pose for s in link.shapes if s.kind != "mesh"])
    meshes, points = [], [places.reshape(-1, 4, 4)[:, :3, 3]]
    for mesh in shapes:
        at = pose @ mesh.pose
        vertices = mesh.vertices @ at[:3, :3].T + at[:3, 3]
        meshes.append(np.ascontiguousarray(vertices[mesh.triangles]))
        points.append(vertices)
    return meshes, np.vstack(points)


def is_inside(live: LiveScene, q: np.ndarray, *names: str) -> bool:
    """Whether a mesh of one has a point of the other inside; coal does not ask."""
    one, other = (_surfaces(live, q, name) for name in names)
    # Coal knows whether a solid has something inside.
    return any(
        (np.abs(winding_numbers(points, mesh)) > 0.5).any()
        for meshes, points in ((one[0], other[1]), (other[0], one[1]))
        for mesh in meshes
    )


@cache
def _kept(shape: Shape):
    return coal_shape(shape)


def _placed(shape: Shape, pose: np.ndarray) -> tuple:
    pose = pose @ shape.pose
    return _kept(shape), coal.Transform3s(pose[:3, :3], pose[:3, 3])

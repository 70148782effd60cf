# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A model of two links of which one moves freely: three slides, then three turns."""

from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from collision_monitor import CollisionModel
from collision_monitor.geometry.leaf import Leaf
from collision_monitor.mesh_distance.parts import parts_of
from collision_monitor.robot.description import Joint, Link, Robot, Shape

AXES = np.eye(3)


def mesh_shape(vertices, triangles, pose=None) -> Shape:
    """A mesh as a shape."""
    return Shape("mesh", np.eye(4) if pose is None else pose, (), np.array(vertices, dtype=float),
                 np.array(triangles))  # fmt: skip


def at(x=0.0, y=0.0, z=0.0) -> np.ndarray:
    """A pose without a turn."""
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


def free_body(fixed: Sequence[Shape], moving: Sequence[Shape], hierarchy="obb") -> CollisionModel:
    """Joints q = (x, y, z, turns about x, then y, then z of the body) move ``moving``.

    Each link has one leaf, a ball around it.
    """
    names = ["fixed", "x", "y", "z", "a", "b", "moving"]
    links = {name: Link(name) for name in names}
    links["fixed"], links["moving"] = Link("fixed", tuple(fixed)), Link("moving", tuple(moving))
    joints = tuple(
        Joint(
            f"to_{child}", "prismatic" if k < 3 else "revolute", parent, child, np.eye(4),
            AXES[k % 3], -3.0, 3.0,
        )
        for k, (parent, child) in enumerate(zip(names, names[1:], strict=False))
    )  # fmt: skip
    robot = Robot("free", "fixed", links, joints)
    leaves = {name: [_ball(name, links[name].shapes)] for name in ("fixed", "moving")}
    return CollisionModel(robot, leaves=leaves, hierarchy=hierarchy)


def _ball(name: str, shapes: Sequence[Shape]) -> Leaf:
    balls = np.array([part.ball for part in parts_of(shapes, "aabb")])
    center = balls[:, :3].mean(axis=0)
    radius = (np.linalg.norm(balls[:, :3] - center, axis=1) + balls[:, 3]).max()
    return Leaf(name, center, center, float(radius))


def outwards(clearance) -> np.ndarray:
    """The way along which the moving link gets away from the fixed one."""
    return clearance.normal if clearance.links[0] == "fixed" else -clearance.normal


def middle_of(model: CollisionModel, name: str) -> np.ndarray:
    """Centre of the leaf of a link, in its frame."""
    return next(leaf.p0 for leaf in model.leaves if leaf.link == name)


def turned(q) -> tuple[np.ndarray, np.ndarray]:
    """(rotation, translation) of the moving link at q."""
    return Rotation.from_euler("XYZ", q[3:]).as_matrix(), np.array(q[:3])

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A robot as plain data: links with collision shapes, joints between them.

Lengths in metres, angles in radians, poses as 4x4 homogeneous matrices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

MOVING_JOINT_KINDS = ("revolute", "continuous", "prismatic")


@dataclass(frozen=True, eq=False)
class Shape:
    """One collision shape of a link.

    ``pose`` places the shape's own frame in the link frame. ``size`` is
    (x, y, z) for a box, (radius,) for a sphere, (radius, length) for a cylinder
    or a capsule (``length`` is that of the straight part, axis along z), and
    empty for a mesh. A mesh carries ``vertices`` (n, 3) in its own frame, scale
    applied, and ``triangles`` (m, 3).
    """

    kind: str  # "mesh", "box", "cylinder", "sphere" or "capsule"
    pose: np.ndarray
    size: tuple[float, ...] = ()
    vertices: np.ndarray | None = None
    triangles: np.ndarray | None = None
    source: str = ""  # where it came from, for messages: a file, or "box of link 'x'"

    @property
    def content(self) -> tuple:
        """Everything that affects distances, for the keys of caches."""
        return self.kind, self.pose, self.size, self.vertices, self.triangles


@dataclass(frozen=True, eq=False)
class Link:
    """A link and its collision shapes (none for a bare frame)."""

    name: str
    shapes: tuple[Shape, ...] = ()


@dataclass(frozen=True)
class Mimic:
    """Position of a joint that follows another: multiplier * q + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint; ``origin`` is the child frame in the parent frame at position zero."""

    name: str
    kind: str  # "fixed", "revolute", "continuous", "prismatic", "floating" or "planar"
    parent: str
    child: str
    origin: np.ndarray
    axis: np.ndarray  # unit vector in the child frame
    lower: float = 0.0  # position limits; -pi and pi for a continuous joint
    upper: float = 0.0
    velocity: float = np.inf  # limits above 0; infinite if there is none
    effort: float = np.inf
    mimic: Mimic | None = None
    # of the safety_controller, which controllers and MoveIt keep; infinite if there is none
    soft: tuple[float, float] = (-np.inf, np.inf)
    has_limits: bool = True  # false if they are assumed, or 0 to 0

    @property
    def moves(self) -> bool:
        """Whether the joint has a degree of freedom that this package follows."""
        return self.kind in MOVING_JOINT_KINDS

    @property
    def rest(self) -> float:
        """Where it is held if nobody says otherwise: at zero, or the nearer limit; rad or m."""
        return min(max(0.0, self.lower), self.upper)


@dataclass(frozen=True, eq=False)
class Robot:
    """A tree of links.

    A joint always comes after the joint that carries its parent link: those of a URDF depth
    first from the root (children in file order), those of several robots one robot after another.
    ``mounts`` names the fixed joints by which robots were put together (`composed`).
    """

    name: str
    root: str
    links: dict[str, Link]
    joints: tuple[Joint, ...]
    warnings: tuple[str, ...] = field(default=())
    mounts: frozenset[str] = frozenset()

    @cached_property
    def joint_named(self) -> dict[str, Joint]:
        """The joints by name."""
        return {joint.name: joint for joint in self.joints}

    @cached_property
    def parts(self) -> dict[str, int]:
        """The robot that each link belongs to, by number: those put together are several."""
        parts = {self.root: 0}
        for number, joint in enumerate(self.joints, 1):
            parts[joint.child] = number if joint.name in self.mounts else parts[joint.parent]
        return parts

    def joints_above(self, link: str) -> list[Joint]:
        """Joints from a link up to the root."""
        joints = []
        while link in self._carriers:
            joints.append(self._carriers[link])
            link = joints[-1].parent
        return joints

    @cached_property
    def _carriers(self) -> dict[str, Joint]:
        return {joint.child: joint for joint in self.joints}

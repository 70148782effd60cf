# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Obstacles around a robot, from a YAML file.

::

    obstacles:
      - name: table                    # required, unlike any link and other obstacle
        type: box                      # box, sphere, cylinder, capsule or mesh
        size: [1.2, 0.8, 0.05]         # box: edge lengths
        position: [0.5, 0.0, -0.03]    # of the centre; default 0 0 0
        rpy: [0.0, 0.0, 1.57]          # roll, pitch, yaw about fixed axes; default 0 0 0
        link: base_link                # the link it is fixed to; default the root
      - name: column
        type: cylinder                 # axis along z; a capsule likewise, and its
        radius: 0.1                    # length is that of the straight part
        length: 2.0
      - name: fixture
        type: mesh
        file: meshes/fixture.stl       # from the scene's folder, or package://, file://
        scale: 0.001                   # one number or three; default 1
        orientation: [0, 0, 0, 1]      # quaternion x y z w, instead of rpy
      - name: door_panel
        type: box
        size: [0.9, 0.03, 2.0]
        position: [0.45, 0.0, 1.0]     # in the frame of the joint
        joint: door                    # moved by a joint of the scene, instead of link
    joints:
      - name: door
        type: revolute                 # revolute, continuous or prismatic
        axis: [0, 0, 1]                # in the joint's frame
        position: [1.0, 0.5, 0.0]      # of that frame at zero, and rpy or orientation
        link: base_link                # or joint: an earlier one; default the root
        lower: 0.0                     # limits; none for a continuous joint
        upper: 1.6
        velocity: 0.5                  # limit, if there is one
    ignore:
      - [table, base_link]             # pairs not to check, links or obstacles
      - ["finger_*", "finger_*"]       # patterns as the shell has them

Metres and radians. Every key is checked, and an unknown one is an error: a
misspelt obstacle would not be monitored.

Joints of a scene follow those of the robot in q. The child of each is a link without a shape,
under the joint's name, to which obstacles are fixed.
"""

from __future__ import annotations

import logging
import math
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from collision_monitor.common.limits import (
    LARGEST_OF_JOINT,
    add_triangles,
    check_count,
    check_time,
    range_problem,
)
from collision_monitor.common.text import did_you_mean, six_digits
from collision_monitor.errors import SceneError
from collision_monitor.geometry.meshes import MeshLoader
from collision_monitor.robot.description import MOVING_JOINT_KINDS, Joint, Link, Robot, Shape
from collision_monitor.robot.packages import FileFinder
from collision_monitor.robot.poses import pose_problem
from collision_monitor.robot.shape_kinds import KINDS, size_problem
from collision_monitor.robot.yaml_values import Entry, pose_of, read_yaml, shown

logger = logging.getLogger(__name__)

_WILD = re.compile(r"[*?\[]")
_KEYS = KINDS | {"mesh": ("file", "scale")}
_COMMON = ("name", "type", "position", "orientation", "rpy", "link", "joint")
_JOINT_KEYS = (*_COMMON, "axis", "velocity")
_LIMITS = ("lower", "upper")
_ALL_KEYS = tuple(dict.fromkeys((*_COMMON, *(key for keys in _KEYS.values() for key in keys))))


@dataclass(frozen=True, eq=False)
class Obstacle:
    """A named shape fixed to a link; the shape's pose is in that link's frame.

    The link may be that of a joint of the scene, which has the joint's name.

    Raises:
        SceneError: the shape has no valid size or pose.
    """

    name: str
    link: str
    shape: Shape

    def __post_init__(self) -> None:
        """Check size and pose: a shape with NaN would be far from everything."""
        if problem := size_problem(self.shape) or pose_problem(self.shape.pose):
            raise SceneError(f"obstacle {self.name!r}: its {problem}")


@dataclass(frozen=True, eq=False)
class Scene:
    """Obstacles, pairs of names (links or obstacles) not to check, joints that move obstacles."""

    obstacles: tuple[Obstacle, ...] = ()
    ignore: tuple[tuple[str, str], ...] = ()
    joints: tuple[Joint, ...] = ()


def require_places(scene: Scene, robot: Robot) -> None:
    """Raise SceneError for an obstacle without a name or a link of its own.

    ``robot``: with the joints of the scene.
    """
    taken = set(robot.links)
    for obstacle in scene.obstacles:
        if obstacle.link not in robot.links:
            raise SceneError(f"obstacle {obstacle.name!r}: there is no link {obstacle.link!r}")
        if obstacle.name in taken:
            raise SceneError(f"obstacle {obstacle.name!r}: a link or an obstacle has this name")
        taken.add(obstacle.name)


def mesh_files(robot: Robot, scene: Scene) -> frozenset[str]:
    """Paths of the meshes of links and obstacles."""
    shapes = [shape for link in robot.links.values() for shape in link.shapes]
    shapes += [obstacle.shape for obstacle in scene.obstacles]
    return frozenset(shape.source for shape in shapes if shape.kind == "mesh")


def load_scene(
    source: str | os.PathLike | Mapping[str, Any],
    robot: Robot,
    package_dirs: Sequence[str | os.PathLike] = (),
) -> Scene:
    """Load a scene from a YAML file or from a mapping with the same keys.

    Raises SceneError; the message starts with the key's path.
    """
    if isinstance(source, Mapping):
        path, name, data = None, "scene", source
    elif isinstance(source, (str, os.PathLike)):
        path = Path(source)
        name, data = path.name, read_yaml(source, "scene")
    else:
        raise SceneError(
            f"scene: expected the path of a YAML file or a mapping, got {type(source).__name__}"
        )
    top = Entry(name, {} if data is None else data, ("obstacles", "joints", "ignore"))
    finder = FileFinder(package_dirs, path)
    meshes = MeshLoader()
    joints = _read_joints(f"{name}: joints", top.list("joints"), robot)
    obstacles: dict[str, Obstacle] = {}
    check_count("max_shapes", len(top.list("obstacles")), name)
    for i, item in enumerate(top.list("obstacles")):
        check_time("reading the scene")
        obstacle = _obstacle(f"{name}: obstacles[{i}]", item, robot, joints, finder, meshes)
        for known, what in (
            (obstacles, "an obstacle"), (robot.links, "a link of the robot"),
            (joints, "a joint of the scene"),
        ):  # fmt: skip
            if obstacle.name in known:
                taken = f"{obstacle.name!r} is already {what}"
                raise SceneError(f"{name}: obstacles[{i}].name: {taken}")
        obstacles[obstacle.name] = obstacle
    if path is not None and not obstacles and not top.list("ignore"):
        logger.warning("%s: is empty; no obstacle is monitored", path)
    known = dict.fromkeys((*robot.links, *obstacles))
    ignore = tuple(
        pair
        for i, item in enumerate(top.list("ignore"))
        for pair in _pairs(f"{name}: ignore[{i}]", item, known)
    )
    idle = dict.fromkeys(joints)
    for obstacle in obstacles.values():
        link = obstacle.link
        while link in idle:
            del idle[link]
            link = joints[link].parent
    if idle:
        logger.warning("%s: joints that move no obstacle: %s", name, ", ".join(idle))
    return Scene(tuple(obstacles.values()), ignore, tuple(joints.values()))


def _obstacle(
    path: str,
    item: object,
    robot: Robot,
    joints: dict[str, Joint],
    finder: FileFinder,
    meshes: MeshLoader,
) -> Obstacle:
    entry = Entry(path, item, _ALL_KEYS)
    name = entry.text("name")
    kind = entry.choice("type", tuple(KINDS))
    entry.allow_only((*_COMMON, *_KEYS[kind]), f"a {kind}")
    link = _carrier(entry, robot, joints)
    placed = pose_of(entry)
    if kind == "mesh":
        file = finder.find(entry.text("file"), f"{path}.file", SceneError)
        vertices, triangles = meshes.load(file, f"{path}.file", _scale(entry), SceneError)
        add_triangles(len(triangles), f"{path}: {file}")
        shape = Shape("mesh", placed, (), vertices, triangles, str(file))
    else:
        if kind == "box":
            size = tuple(entry.numbers("size", 3, positive=True))
        else:
            size = tuple(entry.number(key, positive=True) for key in KINDS[kind])
        for value in size:
            if problem := range_problem(value, is_size=True):
                entry.fail("size" if kind == "box" else kind, problem)
        shape = Shape(kind, placed, size, source=f"obstacle {name!r}")
    return Obstacle(name, link, shape)


def _scale(entry: Entry) -> tuple[float, ...]:
    if "scale" not in entry:
        return (1.0, 1.0, 1.0)
    if entry.is_list("scale"):
        scale = entry.numbers("scale", 3)
    else:
        scale = (entry.number("scale"),) * 3
    if 0.0 in scale:
        entry.fail("scale", f"no factor may be zero, got {six_digits(scale)}")
    return scale


def _pairs(path: str, item: object, known: Collection[str]) -> list[tuple[str, str]]:
    """One pair of names, or all that two patterns name, each once."""
    if not isinstance(item, (list, tuple)) or len(item) != 2:
        raise SceneError(f"{path}: expected a pair of names, got {shown(item)}")
    if any(isinstance(name, str) and _WILD.search(name) for name in item):
        first, second = (
            [name for name in known if fnmatchcase(name, str(pattern))] for pattern in item
        )
        pairs: dict[frozenset[str], tuple[str, str]] = {}
        for pair in product(first, second):
            if pair[0] != pair[1]:
                pairs.setdefault(frozenset(pair), pair)
        if not pairs:
            raise SceneError(f"{path}: {shown(item)} names no two links or obstacles")
        return list(pairs.values())
    for name in item:
        if not isinstance(name, str) or name not in known:
            hint = f"; {close}" if (close := did_you_mean(name, known)) else ""
            raise SceneError(f"{path}: {shown(name)} is neither a link nor an obstacle{hint}")
    if item[0] == item[1]:
        raise SceneError(f"{path}: both names are {item[0]!r}")
    return [(item[0], item[1])]


def _read_joints(path: str, items: Sequence[object], robot: Robot) -> dict[str, Joint]:
    """Joints by name out of the list ``joints`` of a scene; ``path`` is for messages.

    Raises SceneError; the message starts with the key's path.
    """
    joints: dict[str, Joint] = {}
    taken = {joint.name: "a joint of the robot" for joint in robot.joints}
    taken |= dict.fromkeys(robot.links, "a link of the robot")
    for i, item in enumerate(items):
        joint = _joint(f"{path}[{i}]", item, robot, joints)
        if joint.name in taken:
            raise SceneError(f"{path}[{i}].name: {joint.name!r} is already {taken[joint.name]}")
        taken[joint.name] = "a joint of the scene"
        joints[joint.name] = joint
    return joints


def _carrier(entry: Entry, robot: Robot, joints: dict[str, Joint]) -> str:
    """The link that an obstacle or a joint is fixed to; by default the robot's root."""
    if "joint" not in entry:
        return entry.choice("link", tuple(robot.links), "link") if "link" in entry else robot.root
    if "link" in entry:
        entry.fail("joint", "give link or joint, not both")
    if not joints:
        entry.fail("joint", "the scene has no joint before it, under 'joints'")
    return entry.choice("joint", tuple(joints), "joint of the scene")


def with_joints(robot: Robot, joints: Sequence[Joint]) -> Robot:
    """The robot with the joints of a scene behind its own."""
    if not joints:
        return robot
    frames = {joint.child: Link(joint.child) for joint in joints}
    return replace(robot, links=robot.links | frames, joints=(*robot.joints, *joints))


def without_joints(robot: Robot, joints: Sequence[Joint]) -> Robot:
    """The robot as it was before `with_joints`."""
    if not joints:
        return robot
    names = {joint.name for joint in joints}
    return replace(
        robot,
        links={name: link for name, link in robot.links.items() if name not in names},
        joints=tuple(joint for joint in robot.joints if joint.name not in names),
    )


def _joint(path: str, item: object, robot: Robot, joints: dict[str, Joint]) -> Joint:
    entry = Entry(path, item, (*_JOINT_KEYS, *_LIMITS))
    name = entry.text("name")
    kind = entry.choice("type", MOVING_JOINT_KINDS)
    lower, upper = -math.pi, math.pi
    if kind == "continuous":
        entry.allow_only(_JOINT_KEYS, "a continuous joint")
    else:
        lower, upper = (entry.number(key) for key in _LIMITS)
        if lower > upper:
            entry.fail("lower", f"{lower:g} is above the upper limit {upper:g}")
        for key, value in zip(_LIMITS, (lower, upper), strict=True):
            if problem := range_problem(value):
                entry.fail(key, problem)
    axis = np.array(entry.numbers("axis", 3))
    norm = math.hypot(*axis)
    if not 1e-9 < norm < math.inf:
        entry.fail("axis", f"{list(six_digits(axis))} has no direction; it should be a unit vector")
    velocity = math.inf
    if "velocity" in entry:
        velocity = entry.number("velocity", positive=True)
        if problem := range_problem(velocity, largest=LARGEST_OF_JOINT):
            entry.fail("velocity", problem)
    return Joint(
        name, kind, _carrier(entry, robot, joints), name, pose_of(entry), axis / norm,
        lower, upper, velocity,
    )  # fmt: skip

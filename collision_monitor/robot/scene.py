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
misspelt obstacle is an obstacle that nobody watches.
"""

from __future__ import annotations

import difflib
import logging
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import Any

from collision_monitor.common.magnitudes import beyond_reason, too_small
from collision_monitor.errors import SceneError
from collision_monitor.geometry.meshes import MeshLoader
from collision_monitor.robot.description import Joint, Robot, Shape
from collision_monitor.robot.packages import FileFinder
from collision_monitor.robot.scene_joints import carrier, read_joints
from collision_monitor.robot.yaml_values import Entry, pose_of, read_yaml, shown

logger = logging.getLogger(__name__)

_WILD = re.compile(r"[*?\[]")
_KINDS = {
    "box": ("size",),
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),
    "mesh": ("file", "scale"),
}
_COMMON = ("name", "type", "position", "orientation", "rpy", "link", "joint")
_ALL_KEYS = tuple(dict.fromkeys((*_COMMON, *(key for keys in _KINDS.values() for key in keys))))


@dataclass(frozen=True, eq=False)
class Obstacle:
    """A named shape fixed to a link; the shape's pose is in that link's frame.

    The link may be that of a joint of the scene, which has the joint's name.
    """

    name: str
    link: str
    shape: Shape


@dataclass(frozen=True, eq=False)
class Scene:
    """Obstacles, pairs of names (links or obstacles) not to check, joints that move obstacles."""

    obstacles: tuple[Obstacle, ...] = ()
    ignore: tuple[tuple[str, str], ...] = ()
    joints: tuple[Joint, ...] = ()


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
    joints = read_joints(f"{name}: joints", top.list("joints"), robot)
    obstacles: dict[str, Obstacle] = {}
    for i, item in enumerate(top.list("obstacles")):
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
    kind = entry.choice("type", tuple(_KINDS))
    entry.allow_only((*_COMMON, *_KINDS[kind]), f"a {kind}")
    link = carrier(entry, robot, joints)
    placed = pose_of(entry)
    if kind == "mesh":
        file = finder.find(entry.text("file"), f"{path}.file", SceneError)
        vertices, triangles = meshes.load(file, f"{path}.file", _scale(entry), SceneError)
        shape = Shape("mesh", placed, (), vertices, triangles, str(file))
    else:
        if kind == "box":
            size = entry.numbers("size", 3, positive=True)
        else:
            size = tuple(entry.number(key, positive=True) for key in _KINDS[kind])
        for value in size:
            if problem := beyond_reason(value, is_size=True):
                entry.fail(_KINDS[kind][0] if kind == "box" else kind, problem)
        if problem := too_small(kind, size):
            entry.fail("radius", problem)
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
        entry.fail("scale", f"no factor may be zero, got {scale}")
    return scale


def _pairs(path: str, item: object, known: Collection[str]) -> list[tuple[str, str]]:
    """One pair of names, or all that two patterns name, each once."""
    if not isinstance(item, (list, tuple)) or len(item) != 2:
        raise SceneError(f"{path}: expected a pair of names, got {shown(item)}")
    if any(isinstance(name, str) and _WILD.search(name) for name in item):
        first, second = (
            [name for name in known if fnmatchcase(name, str(pattern))] for pattern in item
        )
        found: dict[frozenset[str], tuple[str, str]] = {}
        for pair in product(first, second):
            if pair[0] != pair[1]:
                found.setdefault(frozenset(pair), pair)
        if not found:
            raise SceneError(f"{path}: {shown(item)} names no two links or obstacles")
        return list(found.values())
    for name in item:
        if not isinstance(name, str) or name not in known:
            close = difflib.get_close_matches(name, known, 1) if isinstance(name, str) else ()
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise SceneError(f"{path}: {shown(name)} is neither a link nor an obstacle{hint}")
    if item[0] == item[1]:
        raise SceneError(f"{path}: both names are {item[0]!r}")
    return [(item[0], item[1])]

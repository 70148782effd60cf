# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Leaves as a YAML file, for review and for editing by hand.

::

    robot: panda
    shapes: 0f3c...  # optional digest of the collision shapes they are for
    links:
      panda_link1:
        - {p0: [0.0, 0.0, -0.19], p1: [0.0, 0.0, -0.07], radius: 0.06}   # a capsule
        - {center: [0.0, -0.01, 0.0], radius: 0.07}                      # a sphere

Metres, in the frame of the link. Every key is checked. Every link with collision shapes must be
listed, because a missing one would not be monitored.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from collision_monitor.common.disk_cache import content_key
from collision_monitor.common.files import write_text
from collision_monitor.common.limits import array_range_problem, range_problem
from collision_monitor.common.text import did_you_mean
from collision_monitor.errors import LeavesError, SceneError
from collision_monitor.geometry.leaf import Leaf
from collision_monitor.robot.description import Robot
from collision_monitor.robot.yaml_values import Entry, read_yaml, shown

_DECIMALS = 6  # of a metre: one micrometre
# Metres by which radii grow. Leaves of a box just touch its corners and each other; without this
# margin `check_enclosing` would have to halve triangles too often.
_RADIUS_MARGIN = 1e-5


def write_leaves(
    path: str | os.PathLike,
    robot_name: str,
    leaves: Mapping[str, Sequence[Leaf]],
    about: Mapping[str, object] | None = None,
    shapes: str = "",
) -> None:
    """Write leaves, each in the frame of its link, in the format of `read_leaves`, atomically.

    Numbers are rounded to a micrometre. Radii are rounded up by the shift of the ends plus 0.01 mm,
    so that the written leaves enclose the given ones and `check_enclosing` is fast.

    Args:
        path: the file; an existing one is replaced.
        robot_name: compared by the reader.
        leaves: by name of link.
        about: description of the fit; written as comments at the top of the file.
        shapes: `shapes_digest` of the robot, if the file must be rejected for other shapes.

    Raises:
        LeavesError: the file cannot be written.
    """
    lines = ["# Leaves (capsules and spheres) around the links of a robot, of collision_monitor."]
    for key, value in (about or {}).items():
        lines.append("# " + " ".join(f"{key}: {value}".split()))
    lines += [
        "# Metres, in the frame of the link. A capsule is all within radius of the segment from",
        "# p0 to p1, a sphere all within radius of center. Format: docs/reports/leaves.md.",
        f"robot: {_quoted(robot_name)}",
        *([f"shapes: {_quoted(shapes)}"] if shapes else []),
        "links:" if leaves else "links: {}",
    ]
    for link, of_link in leaves.items():
        lines.append(f"  {_quoted(link)}:" + ("" if of_link else " []"))
        lines += [f"    - {_leaf_line(leaf)}" for leaf in of_link]
    try:
        write_text(path, "\n".join(lines) + "\n")
    except OSError as problem:
        raise LeavesError(f"{path}: cannot be written: {problem.strerror or problem}") from None


def shapes_digest(robot: Robot) -> str:
    """Digest of all collision shapes of a robot; poses and sizes are rounded to a nanometre."""
    parts = [
        (
            link.name, shape.kind, [_rounded(shape.pose), _rounded(shape.size)],
            *(() if shape.kind != "mesh" else (_rounded(shape.vertices), shape.triangles)),
        )
        for link in robot.links.values() for shape in link.shapes
    ]  # fmt: skip
    return content_key("shapes", parts)


def _rounded(values: object) -> np.ndarray:
    return np.round(np.asarray(values, dtype=float) * 1e9).astype(np.int64)


def _quoted(name: str) -> str:
    """Quote a name for YAML: "1e3", "no" or "a: b" must stay a string."""
    return yaml.safe_dump(name, default_style='"', width=math.inf).strip()


def _leaf_line(leaf: Leaf) -> str:
    p0, p1 = np.round(leaf.p0, _DECIMALS), np.round(leaf.p1, _DECIMALS)
    moved = max(np.linalg.norm(p0 - leaf.p0), np.linalg.norm(p1 - leaf.p1))
    radius = math.ceil((leaf.radius + moved + _RADIUS_MARGIN) * 10**_DECIMALS) / 10**_DECIMALS
    if np.array_equal(p0, p1):
        return f"{{center: {_triple(p0)}, radius: {radius:.{_DECIMALS}f}}}"
    return f"{{p0: {_triple(p0)}, p1: {_triple(p1)}, radius: {radius:.{_DECIMALS}f}}}"


def _triple(point: np.ndarray) -> str:
    return "[" + ", ".join(f"{value + 0.0:.{_DECIMALS}f}" for value in point) + "]"


def read_leaves(
    source: str | os.PathLike | Mapping[str, Any], robot: Robot
) -> dict[str, list[Leaf]]:
    """Return leaves by name of link, in the links' order, from a file or an equivalent mapping.

    It does not check enclosure; see `fitting.enclosure.check_enclosing`.

    Raises:
        LeavesError: invalid leaves; the message starts with the path of the key.
    """
    try:
        return _read(source, robot)
    except SceneError as problem:  # scene files share these checks of values
        raise LeavesError(str(problem)) from None


def _read(source: object, robot: Robot) -> dict[str, list[Leaf]]:
    if isinstance(source, Mapping):
        name, data = "leaves", source
    elif isinstance(source, (str, os.PathLike)):
        name, data = Path(source).name, read_yaml(source, "leaves file")
    else:
        raise LeavesError(
            f"leaves: expected the path of a YAML file or a mapping, got {type(source).__name__}"
        )
    top = Entry(name, {} if data is None else data, ("robot", "shapes", "links"))
    if "robot" in top and top.text("robot") != robot.name:
        top.fail(
            "robot",
            f"made for {top.text('robot')!r}, but this robot is {robot.name!r}; if they are "
            "meant for it, change or delete the line",
        )
    if "shapes" in top and top.text("shapes") != shapes_digest(robot):
        top.fail(
            "shapes",
            f"the collision shapes of {robot.name!r} are not those that the leaves were made for; "
            "fit them again, or delete the line if they still enclose the links",
        )
    links = data.get("links") if isinstance(data, Mapping) else None
    if not isinstance(links, Mapping):
        top.fail("links", "expected link names, each with a list of leaves, " + _describe(links))
    for link in links:
        _check_link(f"{name}: links.{str(link)[:80]}", link, robot)
    result = {}
    for link in robot.links.values():
        if not link.shapes:
            continue
        path = f"{name}: links.{link.name}"
        items = links.get(link.name)
        if link.name not in links:
            raise LeavesError(f"{path}: is missing; a link with a shape needs leaves")
        if not isinstance(items, (list, tuple)) or not items:
            raise LeavesError(f"{path}: expected a list of one leaf or more, {_describe(items)}")
        result[link.name] = [_leaf(f"{path}[{k}]", item, link.name) for k, item in enumerate(items)]
    return result


def _describe(value: object) -> str:
    return "got nothing" if value is None else f"got {type(value).__name__} {shown(value)}"


def _check_link(path: str, link: object, robot: Robot) -> None:
    if link not in robot.links:
        hint = f"; {close}" if (close := did_you_mean(link, robot.links)) else ""
        raise LeavesError(f"{path}: the robot {robot.name!r} has no such link{hint}")
    if not robot.links[link].shapes:
        raise LeavesError(
            f"{path}: the link has no collision shape; what it carries can be an obstacle of "
            "the scene that is fixed to it"
        )


def _leaf(path: str, item: object, link: str) -> Leaf:
    entry = Entry(path, item, ("p0", "p1", "center", "radius"))
    if "center" in entry:
        entry.allow_only(("center", "radius"), "a sphere")
        p0 = p1 = np.array(entry.numbers("center", 3))
    else:
        p0, p1 = (np.array(entry.numbers(key, 3)) for key in ("p0", "p1"))
    radius = entry.number("radius", positive=True)
    if problem := array_range_problem(np.array([*p0, *p1])):
        entry.fail("center" if "center" in entry else "p0, p1", problem)
    if problem := range_problem(radius):
        entry.fail("radius", problem)
    return Leaf(link, p0, p1, radius)

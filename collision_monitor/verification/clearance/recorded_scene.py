# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Obstacles of topics, out of a recording of the monitor."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from collision_monitor.errors import MissingDependencyError, MotionError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.robot.scene import Scene, load_scene

_NAME, _KEY = "collision_monitor", "scene_at_stop"


def recorded_obstacles(path: Path) -> dict[str, Any]:
    """``obstacles`` and ``ignore`` as a scene file has them, of the first stop of a recording.

    No obstacles where the file is no recording of the monitor, or nothing was there.

    Raises:
        MissingDependencyError: mcap is not installed.
        MotionError: the file cannot be read.
    """
    nothing = {"obstacles": [], "ignore": []}
    if path.suffix.lower() != ".mcap" or not path.is_file():
        return nothing
    if find_spec("mcap") is None:
        raise MissingDependencyError(
            "obstacles of a recording need mcap: pip install 'collision_monitor[record]'"
        )
    from mcap.reader import make_reader

    try:
        with path.open("rb") as stream:
            for found in make_reader(stream).iter_metadata():
                if found.name == _NAME and _KEY in found.metadata:
                    return json.loads(found.metadata[_KEY])
    except Exception as error:  # mcap raises what its parts do on damaged files
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise MotionError(f"{path}: its obstacles cannot be read: {reason}") from None
    return nothing


def recording_note(path: Path) -> str:
    """A note on a recording whose obstacles of topics are not checked; empty if it has none."""
    try:
        count = len(recorded_obstacles(path)["obstacles"])
    except MissingDependencyError as error:
        return f"{path}: whether it has obstacles of topics is not known: {error}"
    except MotionError as error:
        return str(error)
    if not count:
        return ""
    return (
        f"{path}: obstacles of topics that were there at its stop are not checked ({count}); "
        "--recorded-scene takes them"
    )


def with_recorded(model: CollisionModel, recorded: dict[str, Any]) -> CollisionModel:
    """The model with these obstacles added.

    Raises:
        SceneError: an obstacle on a link that the robot lacks, or under the name of one.
        MotionError: one of them is in the scene already.
    """
    given = model.scene
    both = {each.name for each in given.obstacles} & {one["name"] for one in recorded["obstacles"]}
    if both:
        raise MotionError(f"{min(both)}: is an obstacle of the scene and of the recording")
    found = load_scene({"obstacles": recorded["obstacles"]}, model.robot)
    known = {*model.robot.links, *(each.name for each in (*given.obstacles, *found.obstacles))}
    ignore = tuple((a, b) for a, b in recorded["ignore"] if {a, b} <= known)
    return model.with_scene(
        Scene(given.obstacles + found.obstacles, given.ignore + ignore, given.joints)
    )

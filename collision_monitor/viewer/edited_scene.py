# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A scene with an obstacle moved, added or taken away, and its text as a file.

Scenes are values: each function returns a new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import yaml
from scipy.spatial.transform import Rotation

from collision_monitor.errors import SceneError
from collision_monitor.robot.description import Joint, Robot
from collision_monitor.robot.scene import Obstacle, Scene, load_scene

KINDS = ("box", "sphere", "cylinder", "capsule")


def moved(scene: Scene, name: str, pose: np.ndarray) -> Scene:
    """With the obstacle's centre at ``pose`` (4, 4) in the frame of the link that carries it."""
    return replace(
        scene,
        obstacles=tuple(
            replace(one, shape=replace(one.shape, pose=pose)) if one.name == name else one
            for one in scene.obstacles
        ),
    )


def removed(scene: Scene, name: str) -> Scene:
    """Without that obstacle, and without what is said of its pairs."""
    return replace(
        scene,
        obstacles=tuple(one for one in scene.obstacles if one.name != name),
        ignore=tuple(pair for pair in scene.ignore if name not in pair),
    )


def added(scene: Scene, robot: Robot, kind: str, size: tuple[float, float, float],
          position: np.ndarray) -> tuple[Scene, str]:  # fmt: skip
    """With one more obstacle, fixed to the robot's root; returns its name too.

    ``size``: edges of the box (metres) that the new obstacle just fills, its axis along z.

    Raises:
        SceneError: a size that is not positive, or that no such shape fills: a capsule that is
            longer than thick is needed.
    """
    x, y, z = (float(value) for value in size)
    taken = {*robot.links, *(one.name for one in scene.obstacles)}
    taken |= {joint.name for joint in robot.joints}
    number = 1
    while (name := f"{kind}_{number}") in taken:
        number += 1
    radius = 0.5 * min(x, y)
    values: dict[str, Mapping[str, Any]] = {
        "box": {"size": [x, y, z]},
        "sphere": {"radius": 0.5 * min(x, y, z)},
        "cylinder": {"radius": radius, "length": z},
        "capsule": {"radius": radius, "length": z - 2.0 * radius},
    }
    if kind not in values:
        raise SceneError(f"a new obstacle is one of {', '.join(KINDS)}, not {kind!r}")
    item = {"name": name, "type": kind, "position": np.asarray(position).tolist(), **values[kind]}
    one = load_scene({"obstacles": [item]}, robot).obstacles[0]
    return replace(scene, obstacles=(*scene.obstacles, one)), name


def scene_text(scene: Scene, root: str) -> str:
    """The scene as a YAML file that `load_scene` reads; ``root`` is the robot's root link.

    Raises:
        SceneError: an obstacle that is a mesh, of which file and scale are not known any more.
    """
    data: dict[str, Any] = {"obstacles": [_obstacle(one, scene, root) for one in scene.obstacles]}
    if scene.joints:
        data["joints"] = [_joint(joint, scene, root) for joint in scene.joints]
    if scene.ignore:
        data["ignore"] = [list(pair) for pair in scene.ignore]
    return yaml.safe_dump(data, sort_keys=False, default_flow_style=None)


def _obstacle(one: Obstacle, scene: Scene, root: str) -> dict[str, Any]:
    shape = one.shape
    item: dict[str, Any] = {"name": one.name, "type": shape.kind}
    if shape.kind == "box":
        item["size"] = [float(value) for value in shape.size]
    elif shape.kind == "mesh":
        raise SceneError(
            f"obstacle {one.name!r} is a mesh: a scene that has one is not written; change its "
            "numbers in the file"
        )
    else:
        item |= dict(zip(("radius", "length"), map(float, shape.size), strict=False))
    return item | _place(shape.pose) | _carrier(one.link, scene, root)


def _joint(joint: Joint, scene: Scene, root: str) -> dict[str, Any]:
    item: dict[str, Any] = {
        "name": joint.name, "type": joint.kind, "axis": joint.axis.tolist(),
        **_place(joint.origin), **_carrier(joint.parent, scene, root),
    }  # fmt: skip
    if joint.kind != "continuous":
        item |= {"lower": float(joint.lower), "upper": float(joint.upper)}
    if np.isfinite(joint.velocity):
        item["velocity"] = float(joint.velocity)
    return item


def _place(pose: np.ndarray) -> dict[str, Any]:
    place = {"position": [round(value, 6) for value in pose[:3, 3].tolist()]}
    if not np.allclose(pose[:3, :3], np.eye(3), atol=1e-9):
        turn = Rotation.from_matrix(pose[:3, :3]).as_quat().tolist()
        place["orientation"] = [round(value, 9) for value in turn]
    return place


def _carrier(link: str, scene: Scene, root: str) -> dict[str, str]:
    if any(joint.name == link for joint in scene.joints):
        return {"joint": link}
    return {} if link == root else {"link": link}

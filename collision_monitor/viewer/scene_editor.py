# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Editing of obstacles on the page, and the edited scene as a YAML file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import yaml
from scipy.spatial.transform import Rotation

from collision_monitor.common.limits import LARGEST
from collision_monitor.errors import SceneError
from collision_monitor.robot.description import Joint, Robot, Shape
from collision_monitor.robot.scene import Obstacle, Scene, load_scene
from collision_monitor.robot.shape_kinds import bounding_ball, sizes_by_key
from collision_monitor.viewer.controls import Later
from collision_monitor.viewer.scene_nodes import node_path, pose_of, position_and_wxyz

KINDS = ("box", "sphere", "cylinder", "capsule")

_NONE = "(none)"

# -- operations on scenes, which return new ones --


def moved(scene: Scene, name: str, pose: np.ndarray) -> Scene:
    """The scene with an obstacle centred at ``pose`` (4, 4) in the frame of its link."""
    return replace(
        scene,
        obstacles=tuple(
            replace(one, shape=replace(one.shape, pose=pose)) if one.name == name else one
            for one in scene.obstacles
        ),
    )


def removed(scene: Scene, name: str) -> Scene:
    """The scene without an obstacle and its ignored pairs."""
    return replace(
        scene,
        obstacles=tuple(one for one in scene.obstacles if one.name != name),
        ignore=tuple(pair for pair in scene.ignore if name not in pair),
    )


def added(scene: Scene, robot: Robot, kind: str, size: tuple[float, float, float],
          position: np.ndarray) -> tuple[Scene, str]:  # fmt: skip
    """The scene with another obstacle, fixed to the root link; and the name of the obstacle.

    ``size``: edges of the bounding box of the new obstacle, metres; its axis is along z.

    Raises:
        SceneError: a size is not positive, or not valid for the shape: a capsule must be longer
            than thick.
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
    """The scene as a YAML file that `load_scene` reads; ``root`` is the root link.

    Raises:
        SceneError: an obstacle is a mesh, whose file and scale are unknown.
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
    if shape.kind == "mesh":
        raise SceneError(
            f"obstacle {one.name!r} is a mesh: a scene with meshes cannot be saved; edit its "
            "file instead"
        )
    item |= sizes_by_key(shape)
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


# -- on the page --


class SceneEditor:
    """Edits a scene: ``scene`` is the edited one, ``changed`` is set by every edit.

    All methods except callbacks of a browser must be called in the loop of the page.
    """

    def __init__(
        self,
        server: Any,
        model: Any,
        chosen: Callable[[str | None], None],
        later: Later,
        say: Callable[[str], None],
    ) -> None:
        """``chosen``: called with the chosen obstacle; ``later``: runs actions in the loop.

        ``say``: shows a note.
        """
        self.scene: Scene = model.scene
        self.changed = False
        self._robot, self._root = model.robot, model.root
        self._loaded = model.scene
        self._server, self._later, self._show_note = server, later, say
        self._chosen, self._on_chosen = _NONE, chosen
        self._gizmo: Any = None
        self._middle = np.zeros(3)
        gui = server.gui
        self._menu = gui.add_dropdown("obstacle", self._names(), initial_value=_NONE)
        self._menu.on_update(
            lambda event: later(lambda: self.choose(self._menu.value)) if event.client else None
        )
        gui.add_button("Remove it").on_click(lambda event: later(self._remove))
        gui.add_button("All as loaded").on_click(lambda event: later(self._reset))
        gui.add_button("Save as YAML").on_click(lambda event: later(lambda: self._save(event)))
        with gui.add_folder("New obstacle", expand_by_default=False):
            self._kind = gui.add_dropdown("shape", KINDS)
            self._size = gui.add_vector3(
                "size [m]", (0.1, 0.1, 0.2), min=(0.001,) * 3, max=(100.0,) * 3, step=0.01
            )
            gui.add_button("Add").on_click(lambda event: later(self._add))

    @property
    def edited(self) -> bool:
        """Whether the scene differs from the loaded one."""
        return self.scene is not self._loaded

    def put_new_ones_at(self, position: np.ndarray) -> None:
        """Set the position of new obstacles, (3,) in the base frame."""
        self._middle = np.asarray(position, dtype=float)

    def choose(self, name: str | None) -> None:
        """Attach the handles to an obstacle; None or ``(none)`` for none."""
        self._chosen = name if name in self._names() else _NONE
        if self._gizmo is not None:
            self._gizmo.remove()
            self._gizmo = None
        self._menu.value = self._chosen
        self._on_chosen(None if self._chosen == _NONE else self._chosen)
        if self._chosen == _NONE:
            return
        obstacle = next(one for one in self.scene.obstacles if one.name == self._chosen)
        position, wxyz = position_and_wxyz(obstacle.shape.pose)
        gizmo = self._server.scene.add_transform_controls(
            node_path("robot", obstacle.link, "handles"), scale=_reach(obstacle.shape),
            position=position, wxyz=wxyz, depth_test=False,
        )  # fmt: skip
        # The position of the handle is the newest one, regardless of the order of events.
        gizmo.on_update(lambda event: self._later(lambda: self._move(gizmo, obstacle.name)))
        self._gizmo = gizmo

    def _names(self) -> list[str]:
        return [_NONE, *(one.name for one in self.scene.obstacles)]

    def _set(self, scene: Scene) -> None:
        self.scene, self.changed = scene, True
        if tuple(self._names()) != tuple(self._menu.options):
            self._menu.options = self._names()

    def _move(self, gizmo: Any, name: str) -> None:
        if gizmo is self._gizmo and name == self._chosen:
            values = np.array([*gizmo.position, *gizmo.wxyz], dtype=float)
            # A client may send any values, including NaN.
            if not np.abs(values).max() <= LARGEST or not values[3:].any():
                raise SceneError(f"{name}: {values[:3]}, {values[3:]} is not a pose within 10 km")
            pose = pose_of(gizmo.position, gizmo.wxyz)
            self._set(moved(self.scene, name, pose))

    def _remove(self) -> None:
        if self._chosen == _NONE:
            self._show_note("choose an obstacle first")
            return
        name = self._chosen
        self.choose(None)
        self._set(removed(self.scene, name))

    def _reset(self) -> None:
        self.show(self._loaded)

    def show(self, scene: Scene) -> None:
        """Replace the edited scene."""
        self.choose(None)
        self._set(scene)

    def _add(self) -> None:
        scene, name = added(
            self.scene, self._robot, self._kind.value, self._size.value, self._middle
        )
        self._set(scene)
        self.choose(name)

    def _save(self, event: Any) -> None:
        text = scene_text(self.scene, self._root)
        if event.client is None:
            raise SceneError("no browser is connected to send the scene to")
        event.client.send_file_download("scene.yaml", text.encode(), save_immediately=True)


def _reach(shape: Shape) -> float:
    """Length of the handles of a shape, metres: about as large as the shape."""
    _, radius = bounding_ball(shape)
    return min(max(1.6 * radius, 0.2), 0.5)

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Obstacles moved, added and taken away by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from collision_monitor.errors import SceneError
from collision_monitor.robot.scene import Scene
from collision_monitor.viewer import edited_scene
from collision_monitor.viewer.motion_panel import Later
from collision_monitor.viewer.poses_and_colours import node_path, pose_of, position_and_wxyz

_NONE = "(none)"


class SceneEditor:
    """Edits a scene: ``scene`` is what it is now, ``changed`` whether it is another one.

    All but what a browser calls is for the loop of the page.
    """

    def __init__(
        self,
        server: Any,
        model: Any,
        chosen: Callable[[str | None], None],
        later: Later,
        say: Callable[[str], None],
    ) -> None:
        """``model``: whose scene; ``chosen``: told which obstacle is; ``say``: of trouble."""
        self.scene: Scene = model.scene
        self.changed = False
        self._robot, self._root = model.robot, model.root
        self._loaded = model.scene
        self._server, self._later, self._say = server, later, say
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
            self._kind = gui.add_dropdown("shape", edited_scene.KINDS)
            self._size = gui.add_vector3(
                "size [m]", (0.1, 0.1, 0.2), min=(0.001,) * 3, max=(100.0,) * 3, step=0.01
            )
            gui.add_button("Add").on_click(lambda event: later(self._add))

    @property
    def edited(self) -> bool:
        """Whether it is another scene than the one that was loaded."""
        return self.scene is not self._loaded

    def put_new_ones_at(self, position: np.ndarray) -> None:
        """Where new obstacles begin, (3,) in the base frame."""
        self._middle = np.asarray(position, dtype=float)

    def choose(self, name: str | None) -> None:
        """Put the handles on an obstacle; None or ``(none)`` for no obstacle."""
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
        # The handle's own position is the newest one, whatever the order of the events.
        gizmo.on_update(
            lambda event: self._later(lambda: self._move(gizmo, obstacle.name))
        )
        self._gizmo = gizmo

    def _names(self) -> list[str]:
        return [_NONE, *(one.name for one in self.scene.obstacles)]

    def _set(self, scene: Scene) -> None:
        self.scene, self.changed = scene, True
        if tuple(self._names()) != tuple(self._menu.options):
            self._menu.options = self._names()

    def _move(self, gizmo: Any, name: str) -> None:
        if gizmo is self._gizmo and name == self._chosen:
            pose = pose_of(gizmo.position, gizmo.wxyz)
            self._set(edited_scene.moved(self.scene, name, pose))

    def _remove(self) -> None:
        if self._chosen == _NONE:
            self._say("choose an obstacle first")
            return
        name = self._chosen
        self.choose(None)
        self._set(edited_scene.removed(self.scene, name))

    def _reset(self) -> None:
        self.choose(None)
        self._set(self._loaded)

    def _add(self) -> None:
        scene, name = edited_scene.added(
            self.scene, self._robot, self._kind.value, self._size.value, self._middle
        )
        self._set(scene)
        self.choose(name)

    def _save(self, event: Any) -> None:
        text = edited_scene.scene_text(self.scene, self._root)
        if event.client is None:
            raise SceneError("nobody to send the scene to")
        event.client.send_file_download("scene.yaml", text.encode(), save_immediately=True)


def _reach(shape: Any) -> float:
    """Length of the handles of a shape: a little beyond it."""
    if shape.kind == "mesh":
        extent = float(np.ptp(shape.vertices, axis=0).max())
    elif shape.kind == "box":
        extent = max(shape.size)
    else:
        extent = 2.0 * shape.size[0] + (shape.size[1] if len(shape.size) > 1 else 0.0)
    return min(max(0.8 * extent, 0.2), 0.5) if math.isfinite(extent) else 0.2

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Obstacles as nodes of the page's 3D scene, each below the frame of the link that carries it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.robot.scene import Obstacle
from collision_monitor.viewer.poses_and_colours import (
    Rgb,
    node_path,
    position_and_wxyz,
    shown_colour,
)
from collision_monitor.viewer.robot_nodes import add_leaves
from collision_monitor.viewer.surfaces import shape_surface

_OBSTACLE: Rgb = (201, 183, 156)
_CHOSEN: Rgb = (95, 155, 215)


class ObstacleNodes:
    """The nodes of a model's obstacles; ``picked(name)`` is called for one that is clicked."""

    def __init__(self, scene: Any, picked: Callable[[str], None]) -> None:
        """``scene``: that of a viser server."""
        self._scene = scene
        self._picked = picked
        self._frames: dict[str, Any] = {}
        self._shapes: dict[str, Any] = {}
        self._leaves: dict[str, Any] = {}
        self._colours: dict[str, Rgb] = {}
        self._drawn: dict[str, Obstacle] = {}
        self._chosen: str | None = None
        self._leaves_visible = False

    def draw(self, model: CollisionModel) -> None:
        """Draw what is new, move what has moved, remove what is gone."""
        wanted = {obstacle.name: obstacle for obstacle in model.scene.obstacles}
        for name in [name for name in self._drawn if name not in wanted]:
            self._remove(name)
        for name, obstacle in wanted.items():
            before = self._drawn.get(name)
            if before is obstacle:
                continue
            if before is not None and not _same_but_pose(before, obstacle):
                self._remove(name)
            if name not in self._frames:
                self._add(model, obstacle)
            frame = self._frames[name]
            frame.position, frame.wxyz = position_and_wxyz(obstacle.shape.pose)
            self._drawn[name] = obstacle

    def _add(self, model: CollisionModel, obstacle: Obstacle) -> None:
        name, scene = obstacle.name, self._scene
        path = node_path("robot", obstacle.link, "obstacles", name)
        self._frames[name] = scene.add_frame(path, show_axes=False)
        vertices, triangles = shape_surface(replace(obstacle.shape, pose=np.eye(4)))
        colour = _CHOSEN if name == self._chosen else _OBSTACLE
        shape = scene.add_mesh_simple(
            f"{path}/shape", vertices, triangles, color=colour, side="double"
        )
        shape.on_click(lambda event: self._picked(name))
        self._shapes[name] = shape
        leaves = add_leaves(scene, f"{path}/leaves", model, name, obstacle.shape.pose)
        leaves.visible = self._leaves_visible
        self._leaves[name] = leaves

    def _remove(self, name: str) -> None:
        del self._drawn[name], self._leaves[name], self._shapes[name]
        self._colours.pop(name, None)
        self._frames.pop(name).remove()  # and what is below it

    def choose(self, name: str | None) -> None:
        """Mark the one that is to be edited."""
        for old in (self._chosen, name):
            if old in self._shapes:
                self._shapes[old].color = _CHOSEN if old == name else _OBSTACLE
        self._chosen = name

    def colour(self, distances: Mapping[str, float], warn: float, stop: float) -> None:
        """Colour the leaves of every obstacle by its distance (metres) to what is nearest."""
        for name, node in self._leaves.items():
            colour = shown_colour(distances[name], warn, stop)
            if colour != self._colours.get(name):
                self._colours[name] = node.color = colour

    def show_leaves(self, visible: bool) -> None:
        """Show or hide the leaves of obstacles."""
        self._leaves_visible = visible
        for node in self._leaves.values():
            node.visible = visible


def _same_but_pose(a: Obstacle, b: Obstacle) -> bool:
    """Whether the drawn surface of one is that of the other."""
    one, other = a.shape, b.shape
    return (
        a.link == b.link and one.kind == other.kind and one.size == other.size
        and one.vertices is other.vertices and one.triangles is other.triangles
    )  # fmt: skip

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Robot, leaves and nearest points as nodes of the page's 3D scene.

Surfaces are sent once, each below the frame of its link; what follows are poses and colours, of
those that have changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from collision_monitor.hierarchy.clearance import Clearance
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.viewer.poses_and_colours import (
    Rgb,
    node_path,
    position_and_wxyz,
    shown_colour,
)
from collision_monitor.viewer.surfaces import joined, leaf_surface, shape_surface

_LINK: Rgb = (188, 194, 204)
_LINE: Rgb = (15, 15, 15)
_OPACITY = 0.4  # of leaves


class RobotNodes:
    """The nodes of one robot, and the line between the nearest two points."""

    def __init__(self, scene: Any, model: CollisionModel) -> None:
        """``scene``: that of a viser server."""
        self._frames = {
            name: scene.add_frame(node_path("robot", name), show_axes=False)
            for name in model.robot.links
        }
        self._poses: dict[str, np.ndarray] = {}
        self._colours: dict[str, Rgb] = {}
        self._shapes, self._leaves = [], {}
        for name, link in model.robot.links.items():
            if not link.shapes:
                continue
            vertices, triangles = joined(shape_surface(shape) for shape in link.shapes)
            path = node_path("robot", name, "shapes")
            self._shapes.append(
                scene.add_mesh_simple(path, vertices, triangles, color=_LINK, side="double")
            )
            self._leaves[name] = add_leaves(
                scene, node_path("robot", name, "leaves"), model, name, np.eye(4)
            )
        self._line = scene.add_line_segments(
            "/nearest/line", np.zeros((1, 2, 3)), _LINE, thickness=4.0, thickness_units="screen"
        )
        self._ends = [
            scene.add_icosphere(f"/nearest/end_{k}", radius=0.006, color=_LINE) for k in (0, 1)
        ]
        self._label = scene.add_label("/nearest/label", "", anchor="bottom-center")

    def place(self, poses: Mapping[str, np.ndarray]) -> int:
        """Move every link to its pose (4, 4) in the base frame; returns how many have moved."""
        moved = 0
        for name, pose in poses.items():
            before = self._poses.get(name)
            if before is not None and np.abs(before - pose).max() < 1e-7:
                continue
            frame = self._frames[name]
            frame.position, frame.wxyz = position_and_wxyz(pose)
            self._poses[name] = pose
            moved += 1
        return moved

    def colour(self, distances: Mapping[str, float], warn: float, stop: float) -> None:
        """Colour the leaves of every link by its distance (metres) to what is nearest to it."""
        for name, node in self._leaves.items():
            colour = shown_colour(distances[name], warn, stop)
            if colour != self._colours.get(name):
                self._colours[name] = node.color = colour

    def nearest(self, clearance: Clearance | None) -> None:
        """Draw the line between the nearest points with its length; nothing without any."""
        for node in (self._line, *self._ends, self._label):
            node.visible = clearance is not None
        if clearance is None:
            return
        points = clearance.points
        self._line.points = points[None].astype(np.float32)
        for end, point in zip(self._ends, points, strict=True):
            end.position = point
        self._label.position = points.mean(axis=0)
        self._label.text = f"{clearance.distance:.3f} m"

    def show(self, shapes: bool, leaves: bool) -> None:
        """Show or hide shapes and leaves."""
        for node in self._shapes:
            node.visible = shapes
        for node in self._leaves.values():
            node.visible = leaves


def add_leaves(scene: Any, path: str, model: CollisionModel, name: str, pose: np.ndarray) -> Any:
    """Translucent leaves of a link or an obstacle, seen from a frame with ``pose`` (4, 4)."""
    inverse = np.linalg.inv(pose)
    leaves = [leaf.moved(inverse, name) for leaf in model.leaves if leaf.link == name]
    vertices, triangles = leaf_surface(leaves)
    return scene.add_mesh_simple(
        path, vertices, triangles, opacity=_OPACITY, cast_shadow=False, receive_shadow=False
    )

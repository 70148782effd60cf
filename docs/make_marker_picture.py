# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Draw what RViz shows, from the messages that the nodes publish.

Run it with ``make marker-picture``; it writes docs/markers.png.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyvista
from builtin_interfaces.msg import Time
from rviz_twin import RvizTwin
from scipy.spatial.transform import Rotation
from visualization_msgs.msg import Marker

from collision_monitor import CollisionModel
from collision_monitor.monitor import Monitor
from collision_monitor.motion import read_motion
from collision_monitor.nearness import Nearness
from collision_monitor.nodes.markers import MarkerBuilder
from collision_monitor.nodes.path_markers import PathMarkers
from collision_monitor.repulsion import adjust
from collision_monitor.repulsion.arms import find_arms
from collision_monitor.repulsion.control_points import control_points
from collision_monitor.repulsion.guard import Guard, names_of

ROOT = Path(__file__).resolve().parents[1]
WARN, STOP, SAFE, DANGER = 0.15, 0.02, 0.1, 0.05
INSTANT = 41.0  # of the motion
SIDES = 24


def points_of(marker: Marker) -> np.ndarray:
    """(n, 3) in the frame of the marker."""
    return np.array([[p.x, p.y, p.z] for p in marker.points]).reshape(-1, 3)


def ball(centre: np.ndarray, size: float) -> Any:
    """A sphere of this diameter."""
    return pyvista.Sphere(
        radius=0.5 * size, center=centre, theta_resolution=SIDES, phi_resolution=SIDES
    )


def shape_of(marker: Marker) -> Any:
    """What RViz draws for a marker, in the marker's frame; None for text."""
    s, points = marker.scale, points_of(marker)
    if marker.type == Marker.SPHERE_LIST:
        return pyvista.merge([ball(p, s.x) for p in points])
    if marker.type == Marker.SPHERE:
        return ball(np.zeros(3), s.x)
    if marker.type == Marker.CUBE:
        return pyvista.Cube(x_length=s.x, y_length=s.y, z_length=s.z)
    if marker.type == Marker.CYLINDER:
        return pyvista.Cylinder(
            direction=(0, 0, 1), radius=0.5 * s.x, height=s.z, resolution=SIDES, capping=False
        )
    if marker.type == Marker.LINE_LIST:
        return pyvista.line_segments_from_points(points)
    if marker.type == Marker.LINE_STRIP:
        return pyvista.lines_from_points(points)
    if marker.type == Marker.TRIANGLE_LIST:
        faces = np.arange(len(points)).reshape(-1, 3)
        return pyvista.PolyData(points, np.column_stack([np.full(len(faces), 3), faces]).ravel())
    if marker.type == Marker.ARROW:
        way = points[1] - points[0]
        length = float(np.linalg.norm(way))
        return pyvista.Arrow(
            start=points[0], direction=way, scale=length, tip_length=min(0.5, s.z / length),
            tip_radius=0.5 * s.y / length, shaft_radius=0.5 * s.x / length,
        )  # fmt: skip
    return None


def draw(plotter: Any, rviz: RvizTwin, background: str = "#303030") -> None:
    """Everything that is shown, on the background of the package's configuration."""
    plotter.set_background(background)
    plotter.enable_depth_peeling(12)
    for marker in rviz.shown.values():
        c, p, o = marker.color, marker.pose.position, marker.pose.orientation
        place = np.eye(4)
        place[:3, :3] = Rotation.from_quat([o.x, o.y, o.z, o.w]).as_matrix()
        place[:3, 3] = p.x, p.y, p.z
        if marker.type == Marker.TEXT_VIEW_FACING:
            plotter.add_point_labels(
                [place[:3, 3]], [marker.text], shape=None, text_color=(c.r, c.g, c.b),
                font_size=15, always_visible=True, show_points=False,
            )  # fmt: skip
            continue
        mesh = shape_of(marker).transform(place, inplace=False)
        wide = {"line_width": 4} if marker.ns in ("nearest", "before", "after") else {}
        plotter.add_mesh(mesh, color=(c.r, c.g, c.b), opacity=c.a, **wide)


def robot(plotter: Any, model: CollisionModel, q: np.ndarray) -> None:
    """The meshes of the robot, as the RobotModel display has them."""
    for link, pose in model.link_poses(q).items():
        for shape in model.robot.links[link].shapes:
            if shape.kind == "mesh":
                faces = np.column_stack([np.full(len(shape.triangles), 3), shape.triangles])
                mesh = pyvista.PolyData(np.asarray(shape.vertices, float), faces.ravel())
                plotter.add_mesh(mesh.transform(pose @ shape.pose, inplace=False), color="#8d99ae")


def main() -> None:
    """Leaves; leaves and boxes; paths and field."""
    model = CollisionModel.from_urdf(
        ROOT / "urdf/dual_arm.urdf",
        srdf=ROOT / "urdf/dual_arm.srdf",
        scene=ROOT / "urdf/dual_arm_scene.yaml",
    )
    motion = read_motion(ROOT / "config/dual_arm_motion.csv")
    q = motion.at(INSTANT)[[motion.joint_names.index(name) for name in model.joint_names]]
    monitor = Monitor(model, WARN, STOP, zero_state_confirmation=0.0)
    state = monitor.update(model.joint_names, q, 1.0)
    thresholds = np.tile([STOP, WARN], (len(model.pairs), 1))
    nearness = Nearness(model).of_leaves(q, thresholds)

    pyvista.OFF_SCREEN = True
    plotter = pyvista.Plotter(shape=(1, 3), window_size=(1800, 760), border=False)
    for column, levels in enumerate((frozenset(), frozenset({2, 3}))):
        plotter.subplot(0, column)
        builder, rviz = MarkerBuilder(model, 1.0), RvizTwin()
        builder.show_levels(levels)
        for _ in range(10):  # messages are made one at a time
            rviz.take(*builder.build(q, state, Time(), nearness))
        robot(plotter, model, q)
        draw(plotter, rviz)
    plotter.subplot(0, 2)
    robot(plotter, model, q)
    draw(plotter, adjusted(model, motion))
    for column in range(3):
        plotter.subplot(0, column)
        plotter.camera_position = [(3.6, 1.2, 2.0), (0.0, 0.0, 0.95), (0, 0, 1)]
        plotter.camera.zoom(1.15)
    plotter.enable_anti_aliasing("ssaa")
    plotter.screenshot(ROOT / "docs/markers.png")


def adjusted(model: CollisionModel, motion: Any) -> RvizTwin:
    """Markers of self_collision after it has adjusted the motion."""
    arms = find_arms(model.robot, model.semantics)
    guard = Guard(model, arms, SAFE, DANGER)
    adjustment = adjust(model, motion, safe_distance=SAFE, danger_distance=DANGER)
    right, held = names_of(guard.model, arms[0]), dict.fromkeys(model.joint_names, 0.0)
    before, after = (
        control_points(guard.model, right, found, held, 100)
        for found in (adjustment.desired, adjustment.motion)
    )
    rviz = RvizTwin()
    rviz.take(PathMarkers(model.root).build(before, after, SAFE, DANGER, Time()))
    return rviz


if __name__ == "__main__":
    main()

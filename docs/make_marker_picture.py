# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Draw what RViz shows, from the messages that the nodes publish.

Run it with ``make docs PAGES=marker_picture``; it writes docs/markers.png.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyvista
from builtin_interfaces.msg import Time
from scipy.spatial.transform import Rotation
from support.ros.rviz_twin import RvizTwin
from visualization_msgs.msg import Marker

from collision_monitor import CollisionModel, adjust
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.live.point_cloud import voxels_of
from collision_monitor.model.proximity import Nearness
from collision_monitor.monitoring.monitor import Monitor
from collision_monitor.monitoring.speed_policy.speed_policy import SpeedPolicy
from collision_monitor.motion import read_motion
from collision_monitor.nodes.markers.markers import TOUCHING, MarkerBuilder
from collision_monitor.nodes.markers.path_marker_topic import approach_points, path_markers
from collision_monitor.robot.description import Shape
from collision_monitor.self_collision.arms import find_chains
from collision_monitor.self_collision.hold_supervisor import HoldSupervisor, names_of

ROOT = Path(__file__).resolve().parents[1]
WARN, STOP, SAFE, DANGER = 0.15, 0.02, 0.1, 0.05
INSTANT = 41.0  # of the motion
SIDES = 24
TOUCH = ("right_link_5", "right_link_6", "right_link_7")


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


def robot(plotter: Any, model: CollisionModel, q: np.ndarray, alpha: float = 1.0) -> None:
    """The meshes of the robot, as the RobotModel display has them."""
    for link, pose in model.link_poses(q).items():
        for shape in model.robot.links[link].shapes:
            if shape.kind == "mesh":
                faces = np.column_stack([np.full(len(shape.triangles), 3), shape.triangles])
                mesh = pyvista.PolyData(np.asarray(shape.vertices, float), faces.ravel())
                placed = mesh.transform(pose @ shape.pose, inplace=False)
                plotter.add_mesh(placed, color="#8d99ae", opacity=alpha)


def live_scene(model: CollisionModel, q: np.ndarray) -> LiveScene:
    """What came on topics: a grasped part, a box on the table, and a post in a point cloud."""
    live = LiveScene(model)
    grasped, box = np.eye(4), np.eye(4)
    grasped[:3, 3] = 0.0, 0.0, 0.06
    live.add("cell/1", Shape("box", grasped, (0.08, 0.08, 0.12)), "right_tool", touch=TOUCH)
    box[:3, 3] = 0.6, -0.25, 0.74
    live.add("cell/2", Shape("box", box, (0.16, 0.16, 0.16)))
    points = np.random.default_rng(0).uniform(-0.5, 0.5, (3000, 3)) * [0.08, 0.08, 0.7]
    nobody = np.zeros((0, 6)), np.zeros(0)
    place = np.eye(4)
    place[:3, 3] = model.link_poses(q)["left_link_4"][:3, 3] + [0.05, 0.22, -0.2]
    live.set_cloud(voxels_of(points, place, *nobody, 0.0, 0.05, 2000).balls)
    return live


def touching(model: CollisionModel, q: np.ndarray) -> np.ndarray:
    """A configuration near ``q`` in which the hands cross a little."""
    near = q + np.random.default_rng(1).uniform(-0.35, 0.35, (4000, len(q)))
    for row in near[np.argsort(np.abs(model.min_distances(near) + 0.03))][:40]:
        found = model.distance(row, exact=True)
        if found.distance < 0.0 and {name[-6:] for name in found.links} == {"link_7"}:
            return row
    raise SystemExit("no configuration in which the hands touch was found")


def shown(
    model: CollisionModel, q: np.ndarray, levels: frozenset[int] = frozenset(),
    live: LiveScene | None = None, narrow_phase: str = "leaf",
) -> RvizTwin:  # fmt: skip
    """Markers of collision_monitor."""
    behaviour = SpeedPolicy(model, live=live)
    monitor = Monitor(
        model, WARN, STOP, behaviour=behaviour, live=live, zero_state_confirmation=0.0
    )
    monitor.narrow_phase = narrow_phase
    state = monitor.update(model.joint_names, q, 1.0)
    pairs = model.pairs if live is None else live.pair_rows
    nearness = Nearness(model, live).of_leaves(q, np.tile([STOP, WARN], (len(pairs), 1)))
    builder, rviz = MarkerBuilder(model, 1.0, live, levels), RvizTwin()
    for _ in range(10):  # messages are made one at a time
        rviz.take(*builder.build(q, state, Time(), nearness))
    return rviz


def main() -> None:
    """Leaves and boxes; objects of topics; contact; paths and field."""
    model = CollisionModel.from_urdf(
        ROOT / "urdf/dual_arm.urdf",
        srdf=ROOT / "urdf/dual_arm.srdf",
        scene=ROOT / "urdf/dual_arm_scene.yaml",
    )
    motion = read_motion(ROOT / "config/dual_arm_motion.csv")
    q = motion.at(INSTANT)[[motion.joint_names.index(name) for name in model.joint_names]]
    contact = touching(model, q)
    panels = [
        (q, shown(model, q, frozenset({2, 3}))),
        (q, shown(model, q, live=live_scene(model, q))),
        (contact, shown(model, contact, narrow_phase="auto")),
        (q, adjusted(model, motion)),
    ]
    pyvista.OFF_SCREEN = True
    plotter = pyvista.Plotter(shape=(1, len(panels)), window_size=(2000, 760), border=False)
    for column, (pose, rviz) in enumerate(panels):
        plotter.subplot(0, column)
        is_close = TOUCHING in rviz.namespaces
        if is_close:  # leaves are switched off, as in RViz, to look at the surfaces
            for key in [key for key in rviz.shown if key[0] not in (TOUCHING, "nearest")]:
                del rviz.shown[key]
        robot(plotter, model, pose, 0.5 if is_close else 1.0)
        draw(plotter, rviz)
        plotter.camera_position = [(3.6, 1.2, 2.0), (0.0, 0.05, 1.0), (0, 0, 1)]
        if is_close:
            corners = np.array([[p.x, p.y, p.z] for p in rviz.shown[TOUCHING, 0].points])
            middle = corners.mean(axis=0)
            plotter.camera_position = [middle + [0.7, 0.25, 0.25], middle, (0, 0, 1)]
    plotter.enable_anti_aliasing("ssaa")
    plotter.screenshot(ROOT / "docs/markers.png")


def adjusted(model: CollisionModel, motion: Any) -> RvizTwin:
    """Markers of self_collision after it has adjusted the motion."""
    arms = find_chains(model.robot, model.semantics)
    supervisor = HoldSupervisor(model, arms, SAFE, DANGER)
    adjustment = adjust(model, motion, safe_distance=SAFE, danger_distance=DANGER)
    right, held = names_of(supervisor.model, arms[0]), dict.fromkeys(model.joint_names, 0.0)
    before, after = (
        approach_points(supervisor.model, right, found, held, 100)
        for found in (adjustment.desired, adjustment.motion)
    )
    rviz = RvizTwin()
    index = adjustment.index_before.max(), adjustment.index_after.max()
    rviz.take(path_markers(model.root, before, after, SAFE, DANGER, index, Time()))
    return rviz


if __name__ == "__main__":
    main()

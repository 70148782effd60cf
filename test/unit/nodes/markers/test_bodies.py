# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Obstacles and live objects in RViz: shown where they are, gone when they go, a few at a time."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.robots.toy_models import toy_model
from support.robots.toys import chain, joint, link

from collision_monitor import CollisionModel
from collision_monitor.model.live.live_objects import Bounds
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.robot.description import Shape

pytest.importorskip("rclpy", reason="rclpy is not installed")

from builtin_interfaces.msg import Time  # noqa: E402
from support.ros.rviz_twin import RvizTwin, markers_of  # noqa: E402
from visualization_msgs.msg import Marker  # noqa: E402

from collision_monitor.nodes.markers.bodies import BodyMarkers  # noqa: E402

GREEN, RED = (0.18, 0.65, 0.37, 0.35), (0.86, 0.16, 0.16, 0.35)
HOME = np.eye(4)
SHAPES = {
    "box": Shape("box", HOME, (0.2, 0.3, 0.4)),
    "ball": Shape("sphere", HOME, (0.2,)),
    "can": Shape("cylinder", HOME, (0.1, 0.5)),
    "balls": np.array([[0.0, 0.0, z, 0.0, 0.0, z, 0.1] for z in (0.0, 0.3, 0.6)]),
    "stick": np.array([[0.0, 0.0, -0.3, 0.0, 0.0, 0.3, 0.1]]),
    "mixed": np.array([[0, 0, 0, 0, 0, 0, 0.1], [0, 0, 0, 0.4, 0, 0, 0.2]], dtype=float),
}
MODEL = CollisionModel.from_urdf(chain(4))
BOUNDS = Bounds(objects=30, leaves_per_object=4, voxels=50, carried=3)


def at(x, y, z, rpy=(0.0, 0.0, 0.0)):
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = Rotation.from_euler("xyz", rpy).as_matrix(), (x, y, z)
    return pose


def pose_of(marker):
    p, o = marker.pose.position, marker.pose.orientation
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_quat([o.x, o.y, o.z, o.w]).as_matrix()
    pose[:3, 3] = p.x, p.y, p.z
    return pose


class Shown:
    """Markers of bodies with so many colours, and their display in RViz."""

    def __init__(self, model, live, lifetime, count, **options):
        self.model, self.live = model, live
        self.markers = BodyMarkers(model, live, lifetime, **options)
        self.rviz, self.now = RvizTwin(), 100.0
        self.all_colours = np.tile(GREEN, (count, 1))

    def send(self, q=(0.0, 0.0, 0.0), seconds=0.1, stamp=None):
        """The next messages, ``seconds`` later."""
        self.now += seconds
        self.rviz.wait(seconds)
        stamp = Time(sec=int(self.now)) if stamp is None else stamp
        found = list(self.markers.build(np.array(q), self.all_colours, stamp))
        self.rviz.take(*found)
        return found


class Show(Shown):
    """Markers of a live scene."""

    def __init__(self, live=None, lifetime=1.0, **options):
        live = LiveScene(MODEL, BOUNDS) if live is None else live
        live.clear()
        count = len(MODEL.link_names) + 1 + BOUNDS.objects
        super().__init__(MODEL, live, lifetime, count, **options)
        self.colours = self.all_colours[len(MODEL.link_names) :]  # of the slots

    def of(self, name):
        """Markers that show an object, by number."""
        slots, slot = 1 + self.live.bounds.objects, self.live.objects[name].slot
        found = {k: m for k, m in self.rviz.shown.items() if k[1] % slots == slot}
        return [found[k] for k in sorted(found, key=lambda k: k[1])]


@pytest.fixture
def show():
    return Show()


def test_solids_are_shown_as_they_are_and_others_by_their_leaves(show):
    pose = at(1.0, 2.0, 3.0, (0.1, 0.2, 0.3))
    for name, shape in SHAPES.items():
        show.live.add(name, shape, "l0", pose)
    show.send()
    (box,), (ball,), (can,), (balls,) = (show.of(n) for n in ("box", "ball", "can", "balls"))
    kinds = [(m.type, m.scale.x, m.scale.y, m.scale.z) for m in (box, ball, can, balls)]
    assert kinds == [
        (Marker.CUBE, 0.2, 0.3, 0.4), (Marker.SPHERE, 0.4, 0.4, 0.4),
        (Marker.CYLINDER, 0.2, 0.2, 0.5), (Marker.SPHERE_LIST, 0.2, 0.2, 0.2),
    ]  # fmt: skip
    for marker in (box, ball, can, balls):
        assert pose_of(marker) == pytest.approx(pose)
    assert [p.z for p in balls.points] == [0.0, 0.3, 0.6]
    ends, middle = show.of("stick")
    assert (ends.type, middle.type) == (Marker.SPHERE_LIST, Marker.CYLINDER)
    assert (middle.scale.x, middle.scale.z) == (0.2, pytest.approx(0.6))
    assert pose_of(ends) == pytest.approx(pose)
    assert [p.z for p in ends.points] == [-0.3, 0.3]
    assert pose_of(middle) @ [0, 0, 0.3, 1] == pytest.approx(pose @ [0, 0, 0.3, 1])
    kinds = [m.type for m in show.of("mixed")]
    assert kinds == [Marker.SPHERE_LIST, Marker.SPHERE_LIST, Marker.CYLINDER]
    assert show.rviz.namespaces == {"scene"}
    assert {m.header.frame_id for m in show.rviz.shown.values()} == {"l0"}


def test_colours_are_those_of_their_slots(show):
    for k in range(5):
        show.live.add(f"o{k}", SHAPES["ball"], "l0", at(k, 3.0, 0.0))
    show.send()
    show.colours[show.live.objects["o3"].slot] = RED
    markers = markers_of(show.send(seconds=0.0))
    red = [m.pose.position.x for m in markers if m.color.r == pytest.approx(RED[0])]
    assert len(markers) == 5 and red == [3.0]


@pytest.mark.parametrize("moves", ["wall", "stamps"])
def test_nothing_vanishes_however_many_there_are_and_few_are_sent_each_time(moves):
    show = Show(most=8)
    for k in range(30):
        show.live.add(f"o{k}", SHAPES["stick" if k % 3 else "ball"], "l0", at(k, 3.0, 0.0))
    names, sent = None, 0
    for k in range(90):
        if moves == "wall":  # simulated time that stands still
            messages = show.send(stamp=Time(sec=7))
        else:  # and simulated time that is faster than the wall's
            show.rviz.wait(0.1)
            stamp = Time(sec=k // 10, nanosec=(k % 10) * 10**8)
            messages = list(show.markers.build(np.zeros(3), show.all_colours, stamp))
            show.rviz.take(*messages)
        markers = markers_of(messages)
        assert len(markers) <= 2 * 4
        sent += len(markers)
        if k == 30:
            names = set(show.rviz.shown)
        assert names is None or set(show.rviz.shown) == names, k
    assert len(names) == 20 * 2 + 10 and sent > len(names)


# -- obstacles of a model --


OBSTACLES = [
    {"name": "box", "type": "box", "size": [0.2, 0.3, 0.4], "position": [1, 2, 3],
     "rpy": [0.1, 0.2, 0.3]},
    {"name": "can", "type": "cylinder", "radius": 0.1, "length": 0.5, "position": [0, 2, 0]},
    {"name": "ball", "type": "sphere", "radius": 0.2, "position": [0, 0, 2]},
    {"name": "stick", "type": "capsule", "radius": 0.1, "length": 0.6, "position": [0, -2, 0]},
]  # fmt: skip


class Fixed(Shown):
    """Markers of the obstacles of a model."""

    def __init__(self, model, lifetime=1.0):
        super().__init__(model, None, lifetime, len(model.link_names))
        self.colours = self.all_colours

    def send(self, q=(0.0, 0.0), seconds=0.1):
        """The next markers."""
        return markers_of(super().send(q, seconds))


def test_an_obstacle_that_a_joint_moves_goes_with_it():
    scene = {"obstacles": [{**OBSTACLES[0], "link": "hand"}, {**OBSTACLES[3], "link": "hand"}]}
    model = toy_model(
        link("l0"), link("arm", xyz="0 0 0.5"), link("hand"),
        joint("turn", "l0", "arm"), joint("slide", "arm", "hand", "prismatic"),
        scene=scene,
    )  # fmt: skip
    shown = Fixed(model)
    for q in ([0.0, 0.0], [0.5, 0.3], [-1.0, 0.7]):
        found = shown.send(q, seconds=0.0)
        hand = model.link_poses(q)["hand"]
        assert pose_of(found[0]) == pytest.approx(hand @ model.scene.obstacles[0].shape.pose)
        assert pose_of(found[-1])[:3, 3] == pytest.approx((hand @ [0.0, -2.0, 0.0, 1.0])[:3])

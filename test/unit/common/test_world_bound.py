# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What is larger than the world is refused by name, in a message of at most six digits a number."""

from __future__ import annotations

import re

import numpy as np
import pytest
from support.robots.toys import chain, joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.common.limits import LARGEST_POSITION
from collision_monitor.errors import CollisionMonitorError
from collision_monitor.fitting.leaves_file import read_leaves
from collision_monitor.hierarchy.query import FARTHEST
from collision_monitor.model.live_scene import LiveScene
from collision_monitor.model.thresholds import load_thresholds
from collision_monitor.monitoring.joint_state_buffer import JointState
from collision_monitor.monitoring.monitor import Monitor
from collision_monitor.motion import read_motion
from collision_monitor.motion.motion_files import load_trajectory
from collision_monitor.robot.composed import Mounted, compose
from collision_monitor.robot.description import Shape
from collision_monitor.robot.joint_limits import read_joint_limits
from collision_monitor.robot.scene import load_scene
from collision_monitor.robot.urdf import load_robot

FAR = "123456789012345.678"
VALUE = float(FAR)
TOY = load_robot(chain(4))


@pytest.fixture(scope="module")
def model():
    return CollisionModel.from_urdf(chain(4))


def sphere(**more):
    return {"obstacles": [{"name": "s", "type": "sphere", "radius": 0.1} | more]}


def hinge(**more):
    return {"joints": [{"name": "h", "type": "revolute", "axis": [0, 0, 1], "lower": 0.0,
                        "upper": 1.0} | more], **sphere(joint="h")}  # fmt: skip


def moved(x):
    pose = np.eye(4)
    pose[0, 3] = x
    return pose


def written(folder, name, text):
    (folder / name).write_text(text)
    return folder / name


CSV, YAML = "time,j1,j2,j3\n0,0,0,0\n1,{},0,0\n", (
    "joint_names: [j1, j2, j3]\npoints:\n"
    "- {{positions: [0, 0, 0], velocities: [0, 0, 0], time_from_start: {{sec: 1}}}}\n"
    "- {{positions: [{}, 0, 0], velocities: [{}, 0, 0], time_from_start: {{sec: 2}}}}\n"
)
STL = "solid a\nfacet normal 0 0 0\nouter loop\nvertex 0 0 0\nvertex {} 0 0\nvertex 0 1 0\n"
STL += "endloop\nendfacet\nendsolid a\n"
LEAVES = {f"l{k}": [{"p0": [0, 0, 0], "p1": [0, 0, 1], "radius": 0.1}] for k in range(4)}
CASES = {
    "urdf size": ("sphere radius", lambda m, d: load_robot(
        chain(4).replace('radius="0.', f'radius="{FAR}" was="', 1))),
    "urdf mesh": ("link 'a'", lambda m, d: load_robot(
        robot(link("a", f'<mesh filename="{written(d, "a.stl", STL.format(FAR))}"/>')))),
    "urdf joint": ("joint 'j'", lambda m, d: load_robot(robot(
        link("a", '<sphere radius="1"/>'), link("b"),
        joint("j", "a", "b", xyz=f"{FAR} 0 0")))),
    "mounted": ("position", lambda m, d: compose([Mounted(TOY, "a/", moved(VALUE))], "two")),
    "scene size": ("obstacles[0].sphere", lambda m, d: load_scene(sphere(radius=VALUE), TOY)),
    "scene place": ("obstacles[0].position", lambda m, d: load_scene(
        sphere(position=[0, VALUE, 0]), TOY)),
    "scene velocity": ("joints[0].velocity", lambda m, d: load_scene(hinge(velocity=VALUE), TOY)),
    "leaf": ("links.l1[0].p0, p1", lambda m, d: read_leaves({"links": LEAVES | {
        "l1": [{"p0": [VALUE, 0, 0], "p1": [0, 0, 0], "radius": 0.1}]}}, TOY)),
    "leaf radius": ("links.l1[0].radius", lambda m, d: read_leaves({"links": LEAVES | {
        "l1": [{"center": [0, 0, 0], "radius": VALUE}]}}, TOY)),
    "thresholds": ("warn", lambda m, d: load_thresholds(written(d, "t.yaml", f"warn: {FAR}\n"))),
    "pair thresholds": ("warn", lambda m, d: Monitor(m, warn_distance=VALUE)),
    "configuration": ("joint 'j1'", lambda m, d: m.distance([VALUE, 0.0, 0.0])),
    "configurations": ("row 1: joint 'j1'", lambda m, d: m.min_distances(
        np.array([[0.0] * 3, [-VALUE, 0.0, 0.0]]))),
    "many at once": ("row 0: joint 'j2'", lambda m, d: m.is_clear(np.array([[0.0, VALUE, 0.0]]))),
    "exact": ("joint 'j3'", lambda m, d: m.distance([0.0, 0.0, VALUE], exact=True)),
    "stamp": ("stamped", lambda m, d: Monitor(m).buffer.update(
        JointState(["j1", "j2", "j3"], (0.0, 0.0, 0.0), 1.0, VALUE))),
    "limits": ("max_velocity", lambda m, d: read_joint_limits(
        written(d, "l.yaml", f"joint_limits: {{j1: {{max_velocity: {FAR}}}}}\n"), ["j1"])),
    "csv": ("'j1'", lambda m, d: read_motion(written(d, "m.csv", CSV.format(FAR)))),
    "csv of verify": ("'j1'", lambda m, d: load_trajectory(
        written(d, "m.csv", CSV.format(FAR)), TOY)),
    "yaml": ("positions too large: 'j1'", lambda m, d: read_motion(
        written(d, "m.yaml", YAML.format(FAR, 0)))),
    "yaml rate": ("velocities too large: 'j1'", lambda m, d: load_trajectory(
        written(d, "m.yaml", YAML.format(0, FAR)), TOY)),
    "live size": ("ball: its size", lambda m, d: LiveScene(m).add(
        "ball", Shape("sphere", np.eye(4), (VALUE,)))),
    "live leaves": ("ball: its leaves", lambda m, d: LiveScene(m).add(
        "ball", np.full((1, 7), VALUE))),
    "live place": ("ball: its position", lambda m, d: LiveScene(m).add(
        "ball", Shape("sphere", np.eye(4), (0.1,)), None, moved(VALUE))),
    "joint state": ("position of joint 'j1'", lambda m, d: Monitor(m).buffer.update(
        JointState(["j1", "j2", "j3"], (VALUE, 0.0, 0.0), 1.0))),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_values_beyond_the_bounds_are_rejected_by_name(case, model, tmp_path):
    says, load = CASES[case]
    with pytest.raises(CollisionMonitorError) as caught:
        load(model, tmp_path)
    text = str(caught.value).replace(str(tmp_path), "")
    assert says in text and "1.23457e+14" in text, text
    assert not re.search(r"\d{7}", text), text


@pytest.mark.parametrize("size", [1e5, 1e150, 1e160, 1e308])
def test_sizes_that_overflow_are_refused_before_they_are_computed_with(model, size):
    scene = LiveScene(model)
    for kind, count in (("box", 3), ("sphere", 1), ("cylinder", 2), ("capsule", 2)):
        with pytest.raises(CollisionMonitorError, match="exceeds the maximum of 10000"):
            scene.add("far", Shape(kind, np.eye(4), (size,) * count))
    assert not scene.objects


def test_a_robot_far_away_in_its_world_has_a_short_message(model):
    scene = LiveScene(model)
    scene.add("far", Shape("sphere", np.eye(4), (9000.0,)), None, moved(-9999.123456))
    monitor = Monitor(model, live=scene)
    for k in range(3):
        state = monitor.update(["j1", "j2", "j3"], [0.1, 0.1, 0.1], now=1.0 + 0.1 * k)
    assert not re.search(r"\d{4}\.\d{3}|\d{7}", state.message), state.message


def test_kernels_have_the_same_bound():
    assert FARTHEST == LARGEST_POSITION

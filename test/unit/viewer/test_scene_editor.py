# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A scene edited by hand: as a file with the same numbers would be."""

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from support.robots.toys import chain

from collision_monitor.errors import SceneError
from collision_monitor.robot.poses import pose_from_xyz_rpy
from collision_monitor.robot.scene import load_scene
from collision_monitor.robot.urdf import load_robot
from collision_monitor.viewer.scene_editor import KINDS, added, moved, removed, scene_text

ROBOT = load_robot(chain(3))
FILE = {
    "obstacles": [
        {"name": "table", "type": "box", "size": [1.0, 0.8, 0.05], "position": [0, 0, -1]},
        {"name": "post", "type": "cylinder", "radius": 0.1, "length": 2.0, "link": "l1",
         "rpy": [0.1, 0.2, 0.3]},
        {"name": "ball", "type": "sphere", "radius": 0.3, "joint": "slide"},
        {"name": "bar", "type": "capsule", "radius": 0.05, "length": 0.4, "joint": "door"},
    ],
    "joints": [
        {"name": "slide", "type": "prismatic", "axis": [0, 1, 0], "lower": -1.0, "upper": 1.0,
         "position": [2, 0, 0], "link": "l2", "velocity": 0.5},
        {"name": "door", "type": "continuous", "axis": [0, 0, 1], "joint": "slide"},
    ],
    "ignore": [["table", "l0"], ["post", "l2"]],
}  # fmt: skip
SCENE = load_scene(FILE, ROBOT)
NUMBER = st.floats(-3.0, 3.0)


def same(one, other):
    """Whether two scenes say the same, to what a file keeps."""
    assert [o.name for o in one.obstacles] == [o.name for o in other.obstacles]
    for a, b in zip(one.obstacles, other.obstacles, strict=True):
        assert (a.link, a.shape.kind, a.shape.size) == (b.link, b.shape.kind, b.shape.size)
        assert a.shape.pose == pytest.approx(b.shape.pose, abs=2e-6)
    assert one.ignore == other.ignore
    for a, b in zip(one.joints, other.joints, strict=True):
        keys = ("name", "kind", "parent", "child", "lower", "upper", "velocity")
        assert [getattr(a, key) for key in keys] == [getattr(b, key) for key in keys]
        assert a.origin == pytest.approx(b.origin, abs=2e-6)
        assert a.axis == pytest.approx(b.axis)


@settings(deadline=None)
@given(st.tuples(NUMBER, NUMBER, NUMBER), st.tuples(NUMBER, NUMBER, NUMBER))
def test_what_was_moved_reads_back_from_its_text(position, rpy):
    pose = pose_from_xyz_rpy(position, rpy)
    scene = moved(SCENE, "post", pose)
    assert scene.obstacles[1].shape.pose is pose
    assert scene.obstacles[0] is SCENE.obstacles[0]
    assert SCENE.obstacles[1].shape.pose is not pose  # the scene itself is as it was
    same(load_scene(yaml.safe_load(scene_text(scene, ROBOT.root)), ROBOT), scene)


def test_what_is_taken_away_takes_its_pairs_with_it():
    scene = removed(SCENE, "post")
    assert [one.name for one in scene.obstacles] == ["table", "ball", "bar"]
    assert scene.ignore == (("table", "l0"),)
    same(load_scene(yaml.safe_load(scene_text(scene, ROBOT.root)), ROBOT), scene)


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_one_fills_its_box_and_has_a_name_of_its_own(kind):
    scene, name = added(SCENE, ROBOT, kind, (0.2, 0.3, 0.5), np.array([1.0, 2.0, 3.0]))
    again, other = added(scene, ROBOT, kind, (0.2, 0.3, 0.5), np.zeros(3))
    assert (name, other) == (f"{kind}_1", f"{kind}_2")
    shape = again.obstacles[-2].shape
    assert shape.kind == kind and shape.pose[:3, 3].tolist() == [1.0, 2.0, 3.0]
    assert shape.size == pytest.approx(
        {"box": (0.2, 0.3, 0.5), "sphere": (0.1,), "cylinder": (0.1, 0.5), "capsule": (0.1, 0.3)}[
            kind
        ]
    )
    same(load_scene(yaml.safe_load(scene_text(again, ROBOT.root)), ROBOT), again)


@pytest.mark.parametrize(
    ("kind", "size", "says"),
    [
        ("box", (0.0, 1.0, 1.0), "positive"),
        ("capsule", (0.5, 0.5, 0.2), "positive"),
        ("cone", (1.0, 1.0, 1.0), "one of box, sphere, cylinder, capsule, not 'cone'"),
    ],
)
def test_what_has_no_size_is_refused(kind, size, says):
    with pytest.raises(SceneError, match=says):
        added(SCENE, ROBOT, kind, size, np.zeros(3))


def test_meshes_are_not_written_as_something_else(tmp_path, written):
    (tmp_path / "one.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    path = written("scene.yaml", "obstacles: [{name: part, type: mesh, file: one.obj}]")
    with pytest.raises(SceneError, match="'part' is a mesh"):
        scene_text(load_scene(path, ROBOT), ROBOT.root)

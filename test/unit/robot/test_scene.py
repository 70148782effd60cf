# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A scene is read whole, and what is wrong in it is named by the key's path."""

import math

import numpy as np
import pytest
import yaml
from support.robots.toys import joint, link
from support.robots.toys import robot as toy

from collision_monitor.errors import SceneError
from collision_monitor.robot.description import Shape
from collision_monitor.robot.scene import Obstacle, load_scene
from collision_monitor.robot.urdf import load_robot


@pytest.fixture(scope="module")
def robot():
    return load_robot(toy(link("base"), link("hand"), joint("j", "base", "hand", "continuous")))


def box(**keys) -> dict:
    return {"name": "table", "type": "box", "size": [1, 2, 3], **keys}


def refused(robot, source) -> str:
    with pytest.raises(SceneError) as caught:
        load_scene(source, robot)
    return str(caught.value)


def one(robot, **keys):
    (obstacle,) = load_scene({"obstacles": [keys]}, robot).obstacles
    return obstacle


def test_the_documented_example(robot, tmp_path):
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "m.obj").write_text("v 1000 0 0\nv 0 1000 0\nv 0 0 1000\nf 1 2 3\n")
    path = tmp_path / "cell.yaml"
    path.write_text(
        """
obstacles:
  - name: table
    type: box
    size: [1.2, 0.8, 0.05]
    position: [0.5, 0.0, -0.03]
    rpy: [0.0, 0.0, 1.5707963267948966]
    link: hand
  - {name: column, type: cylinder, radius: 0.1, length: 2}
  - {name: pipe, type: capsule, radius: 0.1, length: 2.0}
  - {name: ball, type: sphere, radius: 1}
  - name: fixture
    type: mesh
    file: meshes/m.obj
    scale: 0.001
    orientation: [0, 0, 0.70710678, 0.70710678]
ignore:
  - [table, hand]
  - [ball, pipe]
"""
    )
    scene = load_scene(path, robot)
    table, column, pipe, ball, fixture = scene.obstacles
    assert [o.name for o in scene.obstacles] == ["table", "column", "pipe", "ball", "fixture"]
    assert [o.link for o in scene.obstacles] == ["hand", "base", "base", "base", "base"]
    kinds = [o.shape.kind for o in scene.obstacles]
    assert kinds == ["box", "cylinder", "capsule", "sphere", "mesh"]
    assert (table.shape.size, column.shape.size) == ((1.2, 0.8, 0.05), (0.1, 2.0))
    assert (pipe.shape.size, ball.shape.size) == ((0.1, 2.0), (1.0,))
    quarter = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    np.testing.assert_allclose(table.shape.pose[:3, :3], quarter, atol=1e-12)
    np.testing.assert_allclose(table.shape.pose[:, 3], [0.5, 0, -0.03, 1])
    np.testing.assert_allclose(fixture.shape.pose[:3, :3], quarter, atol=1e-7)
    np.testing.assert_allclose(np.sort(fixture.shape.vertices.max(axis=0)), [1, 1, 1])
    assert fixture.shape.source == str(tmp_path / "meshes" / "m.obj")
    assert table.shape.source == "obstacle 'table'"
    assert scene.ignore == (("table", "hand"), ("ball", "pipe"))


def test_patterns_ignore_all_pairs_that_they_name_once_each(robot):
    balls = [{"name": f"ball{k}", "type": "sphere", "radius": 1.0} for k in range(3)]
    scene = load_scene(
        {"obstacles": balls, "ignore": [["ball*", "ball*"], ["han?", "ball[01]"]]}, robot
    )
    assert scene.ignore == (
        ("ball0", "ball1"), ("ball0", "ball2"), ("ball1", "ball2"),
        ("hand", "ball0"), ("hand", "ball1"),
    )  # fmt: skip


@pytest.mark.parametrize("text", ["", "\n# nothing\n", "---\n", "obstacles:\nignore:\n", "{}"])
def test_an_empty_scene_is_one_with_a_warning(robot, written, text, caplog):
    path = written("cell.yaml", text)
    scene = load_scene(str(path), robot)
    assert scene.obstacles == () and scene.ignore == ()
    said = f"{path}: is empty; no obstacle is monitored"
    assert [r.getMessage() for r in caplog.records] == [said]


def test_a_mapping_instead_of_a_file(robot):
    obstacle = one(robot, **box(size=np.array([1, 2, 3]), position=(0, np.float32(1), 0)))
    assert obstacle.shape.size == (1.0, 2.0, 3.0)
    assert all(type(value) is float for value in obstacle.shape.size)
    assert refused(robot, {"obstacles": [box(size=1)]}).startswith("scene: obstacles[0].size: ")


def test_rpy_turns_about_fixed_axes(robot):
    pose = one(robot, **box(rpy=[math.pi / 2, 0, math.pi / 2])).shape.pose
    # y goes to z by the roll, and z stays z under the yaw.
    np.testing.assert_allclose(pose[:3, :3] @ [0, 1, 0], [0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(pose[:3, :3] @ [1, 0, 0], [0, 1, 0], atol=1e-12)


def test_quaternion_of_three_digits_is_normalised(robot):
    rotation = one(robot, **box(orientation=[0, 0.707, 0, 0.707])).shape.pose[:3, :3]
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(rotation @ [0, 0, 1], [1, 0, 0], atol=1e-12)


def test_scale_of_three_and_mirror(robot, written):
    mesh = written("m.obj", "v 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\n")
    obstacle = one(robot, name="m", type="mesh", file=str(mesh), scale=[1, -2, 3])
    assert sorted(map(tuple, obstacle.shape.vertices)) == [(0, -2, 0), (0, 0, 3), (1, 0, 0)]


def test_mesh_from_a_package(robot, tmp_path):
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "m.obj").write_text("v 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\n")
    data = {"obstacles": [{"name": "m", "type": "mesh", "file": "package://pkg/m.obj"}]}
    assert load_scene(data, robot, [tmp_path]).obstacles[0].shape.kind == "mesh"
    message = refused(robot, data)
    assert message.startswith("scene: obstacles[0].file: no file 'package://pkg/m.obj'")


BAD = {
    "not a mapping": ([1], "expected a mapping with the keys obstacles, joints, ignore, got list"),
    "unknown key": ({"obstacle": []}, "obstacle: unknown key; did you mean 'obstacles'?"),
    "no list": ({"obstacles": {"name": "a"}}, "obstacles: expected a list, got dict"),
    "nothing": ({"obstacles": [None]}, "obstacles[0]: expected a mapping with the keys name"),
    "misspelt": (box(sise=1), "obstacles[0].sise: unknown key; did you mean 'size'?"),
    "another kind's": (box(radius=1), "obstacles[0].radius: a box has no such key; allowed keys"),
    "no name": ({"type": "box", "size": [1, 1, 1]}, "obstacles[0].name: is missing"),
    "name a number": (box(name=7), "obstacles[0].name: expected a text, got int 7"),
    "name twice": ({"obstacles": [box(), box()]}, "obstacles[1].name: 'table' is already an obst"),
    "name of a link": (box(name="hand"), "obstacles[0].name: 'hand' is already a link"),
    "no type": ({"name": "a"}, "obstacles[0].type: is missing"),
    "type": (box(type="boxx"), "obstacles[0].type: unknown value 'boxx'; did you mean 'box'?"),
    "link": (box(link="hant"), "obstacles[0].link: unknown link 'hant'; did you mean 'hand'?"),
    "size a bool": (box(size=[1, 2, True]), "obstacles[0].size[2]: expected a number, got bool"),
    "size zero": (box(size=[1, 0, 1]), "obstacles[0].size[1]: should be positive, got 0"),
    "nan": (box(size=[1, math.nan, 1]), "obstacles[0].size[1]: expected a finite number, got nan"),
    "huge": (box(size=[1, 10**400, 1]), "obstacles[0].size[1]: expected a finite number, got inf"),
    "quoted": (box(size=[1, 1, "1.5"]), "write numbers without quotes"),
    "radius": ({"name": "a", "type": "sphere", "radius": 0}, "obstacles[0].radius: should be pos"),
    "position inf": (box(position=[0, 0, math.inf]), "obstacles[0].position[2]: expected a finite"),
    "both": (
        box(rpy=[0, 0, 0], orientation=[0, 0, 0, 1]),
        "obstacles[0].rpy: give orientation or rpy, not both",
    ),
    "degrees": (
        box(rpy=[0, 0, -90]), "obstacles[0].rpy: -90 is more than a turn; angles are in radians",
    ),
    "zero norm": (box(orientation=[0, 0, 0, 0]), "obstacles[0].orientation: a quaternion x y z w"),
    "far norm": (box(orientation=[0, 0, 1, 1]), "has 1.414"),
    "no file": ({"name": "a", "type": "mesh"}, "obstacles[0].file: is missing"),
    "file gone": (
        {"name": "a", "type": "mesh", "file": "gone.stl"},
        "obstacles[0].file: no file 'gone.stl'; searched",
    ),
    "file http": (
        {"name": "a", "type": "mesh", "file": "http://a/b.stl"},
        "obstacles[0].file: 'http://a/b.stl': scheme 'http' is not supported",
    ),
    "scale zero": (
        {"name": "a", "type": "mesh", "file": "cell.yaml", "scale": 0},
        "obstacles[0].scale: no factor may be zero",
    ),
    "mesh format": (
        {"name": "a", "type": "mesh", "file": "cell.yaml"},
        "cannot read '.yaml'; use .stl, .obj, .dae",
    ),
    "ignore": ({"ignore": "table"}, "ignore: expected a list, got str"),
    "ignore one": ({"ignore": [["hand"]]}, "ignore[0]: expected a pair of names, got ['hand']"),
    "ignore who": (
        {"ignore": [["base", "hand"], ["base", "hamd"]]},
        "ignore[1]: 'hamd' is neither a link nor an obstacle; did you mean 'hand'?",
    ),
    "ignore nobody": (
        {"ignore": [["han?", "[x]*"]]}, "ignore[0]: ['han?', '[x]*'] names no two links"
    ),
    "ignore itself": ({"ignore": [["hand", "hand"]]}, "ignore[0]: both names are 'hand'"),
}


@pytest.mark.parametrize("name", BAD)
def test_refused_with_the_keys_path(robot, written, name):
    data, reason = BAD[name]
    if isinstance(data, dict) and "type" in data:
        data = {"obstacles": [data]}
    if isinstance(data, dict) and "name" in data:
        data = {"obstacles": [data]}
    path = written("cell.yaml", yaml.safe_dump(data))
    message = refused(robot, path)
    assert message.startswith("cell.yaml: ")
    assert reason in message
    assert len(message) < 1000


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        (Shape("sphere", np.eye(4), (math.nan,)), r"its size \(nan,\)"),
        (Shape("box", np.eye(4), (-0.1, 0.1, 0.1)), "its size"),
        (Shape("box", np.full((4, 4), math.nan), (0.1, 0.1, 0.1)), "its pose is not finite"),
        (Shape("box", np.diag([2.0, 2.0, 2.0, 1.0]), (0.1, 0.1, 0.1)), "its pose is not a rigid"),
        (Shape("cone", np.eye(4), (0.1, 0.1)), "its kind"),
    ],
)
def test_an_obstacle_made_in_python_is_checked_too(shape, says):
    with pytest.raises(SceneError, match=f"obstacle 'post': {says}"):
        Obstacle("post", "base", shape)


def test_syntax_error_names_the_line(robot, written):
    path = written("cell.yaml", "obstacles:\n  - name: [a\n")
    assert refused(robot, path).startswith("cell.yaml:3: not YAML: ")
    path.write_text("obstacles: []\nignore: []\nobstacles: []\n")
    assert refused(robot, path) == "cell.yaml:3: not YAML: duplicate key 'obstacles'"


def test_files_that_cannot_be_read(robot, tmp_path):
    assert "no such file" in refused(robot, tmp_path / "no.yaml")
    assert str(tmp_path) in refused(robot, tmp_path)
    assert "a\0b" in refused(robot, "a\0b")
    large = tmp_path / "large.yaml"
    with open(large, "wb") as file:
        file.truncate(11_000_000)
    assert "scene: larger than 10000000 bytes" in refused(robot, large)
    assert "got int" in refused(robot, 7)

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Command files: units, what may be left out, and what is refused by its key."""

import math

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation
from support.robots.toys import joint, link, robot

from collision_monitor.errors import MotionError
from collision_monitor.motion.commands.command_file import (
    JointCommand,
    LineCommand,
    is_command,
    parse_command,
)
from collision_monitor.robot.urdf.urdf import load_robot

ROBOT = load_robot(
    robot(
        link("a"), link("b"), link("c"), link("d"),
        joint("turn", "a", "b"), joint("slide", "b", "c", "prismatic"), joint("wrist", "c", "d"),
    )
)  # fmt: skip
JOINT = """
mode: joint
unit: deg
start: {turn: 0, slide: 0.1, wrist: 10}
target: {turn: 90, slide: 0.3}
tf: 20
tsa: 2
tsd: 3
profiles:
  slide: {rate: 0.05, tsa: 1, tsd: 1}
"""
LINE = """
mode: line
link: d
start: {turn: 0.1, slide: 0.2, wrist: 0.3}
pose: {position: [1, 2, 3], rpy: [0, 0, 1.5]}
speed: 0.1
turning: 0.2
tsa: 1
tsd: 1
"""


def parse(text):
    return parse_command(yaml.safe_load(text), "file", ROBOT)


def test_joint_mode():
    command = parse(JOINT)
    assert isinstance(command, JointCommand)
    assert command.start == {"turn": 0.0, "slide": 0.1, "wrist": math.radians(10)}
    assert command.target == {"turn": math.radians(90), "slide": 0.3}, "metres stay metres"
    assert command.ramps["turn"].profile((1.0,)).tf == 20.0
    slide = command.ramps["slide"].profile((0.2,))
    assert (slide.tf, slide.tsa, slide.tsd) == (pytest.approx(5.0), 1.0, 1.0)


def test_degrees_per_second_and_metres_per_second():
    command = parse(JOINT.replace("tf: 20", "rate: 9").replace("rate: 0.05, ", "tf: 8, "))
    assert command.ramps["turn"].rates == (pytest.approx(math.radians(9)),)
    assert command.ramps["slide"].tf == 8.0


def test_line_mode():
    command = parse(LINE)
    assert isinstance(command, LineCommand)
    assert command.start == {"turn": 0.1, "slide": 0.2, "wrist": 0.3}
    assert command.position.tolist() == [1.0, 2.0, 3.0]
    assert np.allclose(command.rotation, Rotation.from_euler("z", 1.5).as_matrix())
    assert (command.target, command.frame, command.moving) == (None, None, None)
    assert command.ramps.profile((10.0, 0.2)).tf == pytest.approx(101.0), "the position is slower"
    assert command.ramps.profile((0.1, 2.0)).tf == pytest.approx(11.0), "the turn is slower"


def test_poses_in_other_words():
    rpy = parse(LINE.replace("rpy: [0, 0, 1.5]", "rpy: [10, 20, 30]\n unit: deg").replace(
        "\n unit: deg}", "}\nunit: deg"))  # fmt: skip
    expected = Rotation.from_euler("xyz", [10, 20, 30], degrees=True)
    assert np.allclose(rpy.rotation, expected.as_matrix())
    x, y, z, w = expected.as_quat()
    quaternion = parse(LINE.replace("rpy: [0, 0, 1.5]", f"quaternion: [{x}, {y}, {z}, {w}]"))
    assert np.allclose(quaternion.rotation, expected.as_matrix())
    place = parse(LINE.replace(", rpy: [0, 0, 1.5]", ", frame: b"))
    assert place.rotation is None and place.frame == "b"
    turn = parse(LINE.replace("position: [1, 2, 3], ", ""))
    assert turn.position is None and turn.rotation is not None
    target = parse(LINE.replace("pose: {position: [1, 2, 3], rpy: [0, 0, 1.5]}",
                                "target: {wrist: 1}\nmoving: [turn, wrist]"))  # fmt: skip
    assert target.target == {"wrist": 1.0} and target.moving == ("turn", "wrist")


def test_what_is_a_command():
    assert is_command({"mode": 3})
    assert not is_command({"joint_names": [], "points": []})
    assert not is_command([1])


@pytest.mark.parametrize(
    ("text", "old", "new", "says"),
    [
        (JOINT, "mode: joint", "mode: jont", "file: mode: unknown value 'jont'; did you mean 'jo"),
        (JOINT, "unit: deg", "unit: grad", "file: unit: unknown value 'grad'"),
        (JOINT, "turn: 90", "tern: 90", "file: target: tern: unknown key; did you mean 'turn'"),
        (JOINT, "turn: 90", "turn: ninety", "file: target: turn: expected a number"),
        (JOINT, "turn: 90", "turn: .nan", "file: target: turn: expected a finite number"),
        (JOINT, "turn: 90", "turn: 1.0e+300", "file: target: turn: .* is beyond reason"),
        (JOINT, "turn: 0, ", "", "file: start: lacks joint 'turn', which has a target"),
        (JOINT, "start: {turn: 0, slide: 0.1, wrist: 10}", "", "file: start: expected a mapping"),
        (JOINT, "target: {turn: 90, slide: 0.3}", "target: {}", "file: target: .*names no joint"),
        (JOINT, "tf: 20", "", "file: tf: either tf or rate is needed, and not both"),
        (JOINT, "tf: 20", "tf: 20\nrate: 3", "file: tf: either tf or rate"),
        (JOINT, "tf: 20", "tf: 0", "file: tf: should be positive"),
        (JOINT, "tsa: 2\n", "", "file: tsa: is missing"),
        (JOINT, "slide: {rate", "wrist: {rate", "file: profiles: wrist: unknown key"),
        (JOINT, "{rate: 0.05, tsa: 1, tsd: 1}", "7", "file: profiles.slide: expected a mapping"),
        (JOINT, "rate: 0.05", "speed: 0.05", "file: profiles.slide: speed: unknown key"),
        (JOINT, "tsa: 2", "tsa: 2\nlink: d", "file: link: unknown key"),
        (LINE, "link: d", "link: e", "file: link: robot 'toy' has no link 'e'"),
        (LINE, "link: d", "", "file: link: is missing"),
        (LINE, "pose:", "target: {turn: 1}\npose:", "file: target: either a target"),
        (LINE, "position: [1, 2, 3], rpy: [0, 0, 1.5]", "", "file: pose: position: a position, or"),
        (LINE, "[1, 2, 3]", "[1, 2]", "file: pose: position: expected a list of 3 numbers"),
        (LINE, "[1, 2, 3]", "[1, 2, 1.0e+9]", "file: pose: position: .* is beyond reason"),
        (LINE, "rpy: [0, 0, 1.5]", "quaternion: [0, 0, 0, 2]", "has length 2"),
        (LINE, "rpy: [0, 0, 1.5]", "rpy: [0, 0, 1], quaternion: [0, 0, 0, 1]", "as well: give one"),
        (LINE, "rpy:", "frame: x, rpy:", "file: pose: frame: robot 'toy' has no link 'x'"),
        (LINE, "speed: 0.1", "tf: 9", "file: tf: either tf or speed and turning"),
        (LINE, "speed: 0.1", "speed: -1", "file: speed: should be positive"),
        (LINE, "link: d", "link: d\nmoving: turn", "file: moving: expected a list"),
        (LINE, "link: d", "link: d\nmoving: [1]", "file: moving: expected a list of names"),
    ],
)
def test_bad_commands_are_refused_by_key(text, old, new, says):
    assert old in text
    with pytest.raises(MotionError, match=says):
        parse(text.replace(old, new, 1))

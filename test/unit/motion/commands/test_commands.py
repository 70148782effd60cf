# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Commands become the motions that they say, on real arms, by pinocchio's word."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation
from support.paths import ROOT
from support.robots.line_cases import arm
from support.robots.toy_models import toy_robot
from support.robots.toys import joint, link

from collision_monitor.errors import MotionError
from collision_monitor.motion.commands import command_motion
from collision_monitor.motion.violation import Code
from collision_monitor.robot.poses import pose_from_xyz_rpy

JOINT = """
mode: joint
start: {shoulder_roll: 0.0, elbow_pitch: -1.0, wrist_roll: 0.5}
target: {shoulder_roll: 1.0, elbow_pitch: -2.0}
tf: 80
tsa: 10
tsd: 20
profiles:
  elbow_pitch: {rate: 0.02, tsa: 5, tsd: 5}
"""
LINE = """
mode: line
link: tool
start: {shoulder_roll: 0.3, shoulder_pitch: -0.5, elbow_pitch: 1.4, wrist_pitch: -1, wrist_yaw: 0.5}
pose: {frame: tool, position: [0, 0, 1.0], rpy: [0, 0, 2.0]}
speed: 0.05
turning: 0.02
tsa: 5
tsd: 5
"""
SPACE = "space_arm"


def joint_command(text, robot=None):
    """The motion of the joints that a command names, and its warnings."""
    robot = arm(SPACE).robot if robot is None else robot
    elsewhere = [joint.name for joint in robot.joints]
    loaded = command_motion(yaml.safe_load(text), Path("file"), robot, elsewhere=elsewhere)
    return loaded.only(loaded.named).trajectory, loaded.warnings


def line_command(text, name=SPACE, **options):
    loaded = command_motion(yaml.safe_load(text), Path("file"), arm(name).robot, **options)
    return loaded.trajectory, loaded.violations, loaded.warnings


def test_each_joint_has_its_own_profile_and_rests_when_it_has_arrived():
    motion, warnings = joint_command(JOINT)
    assert motion.joint_names == ("shoulder_roll", "elbow_pitch", "wrist_roll")
    assert motion.duration == 80.0
    found = motion.sample(np.array([0.0, 20.0, 40.0, 70.0, 80.0]))
    assert found.positions[[0, -1]] == pytest.approx(np.array([[0, -1, 0.5], [1, -2, 0.5]]))
    assert found.velocities[2] == pytest.approx([1 / 65, -0.02, 0])
    assert found.velocities[3, 1] == 0.0, "done after 55 s"
    assert found.positions[3, 1] == pytest.approx(-2.0)
    assert not warnings


def test_joints_of_another_device_are_left_out_where_that_is_asked_for():
    text = JOINT.replace("start: {", "start: {gripper: 0.1, ").replace(
        "target: {", "target: {gripper: 0.2, "
    )
    text += "  gripper: {rate: 0.1, tsa: 1, tsd: 1}\n"
    robot = arm(SPACE).robot
    with pytest.raises(MotionError, match="file: start: gripper: unknown key"):
        joint_command(text)
    loaded = command_motion(yaml.safe_load(text), Path("file"), robot, ignored=["grip*"])
    plain = command_motion(yaml.safe_load(JOINT), Path("file"), robot)
    assert loaded.named == plain.named and loaded.warnings == plain.warnings
    assert np.array_equal(loaded.trajectory.polynomial.c, plain.trajectory.polynomial.c)
    # A joint of the robot is never left out.
    loaded = command_motion(yaml.safe_load(JOINT), Path("file"), robot, ignored=["*"])
    assert loaded.named == plain.named
    with pytest.raises(MotionError, match="file: start: .*names no joint"):
        command_motion({"mode": "line", "link": "tool", "start": {"gripper": 0}, "pose": {}},
                       Path("file"), robot, ignored=["gripper"])  # fmt: skip


def test_a_joint_that_is_where_it_should_be_takes_its_time_or_none():
    same = JOINT.replace("elbow_pitch: -2.0", "elbow_pitch: -1.0")
    motion, _ = joint_command(same)
    assert motion.duration == 80.0
    assert not motion.sample(np.linspace(0, 80, 9)).velocities[:, 1].any()


def test_a_target_with_the_largest_rate_and_acceleration():
    text = JOINT[: JOINT.index("tf: 80")] + "rate: 0.02\nacceleration: 0.004\n"
    motion, warnings = joint_command(text.replace("wrist_roll: 0.5}", "wrist_roll: 0.5}", 1))
    assert motion.duration == pytest.approx(1 / 0.02 + 5) and not warnings
    found = motion.sample(np.linspace(0, motion.duration, 1001))
    assert np.abs(found.velocities).max(axis=0) == pytest.approx([0.02, 0.02, 0])
    assert np.abs(found.accelerations).max(axis=0) == pytest.approx([0.004, 0.004, 0])
    short = text.replace("roll: 1.0", "roll: 0.016").replace("pitch: -2.0", "pitch: -1.016")
    near, _ = joint_command(short)
    assert near.duration == pytest.approx(4.0), "two ramps of 2 s do not reach the rate"


def test_a_line_keeps_the_rates_and_accelerations_of_both_its_parts():
    text = LINE[: LINE.index("tsa")] + "acceleration: 0.01\nturning_acceleration: 0.001\n"
    trajectory, violations, _ = line_command(text)
    assert not violations
    # The turn of 2 rad is the slower: 0.02 rad/s after 20 s. The way of 1 m has half of it.
    assert trajectory.duration == pytest.approx(2 / 0.02 + 20)
    fast, _, _ = line_command(text.replace("acceleration: 0.01", "acceleration: 0.0002", 1))
    assert fast.duration == pytest.approx(1 / 0.01 + 50), "0.01 m/s after 50 s, by the way"


def test_the_examples_in_the_documentation_are_sound():
    text = (ROOT / "docs" / "verify.md").read_text(encoding="utf-8")
    first, second = re.findall(r"```yaml\n(mode: .*?)```", text, re.DOTALL)
    motion, warnings = joint_command(first)
    assert motion.duration == pytest.approx(80.0) and not warnings
    trajectory, violations, _ = line_command(second)
    assert trajectory.duration == pytest.approx(120 / 1.0 + 5.0)
    assert violations == ()


def test_ramps_of_no_length_are_told():
    assert "a ramp of 0 s requires" in joint_command(JOINT.replace("tsa: 10", "tsa: 0"))[1][0]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("tf: 80", "tf: 29", "file: joint 'shoulder_roll': tf is 29 s, but the ramps"),
        ("rate: 0.02", "rate: 0.5", "file: joint 'elbow_pitch': a change of 1 with ramps of 5 s"),
        ("tsa: 10", "tsa: -1", "file: joint 'shoulder_roll': tsa is -1 s"),
    ],
)
def test_profiles_that_cannot_be_name_the_joint(old, new, says):
    with pytest.raises(MotionError, match=says):
        joint_command(JOINT.replace(old, new))


def test_a_line_in_the_frame_of_the_tool():
    trajectory, violations, warnings = line_command(LINE)
    assert trajectory.duration == pytest.approx(2.0 / 0.02 + 5.0), "the turn is the slower"
    start, middle, end = (
        arm(SPACE).pose(row)
        for row in trajectory.positions(np.array([0.0, 0.5, 1.0]) * trajectory.duration)
    )
    expected = pose_from_xyz_rpy((0.0, 0.0, 1.0), (0.0, 0.0, 2.0))
    assert np.linalg.inv(start) @ end == pytest.approx(expected, abs=1e-5)
    assert (np.linalg.inv(start) @ middle)[:3, 3] == pytest.approx([0, 0, 0.5], abs=1e-5)
    assert not [v for v in violations if not v.warning]
    assert "start: joints that are not named are held: shoulder_yaw at 0" in warnings[0]


def test_what_a_pose_does_not_say_stays_as_it_is():
    only_place = LINE.replace(", rpy: [0, 0, 2.0]", "").replace("frame: tool, ", "")
    at = arm(SPACE).pose(line_command(LINE)[0].positions(np.zeros(1))[0])
    near = (at[:3, 3] + [0.2, -0.1, 0.3]).tolist()
    trajectory, _, _ = line_command(only_place.replace("[0, 0, 1.0]", str(near)))
    end = arm(SPACE).pose(trajectory.positions(np.array([trajectory.duration]))[0])
    assert end[:3, 3] == pytest.approx(near, abs=1e-5)
    assert end[:3, :3] == pytest.approx(at[:3, :3], abs=1e-6)
    only_turn = LINE.replace("position: [0, 0, 1.0], ", "")
    trajectory, _, _ = line_command(only_turn)
    end = arm(SPACE).pose(trajectory.positions(np.array([trajectory.duration]))[0])
    assert end[:3, 3] == pytest.approx(at[:3, 3], abs=1e-5)


def test_a_target_of_joints_is_met_by_the_link_and_not_by_all_joints():
    text = LINE.replace(
        "pose: {frame: tool, position: [0, 0, 1.0], rpy: [0, 0, 2.0]}",
        "target: {elbow_pitch: 1.1, wrist_yaw: 0.2}",
    )
    trajectory, _, warnings = line_command(text)
    start, end = trajectory.positions(np.array([0.0, trajectory.duration]))
    goal = start.copy()
    names = list(trajectory.joint_names)
    goal[names.index("elbow_pitch")], goal[names.index("wrist_yaw")] = 1.1, 0.2
    assert arm(SPACE).pose(end) == pytest.approx(arm(SPACE).pose(goal), abs=1e-5)
    assert any("ends in another configuration than the target" in w for w in warnings)


def test_joints_to_be_held_are_where_they_are_asked_to_be():
    trajectory, _, warnings = line_command(LINE, held={"shoulder_yaw": 0.25, "wrist_roll": -0.5})
    start = dict(zip(trajectory.joint_names, trajectory.positions(np.zeros(1))[0], strict=True))
    assert start["shoulder_yaw"] == 0.25 and start["wrist_roll"] == -0.5
    assert not warnings


def test_half_turns_are_told():
    trajectory, _, warnings = line_command(LINE.replace("2.0]", "3.141592653589793]"))
    assert any("at a half turn rounding decides" in w for w in warnings)


def test_violations_on_the_way_come_along():
    far = LINE.replace("[0, 0, 1.0]", "[0, 0, 20.0]")
    _, violations, _ = line_command(far)
    assert {Code.SINGULARITY, Code.OFF_THE_LINE} <= {v.code for v in violations}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("position: [0, 0, 1.0], rpy: [0, 0, 2.0]", "position: [0, 0, 0]", "the target is where"),
        ("turning: 0.02\n", "", "file: turning: is missing, but it changes along the line"),
        ("speed: 0.05\n", "", "file: speed: is missing"),
        ("tsa: 5", "tsa: 500", "file: a change of 2 with ramps of 500 s and 5 s does not reach"),
        ("link: tool", "link: tool\nmoving: [x]", "file: joint 'x' does not move 'tool'"),
        ("link: tool", "link: core_module", "file: no joint moves 'core_module'"),
    ],
)
def test_lines_that_cannot_be(old, new, says):
    text = LINE.replace(old, new)
    if "core_module" in text:
        text = text.replace("frame: tool, ", "")
    with pytest.raises(MotionError, match=says):
        line_command(text)


ROBOT = toy_robot(
    link("a"), link("b"), link("c"), link("d"),
    joint("turn", "a", "b"), joint("slide", "b", "c", "prismatic"), joint("wrist", "c", "d"),
)  # fmt: skip
JOINTS = """
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
GO = """
mode: line
link: d
start: {turn: 0.1, slide: 0.2, wrist: 0.3}
pose: {position: [1, 2, 3], rpy: [0, 0, 1.5]}
speed: 0.1
turning: 0.2
tsa: 1
tsd: 1
"""


def test_degrees_are_turned_into_radians_and_metres_stay_metres():
    motion, _ = joint_command(JOINTS, ROBOT)
    found = motion.sample(np.array([0.0, 2.5, 10.0, 20.0]))
    assert found.positions[0] == pytest.approx([0.0, 0.1, math.radians(10)])
    assert found.positions[-1] == pytest.approx([math.radians(90), 0.3, math.radians(10)])
    assert found.velocities[1, 1] == pytest.approx(0.05)
    assert found.velocities[2] == pytest.approx([math.radians(90) / 17.5, 0.0, 0.0])
    text = JOINTS.replace("tf: 20", "rate: 9").replace("rate: 0.05, ", "tf: 8, ")
    motion, _ = joint_command(text, ROBOT)
    found = motion.sample(np.array([4.0, 8.0]))
    assert found.velocities[0] == pytest.approx([math.radians(9), 0.2 / 7.0, 0.0])
    assert found.positions[1, 1] == pytest.approx(0.3)


def test_a_turn_in_other_words():
    turn = Rotation.from_euler("xyz", [10, 20, 30], degrees=True)
    degrees = yaml.safe_load(LINE)
    degrees |= {"unit": "deg", "turning": 1.0}
    degrees["start"] = {k: math.degrees(v) for k, v in degrees["start"].items()}
    quaternion = yaml.safe_load(LINE)
    for command, words in (
        (degrees, {"rpy": [10, 20, 30]}),
        (quaternion, {"quaternion": turn.as_quat().tolist()}),
    ):
        command["pose"] = {"frame": "tool", **words}
        trajectory, *_ = line_command(yaml.safe_dump(command))
        ends = trajectory.positions(np.array([0.0, trajectory.duration]))
        start, end = (arm(SPACE).pose(row)[:3, :3] for row in ends)
        assert start.T @ end == pytest.approx(turn.as_matrix(), abs=1e-6)


@pytest.mark.parametrize(
    ("text", "old", "new", "says"),
    [
        (JOINTS, "mode: joint", "mode: jont", "file: mode: unknown value 'jont'; did you mean 'jo"),
        (JOINTS, "turn: 90", "tern: 90", "file: target: tern: unknown key; did you mean 'turn'"),
        (JOINTS, "turn: 90", "turn: 1.0e+300", "file: target: turn: .* exceeds the maximum"),
        (JOINTS, "turn: 0, ", "", "file: start: lacks joint 'turn', which has a target"),
        (JOINTS, "start: {turn: 0, slide: 0.1, wrist: 10}", "", "file: start: expected a mapping"),
        (JOINTS, "target: {turn: 90, slide: 0.3}", "target: {}", "file: target: .*names no joint"),
        (JOINTS, "tf: 20", "", "file: tf: give either tf or rate"),
        (JOINTS, "tf: 20", "tf: 20\nrate: 3", "file: tf: give either tf or rate"),
        (JOINTS, "tf: 20", "tf: 0", "file: tf: should be positive"),
        (JOINTS, "tsa: 2\n", "", "file: tsa: is missing"),
        (JOINTS, "tsa: 2", "acceleration: 1", "acceleration: give an acceleration for each rate"),
        (JOINTS, "rate: 0.05", "rate: 1, acceleration: 1", "acceleration: determines the ramps"),
        (GO, "tsa: 1", "acceleration: 1", "acceleration: give an acceleration for each rate"),
        (JOINTS, "slide: {rate", "wrist: {rate", "file: profiles: wrist: unknown key"),
        (JOINTS, "rate: 0.05", "speed: 0.05", "file: profiles.slide: speed: unknown key"),
        (JOINTS, "tsa: 2", "tsa: 2\nlink: d", "file: link: unknown key"),
        (GO, "link: d", "link: e", "file: link: robot 'toy' has no link 'e'; it has"),
        (GO, "link: d", "", "file: link: is missing"),
        (GO, "pose:", "target: {turn: 1}\npose:", "file: target: give either a target"),
        (GO, "position: [1, 2, 3], rpy: [0, 0, 1.5]", "", "file: pose: position: give a position"),
        (GO, "[1, 2, 3]", "[1, 2, 1.0e+9]", "file: pose: position: .* exceeds the maximum"),
        (GO, "1.5]", "15]", "file: pose: rpy: 15 is more than a turn; angles are in radians"),
        (GO, "rpy:", "frame: x, rpy:", "file: pose: frame: robot 'toy' has no link 'x'"),
        (GO, "speed: 0.1", "tf: 9", "file: tf: give either tf or speed and turning"),
        (GO, "link: d", "link: d\nmoving: [1]", "file: moving: expected a list of names"),
    ],
)
def test_bad_commands_are_refused_by_key(text, old, new, says):
    assert old in text
    with pytest.raises(MotionError, match=says):
        command_motion(yaml.safe_load(text.replace(old, new, 1)), Path("file"), ROBOT)

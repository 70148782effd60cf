# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Motions from files of every kind, on a robot."""

import os

import numpy as np
import pytest
from support.files.made_bags import command, state, write_bag
from support.robots.toys import chain, joint, link, robot

from collision_monitor.errors import MotionError
from collision_monitor.motion import read_motion
from collision_monitor.motion.motion_files import Kind, load_trajectory, open_motion
from collision_monitor.robot.bodies import link_poses, rigid_bodies
from collision_monitor.robot.urdf import load_robot

ROBOT = load_robot(chain())  # j1, j2, j3
BODIES = rigid_bodies(ROBOT)
CSV = "time,j2,j1\n0,0,1\n1,0.5,1\n3,0,0\n"
YAML = """\
joint_names: [j1, j2, j3]
points:
- {positions: [0, 0, 0], velocities: [0, 0, 0], time_from_start: {sec: 0}}
- {positions: [1, 0.5, -1], velocities: [0.1, 0, 0], effort: [1, 1, 1], time_from_start: {sec: 2}}
- {positions: [0, 0, 0], time_from_start: {sec: 3}}
"""

COMMANDS = {
    "joint": """\
mode: joint
unit: deg
start: {j1: 0, j2: 10}
target: {j1: 45}
tf: 4
tsa: 1
tsd: 1
""",
    "line": """\
mode: line
link: l3
start: {j1: 0.1, j2: 0.6, j3: 0.7}
pose: {frame: l3, position: [-0.2, 0.1, 0], rpy: [0, 0, 0.1]}
tf: 4
tsa: 1
tsd: 1
""",
}


def load(tmp_path, name, data, **options):
    """What is loaded from a file of these contents."""
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return load_trajectory(path, ROBOT, **options)


def test_yaml_goes_by_its_velocities(tmp_path):
    loaded = load(tmp_path, "move.yaml", YAML)
    found = loaded.trajectory.sample(np.array([2.0 - 1e-9, 2.5]))
    assert found.velocities[0] == pytest.approx([0.1, 0.0, 0.0], abs=1e-6)
    assert found.velocities[1] == pytest.approx([-1.0, -0.5, 1.0]), "the last piece is linear"
    assert loaded.source == "move.yaml (JointTrajectory, 3 points)"
    texts = " ".join(loaded.warnings)
    assert "efforts of 1 points are not used" in texts
    assert "1 of 3 points are without velocities" in texts


def test_a_first_point_that_is_not_at_zero_is_told(tmp_path):
    loaded = load(tmp_path, "move.csv", CSV.replace("\n0,", "\n0.5,"))
    assert (loaded.trajectory.duration, loaded.begin) == (2.5, 0.5)
    assert "first point is at 0.5 s" in loaded.warnings[0]


def test_velocities_of_a_single_point_are_told(tmp_path):
    point = "{positions: [1], velocities: [%s], time_from_start: {sec: 0}}"
    point = f"joint_names: [j1]\npoints: [{point}]"
    for velocity, told in (("0.5", True), ("0", False)):
        warnings = " ".join(load(tmp_path, "move.yaml", point % velocity).warnings)
        assert ("velocities of the only point are not used" in warnings) is told


def test_points_of_a_bag_are_told_about_as_those_of_a_file(tmp_path):
    mixed = command(1.0, ["j1"], [(0, [0.0], [0.0]), (1, [1.0])])
    loaded = load_trajectory(write_bag(tmp_path / "bag", [("/c", 1.0, mixed)]), ROBOT)
    assert "/c: 1 of 2 points are without velocities: pieces" in " ".join(loaded.warnings)


def test_commands_are_motions(tmp_path):
    loaded = load(tmp_path, "go.yaml", COMMANDS["joint"])
    assert loaded.source == "go.yaml (command, joint mode)"
    assert loaded.trajectory.times.tolist() == [0.0, 1.0, 3.0, 4.0], "j2 adds none"
    assert loaded.trajectory.positions([0.0, 4.0]) == pytest.approx(
        np.radians([[0, 10, 0], [45, 10, 0]])
    )
    assert any("j3 at 0" in w for w in loaded.warnings)
    loaded = load(tmp_path, "go", COMMANDS["line"])
    assert loaded.source == "go (command, l3 along a line)"
    assert loaded.violations == ()
    start, end = link_poses(BODIES, ["l3"], loaded.trajectory.positions([0.0, 4.0]))["l3"]
    assert (np.linalg.inv(start) @ end)[:3, 3] == pytest.approx([-0.2, 0.1, 0.0], abs=1e-6)


@pytest.mark.parametrize(("name", "data"), [("move", CSV), ("move", YAML), ("move.txt", YAML)])
def test_names_that_say_nothing_are_looked_into(tmp_path, name, data):
    assert load(tmp_path, name, data).trajectory.duration == 3.0


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("move.csv", CSV.replace("j1", "j9"), "no joint 'j9'"),
        ("move", b"\x00\xff", "cannot be read as CSV"),
        ("go.yaml", COMMANDS["joint"].replace("tf: 4", "tf: 1"), "'j1': tf is 1 s, but the ramps"),
        ("go.yaml", COMMANDS["line"].replace("j3:", "j9:"), "start: j9: unknown key"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_file(tmp_path, name, data, says):
    with pytest.raises(MotionError, match=says) as caught:
        load(tmp_path, name, data)
    assert name in str(caught.value)


def test_files_that_are_not_there(tmp_path):
    for name in ("none", "none.csv", "none.yaml"):
        with pytest.raises(MotionError, match=f"{name}: no such file"):
            load_trajectory(tmp_path / name, ROBOT)


@pytest.mark.parametrize("data", [CSV, YAML], ids=["CSV", "YAML"])
def test_a_pipe_is_read_once(tmp_path, data):
    reader, writer = os.pipe()
    os.write(writer, data.encode())
    os.close(writer)
    found = load_trajectory(f"/dev/fd/{reader}", ROBOT)
    os.close(reader)
    assert found.trajectory.duration == load(tmp_path, "motion", data).trajectory.duration


# -- tables of waypoints ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("move.csv", CSV, Kind.CSV),
        ("move.json", YAML, Kind.JOINT_TRAJECTORY),
        ("move", COMMANDS["line"], Kind.COMMAND),
    ],
)
def test_the_kind_of_a_file_is_told_without_its_robot(tmp_path, name, data, kind):
    path = tmp_path / name
    path.write_text(data)
    file = open_motion(path)
    assert file.kind is kind
    assert load_trajectory(file, ROBOT).source == load_trajectory(path, ROBOT).source
    assert read_motion(file, ROBOT).joint_names == read_motion(path, ROBOT).joint_names


def test_recorded_states_are_waypoints_and_joints_that_are_not_recorded_are_not(tmp_path):
    rows = [(10.0 + 0.5 * k, [0.1 * k, -0.2 * k]) for k in range(4)]
    path = write_bag(tmp_path / "bag", [("/s", t, state(t, ["j3", "j1"], q)) for t, q in rows])
    assert open_motion(path).kind is Kind.BAG
    motion = read_motion(path, ROBOT)
    assert motion.joint_names == ("j1", "j3")
    assert motion.times == pytest.approx([0.0, 0.5, 1.0, 1.5])
    assert motion.positions == pytest.approx(np.array([q[::-1] for _, q in rows]))


def test_a_topic_is_for_bags(tmp_path):
    go = [(0, [0.0], [0.0]), (2, [1.0], [0.0])]
    path = write_bag(
        tmp_path / "bag", [("/a", 1.0, command(0, ["j1"], go)), ("/b", 1.0, command(0, ["j2"], go))]
    )
    with pytest.raises(MotionError, match="choose a topic"):
        read_motion(path, ROBOT)
    assert read_motion(path, ROBOT, topic="/b").joint_names == ("j2",)
    (tmp_path / "move.csv").write_text(CSV)
    with pytest.raises(MotionError, match=r"move\.csv: is not a bag, so it has no topic '/b'"):
        read_motion(tmp_path / "move.csv", ROBOT, topic="/b")


@pytest.mark.parametrize("mode", sorted(COMMANDS))
def test_waypoints_of_a_command_follow_its_curve(written, mode):
    path = written("go.yaml", COMMANDS[mode])
    motion = read_motion(path, ROBOT)
    assert motion.joint_names == (("j1", "j2") if mode == "joint" else ("j1", "j2", "j3"))
    assert len(motion.times) < 500 and np.diff(motion.times).min() > 1e-6
    curve = load_trajectory(path, ROBOT).only(motion.joint_names).trajectory
    assert motion.duration == pytest.approx(curve.duration)
    times = np.linspace(0.0, curve.duration, 2000)
    straight = np.array([motion.at(time) for time in times])
    assert np.abs(straight - curve.positions(times)).max() <= 1e-3


def test_a_line_that_cannot_be_followed_is_no_motion(written):
    path = written("go.yaml", COMMANDS["line"].replace("-0.2, 0.1", "9, 0.1"))
    with pytest.raises(MotionError, match=r"go\.yaml: the robot cannot follow this line: \S+, \S+"):
        read_motion(path, ROBOT)


def test_a_command_and_a_bag_need_their_robot(tmp_path):
    (tmp_path / "go.yaml").write_text(COMMANDS["joint"])
    bag = write_bag(tmp_path / "bag", [("/s", 1.0, state(1.0, ["j1"], [0.0]))])
    for path, kind in ((tmp_path / "go.yaml", "command"), (bag, "bag")):
        with pytest.raises(MotionError, match=f"{path.name}: is a {kind}, .* without its robot"):
            read_motion(path)
    with pytest.raises(MotionError, match=r"none\.mcap: no such bag"):
        open_motion(tmp_path / "none.mcap")


def test_mimic_joints_of_recorded_states_are_left_out(tmp_path, caplog):
    """A recording of joint states names the follower of a gripper as well."""
    gripper = load_robot(robot(
        link("palm"), link("left"), link("right"), joint("l", "palm", "left", "prismatic"),
        joint("r", "palm", "right", "prismatic", extra='<mimic joint="l" multiplier="2"/>'),
    ))  # fmt: skip
    path = tmp_path / "states.csv"

    def found(text):
        caplog.clear()
        path.write_text(text)
        motion = read_motion(path, gripper)
        assert motion.joint_names == ("l",)
        return motion.times.tolist(), motion.positions[:, 0].tolist(), caplog.text

    assert found("time,r,l\n5,0.2,0.1\n7,0.4,0.2\n") == ([5.0, 7.0], [0.1, 0.2], "")
    times, positions, said = found("time,r,l\n5,0.2,0.1\n7,0.4,0.3\n")
    assert positions == [0.1, 0.3] and "joint 'r' follows 'l'" in said and "0.2 off" in said
    times, positions, said = found("time,r\n5,0.2\n7,0.4\n8,0\n")
    assert (times, positions) == ([5.0, 7.0, 8.0], [0.1, 0.2, 0.0])
    assert "joint 'l' is not named: its motion follows from that of 'r'" in said
    assert found("time,r,l\n5,0.2,0.1\n")[:2] == ([5.0], [0.1])
    assert read_motion(path).joint_names == ("r", "l")


def test_joints_that_the_robot_lacks_or_does_not_move_are_left_out(tmp_path, caplog):
    """Recorded joint states of an arm name its gripper, which the URDF may lack."""
    arm = load_robot(robot(
        link("base"), link("arm"), link("tool"), joint("turn", "base", "arm"),
        joint("flange", "arm", "tool", "fixed"),
    ))  # fmt: skip
    path, bag = tmp_path / "states.csv", tmp_path / "bag"
    path.write_text("time,claw,turn,flange\n5,0.2,0.1,0\n7,0.4,0.3,0\n")
    names = ["claw", "turn", "flange"]
    values = ((5.0, [np.nan, 0.1, 0.0]), (7.0, [np.nan, 0.3, 0.0]))
    write_bag(bag, [("/s", time, state(time, names, row)) for time, row in values])
    for recorded in (path, bag):
        motion = read_motion(recorded, arm, ignored=["cl*"])
        assert motion.joint_names == ("turn",) and motion.duration == 2.0
        assert motion.positions[:, 0] == pytest.approx([0.1, 0.3])
        assert "joint 'flange' is fixed in this robot: its values are not used" in caplog.text
        with pytest.raises(MotionError, match="'claw'.* --ignore JOINT leaves"):
            read_motion(recorded, arm)
        caplog.clear()

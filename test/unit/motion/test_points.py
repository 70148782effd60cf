# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Points of a JointTrajectory as YAML, as ROS prints and takes it, and as CSV."""

import logging
from pathlib import Path

import numpy as np
import pytest
import yaml

from collision_monitor.errors import MotionError
from collision_monitor.motion import read_motion
from collision_monitor.motion.plans import find_points
from collision_monitor.motion.points import csv_points, documents
from collision_monitor.motion.trajectory import yaml_text

# What `ros2 topic echo --once` prints.
ECHO = """\
header:
  stamp:
    sec: 12
    nanosec: 500000000
  frame_id: ''
joint_names:
- right_joint_1
- left_joint_1
points:
- positions:
  - 0.0
  - -1.5
  velocities: []
  accelerations: []
  effort: []
  time_from_start:
    sec: 0
    nanosec: 0
- positions:
  - 1.0e-05
  - 2
  velocities: []
  accelerations: []
  effort: []
  time_from_start:
    sec: 1
    nanosec: 100000000
---
"""
# What stands between the quotes of `ros2 topic pub`.
PUB = (
    "{joint_names: [a, b], points: [{positions: [0, 1], time_from_start: {sec: 1}},"
    " {positions: [1e-3, 2.5], time_from_start: {sec: 1, nanosec: 5}}]}"
)


def read(tmp_path, text):
    """What is read from this text."""
    path = tmp_path / "motion.yaml"
    path.write_text(text)
    motion = read_motion(path)
    return motion.joint_names, motion.times, motion.positions


def test_what_ros_prints_is_read(tmp_path):
    names, times, positions = read(tmp_path, ECHO)
    assert names == ("right_joint_1", "left_joint_1")
    assert times.tolist() == [0.0, 1.1]
    assert positions.tolist() == [[0.0, -1.5], [1e-5, 2.0]]


def test_what_ros_takes_is_read(tmp_path):
    names, times, positions = read(tmp_path, PUB)
    assert names == ("a", "b")
    assert times.tolist() == [1.0, 1.000000005]
    assert positions.tolist() == [[0.0, 1.0], [1e-3, 2.5]]


@pytest.mark.parametrize(
    "text",
    [
        "trajectory: " + PUB,
        "joint_trajectory: " + PUB,
        "goal: 1\ntrajectory: {joint_trajectory: " + PUB + "}",
        "---\n" + PUB + "\n---\n---\n",
        "goal: {trajectory: " + PUB + "}",
        "trajectory: [{joint_trajectory: " + PUB + "}]",
        "header: {stamp: {sec: 1, nanosec: 0}}\njoint_trajectory: " + PUB,
        "motion_plan_response: {trajectory: {joint_trajectory: " + PUB + ", "
        "multi_dof_joint_trajectory: {joint_names: [], points: []}}, error_code: {val: 1}}",
    ],
)
def test_a_trajectory_inside_something_else_is_found(tmp_path, text):
    assert read(tmp_path, text)[0] == ("a", "b")


def rates(text):
    """The points read from this text."""
    path = Path("motion.yaml")
    return find_points(documents(text.encode(), path), path)


def test_rates_are_read_where_they_are_given():
    points = rates(
        "{joint_names: [a, b], points: [{positions: [0, 1], time_from_start: {sec: 1}},"
        "{positions: [2, 3], velocities: [4, 5e-1], accelerations: [6, 7], effort: [8, 9],"
        " time_from_start: {sec: 2}}]}",
    )
    assert np.isnan(points.rows[1:, 0]).all()
    assert points.rows[1:, 1].tolist() == [[4.0, 0.5], [6.0, 7.0]]
    assert points.efforts == 1
    assert rates(ECHO).efforts == 0


def test_times_of_ros_1_are_understood(tmp_path):
    text = "{joint_names: [a], points: [{positions: [0], time_from_start: {secs: 2, nsecs: 7}}]}"
    assert read(tmp_path, text)[1].tolist() == [2.000000007]


def test_velocities_are_not_dropped_without_a_word(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        read(tmp_path, ECHO)
        assert not caplog.records
        read(tmp_path, ECHO.replace("velocities: []", "velocities: [0.1, 0.2]", 1))
    assert "velocities of 1 points are not used" in caplog.text


def test_what_is_written_is_plain_yaml_and_has_all_fields():
    names = ("a", "true", "x: y #", "\u00e9\n")
    text = yaml_text(names, np.array([0.0, 1.1]), np.array([[1e-5, 0, -0.0, 1e300], [1, 2, 3, 4]]))
    data = yaml.safe_load(text)
    assert tuple(data["joint_names"]) == names
    assert data["points"][0]["positions"] == [1e-5, 0.0, 0.0, 1e300]
    assert all(isinstance(x, float) for x in data["points"][0]["positions"])
    assert data["points"][1]["time_from_start"] == {"sec": 1, "nanosec": 100000000}


@pytest.mark.parametrize(
    ("times", "says"),
    [
        ([-0.1], "time -0.1 s cannot be written"),
        ([3e9], "time 3000000000.0 s cannot be written"),
        ([1.0, 1.0 + 4e-10], "less than a nanosecond after"),
    ],
)
def test_times_that_a_duration_cannot_hold_are_refused(times, says):
    with pytest.raises(MotionError, match=says):
        yaml_text(("a",), np.array(times), np.zeros((len(times), 1)))


def point(positions="[0]", time="{sec: 0}"):
    """A file with one joint and one point."""
    return f"joint_names: [a]\npoints:\n- positions: {positions}\n  time_from_start: {time}\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected one JointTrajectory, got an empty file"),
        (PUB + "\n---\n" + PUB, "expected one JointTrajectory, got 2 messages"),
        ("[1, 2]", "'joint_names' and 'points' are needed"),
        ("points: []", "'joint_names' and 'points' are needed"),
        ("joint_names: a\npoints: [1]", "joint_names: expected a list of names, got 'a'"),
        ("joint_names: [a, 1]\npoints: [1]", "joint_names: 1 is not a name"),
        ("joint_names: [a, a]\npoints: [1]", r"\['a'\] appear twice"),
        ("joint_names: [a]\npoints: []", "points: expected a list of at least one"),
        ("joint_names: [a]\npoints: [7]", r"points\[0\]: 7 is not a point with 'positions'$"),
        (point() + "- '...'", r"points\[1\]: '...' is .* print all with 'ros2 topic echo --full"),
        ("name: [a]\nposition: [0]\n---\n" * 2, "joint states are read from a bag"),
        ("joint_names: [a]\npoints: [{}]", r"points\[0\]: positions: None for 1 joint_names"),
        (point("[0, 1]"), r"points\[0\]: positions: 2 values for 1"),
        (point("[.nan]"), r"points\[0\]: positions: nan of 'a' is not a finite number"),
        (point(f"[{'9' * 400}]"), r"points\[0\]: positions: 999"),
        (point("[0]\n  velocities: [1, 2]"), r"points\[0\]: velocities: 2 values for 1"),
        (point("[0]\n  velocities: [.inf]"), r"points\[0\]: velocities: inf of 'a'"),
        (point("[0]\n  accelerations: [1]"), r"points\[0\]: accelerations without velocities"),
        (f"[{PUB}, {PUB}]", "expected one JointTrajectory, got 2 in one message"),
        (point(time="{sec: -1}"), r"points\[0\]: time_from_start -1 s is negative"),
        (point(time="1.5"), r"points\[0\]: time_from_start: expected {sec: , nanosec: }, got 1.5"),
        (point(time="{seconds: 1}"), "unknown 'seconds'"),
        (point(time="{sec: 0.5}"), "sec: 0.5 is not a whole number"),
        (point(time="{sec: 0, nanosec: 1000000000}"), "nanosec: 1000000000 is not between"),
        (point() + "- positions: [1]\n  time_from_start: {sec: 0}\n",
         r"points\[1\]: time_from_start 0 s does not increase after 0"),
        ("joint_names: [a]\n  points: {", "yaml:2: not YAML"),
        ("joint_names: [a]\njoint_names: [b]\n", "yaml:2: not YAML: duplicate key 'joint_names'"),
    ],
)  # fmt: skip
def test_bad_files_are_refused_by_point(tmp_path, text, says):
    with pytest.raises(MotionError, match=says) as caught:
        read(tmp_path, text)
    assert "motion.yaml" in str(caught.value)


@pytest.mark.parametrize(
    "key", ["joint_names: [a]\npoints: [*a30]", "joint_names: *a30\npoints: []",
            "joint_names: [a]\npoints: [{positions: [*a30]}]"]
)  # fmt: skip
def test_aliases_that_expand_to_billions(tmp_path, key):
    lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [{f'*a{i - 1}, ' * 9}]" for i in range(1, 31)]
    with pytest.raises(MotionError) as caught:
        read(tmp_path, "\n".join([*lines, key]))
    assert len(str(caught.value)) < 500


def test_a_mark_at_the_start_and_line_ends_of_windows_are_no_trouble():
    found = csv_points(b"\xef\xbb\xbftime, a\r\n0,1\r\n1,2\r\n", Path("motion.csv"))
    assert (found.joint_names, found.times.tolist()) == (("a",), [0, 1])
    assert found.rows[0].tolist() == [[1], [2]]


def test_lines_are_counted_with_the_empty_ones():
    with pytest.raises(MotionError, match="csv:6: 'inf' in column 'a'"):
        csv_points(b"\ntime,a\n\n0,1\n\n1,inf\n", Path("motion.csv"))

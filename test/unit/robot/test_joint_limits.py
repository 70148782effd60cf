# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""joint_limits.yaml: what counts, and what is refused."""

import logging
import math

import pytest
from support.robots import toys

from collision_monitor.errors import JointLimitsError
from collision_monitor.robot.limits import JointLimits, joint_limits, read_joint_limits, urdf_limits
from collision_monitor.robot.urdf import load_robot

MOVEIT = """\
default_velocity_scaling_factor: 0.1
default_acceleration_scaling_factor: 0.1
joint_limits:
  a:
    has_velocity_limits: true
    max_velocity: 2.1750
    has_acceleration_limits: true
    max_acceleration: 3
    has_jerk_limits: false
  b:
    has_velocity_limits: false
    max_velocity: 1.0
    has_acceleration_limits: false
    max_acceleration: 0
  c: {max_acceleration: 1e-3}
  d: {has_position_limits: true, min_position: -1, max_position: 2.0}
  e: {max_jerk: 7, has_effort_limits: true, max_effort: 80.5}
  f: {max_jerk: 7, has_jerk_limits: false, max_deceleration: 2, angle_wraparound: true}
"""


def file(tmp_path, text):
    """A file of limits."""
    path = tmp_path / "joint_limits.yaml"
    path.write_text(text)
    return path


def test_limits_count_where_they_are_said_to(tmp_path):
    assert read_joint_limits(file(tmp_path, MOVEIT)) == {
        "a": JointLimits(-math.inf, math.inf, 2.175, 3.0),
        "b": JointLimits(),
        "c": JointLimits(acceleration=0.001),
        "d": JointLimits(-1.0, 2.0),
        "e": JointLimits(jerk=7.0, effort=80.5),
        "f": JointLimits(),
    }


def test_angles_may_be_tagged_as_in_files_of_universal_robots(tmp_path):
    text = "joint_limits: {a: {min_position: !degrees -360.0, max_position: !radians 1.5}}\n"
    (limits,) = read_joint_limits(file(tmp_path, text)).values()
    assert limits == JointLimits(limits.lower, 1.5)
    assert limits.lower == pytest.approx(-2.0 * math.pi)
    with pytest.raises(JointLimitsError, match="yaml:1: not YAML: !degrees: 'far' is not a number"):
        read_joint_limits(file(tmp_path, text.replace("-360.0", "far")))


def test_keys_that_nothing_uses_are_named(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        read_joint_limits(file(tmp_path, MOVEIT))
    assert "joint_limits.f: not used: max_deceleration, angle_wraparound" in caplog.text


def test_the_tighter_of_urdf_and_file_counts(tmp_path):
    robot = load_robot(toys.chain(3))
    entry = "{min_position: -1, max_position: 9, max_velocity: 3, max_effort: 2}"
    assert urdf_limits(robot)["j1"] == JointLimits(-2.0, 2.0, 1.0, effort=1.0)
    found = joint_limits(robot, file(tmp_path, f"joint_limits: {{j1: {entry}}}"))
    assert found["j1"] == JointLimits(-1.0, 2.0, 1.0, effort=1.0)
    assert found["j2"] == joint_limits(robot)["j2"] == urdf_limits(robot)["j2"]
    apart = file(tmp_path, "joint_limits: {j1: {min_position: 3, max_position: 9}}")
    with pytest.raises(JointLimitsError, match=r"j1: its positions .* do not overlap"):
        joint_limits(robot, apart)


def test_joints_that_the_robot_lacks_are_named(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        found = read_joint_limits(file(tmp_path, MOVEIT), ["a", "d", "x"])
    assert list(found) == ["a", "d"]
    assert "unknown joints are ignored: b, c, e, f" in caplog.text
    with pytest.raises(JointLimitsError, match=r"no joint of the robot .*\(a, .* and 2 more\)"):
        read_joint_limits(file(tmp_path, MOVEIT), ["x", "y"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "'joint_limits: .* is needed"),
        ("a: {max_velocity: 1}", "'joint_limits: .* is needed"),
        ("joint_limits: {a: 3}", r"joint_limits\.a: a mapping"),
        ("joint_limits: {a: {max_velocity: fast}}", r"a\.max_velocity: 'fast' is not a finite"),
        ("joint_limits: {a: {max_velocity: .inf}}", r"a\.max_velocity: inf is not a finite"),
        ("joint_limits: {a: {max_velocity: 0}}", r"a\.max_velocity: 0 is not above zero"),
        ("joint_limits: {a: {max_acceleration: -1}}", r"a\.max_acceleration: -1 is not above"),
        ("joint_limits: {a: {has_velocity_limits: true}}", r"a\.max_velocity: is missing"),
        ("joint_limits: {a: {has_velocity_limits: 1, max_velocity: 1}}", "1 is neither true nor"),
        ("joint_limits: {a: {min_position: 2, max_position: 1}}", "min_position 2 is above 1"),
        ("joint_limits: {a: [", r"joint_limits\.yaml:2: not YAML"),
    ],
)
def test_what_is_no_limit_is_refused(tmp_path, text, says):
    with pytest.raises(JointLimitsError, match=says):
        read_joint_limits(file(tmp_path, text))

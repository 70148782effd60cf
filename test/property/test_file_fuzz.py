# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Files of motions, limits, thresholds, drives and leaves, damaged: read, or refused by name."""

import contextlib
import tempfile
from pathlib import Path

import numpy as np
import pytest
from support.robots.toys import chain

from collision_monitor.errors import CollisionMonitorError
from collision_monitor.fitting.leaves_file import read_leaves
from collision_monitor.model.thresholds import load_thresholds
from collision_monitor.motion import read_motion
from collision_monitor.motion.motion_files import load_trajectory
from collision_monitor.robot.limits import read_joint_limits
from collision_monitor.robot.urdf import load_robot
from collision_monitor.verification.torques.actuators import read_drives
from property.test_robot_fuzz import WORDS, mutated

from hypothesis import HealthCheck, given, settings  # isort: skip
from hypothesis import strategies as st  # isort: skip

ROBOT = load_robot(chain(4))
PAIRS = [("l0", "l2"), ("l1", "l3")]
NUMBERS = ("1e308", "-1e308", "5e-324", ".nan", ".inf", "1:30", "0x1F", "2147483648", "1e19")

YAML = """joint_names: [j1, j2]
points:
- positions: [0.0, 0.1]
  velocities: [0.0, 0.0]
  time_from_start: {sec: 0, nanosec: 0}
- positions: [0.5, 0.1]
  velocities: [0.0, 0.0]
  time_from_start: {sec: 1, nanosec: 500000000}
"""
CSV = "time,j1,j2\n0,0.0,0.1\n0.5,0.2,0.1\n1.5,0.3,-0.1\n"
JOINT = """mode: joint
unit: deg
start: {j1: 0, j2: 10}
target: {j1: 20, j2: -10}
tf: 4.0
tsa: 1.0
tsd: 1.0
profiles: {j2: {rate: 5.0, tsa: 1.0, tsd: 0.5}}
"""
LINE = """mode: line
link: l3
start: {j1: 0.1, j2: 0.6, j3: 0.7}
pose: {frame: l3, position: [-0.2, 0.1, 0], rpy: [0, 0, 0.1]}
tf: 4
tsa: 1
tsd: 1
"""
LIMITS = """joint_limits:
  j1: {has_velocity_limits: true, max_velocity: 2.0, has_jerk_limits: false}
  j2: {has_acceleration_limits: true, max_acceleration: 5.0, min_position: -1, max_position: 1}
"""
THRESHOLDS = """warn: 0.1
stop: 0.02
pairs:
- {pair: "l0 l*", warn: 0.2, stop: 0.05}
"""
DRIVES = """default: {rotor_inertia: 1.0e-4, gear_ratio: 100.0}
joints:
  j1: {stiffness: 5000.0, damping: 10, margin: {relative: 0.1, absolute: 2}}
payload: {link: l3, mass: 5.0, com: [0, 0, 0.1], inertia: [0.02, 0.02, 0.01]}
"""
LEAVES = """robot: toy
links:
  l0:
    - {center: [0, 0, 0], radius: 0.1}
  l1:
    - {p0: [0, 0, 0], p1: [0, 0, 0.1], radius: 0.1}
  l2: [{center: [0, 0, 0], radius: 0.1}]
  l3: [{center: [0, 0, 0], radius: 0.1}]
"""


def motion(path):
    """A motion has times that increase, and numbers."""
    read = read_motion(path)
    assert (np.diff(read.times) > 0).all() and np.isfinite(read.positions).all()


def trajectory(path):
    """A trajectory moves all joints, by numbers."""
    read = load_trajectory(path, ROBOT).trajectory
    assert set(read.joint_names) == {"j1", "j2", "j3"}
    assert np.isfinite(read.polynomial.c).all() and (np.diff(read.polynomial.x) > 0).all()


def limits(path):
    """Limits are no negative numbers, and none is NaN."""
    for joint in read_joint_limits(path, ["j1", "j2"]).values():
        values = (joint.velocity, joint.acceleration, joint.jerk, joint.effort)
        assert all(value >= 0.0 for value in values) and not joint.lower > joint.upper


def thresholds(path):
    """Distances of 0 or more, the stop not above the warning."""
    found = load_thresholds(path).of(PAIRS)
    assert (found >= 0.0).all() and (found[:, 0] <= found[:, 1]).all() and np.isfinite(found).all()


def drives(path):
    """Numbers that drives have."""
    read = read_drives(path)
    for joint in ("j1", "other"):
        drive = read.of(joint)
        assert drive.gear_ratio > 0.0 and drive.reflected_inertia >= 0.0 and drive.damping >= 0.0


def leaves(path):
    """Leaves with a place and a radius."""
    for of_link in read_leaves(path, ROBOT).values():
        assert all(np.isfinite([*leaf.p0, *leaf.p1, leaf.radius]).all() for leaf in of_link)


CASES = [
    (YAML, "m.yaml", motion), (CSV, "m.csv", motion), (YAML, "m.yaml", trajectory),
    (CSV, "m.csv", trajectory), (JOINT, "m.yaml", trajectory), (LINE, "m.yaml", trajectory),
    (LIMITS, "l.yaml", limits),
    (THRESHOLDS, "t.yaml", thresholds), (DRIVES, "d.yaml", drives), (LEAVES, "l.yaml", leaves),
]  # fmt: skip
IDS = [f"{load.__name__}-{name}-{k}" for k, (_, name, load) in enumerate(CASES)]


@pytest.mark.parametrize(("text", "name", "load"), CASES, ids=IDS)
def test_the_seeds_of_the_mutations_are_read(tmp_path, text, name, load):
    (tmp_path / name).write_text(text)
    load(tmp_path / name)


@st.composite
def damaged(draw, text):
    """Mutated, and with other numbers."""
    words = text.split(" ")
    for _ in range(draw(st.integers(0, 2))):
        k = draw(st.integers(0, len(words) - 1))
        tail = words[k].lstrip("-+.0123456789")
        words[k] = draw(st.sampled_from((*NUMBERS, *WORDS))) + tail
    text = " ".join(words)
    return draw(mutated(text)) if draw(st.booleans()) else text


@pytest.mark.parametrize(("text", "name", "load"), CASES, ids=IDS)
@settings(
    max_examples=20, deadline=5000, database=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(data=st.data())
def test_damaged_files(text, name, load, data):
    content = data.draw(st.one_of(damaged(text).map(lambda t: t.encode("utf-8", "replace")),
                                  st.binary(max_size=60)))  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        with contextlib.suppress(CollisionMonitorError):
            load(path)

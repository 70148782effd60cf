# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The file of drives: what it says, and what is refused."""

import math

import numpy as np
import pytest

from collision_monitor.errors import DynamicsError
from collision_monitor.verification.torques.actuators import Drive, read_drives

GOOD = """\
default: {margin: {relative: 0.1}}
joints:
  elbow:
    rotor_inertia: 2.0e-5
    gear_ratio: 100
    stiffness: 15000
    damping: 12.0
    max_motor_torque: 60.0
    margin: {absolute: 2.0}
payload: {link: tool0, mass: 5.0, com: [0, 0, 0.1], inertia: [0.02, 0.02, 0.01, 0.001, 0, 0]}
"""


def file(tmp_path, text):
    """A file of drives."""
    path = tmp_path / "drives.yaml"
    path.write_text(text)
    return path


def test_all_keys_are_read(tmp_path):
    drives = read_drives(file(tmp_path, GOOD))
    elbow = drives.of("elbow")
    assert elbow == Drive(2e-5, 100.0, 1.5e4, 12.0, 60.0, 0.0, 2.0)
    assert elbow.reflected_inertia == pytest.approx(0.2)
    assert drives.of("wrist") == Drive(relative_margin=0.1)
    assert math.isinf(drives.of("wrist").stiffness)
    assert drives.payload.link == "tool0"
    inertial = drives.payload.inertial
    assert (inertial.mass, inertial.centre.tolist()) == (5.0, [0.0, 0.0, 0.1])
    right = [[0.02, 0.001, 0.0], [0.001, 0.02, 0.0], [0.0, 0.0, 0.01]]
    assert np.array_equal(inertial.inertia, right)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "drives.yaml: expected a mapping"),
        ("joints: [a]", "joints: expected a mapping of joints"),
        ("joints: {a: {stifness: 1}}", "stifness: unknown key; did you mean 'stiffness'?"),
        ("joints: {a: {stiffness: 0}}", "joints.a.stiffness: 0 is not above zero"),
        ("joints: {a: {damping: -1}}", "joints.a.damping: -1 is not zero or more"),
        ("default: {margin: {relative: -0.1}}", "default.relative_margin: -0.1 is not zero"),
        ("payload: {link: tool0}", "payload: mass: is missing"),
        ("payload: {link: t, mass: 1, inertia: [1, 1, 3]}", "inertia: is impossible"),
        ("payload: {link: t, mass: 1, inertia: [1]}", "inertia: expected [ixx, iyy, izz] or"),
        ("joints: {a: [", "drives.yaml:2: not YAML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, says):
    with pytest.raises(DynamicsError) as error:
        read_drives(file(tmp_path, text))
    assert says in str(error.value)

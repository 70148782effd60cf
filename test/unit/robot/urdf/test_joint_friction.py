# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Friction of joints, out of a URDF."""

import pytest

from collision_monitor.errors import RobotDescriptionError
from collision_monitor.robot.urdf.joint_friction import JointFriction, read_friction


def urdf(*joints):
    return "<robot>\n" + "".join(joints) + "</robot>"


def test_what_is_written_is_read_and_the_rest_is_zero():
    found = read_friction(
        urdf(
            '<joint name="j"><dynamics damping="0.5"/></joint>',
            '<joint name="k"><dynamics friction="2"/></joint>',
            '<joint name="l"/>',
        )
    )
    assert found == {"j": JointFriction(0.5, 0.0), "k": JointFriction(0.0, 2.0)}


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "much", ""])
def test_what_means_nothing_is_an_error_with_its_line(value):
    text = urdf(f'<joint name="j"><dynamics damping="{value}"/></joint>')
    with pytest.raises(RobotDescriptionError, match=r":2: joint 'j': <dynamics damping=\.\.\.>"):
        read_friction(text)

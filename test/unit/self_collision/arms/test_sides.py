# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Right and left in names."""

import pytest

from collision_monitor.self_collision.arms import mirrored, side


@pytest.mark.parametrize(
    ("right", "left"),
    [
        ("right_arm", "left_arm"),
        ("arm_right_1_joint", "arm_left_1_joint"),
        ("r_wrist", "l_wrist"),
        ("joint_1_r", "joint_1_l"),
        ("RShoulderPitch", "LShoulderPitch"),
        ("RARM_ELBOW", "LARM_ELBOW"),
        ("RightWristRoll", "LeftWristRoll"),
        ("cell/right_s0", "cell/left_s0"),
        ("RIGHT_ARM", "LEFT_ARM"),
        ("armRight", "armLeft"),
        ("R_arm", "L_arm"),
    ],
)
def test_names_of_a_side_have_a_mirror_image(right, left):
    assert side(right) == "right"
    assert side(left) == "left"
    assert left in mirrored(right)
    assert right in mirrored(left)


@pytest.mark.parametrize(
    "name", ["upright", "bright_light", "elbow", "Roll", "relay", "link1r", "LIDAR", "Lift", ""]
)
def test_other_names_have_none(name):
    assert side(name) is None
    assert mirrored(name) == ()


def test_a_name_with_two_sides_has_two_mirror_images():
    assert set(mirrored("r_gripper_l_finger")) == {"l_gripper_l_finger", "l_gripper_r_finger"}
    assert side("r_gripper_l_finger") == "right"

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Names and numbers in messages and options."""

from collision_monitor.common.text import closest, did_you_mean, named_numbers, shortened, time_text

JOINTS = {f"joint_{k}": k for k in range(10)}


def test_a_long_list_of_names_ends_with_the_number_of_the_others():
    assert shortened(list("abcdef")) == "a, b, c, d and 2 more"
    assert shortened(iter("abcd")) == "a, b, c, d"
    assert shortened("abc", 2) == "a, b and 1 more"
    assert shortened([]) == ""


def test_times_have_their_digits_by_the_wall_clock_too():
    times = (0.0, 1e-9, 63.33333333, -12.5, 3600.12345, 1_700_000_012.25, 1e8)
    assert [time_text(each) for each in times] == [
        "0 s", "1e-09 s", "63.3333 s", "-12.5 s", "3600.123 s", "1700000012.25 s", "100000000 s",
    ]  # fmt: skip


def test_the_most_similar_name_is_suggested_if_any_is_similar():
    assert did_you_mean("jiont_3", JOINTS) == "did you mean 'joint_3'?"
    assert did_you_mean("elbow", JOINTS) == did_you_mean(7, JOINTS) == ""


def test_without_similar_names_the_first_known_ones_are_listed():
    assert closest("joint_4x", JOINTS).split(", ")[0] == "joint_4"
    assert closest("joint_4x", JOINTS).count(",") == 2
    assert closest("joint_4x", JOINTS).endswith(" and 7 more")
    assert closest("elbw", ("elbow", "wrist")) == "elbow and 1 more"
    assert closest("zzz", JOINTS, 3) == "joint_0, joint_1, joint_2 and 7 more"


def test_numbers_by_name_are_read():
    assert named_numbers("", "start") == {}
    assert named_numbers(" elbow = 1.5, wrist=-0.25,", "start") == {"elbow": 1.5, "wrist": -0.25}

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Motion files: what is read, and what is refused by line."""

import numpy as np
import pytest

from collision_monitor.errors import MotionError
from collision_monitor.motion import read_motion


def write(tmp_path, text):
    """A motion file with this text."""
    path = tmp_path / "motion.csv"
    path.write_text(text)
    return path


def test_a_motion_is_linear_between_its_rows_and_held_at_its_ends(tmp_path):
    motion = read_motion(write(tmp_path, "time,a,b\n1,0,10\n2,1,20\n\n4,3,20\n"))
    assert motion.joint_names == ("a", "b")
    assert motion.duration == 3.0
    assert motion.at(0.5) == pytest.approx([0.5, 15])
    assert motion.at(2.0) == pytest.approx([2, 20])
    assert motion.at(-1.0) == pytest.approx([0, 10])
    assert motion.at(99.0) == pytest.approx([3, 20])
    assert isinstance(motion.positions, np.ndarray)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("a,b\n1,2\n", ":1: header 'a,b'"),
        ("time\n1\n", ":1: header 'time'"),
        ("time,a,\n1,2,3\n", ":1: header"),
        ("time,a,a\n1,2,3\n", "twice"),
        ("time,a\n", "no rows"),
        ("time,a\n1,2\n2,3,4\n", ":3: 3 values under 2 columns"),
        ("time,a\n1,nan\n", ":2: 'nan' under 'a' is not a finite number"),
        ("time,a\n1,x\n", ":2: 'x' under 'a'"),
        ("time,a\n1,0\n3,0\n2,0\n", ":4: time 2 does not increase"),
        ("time,a\n1,0\n1,0\n", ":3: time 1 does not increase"),
    ],
)
def test_bad_files_are_refused_by_line(tmp_path, text, says):
    with pytest.raises(MotionError, match=says.replace("'", ".")) as caught:
        read_motion(write(tmp_path, text))
    assert "motion.csv" in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(MotionError, match=r"none\.csv"):
        read_motion(tmp_path / "none.csv")


def test_bytes_that_are_not_text_are_refused(tmp_path):
    path = tmp_path / "motion.csv"
    path.write_bytes(b"time,a\n\xff\xfe,1\n")
    with pytest.raises(MotionError, match="cannot be read"):
        read_motion(path)

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Motions as CSV text; reading is in test_motion.py."""

import numpy as np
import pytest

from collision_monitor.errors import MotionError
from collision_monitor.motion.motion_csv import csv_text, read_csv


def test_the_text_is_a_header_and_rows():
    text = csv_text(("a", "b"), np.array([0.0, 0.1]), np.array([[1.0, -2.5], [1e-7, 1e22]]))
    assert text == "time,a,b\n0.0,1.0,-2.5\n0.1,1e-07,1e+22\n"


def test_a_mark_at_the_start_and_line_ends_of_windows_are_no_trouble(tmp_path):
    path = tmp_path / "motion.csv"
    path.write_bytes(b"\xef\xbb\xbftime, a\r\n0,1\r\n1,2\r\n")
    names, times, positions = read_csv(path)
    assert (names, times.tolist(), positions.tolist()) == (("a",), [0, 1], [[1], [2]])


def test_lines_are_counted_with_the_empty_ones(tmp_path):
    path = tmp_path / "motion.csv"
    path.write_text("\ntime,a\n\n0,1\n\n1,inf\n")
    with pytest.raises(MotionError, match="csv:6: 'inf' under 'a'"):
        read_csv(path)

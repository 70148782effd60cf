# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Motion files: what is read, what is refused by line, and what is written."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from collision_monitor.errors import MotionError
from collision_monitor.motion import Motion, read_motion, write_motion


def test_a_motion_is_linear_between_its_rows_and_held_at_its_ends(written):
    motion = read_motion(written("motion.csv", "time,a,b\n1,0,10\n2,1,20\n\n4,3,20\n"))
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
        ("time\n1\n", ":1: header 'time', not 'time,<joint>,...': no joint"),
        ("time;a\n0;1,5\n", "header 'time;a', not 'time,<joint>,...': write commas between"),
        ("__time,/js/a/position\n0,1\n", "a table of PlotJuggler; name the first column 'time'"),
        ("Time,a\n0,1\n", ": name the first column 'time', in seconds"),
        ("time [s],a [rad]\n0,1\n", "in seconds, the others as joints, without units"),
        ("time_s,a\n0,1\n", ": name the first column 'time', in seconds"),
        ("time,a,\n1,2,3\n", ":1: header 'time,a,', not 'time,<joint>,...': column 3 has no name"),
        ("time\ta\n0\t1\n", ": write commas between the columns"),
        ("time a\n0 1\n", ": write commas between the columns"),
        ("time,a\n1,1_0\n", ":2: '1_0' in column 'a' is not a finite number"),
        ("time,a,a\n1,2,3\n", "twice"),
        ("time,a\n", "no rows"),
        ("time,a\n1,2\n2,3,4\n", ":3: 3 values for 2 columns"),
        ("time,a\n1,nan\n", ":2: 'nan' in column 'a' is not a finite number"),
        ("time,a\n1,x\n", ":2: 'x' in column 'a'"),
        ("time,a\n1,0\n3,0\n2,0\n", ":4: time 2 s does not increase after 3 s"),
        (",time,a\n0,1,0\n", ":1: header ',time,a', not .*: put 'time' first; leave out row num"),
        ("# by a tool\ntime,a\n1,0\n", ":1: header '# by a tool', .*: remove lines of comments"),
        ("time,a\n1,0\n1,0\n", ":3: time 1 s does not increase"),
    ],
)
def test_bad_files_are_refused_by_line(written, text, says):
    with pytest.raises(MotionError, match=says.replace("'", ".")) as caught:
        read_motion(written("motion.csv", text))
    assert "motion.csv" in str(caught.value)


def test_bytes_that_are_not_text_are_refused(tmp_path):
    path = tmp_path / "motion.csv"
    path.write_bytes(b"time,a\n\xff\xfe,1\n")
    with pytest.raises(MotionError, match="cannot be read as CSV in UTF-8"):
        read_motion(path)


@given(
    table=arrays(
        float, st.tuples(st.integers(1, 6), st.integers(1, 4)),
        elements=st.floats(-1e9, 1e9),
    ),
    steps=st.lists(st.integers(1, 10**12), min_size=6, max_size=6),
)  # fmt: skip
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@pytest.mark.parametrize("suffix", [".csv", ".yaml", ".motion"])
def test_what_is_written_is_read_back_bit_by_bit(tmp_path, suffix, table, steps):
    names = ("left/elbow", "b, c", 'd "e": #', "1.5")[: table.shape[1]]
    times = np.cumsum(steps[: len(table)]) / 1e9  # whole nanoseconds
    path = tmp_path / f"motion{suffix}"
    write_motion(path, Motion(names, times, table))
    back = read_motion(path)
    assert back.joint_names == names
    assert back.times.tobytes() == times.tobytes()
    assert back.positions.tobytes() == table.tobytes()


def test_csv_keeps_times_that_are_no_whole_nanoseconds(tmp_path):
    times = np.array([-1.0 / 3.0, 1e-300, np.pi])
    motion = Motion(("a",), times, np.zeros((3, 1)))
    write_motion(tmp_path / "motion.csv", motion)
    assert read_motion(tmp_path / "motion.csv").times.tobytes() == times.tobytes()
    with pytest.raises(MotionError, match=r"motion\.yaml: time -0\.333.* write CSV"):
        write_motion(tmp_path / "motion.yaml", motion)
    assert not (tmp_path / "motion.yaml").exists()


def test_a_file_that_cannot_be_written_is_an_error_that_names_it(tmp_path):
    motion = Motion(("a",), np.zeros(1), np.zeros((1, 1)))
    with pytest.raises(MotionError, match=r"nowhere/motion\.csv: cannot be written: No such"):
        write_motion(tmp_path / "nowhere/motion.csv", motion)


@pytest.mark.parametrize("suffix", [".csv", ".yaml"])
@pytest.mark.parametrize(
    ("times", "positions", "why"),
    [
        ([np.nan], [[0.0]], "not finite"),
        ([0.0], [[np.inf]], "not finite"),
        ([0.0, 1.0], [[0.0] * 3] * 2, r"positions have shape \(2, 3\), not \(2, 1\)"),
        ([1.0, 0.0], [[0.0]] * 2, "time of point 1 is 0 s, not after the 1 s"),
        ([], np.empty((0, 1)), "at least one point"),
        ([0.0, 1.0], [[0.0], [0.0, 1.0]], "positions are not an array of numbers"),
    ],
)
def test_a_motion_that_could_not_be_read_again_is_not_written(
    tmp_path, suffix, times, positions, why
):
    path = tmp_path / f"motion{suffix}"
    with pytest.raises(MotionError, match=f"motion{suffix}: .*{why}"):
        write_motion(path, Motion(("a",), times, positions))
    assert not path.exists()


@pytest.mark.parametrize("suffix", [".csv", ".yaml"])
def test_a_motion_of_lists_is_written(tmp_path, suffix):
    path = tmp_path / f"motion{suffix}"
    write_motion(path, Motion(["a"], [0, 1], [[0], [0.5]]))
    np.testing.assert_array_equal(read_motion(path).positions, [[0.0], [0.5]])

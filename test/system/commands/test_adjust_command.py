# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The command adjust, from end to end: what it is given, what it writes, and its exit codes."""

import csv
import json

import numpy as np
import pytest
from support.files.made_bags import state, write_bag
from support.robots.dual_arm_cases import refined
from support.robots.planar_arms import JOINTS, SRDF, arm_distance, meeting, planar_urdf

from collision_monitor.__main__ import main
from collision_monitor.motion import Motion, read_motion, write_motion

SAFE = 0.1
LIMITS = """\
joint_limits:
  right_j1: {max_velocity: 0.05, max_acceleration: 3.0, max_jerk: 40.0}
  left_j1: {max_velocity: 7.0, min_position: -1.5, max_position: 5.0}
"""
NECK = (
    '<link name="head"/><joint name="neck" type="revolute"><parent link="base"/>'
    '<child link="head"/><axis xyz="0 0 1"/>'
    '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>'
)


def write(path, rows):
    write_motion(path, Motion(JOINTS, np.arange(float(len(rows))), rows))


@pytest.fixture
def place(tmp_path):
    """A folder with a robot, its SRDF, a motion on which its arms meet, and limits."""
    (tmp_path / "robot.urdf").write_text(planar_urdf().replace("</robot>", NECK))
    (tmp_path / "robot.srdf").write_text(SRDF)
    write(tmp_path / "motion.csv", meeting(41, 0.85))
    (tmp_path / "joint_limits.yaml").write_text(LIMITS)
    return tmp_path


@pytest.fixture
def adjust(place, run):
    """Runs the command with ``place``; ``out`` and ``err`` it printed."""

    def adjust(*options, code=0):
        srdf = () if "--srdf" in options else ("--srdf", place / "robot.srdf")
        files = place / "robot.urdf", place / "motion.csv"
        return run("adjust", *files, *options, *srdf, "--danger-distance", "0.02", code=code)

    return adjust


def read(path):
    """Rows of a CSV file by the csv module: not by what wrote them."""
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["time", *JOINTS]
    table = np.array(rows, dtype=float)
    return table[:, 0], table[:, 1:]


def least(rows):
    """The distance of the two arms at every instant, by sines and cosines."""
    return min(arm_distance(q) for q in refined(rows))


def refuse(place):
    """A motion that ends where the arms touch."""
    write(place / "motion.csv", meeting(41, 0.85)[:21])


# -- what is written and said ---------------------------------------------------------------


@pytest.mark.parametrize("method", ["robust", "field"])
def test_the_adjusted_motion_is_written_and_reported(place, adjust, method):
    output = place / "adjusted.csv"
    out = adjust("--output", output, "--method", method).out
    times, rows = read(output)
    given_times, given = read(place / "motion.csv")
    assert least(given) < 0.0
    assert least(rows) >= SAFE
    assert np.array_equal(rows[[0, -1]], given[[0, -1]])
    assert np.array_equal(times, given_times)
    most = np.degrees(np.abs(rows - given).max())
    for text in (
        f"planar: adjusted, method {method}", "right_arm (right), left_arm (left)",
        f"{most:.2f} deg: ", "0.1000 m between the arms at every instant", "duration",
        "are kept apart", str(output),
    ):  # fmt: skip
        assert text in out


def test_json_tells_what_the_file_has(place, adjust):
    output = place / "adjusted.yaml"
    result = json.loads(adjust("--output", output, "--json").out, parse_constant=pytest.fail)
    motion = read_motion(output)
    assert result["result"] == "adjusted" and result["output"] == str(output)
    assert result["joints"] == list(motion.joint_names) == list(JOINTS)
    assert [point["time"] for point in result["per_waypoint"]] == motion.times.tolist()
    assert result["duration"]["after"] == motion.duration
    after = [arm_distance(q) for q in motion.positions]
    assert result["clearance"]["after"]["value"] <= min(after) + 1e-9
    assert None in [point["index_before"] for point in result["per_waypoint"]]
    assert all(point["index_after"] == 0.0 for point in result["per_waypoint"])
    pairs = result["pairs"]
    assert pairs["kept"] >= 9 and pairs["eased"] >= 2
    assert set(pairs["nearest_eased"]["pair"]) & {"right_1", "left_1", "base"}


def test_a_safe_motion_is_written_as_it_is(place, adjust):
    write(place / "motion.csv", meeting(41, 0.3))
    out = adjust("--output", place / "out.csv").out
    assert "already safe" in out and "as before" in out and "largest change" not in out
    before, after = read_motion(place / "motion.csv"), read_motion(place / "out.csv")
    assert before.positions.tobytes() == after.positions.tobytes()
    assert before.times.tobytes() == after.times.tobytes()
    result = json.loads(adjust("--json").out)
    assert (result["result"], result["window"], result["output"]) == ("already safe", None, None)


def test_two_publishers_are_not_slowed_for_the_samples_of_each_other(place, run):
    """At 100 Hz, and 0.3 ms later at 10 Hz: within acceleration and jerk limits by themselves."""
    arms, messages = (JOINTS[:3], JOINTS[3:]), []
    for names, shift, count, rate in zip(arms, (0.0, 3e-4), (201, 20), (100, 10), strict=True):
        for time in (shift + np.arange(count) / rate).tolist():
            u = float(np.clip((time - 0.2) / 1.5, 0.0, 1.0))
            angle = 0.2 * u**3 * (10.0 - 15.0 * u + 6.0 * u**2)
            messages.append(("/states", time + 1.0, state(time + 1.0, names, [angle] * 3)))
    bag = write_bag(place / "bag", sorted(messages, key=lambda message: message[1]))
    limits = "".join(f"  {name}: {{max_acceleration: 1.0, max_jerk: 10.0}}\n" for name in JOINTS)
    (place / "joint_limits.yaml").write_text(f"joint_limits:\n{limits}")
    files = ["--srdf", place / "robot.srdf", "--limits", place / "joint_limits.yaml"]
    arguments = ["adjust", place / "robot.urdf", bag, *files, "--json"]
    duration = json.loads(run(*arguments, "--danger-distance", "0.02").out)["duration"]
    assert duration["after"] < 1.01 * duration["before"]


def test_a_bag_is_adjusted_by_its_topic(place, run):
    rows = meeting(41, 0.85)
    messages = [("/js", 1.0 + k, state(1.0 + k, JOINTS, row)) for k, row in enumerate(rows)]
    bag = write_bag(place / "bag", [*messages, ("/other", 1.0, state(1.0, ["neck"], [0.0]))])
    (place / "motion.csv").unlink()
    arguments = "adjust", place / "robot.urdf", bag, "--danger-distance", "0.02"
    assert "choose a topic (--topic); there are: /js" in run(*arguments, code=2).err
    run(*arguments, "--topic", "/js", "--output", place / "out.csv")
    with (place / "out.csv").open(newline="") as file:
        header, *table = csv.reader(file)
    table = np.array(table, dtype=float)[:, 1:]
    assert sorted(header[1:]) == sorted(JOINTS)
    assert least(table[:, [header.index(name) - 1 for name in JOINTS]]) >= SAFE


def test_an_old_file_is_left_alone_and_called_old(place, adjust):
    refuse(place)
    output = place / "adjusted.csv"
    output.write_text("of yesterday")
    assert "no safe adjustment" in adjust("--output", place / "new.csv", code=1).out
    assert not (place / "new.csv").exists()
    printed = adjust("--output", output, "--json", code=1)
    assert output.read_text() == "of yesterday"
    assert f"{output} is from an earlier run" in printed.err
    result = json.loads(printed.out)
    assert result.keys() == {
        "robot", "result", "method", "arms", "reason", "waypoint", "time", "pair", "distance",
        "possible", "safe_until", "output",
    }  # fmt: skip
    assert (result["result"], result["output"]) == ("no safe adjustment", None)
    assert (result["waypoint"], result["time"]) == (20, 20.0)
    _, rows = read(place / "motion.csv")
    assert result["distance"] == pytest.approx(arm_distance(rows[20]), abs=0.061)
    safe = int(result["safe_until"])
    assert least(rows[: safe + 1]) >= SAFE and least(rows[: safe + 2]) < SAFE


# -- options --------------------------------------------------------------------------------


def test_distances_and_the_yielding_arm(place, adjust):
    adjust("--output", place / "a.csv", "--yielding", "left", "--safe-distance", "0.2")
    (_, given), (_, rows) = read(place / "motion.csv"), read(place / "a.csv")
    assert np.array_equal(rows[:, :3], given[:, :3]) and not np.array_equal(rows, given)
    assert least(rows) >= 0.2


def test_arms_are_those_that_are_named(adjust):
    result = json.loads(adjust("--arms", "base:left_3,base:right_3", "--json").out)
    assert {arm["name"] for arm in result["arms"].values()} == {"base..left_3", "base..right_3"}


def test_limits_count_where_they_are_tighter(place, adjust):
    output, limits = place / "out.csv", place / "joint_limits.yaml"
    assert "longer" in adjust("--output", output, "--limits", limits).out
    times, rows = read(output)
    rates = np.abs(np.diff(rows, axis=0)) / np.diff(times)[:, None]
    assert rates[:, 0].max() <= 0.05 * (1.0 + 1e-6)
    limits.write_text(LIMITS.replace("-1.5", "-0.4"))
    said = adjust("--limits", limits, code=2).err
    assert "joint 'left_j1' is at -0.45, beyond its limits -0.4 to 2" in said


@pytest.mark.parametrize(
    "limit",
    [
        "max_acceleration: 0.02", "min_position: 0.0, max_position: 0.15",
    ],
)  # fmt: skip
def test_limits_of_joints_that_follow_others_are_kept_as_verify_checks_them(place, adjust, limit):
    urdf, output = place / "robot.urdf", place / "out.csv"
    follows = '<axis xyz="0 0 1"/><mimic joint="right_j2" multiplier="-4" offset="0.1"/>'
    before, _, after = urdf.read_text().rpartition('<axis xyz="0 0 1"/>')  # of the neck
    urdf.write_text(before + follows + after)
    given = ["--limits", str(place / "joint_limits.yaml")]
    (place / "joint_limits.yaml").write_text(f"joint_limits: {{neck: {{{limit}}}}}\n")
    verified = ["verify", str(urdf), str(output), "--srdf", str(place / "robot.srdf"), *given]
    adjust("--output", output)
    assert main(verified) == 1
    adjust("--output", output, *given)
    assert main(verified) == 0
    ranges = "{min_position: 0.5, max_position: 1}", "{min_position: 0, max_position: 1}"
    (place / "joint_limits.yaml").write_text(
        "joint_limits: {{right_j2: {}, neck: {}}}\n".format(*ranges)
    )
    said = adjust(*given, code=2).err
    assert "no position of 'right_j2' is within its limits and keeps 'neck', which fo" in said


def test_a_start_beyond_a_limit_is_reported_as_verify_will(place, adjust, run):
    output, limits = place / "out.csv", place / "joint_limits.yaml"
    limits.write_text("joint_limits: {left_j1: {min_position: -1.0, max_position: 0.395}}\n")
    given = ["--limits", str(limits), "--output", str(output), "--json"]
    printed = adjust(*given)
    (found,) = json.loads(printed.out)["beyond_limits"]
    assert (found["joint"], found["limit"]) == ("left_j1", 0.395)
    assert found["value"] == read(output)[1][:, 3].max() == pytest.approx(0.4)
    assert "joint 'left_j1' begins at 0.4, beyond its limit 0.395" in printed.err
    verified = ["verify", str(place / "robot.urdf"), str(output), "--limits", str(limits)]
    assert "left_j1" in run(*verified, code=1).out
    limits.write_text("joint_limits: {left_j1: {min_position: -1.0, max_position: 0.405}}\n")
    assert json.loads(adjust(*given).out)["beyond_limits"] == []
    run(*verified)


def test_a_motion_that_starts_at_speed_is_reported_as_verify_will(place, adjust, run):
    output, limits = place / "out.csv", place / "joint_limits.yaml"
    given = ["--limits", str(limits), "--output", str(output), "--json"]
    verified = ["verify", str(place / "robot.urdf"), str(output), "--limits", str(limits)]
    for limit, most, is_reported in (("acceleration", 1e3, False), ("jerk", 0.5, True)):
        joints = (
            f"  {name}: {{has_{limit}_limits: true, max_{limit}: {most}}}\n" for name in JOINTS
        )
        limits.write_text("joint_limits:\n" + "".join(joints))
        printed = adjust(*given)
        found = json.loads(printed.out)["moving_ends"]
        said = f"starts at speed; from rest this exceeds the {limit} limit"
        assert bool(found) == is_reported == (said in printed.err)
        assert {each["limit"] for each in found} <= {limit}
        said = json.loads(run(*verified, "--json", code=is_reported).out)
        wrong = {each["subject"] for each in said["violations"]} if is_reported else set()
        assert wrong == {each["joint"] for each in found}
        run(*verified, "--recorded")


def test_only_a_given_srdf_is_used(place, adjust, run):
    said = run("adjust", place / "robot.urdf", place / "motion.csv", "--json").out
    without = json.loads(said)
    assert without["arms"]["right"]["name"] == "base..right_3"
    other = place / "other.xml"
    other.write_text(SRDF.replace("right_arm", "arm_right").replace("left_arm", "arm_left"))
    assert "arm_right (right), arm_left (left)" in adjust("--srdf", other).out
    (place / "robot.srdf").write_text("<robot")
    adjust(code=2)


def test_joints_that_the_motion_does_not_name_are_named(place, adjust):
    assert "held at zero, or at the nearer limit (--q sets them): neck" in adjust().err
    assert "held at" not in adjust("--q", "neck=0.1").err


def test_a_plot_is_drawn(place, adjust):
    pytest.importorskip("matplotlib")
    plot = place / "plot.png"
    adjust("--plot", plot)
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--output", "motion.csv"], "is also the motion"),
        (["--plot", "robot.urdf"], "is also the urdf"),
        (["--output", "same.png", "--plot", "same.png"], "same.png: is also the output"),
        (["--q", "right_j1=1"], "held (--q): right_j1: the motion moves this joint"),
        (["--q", "nose=1"], "no joint 'nose'"),
        (["--limits", "none.yaml"], "none.yaml: no such file"),
        (["--arms", "right_arm,middle_arm"], "no group 'middle_arm'"),
        (["--plot", "plot.nonsense"], "plot.nonsense: unsupported format of a plot; use one of"),
        (["--safe-distance", "0.01"], "danger_distance: 0.02 m is above safe_distance, 0.01 m"),
        (["--safe-distance", "-1"], "-1.0 is not a finite number from 0 to 10"),
        (["--arms", "right_arm,"], "is not a comma-separated list of names"),
        (["--method", "magic"], "'magic' is not one of robust"),
        (["--output", "nowhere/out.csv"], "there is no folder nowhere"),
    ],
)
def test_input_that_cannot_be_used_is_exit_code_2(place, run, monkeypatch, options, says):
    monkeypatch.chdir(place)
    before = {path: path.read_bytes() for path in place.iterdir()}
    files = ("robot.urdf", "motion.csv", "--srdf", "robot.srdf", "--danger-distance", "0.02")
    assert says in run("adjust", *files, *options, code=2).err
    assert {path: path.read_bytes() for path in place.iterdir()} == before

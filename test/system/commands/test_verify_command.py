# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""``verify`` on the command line: verdict, exit code, files."""

import json
import os
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from support.robots.toys import chain

from collision_monitor.__main__ import main

pytest.importorskip("matplotlib")
HEADER = "time,j1,j2,j3\n"
SAFE, FOLDED, BAD = "0,0,0,0\n5,0.3,0.3,0.3\n", "0,0,0,0\n5,2,2,0\n", "0,0,0,0\n5,nan,0,0\n"


@pytest.fixture
def cell(tmp_path):
    """A robot and motions in a folder."""
    (tmp_path / "robot.urdf").write_text(chain(4))
    folder = tmp_path / "motions"
    folder.mkdir()
    for name, rows in (("a", SAFE), ("b", FOLDED), ("c", BAD)):
        (folder / f"{name}.csv").write_text(HEADER + rows)
    return tmp_path


@pytest.fixture
def verify(cell, capsys):
    """Run the command; returns exit code, output and errors."""

    def run(*words):
        arguments = [str(cell / word) if (cell / word).exists() else word for word in words]
        try:
            code = main(["verify", str(cell / "robot.urdf"), *arguments, "--level", "leaf"])
        except SystemExit as end:  # by the parser of arguments
            code = end.code
        return code, *capsys.readouterr()

    return run


@pytest.mark.parametrize(
    ("motion", "code", "first"),
    [
        ("motions/a.csv", 0, "Safe"),
        ("motions/b.csv", 1, "Not safe: l3 - l0 collide from"),
        ("motions/c.csv", 2, "Could not be checked: "),
    ],
)
def test_exit_code_and_first_line_are_the_verdict(verify, motion, code, first):
    found, out, _ = verify(motion)
    assert found == code
    assert out.startswith(first)


def test_the_duration_is_told_which_shows_times_in_other_units(verify, cell):
    (cell / "ms.csv").write_text("time,j1,j2,j3\n0,0,0,0\n2000,0.3,0,0\n")
    code, out, _ = verify("ms.csv")
    assert code == 0
    assert "  motion: ms.csv (CSV, 2 rows), 2000 s\n" in out


def test_a_folder_is_as_bad_as_its_worst_motion_and_names_all(verify, cell, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 1)  # in this process
    report = cell / "r.html"
    code, out, _ = verify("motions", "--report", str(report), "--junit", str(cell / "j.xml"))
    assert code == 2
    *lines, summary = (line for line in out.splitlines() if "written" not in line)
    assert summary == "3 motions: 1 could not be checked, 1 not safe, 1 safe"
    assert [line.split(":")[0].split(" ")[0] for line in lines] == ["a.csv", "b.csv", "c.csv"]
    written = [line.removeprefix("written: ") for line in out.splitlines() if "written" in line]
    assert written == [f"{report} and r-1.html to r-3.html beside it", str(cell / "j.xml")]
    assert sorted(path.name for path in cell.glob("r*.html")) == [
        "r-1.html", "r-2.html", "r-3.html", "r.html",
    ]  # fmt: skip


def test_files_of_one_name_in_several_folders_are_told_apart(verify, cell, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 1)  # in this process
    others = cell / "others"
    others.mkdir()
    for name, rows in (("a", FOLDED), ("c", BAD), ("d", SAFE)):
        (others / f"{name}.csv").write_text(HEADER + rows)
    code, out, _ = verify("motions", "others", "--json")
    assert [(one["motion"].split(" ")[0], one["exit_code"]) for one in json.loads(out)] == [
        (str(cell / "motions" / "a.csv"), 0), ("b.csv", 1), (str(cell / "motions" / "c.csv"), 2),
        (str(others / "a.csv"), 1), (str(others / "c.csv"), 2), ("d.csv", 0),
    ]  # fmt: skip


def test_json_junit_report_and_envelopes(verify, cell):
    report, junit, csv = (cell / name for name in ("r.html", "j.xml", "e.csv"))
    code, out, _ = verify(
        "motions/b.csv", "--json", "--report", str(report), "--junit", str(junit),
        "--envelopes", str(csv),
    )  # fmt: skip
    data = json.loads(out)
    assert (code, data["exit_code"], data["verdict"]) == (1, 1, "not safe")
    assert "Not safe" in report.read_text(encoding="utf-8")
    assert ElementTree.parse(junit).getroot()[0].get("failures") == "1"
    header, *rows = csv.read_text().splitlines()
    assert header.startswith("from,to,") and "l3 - l0 lower" in header
    assert len(rows) > 10


def test_a_recording_is_compared_with_its_command(verify, cell):
    made_bags = pytest.importorskip("support.files.made_bags")
    rows = []
    for k in range(51):  # it begins 1 s after the first state, and j2 goes a tenth too far
        t, along = 0.12 * k, 0.06 * max(0.12 * k - 1.0, 0.0)
        state = made_bags.state(100.0 + t, ["j1", "j2"], [along, 1.1 * along])
        rows.append(("/joint_states", t, state))
    made_bags.write_bag(cell / "run", rows)
    report = cell / "r.html"
    words = ("motions/a.csv", "--measured", f"{cell / 'run'}@1", "--report", str(report))
    code, out, _ = verify(*words)
    assert code == 0
    assert re.search("measured: positions differ most by 0.03 rad, j2 at 5.000 s", out)
    assert "measured: velocities differ most by" in out
    data = json.loads(verify(*words, "--json")[1])
    assert {(one["joint"], one["quantity"]) for one in data["measured"]} == {
        (joint, quantity) for joint in ("j1", "j2") for quantity in ("positions", "velocities")
    }
    # j3 was not recorded, and what was ends 1 s before the motion if this begins 2 s later.
    assert [note for note in data["notes"] if "recorded" in note] == [
        "run: recorded during the motion: no positions of j3"
    ]
    (note, _) = (
        line for line in verify(*words[:2], f"{cell / 'run'}@2")[1].splitlines() if "run: " in line
    )
    assert note.endswith("positions of j1, j2 from 0.000 to 4.000 s only")
    assert "Measured motion" in report.read_text(encoding="utf-8")
    for words, says in (
        (("motions/a.csv", "--measured", f"{cell / 'run'}@90"), "was recorded during the motion"),
        (("motions/a.csv", "--measured", f"{cell / 'run'}@soon"), "'soon' is not seconds"),
        (("motions/a.csv", "--measured", f"{cell / 'run'}@0..9"), "verify each start by itself"),
        (("motions/a.csv", "--measured", str(cell / "none.mcap")), "no such bag"),
        (("motions/a.csv", "motions/b.csv", "--measured", "run"), "requires one motion"),
    ):
        code, _, errors = verify(*words)
        assert code == 2 and says in errors


def test_the_two_levels_come_to_the_same_verdicts(verify, cell):
    for name, expected in (("a", 0), ("b", 1)):
        assert verify(f"motions/{name}.csv")[0] == expected
        report = cell / "two.html"
        code, out, _ = verify(
            f"motions/{name}.csv", "--method", "two-level", "--json", "--report", str(report)
        )
        data = json.loads(out)
        assert (code, data["exit_code"], data["nearest"]) == (expected, expected, None)
        assert any(note.startswith("two-level check: ") for note in data["notes"])
        assert "two-level check: " in report.read_text(encoding="utf-8")


def test_thresholds_and_limits_out_of_files(verify, cell):
    (cell / "t.yaml").write_text("warn: 0.1\npairs: [{pair: 'l3 l0', stop: 2.79}]\n")
    (cell / "l.yaml").write_text("joint_limits: {j1: {max_velocity: 0.01}}\n")
    code, out, _ = verify("motions/a.csv", "--thresholds", "t.yaml", "--limits", "l.yaml", "--json")
    assert code == 1
    codes = {v["code"] for v in json.loads(out)["violations"]}
    assert codes == {"clearance-stop", "joint-velocity"}
    assert verify("motions/a.csv", "--stop", "1.79")[0] == 1


def test_a_motion_beside_it_begins_at_its_start(verify, cell):
    (cell / "one.csv").write_text("time,j1,j3\n0,0,0\n5,2,0\n10,0,0\n")
    (cell / "other.csv").write_text("time,j2\n0,0\n5,2\n10,0\n")
    assert verify("one.csv", "--beside", f"{cell / 'other.csv'}@30")[0] == 0
    code, out, _ = verify("one.csv", "--beside", str(cell / "other.csv"))
    assert code == 1 and not re.search("not named are held: .*j2", out)
    for beside, more, says in (
        ("other.csv", ("--q", "j2=1"), "--q j2=1"),
        ("other.csv@soon", (), "'soon' is not seconds"),
        ("other.csv@0..30", (), "'0..30' is not seconds, such as 2.5; verify each start by itself"),
    ):
        code, _, errors = verify("one.csv", "--beside", str(cell / beside), *more)
        assert code == 2 and says in errors


def test_topics_and_stamps_need_a_bag(verify, cell):
    made_bags = pytest.importorskip("support.files.made_bags")
    (cell / "one.csv").write_text("time,j1,j3\n0,0,0\n5,0.1,0\n")
    unstamped = [("/js", k, made_bags.state(0.0, ["j2"], [0.1 * k])) for k in range(1, 4)]
    other = [("/other", 1.0, made_bags.state(1.0, ["neck"], [0.0]))]
    bag = made_bags.write_bag(cell / "bag", [*unstamped, *other])
    for options in (("--topic", "/js"), ("--stamps", "receive")):
        code, _, errors = verify("one.csv", *options)
        assert code == 2 and f"{' '.join(options)}: is for ROS 2 bags" in errors
    beside = "one.csv", "--beside", str(bag), "--recorded"
    assert "choose a topic (--topic)" in verify(*beside)[2]
    assert "have no stamp" in verify(*beside, "--topic", "/js")[2]
    (cell / "folder").mkdir()
    (cell / "folder" / "one.csv").write_text((cell / "one.csv").read_text())
    for motion in ("one.csv", "folder"):
        words = motion, *beside[1:], "--topic", "/js", "--stamps", "receive"
        assert verify(*words)[0] == 0


def test_a_motion_beside_it_is_held_to_its_limits_too(verify, cell):
    (cell / "l.yaml").write_text("joint_limits: {j2: {max_velocity: 0.01}}\n")
    (cell / "one.csv").write_text("time,j1,j3\n0,0,0\n5,0.1,0\n")
    (cell / "other.csv").write_text("time,j2\n0,0\n5,0.1\n")
    beside = f"{cell / 'other.csv'}@7"
    code, out, _ = verify("one.csv", "--beside", beside, "--limits", "l.yaml", "--json")
    assert code == 1
    (found,) = json.loads(out)["violations"]
    assert (found["code"], found["subject"], found["first"]) == ("joint-velocity", "j2", 7.0)
    assert "in other.csv" in found["text"]


@pytest.fixture
def two(cell, verify):
    """Verify beside a second robot of the same kind, 0.5 m aside."""
    (cell / "still.csv").write_text(HEADER + "0,0,0,0\n5,0.1,0,0\n")
    (cell / "other.csv").write_text("time,j1\n0,-2\n4,2\n")

    def run(*words):
        first = ("still.csv", "--other", str(cell / "robot.urdf"))
        return verify(*first, "--other-at=0,-1.5,0,0,0,0", *words)

    return run


def test_a_second_robot_with_its_own_motion(two, cell):
    code, out, errors = two("--json")
    assert errors == ""
    assert (code, json.loads(out)["verdict"]) == (0, "safe")
    code, out, _ = two("--other-motion", str(cell / "other.csv"), "--json")
    data = json.loads(out)
    assert code == 1
    pairs = {v["subject"] for v in data["violations"] if v["code"] == "collision"}
    assert any("other_" in pair for pair in pairs)
    (cell / "l.yaml").write_text("joint_limits: {other_j1: {max_velocity: 0.01}}\n")
    _, out, _ = two("--other-motion", f"{cell / 'other.csv'}@1", "--limits", "l.yaml", "--json")
    found = [v for v in json.loads(out)["violations"] if v["code"] == "joint-velocity"]
    assert [(v["subject"], v["first"]) for v in found] == [("other_j1", 1.0)]
    code, out, _ = two("--other-motion", f"{cell / 'other.csv'}@0", "--other-prefix", "b/")
    assert code == 1
    assert "b/l" in out


def test_a_faulty_scene_is_told_to_programs_too(verify, cell):
    (cell / "scene.yaml").write_text("obstacles: 3\n")
    junit = cell / "j.xml"
    words = ("motions/a.csv", "--scene", "scene.yaml", "--json", "--junit", str(junit))
    code, out, errors = verify(*words)
    data = json.loads(out)
    assert (code, data["exit_code"], data["verdict"]) == (2, 2, "could not be checked")
    assert "scene.yaml" in data["reason"] and "scene.yaml" in errors
    assert ElementTree.parse(junit).getroot()[0].get("errors") == "1"


def test_a_fault_of_the_program_is_no_verdict(verify, monkeypatch):
    def fails(*_):
        raise MemoryError("no room")

    monkeypatch.setattr("collision_monitor.cli.verify.verify_many", fails)
    code, out, errors = verify("motions/a.csv")
    assert (code, out) == (2, "")
    assert "no room" in errors and "internal error" in errors


def test_a_name_of_a_file_that_is_not_utf_8_changes_no_verdict(cell):
    shutil.copyfile(cell / "motions/a.csv", os.fsencode(cell) + b"/\xe9.csv")
    words = [b"verify", b"robot.urdf", b"\xe9.csv", b"--level", b"leaf"]
    outputs = [b"--junit", b"j.xml", b"--report", b"r"]
    command = [sys.executable, "-m", "collision_monitor", *words, *outputs]
    strict = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
    done = subprocess.run(command, cwd=cell, env=strict, capture_output=True, timeout=900)
    assert (done.returncode, done.stdout[:4]) == (0, b"Safe"), done.stderr
    assert b"motion: \\udce9.csv" in done.stdout
    assert ElementTree.parse(cell / "j.xml").getroot()[0].get("name") == "?.csv (CSV, 2 rows)"
    assert "?.csv" in (cell / "r").read_text(encoding="utf-8")


def test_the_exit_code_is_the_verdict_even_if_nobody_reads_it(cell):
    words = "verify robot.urdf motions/a.csv --level leaf"
    script = f"{sys.executable} -m collision_monitor {words} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], cwd=cell, capture_output=True, timeout=900)
    assert done.returncode == 0, done.stderr
    script = f"{sys.executable} -m collision_monitor {words} > /dev/full"
    done = subprocess.run(["bash", "-c", script], cwd=cell, capture_output=True, timeout=900)
    assert done.returncode == 2
    assert b"cannot be written" in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("no.csv",), "no.csv"),
        (("motions/a.csv", "--thresholds", "none.yaml"), "none.yaml"),
        (("motions/a.csv", "--warn", "-1"), "-1"),
        (("motions/a.csv", "--warn", "0.01", "--stop", "0.05"), "stop 0.05 is above warn 0.01"),
        (("motions", "--envelopes", "e.csv"), "requires one motion"),
        (("motions/a.csv", "--method", "two-level", "--envelopes", "e.csv"), "--envelopes e.csv: "),
        (("motions/a.csv", "--executor", "here"), "dask://host:port"),
        (("motions/a.csv", "--other-motion", "m.csv"), "requires a second robot: --other URDF"),
        (("motions/a.csv", "--other", "robot.urdf", "--other-prefix="), "prefix"),
        (("motions/a.csv", "--other", "robot.urdf", "--floating"), "supports one robot only"),
    ],
)
def test_input_that_cannot_be_used_is_code_2_and_named(verify, words, says):
    code, out, errors = verify(*words)
    assert code == 2
    assert says in out + errors


def test_results_never_overwrite_what_is_read(verify, cell):
    motion = cell / "motions/a.csv"
    before = motion.read_text()
    code, _, errors = verify("motions/a.csv", "--junit", str(motion))
    assert code == 2
    assert "is also the motion" in errors
    assert motion.read_text() == before

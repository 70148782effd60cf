# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""fit, distance and thresholds: tables, JSON that scripts can read, and exit codes."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import trimesh
import yaml
from support.robots.toys import chain, joint, link, robot
from unit.model.test_left_out_pairs import hand_urdf
from unit.model.test_sampled_distances import BALLS, URDF

from collision_monitor import CollisionModel
from collision_monitor.common.lazy_imports import install_command
from collision_monitor.model.thresholds import load_thresholds


@pytest.fixture
def urdf(written):
    """A chain of four in a file."""
    return str(written("chain.urdf", chain(4)))


def test_distance_prints_the_nearest_links(urdf, run):
    out = run("distance", urdf, "--q", "j1=0.1,j2=-0.2").out
    assert "m between" in out and "apart" in out


def test_distance_as_json_is_what_the_model_says(urdf, run):
    result = json.loads(run("distance", urdf, "--q", "j3=1.5, j1=0.5", "--json").out)
    model = CollisionModel.from_urdf(urdf)
    expected = model.distance([0.5, 0.0, 1.5])
    assert result["distance"] == expected.distance
    assert tuple(result["links"]) == expected.links
    assert np.array(result["points"]) == pytest.approx(expected.points)
    assert np.array(result["normal"]) == pytest.approx(expected.normal)
    assert result["q"] == {"j1": 0.5, "j2": 0.0, "j3": 1.5}
    assert result["frame"] == "l0"


def test_distance_of_the_shapes_themselves(urdf, run):
    answer = json.loads(run("distance", urdf, "--exact", "--json").out)
    model = CollisionModel.from_urdf(urdf)
    assert answer["exact"] is True
    assert len(answer["triangles"]) == 2
    expected = model.distance(list(answer["q"].values()), exact=True)
    assert answer["distance"] == pytest.approx(expected.distance, abs=1e-9)
    assert answer["distance"] >= model.distance(list(answer["q"].values())).distance - 1e-9


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("j1", "'j1' is not of the form joint=value"),
        ("0,0,0", "'0' is not of the form joint=value, such as j1=0.5,j2=0.5"),
        ("j9=1", "no joint 'j9'"),
        ("j1=1,j1=2", "'j1' is given twice"),
        ("j1=abc", "'abc' for joint 'j1'"),
        ("j1=nan", "'nan' for joint 'j1'"),
    ],
)
def test_a_bad_configuration_is_an_error_that_names_it(urdf, run, text, says):
    assert says in run("distance", urdf, "--q", text, code=2).err


@pytest.mark.parametrize("command", ["distance", "thresholds"])
def test_positions_outside_the_limits_are_answered_with_a_warning(urdf, run, command):
    assert "j1 = 3 is outside its limits [-2, 2]" in run(command, urdf, "--q", "j1=3").err


def test_a_scene_is_part_of_the_answer(urdf, tmp_path, run):
    scene = tmp_path / "cell.yaml"
    scene.write_text("obstacles: [{name: ball, type: sphere, radius: 0.5, position: [2, 1, 0]}]")
    result = json.loads(run("distance", urdf, "--scene", scene, "--json").out)
    assert "ball" in result["links"]
    assert result["distance"] == pytest.approx(0.4)


def test_fit_prints_a_table_and_the_same_as_json(urdf, run):
    table = run("fit", urdf).out
    assert "leaves/OBB" in table and "1 sphere" in table and "total" in table
    assert "farthest" not in table
    result = json.loads(run("fit", urdf, "--json").out)
    assert [item["link"] for item in result["links"]] == ["l1", "l2", "l3", "l0"]
    assert result["links"][0]["leaves"][0]["radius"] == 0.1
    assert result["total"]["leaf_volume"] == pytest.approx(4 * 4 / 3 * np.pi * 0.001)
    assert result["pairs"] == 3 and result["loosest_links"] == []
    assert ["l0", "l1", "neighbours over one joint"] in [
        [*sorted(pair[:2]), pair[2]] for pair in result["unmonitored_pairs"]
    ]


def test_fit_names_eight_pairs_of_a_reason_and_all_as_json(written, run):
    path = written("chain.urdf", chain(12))
    assert "l7 - l8 and 3 more (all: --json)" in run("fit", path).out
    assert len(json.loads(run("fit", path, "--json").out)["unmonitored_pairs"]) == 11


def test_fit_lists_neighbours_that_meet_in_a_part_of_the_range_of_their_joint(written, run):
    path = written("neck.urdf", robot(
        link("neck", '<box size="0.3 0.3 0.3"/>'), link("head", '<box size="0.3 0.3 0.3"/>'),
        link("hat", '<box size="0.1 0.1 0.1"/>'),
        joint("nod", "neck", "head", "prismatic", xyz="1 0 0", axis="1 0 0"),
        joint("lift", "head", "hat", xyz="0 0 1"),
    ))  # fmt: skip
    (row,) = json.loads(run("fit", path, "--json").out)["meeting_neighbours"]
    assert set(row["links"]) == {"neck", "head"} and row["joint"] == "nod"
    assert row["share"] == pytest.approx(0.6 / 4.0, abs=2.0 / 64)
    assert 0.3 - 4.0 / 64 < row["depth"] <= 0.302  # one in the other, but for half a step
    table = run("fit", path).out.split("Neighbours over one joint that meet in a part")[1]
    line = next(line for line in table.splitlines() if "nod" in line)
    assert line.split()[-3:] == ["nod", f"{100 * row['share']:.0f}", f"{1e3 * row['depth']:.0f}"]
    assert "names a pair has it checked" in table
    disabled = '<disable_collisions link1="neck" link2="head"/>'
    srdf = written("neck.srdf", f'<robot name="toy">{disabled}</robot>')
    assert "Neighbours over one joint that meet" not in run("fit", path, "--srdf", srdf).out


@pytest.fixture
def with_bracket(tmp_path):
    """A robot with an L-shaped link, a box and a ball, of which none is near another."""
    arms = [trimesh.creation.box((0.5, 0.1, 0.1)), trimesh.creation.box((0.1, 0.5, 0.1))]
    arms[0].apply_translation((0.2, 0.0, 0.0))
    arms[1].apply_translation((0.0, 0.2, 0.0))
    trimesh.util.concatenate(arms).export(tmp_path / "bracket.stl")
    path = tmp_path / "bracket.urdf"
    path.write_text(
        robot(
            link("post", '<box size="0.1 0.1 0.1"/>'),
            link("ball"),
            link("bracket", f'<mesh filename="{tmp_path / "bracket.stl"}"/>'),
            link("flange", '<box size="0.1 0.1 0.1"/>'),
            joint("j1", "post", "ball"), joint("j2", "ball", "bracket"),
            joint("j3", "bracket", "flange"),
        )  # fmt: skip
    )
    return str(path)


def test_fit_lists_the_links_whose_leaves_are_loosest(with_bracket, run):
    options = [with_bracket, "--max-leaves", "1"]
    loosest = json.loads(run("fit", *options, "--json").out)["loosest_links"]
    names = [row["link"] for row in loosest]
    assert names[0] == "bracket" and "ball" not in names
    assert loosest[0]["mean"] > max(row["mean"] for row in loosest[1:])
    assert 0.0 < loosest[0]["mean"] < loosest[0]["max"] < 0.5
    assert loosest[0]["advice"] == "--max-leaves 2"
    table = run("fit", *options).out.split("Links whose leaves stand off farthest")[1]
    row = next(line for line in table.splitlines() if line.startswith("bracket"))
    assert row.split()[1:4] == [
        str(loosest[0]["leaves"]), f"{1e3 * loosest[0]['mean']:.1f}",
        f"{1e3 * loosest[0]['max']:.1f}",
    ]  # fmt: skip


def test_fit_prints_the_hierarchy_over_the_triangles_of_each_link(with_bracket, run):
    options = [with_bracket, "--max-leaves", "1", "--hierarchy", "octree:depth=1,leaf=2"]
    hierarchy = json.loads(run("fit", *options, "--json").out)["hierarchy"]
    assert hierarchy["name"] == "octree:depth=1,leaf=2"
    (tree,) = (tree for tree in hierarchy["links"] if tree["link"] == "bracket")
    assert tree["levels"] == 2 and tree["cells"] == tree["leaves"] + 1 <= 9
    assert tree["indices"] >= tree["triangles"]
    table = run("fit", *options).out.split("Hierarchies over the triangles of links (octree:d")[1]
    row = next(line for line in table.splitlines() if line.startswith("bracket")).split()
    assert row[1:5] == [str(tree[key]) for key in ("triangles", "levels", "cells", "leaves")]
    assert float(row[5]) == pytest.approx(tree["indices"] / tree["leaves"], abs=0.05)
    said = run("fit", with_bracket, "--hierarchy", "octree:depth=99", code=2).err
    assert "'depth=99' is not a setting of octree" in said


def test_leaves_of_a_file_and_a_tolerance_that_is_met_have_their_own_advice(
    with_bracket, tmp_path, run
):
    leaves = tmp_path / "leaves.yaml"
    run("fit", with_bracket, "--max-leaves", "1", "--output", leaves)
    for options, advice in (
        (("--leaves", leaves), "another fit, or more leaves in the file"),
        (("--leaf-tolerance", "0.3"), "--leaf-tolerance 0.15"),
    ):
        result = json.loads(run("fit", with_bracket, *options, "--json").out)
        first = result["loosest_links"][0]
        assert (first["link"], first["advice"]) == ("bracket", advice)


def test_a_robot_of_one_link_has_nothing_to_check(written, run):
    path = written("one.urdf", chain(1))
    assert "only 'l0' has a shape; add obstacles" in run("distance", path, code=2).err
    out = run("fit", path).out
    assert out.endswith("toy: 1 link, 0 pairs checked, 0 left out\n")


@pytest.mark.parametrize("options", [["--boxes", "-1", "--picture", "x.png"], ["--boxes", "2"]])
def test_boxes_without_a_picture_or_a_level_are_refused(options, run):
    said = run("fit", "/nowhere/robot.urdf", *options, code=2).err
    assert "a level of 0 or more is needed, and --picture" in said


def test_positions_of_a_picture_without_a_picture_are_refused(run):
    said = run("fit", "/nowhere/robot.urdf", "--q", "j1=1", code=2).err
    assert "--q j1=1: these are positions of the picture; --picture is needed" in said


@pytest.mark.parametrize(
    ("option", "name", "says"),
    [
        ("--output", "none/leaves.yaml", "there is no folder"),
        ("--picture", "robot.gif", "pictures are PNG"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_fit(option, name, says, tmp_path, run):
    said = run("fit", "/nowhere/robot.urdf", option, tmp_path / name, code=2).err
    last = said.splitlines()[-1]
    assert f"argument {option}: " in last and says in last


def test_a_picture_without_pyvista_is_refused_before_the_fit(monkeypatch, tmp_path, run):
    monkeypatch.setitem(sys.modules, "pyvista", None)
    said = run("fit", "/nowhere/robot.urdf", "--picture", tmp_path / "a.png", code=2).err
    assert install_command("picture") in said


def test_fit_does_not_write_over_what_it_reads(urdf, tmp_path, run):
    before = Path(urdf).read_text()
    assert "is also the urdf; choose another" in run("fit", urdf, "--output", urdf, code=2).err
    assert Path(urdf).read_text() == before


def test_output_that_cannot_be_written_is_an_error(urdf):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "collision_monitor", "distance", urdf],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=600,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["error: [Errno 28] No space left on device"]


def test_a_reader_that_goes_away_ends_it_without_a_word(urdf):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "collision_monitor", "distance", urdf],
        stdout=write, stderr=subprocess.PIPE, text=True, timeout=600,
    )  # fmt: skip
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


def test_ctrl_c_ends_it_in_one_line(tmp_path):
    os.mkfifo(tmp_path / "robot.urdf")
    process = subprocess.Popen(
        [sys.executable, "-m", "collision_monitor", "distance", tmp_path / "robot.urdf"],
        stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    writer = None
    while writer is None and process.poll() is None:
        with contextlib.suppress(OSError):  # nobody reads it yet
            writer = os.open(tmp_path / "robot.urdf", os.O_WRONLY | os.O_NONBLOCK)
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    if writer is not None:
        os.close(writer)
    assert (process.returncode, errors) == (130, "interrupted\n")


def test_fit_lists_the_distances_of_the_thresholds_file(run, tmp_path):
    disc = '<cylinder radius="0.1" length="0.02"/>'
    (tmp_path / "discs.urdf").write_text(
        robot(
            link("base", disc), link("middle", disc), link("top", disc),
            joint("j1", "base", "middle", xyz="0 0 0.03", axis="0 0 1"),
            joint("j2", "middle", "top", xyz="0 0 0.03", axis="0 0 1"),
        )
    )  # fmt: skip
    file = tmp_path / "mine.yaml"

    def listed(*rules):
        file.write_text(f"pairs: [{', '.join(rules)}]")
        said = run("fit", tmp_path / "discs.urdf", "--json", "--thresholds", file).out
        return json.loads(said)["structural_pairs"]

    (pair,) = listed()
    assert set(pair["links"]) == {"base", "top"} and 0.001 < pair["stop"] < pair["warn"] < 0.04
    assert listed("{pair: top base, stop: 0.001}") == [{**pair, "stop": 0.001}]
    assert listed("{pair: top base, stop: 0.001, warn: 0.002}") == []


# -- thresholds --


@pytest.fixture
def cell(tmp_path):
    """(URDF, scene) as files."""
    (tmp_path / "robot.urdf").write_text(URDF)
    (tmp_path / "cell.yaml").write_text(yaml.safe_dump({"obstacles": BALLS}))
    return str(tmp_path / "robot.urdf"), str(tmp_path / "cell.yaml")


@pytest.mark.parametrize("options", [[], ["--leaves-only"]])
def test_thresholds_prints_a_file_whose_rules_are_never_reached(cell, run, tmp_path, options):
    urdf, scene = cell
    said = run("thresholds", urdf, "--scene", scene, *options)
    (tmp_path / "found.yaml").write_text(said.out)
    found = load_thresholds(tmp_path / "found.yaml")
    assert (found.warn, found.stop) == (0.1, 0.02)
    model = CollisionModel.from_urdf(urdf, scene=scene)
    limits = found.of(model.pairs)
    row = model.pairs.index(("near", "post"))
    assert limits[row, 0] < limits[row, 1] < 0.046
    distances = [model.distances(q)[row] for q in model.random_configurations(200, 7)]
    assert limits[row, 1] < np.min(distances)
    touching = "leaves overlap" if options else "meshes touch"
    assert f"warning: far shelf: {touching} in all sampled configurations" in said.err
    assert f"# far shelf: {touching} in all" in said.out
    # Leaves alone do not show that a pair always touches.
    assert ("ignore:" in said.err) == (not options)


def test_thresholds_lists_what_is_left_out_for_a_person_to_have_it_checked(tmp_path, run):
    urdf, file = tmp_path / "hand.urdf", tmp_path / "thresholds.yaml"
    urdf.write_text(hand_urdf((0.0, 0.04), (0.0, 0.04)))
    text = run("thresholds", urdf).out
    assert yaml.safe_load(text)["pairs"] is None
    file.write_text(text.replace("#- {", "- {"))
    text = run("thresholds", urdf, "--thresholds", file).out
    assert "of 1 pairs" in text
    assert yaml.safe_load(text)["pairs"] == [{"pair": "left right", "warn": 0, "stop": 0}]
    # With an SRDF that disables the pair as well, the rule has no effect.
    srdf, scene = tmp_path / "hand.srdf", tmp_path / "cell.yaml"
    srdf.write_text('<robot name="hand"><disable_collisions link1="left" link2="right"/></robot>')
    scene.write_text(yaml.safe_dump({"obstacles": BALLS}))
    said = run("thresholds", urdf, "--srdf", srdf, "--scene", scene, "--thresholds", file).err
    says = "thresholds of 'left right' have no effect on pairs that are not checked"
    assert f"warning: {says}: disabled in the SRDF" in said


# Two carriages on rails at right angles, 50 mm apart at zero.
RAILS = robot(
    link("base", ""), link("a", '<sphere radius="0.1"/>'), link("b", '<sphere radius="0.1"/>'),
    joint("ja", "base", "a", "prismatic", "0 0 0", "1 0 0"),
    joint("jb", "base", "b", "prismatic", "0.25 0 0", "0 1 0"),
)  # fmt: skip


def test_thresholds_makes_the_pose_of_rest_clear(tmp_path, run):
    """Two carriages are 50 mm apart at zero, and far apart or in contact nearly everywhere else."""
    urdf, file = tmp_path / "rails.urdf", tmp_path / "thresholds.yaml"
    urdf.write_text(RAILS)

    said = run("thresholds", urdf)
    (rule,) = yaml.safe_load(said.out)["pairs"]
    assert (rule["warn"], rule["stop"]) == pytest.approx((0.04, 0.02))
    assert "50.0 mm apart at home" in said.out and not said.err
    # Another pose of rest, nearer than the distance of a stop, and one in contact.
    (rule,) = yaml.safe_load(run("thresholds", urdf, "--q", "ja=0.04").out)["pairs"]
    assert (rule["warn"], rule["stop"]) == pytest.approx((0.008, 0.004))
    said = run("thresholds", urdf, "--q", "ja=0.0499999")
    assert "e-" not in said.out and "0.00 mm apart at rest, so that it stops" in said.err
    said = run("thresholds", urdf, "--q", "ja=0.1")
    assert "warning: a b: meshes meet at rest, which is a stop: give" in said.err
    assert "check: false here, or in the SRDF" in said.err
    # The rule is there to be used.
    rule = "- {pair: 'a b', check: false}"
    file.write_text(said.out.replace(f"#{rule}", rule))
    assert load_thresholds(file).rules[-1].check is False
    # A rule that is given is kept.
    file.write_text("pairs: [{pair: 'a b', warn: 0.09}]")
    said = run("thresholds", urdf, "--thresholds", file).out
    assert yaml.safe_load(said)["pairs"] == [{"pair": "a b", "warn": 0.09}]


def test_thresholds_names_pairs_that_touch_in_many_configurations(written, run):
    """A drum turns about an axis beside its centre, and reaches into a wall half of the time."""
    urdf = written("drum.urdf", robot(
        link("base"), link("wall", '<box size="0.02 1 1"/>', "0.11 0 1"),
        joint("f", "base", "wall", "fixed", "0 0 0"),
        link("slide", ""), joint("s", "base", "slide", "prismatic", "0 0 1", "0 1 0"),
        link("drum", '<sphere radius="0.1"/>', "-0.05 0 0"),
        joint("r", "slide", "drum", "continuous", "0 0 0", "0 0 1"),
    ).replace('lower="-2" upper="2"', 'lower="-0.1" upper="0.1"'))  # fmt: skip
    said = run("thresholds", urdf)
    assert "drum wall: meshes meet in 5" in said.err
    assert "% of the configurations, which is a stop there" in said.err
    rules = yaml.safe_load(said.out.replace("  #- {", "  - {"))["pairs"]
    assert rules[-1] == {"pair": "drum wall", "check": False}


def test_thresholds_learns_from_what_a_robot_did_without_harm(tmp_path, run):
    """Two carriages that are 50 mm apart at rest, and another one far from both."""
    urdf = tmp_path / "rails.urdf"
    ball = '<sphere radius="0.1"/>'
    urdf.write_text(robot(
        link("base", ""), link("a", ball), link("b", ball), link("c", ball),
        joint("ja", "base", "a", "prismatic", "0 0 0", "1 0 0"),
        joint("jb", "base", "b", "prismatic", "0.25 0 0", "0 1 0"),
        joint("jc", "base", "c", "prismatic", "0 0 1.5", "0 0 1"),
    ))  # fmt: skip

    def learnt(*recordings):
        given = []
        for name, ja in recordings:
            (tmp_path / name).write_text(f"time,ja\n0,-0.05\n2,{ja}\n4,-0.05\n")
            given += ["--motion", str(tmp_path / name)]
        said = run("thresholds", urdf, *given)
        return said, yaml.safe_load(said.out)["pairs"]

    said, (rule,) = learnt(("far.csv", 0.02))  # 30 mm: no stop
    assert rule["stop"] == pytest.approx(0.02) and "seen at" not in said.out
    said, (rule,) = learnt(("far.csv", 0.02), ("near.csv", 0.04))
    assert (rule["warn"], rule["stop"]) == pytest.approx((0.008, 0.004))
    assert "seen at 0.01 m at t = 2.000 s in near.csv" in said.out and not said.err
    said, (rule,) = learnt(("into.csv", 0.06))
    assert rule == {"pair": "a b", "check": False}
    assert "warning: a b: meshes meet at t = " in said.err and "in into.csv" in said.out
    (tmp_path / "other.csv").write_text("time,ja,elbow\n0,-0.05,0\n1,0.02,1\n")
    said = run("thresholds", urdf, "--motion", tmp_path / "other.csv", code=2).err
    assert "has no joint 'elbow'" in said and "--ignore JOINT" in said
    assert run("thresholds", urdf, "--motion", tmp_path / "other.csv", "--ignore", "el*").out


def test_thresholds_learns_how_near_a_slow_motion_ends(tmp_path, run):
    """A carriage is recorded every millimetre until it is 3 mm from another one."""
    urdf, recording = tmp_path / "rails.urdf", tmp_path / "slow.csv"
    urdf.write_text(RAILS)
    rows = [f"{k},{0.001 * k:.3f}" for k in range(48)]
    recording.write_text("\n".join(["time,ja", *rows, "50,0"]))
    said = run("thresholds", urdf, "--motion", recording).out
    (rule,) = yaml.safe_load(said)["pairs"]
    assert (rule["warn"], rule["stop"]) == pytest.approx((0.0024, 0.0012))
    assert "seen at 0.003 m at t = 47.000 s in slow.csv" in said
    recording.write_text("\n".join(["time,ja", *rows, "49,0.0502", "50,0"]))
    (rule,) = yaml.safe_load(run("thresholds", urdf, "--motion", recording).out)["pairs"]
    assert rule == {"pair": "a b", "check": False}


def test_thresholds_learns_what_a_motion_passes_between_waypoints(tmp_path, run):
    """A hand passes a post, 5 mm above it, in the middle of a motion with two waypoints."""
    urdf, recording = tmp_path / "turner.urdf", tmp_path / "turn.csv"
    ball, at = '<sphere radius="0.01"/>', f"{np.cos(0.45):.9f} {np.sin(0.45):.9f} 0.025"
    urdf.write_text(robot(
        link("base", ""), link("post", ball), link("arm", ""), link("hand", ball),
        joint("weld", "base", "post", "fixed", at),
        joint("spin", "base", "arm", xyz="0 0 0"),
        joint("wrist", "arm", "hand", xyz="1 0 0", axis="1 0 0"),
    ))  # fmt: skip
    recording.write_text("time,spin\n0,0\n2,1\n")
    said = run("thresholds", urdf, "--motion", recording).out
    (rule,) = yaml.safe_load(said)["pairs"]
    assert 0.004 <= rule["warn"] <= 0.0048 and 0.002 <= rule["stop"] <= 0.0024
    assert "at t = 0.9" in said


def test_thresholds_learns_nothing_between_two_turns_of_a_joint(tmp_path, run):
    """A joint without end stops passes half a turn, and its positions jump: no post is passed."""
    urdf, recording = tmp_path / "turner.urdf", tmp_path / "turn.csv"
    urdf.write_text(robot(
        link("base"), link("post", '<box size="0.1 0.1 1"/>'), link("rod", ""),
        link("arm", '<box size="1 0.05 0.05"/>', "0.5 0 0"),
        joint("weld", "base", "post", "fixed", "0.6 0 0"),
        joint("spin", "base", "rod", "continuous", "0 0 0.4"),
        joint("tilt", "rod", "arm", xyz="0 0 0", axis="1 0 0"),
    ))  # fmt: skip
    pair = "arm post"
    for last, is_passed in (("-3.1", False), ("0.05", True)):
        recording.write_text(f"time,spin\n0,3.1\n1,{last}\n")
        said = run("thresholds", urdf, "--q", "spin=3.1", "--motion", recording)
        assert (pair in said.err) == is_passed, said.err
        assert yaml.safe_load(said.out)["pairs"] == [{"pair": pair, "check": False}] * is_passed


def test_a_rule_that_leaves_a_pair_out_holds_for_every_command(cell, run, written):
    urdf, scene = cell
    file = written("mine.yaml", "pairs: [{pair: 'near post', check: false}]")
    text = run("thresholds", urdf, "--scene", scene, "--thresholds", file).out
    assert yaml.safe_load(text)["pairs"] == [{"pair": "near post", "check": False}]
    said = run("fit", urdf, "--scene", scene, "--thresholds", file).out
    assert "not checked by the rule 'near post': near - post" in said
    motion = written("motion.csv", "time,a,c\n0,0,0\n1,0.01,0.01\n")
    given = ["--scene", scene, "--recorded", "--thresholds", file, "--json"]
    said = run("verify", urdf, motion, *given, code=1)
    assert "not checked because a rule has check: false: near - post" in said.out + said.err
    file.write_text("pairs: [{pair: 'near pst', check: false}]")
    said = run("thresholds", urdf, "--scene", scene, "--thresholds", file, code=2).err
    assert "'near pst' matches none of the" in said


def test_thresholds_keeps_given_rules(cell, run, written):
    urdf, scene = cell
    mine = written("mine.yaml", "pairs: [{pair: '* shelf', warn: 0.3, stop: 0.2}]\nwarn: 0.04")
    arguments = ["--scene", scene, "--stop", "0.001"]
    found = yaml.safe_load(run("thresholds", urdf, *arguments, "--thresholds", mine).out)
    assert found["warn"] == 0.04
    assert found["stop"] == 0.001
    assert found["pairs"] == [{"pair": "* shelf", "warn": 0.3, "stop": 0.2}]
    # A distance of 0 is one, and options take precedence over the file.
    mine.write_text("{stop: 0, warn: 0.04}")
    text = run("thresholds", urdf, "--thresholds", mine, "--warn", "0.00000003").out
    assert "warn: 0.00000003\nstop: 0\n" in text


def test_names_with_spaces_and_brackets_give_a_file_that_can_be_read(run, tmp_path):
    disc, urdf, file = '<cylinder radius="0.1" length="0.02"/>', tmp_path / "a", tmp_path / "b"
    urdf.write_text(
        robot(
            link("base", disc), link("middle", disc), link("top [a] *b", disc),
            joint("j1", "base", "middle", xyz="0 0 0.03", axis="0 0 1"),
            joint("j2", "middle", "top [a] *b", xyz="0 0 0.03", axis="0 0 1"),
        )
    )  # fmt: skip
    file.write_text(run("thresholds", urdf).out)
    model, found = CollisionModel.from_urdf(urdf), load_thresholds(file)
    assert found.named(model.pairs) == {0} and len(found.rules) == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--warn", "-1"], "options: warn: -1.0"),
        (["--stop", "1e9"], "options: stop: 1e+09"),
        (["--stop", "0.2"], "error: --stop: stop 0.2 is above warn 0.1"),
        (["--thresholds", "/nowhere/file.yaml"], "/nowhere/file.yaml"),
    ],
)
def test_what_cannot_be_used_is_an_error(cell, run, arguments, says):
    assert says in run("thresholds", cell[0], *arguments, code=2).err


def test_options_that_do_not_go_with_a_file_are_named_beside_it(cell, run, written):
    mine = written("mine.yaml", "warn: 0.15")
    error = run("thresholds", cell[0], "--thresholds", mine, "--stop", "0.2", code=2).err
    assert "error: --stop and mine.yaml: stop 0.2 is above warn 0.15" in error

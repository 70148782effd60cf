# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``acm``: tables, JSON, files and exit codes."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.geometry.acm_cases import ROBOT, srdf

from collision_monitor import CollisionModel
from collision_monitor.acm.matrix import where_links_meet
from collision_monitor.cli.options import parse_positions


@pytest.fixture
def urdf(written):
    return str(written("poster.urdf", ROBOT))


@pytest.fixture
def bad(written):
    """An SRDF that exempts what can collide."""
    return str(written("bad.srdf", srdf(("arm", "post", "Never"), ("flag", "arm", "Never"))))


def test_a_table_says_what_is_exempted_and_why(urdf, run):
    out = run("acm", urdf, "--samples", "200").out
    line = next(line for line in out.splitlines() if line.startswith("flag - palm"))
    assert line.split()[3] == "Never" and "proved by" in line
    assert "poster: 15 pairs" in out and "never meet, proved" in out and "seed 0" in out


def test_a_search_that_was_broken_off_is_warned_of(urdf, run):
    hasty, err = run("acm", urdf, "--seconds", "0", "--samples", "1000", "--json")
    assert "in 64 configurations instead of 1000" in err and "stay checked" in err
    whole, err = run("acm", urdf, "--seconds", "0", "--samples", "64", "--json")
    assert "warning" not in err
    hasty, whole = (
        {tuple(row["links"]) for row in json.loads(text)["pairs"] if row["exempted"]}
        for text in (hasty, whole)
    )
    assert hasty < whole


def test_what_is_written_passes_its_own_audit(urdf, tmp_path, run):
    output = tmp_path / "new.srdf"
    run("acm", urdf, "--samples", "200", "--output", output)
    out = run("acm", urdf, "--audit", output).out
    assert "0 pairs can collide" in out
    model = CollisionModel.from_urdf(urdf, str(output))
    assert list(map(set, model.pairs)) == [{"post", "arm"}]


def test_an_audit_finds_shows_and_fails(urdf, bad, run):
    out = run("acm", urdf, "--audit", bad, code=1).out
    assert "1 pair can collide" in out and "arm" in out and "no pair" in out
    pose = next(line for line in out.splitlines() if line.startswith("1  shoulder="))
    model = CollisionModel.from_urdf(urdf)
    q = [0.0] * len(model.joint_names)
    for name, value in parse_positions(pose.split()[1], model).items():
        q[model.joint_names.index(name)] = value
    assert where_links_meet(model, ("post", "arm"), np.array([q]))[0]


def test_an_audit_as_json_holds_the_witness(urdf, bad, run):
    result = json.loads(run("acm", urdf, "--audit", bad, "--json", "--seed", "3", code=1).out)
    (finding,) = result["findings"]
    assert set(finding["links"]) == {"arm", "post"} and finding["reason"] == "Never"
    assert set(finding["q"]) == {"shoulder", "wrist", "tip"}
    assert finding["confirmed"] and finding["share"][0] > 0.0
    assert result["seed"] == 3 and result["robot"] == "poster"
    assert [row["links"] for row in result["harmless"]] == [["flag", "arm"]]


def test_the_matrix_as_json_has_every_pair(urdf, run):
    result = json.loads(run("acm", urdf, "--json", "--samples", "200").out)
    assert len(result["pairs"]) == 15
    for pair in result["pairs"]:
        assert pair["meeting"] in ("never", "sometimes", "always")
        assert pair["exempted"] is None or pair["exempted"]["reason"]
        assert (pair["q"] is None) == (pair["meeting"] == "never")


def test_exemptions_of_an_srdf_that_can_collide_are_named(urdf, bad, run):
    out = run("acm", urdf, "--srdf", bad, "--samples", "200").out
    assert "in the SRDF; sometimes" in out
    assert "can meet and be apart" in out and "--audit" in out
    assert "in the SRDF" not in run("acm", urdf, "--srdf", bad, "--samples", "200", "--renew").out


def test_links_with_visual_geometry_alone_are_classified_on_request(tmp_path, written, run):
    urdf = written("shown.urdf", ROBOT.replace("collision>", "visual>"))
    assert "commands: --visual-meshes" in run("acm", urdf, code=2).err
    arguments = urdf, "--visual-meshes", "--seconds", "1", "--samples", "100"
    output = tmp_path / "new.srdf"
    assert "poster: 15 pairs" in run("acm", *arguments, "--output", output).out
    assert "0 pairs can collide" in run("acm", *arguments, "--audit", output).out


def test_the_urdf_is_not_overwritten(urdf, run):
    before = Path(urdf).read_text()
    assert "is also the urdf; choose another file" in run("acm", urdf, "--output", urdf, code=2).err
    assert Path(urdf).read_text() == before


def test_an_srdf_that_is_not_there_is_an_error(urdf, run):
    assert "missing.srdf: no such file" in run("acm", urdf, "--audit", "missing.srdf", code=2).err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--renew"], "--renew requires --srdf"),
        (["--seconds", "-3"], "seconds: -3.0"),
        (["--audit", "a.srdf", "--proved-only"], "--audit writes nothing"),
        (["--always", "1.5"], "1.5 is not a finite number from 0 to 1"),
        (["--audit", "a.srdf", "--srdf", "b.srdf"], "not allowed with"),
    ],
)
def test_options_that_do_not_go_together_are_refused(urdf, run, arguments, says):
    assert says in run("acm", urdf, *arguments, code=2).err

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""fit and distance: tables, JSON that scripts can read, and exit codes."""

import json
import subprocess
import sys

import numpy as np
import pytest
from toys import chain

from collision_monitor import CollisionModel
from collision_monitor.cli.main import main


@pytest.fixture
def urdf(tmp_path):
    """A chain of four in a file."""
    path = tmp_path / "chain.urdf"
    path.write_text(chain(4))
    return str(path)


def test_distance_prints_the_nearest_links(urdf, capsys):
    assert main(["distance", urdf, "--q", "j1=0.1,j2=-0.2"]) == 0
    out = capsys.readouterr().out
    assert "m between" in out and "apart" in out


def test_distance_as_json_is_what_the_model_says(urdf, capsys):
    assert main(["distance", urdf, "--q", "j3=1.5, j1=0.5", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    model = CollisionModel.from_urdf(urdf)
    expected = model.distance([0.5, 0.0, 1.5])
    assert result["distance"] == expected.distance
    assert tuple(result["links"]) == expected.links
    assert np.array(result["points"]) == pytest.approx(expected.points)
    assert np.array(result["normal"]) == pytest.approx(expected.normal)
    assert result["q"] == {"j1": 0.5, "j2": 0.0, "j3": 1.5}
    assert result["frame"] == "l0"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("j1", "'j1' is not of the form joint=value"),
        ("j9=1", "no joint 'j9'"),
        ("j1=1,j1=2", "'j1' is given twice"),
        ("j1=abc", "'abc' for joint 'j1'"),
        ("j1=nan", "'nan' for joint 'j1'"),
    ],
)
def test_a_bad_configuration_is_an_error_that_names_it(urdf, capsys, text, says):
    assert main(["distance", urdf, "--q", text]) == 2
    assert says in capsys.readouterr().err


def test_positions_outside_the_limits_are_answered_with_a_warning(urdf, capsys):
    assert main(["distance", urdf, "--q", "j1=3"]) == 0
    assert "j1 = 3 is outside its limits [-2, 2]" in capsys.readouterr().err


def test_a_scene_is_part_of_the_answer(urdf, tmp_path, capsys):
    scene = tmp_path / "cell.yaml"
    scene.write_text("obstacles: [{name: ball, type: sphere, radius: 0.5, position: [2, 1, 0]}]")
    assert main(["distance", urdf, "--scene", str(scene), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert "ball" in result["links"]
    assert result["distance"] == pytest.approx(0.4)


def test_fit_prints_a_table_and_the_same_as_json(urdf, capsys):
    assert main(["fit", urdf]) == 0
    table = capsys.readouterr().out
    assert "leaves/OBB" in table and "1 sphere" in table and "total" in table
    assert main(["fit", urdf, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [item["link"] for item in result["links"]] == ["l1", "l2", "l3", "l0"]
    assert result["links"][0]["leaves"][0]["radius"] == 0.1
    assert result["total"]["leaf_volume"] == pytest.approx(4 * 4 / 3 * np.pi * 0.001)
    assert result["pairs"] == 3
    assert ["l0", "l1", "neighbours over one joint"] in [
        [*sorted(pair[:2]), pair[2]] for pair in result["unmonitored_pairs"]
    ]


def test_a_missing_robot_is_an_error_that_names_it(capsys):
    assert main(["fit", "/nowhere/robot.urdf"]) == 2
    assert "/nowhere/robot.urdf" in capsys.readouterr().err


def test_the_module_runs_as_a_program(urdf):
    done = subprocess.run(
        [sys.executable, "-m", "collision_monitor", "distance", urdf, "--json"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout)["robot"] == "toy"

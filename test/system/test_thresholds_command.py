# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""``thresholds``: a file that suits the robot."""

import numpy as np
import pytest
import yaml
from unit.monitoring.speed_policy.test_proposals import BALLS, URDF

from collision_monitor import CollisionModel
from collision_monitor.cli.main import main
from collision_monitor.model.thresholds import load_thresholds


@pytest.fixture
def files(tmp_path):
    """(URDF, scene) as files."""
    (tmp_path / "robot.urdf").write_text(URDF)
    (tmp_path / "cell.yaml").write_text(yaml.safe_dump({"obstacles": BALLS}))
    return str(tmp_path / "robot.urdf"), str(tmp_path / "cell.yaml")


def test_what_it_prints_is_a_file_of_thresholds_that_is_never_reached(files, capsys, tmp_path):
    urdf, scene = files
    assert main(["thresholds", urdf, "--scene", scene, "--samples", "300"]) == 0
    said = capsys.readouterr()
    (tmp_path / "found.yaml").write_text(said.out)
    found = load_thresholds(tmp_path / "found.yaml")
    assert (found.warn, found.stop) == (0.1, 0.02)
    model = CollisionModel.from_urdf(urdf, scene=scene)
    limits = found.of(model.pairs)
    row = model.pairs.index(("near", "post"))
    assert limits[row, 0] < limits[row, 1] < 0.046
    distances = [model.distances(q)[row] for q in model.random_configurations(200, 7)]
    assert limits[row, 1] < np.min(distances)
    assert "far shelf: as near as -0.0" in said.err
    assert "# far shelf: as near as" in said.out


def test_rules_that_are_there_are_kept(files, capsys, tmp_path):
    urdf, scene = files
    mine = tmp_path / "mine.yaml"
    mine.write_text("pairs: [{pair: '* shelf', warn: 0.3, stop: 0.2}]\nwarn: 0.04")
    arguments = ["--scene", scene, "--samples", "100", "--stop", "0.001"]
    assert main(["thresholds", urdf, *arguments, "--thresholds", str(mine)]) == 0
    found = yaml.safe_load(capsys.readouterr().out)
    assert found["warn"] == 0.04
    assert found["stop"] == 0.001
    assert found["pairs"] == [{"pair": "* shelf", "warn": 0.3, "stop": 0.2}]


def test_what_is_found_elsewhere_is_an_empty_list(files, capsys):
    assert main(["thresholds", files[0], "--samples", "10"]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["pairs"] == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--warn", "-1"], "warn: -1.0"),
        (["--samples", "0"], "0 samples"),
        (["--thresholds", "/nowhere/file.yaml"], "/nowhere/file.yaml"),
    ],
)
def test_what_cannot_be_used_is_an_error(files, capsys, arguments, says):
    assert main(["thresholds", files[0], *arguments]) == 2
    assert says in capsys.readouterr().err

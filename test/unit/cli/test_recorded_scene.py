# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Obstacles out of a recording: taken where asked for, named where not, refused where unclear."""

import json
import sys

import pytest
from support.robots.toys import chain

from collision_monitor import CollisionModel
from collision_monitor.cli.robots import recorded_obstacles, recording_note, with_recorded
from collision_monitor.errors import MissingDependencyError, MotionError, SceneError

writers = pytest.importorskip("mcap.writer", reason="mcap is not installed")

BALL = {"name": "ball", "type": "sphere", "radius": 0.2, "position": [1.0, 1.1, 0.0]}
PART = {"name": "part", "type": "sphere", "radius": 0.1, "position": [0.3, 0, 0], "link": "l2"}
RECORDED = {"obstacles": [BALL, PART], "ignore": [["part", "l1"], ["part", "gone"]]}


def write(path, recorded=RECORDED):
    with open(path, "wb") as stream:
        writer = writers.Writer(stream)
        writer.start()
        writer.add_metadata("other", {"scene_at_stop": "7"})
        if recorded is not None:
            writer.add_metadata("collision_monitor", {"scene_at_stop": json.dumps(recorded)})
        writer.finish()
    return path


def test_they_are_obstacles_like_those_of_the_scene(tmp_path):
    can = {"name": "can", "type": "cylinder", "radius": 0.1, "length": 1.0, "position": [3, 0, 0]}
    model = CollisionModel.from_urdf(chain(3), scene={"obstacles": [can]})
    found = with_recorded(model, recorded_obstacles(write(tmp_path / "a.mcap")))
    expected = CollisionModel.from_urdf(
        chain(3), scene={"obstacles": [can, BALL, PART], "ignore": [["part", "l1"]]}
    )
    assert set(map(frozenset, found.pairs)) == set(map(frozenset, expected.pairs))
    q = [0.3, 0.4]
    assert found.distance(q).distance == expected.distance(q).distance


def test_a_note_says_how_many_are_not_checked(tmp_path):
    note = recording_note(write(tmp_path / "a.mcap"))
    assert "at its stop are not checked (2)" in note and "--recorded-scene includes them" in note
    for path in (write(tmp_path / "b.mcap", None), tmp_path / "c.csv", tmp_path / "no.mcap"):
        assert recording_note(path) == "" and recorded_obstacles(path)["obstacles"] == []


def test_what_is_unclear_is_an_error(tmp_path, monkeypatch):
    model = CollisionModel.from_urdf(chain(3), scene={"obstacles": [BALL]})
    with pytest.raises(MotionError, match="ball: is an obstacle of the scene and of the recording"):
        with_recorded(model, RECORDED)
    with pytest.raises(SceneError, match="l2"):
        with_recorded(CollisionModel.from_urdf(chain(2)), RECORDED)
    bad = tmp_path / "bad.mcap"
    bad.write_bytes(b"no mcap at all")
    with pytest.raises(MotionError, match=r"bad\.mcap: its obstacles cannot be read"):
        recorded_obstacles(bad)
    assert "cannot be read" in recording_note(bad)
    monkeypatch.setitem(sys.modules, "mcap.reader", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'mcap>="):
        recorded_obstacles(bad)
    assert "unknown whether" in recording_note(bad)

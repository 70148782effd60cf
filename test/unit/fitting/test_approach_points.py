# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""From where links are looked at by others."""

import json

import numpy as np
import pytest
from support.geometry.free_body import at as pose_at

from collision_monitor.fitting.approach_points import merged, watchers_of
from collision_monitor.robot.description import Shape


def at(x, kind="box", size=(0.1, 0.1, 0.1)):
    """A shape, its own frame at ``x`` on the x axis of the link."""
    return Shape(kind, pose_at(x), size)


def poses_along_x(*positions):
    """Poses (n, 4, 4) at positions (n,) on the x axis."""
    poses = np.tile(np.eye(4), (len(positions), 1, 1))
    poses[:, 0, 3] = positions
    return poses


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))


def test_watchers_are_the_nearest_points_of_the_other_link():
    links = {"a": (at(0.0),), "b": (at(0.0),)}
    poses = {"a": poses_along_x(0.0, 0.0), "b": poses_along_x(0.3, 0.35)}
    seen = watchers_of(links, poses, [("a", "b")])
    (of_a,), (of_b,) = seen["a"], seen["b"]
    assert of_a[:, 0] == pytest.approx([0.25, 0.3], abs=0.0025)
    assert of_b[:, 0] == pytest.approx([-0.3, -0.25], abs=0.0025)
    assert of_a[:, 3] == pytest.approx([1.0, 1.0])
    assert (np.abs(of_a[:, 1:3]) <= 0.05 + 0.0025).all()


def test_they_are_seen_from_the_frame_of_the_nearest_shape():
    links = {"a": (at(-0.5), at(0.5)), "b": (at(0.0),)}
    poses = {"a": poses_along_x(0.0), "b": poses_along_x(0.7)}
    far, near = watchers_of(links, poses, [("a", "b")])["a"]
    assert len(far) == 0
    assert near[:, 0] == pytest.approx([0.15], abs=0.0025)


def test_a_pair_that_is_always_near_does_not_hide_other_pairs():
    links = {"a": (at(0.0),), "b": (at(0.0),), "c": (at(0.0),)}
    poses = {  # a and b are 50 mm apart, a and c 120 mm or far apart
        "a": poses_along_x(0.0, 0.0, 0.0),
        "b": poses_along_x(0.15, 0.15, 0.15),
        "c": poses_along_x(-0.22, -1.0, -1.0),
    }
    seen = watchers_of(links, poses, [("a", "b"), ("a", "c")])
    assert [len(seen[name][0]) for name in "abc"] == [2, 1, 1]


def test_who_is_far_away_or_always_touches_does_not_watch():
    links = {"a": (at(0.0),), "b": (at(0.0),)}
    for x in (0.1, 0.105, 0.6):
        poses = {"a": poses_along_x(0.0, 0.0), "b": poses_along_x(x, x)}
        seen = watchers_of(links, poses, [("a", "b")])
        assert len(seen["a"][0]) == len(seen["b"][0]) == 0, x
    assert watchers_of(links, poses, [])["a"][0].shape == (0, 4)


def test_the_second_time_they_come_from_disk(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    links = {"a": (at(0.0),), "b": (at(0.0, "cylinder", (0.05, 0.2)),)}
    poses = {"a": poses_along_x(0.0), "b": poses_along_x(0.3)}
    first = watchers_of(links, poses, [("a", "b")])
    second = watchers_of(links, poses, [("a", "b")])
    assert np.array_equal(first["a"][0], second["a"][0])
    folder = tmp_path / "collision_monitor" / "watchers"
    (file,) = folder.iterdir()
    file.write_text(json.dumps({"a": [[[0.1, 0.2, 0.3, 1.0]]], "b": [[]]}))
    third = watchers_of(links, poses, [("a", "b")])
    assert third["a"][0].tolist() == [[0.1, 0.2, 0.3, 1.0]] and third["b"][0].shape == (0, 4)
    other = watchers_of(links, poses | {"b": poses_along_x(0.31)}, [("a", "b")])
    assert len(other["b"][0])


def test_merging_keeps_the_weight_and_does_not_see_the_last_digit():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.uniform(-0.2, 0.2, (3000, 3)), rng.uniform(0.1, 1.0, 3000)])
    few = merged(rows)
    assert 100 < len(few) <= 400
    assert few[:, 3].sum() == pytest.approx(rows[:, 3].sum(), abs=1e-3)
    grid = np.column_stack([np.round(rows[:50, :3], 2), np.ones(50)])
    noise = grid + np.r_[1e-13, -1e-13, 1e-13, 0.0]
    assert np.array_equal(merged(grid), merged(noise))
    assert merged([]).shape == (0, 4)

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Verdicts over a motion: free for certain, in collision and when, or not known where."""

import numpy as np
import pytest
from support.geometry.scan_cases import random_motion, two_arms
from support.robots.slider import SLIDER, slider
from support.robots.toys import joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.errors import ConfigurationError, NothingToCheckError, ThresholdsError
from collision_monitor.model.thresholds import Rule, Thresholds
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.motion.violation import Code
from collision_monitor.verification.clearance.clearance_check import (
    CollisionVerdict,
    check_clearance,
)
from collision_monitor.verification.clearance.schedule import Scheduled

TURNED_BOX = (
    '<link name="{}"><collision><origin rpy="0 0 0.7853981633974483"/><geometry>'
    '<box size="0.1 0.1 0.1"/></geometry></collision></link>'
)


def slide(end=2.0, duration=2.0):
    """1 m/s."""
    return Trajectory.through(("slide",), [0.0, duration], [[0.0], [end]])


def test_a_motion_with_room_is_free_with_at_least_so_much():
    found = check_clearance(slider(0.25), slide(), Thresholds(0.04, 0.02))
    assert (found.verdict, found.ok, found.violations) == (CollisionVerdict.FREE, True, ())
    assert 0.05 - 1.6e-3 <= found.at_least <= 0.05
    assert found.time == pytest.approx(1.0, abs=0.05)
    assert set(found.pair) == {"ball", "post"}
    nearest = found.series.minima[0]
    assert nearest.distance == pytest.approx(0.05, abs=1e-3)
    assert not nearest.exact
    gap = nearest.points[1] - nearest.points[0]
    assert np.linalg.norm(gap) == pytest.approx(nearest.distance)


def test_a_collision_is_told_with_its_first_instant_and_its_worst():
    found = check_clearance(slider(0.1), slide(), Thresholds(0.05, 0.02))
    assert (found.verdict, found.ok) == (CollisionVerdict.COLLIDES, False)
    (broken,) = found.violations
    assert (broken.code, broken.warning, broken.unit) == (Code.COLLISION, False, "m")
    assert set(broken.subject.split(" - ")) == {"ball", "post"}
    assert broken.first == pytest.approx(1.0 - np.sqrt(0.2**2 - 0.1**2), abs=1.1e-3)
    assert found.time == broken.first
    assert broken.worst == pytest.approx(1.0, abs=0.02)
    assert broken.value == pytest.approx(-0.1, abs=2e-3)
    warned = 1.0 - np.sqrt(0.25**2 - 0.1**2)
    stopped = 1.0 - np.sqrt(0.22**2 - 0.1**2)
    assert f"below 0.05 m (clearance-warn) from {warned:.2f}" in broken.text
    assert f"below 0.02 m (clearance-stop) from {stopped:.2f}" in broken.text


@pytest.mark.parametrize(
    ("aside", "code", "warning"),
    [(0.21, Code.CLEARANCE_STOP, False), (0.24, Code.CLEARANCE_WARN, True)],
)
def test_thresholds_are_told_apart(aside, code, warning):
    found = check_clearance(slider(aside), slide(), Thresholds(0.05, 0.02))
    (broken,) = found.violations
    assert (broken.code, broken.warning) == (code, warning)
    assert (found.verdict, found.ok) == (CollisionVerdict.FREE, warning)
    assert broken.limit == (0.05 if warning else 0.02)


def test_a_rule_counts_for_its_pair():
    rule = Rule("b* po*", stop=0.06)
    found = check_clearance(slider(0.25), slide(), Thresholds(rules=(rule,)))
    assert [v.code for v in found.violations] == [Code.CLEARANCE_STOP]
    with pytest.raises(ThresholdsError, match="matches none"):
        check_clearance(slider(0.25), slide(), Thresholds(rules=(Rule("arm *", 0.1),)))


@pytest.mark.parametrize(("touch", "code"), [(0.05, "stop"), (0.0, "collision")])
def test_what_grazes_a_threshold_is_undecided_and_not_silently_free(touch, code):
    """A tenth of what rounding is given, at an instant that no bisection meets."""
    motion = slide(2.0, 1.91)
    found = check_clearance(slider(0.2 + touch + 1e-10), motion, Thresholds(touch, touch), bins=7)
    (unknown,) = found.violations
    assert (unknown.code, unknown.warning, unknown.limit) == (Code.UNDECIDED, False, touch)
    assert found.ok is False
    assert found.verdict is (CollisionVerdict.FREE if touch else CollisionVerdict.UNDECIDED)
    assert unknown.first == pytest.approx(0.955, abs=0.02)
    assert f"({'clearance-' if touch else ''}{code}) at 0.9" in unknown.text
    room = check_clearance(slider(0.2 + touch + 1e-7), motion, Thresholds(touch, touch), bins=7)
    assert (room.verdict, room.violations) == (CollisionVerdict.FREE, ())


@pytest.mark.parametrize(
    ("part", "meets"),
    # At (s, 0) and (0, s - start), nearest half-way, where boxes turn faces to each other, from
    # which leaves stand off: they meet before the boxes.
    [(link("{}"), 0.2 * np.sqrt(2.0)), (TURNED_BOX, 0.1 * np.sqrt(2.0))],
    ids=["leaves", "meshes"],
)
def test_a_later_start_lets_two_links_pass(part, meets):
    crossing = robot(
        link("base", ""), part.format("east"), part.format("north"),
        joint("x", "base", "east", "prismatic", xyz="0 0 0", axis="1 0 0"),
        joint("y", "base", "north", "prismatic", xyz="0 0 0", axis="0 1 0"),
    )  # fmt: skip
    model = CollisionModel.from_urdf(crossing, max_leaves_per_link=1)
    way = [[-1.0], [1.0]]
    east = Trajectory.through(("x",), [0.0, 2.0], way)
    north = Trajectory.through(("y",), [0.0, 2.0], way)
    for start, verdict in (
        (meets + 0.01, CollisionVerdict.FREE),
        (meets - 0.01, CollisionVerdict.COLLIDES),
        (-meets - 0.01, CollisionVerdict.FREE),
        (0.0, CollisionVerdict.COLLIDES),
    ):
        checked = check_clearance(model, [east, Scheduled(north, start)], exact=True, bins=20)
        assert checked.verdict is verdict
        if verdict is CollisionVerdict.FREE:
            nearest = (abs(start) - meets) / np.sqrt(2.0)
            assert nearest - 1.3e-3 <= checked.at_least <= nearest


def test_exact_pairs_are_told_as_such_and_bound_from_both_sides():
    model = two_arms()
    motion = random_motion(model, 4)
    by_leaves = check_clearance(model, motion, bins=30)
    found = check_clearance(model, motion, exact=True, bins=30)
    assert by_leaves.verdict is CollisionVerdict.COLLIDES
    assert 0 < found.series.exact.sum() < len(model.pairs)
    rank = {pair: k for k, pair in enumerate(model.pairs)}
    for minimum in found.series.minima:
        k = rank[minimum.pair]
        assert minimum.exact == found.series.exact[k]
        assert (found.series.lower[:, k] >= by_leaves.series.lower[:, k]).all()
        assert minimum.lower <= minimum.distance
        if minimum.exact and minimum.distance > 0.0:
            gap = minimum.points[1] - minimum.points[0]
            assert np.linalg.norm(gap) == pytest.approx(minimum.distance)
    texts = {v.subject: v.text for v in found.violations if v.code is Code.COLLISION}
    assert all("between meshes" in text for text in texts.values())
    for pairs in ([3], np.arange(len(model.pairs)) == 3):
        chosen = check_clearance(model, motion, exact_pairs=pairs, bins=3).series.exact
        assert np.flatnonzero(chosen).tolist() == [3]


def test_what_cannot_be_checked_is_an_error():
    alone = CollisionModel.from_urdf(SLIDER)
    with pytest.raises(NothingToCheckError):
        check_clearance(alone, slide())
    model = slider(0.25)
    with pytest.raises(ConfigurationError, match=r"accuracy: 0\.0 is not a length"):
        check_clearance(model, slide(), accuracy=0.0)
    with pytest.raises(ConfigurationError, match="resolution: nan is not a length"):
        check_clearance(model, slide(), resolution=np.nan)
    with pytest.raises(ConfigurationError, match="bins: 0"):
        check_clearance(model, slide(), bins=0)

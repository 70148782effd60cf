# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs that are always nearer than their thresholds, and what is proposed for them."""

import numpy as np
import pytest
from support.robots.toys import joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.errors import BehaviourError
from collision_monitor.model.thresholds import Rule, Thresholds
from collision_monitor.monitoring.speed_policy.threshold_suggestions import suggest_thresholds

# A ball on a slide that stays 45 to 65 mm from a post, and one in a shelf that it overlaps.
URDF = robot(
    link("base"),
    link("near"),
    joint("a", "base", "near", "prismatic", "0.255 0 2", "1 0 0"),
    link("far"),
    joint("c", "base", "far", "prismatic", "0 0 1", "0 0 1"),
).replace('lower="-2" upper="2"', 'lower="-0.01" upper="0.01"')
BALLS = [
    {"name": name, "type": "sphere", "radius": 0.1, "position": position}
    for name, position in (("shelf", [0.15, 0, 1]), ("post", [0, 0, 2]))
]
MODEL = CollisionModel.from_urdf(URDF, scene={"obstacles": BALLS})


def test_only_pairs_that_are_always_near_are_found():
    found = {frozenset(p.pair): p for p in suggest_thresholds(MODEL, Thresholds(0.1, 0.02), 200)}
    assert found.keys() == {frozenset(("near", "post")), frozenset(("far", "shelf"))}
    near = found[frozenset(("near", "post"))]
    assert near.share == 1.0
    assert 0.045 <= near.least < 0.047
    assert 0.063 < near.largest <= 0.065
    assert (near.warn, near.stop) == (pytest.approx(0.9 * near.least, abs=1e-4), 0.02)
    assert found[frozenset(("far", "shelf"))].warn is None


def test_pairs_that_are_near_only_mostly_are_found_when_asked_for():
    base = Thresholds(0.06, 0.02)
    assert {p.pair for p in suggest_thresholds(MODEL, base, 200)} == {("far", "shelf")}
    found = {p.pair: p for p in suggest_thresholds(MODEL, base, 200, share=0.6)}
    assert 0.6 <= found["near", "post"].share < 1.0


def test_what_is_proposed_is_never_reached():
    base = Thresholds(0.3, 0.2)
    found = suggest_thresholds(MODEL, base, 300)
    assert found
    assert [p.least for p in found] == sorted(p.least for p in found)
    distances = np.array([MODEL.distances(q) for q in MODEL.random_configurations(300, 5)])
    for proposal in found:
        k = MODEL.pairs.index(proposal.pair)
        assert proposal.largest >= distances[:, k].max() - 1e-3
        if proposal.least < 0.0:
            assert proposal.warn is None and proposal.stop is None
        else:
            assert 0.0 < proposal.stop < proposal.warn < distances[:, k].min()
    rules = [Rule(" ".join(p.pair), p.warn, p.stop) for p in found if p.warn is not None]
    left = suggest_thresholds(MODEL, Thresholds(0.3, 0.2, tuple(rules)), 300)
    assert {p.pair for p in left} == {p.pair for p in found if p.warn is None}


@pytest.mark.parametrize("given", [{"samples": 0}, {"share": 0.0}, {"share": 1.1}])
def test_questions_that_mean_nothing_are_refused(given):
    with pytest.raises(BehaviourError, match="expected at least 1 sample"):
        suggest_thresholds(MODEL, Thresholds(0.1, 0.02), **given)


def test_rules_for_objects_to_come_are_passed_over():
    base = Thresholds(0.1, 0.02)
    ruled = Thresholds(0.1, 0.02, (Rule("cell/* near", 0.5), Rule("cloud far", 0.4)))
    assert suggest_thresholds(MODEL, ruled, 50) == suggest_thresholds(MODEL, base, 50)

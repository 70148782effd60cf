# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The smallest distance of the pairs that are not near by design, and when others count."""

from pathlib import Path

import numpy as np
import pytest
from support.robots.toy_models import toy_model
from support.robots.toys import joint, link

from collision_monitor import CollisionModel, Monitor
from collision_monitor.model.leaf_queries import nearest_clearance
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.near_by_design import MinimumDistance
from collision_monitor.model.thresholds import Rule, Thresholds
from collision_monitor.monitoring.faults import Level
from collision_monitor.monitoring.speed_policy.speed_policy import SpeedPolicy

URDF = Path(__file__).parents[3] / "urdf"
PHASES = ("leaf", "auto")


@pytest.fixture(scope="module")
def dual_arm() -> CollisionModel:
    return CollisionModel.from_urdf(URDF / "dual_arm.urdf", URDF / "dual_arm.srdf")


def state_at(monitor: Monitor, q, now: float = 10.0):
    for k in range(2):
        state = monitor.update(monitor.model.joint_names, q, now=now + 0.01 * k)
    return state


def turning_balls(*parts: str) -> CollisionModel:
    """Two balls that turn about their own axes, 0.3 m apart, and a third one on a slide."""
    return toy_model(
        link("base"), link("one"), link("other"), link("sliding"),
        joint("one_joint", "base", "one", "revolute", "0 1 0", "0 0 1"),
        joint("other_joint", "base", "other", "revolute", "0 1.5 0", "0 0 1"),
        joint("slide", "base", "sliding", "prismatic", "2 1 0", "1 0 0"),
        *parts,
    )  # fmt: skip


@pytest.mark.parametrize("phase", PHASES)
def test_the_number_is_the_smallest_distance_of_the_pairs_that_count(dual_arm, phase):
    monitor = Monitor(dual_arm.twin(), narrow_phase=phase)
    left_out = set(map(frozenset, monitor.not_counted))
    assert frozenset(("right_link_1", "left_link_1")) in left_out
    kept = [k for k, pair in enumerate(dual_arm.pairs) if frozenset(pair) not in left_out]
    warn = monitor.behaviour.thresholds[:, 1]
    for q in dual_arm.random_configurations(50, seed=1):
        state = state_at(monitor, q)
        distances = monitor.model_distances()
        counting = np.union1d(kept, np.flatnonzero(distances <= warn))
        assert state.distance == pytest.approx(distances[counting].min(), abs=1e-6)
        assert state.distance >= distances.min() - 1e-9


def test_pairs_whose_distance_does_not_change_do_not_count_until_something_is_near():
    model = turning_balls()
    monitor = Monitor(model)
    assert ("one", "other") in monitor.not_counted
    state = state_at(monitor, [0.5, -0.5, 0.0])
    assert "sliding" in state.clearance.links
    assert "sliding" in state.message and state.distance > 0.3
    # It is within the warning distance from the start: then it counts, and is named.
    monitor.set_thresholds(Thresholds(0.4, 0.02))
    state = state_at(monitor, [0.5, -0.5, 0.0], now=20.0)
    assert state.distance == pytest.approx(0.3, abs=1e-6)
    assert set(state.clearance.links) == {"one", "other"} == set(state.pair)
    assert state.level.name == "WARN"


def test_contact_of_any_pair_is_in_the_number(dual_arm):
    monitors = [Monitor(dual_arm.twin(), narrow_phase=phase) for phase in PHASES]
    rows = dual_arm.random_configurations(300, seed=5)
    found = [dual_arm.distance(q, exact=True, any_contact=True) for q in rows]
    touching = rows[[clearance.distance <= 0.0 for clearance in found]]
    assert len(touching) > 10
    for k, q in enumerate(touching):
        for monitor in monitors:
            assert state_at(monitor, q, now=10.0 + k).distance <= 0.0


@pytest.mark.parametrize("phase", PHASES)
def test_a_pair_near_by_design_stops_the_robot_although_those_that_count_are_far(phase):
    # A ball turns off-centre beside another one, always near, and touches it around 1.5 rad.
    offset = f"{-0.055 * np.cos(1.5)} {0.055 * np.sin(1.5)} 0"
    model = toy_model(
        link("base"), link("arm", ""), link("other"), link("sliding"),
        joint("turn", "base", "arm", "revolute", "0.25 0 0", "0 0 1"),
        joint("spin", "arm", "other", "revolute", offset, "0 0 1"),
        joint("slide", "base", "sliding", "prismatic", "0 3 0", "0 1 0"),
    )  # fmt: skip
    monitor = Monitor(model, narrow_phase=phase)
    assert monitor.not_counted == [("other", "base")]
    state = monitor.update(model.joint_names, [-1.0, 0.0, 0.0], now=10.0)
    assert state.level == Level.OK and state.distance > 2.0
    state = monitor.update(model.joint_names, [1.5, 0.0, 0.0], now=20.0)
    assert (state.level, state.action) == (Level.ERROR, "stop"), state.message
    assert set(state.pair) == {"base", "other"}
    assert state.distance == pytest.approx(-0.005, abs=1e-6)


def test_only_pairs_that_may_be_near_are_measured_for_the_number():
    model, q = turning_balls(), np.array([0.5, -0.5, 0.0])
    first, second, third = np.argsort(model.distances(q, exact=True))[:3].tolist()
    warn = np.zeros(len(model.pairs))
    warn[second] = np.inf
    queries = MinimumDistance(model, {first, second}, warn, exact=True)
    nearest = nearest_clearance(queries.others, q, np.inf)
    assert set(nearest.links) == set(model.pairs[third])
    for among, expected in ((None, second), ([first, second, third], second), ([first], third)):
        known = None if among is None else np.array(among)
        counted = queries.with_near(q, nearest, np.inf, known)
        assert set(counted.links) == set(model.pairs[expected])
    warn[first] = np.inf  # of several within their warning distances the nearest counts
    queries = MinimumDistance(model, {first, second}, warn, exact=True)
    assert set(queries.with_near(q, nearest, np.inf).links) == set(model.pairs[first])


def test_a_pair_that_is_near_only_by_a_rule_counts(dual_arm):
    monitor = Monitor(dual_arm.twin())
    before = monitor.not_counted
    monitor.set_thresholds(Thresholds(0.1, 0.02, (Rule("right_* left_*", 0.01, 0.005),)))
    assert monitor.not_counted == before


def test_if_all_pairs_are_near_by_design_all_count():
    model = toy_model(
        link("base"), link("one"), link("other"),
        joint("one_joint", "base", "one", "revolute", "0 1 0", "0 0 1"),
        joint("other_joint", "base", "other", "revolute", "0 1.5 0", "0 0 1"),
    )  # fmt: skip
    monitor = Monitor(model)
    assert monitor.not_counted == []
    assert state_at(monitor, [0.3, 0.0]).distance == pytest.approx(0.3, abs=1e-6)
    assert model.distance([0.0, 0.0], by_design=False).distance == pytest.approx(0.3, abs=1e-6)


@pytest.mark.parametrize("phase", PHASES)
def test_an_object_counts(phase):
    model = turning_balls()
    live = LiveScene(model)
    policy = SpeedPolicy(model, live=live)
    monitor = Monitor(model, live=live, behaviour=policy, narrow_phase=phase)
    pose = np.eye(4)
    pose[:3, 3] = 0.0, 1.0, 0.45
    live.add("ball", np.array([[0.0] * 6 + [0.1]]), model.root, pose)
    state = state_at(monitor, [0.3, 0.0, 0.0])
    assert state.distance == pytest.approx(0.25, abs=1e-5)
    assert set(state.clearance.links) == {"one", "ball"}


@pytest.mark.parametrize("exact", [False, True])
def test_a_model_gives_the_number_of_a_monitor_with_default_thresholds(dual_arm, exact):
    monitor = Monitor(dual_arm.twin(), narrow_phase="leaf")
    for q in dual_arm.random_configurations(50, seed=7):
        found = dual_arm.distance(q, exact=exact, by_design=False)
        assert found.distance >= dual_arm.distance(q, exact=exact).distance - 1e-9
        if not exact:
            assert found.distance == state_at(monitor, q).distance

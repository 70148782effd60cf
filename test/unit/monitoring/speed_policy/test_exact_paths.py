# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds on exact distances along braking paths, against densely sampled distances."""

import math
import time
from functools import partial

import numpy as np
import pytest
from support.robots.robots import require
from support.ros.live_cases import ur5

from collision_monitor import CollisionModel, Monitor
from collision_monitor.cli.demo import package_file
from collision_monitor.continuous.near_pairs import COLUMNS, LEAST, PAIR
from collision_monitor.model.proximity import part_of
from collision_monitor.monitoring.settings import SpeedSettings
from collision_monitor.monitoring.speed_policy import candidate_kernels as rows
from collision_monitor.monitoring.speed_policy.braking_check import BrakingCheck, Measured
from collision_monitor.monitoring.speed_policy.braking_paths import BrakingInputs, BrakingPaths
from collision_monitor.monitoring.speed_policy.decision import GIVEN, RING, Decision, decide
from collision_monitor.monitoring.speed_policy.exact_level import ExactLevel
from collision_monitor.monitoring.speed_policy.exact_paths import ExactPaths

pytestmark = pytest.mark.early

STOP, WARN, ENOUGH, RESOLUTION, INTERVALS = 0.02, 0.1, 0.105, 0.001, 32


class Paths:
    """Bounds of all pairs of the dual-arm robot, and how often its shapes were measured."""

    def __init__(self):
        self.model = CollisionModel.from_urdf(
            package_file("urdf/dual_arm.urdf"), srdf=package_file("urdf/dual_arm.srdf")
        )
        self._exact = ExactPaths(self.model.twin())
        paths = BrakingPaths(self.model)
        paths.set_thresholds(np.tile([STOP, WARN], (len(self.model.pairs), 1)))
        self._weights = paths.classes.joint_weights

    def inputs(self, q, v):
        return BrakingInputs(q, v, v, np.full(len(q), 4.0), 0.05, SpeedSettings())

    def path(self, q, v):
        return self.inputs(q, v).path(2 * INTERVALS).T

    @property
    def measured(self):
        return int(self._exact.measurements.sum())

    def least(
        self, q, v, seconds=60.0, limits_speed=False, holding=STOP, scale=math.inf,
        tolerance=-math.inf,
    ):  # fmt: skip
        """Without tolerance, all pairs are measured until it is known how near they come."""
        count, inputs, now = len(self.model.pairs), self.inputs(q, v), self.now(q)
        candidates, needs = np.zeros((count, COLUMNS)), np.zeros((count, rows.NEEDS))
        candidates[:, PAIR] = needs[:, rows.BOUNDS] = numbers = np.arange(count)
        bounds = self._exact.known(inputs, numbers, self._weights, now, np.full(count, ENOUGH))
        least = np.minimum(bounds.intervals.min(axis=1), now)
        candidates[:, LEAST] = needs[:, rows.PROVEN] = least
        wanted = np.minimum(ENOUGH, now - tolerance)
        for column, value in (
            (rows.NOW, now), (rows.LOWEST, now), (rows.STOP, STOP), (rows.WARN, WARN),
            (rows.HOLDING, holding), (rows.WANTED, wanted), (rows.FINE, RESOLUTION),
            (rows.LIMITS, limits_speed),
        ):  # fmt: skip
            needs[:, column] = value
        order = np.flatnonzero(least < np.minimum(wanted, now - RESOLUTION))
        order = order[np.argsort(part_of(least[order], needs[order, : rows.WARN + 1]))]
        self.stops = self._exact.raise_least(
            inputs, candidates, needs, order, bounds, scale, time.thread_time() + seconds
        )
        self.proven = needs[:, rows.PROVEN]
        return candidates[:, LEAST]

    def truth(self, q, v):
        path = self.path(q, v)
        return np.min([self.model.distances(row, exact=True) for row in path], axis=0)

    def now(self, q):
        return self.model.distances(q, exact=True, within=3.0 * ENOUGH)

    def forget(self):
        """Without the distances that were measured so far."""
        self._exact = ExactPaths(self.model.twin())
        return self

    def half(self, q, v):
        """Travel (pairs,) in the longer half of the longest interval."""
        return (np.abs(np.diff(self.path(q, v), axis=0)) @ self._weights.T).max(axis=0)


@pytest.fixture(scope="module")
def paths():
    return Paths()


def clear_motions(model, count):
    rng = np.random.default_rng(5)
    while count:
        q = rng.uniform(np.maximum(model.lower, -2.0), np.minimum(model.upper, 2.0))
        if model.distance(q, exact=True, any_contact=True).distance > 0.0:
            count -= 1
            yield q, rng.uniform(-1.0, 1.0, len(q))


def test_bounds_are_below_the_truth_and_near_it_where_it_matters_if_there_is_time(paths):
    seen = 0
    for q, v in clear_motions(paths.model, 5):
        hurried, truth = paths.forget().least(q, v, seconds=-math.inf), paths.truth(q, v)
        assert paths.measured == 0
        assert (hurried <= truth + 1e-9).all()
        least = paths.least(q, v)
        assert (hurried <= least + 1e-9).all()
        if paths.stops:
            continue
        seen += 1
        away = truth > STOP
        assert (least[away] <= truth[away] + 1e-9).all()
        near = np.minimum(truth, ENOUGH) - paths.half(q, v) - 2.0 * RESOLUTION
        assert (least[away] >= near[away]).all()
    assert seen > 2


def test_at_most_one_slow_measurement_ends_after_the_time_is_over(paths, monkeypatch):
    def now():
        return 3e-3 * paths.measured

    monkeypatch.setattr(time, "thread_time", now)
    spent = []
    for q, v in clear_motions(paths.model, 6):
        paths.forget()
        for part in (1.0, 2.0):
            begin = now()
            paths.least(q, part * v, seconds=4e-3)
            spent.append(now() - begin)
    assert max(spent) == pytest.approx(6e-3)


def test_fast_motions_are_found_within_the_stop_distance(paths):
    seen = 0
    for q, v in clear_motions(paths.model, 4):
        least, now = paths.least(q, 4.0 * v), paths.now(q)
        if paths.stops:
            entered = (least <= STOP) & (now > STOP)
            assert entered.any()
            truth = paths.truth(q, 4.0 * v)
            assert (truth[entered] <= STOP).all()
            assert (paths.proven <= truth + 1e-9).all()
            seen += 1
    assert seen > 2


def test_pairs_that_part_are_measured_until_it_is_known_whether_they_come_nearer(paths):
    """Also within their stop distance: there the first distance on the path is not the nearest."""
    tolerance, turns, stays = 2.0 * RESOLUTION, 0, 0
    rng = np.random.default_rng(6)
    for q in paths.model.random_configurations(250, 6):
        if not tolerance < paths.model.distance(q, exact=True, any_contact=True).distance <= STOP:
            continue
        v = rng.uniform(-1.0, 1.0, len(q))
        least, now = paths.forget().least(q, v, tolerance=tolerance), paths.now(q)
        truth, nearest = paths.truth(q, v), now.argmin()
        assert (paths.proven <= truth + 1e-9).all()
        comes_nearer = truth < now - tolerance
        if paths.stops:
            assert (comes_nearer & (truth <= STOP)).any()
        else:
            assert not comes_nearer[nearest]
        turns += paths.stops
        stays += least[nearest] >= now[nearest] - tolerance
    assert turns > 1 and stays > 1


def allowed(least):
    """The lowest speed scale that bounds (pairs,) allow."""
    return part_of(least, np.tile([STOP, WARN], (len(least), 1))).min()


@pytest.fixture(scope="module")
def near_motions(paths):
    """(q, v, least distances, how often measured): within the warning distance, without a stop."""
    found = []
    for q, v in clear_motions(paths.model, 400):
        if paths.model.distance(q, exact=True, any_contact=True).distance <= STOP:
            continue
        free = paths.forget().least(q, v)
        if not paths.stops and allowed(free) < 1.0:
            found.append((q, v, free, paths.measured))
            if len(found) == 5:
                return found
    raise AssertionError(f"only {len(found)} motions")


def test_pairs_that_allow_more_than_others_are_not_measured_and_change_nothing(paths, near_motions):
    every = few = fewest = 0
    for q, v, free, measured in near_motions:
        every += measured
        found = paths.forget().least(q, v, limits_speed=True)
        few += paths.measured
        assert not paths.stops
        assert allowed(found) == pytest.approx(allowed(free), abs=1e-9)
        paths.forget().least(q, v, limits_speed=True, scale=0.0)
        fewest += paths.measured
    assert fewest < few < every


def test_what_holds_a_stop_ends_the_search(paths, near_motions):
    held = 0
    for q, v, free, _ in near_motions:
        found = paths.forget().least(q, v, limits_speed=True, holding=WARN)
        proven = (STOP < free) & (free <= WARN) & (free < paths.now(q) - RESOLUTION)
        assert paths.stops == proven.any()
        assert not paths.stops or ((STOP < found) & (found <= WARN)).any()
        held += paths.stops
    assert held > 2


def test_at_no_speed_shapes_stop_a_robot_that_their_leaves_let_go_on():
    model = ur5()
    names = [*model.joint_names]
    rng, seen, spared = np.random.default_rng(11), 0, 0
    for q in model.random_configurations(300, 11):
        if model.distance(q).distance <= 0.0:
            continue
        velocities = rng.uniform(0.0, 20.0) * rng.uniform(-1.0, 1.0, len(names))
        stops = []
        for phase in ("leaf", "auto"):
            check = BrakingCheck(model, np.full(len(names), 40.0))
            thresholds = np.tile([0.005, 0.02], (len(model.pairs), 1))
            check.set_thresholds(thresholds)
            check.prepare_exact()
            exact = None if phase == "leaf" else partial(model.exact_bounds, q)
            clearance = model.distance(q, exact=phase == "auto", any_contact=True)
            stops.append(check.decide(q, velocities, Measured(clearance, exact=exact)).stop)
        assert stops[1] <= stops[0]
        seen += not stops[0]
        spared += stops[0] and not stops[1]
    assert seen > 5 and spared > 0


def test_successive_cycles_of_a_motion_measure_little(paths):
    q, v = next(clear_motions(paths.model, 1))
    paths.least(q, v)
    first = paths.measured
    assert first > 0
    for k in range(1, 51):
        paths.least(q + 0.001 * k * v, v)
    assert paths.measured - first < 5 * max(first, 50)


def decision_by_search(model, thresholds, q, velocities, measured):
    """The decision of a search of all pairs on the braking path, without a memory."""
    paths, settings = BrakingPaths(model), SpeedSettings()
    paths.set_thresholds(thresholds)
    inputs = BrakingInputs(
        q, velocities, velocities, np.full(len(q), 4.0), settings.reaction_time, settings
    )
    count = ExactLevel(model, paths).search(inputs, measured, holds=False)
    memory = np.zeros(RING + settings.release_cycles)
    memory[GIVEN:] = 1.0
    flags = decide(
        paths.candidates, count, paths.classes.thresholds, settings.release_distance,
        settings.release_cycles, math.inf, settings.escape_scale, settings.parting_speed,
        inputs.tolerance, memory,
    )  # fmt: skip
    return Decision(*flags[:6])


def test_in_contact_the_decision_is_that_of_a_search_of_the_braking_path():
    """A pair that is too close and does not move away decides; the search is left out then."""
    model = ur5()
    rng, counts = np.random.default_rng(5), {"stop": 0, "limit": 0}
    thresholds = np.tile([0.005, 0.02], (len(model.pairs), 1))
    every = model.random_configurations(4000, 5)
    for q in every[model.min_distances(every) < 0.0][:120]:
        velocities = rng.uniform(-1.0, 1.0, len(q))
        clearance = model.distance(q, exact=True, any_contact=True)
        measured = Measured(clearance, exact=partial(model.exact_bounds, q))
        check = BrakingCheck(model, np.full(len(q), 4.0))
        check.set_thresholds(thresholds)
        check.prepare_exact()
        one = check.decide(q, velocities, measured)
        other = decision_by_search(model, thresholds, q, velocities, measured)
        assert (one.action, one.scale, one.inside) == (other.action, other.scale, other.inside)
        counts[one.action] = counts.get(one.action, 0) + 1
    assert counts["stop"] > 20 and counts["limit"] > 5, counts


def test_decisions_are_those_of_exact_distances_of_all_pairs(paths):
    """Pairs that only matter if they approach are not measured until they do."""
    model = paths.model
    checks = [BrakingCheck(model, np.full(len(model.joint_names), 4.0)) for _ in range(2)]
    for check in checks:
        check.set_thresholds(np.tile([STOP, WARN], (len(model.pairs), 1)))
        check.prepare_exact()
    actions = {}
    for q, v in clear_motions(model, 6):
        for k in range(20):
            at = q + 0.02 * k * v
            every = model.distances(at, exact=True)
            nearest = model.distance(at, exact=True, any_contact=True)
            known = partial(model.exact_bounds, at, seconds=1.0)
            one, other = (
                check.decide(at, v, Measured(nearest, exact=exact), passed=0.02)
                for check, exact in zip(
                    checks, (known, lambda pairs, *_, every=every: every[pairs]), strict=True
                )
            )
            assert (one.action, one.inside, one.near) == (other.action, other.inside, other.near)
            assert one.scale == pytest.approx(other.scale, abs=0.03)
            actions[one.action] = actions.get(one.action, 0) + 1
    assert len(actions) > 2, actions


def test_a_fast_turn_of_the_base_is_no_alarm():
    """The upper arm of a UR5 is 17 mm from its base, whatever the angle of the base joint is."""
    files = require("ur5")
    model = CollisionModel.from_urdf(files.urdf, package_dirs=files.package_dirs)
    q, actions = np.array([0.0, -1.2, 1.2, -1.57, -1.57, 0.0]), set()
    monitor, velocities = Monitor(model), np.zeros(6)
    velocities[0] = model.velocity_limits[0]
    for k in range(50):
        state = monitor.update(
            model.joint_names, q + 0.008 * k * velocities, 0.008 * k, velocities=velocities
        )
        actions.add(state.action)
    assert actions == {"none"}


def test_a_contact_is_what_the_message_is_about():
    """Pairs with larger stop distances are near at the same time."""
    files = require("ur5")
    model = CollisionModel.from_urdf(files.urdf, package_dirs=files.package_dirs)
    rows = model.random_configurations(3000, seed=9)
    found = [model.distance(q, exact=True, any_contact=True) for q in rows]
    rows = rows[[clearance.distance <= 0.0 for clearance in found]][:100]
    monitor, others = Monitor(model), 0
    for k, q in enumerate(rows):
        state = monitor.update(model.joint_names, q, now=1e4 * (k + 1))
        assert state.message.startswith("collision: "), state.message
        assert set(state.pair) == set(state.clearance.links)
        others += (monitor.distances() < monitor.behaviour.thresholds[:, 0]).sum() > 1
    assert others > 20

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Decisions: monotone, never faster than any pair allows, no chatter; and their messages."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collision_monitor.continuous.near_pairs import COLUMNS, DISTANCE, LEAST, PAIR, RATE
from collision_monitor.monitoring.speed_policy.decision import (
    GIVEN,
    LATCHED,
    RING,
    UNACKNOWLEDGED,
    Decision,
    StopLatch,
    decide,
    decision_message,
)

STOP, WARN, RELEASE, ESCAPE, PARTING, TOLERANCE = 0.02, 0.1, 0.005, 0.25, 0.005, 0.002
LENGTHS = st.floats(-0.05, 0.2)
RATES = st.floats(-0.5, 0.5)


class Decider:
    """One memory, asked cycle after cycle."""

    def __init__(self, pairs=1, cycles=1, release=RELEASE, thresholds=None, rise=np.inf):
        self.cycles, self.release, self.rise = cycles, release, rise
        self.thresholds = (
            np.tile([STOP, WARN], (pairs, 1)) if thresholds is None else np.array(thresholds)
        )
        self.memory = np.zeros(RING + cycles)
        self.memory[GIVEN:] = 1.0

    def __call__(self, *pairs):
        """pairs: (distance, rate, least on the path) each, in the order of the thresholds."""
        rows = np.zeros((max(1, len(pairs)), COLUMNS))
        for k, (distance, rate, least) in enumerate(pairs):
            rows[k, [PAIR, DISTANCE, RATE, LEAST]] = k, distance, rate, least
        names = ("scale", "inside", "near", "stop", "slow", "approach", "row", "braking", "calm")
        found = decide(
            rows, len(pairs), self.thresholds, self.release, self.cycles, self.rise, ESCAPE,
            PARTING, TOLERANCE, self.memory,
        )  # fmt: skip
        return dict(zip(names, found, strict=True))


def allowed(distance, rate, least, stop=STOP, warn=WARN):
    """The scale that one pair allows, by itself and without a memory."""
    if rate > PARTING and least >= distance - TOLERANCE:
        return 1.0 if distance > stop else ESCAPE
    return float(np.clip((least - stop) / (warn - stop), 0.0, 1.0)) if warn > stop else (
        1.0 if least > warn else 0.0
    )  # fmt: skip


@given(st.lists(st.tuples(LENGTHS, RATES, st.floats(0.0, 0.1)), max_size=4))
@settings(deadline=None)
def test_the_scale_is_the_least_that_any_pair_allows(pairs):
    pairs = [(distance, rate, distance - loss) for distance, rate, loss in pairs]
    found = Decider(4)(*pairs)
    expected = min([1.0, *(allowed(*pair) for pair in pairs)])
    assert found["scale"] == pytest.approx(expected)
    held = [p for p in pairs if allowed(*p) == 0.0]
    assert found["stop"] == bool(held)
    assert found["inside"] == any(distance <= STOP for distance, _, _ in pairs)
    assert found["near"] == any(distance <= WARN for distance, _, _ in pairs)
    if expected < 1.0:
        deciding = pairs[found["row"]]
        if found["inside"] and not found["stop"]:
            assert deciding[0] <= STOP
        else:
            assert allowed(*deciding) == pytest.approx(expected)


@given(
    st.lists(st.tuples(LENGTHS, RATES, st.floats(0.0, 0.1)), min_size=1, max_size=60),
    st.integers(1, 10),
    st.floats(0.0, 0.02),
)
@settings(deadline=None)
def test_never_faster_than_allowed_and_slower_at_once(story, cycles, release):
    decider, last = Decider(cycles=cycles, release=release), []
    for distance, rate, loss in story:
        pair = distance, rate, distance - loss
        found = decider(pair)
        last = [*last[-(cycles - 1) :], allowed(*pair)] if cycles > 1 else [allowed(*pair)]
        assert found["scale"] <= min(last) + 1e-12
        if distance - loss <= STOP and allowed(*pair) < ESCAPE:
            assert found["stop"]
            assert found["scale"] == 0.0


@pytest.mark.parametrize("flag", ["stop", "near"])
def test_noise_about_a_threshold_is_one_change_not_many(flag):
    rng = np.random.default_rng(1)
    threshold = {"stop": STOP, "near": WARN}[flag]
    changes = {}
    for name, cycles, release in (("held", 5, 0.005), ("bare", 1, 0.0)):
        decider = Decider(cycles=cycles, release=release)
        said = []
        for k in range(1000):
            distance = threshold + 0.03 * np.cos(2.0 * np.pi * k / 1000) + rng.normal(0.0, 0.001)
            said.append(decider((distance, 0.0, distance))[flag])
        changes[name] = int(np.abs(np.diff(np.array(said, dtype=int))).sum())
    assert changes["held"] == 2
    assert changes["bare"] > 10  # so the noise is one


def test_a_contact_that_moves_away_decides_before_a_slower_approach():
    found = Decider(2)((0.06, -0.1, 0.03), (-0.09, 0.2, -0.09))
    assert (found["row"], found["stop"], found["inside"]) == (1, False, True)
    assert found["scale"] == pytest.approx(0.125)
    assert Decider(2)((0.06, -0.1, 0.01), (-0.09, 0.2, -0.09))["row"] == 0  # it stops the robot


@pytest.mark.parametrize("turn", [1, -1])
def test_of_two_pairs_that_stop_the_robot_one_is_named_with_its_own_clearance(turn):
    pairs = [((0.2, -0.1, 0.049), 0.05), ((0.3, -0.1, 0.01), STOP)][::turn]
    found = Decider(thresholds=[[stop, WARN] for _, stop in pairs])(*(pair for pair, _ in pairs))
    assert found["stop"] and pairs[found["row"]][0] == (0.3, -0.1, 0.01)
    assert found["braking"] == 0.01  # with another one's, the stop would be called held


def test_the_scale_falls_at_once_and_rises_step_by_step():
    decider = Decider(rise=0.25)
    assert decider((0.04, 0.0, 0.04))["scale"] == pytest.approx(0.25)
    said = [decider((0.3, 0.0, 0.3)) for _ in range(5)]
    assert [found["scale"] for found in said] == pytest.approx([0.5, 0.75, 1.0, 1.0, 1.0])
    assert [found["calm"] for found in said] == [False, False, True, True, True]


def test_a_stop_lasts_while_what_it_is_about_still_comes_nearer():
    decider = Decider()
    assert decider((0.08, -0.5, 0.01))["stop"]
    assert decider((0.07, -0.3, 0.04))["stop"]  # braking: it would do by now
    assert not decider((0.05, 0.0, 0.05))["stop"]
    assert decider((0.08, -0.5, 0.01))["stop"]
    assert not decider((0.3, -0.3, 0.2))["stop"]  # another one, far away


def test_a_level_is_left_after_so_many_cycles_in_a_row():
    decider = Decider(cycles=4)
    assert decider((0.01, -0.1, 0.01))["stop"]
    for _ in range(3):
        assert decider((0.2, 0.0, 0.2))["stop"]
    assert decider((STOP + 0.5 * RELEASE, 0.0, STOP + 0.5 * RELEASE))["stop"]  # counts anew
    said = [decider((0.2, 0.0, 0.2)) for _ in range(9)]
    assert [found["stop"] for found in said] == [True] * 3 + [False] * 6
    assert [found["scale"] for found in said] == [0.0] * 6 + [1.0] * 3
    assert [found["calm"] for found in said] == [False] * 6 + [True] * 3


def test_a_near_pair_that_moves_away_decides_before_one_beyond_its_warning_distance():
    decider = Decider(thresholds=[[0.0, 0.01], [STOP, WARN]])
    found = decider((0.03, 0.0, 0.03), (0.09, 0.1, 0.09))
    assert (found["near"], found["scale"], found["row"]) == (True, 1.0, 1)


def test_a_distance_that_is_no_number_stops():
    found = Decider()((np.nan, np.nan, np.nan))
    assert (found["stop"], found["inside"], found["scale"]) == (True, True, 0.0)


STILL = {"distance": 0.05, "stop_distance": 0.02, "warn_distance": 0.1, "braking_clearance": 0.05}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"near": True}, "near: 0.050 m, moving away, between a and b"),
        ({"near": True, "slow": True, "stop": True}, "stop held by hysteresis: 0.050 m between a"),
        ({"near": True, "inside": True}, "limit held by hysteresis: 0.050 m between a and b"),
        (
            {"near": True, "inside": True, "slow": True, "distance": -0.09},
            "collision: at most 0.090 m deep, moving away, between a and b",
        ),
        (
            {"approach": True, "distance": 0.3, "braking_clearance": 0.2},
            "approach held by hysteresis: 0.300 m between",
        ),
        (
            {"near": True, "slow": True, "distance": 0.3, "braking_clearance": 0.3},
            "slowdown held by hysteresis: 0.300 m between",
        ),
        ({"near": True, "distance": 0.3}, "warning held by hysteresis: 0.300 m between a and b"),
        ({"distance": 0.3, "braking_clearance": 0.3}, "clear: 0.300 m between"),
    ],
)
def test_what_is_said_is_true_now(given, says):
    assert decision_message(Decision(**{**STILL, **given}), ("a", "b")).startswith(says)


# -- stops that are latched and acknowledged --


def test_without_either_a_stop_ends_with_its_cause():
    latch = StopLatch()
    assert [latch.update(x) for x in (False, True, True, False)] == [""] * 4
    assert latch.stops == 1
    assert latch.reset() == (True, "no stop is latched")
    assert latch.acknowledge() == (True, "there is no stop to acknowledge")


def test_a_reset_while_the_cause_lasts_frees_the_way_out_and_does_not_latch_again():
    latch = StopLatch(latches=True)
    latch.update(True)
    assert latch.reset() == (True, "released, but the cause of the stop persists")
    assert latch.update(True) == ""
    assert latch.update(False) == ""
    assert latch.update(True) == LATCHED  # the next stop is another one


def test_a_stop_can_be_acknowledged_while_its_cause_lasts():
    latch = StopLatch(asks=True)
    assert latch.update(True) == UNACKNOWLEDGED
    assert latch.update(False) == UNACKNOWLEDGED
    assert latch.acknowledge() == (True, "acknowledged")
    assert latch.update(False) == ""
    latch.update(True)
    assert latch.acknowledge() == (True, "acknowledged, but the cause of the stop persists")
    assert latch.update(False) == ""


def test_with_both_it_is_acknowledged_first():
    latch = StopLatch(latches=True, asks=True)
    latch.update(True)
    latch.update(False)
    assert latch.reset() == (False, "the stop has not been acknowledged: call ~/acknowledge first")
    assert latch.acknowledge() == (True, "acknowledged; the stop is latched until ~/reset")
    assert latch.held == LATCHED
    assert latch.reset()[0]
    assert latch.held == ""


@given(
    st.booleans(),
    st.booleans(),
    st.lists(st.sampled_from(["stop", "go", "reset", "acknowledge"]), max_size=30),
)
def test_no_stop_is_lost(latches, asks, story):
    """After a stop it is held until each thing that was asked for has been done since it began."""
    latch, stopping, missing = StopLatch(latches, asks), False, set()
    for event in story:
        if event == "stop" and not stopping:
            missing = {name for name, on in (("reset", latches), ("acknowledge", asks)) if on}
        if event in ("stop", "go"):
            stopping = event == "stop"
            latch.update(stopping)
        elif event == "acknowledge":
            latch.acknowledge()
            missing.discard(event)
        elif latch.reset()[0]:
            missing.discard(event)
        assert bool(latch.held) == bool(missing)

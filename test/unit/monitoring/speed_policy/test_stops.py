# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Stops that are latched and acknowledged."""

from hypothesis import given
from hypothesis import strategies as st

from collision_monitor.monitoring.speed_policy.decision import (
    LATCHED,
    UNACKNOWLEDGED,
    StopLatch,
)


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

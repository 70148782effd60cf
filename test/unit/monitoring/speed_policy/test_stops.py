# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Stops: latched, acknowledged, and sent to a service once each."""

from hypothesis import given
from hypothesis import strategies as st

from collision_monitor.monitoring.speed_policy.decision import (
    LATCHED,
    UNACKNOWLEDGED,
    StopCall,
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


def test_one_stop_is_one_call():
    call = StopCall()
    assert not call.update(False, 0.0)
    assert call.update(True, 1.0)
    assert not call.update(True, 1.01)
    call.answered(1, True, "", 1.05)
    assert not any(call.update(True, 1.05 + 0.1 * k) for k in range(50))
    assert (call.outcome, call.text, call.attempts) == ("done", "done", 1)
    call.update(False, 9.0)
    assert call.update(True, 9.1)


def test_what_fails_is_tried_again_and_then_said():
    call = StopCall(retries=2, timeout=0.5, pause=0.1)
    assert call.update(True, 0.0)
    call.answered(1, False, "busy", 0.02)
    assert not call.update(True, 0.05)
    assert call.text == "calling, attempt 1: busy"
    assert call.update(True, 0.13)  # second attempt; no answer comes
    assert not call.update(True, 0.5)
    assert not call.update(True, 0.7)  # given up here
    assert call.update(True, 0.81)
    call.answered(3, False, "still busy", 0.9)
    assert (call.outcome, call.text) == ("failed", "FAILED after 3 attempts: still busy")
    assert not call.update(True, 5.0)
    call.update(False, 6.0)
    assert call.outcome == "failed"  # stays until the next stop
    assert call.update(True, 7.0)
    assert call.outcome == "calling"


def test_a_stop_that_ends_before_the_call_got_through_is_still_called():
    call = StopCall(retries=5, pause=0.1)
    call.update(True, 0.0)
    call.answered(1, False, "busy", 0.01)
    assert call.update(False, 0.2)


def test_an_answer_after_all_was_given_up_counts_if_it_is_the_last_attempts():
    call = StopCall(retries=0, timeout=0.5)
    call.update(True, 0.0)
    call.update(True, 0.6)
    assert call.outcome == "failed"
    call.answered(1, True, "", 0.7)
    assert (call.outcome, call.reason) == ("done", "")


@given(
    st.integers(0, 4),
    st.lists(
        st.tuples(st.sampled_from(["stop", "go", "good", "bad", "wait"]), st.floats(0.0, 0.4)),
        max_size=80,
    ),
)
def test_never_more_calls_than_allowed_and_every_stop_is_settled(retries, story):
    call, now, stopping, calls = StopCall(retries, 0.5, 0.1), 0.0, False, 0
    for event, wait in story:
        now += wait
        if event in ("stop", "go"):
            if event == "stop" and not stopping:
                calls = 0
            stopping = event == "stop"
        elif event in ("good", "bad"):
            call.answered(call.attempts, event == "good", event, now)
        calls += call.update(stopping, now)
        assert calls <= retries + 1
    for _ in range(200):  # nobody answers any more
        now += 0.1
        calls += call.update(stopping, now)
    assert calls <= retries + 1
    assert call.outcome in ("none", "done", "failed")
    if call.outcome == "failed":
        assert call.attempts == retries + 1
        assert call.reason

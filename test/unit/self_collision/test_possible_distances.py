# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Distances that a refusal names: each was tried, and what cannot be known is not named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collision_monitor.errors import AdjustmentError, CancelledError, MissingDependencyError
from collision_monitor.self_collision.possible_distances import add_possible_distances

PAIR = ("a", "b")


def on_the_way(distance=0.02):
    return AdjustmentError("no", 3, 1.5, PAIR, distance, safe_prefix=[])


def at_an_end(distance):
    return AdjustmentError("no", 0, 1.5, PAIR, distance)


class Asked:
    """A trial that works up to a safe and a danger distance; it keeps what was tried."""

    def __init__(self, safe, danger=1.0, distance=0.02):
        self.safe, self.danger, self.distance, self.tried = safe, danger, distance, []

    def __call__(self, safe, danger):
        self.tried.append((safe, danger))
        assert danger <= safe
        if danger > self.danger:
            return at_an_end(self.distance)
        return None if safe <= self.safe else on_the_way()


@given(st.floats(1e-3, 0.09), st.sampled_from([0.0, 0.0005, 0.02, 0.05, 0.1]))
def test_the_named_safe_distance_was_tried_and_is_near_the_largest(works, danger):
    error, asked = on_the_way(), Asked(works)
    add_possible_distances(error, asked, 0.1, danger)
    safe, with_danger = error.possible
    assert error.possible in asked.tried and len(asked.tried) <= 5
    assert works / 2.2 < safe <= works and with_danger == min(safe, danger)
    assert f"{safe:g} m" in str(error)


def test_contact_at_the_other_end_is_named():
    error = at_an_end(0.03)
    add_possible_distances(error, Asked(1.0, 0.02, -0.004), 0.1, 0.05)
    assert error.possible is None
    assert "no danger distance would allow it" in str(error) and "-0.0040 m apart" in str(error)
    error, asked = at_an_end(-0.01), Asked(1.0)
    add_possible_distances(error, asked, 0.1, 0.05)
    assert (error.possible, str(error), asked.tried) == (None, "no", [])


def test_only_an_end_proves_that_a_smaller_safe_distance_would_not_help():
    error = on_the_way()
    add_possible_distances(error, Asked(0.0005), 0.1, 0.05)
    assert error.possible is None
    assert str(error) == "no; no safe distance that would allow it was found in the time"
    error = on_the_way()
    add_possible_distances(error, lambda *_: at_an_end(-0.002), 0.1, 0.05)
    assert (error.possible, str(error)) == (None, "no; a safe distance of 0.001 m would not help")


def test_nothing_is_named_where_a_trial_fails_for_another_reason():
    def too_fast(safe, danger):
        return AdjustmentError("joints are too fast")

    def not_installed(safe, danger):
        raise MissingDependencyError("no toppra")

    def cancelled(safe, danger):
        raise CancelledError("cancelled")

    for trial in (too_fast, not_installed):
        for error in (on_the_way(), at_an_end(0.03)):
            add_possible_distances(error, trial, 0.1, 0.05)
            assert (error.possible, str(error)) == (None, "no")
    with pytest.raises(CancelledError):
        add_possible_distances(on_the_way(), cancelled, 0.1, 0.05)
    error, asked = on_the_way(), Asked(1.0)
    add_possible_distances(error, asked, 0.001, 0.0)
    assert (error.possible, asked.tried) == (None, [])

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""One sentence for each decision, and it is true of the pair that it names."""

import pytest

from collision_monitor.monitoring.speed_policy.decision import Decision, sentence

STILL = {"distance": 0.05, "stop_distance": 0.02, "warn_distance": 0.1, "braking_clearance": 0.05}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"near": True, "slow": True}, "near: 0.050 m between a and b"),
        ({"near": True}, "near: 0.050 m, moving away, between a and b"),
        (
            {"near": True, "slow": True, "stop": True},
            "stopping, held for a moment: 0.050 m between a and b",
        ),
        (
            {"near": True, "slow": True, "stop": True, "braking_clearance": 0.0},
            "cannot stop in time: 0.050 m now, 0.000 m while braking between a and b",
        ),
        ({"near": True, "inside": True}, "too close until a moment ago: 0.050 m between a and b"),
        (
            {"near": True, "inside": True, "stop": True, "distance": 0.01},
            "too close: 0.010 m between a and b",
        ),
        (
            {"near": True, "inside": True, "distance": -0.01},
            "collision: 0.010 m deep, moving away, between a and b",
        ),
        (
            {"approach": True, "distance": 0.3},
            "approaching: 0.300 m now, 0.050 m while braking between a and b",
        ),
        ({"approach": True, "distance": 0.3, "braking_clearance": 0.2}, "clear: 0.300 m between"),
        ({"near": True, "distance": 0.3, "braking_clearance": 0.3}, "clear: 0.300 m between"),
        ({"distance": 0.3}, "clear: 0.300 m between a and b"),
    ],
)
def test_what_is_said_is_true_now(given, says):
    assert sentence(Decision(**{**STILL, **given}), ("a", "b")).startswith(says)


def test_what_is_no_number_is_too_close():
    assert "nan" in sentence(Decision(stop=True, inside=True, distance=float("nan")), ("a", "b"))

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""JSON: always the same keys, and nothing that JSON cannot say."""

import json

from support.files.made_verifications import colliding, model, safe, unchecked

from collision_monitor.verification.report.report_data import as_data

KEYS = {
    "verdict", "exit_code", "reason", "motion", "robot", "duration", "seconds", "checks",
    "violations", "nearest", "notes",
}  # fmt: skip


def test_every_verdict_has_the_same_keys_and_is_json():
    for result, code in ((safe(), 0), (colliding(), 1), (unchecked(), 2)):
        data = json.loads(json.dumps(as_data(result), allow_nan=False))
        assert data.keys() == KEYS
        assert data["exit_code"] == code


def test_the_nearest_moment_can_be_asked_again():
    nearest = as_data(colliding())["nearest"]
    found = model().distance(nearest["configuration"])
    assert abs(found.distance - nearest["distance"]) < 1e-9
    assert set(nearest["links"]) == set(found.links)
    assert as_data(unchecked())["nearest"] is None


def test_violations_have_their_codes_and_times():
    first = as_data(colliding())["violations"][0]
    assert first["code"] == "collision"
    assert 0.0 < first["first"] < first["worst"]

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Verifications as text: sentences, JSON with the same keys always, JUnit that says the same."""

import json
import math
from dataclasses import replace
from xml.etree import ElementTree

from support.files.made_verifications import colliding, model, safe, unchecked

from collision_monitor.motion.violation import Code, Violation
from collision_monitor.verification.report.messages import (
    WHAT,
    as_data,
    brief,
    junit,
    sentence,
    value,
)

KEYS = {
    "verdict", "exit_code", "reason", "motion", "robot", "duration", "seconds", "checks",
    "violations", "nearest", "measured", "notes",
}  # fmt: skip


def test_every_reason_has_words_of_its_own():
    assert WHAT.keys() == set(Code) and len(set(WHAT.values())) == len(WHAT)


def test_a_sentence_names_subject_times_value_and_limit():
    v = Violation(Code.JOINT_VELOCITY, "elbow", 1.0, 2.5, 1.23456, 1.0, "rad/s", text="A step.")
    assert sentence(v) == (
        "elbow is faster than its limit from 1.000 s, worst at 2.500 s (1.235 rad/s, limit 1 "
        "rad/s): A step."
    )
    assert brief(v) == "elbow is faster than its limit from 1.000 s"
    v = Violation(Code.JOINT_POSITION, "elbow", 0.0, 0.0, 2.000002, 2.0, "rad")
    assert sentence(v).endswith("(2.000002 rad, limit 2 rad)")
    v = Violation(Code.COLLISION, "a - b", 1.0, 1.0, -0.02, math.inf, "m")  # no limit, one instant
    assert sentence(v) == "a - b collide from 1.000 s (-0.02 m)"
    assert value(math.nan, "m") == "none"
    assert value(0.01, "1") == "0.01"


def test_every_verdict_has_the_same_keys_and_is_json():
    for result, code in ((safe(), 0), (colliding(), 1), (unchecked(), 2)):
        data = json.loads(json.dumps(as_data(result), allow_nan=False))
        assert data.keys() == KEYS
        assert data["exit_code"] == code


def test_the_nearest_moment_can_be_asked_again():
    nearest = as_data(colliding())["nearest"]
    assert nearest["joint_names"] == list(model().joint_names)
    found = model().distance(nearest["configuration"])
    assert abs(found.distance - nearest["distance"]) < 1e-9
    assert set(nearest["links"]) == set(found.links)
    assert as_data(unchecked())["nearest"] is None


def test_violations_have_their_codes_and_times():
    first = as_data(colliding())["violations"][0]
    assert list(first) == [
        "code", "subject", "first", "worst", "value", "limit", "unit", "warning", "text",
    ]  # fmt: skip
    assert first["code"] == "collision"
    assert 0.0 < first["first"] < first["worst"]


def suites(*results):
    """Suites by name."""
    root = ElementTree.fromstring(junit(results))
    return {suite.get("name"): suite for suite in root}


def test_counts_agree_with_what_is_in_the_suites():
    found = suites(safe(), colliding(), unchecked())
    assert list(found) == ["motion.csv", "fold <1>.csv", "bad.csv"]
    for suite in found.values():
        for count, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.get(count)) == len(suite.findall(f"testcase/{tag}"))
        assert int(suite.get("tests")) == len(suite.findall("testcase"))


def test_a_collision_is_a_failure_of_the_right_check():
    suite = suites(colliding())["fold <1>.csv"]
    failed = [case for case in suite.iter("testcase") if case.find("failure") is not None]
    assert [case.get("name") for case in failed] == ["distances between links", "joint limits"]
    failure = failed[0].find("failure")
    assert failure.get("type") == "collision"
    assert colliding().violations[0].subject in failure.get("message")


def test_safe_has_no_failure_and_unchecked_is_an_error():
    assert suites(safe())["motion.csv"].get("failures") == "0"
    bad = suites(unchecked())["bad.csv"]
    assert "no_joint" in bad.find("testcase/error").get("message")


def test_control_characters_and_bytes_that_are_not_utf_8_do_not_break_the_xml():
    result = replace(safe(), source="a\x00b\udce9", notes=("\x1b[31mred",))
    assert suites(result)["a?b?"].find("system-out").text == "?[31mred"

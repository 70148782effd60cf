# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Violations as sentences: who, what, when, how much."""

import math

import pytest

from collision_monitor.motion.violation import Code, Violation
from collision_monitor.verification.report.messages import brief, sentence, value, what


@pytest.mark.parametrize("code", list(Code))
def test_every_reason_has_words_of_its_own(code):
    assert what(code)
    assert sum(what(code) == what(other) for other in Code) == 1


def test_a_sentence_names_subject_times_value_and_limit():
    v = Violation(Code.JOINT_VELOCITY, "elbow", 1.0, 2.5, 1.23456, 1.0, "rad/s", text="A step.")
    assert sentence(v) == (
        "elbow is faster than its limit from 1.000 s, worst at 2.500 s (1.235 rad/s, limit 1 "
        "rad/s): A step."
    )


def test_what_has_no_limit_and_one_instant_says_no_more():
    v = Violation(Code.COLLISION, "a - b", 1.0, 1.0, -0.02, math.inf, "m")
    assert sentence(v) == "a - b collide from 1.000 s (-0.02 m)"
    assert value(math.nan, "m") == "none"
    assert value(0.01, "1") == "0.01"


def test_in_brief_it_is_who_what_and_when():
    v = Violation(Code.COLLISION, "a - b", 1.0, 2.0, -0.02, 0.0, "m", text="Much more.")
    assert brief(v) == "a - b collide from 1.000 s"

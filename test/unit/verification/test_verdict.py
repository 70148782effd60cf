# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Verdicts: any violation that is no mere warning makes a motion unsafe."""

import pytest

from collision_monitor.motion.violation import Code, Violation
from collision_monitor.verification.verdict import Verdict, by_urgency, verdict_of


def violation(code=Code.COLLISION, first=1.0, warning=False, subject="a - b"):
    """One that says nothing special."""
    return Violation(code, subject, first, first, 0.0, 0.0, "m", warning)


def test_exit_codes_are_those_that_are_documented():
    assert [verdict.exit_code for verdict in Verdict] == [0, 1, 2]


@pytest.mark.parametrize("code", list(Code))
def test_every_reason_makes_a_motion_unsafe_unless_it_only_warns(code):
    assert verdict_of([violation(code)]) is Verdict.NOT_SAFE
    assert verdict_of([violation(code, warning=True)]) is Verdict.SAFE
    assert verdict_of([]) is Verdict.SAFE


def test_what_is_unsafe_comes_first_and_then_the_earlier():
    rows = [violation(first=2.0), violation(first=0.0, warning=True), violation(first=1.0)]
    assert [(v.warning, v.first) for v in by_urgency(rows)] == [(False, 1), (False, 2), (True, 0)]


def test_a_collision_comes_before_everything_else():
    rows = [violation(Code.JOINT_JERK, first=0.0), violation(Code.COLLISION, first=9.0)]
    assert [v.code for v in by_urgency(rows)] == [Code.COLLISION, Code.JOINT_JERK]

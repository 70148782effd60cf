# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Trapezoidal profiles, against numeric integration of the rate that the paper describes."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import quad

from collision_monitor.errors import MotionError
from collision_monitor.motion.line_motion import Trapezoid

times = st.floats(0.05, 100.0)


@st.composite
def profiles(draw):
    tf = draw(times)
    tsa, rest = draw(st.floats(0.0, 1.0)), draw(st.floats(0.0, 1.0))
    tsa, tsd = (0.0 if part < 1e-3 else part * tf for part in (tsa, rest * (1.0 - tsa)))
    return Trapezoid(tf, tsa, tsd)


def rate(profile, t, change):
    """The published rate at ``t``, written the slow way."""
    peak = change / (profile.tf - (profile.tsa + profile.tsd) / 2)
    if t < profile.tsa:
        return peak * t / profile.tsa
    if t > profile.tf - profile.tsd:
        return peak * (profile.tf - t) / profile.tsd
    return peak


@given(profiles(), st.floats(-5, 5), st.floats(-5, 5), st.floats(0, 1))
def test_positions_are_the_integral_of_the_rate(profile, start, change, part):
    path = profile.path([start], [change])
    t = part * profile.tf
    kinks = [k for k in (profile.tsa, profile.tf - profile.tsd) if 0 < k < t] or None
    area = quad(lambda x: rate(profile, x, change), 0.0, t, points=kinks)[0] if t else 0.0
    assert path(t)[0] == pytest.approx(start + area, abs=1e-8)
    assert path(t, 1)[0] == pytest.approx(rate(profile, t, change), rel=1e-6, abs=1e-8)
    assert path.x[0] == 0.0 and path.x[-1] == profile.tf


@given(st.floats(0.01, 5), st.floats(0.01, 5), times, times)
def test_a_peak_rate_is_kept_or_refused(change, speed, tsa, tsd):
    assume(abs(change / speed - (tsa + tsd) / 2) > 1e-9 * tsa)
    if change / speed < (tsa + tsd) / 2:
        with pytest.raises(MotionError, match="does not reach the peak rate"):
            Trapezoid.at_rate(change, speed, tsa, tsd)
    else:
        assert change * Trapezoid.at_rate(change, speed, tsa, tsd).peak == pytest.approx(speed)


@given(st.floats(0.01, 5), st.floats(0.01, 5), st.floats(0.001, 5))
def test_the_fastest_profile_reaches_one_of_its_limits_and_exceeds_none(change, most, acceleration):
    profile = Trapezoid.within(most / change, acceleration / change)
    rates = change * profile.peak, change * profile.peak / profile.tsa
    assert rates[1] == pytest.approx(acceleration)
    assert rates[0] <= most * (1 + 1e-9)
    cruises = profile.tf > (profile.tsa + profile.tsd) * (1 + 1e-9)
    assert not cruises or rates[0] == pytest.approx(most)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((0.0, 0.0, 0.0), "tf is 0 s, not 1e-06 to 1e\\+08 s"),
        ((-1.0, 0.0, 0.0), "tf is -1 s"),
        ((float("nan"), 0.0, 0.0), "tf is nan s"),
        ((9.0, -1.0, 0.0), "tsa is -1 s; it must not be negative"),
        ((9.0, 1.0, float("inf")), "tsd is inf s"),
        ((9.0, 5.0, 5.0), "tf is 9 s, but the ramps tsa and tsd alone take 10 s"),
    ],
)
def test_times_that_make_no_profile(arguments, says):
    with pytest.raises(MotionError, match=says):
        Trapezoid(*arguments)

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Yes or no: what is certified is so at every sample, and as the full check says."""

import numpy as np
import pytest
from support.geometry.scan_cases import random_motion, two_arms

from collision_monitor.errors import ConfigurationError
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.verification.clearance.certify import Certifier
from collision_monitor.verification.clearance.clearance_check import Verdict, check_clearance
from collision_monitor.verification.clearance.schedule import Schedule


@pytest.fixture(scope="module")
def model():
    return two_arms()


def short(model, seed):
    """A motion of about a hand's width."""
    rng = np.random.default_rng(seed)
    q = model.random_configurations(1, seed)[0]
    rows = q + rng.uniform(-0.1, 0.1, (3, len(q)))
    return Trajectory.through(model.joint_names, [0.0, 0.5, 1.0], rows, 0.2 * rows)


def test_it_says_what_the_full_check_says(model):
    leaves, shapes = Certifier(model, exact=False), Certifier(model)
    said = {False: 0, True: 0}
    for seed in range(30):
        motion = short(model, seed)
        schedule = Schedule(model, motion)
        for certifier, exact in ((leaves, False), (shapes, True)):
            found = check_clearance(model, motion, exact=exact, bins=5, threads=1)
            clear = certifier.certify(schedule)
            assert clear == (found.verdict is Verdict.FREE)
            said[clear] += 1
        assert leaves.certify(schedule) <= shapes.certify(schedule)
    assert min(said.values()) > 5


def test_a_margin_is_kept_by_all_samples(model):
    certifier, kept = Certifier(model), 0
    for seed in range(20):
        schedule = Schedule(model, short(model, seed))
        if certifier.certify(schedule, 0.03):
            kept += 1
            for time in np.linspace(0.0, 1.0, 41):
                q = schedule.configuration(time)
                assert model.distance(q, exact=True).distance >= 0.03
    assert kept > 2


def test_long_motions_that_collide_are_not_certified(model):
    certifier = Certifier(model)
    for seed in range(5):
        motion = random_motion(model, seed)
        assert check_clearance(model, motion, exact=True).verdict is Verdict.COLLIDES
        assert not certifier.certify(Schedule(model, motion))


@pytest.mark.parametrize("name", ["resolution", "instant"])
def test_bad_numbers_are_refused(model, name):
    with pytest.raises(ConfigurationError, match=f"{name}: 0.0 is not a number above 0"):
        Certifier(model, **{name: 0.0})

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The two-level check of whole robots: what it certifies is free, and what it refuses is not."""

import numpy as np
import pytest
from support.geometry.scan_cases import random_motion, two_arms
from support.robots.slider import slider
from support.robots.toys import joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.errors import ConfigurationError
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.motion.violation import Code
from collision_monitor.verification.check import Settings
from collision_monitor.verification.clearance.schedule import Scheduled
from collision_monitor.verification.clearance.two_level import check_two_levels


def slide(end=2.0):
    """1 m/s."""
    return Trajectory.through(("slide",), [0.0, abs(end)], [[0.0], [end]])


def test_a_motion_far_from_everything_takes_one_test():
    found = check_two_levels(slider(2.0), slide())
    assert (found.tests, found.suspects, found.violations) == (1, (), ())
    assert found.text == "two-level check: 1 test for 21 points certified the motion"


def crates(aside):
    """A cube of 0.2 m that slides along x past one at (1, aside, 0); leaves are larger."""
    cube = '<box size="0.2 0.2 0.2"/>'
    text = robot(
        link("rail", ""), link("cube", cube),
        joint("slide", "rail", "cube", "prismatic", xyz="0 0 0", axis="1 0 0"),
    )  # fmt: skip
    post = {"name": "post", "type": "box", "size": [0.2] * 3, "position": [1.0, aside, 0.0]}
    return CollisionModel.from_urdf(text, scene={"obstacles": [post]}, max_leaves_per_link=1)


def test_the_first_level_leaves_what_is_near_to_the_shapes():
    checked = check_two_levels(crates(0.21), slide(), Thresholds(0.0, 0.0))
    (suspect,) = checked.suspects
    assert set(suspect.pair) == {"cube", "post"} and checked.violations == ()
    assert suspect.first < 1.0 < suspect.last < suspect.first + 1.0
    assert "cube - post" in checked.text


@pytest.mark.parametrize(
    ("aside", "code", "warning", "limit"),
    [
        (0.1, Code.COLLISION, False, 0.0),
        (0.21, Code.CLEARANCE_STOP, False, 0.02),
        (0.24, Code.CLEARANCE_WARN, True, 0.05),
    ],
)
def test_thresholds_are_told_apart_with_the_first_instant(aside, code, warning, limit):
    found = check_two_levels(slider(aside), slide(), Thresholds(0.05, 0.02))
    (broken,) = found.violations
    assert (broken.code, broken.warning, broken.limit) == (code, warning, limit)
    assert broken.first == pytest.approx(1.0 - np.sqrt((0.2 + limit) ** 2 - aside**2), abs=2e-4)


def test_what_is_not_known_is_undecided():
    """Too near for bounds to tell, and without the second level."""
    motion = Trajectory.through(("slide",), [0.0, 1.91], [[0.0], [2.0]])
    grazed = check_two_levels(slider(0.2 + 1e-10), motion)
    assert [v.code for v in grazed.violations] == [Code.UNDECIDED]
    one_level = check_two_levels(crates(0.21), slide(), Thresholds(0.0, 0.0), exact=False)
    assert [(v.code, v.warning) for v in one_level.violations] == [(Code.UNDECIDED, False)]


def test_certified_parts_are_free_at_every_instant():
    """Also of joints that mimic and slide beyond their limits; and refusals are no mistake."""
    model = two_arms()
    certified, refused = 0, 0
    for seed in range(4):
        motion = random_motion(model, seed, kind=1 + seed % 3, duration=1.0 + 3.0 * seed)
        found = check_two_levels(model, motion, Thresholds(stop=0.01))
        times = np.linspace(0.0, motion.duration, 1501)
        seen = np.array([model.distances(q) for q in motion.positions(times)])
        exact = {" - ".join(model.pairs[k]): k for k in range(len(model.pairs))}
        for k, pair in enumerate(model.pairs):
            doubted = np.zeros(len(times), dtype=bool)
            for suspect in found.suspects:
                if suspect.pair == pair:
                    doubted |= (times >= suspect.first - 1e-9) & (times <= suspect.last + 1e-9)
            assert seen[~doubted, k].min(initial=np.inf) > 0.01
            certified += not doubted.all()
        for violation in found.violations:
            refused += 1
            q = motion.positions(np.array([violation.first]))[0]
            value = model.distances(q, exact=True)[exact[violation.subject]]
            assert value <= 0.01 and value == pytest.approx(violation.value, abs=1e-9)
    assert certified > 40 and refused > 2


def test_parts_are_certified_at_their_starts():
    near, post = slider(0.1), Thresholds()
    assert not check_two_levels(near, Scheduled(slide(0.5), 3.0), post).violations
    (broken,) = check_two_levels(near, Scheduled(slide(), 3.0), post).violations
    assert broken.first == pytest.approx(4.0 - np.sqrt(0.2**2 - 0.1**2), abs=2e-4)


def test_an_unknown_method_is_refused():
    with pytest.raises(ConfigurationError, match="'three-level' is not one of continuous"):
        Settings(method="three-level")

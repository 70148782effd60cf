# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Links of one arm that touch after an adjustment, and did not before."""

import numpy as np
import pytest
from support.robots.toys import chain

from collision_monitor import CollisionModel
from collision_monitor.model.proximity import Proximity
from collision_monitor.self_collision.arms import Arm
from collision_monitor.self_collision.margins import Margins, Problem
from collision_monitor.self_collision.motion_clearance import own_contacts

MODEL = CollisionModel.from_urdf(chain(6))  # balls of 0.1 m, one metre apart
OPEN = np.zeros(5)
# Three turns of 2 rad bring the fourth ball to 0.168 m from the first: 2 sin(3) / (2 sin(1)).
FOLDED = np.array([0.0, 2.0, 2.0, 0.0, 0.0])


def touching(desired, adjusted):
    arms = (
        Arm("right", MODEL.joint_names, ("l1", "l2", "l3", "l4", "l5"), "l5"),
        Arm("left", (), (), "l0"),
    )
    margins = Margins(*np.full((2, len(MODEL.pairs)), -1.0))
    times = np.arange(float(len(desired)))
    columns = (np.arange(5), np.arange(0))
    problem = Problem(MODEL, arms, times, desired, columns, margins)
    pairs = own_contacts(problem, Proximity(MODEL), adjusted)
    return {frozenset(MODEL.pairs[pair]) for pair in pairs}


def test_what_touches_anew_is_named():
    rows = np.array([OPEN, FOLDED, OPEN])
    assert touching(np.array([OPEN] * 3), rows) == {frozenset(("l1", "l4"))}


@pytest.mark.parametrize("rows", [[OPEN, OPEN], [FOLDED, FOLDED]], ids=["open", "folded"])
def test_what_touches_as_desired_is_not_the_adjustments_doing(rows):
    assert touching(np.array(rows), np.array(rows)) == set()


def test_pairs_that_take_no_part_are_not_looked_at():
    rows = np.array([OPEN, FOLDED])
    arms = (Arm("right", MODEL.joint_names, ("l1",), "l1"), Arm("left", (), (), "l0"))
    margins = Margins(*np.full((2, len(MODEL.pairs)), -np.inf))
    columns = (np.arange(5), np.arange(0))
    problem = Problem(MODEL, arms, np.arange(2.0), np.array([OPEN] * 2), columns, margins)
    assert own_contacts(problem, Proximity(MODEL), rows) == []

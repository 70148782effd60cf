# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Control points: the nearest points of two arms along a motion."""

import numpy as np
import pytest
from support.robots.two_slides import ARMS, JOINTS, RADIUS, distance, model

from collision_monitor.motion.motion import Motion
from collision_monitor.self_collision.filter.hold_supervisor import pairs_between
from collision_monitor.self_collision.motion_clearance import approach_points

HELD = {**dict.fromkeys(JOINTS, 0.0), "mast_joint": 0.0}


@pytest.fixture(scope="module")
def slides():
    whole = model()
    return whole.twin(pairs_between(whole, ARMS))


def motion(names, rows):
    return Motion(tuple(names), np.arange(float(len(rows))), np.array(rows))


def test_points_lie_on_the_balls_on_the_line_of_their_centres(slides):
    rows = np.random.default_rng(0).uniform(-0.3, 0.3, (20, 4))
    found = approach_points(slides, ARMS[0].links, motion(JOINTS, rows), HELD)
    for k, (r_x, r_y, l_x, l_y) in enumerate(rows):
        right, left = np.array([r_x - 0.5, r_y, 0.0]), np.array([l_x + 0.5, l_y, 0.0])
        along = (left - right) / np.linalg.norm(left - right)
        assert found.directions[k] == pytest.approx(along)
        assert found.points[k, 0] == pytest.approx(right + RADIUS * along)
        assert found.points[k, 1] == pytest.approx(left - RADIUS * along)
        assert found.distances[k] == pytest.approx(distance(r_x, r_y, l_x, l_y))


def test_whichever_link_comes_first_right_is_right(slides):
    rows = np.random.default_rng(1).uniform(-0.3, 0.3, (5, 4))
    one = approach_points(slides, ARMS[0].links, motion(JOINTS, rows), HELD)
    other = approach_points(slides, ARMS[1].links, motion(JOINTS, rows), HELD)
    assert other.points == pytest.approx(one.points[:, ::-1])
    assert other.directions == pytest.approx(-one.directions)


def test_joints_that_the_motion_does_not_name_are_held(slides):
    found = approach_points(
        slides, ARMS[0].links, motion(["l_y"], [[0.0], [0.7]]), {**HELD, "r_x": 0.1}
    )
    assert found.distances == pytest.approx([distance(0.1, 0, 0, 0), distance(0.1, 0, 0, 0.7)])


@pytest.mark.parametrize("count", [1, 2, 7, 8, 1000])
def test_of_many_waypoints_a_few_are_taken_and_both_ends(slides, count):
    rows = np.linspace(0.0, 0.3, count)[:, None]
    found = approach_points(slides, ARMS[0].links, motion(["r_x"], rows), HELD, most=7)
    assert len(found.distances) == min(count, 7)
    assert found.distances[0] == pytest.approx(0.8 - rows[0, 0])
    assert found.distances[-1] == pytest.approx(0.8 - rows[-1, 0])

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The node self_collision with one arm among obstacles, and with three arms."""

import numpy as np
import pytest
from support.robots.toys import joint, link, robot
from support.ros.ros_graph import ERROR, OK
from support.ros.self_collision_cell import Cell, rows_of

RADIUS, SAFE, DANGER = 0.1, 0.1, 0.05


def slides(places):
    """URDF of balls, each on two slides in the plane, with a fixed ball at the origin."""
    parts = [link("base", ""), link("post", f'<sphere radius="{RADIUS}"/>')]
    parts.append(joint("post_joint", "base", "post", "fixed", "0 0 0"))
    for name, at in places.items():
        parts += [
            link(f"{name}_cart", ""),
            link(f"{name}_ball", f'<sphere radius="{RADIUS}"/>'),
            joint(f"{name}_x", "base", f"{name}_cart", "prismatic", at, "1 0 0"),
            joint(f"{name}_y", f"{name}_cart", f"{name}_ball", "prismatic", "0 0 0", "0 1 0"),
        ]
    return robot(*parts, name="slides")


@pytest.fixture
def started(tmp_path):
    """Start the node with a robot; at the end no node has logged a traceback."""
    cells = []

    def start(places, *parameters):
        path = tmp_path / "slides.urdf"
        path.write_text(slides(places))
        names = [f"{name}_{axis}" for name in places for axis in "xy"]
        cells.append(Cell(path, names, *parameters))
        return cells[-1]

    yield start
    for cell in cells:
        output = cell.graph.stop_all()
        cell.close()
        assert all("Traceback" not in text for _, text in output), output


def gaps(message, points):
    """Least distances (pairs,) of balls and post along a motion; ``points(row)``: (balls, 2)."""
    rows = rows_of(message)
    fine = np.linspace(0.0, 1.0, 40)[:, None]
    least = np.inf
    for a, b in zip(rows[:-1], rows[1:], strict=True):
        for row in a + fine * (b - a):
            balls = points(row)
            away = np.linalg.norm(balls[:, None] - balls[None], axis=2)
            away = away[np.triu_indices(len(balls), 1)] - 2.0 * RADIUS
            least = np.minimum(least, away)
    return least


def test_one_arm_is_led_around_what_stands_in_its_way_and_held_before_it(started):
    cell = started({"arm": "-0.5 0 0"})
    cell.stand([0.0, 0.02])
    assert cell.values["arms"] == "base..arm_ball"
    message = cell.want(np.linspace([0.0, 0.02], [1.0, 0.02], 21), np.linspace(0.0, 4.0, 21))
    assert message is not None, cell.message
    assert cell.graph.state.level == OK and cell.values["changed"] == "true"
    least = gaps(message, lambda row: np.array([[row[0] - 0.5, row[1]], [0.0, 0.0]]))
    assert least.min() >= SAFE - 1e-6
    assert float(cell.values["present_distance"]) == pytest.approx(0.3, abs=0.01)
    cell.q = [0.26, 0.02]  # nearer than danger_distance while the motion is under way
    cell.until(lambda: cell.values["event"] == "hold")
    assert cell.graph.state.level == ERROR and "post" in cell.message
    code, output = cell.graph.stop(cell.process)
    assert code == 0 and "keeping 'base..arm_ball' (2 joints) of 'slides' clear: 1 pairs" in output


PLACES = {"a": "-0.6 1 0", "b": "0.6 1 0", "c": "0 2 0"}
OFFSETS = np.array([[-0.6, 1.0], [0.6, 1.0], [0.0, 2.0]])


def three(started):
    arms = ", ".join(f"'base:{name}_ball'" for name in PLACES)
    cell = started(PLACES, f"arms:=[{arms}]")
    cell.stand(np.zeros(6))
    return cell


def all_balls(row):
    return np.vstack([row.reshape(3, 2) + OFFSETS, [[0.0, 0.0]]])


def test_three_arms_keep_apart(started):
    cell = three(started)
    # a and b change places, c comes down between them.
    goal = [1.2, 0.0, -1.2, 0.0, 0.0, -0.6]
    message = cell.want(np.linspace(np.zeros(6), goal, 31), np.linspace(0.0, 6.0, 31))
    assert message is not None, cell.message
    assert gaps(message, all_balls).min() >= DANGER - 1e-6
    assert np.abs(rows_of(message)[-1] - goal).max() < 1e-6


def test_an_arm_that_is_not_named_is_held_and_the_others_go_around_it(started):
    cell = three(started)
    goal = [0.6, 1.5, 0.4, 0.0]  # of a and b: a past c, that stands still
    message = cell.want(
        np.linspace(np.zeros(4), goal, 31), np.linspace(0.0, 6.0, 31), names=cell.names[:4]
    )
    assert message is not None, cell.message
    assert list(message.joint_names) == cell.names[:4]
    assert "'base..c_ball' is not named and is held where it stands" in cell.message
    assert gaps(message, lambda row: all_balls(np.r_[row, 0.0, 0.0])).min() >= DANGER - 1e-6

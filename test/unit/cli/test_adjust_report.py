# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What is said about an adjustment: every number is its own, and none is lost or infinite."""

import json
from dataclasses import replace

import numpy as np
from support.files.made_adjustment import MARGINS, PAIRS, bent, straight
from support.robots.toy_models import toy_robot
from support.robots.toys import joint, link

from collision_monitor.cli import adjust_report
from collision_monitor.errors import AdjustmentError
from collision_monitor.motion.trajectory import Motion
from collision_monitor.self_collision import Arm

ARMS = (
    Arm("right_arm", ("right_j1", "right_j2"), ("right_1", "right_2"), "right_2"),
    Arm("left_arm", ("left_j1", "left_j2"), ("left_1", "left_2"), "left_2"),
)
NAMES = ("right_j1", "left_j1", "right_j2", "left_j2")
DESIRED = Motion(NAMES, np.arange(5.0), np.outer(np.arange(5.0), [0.1, -0.1, 0.0, 0.0]))


class Model:
    """What a report asks of a model."""

    name, pairs = "toy", PAIRS
    robot = toy_robot(
        link("base"),
        *(link(f"{side}_{i}") for side in ("right", "left") for i in (1, 2)),
        *(joint(f"{side}_j1", "base", f"{side}_1") for side in ("right", "left")),
        *(joint(f"{side}_j2", f"{side}_1", f"{side}_2", kind="prismatic")
          for side in ("right", "left")),
    )  # fmt: skip


def told(adjustment):
    """The report as JSON has it, and as text."""
    result = adjust_report.report(Model, adjustment, 0.1, 0.05)
    text = json.dumps(result, allow_nan=False)
    return json.loads(text), adjust_report.text(result)


def test_a_person_reads_what_was_done():
    _, text = told(bent(DESIRED, ARMS))
    for line in (
        "t = 1 .. 3 s, waypoints 1 .. 3 of 5",
        "-14.32 deg: right_j1 at t = 2 s",
        "at most 30.0 mm right, 10.0 mm left",
        "before -0.0100 m at t = 2 s",
        "0.0995 m between the arms at every instant, as in the desired motion",
        "0.0800 m elsewhere at every instant, as in the desired motion",
        "right_1 - right_2: 30.0 mm between leaves\n",
        "1 others do not touch (not moved by an arm)",
        "8 s, 4 s (100.0%) longer",
    ):
        assert line in text


def test_times_of_the_wall_clock_are_told_in_full():
    late = Motion(NAMES, 1.7e9 + 0.5 * np.arange(5.0), DESIRED.positions)
    _, text = told(bent(late, ARMS))
    assert "t = 1700000000.5 .. 1700000001.5 s, waypoints" in text
    assert "right_j1 at t = 1700000001 s" in text


def test_json_has_every_waypoint_and_no_infinity():
    result, _ = told(bent(DESIRED, ARMS))
    assert result["result"] == "adjusted"
    assert result["window"] == {
        "first": {"waypoint": 1, "time": 1.0}, "last": {"waypoint": 3, "time": 3.0},
    }  # fmt: skip
    assert result["largest_change"] == {
        "joint": "right_j1", "value": -0.25, "unit": "rad", "waypoint": 2, "time": 2.0,
    }  # fmt: skip
    assert result["clearance"] == {
        "before": {"value": -0.01, "waypoint": 2, "time": 2.0},
        "after": {"value": 0.1, "pair": ["right_2", "left_2"], "waypoint": 2, "time": 2.0},
        "certified": 0.0995, "certified_elsewhere": 0.08,
    }  # fmt: skip
    assert result["pairs"] == {
        "kept": 3, "eased": 1, "not_looked_at": 1,
        "nearest_eased": {"pair": ["right_1", "right_2"], "value": 0.03},
        "eased_keep": [{"pair": ["right_1", "right_2"], "value": 0.03, "between": "leaves"}],
    }  # fmt: skip
    assert result["duration"] == {"before": 4.0, "after": 8.0}
    points = result["per_waypoint"]
    assert [point["index_before"] for point in points] == [0.0, 0.02, None, 0.02, 0.0]
    assert [point["time"] for point in points] == [0, 2, 4, 6, 8]
    assert [point["desired_time"] for point in points] == [0, 1, 2, 3, 4]
    assert points[2]["joint_change"] == [-0.25, 0.0, 0.0, 0.0]
    assert points[2]["tip_displacement"] == [0.03, 0.01]


def test_metres_are_millimetres_to_a_person():
    sliding = (replace(ARMS[0], joint_names=("right_j2", "right_j1")), ARMS[1])
    result, text = told(bent(DESIRED, sliding))
    assert (result["largest_change"]["joint"], result["largest_change"]["unit"]) == (
        "right_j2", "m",
    )  # fmt: skip
    assert "largest change     -250.0 mm: right_j2 at t = 2 s" in text


def test_pairs_on_meshes_are_called_so():
    margins = replace(MARGINS, on_meshes=np.array([False, True, False, False, False]))
    result, text = told(bent(DESIRED, ARMS, margins=margins))
    assert "right_1 - right_2: 30.0 mm between meshes\n" in text
    assert result["pairs"]["eased_keep"][0]["between"] == "meshes"


def test_a_safe_motion_is_called_so():
    result, text = told(straight(DESIRED, ARMS))
    assert "already safe" in text and "as before" in text and "largest change" not in text
    assert (result["result"], result["window"]) == ("already safe", None)
    assert result["clearance"]["certified_elsewhere"] is None
    assert "elsewhere" not in text
    assert "0.1000 m between the arms at every instant\n" in text


def test_a_motion_that_is_only_slower_is_not_called_safe_as_it_was():
    slower = replace(DESIRED, times=2.0 * DESIRED.times)
    result, text = told(replace(straight(DESIRED, ARMS), motion=slower))
    assert "already safe" not in text and "8 s, 4 s (100.0%) longer" in text
    assert (result["result"], result["window"]) == ("adjusted", None)


def test_where_nothing_is_kept_apart_no_clearance_is_made_up():
    nothing = np.full(5, np.inf)
    adjustment = replace(
        straight(DESIRED, ARMS), clearance=nothing, clearance_before=nothing, certified=np.inf
    )
    result, text = told(adjustment)
    assert result["clearance"]["after"]["value"] is None
    assert result["per_waypoint"][0]["clearance"] is None
    assert "least clearance" not in text and "certified" not in text


def test_a_refusal_says_where_and_how_far():
    prefix = Motion(("right_j1",), np.array([0.0, 1.5]), np.zeros((2, 1)))
    error = AdjustmentError("the goal collides", 2, 2.5, ("right_2", "left_2"), -0.0125, prefix)
    error.possible = 0.08, 0.05
    result = adjust_report.failure(Model, ARMS[:1], "robust", error)
    assert json.loads(json.dumps(result, allow_nan=False)) == {
        "robot": "toy", "result": "no safe adjustment", "method": "robust",
        "arms": {
            "right_arm": {"name": "right_arm", "joints": ["right_j1", "right_j2"], "tip": "right_2"}
        },
        "reason": "the goal collides", "waypoint": 2, "time": 2.5,
        "pair": ["right_2", "left_2"], "distance": -0.0125, "safe_until": 1.5,
        "possible": {"safe_distance": 0.08, "danger_distance": 0.05},
    }  # fmt: skip
    text = adjust_report.failure_text(result)
    assert "no safe adjustment, method robust: the goal collides" in text
    assert "\n  arm          right_arm\n" in text
    assert "waypoint 2, t = 2.5 s: right_2 - left_2 at -0.0125 m" in text
    assert "safe until   t = 1.5 s" in text


def test_a_refusal_without_a_pair_or_a_prefix_can_be_said_too():
    result = adjust_report.failure(Model, ARMS[:1], "robust", AdjustmentError("limits"))
    assert (result["pair"], result["distance"], result["safe_until"]) == (None, None, None)
    assert "safe until   never" in adjust_report.failure_text(result)

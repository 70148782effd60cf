# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Motions of some joints become motions of a robot; nothing is taken for granted in silence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.robots.toy_models import toy_robot
from support.robots.toys import joint, link

from collision_monitor.errors import MotionError, TrajectoryError
from collision_monitor.motion.robot_joints import on_robot
from collision_monitor.motion.trajectory import Trajectory

LINKS = [link(name) for name in "abcdefgh"]
ROBOT = toy_robot(
    *LINKS,
    joint("turn", "a", "b"),
    joint("slide", "b", "c", "prismatic"),
    joint("hold", "c", "d", "fixed"),
    joint("follow", "d", "e", extra='<mimic joint="turn" multiplier="-2" offset="0.5"/>'),
    joint("second", "e", "f", extra='<mimic joint="follow" multiplier="0.5" offset="1"/>'),
    joint("high", "f", "g").replace('lower="-2" upper="2"', 'lower="1" upper="2"'),
    joint("wheel", "g", "h", "continuous"),
)
TIMES = np.array([0.0, 0.5, 2.0])
AT = np.linspace(0.0, 2.0, 41)


def motion(**columns):
    """A motion, linear between its points, of these joints."""
    return Trajectory.through(tuple(columns), TIMES, np.array(list(columns.values())).T)


def put(trajectory, **options):
    """On the robot: positions by joint at `AT`, and warnings."""
    result, warnings = on_robot(trajectory, ROBOT, "file", **options)
    assert result.joint_names == ("turn", "slide", "high", "wheel")
    return dict(zip(result.joint_names, result.positions(AT).T, strict=True)), warnings


def test_the_order_is_the_robots_and_what_is_not_named_is_held_with_a_word():
    given_motion = motion(slide=[0.1, 0.2, 0.3], turn=[1, 2, -1])
    found, warnings = put(given_motion)
    expected = given_motion.positions(AT)
    assert np.array_equal(found["slide"], expected[:, 0])
    assert np.array_equal(found["turn"], expected[:, 1])
    assert set(found["high"]) == {1.0}, "zero is beyond its limits: the nearer one, as elsewhere"
    assert set(found["wheel"]) == {0.0}
    assert warnings == ("file: joints that are not named are held: high at 1, wheel at 0",)


def test_what_is_held_on_demand_is_so_without_a_word():
    found, warnings = put(
        motion(slide=[0, 0, 1], turn=[0, 1, 0]), held={"high": 1.25, "wheel": -20.0}
    )
    assert set(found["high"]) == {1.25} and set(found["wheel"]) == {-20.0}
    assert warnings == ()


def test_a_follower_tells_where_its_leader_is():
    turn = np.array([0.3, -0.2, 1.0])
    found, warnings = put(motion(second=0.5 * (-2 * turn + 0.5) + 1))
    assert np.allclose(found["turn"], motion(turn=turn).positions(AT)[:, 0], atol=1e-12)
    assert "joint 'turn' is not named: its motion follows from that of 'second'" in warnings[0]


def test_a_follower_that_does_not_follow_is_told():
    turn = np.array([0.3, -0.2, 1.0])
    follow = -2 * turn + 0.5
    others = {"slide": [0] * 3, "high": [1] * 3, "wheel": [0, 9, 0]}
    assert put(motion(turn=turn, follow=follow + 0.009, **others))[1] == ()
    found, warnings = put(motion(turn=turn, follow=follow + [0, 0.2, 0], **others))
    assert np.allclose(found["turn"], motion(turn=turn).positions(AT)[:, 0])
    assert len(warnings) == 1
    assert (
        "'follow' follows 'turn' in this robot, but is up to 0.2 off that (at 0.5 s)"
        in (warnings[0])
    )


def test_a_fixed_joint_may_be_named_but_not_moved():
    named = motion(turn=[0, 1, 0], hold=[2, 2, 2.005])
    assert any("'hold' is fixed in this robot" in w for w in put(named)[1])
    with pytest.raises(MotionError, match="'hold' moves from 2 to 2.5, but is fixed"):
        put(motion(hold=[2, 2, 2.5]))


def test_a_motion_whose_joints_do_not_move_in_the_robot_is_refused():
    """Nothing of it would be checked, and what is held would be called safe."""
    says = r"file: no named joint moves in this robot \('hold'\); robot 'toy' has 'turn', 'slide'"
    with pytest.raises(MotionError, match=says):
        put(motion(hold=[0, 0, 0]))
    with pytest.raises(MotionError, match=says):
        put(motion(hold=[0, 0, 0], other=[0, 1, 2]), ignored=["other"])


def test_a_robot_without_joints_has_none():
    still = toy_robot(link("a"), name="still")
    with pytest.raises(MotionError, match="'still' has no joint 'turn'; it has none"):
        on_robot(Trajectory.through(("turn",), [0.0, 1.0], [[0.0], [1.0]]), still, "file")


@pytest.mark.parametrize(
    ("columns", "options", "says"),
    [
        (["tern", "x"], {}, r"'toy' has no joint 'tern', 'x'; did you mean 'turn'\? It has 'turn'"),
        (["tern"], {}, r"'wheel'\. --ignore JOINT leaves joints out"),
        (["turn"], {"held": {"no": 0.0}}, r"held \(--q\): robot 'toy' has no joint 'no'"),
        (["turn"], {"held": {"follow": 0.0}}, r"held \(--q\): joint 'follow' follows another"),
        (["turn"], {"held": {"hold": 0.0}}, r"held \(--q\): joint 'hold' does not move"),
        (["turn"], {"held": {"turn": 0.0}}, r"held \(--q\): 'turn': also moved by the motion"),
        (["turn"], {"held": {"high": 0.0}}, r"held \(--q\): high at 0 is beyond its limits 1"),
        (["turn"], {"held": {"high": float("nan")}}, "high at nan is beyond"),
        (["turn"], {"held": {"high": "1"}}, "'1' for 'high' is not a number"),
        (["turn", "x9"], {"ignored": ["y*"]}, "no joint 'x9'"),
        (["x8", "x9"], {"ignored": ["x*"]},
         r"all joints of the motion are left out \('x8', 'x9'\); robot 'toy' has 'turn'"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(columns, options, says):
    with pytest.raises(MotionError, match=says):
        put(motion(**{name: [0, 1, 0] for name in columns}), **options)


def test_a_joint_twice_is_refused():
    twice = Trajectory.through(("turn", "turn"), TIMES, np.zeros((3, 2)))
    with pytest.raises(MotionError, match="file: names joint 'turn' twice"):
        put(twice)


def test_numbers_that_overflow_are_refused():
    with np.errstate(over="ignore"), pytest.raises(TrajectoryError, match="positions .*too large"):
        put(motion(turn=[-1e308, 1e308, 0]))


def test_joints_of_others_are_passed_over_on_demand():
    found, _ = put(motion(turn=[0, 1, 0], other_1=[9, 9, 9]), ignored=["other_*"])
    assert found["turn"].max() == 1.0


@given(st.lists(st.sampled_from(["turn", "slide", "high", "wheel"]), unique=True, min_size=1))
def test_every_choice_of_joints_comes_through(names):
    rows = {name: np.sin(np.arange(3) + 1.5 + k) for k, name in enumerate(names)}
    found, _ = put(motion(**rows))
    for name, row in rows.items():
        assert np.allclose(found[name], np.interp(AT, TIMES, row), atol=1e-12)

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Positions that a joint should not have, or cannot have; mimic joints away from their leaders."""

import math

import pytest
from support.robots.toys import joint, link, robot

from collision_monitor import CollisionModel, Monitor
from collision_monitor.monitoring.monitor import Level

BALL = '<sphere radius="0.05"/>'
LIMITED = 'lower="-2" upper="2"'


def arm(kind="revolute", limits=LIMITED):
    """A ball that turns or slides beside another."""
    urdf = robot(
        link("base", BALL), link("middle", ""), link("tip", BALL),
        joint("first", "base", "middle", xyz="0 0 0.5"),
        joint("second", "middle", "tip", kind, xyz="0 0 1"),
    )  # fmt: skip
    head, tail = urdf.split('name="second"')
    return CollisionModel.from_urdf(f'{head}name="second"{tail.replace(LIMITED, limits)}')


ARM, SLIDE = arm(), arm("prismatic")


def state(model, position):
    return Monitor(model, behaviour=None).update(model.joint_names, [0.3, position], now=1.0)


@pytest.mark.parametrize(("model", "most"), [(ARM, 0.05), (SLIDE, 0.005)])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_position_beyond_its_limit_is_a_warning_that_names_it(model, most, side):
    for within in (1.9, 2.0, 2.0 + 0.99 * most):
        assert state(model, side * within).level == Level.OK
    found = state(model, side * (2.0 + 1.1 * most))
    assert (found.level, found.cause, found.safe, found.speed_scale) == (
        Level.WARN, "position", True, 1.0,
    )  # fmt: skip
    limit = "upper limit 2:" if side > 0.0 else "lower limit -2:"
    text = f"position {side * (2.0 + 1.1 * most):.6g} of joint 'second' is beyond its {limit}"
    assert found.message.startswith(text)


@pytest.mark.parametrize(
    ("model", "degrees_or_millimetres", "unit"),
    [(ARM, 45.0, "not degrees"), (ARM, -8.3, "not degrees"), (SLIDE, 20.0, "not millimetres")],
)
def test_degrees_and_millimetres_are_an_error(model, degrees_or_millimetres, unit):
    monitor = Monitor(model, behaviour=None)
    found = monitor.update(model.joint_names, [0.3, degrees_or_millimetres], now=1.0)
    assert (found.level, found.cause, found.safe) == (Level.ERROR, "fault", False)
    assert "'second'" in found.message and found.message.endswith(unit)
    assert monitor.update(model.joint_names, [0.3, 0.1], now=1.01).level == Level.OK


@pytest.mark.parametrize(
    ("kind", "limits"),
    [
        ("continuous", LIMITED),
        ("revolute", ""),
        ("revolute", 'upper="2"'),
        ("revolute", 'lower="0" upper="0"'),
    ],
)
def test_limits_that_are_missing_or_mean_none_are_not_checked(kind, limits):
    assert state(arm(kind, limits), 9.0).level == Level.OK


FOLLOWS = '<mimic joint="first" multiplier="-2" offset="0.1"/>'
HAND = CollisionModel.from_urdf(
    robot(
        link("base", BALL), link("left", BALL), link("right", BALL),
        joint("first", "base", "left", xyz="0 1 0"),
        joint("second", "base", "right", xyz="0 -1 0", extra=FOLLOWS),
    )  # fmt: skip
)


def hand_states(position, names=("first", "second"), first=0.2):
    """The states of a second in which the mimic joint is here."""
    monitor = Monitor(HAND, behaviour=None)
    positions = {"first": first, "second": position}
    return [
        monitor.update(list(names), [positions[name] for name in names], now=0.1 * k)
        for k in range(12)
    ]


def test_a_mimic_joint_away_from_its_leader_is_a_warning():
    assert {each.level for each in hand_states(-0.3)} == {Level.OK}
    assert {each.level for each in hand_states(-0.26)} == {Level.OK}
    assert {each.level for each in hand_states(math.nan)} == {Level.OK}
    found = hand_states(0.7)
    assert found[4].level == Level.OK  # it may follow late
    assert (found[-1].level, found[-1].cause, found[-1].safe) == (Level.WARN, "position", True)
    assert found[-1].message.startswith(
        "mimic joint 'second' is at 0.7, but its leader 'first' gives it -0.3: distances are "
        "those of the leader's position"
    )


def test_a_mimic_joint_without_its_leader_is_named():
    found = hand_states(0.1, ("second",))[-1]
    assert (found.level, found.message) == (
        Level.STALE,
        "no joint state received yet: only second was received, which mimics first",
    )

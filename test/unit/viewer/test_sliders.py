# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Sliders: one for each joint, from its limits; a user's move is never disturbed."""

import math

import numpy as np
import pytest
from support.robots.toys import joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.errors import ConfigurationError
from collision_monitor.viewer.controls import SharedSlider, slider_specs


def model_with(kind="revolute", lower=-2.0, upper=2.0):
    """Two balls and a joint between them."""
    text = robot(link("a"), link("b"), joint("j", "a", "b", kind))
    limits = 'lower="-2" upper="2"'
    assert limits in text
    return CollisionModel.from_urdf(
        text.replace(limits, f'lower="{lower}" upper="{upper}"'),
        scene={"obstacles": [{"name": "ball", "type": "sphere", "radius": 0.1,
                              "position": [0, 3, 0]}]},
    )  # fmt: skip


def spec_of(*arguments):
    (spec,) = slider_specs(model_with(*arguments))
    return spec


@pytest.mark.parametrize(
    ("joint", "lower", "upper", "step", "label"),
    [
        (("revolute", -1.5, 0.7), -1.5, 0.7, 0.01, "j [rad]"),
        (("prismatic", 0.0, 0.4), 0.0, 0.4, 0.001, "j [m]"),
        (("continuous",), -3.141, 3.141, 0.01, "j [rad]"),
        (("revolute", -math.pi, 2 * math.pi), -3.141, 6.283, 0.01, "j [rad]"),  # inwards
        (("prismatic", 0.0, 0.0123456), 0.0, 0.0123456, 0.000123456, "j [m]"),
        (("prismatic", -1e6, 1e6), -1e3, 1e3, 0.001, "j [m]"),
    ],
)
def test_limits_units_and_steps_come_from_the_joint(joint, lower, upper, step, label):
    spec = spec_of(*joint)
    assert (spec.lower, spec.upper, spec.label) == (lower, upper, label)
    assert spec.step == pytest.approx(step)


def test_a_joint_that_cannot_move_is_stuck():
    assert spec_of("revolute", 0.25, 0.25).stuck
    assert not spec_of("revolute", 0.25, 0.26).stuck


def test_a_continuous_joint_is_turned_into_the_range_of_its_slider():
    assert spec_of("continuous").within(7.0) == pytest.approx(7.0 - 2.0 * math.pi)
    assert spec_of("revolute").within(7.0) == 2.0


def test_limits_that_are_not_finite_are_an_error_that_names_the_joint():
    model = model_with()
    model.upper[0] = np.inf
    with pytest.raises(ConfigurationError, match=r"joint 'j' of 'toy' has the limits \[-2, inf\]"):
        slider_specs(model)


class Told:
    """As a slider of viser's; counts what is sent to browsers, only what it does not hold yet."""

    def __init__(self):
        self.min, self.max, self._value, self.calls, self.sent = 0.0, 10.0, 5.0, [], []

    def on_update(self, call):
        self.calls.append(call)

    @property
    def value(self):
        return self._value

    @value.setter
    def value(self, value):
        self.move(value, None)

    def move(self, value, client):
        """A value set by the program is told too, with no client."""
        if client is None and value != self._value:
            self.sent.append(value)
        self._value, self.client, self.target = value, client, self
        for call in self.calls:
            call(self)


def make():
    now, moves = [100.0], []
    handle = Told()
    return handle, SharedSlider(handle, 0.1, moves.append, lambda: now[0]), now, moves


def test_the_program_moves_it_when_that_is_seen():
    handle, slider, _, moves = make()
    slider.show(5.04)
    assert handle.sent == []
    slider.show(7.0)
    assert (handle.sent, slider.value, moves) == ([7.0], 7.0, [])


def test_a_hand_is_told_and_not_disturbed():
    handle, slider, now, moves = make()
    handle.move(3.0, "a browser")
    now[0] += 0.4
    slider.show(9.0)
    assert (handle.sent, slider.value, moves) == ([], 3.0, [3.0])


def test_when_the_hand_has_gone_the_value_is_sent_even_where_it_is_the_same():
    # A value sent before the hand's move may have reached the browser after it.
    for value in (3.0, 0.0, 10.0):
        handle, slider, now, _ = make()
        handle.move(value, "a browser")
        now[0] += 0.6
        slider.show(value)
        assert handle.sent[-1] == value and slider.value == value
        sent = len(handle.sent)
        slider.show(value)
        assert len(handle.sent) == sent

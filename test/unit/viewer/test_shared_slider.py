# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A slider with two masters: it keeps still while a hand moves it, and is right afterwards."""

from collision_monitor.viewer.sliders import SharedSlider
from unit.viewer.test_joint_sliders import Slider


class Told(Slider):
    """Counts what is sent to browsers, which is only what viser does not hold already."""

    def __init__(self):
        super().__init__("a", 0.0, 10.0, 0.1, 5.0, False)
        self.sent = []

    def move(self, value, client):
        if client is None and value != self._value:
            self.sent.append(value)
        super().move(value, client)


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

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Controls of the page: sliders of joints, and playback of motions.

Both the user and the program move sliders. Motions have a time slider, buttons, and curves of the
clearance.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from collision_monitor.errors import ConfigurationError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.motion.trajectory import Motion
from collision_monitor.robot.angles import whole_turns
from collision_monitor.viewer.clearance_display import add_chart, chart_data

# -- sliders --

_LONGEST = 1e3  # longer ranges cannot be controlled with a mouse
_USER_SECONDS = 0.5  # seconds after the last move by a user until the program may move it


@dataclass(frozen=True)
class SliderSpec:
    """A slider for one joint; radians or metres."""

    joint: str
    lower: float
    upper: float
    step: float
    unit: str
    endless: bool = False

    @property
    def label(self) -> str:
        """Name and unit."""
        return f"{self.joint} [{self.unit}]"

    @property
    def stuck(self) -> bool:
        """Whether the limits allow no motion."""
        return not self.upper > self.lower

    def within(self, value: float) -> float:
        """The nearest value within the limits of the slider; an endless joint is turned there."""
        value += float(whole_turns(value, 0.5 * (self.lower + self.upper), self.endless))
        return min(max(float(value), self.lower), self.upper)


def slider_specs(model: CollisionModel) -> list[SliderSpec]:
    """A slider for each joint of the model, in the order of its configuration.

    Raises:
        ConfigurationError: the limits of a joint are not finite.
    """
    kinds = {joint.name: joint.kind for joint in model.robot.joints}
    specs = []
    for name, lower, upper, endless in zip(
        model.joint_names, model.lower, model.upper, model.bodies.endless.tolist(), strict=True
    ):
        if not (math.isfinite(lower) and math.isfinite(upper)):
            raise ConfigurationError(
                f"joint {name!r} of '{model.name}' has the limits [{lower:g}, {upper:g}]: a slider "
                "needs finite ones"
            )
        slides = kinds[name] == "prismatic"
        lower, upper = _rounded(max(float(lower), -_LONGEST), min(float(upper), _LONGEST))
        usual = 0.001 if slides else 0.01
        step = min(usual, (upper - lower) / 100.0) if upper > lower else usual
        specs.append(SliderSpec(name, lower, upper, step, "m" if slides else "rad", endless))
    return specs


def _rounded(lower: float, upper: float) -> tuple[float, float]:
    """Limits rounded inwards to three digits, if that changes little."""
    if upper - lower < 0.2:
        return lower, upper
    return math.ceil(1e3 * lower - 1e-6) / 1e3, math.floor(1e3 * upper + 1e-6) / 1e3


class SharedSlider:
    """A viser slider that shows values of the program, and reports values chosen by a user.

    A value from the program may reach the browser after a move by the user and replace it. So
    nothing is sent while the user moves the slider, and the value is sent again afterwards.
    """

    def __init__(
        self, handle: Any, step: float, moved: Callable[[float], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """``moved``: called in a thread of the server; ``step``: smaller changes are not sent."""
        self._handle = handle
        self._step = step
        self._clock = clock
        self._touched: float | None = None
        self._moved = moved
        handle.on_update(self._on_update)

    @property
    def value(self) -> float:
        """The shown value."""
        return float(self._handle.value)

    def _on_update(self, event: Any) -> None:
        if event.client is not None:  # not our own `show`
            self._touched = self._clock()
            self._moved(self.value)

    def show(self, value: float) -> None:
        """Show a value within its limits, unless a user is moving the slider."""
        if self._touched is not None:
            if self._clock() - self._touched < _USER_SECONDS:
                return
            self._touched = None
            # viser does not send an unchanged value.
            low, high = self._handle.min, self._handle.max
            self._handle.value = low if self.value != low else high
        elif abs(self.value - value) <= 0.5 * self._step:
            return
        self._handle.value = value


class JointSliders:
    """A slider for each joint. ``moved(index, value)`` is called when a user moves one."""

    def __init__(
        self,
        gui: Any,
        specs: Sequence[SliderSpec],
        q: np.ndarray,
        moved: Callable[[int, float], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._specs = list(specs)
        self._sliders = []
        for index, (spec, value) in enumerate(zip(specs, q, strict=True)):
            handle = gui.add_slider(
                spec.label, spec.lower, spec.upper, spec.step, spec.within(value),
                disabled=spec.stuck,
            )  # fmt: skip
            self._sliders.append(SharedSlider(handle, spec.step, partial(moved, index), clock))

    def show(self, q: np.ndarray) -> None:
        """Show the configuration ``q`` (nq,)."""
        for spec, slider, value in zip(self._specs, self._sliders, q, strict=True):
            if not spec.stuck:
                slider.show(spec.within(value))


# -- playback of motions --

Later = Callable[[Callable[[], None]], None]

_SAMPLES = 800  # samples per curve: more than a chart has pixels


class Playback:
    """The active motion of all joints, and its time; clock times are of a steady clock, seconds."""

    def __init__(self, speed: float = 1.0) -> None:
        self.motion: Motion | None = None
        self.time = 0.0
        self.speed = speed
        self._last: float | None = None

    def play(self, motion: Motion, now: float) -> None:
        """Start a motion, or continue it; one at its end starts again."""
        if motion is not self.motion or self.time >= motion.duration:
            self.time = 0.0
        self.motion, self._last = motion, now

    def pause(self) -> None:
        """Stop at the current time."""
        self._last = None

    def seek(self, motion: Motion, time: float) -> np.ndarray:
        """Stop at this time of a motion; returns the configuration (nq,) there."""
        self.pause()
        # 0 for NaN, which a client may send.
        self.motion, self.time = motion, min(max(0.0, time), motion.duration)
        return motion.at(self.time)

    def configuration(self, now: float) -> np.ndarray | None:
        """The configuration (nq,) at ``now`` during playback, otherwise None; stops at the end."""
        if self._last is None or self.motion is None:
            return None
        self.time = min(self.time + self.speed * (now - self._last), self.motion.duration)
        self._last = None if self.time >= self.motion.duration else now
        return self.motion.at(self.time)


def _as_speed(value: float) -> float:
    """The speed within the range of the slider; its lower end for NaN, which a client may send."""
    return min(max(0.1, value), 10.0)


class MotionPanel:
    """Plays ``motions`` of all joints, each with the label of its button.

    User actions are passed to ``later``, which runs them in the loop.
    """

    def __init__(
        self,
        gui: Any,
        motions: Sequence[tuple[str, Motion]],
        playback: Playback,
        clock: Callable[[], float],
        later: Later,
        go_to: Callable[[np.ndarray], None],
    ) -> None:
        """``clock``: seconds of the steady clock that `Playback` uses.

        ``go_to`` is called in the loop with the configuration (nq,) at a chosen time.
        """
        self._go_to = go_to
        self._motions = [motion for _, motion in motions]
        self._playback = playback
        self._times = np.linspace(0.0, max(each.duration for each in self._motions), _SAMPLES)
        self._curves = [np.zeros(len(self._times)) for _ in motions]
        self._thresholds = (0.0, 0.0)
        self._marked = 0
        for label, motion in motions:
            button = gui.add_button(f"Play {label}", hint=f"{motion.duration:.1f} s")
            button.on_click(
                lambda event, motion=motion: later(lambda: playback.play(motion, clock()))
            )
        gui.add_button("Pause").on_click(lambda event: later(playback.pause))
        self._speed = gui.add_slider("speed", 0.1, 10.0, 0.1, _as_speed(playback.speed))
        self._speed.on_update(
            lambda event: setattr(playback, "speed", _as_speed(self._speed.value))
        )
        handle = gui.add_slider("time [s]", 0.0, float(self._times[-1]), 0.01, 0.0)
        self._time = SharedSlider(handle, 0.01, lambda time: later(lambda: self._seek(time)), clock)
        self._chart = add_chart(gui, self._data(), [label for label, _ in motions], mark="now")

    def _seek(self, time: float) -> None:
        motion = self._playback.motion or self._motions[0]
        self._go_to(self._playback.seek(motion, time))

    def measure(self, model: CollisionModel, warn: float, stop: float) -> None:
        """Draw the clearance along all motions, for the current scene; 0 if no pair is checked."""
        self._thresholds = (warn, stop)
        if model.pairs:
            self._curves = [
                model.min_distances(np.array([motion.at(time) for time in self._times]))
                for motion in self._motions
            ]
        self._chart.data = self._data()

    def show(self) -> None:
        """Move the slider and the mark to the time of the motion."""
        time = self._playback.time
        self._time.show(min(time, float(self._times[-1])))
        marked = int(np.abs(self._times - time).argmin())
        if marked != self._marked:
            self._marked = marked
            self._chart.data = self._data()

    def _data(self) -> tuple[np.ndarray, ...]:
        """Curves, and a vertical line at the time of the motion."""
        warn, stop = self._thresholds
        mark = np.full(len(self._times), min(stop, *(curve.min() for curve in self._curves)))
        mark[self._marked] = max(warn, *(curve.max() for curve in self._curves))
        return chart_data(self._times, warn, stop, *self._curves, mark)

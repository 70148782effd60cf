# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Sliders that a browser and the program move: the limits of joints, and their positions."""

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

_LONGEST = 1e3  # a slider with a longer range could not be moved by a mouse
_LEFT_ALONE = 0.5  # seconds after the last move by a user


@dataclass(frozen=True)
class SliderSpec:
    """A slider for one joint; radians or metres."""

    joint: str
    lower: float
    upper: float
    step: float
    unit: str

    @property
    def label(self) -> str:
        """Name and unit."""
        return f"{self.joint} [{self.unit}]"

    @property
    def stuck(self) -> bool:
        """Whether the limits leave nothing to move."""
        return not self.upper > self.lower

    def within(self, value: float) -> float:
        """The nearest value that the slider can show."""
        return min(max(float(value), self.lower), self.upper)


def slider_specs(model: CollisionModel) -> list[SliderSpec]:
    """A slider for each joint of the model, in the order of its configuration.

    Raises:
        ConfigurationError: a joint whose limits are not finite.
    """
    kinds = {joint.name: joint.kind for joint in model.robot.joints}
    specs = []
    for name, lower, upper in zip(model.joint_names, model.lower, model.upper, strict=True):
        if not (math.isfinite(lower) and math.isfinite(upper)):
            raise ConfigurationError(
                f"joint {name!r} of '{model.name}' has the limits [{lower:g}, {upper:g}]: a slider "
                "needs finite ones"
            )
        slides = kinds[name] == "prismatic"
        lower, upper = _rounded(max(float(lower), -_LONGEST), min(float(upper), _LONGEST))
        usual = 0.001 if slides else 0.01
        step = min(usual, (upper - lower) / 100.0) if upper > lower else usual
        specs.append(SliderSpec(name, lower, upper, step, "m" if slides else "rad"))
    return specs


def _rounded(lower: float, upper: float) -> tuple[float, float]:
    """Limits of three digits, within the given ones, where that takes next to nothing away."""
    if upper - lower < 0.2:
        return lower, upper
    return math.ceil(1e3 * lower - 1e-6) / 1e3, math.floor(1e3 * upper + 1e-6) / 1e3


class SharedSlider:
    """A viser slider that shows a value of the program, and reports values that a user chose.

    A value from the program may reach the browser after a move by the user and replace it there.
    So nothing is sent while the user moves the slider, and the value is sent again afterwards.
    """

    def __init__(
        self, handle: Any, step: float, moved: Callable[[float], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """``moved``: called on a thread of the server; ``step``: smaller changes are not sent."""
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
            if self._clock() - self._touched < _LEFT_ALONE:
                return
            self._touched = None
            # viser does not send a value that it holds already.
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
    ) -> None:
        self._specs = list(specs)
        self._sliders = []
        for k, (spec, value) in enumerate(zip(specs, q, strict=True)):
            handle = gui.add_slider(
                spec.label, spec.lower, spec.upper, spec.step, spec.within(value),
                disabled=spec.stuck,
            )  # fmt: skip
            self._sliders.append(SharedSlider(handle, spec.step, partial(moved, k)))

    def show(self, q: np.ndarray) -> None:
        """Show the configuration ``q`` (nq,)."""
        for spec, slider, value in zip(self._specs, self._sliders, q, strict=True):
            if not spec.stuck:
                slider.show(spec.within(value))

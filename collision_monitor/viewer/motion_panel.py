# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Buttons that play motions, their curves of clearance, and the time in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.viewer.clearance_curve import add_chart, chart_data
from collision_monitor.viewer.motions import PlannedMotion, Playback, curve_times
from collision_monitor.viewer.shared_slider import SharedSlider

Later = Callable[[Callable[[], None]], None]


class MotionPanel:
    """Plays ``motions``; what is done by hand is handed to ``later``, to be done in the loop."""

    def __init__(
        self,
        gui: Any,
        motions: Sequence[PlannedMotion],
        playback: Playback,
        clock: Callable[[], float],
        later: Later,
        go_to: Callable[[np.ndarray], None],
    ) -> None:
        """``clock``: seconds of the steady clock that `Playback` is told.

        ``go_to`` is called in the loop with the configuration (nq,) of a time that was chosen.
        """
        self._go_to = go_to
        self._motions = list(motions)
        self._playback = playback
        self._times = curve_times(self._motions)
        self._curves = [np.zeros(len(self._times)) for _ in motions]
        self._thresholds = (0.0, 0.0)
        self._marked = 0
        for motion in motions:
            button = gui.add_button(f"Play {motion.label}", hint=f"{motion.duration:.1f} s")
            button.on_click(
                lambda event, motion=motion: later(lambda: playback.play(motion, clock()))
            )
        gui.add_button("Pause").on_click(lambda event: later(playback.pause))
        speed = min(max(playback.speed, 0.1), 10.0)
        self._speed = gui.add_slider("speed", 0.1, 10.0, 0.1, speed)
        self._speed.on_update(lambda event: setattr(playback, "speed", self._speed.value))
        handle = gui.add_slider("time [s]", 0.0, float(self._times[-1]), 0.01, 0.0)
        self._time = SharedSlider(
            handle, 0.01, lambda time: later(lambda: self._seek(time))
        )
        self._chart = add_chart(
            gui, self._data(), [motion.label for motion in motions], mark="now"
        )

    def _seek(self, time: float) -> None:
        motion = self._playback.motion or self._motions[0]
        self._go_to(self._playback.seek(motion, time))

    def measure(self, model: CollisionModel, warn: float, stop: float) -> None:
        """Draw the clearance along all motions, for the scene as it is now."""
        self._thresholds = (warn, stop)
        self._curves = [motion.distances(model, self._times) for motion in self._motions]
        self._chart.data = self._data()

    def show(self) -> None:
        """Put slider and mark where the motion is."""
        time = self._playback.time
        self._time.show(min(time, float(self._times[-1])))
        marked = int(np.abs(self._times - time).argmin())
        if marked != self._marked:
            self._marked = marked
            self._chart.data = self._data()

    def _data(self) -> tuple[np.ndarray, ...]:
        """Curves, and a line upright at the time of the motion."""
        warn, stop = self._thresholds
        mark = np.full(len(self._times), min(stop, *(curve.min() for curve in self._curves)))
        mark[self._marked] = max(warn, *(curve.max() for curve in self._curves))
        return chart_data(self._times, warn, stop, *self._curves, mark)

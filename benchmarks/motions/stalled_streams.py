# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Random motions towards a collision, and the joint states of them with a stall on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from joint_state_stalls import Cell

SECONDS, STEP = 1.4, 0.001
STALLS = ("none", "bunched", "delayed", "lost", "reordered")
STAMPS = ("true", "late", "absent")
FAST_RATES, SLOW_RATES = (100.0, 1000.0), (10.0, 50.0)


class Motion(NamedTuple):
    """True q and v (steps, nq), every `STEP`."""

    q: np.ndarray
    v: np.ndarray

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities at a time, seconds."""
        k, part = divmod(min(max(t / STEP, 0.0), len(self.q) - 1.001), 1.0)
        k = int(k)
        q, v = ((1.0 - part) * each[k] + part * each[k + 1] for each in self)
        return q, v


class Message(NamedTuple):
    """A joint state on its way; ``measured``, ``arrives`` and ``stamp`` (0: none) in seconds."""

    measured: float
    arrives: float
    stamp: float
    publisher: int = 0


def profile(rng: np.random.Generator, slope: float) -> np.ndarray:
    """A smooth random speed (steps,) in -0.3 to 1 that changes by at most ``slope`` per second."""
    times, speeds = [0.0], [rng.uniform(0.0, 0.5)]
    while times[-1] < SECONDS:
        pause = rng.uniform(0.1, 0.5)
        wanted = rng.choice([0.0, 1.0, rng.uniform(-0.3, 1.0)])
        most = slope * pause * 2.0 / np.pi
        times.append(times[-1] + pause)
        speeds.append(float(np.clip(wanted, speeds[-1] - most, speeds[-1] + most)))
    t = np.arange(0.0, SECONDS, STEP)
    k = np.searchsorted(times, t, side="right") - 1
    times, speeds = np.array(times), np.array(speeds)
    part = 0.5 - 0.5 * np.cos(np.pi * (t - times[k]) / (times[k + 1] - times[k]))
    return speeds[k] + part * (speeds[k + 1] - speeds[k])


def random_motion(cell: Cell, rng: np.random.Generator, around: float) -> Motion:
    """A motion that begins in the clear and is near a collision at about the time ``around``."""
    model, limits = cell.model, cell.model.velocity_limits
    lower, upper = np.maximum(model.lower, -3.0), np.minimum(model.upper, 3.0)
    while True:
        near = rng.uniform(lower, upper)
        if not -0.03 < model.distance(near).distance < 0.08:
            continue
        for _ in range(20):
            v = np.zeros((round(SECONDS / STEP), len(near)))
            for share in (0.8, 0.15):
                direction = rng.uniform(-1.0, 1.0, len(near)) * limits * share
                fast = np.abs(direction) > 1e-6
                slope = 0.8 * (cell.brakes[fast] / np.abs(direction[fast])).min()
                v += rng.uniform(0.2, 1.0) * direction * profile(rng, slope)[:, None]
            q = np.cumsum(v, axis=0) * STEP
            q += near - q[int(around / STEP)]
            if (q < model.lower).any() or (q > model.upper).any():
                continue
            if not any(cell.may_stop(q[k], v[k], 0.0) for k in (0, 100, 200)):
                return Motion(q, v)


def stream(
    rng: np.random.Generator, stall: str, stamps: str, begin: float, end: float,
    rates: tuple[float, float] = FAST_RATES,
) -> list[Message]:
    """The messages in the order of their arrival; the stall is from ``begin`` to ``end``."""
    period = 1.0 / float(np.exp(rng.uniform(*np.log(rates))))
    measured = np.arange(0.0, SECONDS - 0.01, period)
    sent = measured + rng.uniform(1e-4, 0.1 * period, len(measured))
    held = (measured >= begin) & (measured < end)
    if stall in ("bunched", "lost", "reordered"):
        sent[held] = end + np.cumsum(rng.exponential(rng.uniform(5e-6, 2e-4), held.sum()))
    elif stall == "delayed":
        delay = rng.uniform(0.02, 0.15)
        sent[held] += delay + rng.uniform(0.0, 0.3 * delay, held.sum())
    sent = np.maximum.accumulate(sent + 1e-6 * np.arange(len(sent)))
    stamp = {"true": measured, "late": sent, "absent": np.full(len(sent), -1e9)}[stamps]
    order = np.arange(len(sent))
    if stall == "lost":
        order = order[~held | (rng.uniform(size=len(order)) > rng.uniform(0.3, 0.9))]
    elif stall == "reordered":
        k = np.flatnonzero(held)
        order[k] = k[np.argsort(np.arange(len(k)) + rng.uniform(0.0, 3.0, len(k)))]
        sent[k] = np.sort(sent[k])
        return [Message(measured[i], sent[j], 1e9 + stamp[i]) for j, i in enumerate(order)]
    return [Message(measured[k], sent[k], 1e9 + stamp[k]) for k in order]

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The least distances of pairs along recorded motions: a stop there is an artefact of the meshes.

A motion is linear between its waypoints. It is measured by conservative advancement: after each
measured configuration no pair comes nearer faster than its joints move its links, so the motion is
followed without measuring until some pair may come nearer than what is known of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.pair_rules import WARN_PART
from collision_monitor.motion import Motion
from collision_monitor.robot.bodies import by_position

# Metres that a pair may come nearer unseen. Less is not worth the time: meshes are not better.
_UNSEEN = 2e-5
# Pairs count that are nearer than their limit over this: between two measured configurations they
# may come below the limit. Measuring all that move along a limit takes too long.
_NEARLY = 0.95


class Seen(NamedTuple):
    """The nearest that a pair was seen.

    Attributes:
        distance: metres; 0 or less in contact.
        time: seconds of the motion.
        file: name of its file.
    """

    distance: float
    time: float
    file: str

    @property
    def reason(self) -> str:
        """For a file of thresholds."""
        where = f"at t = {self.time:.3f} s in {self.file}"
        if not self.distance > 0.0:
            return f"meshes meet {where}"
        # To the micrometre, as the distances of rules are written.
        return f"seen at {np.format_float_positional(self.distance, 6, trim='-')} m {where}"


def seen_near(
    model: CollisionModel,
    motions: Sequence[tuple[Path, Motion]],
    rest: np.ndarray,
    limits: np.ndarray,
    exact: bool,
) -> dict[int, Seen]:
    """Pairs of links (by index) that come nearer than ``limits`` (pairs,), metres, in ``motions``.

    Pairs within 5 % of their limit are among them. At waypoints the distances are the least to
    0.02 mm; between two waypoints a pair may also come nearer by a fifth of its distance, which its
    warning distance allows for.

    Args:
        model: the robot and its scene.
        motions: files and what they contain.
        rest: (nq,) positions of joints that a motion does not name, rad or m.
        limits: metres; distances of meshes if ``exact``, or else of leaves, are compared with them.
        exact: see ``limits``.

    Raises:
        MotionError: a motion names a joint that the robot does not have.
    """
    search = _Search(model, limits, exact)
    for path, motion in motions:
        motion = motion.with_held().of_joints(model.joint_names, rest, f"{path}: '{model.name}'")
        search.follow(motion, path.name)
    return search.seen


class _Search:
    def __init__(self, model: CollisionModel, limits: np.ndarray, exact: bool) -> None:
        self._model, self._limits, self._exact = model, limits / _NEARLY, exact
        self._most = float(self._limits.max(initial=0.0))
        # (pairs, nq) metres that a pair comes nearer at most for a unit of each joint.
        self._reach = by_position(model.bodies, model.pair_reach())
        self.seen: dict[int, Seen] = {}
        self._distances = np.empty(len(limits))  # of each pair where it was measured last
        # Nearer than this a pair would be news, at waypoints and between them; metres.
        self._known, self._tolerated = self._limits.copy(), limits.astype(float)

    def follow(self, motion: Motion, file: str) -> None:
        """Measure the pairs along a motion of all joints.

        Nothing is measured between two waypoints where a joint without end stops jumps by more than
        half a turn: it may have gone either way.
        """
        times, positions = motion.times.tolist(), motion.positions
        everything = np.arange(len(self._limits))
        self._last = np.tile(positions[0], (len(everything), 1))
        self._measure(everything, positions[0], times[0], file)
        for number in range(1, len(times)):
            step = positions[number] - positions[number - 1]
            if not (np.abs(step[self._model.bodies.endless]) > np.pi).any():
                self._advance(positions[number - 1], step, times[number - 1 : number + 1], file)
            is_news = self._margins(positions[number], self._known) < 0.0
            if number == len(times) - 1:
                is_news[:] = True
            self._measure(np.flatnonzero(is_news), positions[number], times[number], file)

    def _advance(self, start: np.ndarray, step: np.ndarray, times: list[float], file: str) -> None:
        """Measure on the straight way from ``start`` by ``step`` (nq,), between two ``times``."""
        part, rate = 0.0, self._reach @ np.abs(step)
        while rate.any():
            margins = self._margins(start + part * step, self._tolerated)
            parts = np.divide(margins, rate, out=np.full(len(rate), np.inf), where=rate > 0.0)
            part += max(0.0, float(parts.min()))
            if part >= 1.0:
                break
            which = np.flatnonzero(parts <= 2.0 * parts.min() + 1e-3)  # together: less overhead
            time = times[0] + part * (times[1] - times[0])
            self._measure(which, start + part * step, time, file)

    def _margins(self, q: np.ndarray, known: np.ndarray) -> np.ndarray:
        """How much nearer pairs may still come at ``q`` (nq,) before they are nearer than known."""
        travel = np.einsum("pj,pj->p", self._reach, np.abs(q - self._last))
        return np.maximum(self._distances - known, _UNSEEN) - travel

    def _measure(self, pairs: np.ndarray, q: np.ndarray, time: float, file: str) -> None:
        """Measure some ``pairs`` (k,), by index, at ``q`` (nq,)."""
        distances = self._model.pair_distances(q[None], pairs)[0]
        if self._exact:
            near = distances <= self._most
            distances[near] = self._model.surface_distances(q, pairs[near])
        self._last[pairs], self._distances[pairs] = q, distances
        is_near = (distances < self._limits[pairs]) | (distances <= 0.0)
        found = zip(pairs[is_near].tolist(), distances[is_near].tolist(), strict=True)
        for pair, distance in found:
            if pair not in self.seen or distance < self.seen[pair].distance:
                self.seen[pair] = Seen(distance, time, file)
                self._known[pair] = distance if distance > 0.0 else -np.inf  # contact says all
                self._tolerated[pair] = WARN_PART * self._known[pair]

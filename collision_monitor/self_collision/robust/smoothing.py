# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Optimises all waypoints of a window: the smallest smooth change that keeps clearances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from collision_monitor.model.proximity import Proximity
from collision_monitor.self_collision.solvers import sparse_solver
from collision_monitor.self_collision.stepper import SPREAD

_SMOOTHNESS = 4.0  # weight of second differences of the change against the change
_TRUST = 0.15  # rad or m: trust region of linearised clearances
_BAND = 0.03  # m above the limit within which a leaf pair is a constraint
_STILL = 0.02  # rad or m: the change has converged
_SHORTENING = 0.15  # fraction by which one program shortens a step that is too long
_PEAK = 0.96  # bound of the largest change in the next program, relative to the current one
_PEAK_ROUNDS = 2
_AT_LIMIT = 0.002  # m: leaf pairs this close to their limit are in the first program
_BROKEN = 2e-4  # m by which a step may be below a linearised limit
_VIOLATION_COST = 1e4  # 1/m^2: cost of a violated clearance, relative to a change of 1 rad^2
_PEAK_COST = 1.02  # maximum cost of a lower peak, relative to the minimum cost


@dataclass(frozen=True, eq=False)
class SmoothingWindow:
    """A part of a motion with knots, at which the change is optimised.

    Attributes:
        knots: (k, nq) desired configurations.
        samples: (s, nq) desired configurations at which clearances are constraints.
        places: (s,) index of the knot before each sample.
        parts: (s,) position between that knot and the next, in [0, 1).
        steps: (k - 1, m) largest change of a joint from knot to knot, rad or m.
        room: (2, k, m) minimum and maximum change at the knots within joint limits, rad or m.
    """

    knots: np.ndarray
    samples: np.ndarray
    places: np.ndarray
    parts: np.ndarray
    steps: np.ndarray
    room: np.ndarray

    def with_samples(
        self, samples: np.ndarray, places: np.ndarray, parts: np.ndarray
    ) -> SmoothingWindow:
        """The window with further samples."""
        return replace(
            self,
            samples=np.vstack([self.samples, samples]),
            places=np.concatenate([self.places, places]),
            parts=np.concatenate([self.parts, parts]),
        )

    def blend(self, change: np.ndarray) -> np.ndarray:
        """Interpolate a change (k, m) at the knots to the samples: (s, m)."""
        after = np.minimum(self.places + 1, len(self.knots) - 1)
        return (1.0 - self.parts)[:, None] * change[self.places] + (
            self.parts[:, None] * change[after]
        )


@dataclass(frozen=True, eq=False)
class _Rows:
    """Linearised clearances: sample, pair of links, gradient (m,), violation (metres)."""

    sample: np.ndarray
    pair: np.ndarray
    gradient: np.ndarray
    missing: np.ndarray

    @property
    def worst(self) -> float:
        """Largest violation, metres."""
        return float(self.missing.max(initial=-np.inf))


class _Clearances:
    """Linearised clearances as functions of the inner knots; each sample is between two knots."""

    def __init__(self, window: SmoothingWindow, rows: _Rows, k: int, m: int) -> None:
        self._gradient = rows.gradient
        # Rows of the same sample and pair of links form a group.
        self._group = rows.sample * (1 + rows.pair.max(initial=0)) + rows.pair
        self._place = window.places[rows.sample]
        self._part = window.parts[rows.sample]
        self._k, self._m = k, m

    def gained(self, step: np.ndarray) -> np.ndarray:
        """Gain (rows,), metres, of a step ((k - 2) m,) of the inner knots."""
        full = np.zeros((self._k + 1, self._m))
        full[1 : self._k - 1] = step.reshape(self._k - 2, self._m)
        part = self._part[:, None]
        moved = (1.0 - part) * full[self._place] + part * full[self._place + 1]
        return np.einsum("rm,rm->r", self._gradient, moved)

    def worst(self, amount: np.ndarray) -> np.ndarray:
        """Mask (rows,) of the largest row of each group, of those above `_BROKEN`."""
        out = np.zeros(len(amount), dtype=bool)
        above = np.flatnonzero(amount > _BROKEN)
        if len(above):
            order = above[np.lexsort((-amount[above], self._group[above]))]
            first = np.r_[True, np.diff(self._group[order]) > 0]
            out[order[first]] = True
        return out

    def matrix(self, used: np.ndarray) -> sparse.csc_matrix:
        """The rows that are ``used`` (rows,), as a sparse matrix."""
        gradient, place, part = self._gradient[used], self._place[used], self._part[used]
        m = self._m
        values, line, column = [], [], []
        for knot, weight in ((place, 1.0 - part), (place + 1, part)):
            inner = (weight > 0.0) & (knot >= 1) & (knot <= self._k - 2)
            values.append((gradient[inner] * weight[inner][:, None]).ravel())
            line.append(np.repeat(np.flatnonzero(inner), m))
            column.append(((knot[inner] - 1)[:, None] * m + np.arange(m)).ravel())
        return sparse.csc_matrix(
            (np.concatenate(values), (np.concatenate(line), np.concatenate(column))),
            shape=(len(place), (self._k - 2) * m),
        )


@dataclass(eq=False)
class _Program:
    """Minimise x'Hx / 2 + g'x with low <= between x <= high, lower <= x <= upper and clearances.

    Few of thousands of near leaf pairs constrain a step: the program starts with those at their
    limits, and adds those that the step would violate, until there are none.
    """

    solver: Callable[..., np.ndarray | None]
    hessian: sparse.csc_matrix
    gradient: np.ndarray
    between: sparse.spmatrix
    low: np.ndarray
    high: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def relax(self, rows: sparse.csc_matrix, missing: np.ndarray) -> None:
        """Relax the limits of steps, and add a cost for ``rows`` x below ``missing``."""
        self.low, self.high = np.minimum(self.low, 0.0) * 2.0, np.maximum(self.high, 0.0) * 2.0
        self.hessian = (self.hessian + _VIOLATION_COST * (rows.T @ rows)).tocsc()
        self.gradient = self.gradient - _VIOLATION_COST * (rows.T @ missing)

    def solve(self, clearances: _Clearances, missing: np.ndarray) -> np.ndarray | None:
        """The minimum with the clearances of x >= missing; None if there is none."""
        used = clearances.worst(missing + _AT_LIMIT)
        while True:
            needed = missing[used]
            step = self.solver(
                self.hessian,
                self.gradient,
                sparse.vstack([clearances.matrix(used), self.between]),
                np.concatenate([needed, self.low]),
                np.concatenate([np.full(len(needed), np.inf), self.high]),
                self.lower,
                self.upper,
            )
            if step is None:
                return None
            broken = clearances.worst(np.where(used, 0.0, missing - clearances.gained(step)))
            if not broken.any():
                return step
            used |= broken


class Smoother:
    """Sequential quadratic programming over a window, with fixed ends.

    Each minimises ::

        sum_k y_k' H y_k + mu sum_k (y_k+1 - 2 y_k + y_k-1)' H (y_k+1 - 2 y_k + y_k-1)

    over the changes y_k at the knots, subject to the linearised clearances of all near leaf
    pairs at the samples, joint limits, largest steps between knots and a trust region.
    """

    def __init__(
        self, proximity: Proximity, columns: np.ndarray, limits: np.ndarray, weights: np.ndarray
    ) -> None:
        """Arguments as those of `stepper.Stepper`; ``weights`` may be (k, m, m), one per knot."""
        self._solver = sparse_solver()
        self._proximity = proximity
        self._columns = columns
        self._limits = limits
        self._weights = weights

    def smooth(
        self, window: SmoothingWindow, change: np.ndarray, need: np.ndarray, rounds: int
    ) -> np.ndarray:
        """Improve a change (k, m) that keeps clearances: the result is smaller and smoother.

        ``need`` (s,): metres above the limits at each sample. First and last rows are fixed.
        """
        if len(change) < 3:
            return change
        cost = self._objective(change.shape)
        near = self._near(window, change, need)
        for _ in range(rounds):
            step = self._solve(window, change, near, cost)
            if step is None:
                break
            change = change.copy()
            change[1:-1] += step
            near = self._near(window, change, need)
            if np.abs(step).max(initial=0.0) < _STILL:
                break
        return self._with_lower_peak(window, change, near, need, cost)

    def _with_lower_peak(
        self,
        window: SmoothingWindow,
        change: np.ndarray,
        near: _Rows,
        need: np.ndarray,
        cost: tuple,
    ) -> np.ndarray:
        """Reduce the largest value of the change if that costs little."""
        inner, _ = cost
        most = _PEAK_COST * float(change[1:-1].ravel() @ (inner @ change.ravel()))
        for _ in range(_PEAK_ROUNDS):
            peak = _PEAK * np.abs(change[1:-1]).max(initial=0.0)
            step = self._solve(window, change, near, cost, peak)
            if step is None:
                break
            lower = change.copy()
            lower[1:-1] += step
            there = self._near(window, lower, need)
            costly = float(lower[1:-1].ravel() @ (inner @ lower.ravel())) > most
            if costly or there.worst > max(_BROKEN, near.worst):
                break
            change, near = lower, there
        return change

    def _objective(self, shape: tuple[int, int]) -> tuple:
        """Sparse Hessian over all knots, and that over the inner knots."""
        k, m = shape
        ones = np.ones(max(k - 2, 0))
        bend = sparse.diags([ones, -2.0 * ones, ones], [0, 1, 2], shape=(max(k - 2, 0), k))
        coupling = (sparse.eye(k) + _SMOOTHNESS * (bend.T @ bend)).tocsr()
        if self._weights.ndim == 2:
            full = sparse.kron(coupling, self._weights)
        else:  # weights per knot: the smoothness term uses their mean
            mean = self._weights.mean(axis=0)
            full = sparse.block_diag(list(self._weights)) + sparse.kron(
                _SMOOTHNESS * (bend.T @ bend), mean
            )
        full = full.tocsr()
        inner = full[m:-m]
        return inner, inner[:, m:-m].tocsc()

    def _near(self, window: SmoothingWindow, change: np.ndarray, need: np.ndarray) -> _Rows:
        x = window.samples[:, self._columns] + window.blend(change)
        sample, pair, gradient, missing = [], [], [], []
        for s in range(len(x)):
            q = window.samples[s].copy()
            q[self._columns] = x[s]
            near = self._proximity.near(q, self._limits + (need[s] + _BAND), SPREAD)
            if len(near.pairs):
                sample.append(np.full(len(near.pairs), s))
                pair.append(near.pairs.copy())
                gradient.append(near.gradients[:, self._columns])
                missing.append(self._limits[near.pairs] + need[s] - near.distances)
        if not sample:
            m = len(self._columns)
            return _Rows(np.empty(0, int), np.empty(0, int), np.empty((0, m)), np.empty(0))
        return _Rows(
            np.concatenate(sample),
            np.concatenate(pair),
            np.vstack(gradient),
            np.concatenate(missing),
        )

    def _solve(
        self,
        window: SmoothingWindow,
        change: np.ndarray,
        near: _Rows,
        cost: tuple,
        peak: float | None = None,
    ) -> np.ndarray | None:
        """The step (knots - 2, m) of one program; None if the solver finds none.

        ``peak``: bound of the largest change after the step; no constraint is relaxed to reach it.
        """
        knots, m = change.shape
        gaps = knots - 1
        inner, hessian = cost
        between = sparse.kron(
            sparse.diags([-np.ones(gaps), np.ones(gaps)], [0, 1], shape=(gaps, knots)).tocsc()[
                :, 1:-1
            ],
            sparse.eye(m),
        )
        x = window.knots[:, self._columns] + change
        steps = np.diff(x, axis=0).ravel()
        most = window.steps.ravel()
        less = -_SHORTENING * np.abs(steps)
        y = change[1:-1].ravel()
        least, largest = window.room[:, 1:-1] - change[1:-1]
        lower = np.minimum(np.maximum(least, -_TRUST), 0.0).ravel()
        upper = np.maximum(np.minimum(largest, _TRUST), 0.0).ravel()
        if peak is not None:
            lower = np.clip(-peak - y, lower, upper)
            upper = np.clip(peak - y, lower, upper)
        program = _Program(
            self._solver, hessian, inner @ change.ravel(), between,
            -np.maximum(most + steps, less), np.maximum(most - steps, less), lower, upper,
        )  # fmt: skip
        clearances = _Clearances(window, near, knots, m)
        missing = near.missing
        step = program.solve(clearances, missing)
        if step is None and peak is None:
            # Existing violations become soft constraints.
            short = clearances.worst(missing)
            program.relax(clearances.matrix(short), missing[short])
            step = program.solve(clearances, np.where(missing > 0.0, -np.inf, missing))
        return None if step is None else step.reshape(knots - 2, m)

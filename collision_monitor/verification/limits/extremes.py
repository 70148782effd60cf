# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Where piecewise polynomials are highest, and where they first pass a limit: exactly.

A polynomial is highest at an end of a piece or where its derivative is zero. The largest
coefficient in Bernstein form is an upper bound on a piece, so that hardly any piece needs roots.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import PPoly
from scipy.optimize import brentq
from scipy.special import comb

# Of the largest coefficient: what is less than this, in a leading coefficient of a derivative or
# above the best known height, is rounding.
_ROUNDING = 1e-14


class Pieces:
    """The pieces of a polynomial over [0, 1] each, bounded once for all questions."""

    def __init__(self, polynomial: PPoly) -> None:
        """Take scipy's PPoly with coefficients (order, pieces, columns)."""
        c = polynomial.c[::-1].reshape(len(polynomial.c), len(polynomial.x) - 1, -1)
        self._knots, self._gaps = polynomial.x, np.diff(polynomial.x)
        # (order, columns, pieces) by rising power
        self._powers = np.ascontiguousarray(c.transpose(0, 2, 1))
        scale = np.ones_like(self._gaps)
        for k in range(1, len(c)):
            scale = scale * self._gaps
            self._powers[k] *= scale
        bernstein = _bernstein(self._powers)
        self._ends = bernstein[0], bernstein[-1]
        self._bounds = bernstein.max(axis=0)
        self._slack = _ROUNDING * np.abs(bernstein).max(axis=(0, 2))

    def highest(self) -> tuple[np.ndarray, np.ndarray]:
        """Largest value of every column and the time of it, both (columns,).

        Where pieces do not join, both values at a breakpoint count.
        """
        columns = len(self._bounds)
        values, times = np.full(columns, -np.inf), np.zeros(columns)
        for j in range(columns):
            for end, heights in enumerate(self._ends):
                piece = int(heights[j].argmax())
                if heights[j, piece] > values[j]:
                    values[j], times[j] = heights[j, piece], self._knots[piece + end]
            among = np.flatnonzero(self._bounds[j] > values[j] + self._slack[j])
            if len(among):
                powers = self._powers[:, j, among]
                places = stationary(powers)
                heights = _values(powers, places)
                k, root = np.unravel_index(int(heights.argmax()), heights.shape)
                if heights[k, root] > values[j]:
                    values[j] = heights[k, root]
                    times[j] = self._time(among[k], places[k, root])
        return values, times

    def first_above(self, limits: np.ndarray) -> np.ndarray:
        """When each column is above its limit (columns,) first, seconds; nan where it never is."""
        times = np.full(len(limits), np.nan)
        for j, limit in enumerate(limits):
            among = np.flatnonzero(self._bounds[j] > limit)
            if not len(among):
                continue
            ends = np.maximum(*(heights[j, among] for heights in self._ends)) > limit
            among = among[: int(ends.argmax()) + 1] if ends.any() else among
            powers = self._powers[:, j, among]
            places = np.sort(stationary(powers), axis=1)
            places = np.pad(places, ((0, 0), (1, 1)), constant_values=(0.0, 1.0))
            above = _values(powers, places) > limit
            rows = np.flatnonzero(above.any(axis=1))
            if len(rows):
                row = int(rows[0])
                place = _crossing(powers[:, row], places[row], above[row], limit)
                times[j] = self._time(among[row], place)
        return times

    def _time(self, piece: int, place: float) -> float:
        return float(self._knots[piece] + place * self._gaps[piece])


def _crossing(powers: np.ndarray, places: np.ndarray, above: np.ndarray, limit: float) -> float:
    """Where in [0, 1] one piece passes the limit; it is monotone between ``places``."""
    k = int(above.argmax())
    if k == 0:
        return 0.0

    def over(s: float) -> float:
        return float(np.polyval(powers[::-1], s)) - limit

    if over(places[k - 1]) >= 0.0:  # on the limit itself, or beyond it within rounding
        return float(places[k - 1])
    if over(places[k]) <= 0.0:
        return float(places[k])
    return float(brentq(over, places[k - 1], places[k]))


def _bernstein(powers: np.ndarray) -> np.ndarray:
    """The same polynomials in Bernstein form: they lie between their coefficients."""
    i, k = np.indices((len(powers), len(powers)))
    return np.tensordot(comb(i, k) / comb(len(powers) - 1, k), powers, axes=1)


def stationary(powers: np.ndarray) -> np.ndarray:
    """Places in [0, 1] (n, 2 degree - 2) among which are all where polynomials (order, n) turn.

    The real part of every root of the derivative, moved into [0, 1]: what is not a turning point
    is a point of the piece all the same, and a double root that rounding made complex is not lost.
    """
    slopes = powers[1:] * np.arange(1, len(powers))[:, None]  # rising powers
    count = len(slopes) - 1
    places = np.zeros((powers.shape[1], max(count, 0)))
    scale = np.abs(slopes).max(axis=0, initial=0.0)
    degrees = np.full(powers.shape[1], 0)
    for power in range(1, count + 1):
        degrees[np.abs(slopes[power]) > _ROUNDING * scale] = power
    for degree in range(1, count + 1):
        rows = np.flatnonzero(degrees == degree)
        companion = np.zeros((len(rows), degree, degree))
        companion[:, np.arange(1, degree), np.arange(degree - 1)] = 1.0
        companion[:, :, -1] = -(slopes[:degree, rows] / slopes[degree, rows]).T
        places[rows, :degree] = np.clip(np.linalg.eigvals(companion).real, 0.0, 1.0)
    return np.concatenate([places, _newton(slopes, places)], axis=1)


def _newton(slopes: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The same places closer to where ``slopes`` are zero.

    With a small leading coefficient, eigenvalues of the companion matrix have few correct digits.
    """
    curvatures = slopes[1:] * np.arange(1, len(slopes))[:, None]
    for _ in range(2):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            closer = places - _values(slopes, places) / _values(curvatures, places)
        places = np.clip(np.where(np.isfinite(closer), closer, places), 0.0, 1.0)
    return places


def _values(powers: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Polynomials (order, n) at ``places`` (n, m) of their pieces."""
    values = np.zeros(places.shape)
    for row in powers[::-1]:
        values = values * places + row[:, None]
    return values

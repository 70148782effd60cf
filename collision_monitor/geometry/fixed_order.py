# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Linear algebra of few numbers whose results are the same on every machine.

The products and decompositions of numpy call a BLAS, which chooses its code by the processor and
adds in different orders. A fit amplifies such differences of the last bit to other leaves. Here
sums have one order.
"""

from __future__ import annotations

import math

import numpy as np

_SWEEPS = 30  # five or six are usual
_OFF_DIAGONAL = 1e-15  # relative; smaller is zero


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the matrix product (..., m) of ``a`` (..., k) and ``b`` (k, m) or (k,)."""
    b = np.ascontiguousarray(b)  # faster
    return np.einsum("...k,k->..." if b.ndim == 1 else "...k,km->...m", a, b)


def norm(vector: np.ndarray) -> float:
    """Return the Euclidean norm of ``vector`` (n,)."""
    return math.sqrt(float((vector * vector).sum()))


def principal_axes(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the spread of ``points`` (n, 3) about their mean along three axes, and the axes.

    Spreads (3,) are sums of squares, ascending; axes are the columns of a rotation (3, 3). Cyclic
    Jacobi rotations (Golub and Van Loan, Matrix Computations, 8.5).
    """
    centred = points - points.mean(axis=0)
    s = np.einsum("ni,nj->ij", centred, centred).tolist()
    axes = np.eye(3).tolist()
    for _ in range(_SWEEPS):
        off = max(abs(s[0][1]), abs(s[0][2]), abs(s[1][2]))
        if off <= _OFF_DIAGONAL * max(s[0][0], s[1][1], s[2][2]):
            break
        for p, q in ((0, 1), (0, 2), (1, 2)):
            _rotate(s, axes, p, q)
    spreads = np.array([s[i][i] for i in range(3)])
    order = np.argsort(spreads, kind="stable")
    columns = np.array(axes)[:, order]
    columns[:, 0] = np.cross(columns[:, 1], columns[:, 2])  # a rotation, not a reflection
    return np.maximum(spreads[order], 0.0), columns


def _rotate(s: list[list[float]], axes: list[list[float]], p: int, q: int) -> None:
    """Turn the symmetric ``s`` and ``axes`` in place so that s[p][q] becomes zero."""
    if s[p][q] == 0.0:
        return
    theta = (s[q][q] - s[p][p]) / (2.0 * s[p][q])
    tangent = math.copysign(1.0, theta) / (abs(theta) + math.sqrt(theta * theta + 1.0))
    cosine = 1.0 / math.sqrt(tangent * tangent + 1.0)
    sine = tangent * cosine
    for row in (*s, *axes):
        row[p], row[q] = cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]
    s[p], s[q] = (
        [cosine * a - sine * b for a, b in zip(s[p], s[q], strict=True)],
        [sine * a + cosine * b for a, b in zip(s[p], s[q], strict=True)],
    )
    s[p][q] = s[q][p] = 0.0

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

from collision_monitor.common.compiled import reproducible_kernel

_SWEEPS = 20  # of rotations; a handful is enough


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the matrix product (..., m) of ``a`` (..., k) and ``b`` (k, m) or (k,)."""
    b = np.ascontiguousarray(b)  # faster
    return np.einsum("...k,k->..." if b.ndim == 1 else "...k,km->...m", a, b)


def norm(vector: np.ndarray) -> float:
    """Return the Euclidean norm of ``vector`` (n,)."""
    return math.sqrt(float((vector * vector).sum()))


def principal_axes(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the spread of ``points`` (n, 3) about their mean along three axes, and the axes.

    Spreads (3,) are sums of squares, ascending; axes are the columns of a rotation (3, 3).
    """
    centred = points - points.mean(axis=0)
    products, axes = np.einsum("ni,nj->ij", centred, centred), np.eye(3)
    turn_to_principal_axes(products, axes)
    return np.maximum(np.diag(products), 0.0), axes


def principal_axes_of_parts(points: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the `principal_axes` (k, 3, 3) of parts of ``points`` (n, 3).

    ``starts`` (k,): the first point of each part.
    """
    counts = np.diff(starts, append=len(points))
    means = np.add.reduceat(points, starts) / counts[:, None]
    offsets = points - np.repeat(means, counts, axis=0)
    products = np.add.reduceat(offsets[:, :, None] * offsets[:, None, :], starts)
    axes = np.tile(np.eye(3), (len(starts), 1, 1))
    for k in range(len(starts)):
        turn_to_principal_axes(products[k], axes[k])
    return axes


@reproducible_kernel
def turn_to_principal_axes(products, axes):
    """Turn ``axes`` (3, 3), columns, initially those of ``products`` (3, 3), to the principal axes.

    Products become diagonal, with ascending elements. Cyclic Jacobi rotations (Golub and Van Loan,
    Matrix Computations, 8.5).
    """
    for _ in range(_SWEEPS):
        off = abs(products[0, 1]) + abs(products[0, 2]) + abs(products[1, 2])
        if not off > 1e-16 * (products[0, 0] + products[1, 1] + products[2, 2]):
            break
        for p, q in ((0, 1), (0, 2), (1, 2)):
            if products[p, q] == 0.0:
                continue
            ratio = 0.5 * (products[q, q] - products[p, p]) / products[p, q]
            tangent = math.copysign(1.0, ratio) / (abs(ratio) + math.sqrt(ratio * ratio + 1.0))
            cosine = 1.0 / math.sqrt(tangent * tangent + 1.0)
            sine = tangent * cosine
            for i in range(3):
                x, y = products[i, p], products[i, q]
                products[i, p], products[i, q] = cosine * x - sine * y, sine * x + cosine * y
                x, y = axes[i, p], axes[i, q]
                axes[i, p], axes[i, q] = cosine * x - sine * y, sine * x + cosine * y
            for i in range(3):
                x, y = products[p, i], products[q, i]
                products[p, i], products[q, i] = cosine * x - sine * y, sine * x + cosine * y
    for p, q in ((0, 1), (1, 2), (0, 1)):
        if products[p, p] > products[q, q]:
            products[p, p], products[q, q] = products[q, q], products[p, p]
            for i in range(3):
                axes[i, p], axes[i, q] = axes[i, q], axes[i, p]
    make_orthonormal(axes)


@reproducible_kernel
def make_orthonormal(axes):
    """Set the length of the first column to 1, the second to last x first, the last to match."""
    for column in range(2):
        length = math.sqrt(axes[0, column] ** 2 + axes[1, column] ** 2 + axes[2, column] ** 2)
        for x in range(3):
            axes[x, column] /= length
        one = (column + 2) % 3
        for x in range(3):
            y, z = (x + 1) % 3, (x + 2) % 3
            axes[x, column + 1] = axes[y, one] * axes[z, column] - axes[z, one] * axes[y, column]

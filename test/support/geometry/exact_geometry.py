# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Slow geometry in rational arithmetic, without a rounding anywhere, to judge kernels by."""

from fractions import Fraction
from itertools import combinations, product


def rational(points):
    """Points of floats as points of fractions: the same numbers."""
    return [[Fraction(float(x)) for x in point] for point in points]


def minus(a, b):
    return [x - y for x, y in zip(a, b, strict=True)]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def solve(matrix, right):
    """Solution of a square system by elimination, None where it is singular."""
    n = len(matrix)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k in range(n):
        pivot = next((r for r in range(k, n) if rows[r][k] != 0), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for r in range(n):
            if r != k and rows[r][k] != 0:
                rows[r] = [x - rows[r][k] * y for x, y in zip(rows[r], rows[k], strict=True)]
    return [row[n] for row in rows]


def share_a_point(first, second):
    """Whether two convex hulls of points share a point: a linear program's feasibility.

    Weights u, v >= 0 with sum u = sum v = 1 and sum u a = sum v b: phase one of the simplex
    method with Bland's rule. Knows nothing of planes, sides or degenerate cases.
    """
    a, b = rational(first), rational(second)
    columns = [[*point, 1, 0] for point in a] + [[*(-x for x in point), 0, 1] for point in b]
    right = [0, 0, 0, 1, 1]
    n, m = len(columns), len(right)
    # Row r: coefficients, its own artificial variable (n + r), right-hand side.
    rows = [
        [Fraction(column[r]) for column in columns]
        + [Fraction(r == k) for k in range(m)]
        + [Fraction(right[r])]
        for r in range(m)
    ]
    basis = [n + r for r in range(m)]
    cost = [sum(row[k] for row in rows) for k in range(n)] + [Fraction(0)] * m
    cost.append(sum(row[-1] for row in rows))  # of the artificial variables; to become zero
    while (enters := next((k for k in range(n) if cost[k] > 0), None)) is not None:
        _, _, leaves = min(
            (rows[r][-1] / rows[r][enters], basis[r], r) for r in range(m) if rows[r][enters] > 0
        )
        pivot = rows[leaves][enters]
        rows[leaves] = [x / pivot for x in rows[leaves]]
        for row in [*(rows[r] for r in range(m) if r != leaves), cost]:
            factor = row[enters]
            if factor != 0:
                row[:] = [x - factor * y for x, y in zip(row, rows[leaves], strict=True)]
        basis[leaves] = enters
    return cost[-1] == 0


def squared_distance(first, second):
    """Squared distance of two convex hulls of points, as a fraction.

    The least over all pairs of subsets of the vertices, of the distance between the flats
    through them where it is reached within both: one such pair holds the nearest points.
    """
    a, b = rational(first), rational(second)
    least = None
    for ra, rb in product(range(1, len(a) + 1), range(1, len(b) + 1)):
        for p, q in product(combinations(a, ra), combinations(b, rb)):
            directions = [minus(x, p[0]) for x in p[1:]] + [minus(q[0], x) for x in q[1:]]
            start = minus(p[0], q[0])
            gram = [[dot(u, v) for v in directions] for u in directions]
            weights = solve(gram, [-dot(u, start) for u in directions])
            if weights is None or any(w < 0 for w in weights):
                continue
            if sum(weights[: ra - 1]) > 1 or sum(weights[ra - 1 :]) > 1:
                continue
            gap = [
                start[k] + sum(w * u[k] for w, u in zip(weights, directions, strict=True))
                for k in range(len(start))
            ]
            value = dot(gap, gap)
            least = value if least is None else min(least, value)
    return least

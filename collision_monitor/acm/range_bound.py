# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How near two links can come while the joints between them stay within a box.

Two bounds, after Schwarzer, Saha and Latombe (IEEE Trans. Robotics 21(3), 2005), made tighter.

First order: moving one joint by w turns everything on one side of it against everything on the
other side, so that two bodies lose no more than w times the reach of the *one* that is nearer to
the axis; the joints may be moved one after another. Instead of a large w counts the chord,
2 sin(w / 2).

Second order: along the direction n of the nearest points in the middle, the gap is linear in the
joints but for half the accelerations of both points. With d2p / dq_j dq_k =
z_j x (z_k x (p - o_k)), j nearer than k to the body that is held, these are at most the sum over k
of w_k R_k (w_k + 2 sum of w_j between k and that body). Any body on the way may be held.

A joint that turns the last body of the chain about its own axis can be left out where the leaves
are swept about it: many a forearm is round.

A reach R_k is the distance from the axis in the middle of the box, plus what the joints between
the axis and the body can add to it: it becomes exact as the box shrinks.
"""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.acm.chain import carry, rate
from collision_monitor.common.compiled import offline_kernel
from collision_monitor.geometry.segments import capsule_distance, capsule_witness, surely_farther
from collision_monitor.hierarchy.packed import PRISMATIC

# Metres that rounding could have taken from a bound.
ROUNDING = 1e-9


@offline_kernel
def spans(chain, half, widths, chords):
    """Half widths (n,) of the joints from those of the columns, and their chords."""
    for k in range(len(widths)):
        w = abs(chain.motion[k, 0]) * half[chain.joints[k, 1]]
        widths[k] = chords[k] = w
        if chain.joints[k, 0] != PRISMATIC:
            chords[k] = 2.0 * math.sin(0.5 * min(w, math.pi))


@offline_kernel
def _from_axis(axes, k, x, y, z):
    """Distance of a point from the axis of joint k."""
    ax, ay, az = axes[k, 0], axes[k, 1], axes[k, 2]
    px, py, pz = x - axes[k, 3], y - axes[k, 4], z - axes[k, 5]
    cx, cy, cz = ay * pz - az * py, az * px - ax * pz, ax * py - ay * px
    return math.sqrt(cx * cx + cy * cy + cz * cz)


@offline_kernel
def fill_reaches(chain, axes, chords, ends, reaches):
    """Upper bounds (2 m, n) of the distance of every leaf from every axis, anywhere in the box.

    1 for joints that slide; 0 for the joint that a leaf is swept about. Two more rows are for A and
    B as a whole.
    """
    joints, leaves = len(chain.joints), len(ends)
    for side in range(2):
        for k in range(joints):
            reaches[leaves + side, k] = 0.0
    for i in range(leaves):
        first = i % chain.rows < chain.leaves
        still = i >= chain.rows and chain.swept[0 if first else 1]
        total = 0.0
        for step in range(joints):
            k = step if first else joints - 1 - step
            if step == 0 and still:
                reach = 0.0
            elif chain.joints[k, 0] == PRISMATIC:
                reach = 1.0
            else:
                reach = (
                    max(
                        _from_axis(axes, k, ends[i, 0], ends[i, 1], ends[i, 2]),
                        _from_axis(axes, k, ends[i, 3], ends[i, 4], ends[i, 5]),
                    )
                    + chain.radii[i, 0]
                    + total
                )
            reaches[i, k] = reach
            total += chords[k] * reach
            whole = leaves if first else leaves + 1
            if i < chain.rows:
                reaches[whole, k] = max(reaches[whole, k], reach)


@offline_kernel
def fill_bends(chain, widths, reaches, bends):
    """Upper bounds (2 m + 2, n + 1) of accelerations, for each body that may be held.

    Column s: the first s joints move A, the others B. Rows as of ``reaches``.
    """
    joints = len(widths)
    for i in range(len(reaches)):
        whole = i - 2 * chain.rows
        first = i % chain.rows < chain.leaves if whole < 0 else whole == 0
        bend, path = 0.0, 0.0
        bends[i, 0 if first else joints] = 0.0
        for step in range(joints):
            k = step if first else joints - 1 - step
            w = widths[k]
            if chain.joints[k, 0] != PRISMATIC:
                bend += w * (w * reaches[i, k] + 2.0 * path)
            path += w * reaches[i, k]
            bends[i, k + 1 if first else k] = bend


@offline_kernel
def travel(chords, reaches, i, j):
    """How much nearer rows i and j can come, to first order."""
    total = 0.0
    for k in range(len(chords)):
        total += chords[k] * min(reaches[i, k], reaches[j, k])
    return total


@offline_kernel
def _held(bends, i, j):
    """Number of joints that move A when the body is held that leaves the least acceleration."""
    best, least = 0, np.inf
    for s in range(bends.shape[1]):
        if bends[i, s] + bends[j, s] < least:
            best, least = s, bends[i, s] + bends[j, s]
    return best


@offline_kernel
def _foremost(chain, axes, widths, s, x, y, z, nx, ny, nz):
    """How far along n a point of A can be, but for its acceleration."""
    height = nx * x + ny * y + nz * z
    for k in range(s):
        height += widths[k] * abs(rate(chain, axes, k, x, y, z, nx, ny, nz))
    return height


@offline_kernel
def _rearmost(chain, axes, widths, s, x, y, z, nx, ny, nz):
    """How far back along n a point of B can be, but for its acceleration."""
    height = nx * x + ny * y + nz * z
    for k in range(s, len(widths)):
        height -= widths[k] * abs(rate(chain, axes, k, x, y, z, nx, ny, nz))
    return height


@offline_kernel
def leaves_gap(chain, axes, widths, bends, ends, i, j):
    """Lower bound of the distance of leaf i of A and leaf j of B in the box, to second order."""
    _, _, _, _, _, _, _, nx, ny, nz = capsule_witness(ends, chain.radii, i, j)
    s = _held(bends, i, j)
    low, high = np.inf, -np.inf
    for m in range(0, 6, 3):
        x, y, z = ends[i, m], ends[i, m + 1], ends[i, m + 2]
        high = max(high, _foremost(chain, axes, widths, s, x, y, z, nx, ny, nz))
        x, y, z = ends[j, m], ends[j, m + 1], ends[j, m + 2]
        low = min(low, _rearmost(chain, axes, widths, s, x, y, z, nx, ny, nz))
    return low - high - chain.radii[i, 0] - chain.radii[j, 0] - 0.5 * (bends[i, s] + bends[j, s])


@offline_kernel
def hulls_gap(chain, axes, poses, widths, bends, nx, ny, nz, point):
    """Lower bound of the distance of A and B in the box, by a plane across n."""
    rows = len(bends)
    s = _held(bends, rows - 2, rows - 1)
    low, high = np.inf, -np.inf
    for i in range(len(chain.hull_a)):
        carry(poses[0], chain.hull_a, i, 0, point, 0, 0)
        x, y, z = point[0, 0], point[0, 1], point[0, 2]
        high = max(high, _foremost(chain, axes, widths, s, x, y, z, nx, ny, nz))
    for i in range(len(chain.hull_b)):
        carry(poses[1], chain.hull_b, i, 0, point, 0, 0)
        x, y, z = point[0, 0], point[0, 1], point[0, 2]
        low = min(low, _rearmost(chain, axes, widths, s, x, y, z, nx, ny, nz))
    bend = 0.5 * (bends[rows - 2, s] + bends[rows - 1, s])
    return low - high - chain.thick[0] - chain.thick[1] - bend


@offline_kernel
def leaves_bound(chain, axes, widths, chords, reaches, bends, ends, begin):
    """(bound, leaf, leaf): at most the distance of any two leaves in the box, and which two.

    The bound is infinite, and the leaves -1, where none can touch. ``begin``: 0 for leaves as they
    are, ``chain.rows`` for swept ones.
    """
    least, best_i, best_j = np.inf, -1, -1
    for i in range(begin, begin + chain.leaves):
        for j in range(begin + chain.leaves, begin + chain.rows):
            loss = travel(chords, reaches, i, j) + ROUNDING
            if surely_farther(ends, chain.radii, i, j, loss):
                continue
            apart = capsule_distance(ends, chain.radii, i, j)
            if apart > loss:
                continue
            bound = apart - loss
            if apart > 0.0:
                bound = max(
                    bound, leaves_gap(chain, axes, widths, bends, ends, i, j) - ROUNDING
                )
            if bound <= 0.0 and bound < least:
                least, best_i, best_j = bound, i, j
    return least, best_i, best_j

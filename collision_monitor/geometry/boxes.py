# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Axis-aligned boxes: rows (xmin, ymin, zmin, xmax, ymax, zmax)."""

from __future__ import annotations

import math

from collision_monitor.common.compiled import kernel, small_kernel


@kernel
def box_gap(boxes, i, j):
    """A lower bound of the signed distance of whatever boxes i and j enclose.

    Apart: the Euclidean distance of the boxes. Overlapping: the largest of the three
    axis gaps, negative; bodies that share no more than that along one axis can be
    parted along it, so their penetration is never deeper.
    """
    gx = max(boxes[i, 0] - boxes[j, 3], boxes[j, 0] - boxes[i, 3])
    gy = max(boxes[i, 1] - boxes[j, 4], boxes[j, 1] - boxes[i, 4])
    gz = max(boxes[i, 2] - boxes[j, 5], boxes[j, 2] - boxes[i, 5])
    largest = max(gx, max(gy, gz))
    if largest <= 0.0:
        return largest
    gx, gy, gz = max(gx, 0.0), max(gy, 0.0), max(gz, 0.0)
    return math.sqrt(gx * gx + gy * gy + gz * gz)


@kernel
def boxes_overlap(boxes, i, j, margin):
    """Whether boxes i and j come closer than ``margin`` along every axis."""
    return (
        boxes[i, 0] - margin <= boxes[j, 3]
        and boxes[j, 0] - margin <= boxes[i, 3]
        and boxes[i, 1] - margin <= boxes[j, 4]
        and boxes[j, 1] - margin <= boxes[i, 4]
        and boxes[i, 2] - margin <= boxes[j, 5]
        and boxes[j, 2] - margin <= boxes[i, 5]
    )


@small_kernel
def box_size(boxes, i):
    """Sum of the edges of box i: of two boxes the larger is to be opened first."""
    return boxes[i, 3] - boxes[i, 0] + boxes[i, 4] - boxes[i, 1] + boxes[i, 5] - boxes[i, 2]

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A model as two flat arrays, and the windows through which kernels see it.

Handing an array to compiled code costs about 50 ns, more than many a query: so
everything a query needs lies in one float and one integer array. Each begins
with no header of its own; ``index[0:HEADER]`` holds sizes and offsets.

======================  ==========================================================
window                  rows and columns
======================  ==========================================================
joint_table  (int)      joints x (parent body, kind, column of q)
joint_motion (float)    joints x (gain, offset): position = gain * q[column] + offset
placements (float)      joints x 12: rotation row by row, translation; at position 0
poses (float)           bodies x 12: the same, in the base frame (written by a query)
leaf_bodies (int)       leaves x 1
leaf_ends (float)       leaves x 6: both end points in the body's frame
radii (float)           leaves x 1
ends (float)            leaves x 6: end points in the base frame (written)
nodes (int)             nodes x (first child, second child); a leaf: (-1, leaf)
boxes (float)           nodes x 6: AABB of a node (written)
open_bits (int)         moving nodes x words: which nodes hold a partner to be checked
links (int)             links x (first leaf, one past the last)
pairs (int)             pairs x (link, link)
warm_start (int)        1 x 2: the nearest two leaves of the last query (written)
======================  ==========================================================

Body 0 is the base; joint k moves body k + 1 about or along the z axis of its own frame.
Nodes: first the tree of the leaves that move, level by level, then that of those
that do not. A child's index is above its parent's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collision_monitor.common.array_views import borrow
from collision_monitor.common.compiled import kernel

REVOLUTE, PRISMATIC = 0, 1

HEADER = 32


class View(NamedTuple):
    """Windows into the packed arrays; see the module's table."""

    joint_table: np.ndarray
    leaf_bodies: np.ndarray
    nodes: np.ndarray
    open_bits: np.ndarray
    links: np.ndarray
    pairs: np.ndarray
    warm_start: np.ndarray
    joint_motion: np.ndarray
    placements: np.ndarray
    poses: np.ndarray
    leaf_ends: np.ndarray
    radii: np.ndarray
    ends: np.ndarray
    boxes: np.ndarray
    moving_leaves: int  # leaves 0 .. moving_leaves - 1 are on moving bodies
    moving_nodes: int  # nodes 0 .. moving_nodes - 1 form the tree of those leaves


_INTEGERS = 7  # the first so many windows of a View lie in the integer array


def pack(view: View) -> tuple[np.ndarray, np.ndarray]:
    """(numbers, index): the windows of ``view`` one after another in two arrays."""
    windows = [np.atleast_2d(np.asarray(w)) for w in view[:14]]
    header = np.zeros(HEADER, dtype=np.int64)
    offsets = [HEADER, 0]
    for k, window in enumerate(windows):
        which = 0 if k < _INTEGERS else 1
        header[k] = offsets[which]
        offsets[which] += window.size
    header[14] = len(view.joint_table)
    header[15] = len(view.leaf_bodies)
    header[16] = len(view.nodes)
    header[17] = view.open_bits.shape[1]
    header[18] = len(view.links)
    header[19] = len(view.pairs)
    header[20] = view.moving_leaves
    header[21] = view.moving_nodes
    integers = [w.astype(np.int64).ravel() for w in windows[:_INTEGERS]]
    floats = [w.astype(np.float64).ravel() for w in windows[_INTEGERS:]]
    return np.concatenate(floats), np.concatenate([header, *integers])


def windows(numbers: np.ndarray, index: np.ndarray) -> View:
    """The View of two packed arrays for numpy: windows, not copies."""
    joints, leaves, nodes, words, links, pairs, moving_leaves, moving_nodes = index[14:22].tolist()
    shapes = [
        (joints, 3), (leaves, 1), (nodes, 2), (moving_nodes, words), (links, 2), (pairs, 2), (1, 2),
        (joints, 2), (joints, 12), (joints + 1, 12), (leaves, 6), (leaves, 1), (leaves, 6),
        (nodes, 6),
    ]  # fmt: skip
    found = []
    for k, (rows, columns) in enumerate(shapes):
        source = index if k < _INTEGERS else numbers
        found.append(source[index[k] : index[k] + rows * columns].reshape(rows, columns))
    return View(*found, moving_leaves, moving_nodes)


@kernel
def unpack(numbers, index):
    """The View of two packed arrays; valid as long as they live."""
    joints, leaves, nodes = index[14], index[15], index[16]
    return View(
        borrow(index, index[0], joints, 3),
        borrow(index, index[1], leaves, 1),
        borrow(index, index[2], nodes, 2),
        borrow(index, index[3], index[21], index[17]),
        borrow(index, index[4], index[18], 2),
        borrow(index, index[5], index[19], 2),
        borrow(index, index[6], 1, 2),
        borrow(numbers, index[7], joints, 2),
        borrow(numbers, index[8], joints, 12),
        borrow(numbers, index[9], joints + 1, 12),
        borrow(numbers, index[10], leaves, 6),
        borrow(numbers, index[11], leaves, 1),
        borrow(numbers, index[12], leaves, 6),
        borrow(numbers, index[13], nodes, 6),
        index[20],
        index[21],
    )

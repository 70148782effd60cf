# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The compiled entry points: one call for each query, from joint positions to distances.

``numbers`` and ``index`` are the arrays of `packed.pack`. They contain the work space, so two
threads must not query the same arrays at the same time.
"""

from __future__ import annotations

import logging
import os
import time

import numpy as np

from collision_monitor.common.compiled import (
    cache_directory,
    compiling,
    is_on_disk,
    kernel,
    offline_kernel,
    small_kernel,
)
from collision_monitor.common.compiling_process import CompilingProcess
from collision_monitor.geometry.segments import capsule_distance, capsule_witness, surely_farther
from collision_monitor.hierarchy.aabb_tree import ROOT, nearest_leaves, refit, touching_leaves
from collision_monitor.hierarchy.kinematics import forward_kinematics, place_leaves
from collision_monitor.hierarchy.packed import View, pack, unpack
from collision_monitor.robot.insides import any_inside


@small_kernel
def place_all(numbers, index):
    """Place what never moves, once at load: static leaves and the boxes above them."""
    view = unpack(numbers, index)
    place_leaves(view, len(view.leaf_bodies))
    refit(view, view.moving_nodes, len(view.nodes))


@small_kernel
def move(view, q):
    """Forward kinematics, moving leaves, refit."""
    forward_kinematics(view, q)
    place_leaves(view, view.moving_leaves)
    refit(view, ROOT, view.moving_nodes)


# LARGEST_POSITION of common/limits.py; a constant of kernels has to be in a file with kernels.
FARTHEST = 1e9


@kernel
def first_bad(q):
    """Index of the first value of q that is no joint position, or -1."""
    for k in range(len(q)):
        if not abs(q[k]) <= FARTHEST:  # NaN, too
            return k
    return -1


@kernel
def distance(numbers, index, q):
    """(leaf i, leaf j, signed distance, 3 + 3 point coordinates, 3 normal components).

    Leaf i is -2 - k when q[k] is not finite, -1 when no pair is checked.
    """
    bad = first_bad(q)
    if bad >= 0:
        return -2 - bad, -1, np.nan, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    view = unpack(numbers, index)
    move(view, q)
    _, i, j = nearest_leaves(view)
    if i < 0:
        return -1, -1, np.nan, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    d, ax, ay, az, bx, by, bz, nx, ny, nz = capsule_witness(view.ends, view.radii, i, j)
    return i, j, d, ax, ay, az, bx, by, bz, nx, ny, nz


@offline_kernel
def min_distances(numbers, index, configurations, out):
    """out[k] = smallest signed distance at configurations[k]; row of a bad one, or -1."""
    view = unpack(numbers, index)
    for k in range(len(configurations)):
        q = configurations[k]
        if first_bad(q) >= 0:
            return k
        move(view, q)
        out[k] = nearest_leaves(view)[0]
    return -1


@kernel
def pair_distances(numbers, index, configurations, out):
    """out[k, p] = signed distance of link pair p at configurations[k]; as above."""
    view = unpack(numbers, index)
    links, pairs = view.links, view.pairs
    for k in range(len(configurations)):
        q = configurations[k]
        if first_bad(q) >= 0:
            return k
        forward_kinematics(view, q)
        place_leaves(view, view.moving_leaves)
        for p in range(len(pairs)):
            a, b = pairs[p, 0], pairs[p, 1]
            least = np.inf
            for i in range(links[a, 0], links[a, 1]):
                for j in range(links[b, 0], links[b, 1]):
                    if not surely_farther(view.ends, view.radii, i, j, least):
                        least = min(least, capsule_distance(view.ends, view.radii, i, j))
            out[k, p] = least
    return -1


@kernel
def contacts(numbers, index, q, margin, found):
    """Leaf pairs closer than ``margin`` into ``found`` (k, 2); their number, or -2 - k.

    ``found`` is work space too; with too few rows the answer is one more than they are.
    """
    bad = first_bad(q)
    if bad >= 0:
        return -2 - bad
    view = unpack(numbers, index)
    move(view, q)
    return touching_leaves(view, margin, found)


@kernel
def leaf_segments(numbers, index, q, out):
    """Fill out (leaves, 6) with end points of every leaf in the base frame; 0, or -2 - k."""
    bad = first_bad(q)
    if bad >= 0:
        return -2 - bad
    view = unpack(numbers, index)
    forward_kinematics(view, q)
    place_leaves(view, view.moving_leaves)
    for k in range(len(out)):  # an assignment of arrays takes seconds to compile
        for axis in range(6):
            out[k, axis] = view.ends[k, axis]
    return 0


logger = logging.getLogger(__name__)


# -- compiling before the first query --
#
# Compiling takes seconds. `distance` and the kernels of loading are compiled while a robot is
# loaded, the other queries when a monitor is created, never when a joint state arrives. Everything
# else is compiled at its first call.


def empty_model() -> tuple[np.ndarray, np.ndarray]:
    """(numbers, index) of a model without joints and leaves: kernels are the same for all."""
    none = np.empty(0, dtype=np.int64)
    view = View(
        joint_table=none.reshape(0, 3),
        leaf_bodies=none.reshape(0, 1),
        nodes=none.reshape(0, 2),
        open_bits=none.reshape(0, 1),
        links=none.reshape(0, 2),
        pairs=none.reshape(0, 2),
        warm_start=np.array([[-1, -1]]),
        joint_motion=np.empty((0, 2)),
        placements=np.empty((0, 12)),
        poses=np.zeros((1, 12)),
        leaf_ends=np.empty((0, 6)),
        radii=np.empty((0, 1)),
        ends=np.empty((0, 6)),
        boxes=np.empty((0, 6)),
        moving_leaves=0,
        moving_nodes=0,
    )
    return pack(view)


def warm_up() -> None:
    """Compile what loading and the first distance run, or load it from disk; the log says why.

    Compiles in another process where there is a second core: this one can fit leaves meanwhile.
    """
    compile_now = not is_on_disk(distance)
    begin = time.monotonic()
    if compile_now:
        logger.info("compiling kernels; this takes some seconds, once")
        if cache_directory() is not None and len(os.sched_getaffinity(0)) > 1:
            CompilingProcess("", f"{__name__}:{_compile.__name__}").wait()
    _compile()
    if compile_now:
        logger.info("kernels compiled in %.1f s", time.monotonic() - begin)


def _compile() -> None:
    numbers, index = empty_model()
    q = np.empty(0)
    with compiling(distance):
        any_inside(np.empty((0, 3)), np.empty((0, 3, 3)))
        place_all(numbers, index)
        contacts(numbers, index, q, 0.0, np.empty((2, 2), dtype=np.int64))
        distance(numbers, index, q)


def warm_up_for_states() -> None:
    """Compile the other queries for one configuration: no joint state of a monitor waits for it."""
    numbers, index = empty_model()
    q = np.empty(0)
    with compiling(pair_distances):
        leaf_segments(numbers, index, q, np.empty((0, 6)))
        pair_distances(numbers, index, q.reshape(1, 0), np.empty((1, 0)))

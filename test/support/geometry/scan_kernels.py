# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds of one pair in one piece of motion, as kernels that tests can call."""

from collision_monitor.common.array_views import work_space
from collision_monitor.common.compiled import TRUE, ZERO, offline_kernel
from collision_monitor.continuous.pair_sweep import ball_bound, pair_bound
from collision_monitor.continuous.scan_space import path_of, set_out, sweep_of
from collision_monitor.continuous.shape_sweep import hull_bound, shape_distance, unpack_tables
from collision_monitor.hierarchy.packed import unpack


@offline_kernel
def leaf_bound(numbers, index, space, motion, time, half, p, target, q, rates):
    """(bound, travel) of the leaves of pair p for ``half`` s around ``time``; see `pair_bound`."""
    view = unpack(numbers, index)
    sweep = sweep_of(view, space)
    set_out(view, space, path_of(motion), sweep, time, half, q, rates)
    _, travel = ball_bound(view, sweep, p, ZERO)
    i, j = view.links[view.pairs[p, 0], 0], view.links[view.pairs[p, 1], 0]
    return pair_bound(view, sweep, p, travel, target, i, j, TRUE, ZERO)


@offline_kernel
def shape_bound(numbers, index, tables, space, motion, time, half, p, q, rates):
    """(distance at ``time``, bound by the hulls alone) of the shapes of a pair that is apart."""
    view, shapes = unpack(numbers, index), unpack_tables(tables)
    sweep, normal = sweep_of(view, space), work_space(time, 1, 3)
    set_out(view, space, path_of(motion), sweep, time, half, q, rates)
    i, j = view.links[view.pairs[p, 0], 0], view.links[view.pairs[p, 1], 0]
    distance = shape_distance(view, shapes, p, i, j, 1e9, 1e9, normal)
    if not distance > 0.0:
        return distance, -1e9
    return distance, hull_bound(view, sweep, shapes, p, normal, ZERO)

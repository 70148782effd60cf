# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Single questions of one pair of links: which of its leaves may come too near, and its points."""

from __future__ import annotations

import numpy as np

from collision_monitor.common.compiled import offline_kernel
from collision_monitor.continuous.pair_sweep import ball_bound, pair_suspects
from collision_monitor.continuous.scan_space import balls_of, paths_of, set_out, sweep_of
from collision_monitor.geometry.segments import capsule_witness
from collision_monitor.hierarchy.kinematics import forward_kinematics, place_leaves
from collision_monitor.hierarchy.packed import unpack


@offline_kernel
def suspects(numbers, index, space, motion, starts, widths, time, half, p, target, q):
    """(bound, travel) of pair p for ``half`` s about ``time``, by its leaves.

    ``bound``: no leaves come nearer, metres. ``travel``: how far at most two leaves come nearer
    that are not shown to keep ``target``; -1 where all are. Writes the configuration into q.
    """
    view, paths = unpack(numbers, index), paths_of(motion)
    groups = len(paths.paths)
    balls, sweep = balls_of(view, space, groups), sweep_of(view, space, motion)
    rates = np.zeros((len(q), 3))
    set_out(view, space, motion, paths, balls, sweep, time, half, starts, widths, q, rates)
    _, travel = ball_bound(view, balls, sweep, p, 0)
    return pair_suspects(view, balls, sweep, groups, p, travel, target, 0)


@offline_kernel
def witness(numbers, index, q, i, j):
    """What `capsule_witness` says of leaves i and j at configuration q."""
    view = unpack(numbers, index)
    forward_kinematics(view, q)
    place_leaves(view, view.moving_leaves)
    return capsule_witness(view.ends, view.radii, i, j)

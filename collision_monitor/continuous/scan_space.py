# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What a scan of a motion reads and writes: paths, tables and work space, as flat arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collision_monitor.common.array_views import borrow
from collision_monitor.common.compiled import offline_kernel
from collision_monitor.continuous.pair_sweep import Balls, place_balls
from collision_monitor.continuous.path_range import SLOPE, SPAN, STRAY, Paths, path_range
from collision_monitor.continuous.sweep import FAR, OFF, SIZE, TURN, Sweep
from collision_monitor.hierarchy.kinematics import forward_kinematics, place_leaves


class Motion(NamedTuple):
    """`Paths` as flat arrays, and which joints they drive.

    Attributes:
        breaks, coefficients, paths, columns: the windows of `Paths`, row by row.
        order: of the polynomials.
        groups: (kernel joints,) the path that drives each; 0 for one that none drives.
    """

    breaks: np.ndarray
    coefficients: np.ndarray
    paths: np.ndarray
    columns: np.ndarray
    order: int
    groups: np.ndarray


class Space(NamedTuple):
    """Tables and work space of one thread, flat; see `Balls` and `Sweep`."""

    centers: np.ndarray
    radii: np.ndarray
    link_centers: np.ndarray
    filled: np.ndarray
    speeds: np.ndarray
    firsts: np.ndarray
    joints: np.ndarray
    travel: np.ndarray
    stray: np.ndarray
    bend: np.ndarray
    work: np.ndarray
    half_times: np.ndarray


@offline_kernel
def paths_of(motion):
    """`Paths` of a motion: windows."""
    count = len(motion.paths) // 4
    return Paths(
        borrow(motion.breaks, 0, len(motion.breaks), 1),
        borrow(
            motion.coefficients, 0, len(motion.coefficients) // motion.order, motion.order
        ),
        borrow(motion.paths, 0, count, 4),
        borrow(motion.columns, 0, count, len(motion.columns) // count),
    )


@offline_kernel
def balls_at(view, space, groups):
    """`Balls` of a model as they are: windows."""
    leaves, links, rows = len(view.leaf_bodies), len(view.links), len(space.filled)
    return Balls(
        borrow(space.centers, 0, leaves + links, 3),
        borrow(space.radii, 0, leaves + links, 1),
        borrow(space.link_centers, 0, links, 4),
        borrow(space.filled, 0, rows, 1),
        borrow(space.speeds, 0, 4, groups),
        borrow(space.firsts, 0, len(view.pairs), 2),
    )


@offline_kernel
def balls_of(view, space, groups):
    """`Balls` of a model: those that stand still are placed, and nothing is filled."""
    balls = balls_at(view, space, groups)
    for row in range(len(space.filled)):
        space.filled[row] = -1
    place_balls(view, balls, view.moving_leaves, len(view.leaf_bodies), False)
    return balls


@offline_kernel
def sweep_of(view, space, motion):
    """`Sweep` of a model: windows."""
    joints, rows = len(view.joint_table), len(space.filled)
    return Sweep(
        borrow(space.joints, 0, joints, 4),
        borrow(motion.groups, 0, joints, 1),
        borrow(space.travel, 0, rows, joints),
        borrow(space.stray, 0, rows, joints),
        borrow(space.bend, 0, rows, joints),
    )


@offline_kernel
def move(view, balls, q):
    """Place leaves and balls that move."""
    forward_kinematics(view, q)
    place_leaves(view, view.moving_leaves)
    place_balls(view, balls, 0, view.moving_leaves, True)


@offline_kernel
def turn(view, sweep, rates, half_times):
    """Rows of `Sweep.joints` from how the columns of q move."""
    for k in range(len(view.joint_table)):
        column, gain = view.joint_table[k, 2], view.joint_motion[k, 0]
        turn = gain * rates[column, SLOPE] * half_times[sweep.groups[k, 0]]
        sweep.joints[k, TURN], sweep.joints[k, SIZE] = turn, abs(turn)
        sweep.joints[k, FAR] = abs(gain) * rates[column, SPAN]
        sweep.joints[k, OFF] = abs(gain) * rates[column, STRAY]


@offline_kernel
def set_out(view, space, motion, paths, balls, sweep, time, half, starts, ranges, q, rates):
    """Place everything at ``time``, and tell how it moves for ``half`` s to both sides.

    Paths begin within ``ranges`` (paths,) s of ``starts``. ``q`` (nq,) and ``rates`` (nq, 3) are
    written, `sweep.joints` too.
    """
    groups, width = len(paths.paths), len(motion.columns) // len(paths.paths)
    work = borrow(space.work, 0, motion.order, 1)
    for g in range(groups):
        space.half_times[g] = half + ranges[g]
        path_range(
            paths, motion.order, width, g, time - starts[g], space.half_times[g], work, q, rates
        )
    move(view, balls, q)
    turn(view, sweep, rates, space.half_times)

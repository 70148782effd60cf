# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How far the points of a leaf can go in a piece of motion: per leaf, and per joint.

About a configuration, kernel joint k moves by at most ``span[k]``, along a straight motion by at
most ``turn[k]`` to both sides, and strays by at most ``stray[k]`` from it. With r_k the distance
of the leaf's farthest point from axis k *at that configuration* (1 for a joint that slides):

- Its points go no farther than the sum of span_k r_k: turn the joints from the base outwards,
  then all beyond the joint that turns is still as it was.
- Along the straight motion r_k grows to at most R_k = r_k + the sum of turn_j r_j over the joints j
  beyond k. So the path strays from it by at most the sum of stray_k R_k.
- The straight motion's second derivative is at most the sum of turn_k R_k (turn_k + 2 sum of
  turn_j before k), since d2p / dq_j dq_k = z_j x (z_k x (p - o_k)) for j not beyond k.

A pair of links is moved by the joints that only one of them is carried by; these are the
outer ends of both chains. So each sum is kept from every joint outwards: row ``leaf``, column k
holds it for the joints from k on.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from collision_monitor.common.compiled import offline_kernel
from collision_monitor.hierarchy.packed import PRISMATIC


class Sweep(NamedTuple):
    """Windows; the first two are of joints, the others of the links that they carry.

    Attributes:
        joints: (kernel joints, 4): signed turn, |turn|, span, stray; see the module.
        groups: (kernel joints, 1): which path drives a joint; those of one path move together.
        travel: (rows, kernel joints), metres: first sum.
        stray: (rows, kernel joints), metres: second sum.
        bend: (rows, kernel joints), metres: third sum.
    """

    joints: np.ndarray
    groups: np.ndarray
    travel: np.ndarray
    stray: np.ndarray
    bend: np.ndarray


TURN, SIZE, FAR, OFF = 0, 1, 2, 3


@offline_kernel
def axis_distance(view, k, x, y, z):
    """Distance of a point from the axis of joint k, which turns; metres."""
    poses, body = view.poses, k + 1
    ax, ay, az = poses[body, 2], poses[body, 5], poses[body, 8]
    px, py, pz = x - poses[body, 9], y - poses[body, 10], z - poses[body, 11]
    cx, cy, cz = ay * pz - az * py, az * px - ax * pz, ax * py - ay * px
    return math.sqrt(cx * cx + cy * cy + cz * cz)


@offline_kernel
def fill_sweep(view, sweep, row, body, px, py, pz, qx, qy, qz, radius):
    """Write the sums of a capsule from p to q that ``body`` carries into ``row``."""
    joints = sweep.joints
    travel, stray, bend, size, grown = 0.0, 0.0, 0.0, 0.0, 0.0
    while body > 0:
        k = body - 1
        turn = joints[k, SIZE]
        if view.joint_table[k, 1] == PRISMATIC:
            near, far = 1.0, 1.0
        else:
            near = radius + max(
                axis_distance(view, k, px, py, pz), axis_distance(view, k, qx, qy, qz)
            )
            far = near + grown
        travel += joints[k, FAR] * near
        stray += joints[k, OFF] * far
        bend += turn * turn * far + 2.0 * turn * size
        size += turn * far
        grown += turn * near
        sweep.travel[row, k] = travel
        sweep.stray[row, k] = stray
        sweep.bend[row, k] = bend
        body = view.joint_table[k, 0]

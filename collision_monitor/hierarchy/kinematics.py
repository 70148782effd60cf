# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Kinematics: joint positions to body poses and leaves, and the rates of points."""

from __future__ import annotations

import math

from collision_monitor.common.compiled import kernel, offline_kernel
from collision_monitor.hierarchy.link_balls import place_link_balls
from collision_monitor.hierarchy.packed import PRISMATIC, unpack

# Equals LARGEST_OF_JOINT of common/limits.py; constants of kernels must be in a file with kernels.
FARTHEST = 1e9


@kernel
def first_bad(q):
    """Index of the first value of q that is not a valid joint position, or -1."""
    for k in range(len(q)):
        if not abs(q[k]) <= FARTHEST:  # true for NaN, too
            return k
    return -1


@kernel
def forward_kinematics(view, q):
    """Write the pose of every moving body into ``view.poses``, for positions ``q`` (nq,).

    pose = parent pose * placement * motion. Every joint moves along or about the z axis of its
    body's frame, so a motion changes two columns of the rotation, or only the translation.
    """
    poses, placements = view.poses, view.placements
    for joint in range(len(view.joint_table)):
        a = view.joint_table[joint, 0]
        b = joint + 1
        position = (
            view.joint_motion[joint, 0] * q[view.joint_table[joint, 2]]
            + view.joint_motion[joint, 1]
        )
        slide = 0.0
        sine, cosine = 0.0, 1.0
        if view.joint_table[joint, 1] == PRISMATIC:
            slide = position
        else:
            sine, cosine = math.sin(position), math.cos(position)
        for row in range(3):
            r0, r1, r2 = poses[a, 3 * row], poses[a, 3 * row + 1], poses[a, 3 * row + 2]
            x = r0 * placements[joint, 0] + r1 * placements[joint, 3] + r2 * placements[joint, 6]
            y = r0 * placements[joint, 1] + r1 * placements[joint, 4] + r2 * placements[joint, 7]
            z = r0 * placements[joint, 2] + r1 * placements[joint, 5] + r2 * placements[joint, 8]
            t = r0 * placements[joint, 9] + r1 * placements[joint, 10] + r2 * placements[joint, 11]
            poses[b, 3 * row] = cosine * x + sine * y
            poses[b, 3 * row + 1] = cosine * y - sine * x
            poses[b, 3 * row + 2] = z
            poses[b, 9 + row] = t + poses[a, 9 + row] + slide * z


@kernel
def place_leaves(view, count):
    """Write the end points of the first ``count`` leaves in the base frame."""
    poses, local, ends = view.poses, view.leaf_ends, view.ends
    for i in range(count):
        b = view.leaf_bodies[i, 0]
        for end in range(0, 6, 3):
            x, y, z = local[i, end], local[i, end + 1], local[i, end + 2]
            for row in range(3):
                ends[i, end + row] = (
                    poses[b, 3 * row] * x
                    + poses[b, 3 * row + 1] * y
                    + poses[b, 3 * row + 2] * z
                    + poses[b, 9 + row]
                )


@kernel
def place_links(view, q):
    """Place bodies, moving leaves and the balls around links: for searches from link to link."""
    forward_kinematics(view, q)
    place_leaves(view, view.moving_leaves)
    place_link_balls(view)


@kernel
def place_point(view, body, x, y, z):
    """Return the point (x, y, z) of a ``body`` in the base frame."""
    poses = view.poses
    return (
        poses[body, 0] * x + poses[body, 1] * y + poses[body, 2] * z + poses[body, 9],
        poses[body, 3] * x + poses[body, 4] * y + poses[body, 5] * z + poses[body, 10],
        poses[body, 6] * x + poses[body, 7] * y + poses[body, 8] * z + poses[body, 11],
    )


@kernel
def point_rate(view, joint, x, y, z, nx, ny, nz):
    """Rate at which ``joint`` moves the point p = (x, y, z), on a body behind the joint, along n.

    A revolute joint moves p by its axis x (p - origin), a prismatic joint by its axis. Base frame.
    """
    poses, body = view.poses, joint + 1
    ax, ay, az = poses[body, 2], poses[body, 5], poses[body, 8]
    if view.joint_table[joint, 1] == PRISMATIC:
        return nx * ax + ny * ay + nz * az
    px, py, pz = x - poses[body, 9], y - poses[body, 10], z - poses[body, 11]
    return nx * (ay * pz - az * py) + ny * (az * px - ax * pz) + nz * (ax * py - ay * px)


@offline_kernel
def add_motion(view, body, x, y, z, nx, ny, nz, sign, row):
    """Add sign * n . dp/dq to ``row`` (nq,), for the point p = (x, y, z) of a body."""
    while body > 0:
        k = body - 1
        rate = point_rate(view, k, x, y, z, nx, ny, nz)
        row[view.joint_table[k, 2]] += sign * view.joint_motion[k, 0] * rate
        body = view.joint_table[k, 0]


@offline_kernel
def add_gradients(numbers, index, bodies, points, normals, gradients):
    """Add to ``gradients`` (k, nq) those of n . (b - a), where the last query placed the bodies.

    a and b are ``points`` (k, 2, 3) of two ``bodies`` (k, 2), n their normals (k, 3).
    """
    view = unpack(numbers, index)
    for k in range(len(bodies)):
        nx, ny, nz = normals[k, 0], normals[k, 1], normals[k, 2]
        for m in range(2):
            x, y, z = points[k, m, 0], points[k, m, 1], points[k, m, 2]
            add_motion(view, bodies[k, m], x, y, z, nx, ny, nz, 2.0 * m - 1.0, gradients[k])

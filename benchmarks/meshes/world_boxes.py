# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Boolean check of many pairs of links, by boxes of links or by boxes of the world.

The same descent, the same triangles, the same test of them; what differs are the boxes. For
`link_frame_boxes`.

A forest is all trees of a robot's links in two arrays; ``starts`` (links, 2) says where each
begins. ``poses`` (links, 3, 4) are the links' in the base frame, ``all_poses`` (n, links, 3, 4)
those of all configurations, ``pairs`` (p, 2) rows of links.
"""

from __future__ import annotations

import numpy as np

from collision_monitor.common.array_views import borrow, work_space
from collision_monitor.common.compiled import kernel
from collision_monitor.geometry.triangles import squared_distance_below
from collision_monitor.mesh_distance.crossings import crossing_triangles
from collision_monitor.mesh_distance.mesh_pair_distance import take_corners
from collision_monitor.mesh_distance.mesh_tree import STACK, unpack_tree


@kernel
def _relative(poses, a, b, out):
    """Link b in the frame of link a: the rotation (3, 3), then the translation."""
    for i in range(3):
        out[3, i] = 0.0
        for k in range(3):
            out[3, i] += poses[a, k, i] * (poses[b, k, 3] - poses[a, k, 3])
        for j in range(3):
            out[i, j] = 0.0
            for k in range(3):
                out[i, j] += poses[a, k, i] * poses[b, k, j]


@kernel
def _take_pose(pose, out):
    for i in range(3):
        for k in range(4):
            out[i, k] = pose[i, k]


@kernel
def by_links(numbers, index, starts, pairs, all_poses, out):
    """Whether any pair crosses, by boxes of links: ``out`` (n,) at ``all_poses``."""
    crossing = np.empty((1, 2), dtype=np.int64)
    pose = work_space(0.0, 4, 3)
    for n in range(len(all_poses)):
        out[n] = False
        for p in range(len(pairs)):
            i, j = pairs[p, 0], pairs[p, 1]
            _relative(all_poses[n], i, j, pose)
            a = unpack_tree(numbers, index, starts[i, 0], starts[i, 1])
            b = unpack_tree(numbers, index, starts[j, 0], starts[j, 1])
            if crossing_triangles(a, b, pose, crossing) > 0:
                out[n] = True
                break


@kernel
def _world_box(tree, node, pose, boxes):
    """The box of the world (6,) around a node's box."""
    for i in range(3):
        center, half = pose[i, 3], 1e-12
        for k in range(3):
            center += pose[i, k] * tree.volumes[node, k]
            half += abs(pose[i, k]) * tree.volumes[node, 3 + k]
        boxes[node, i], boxes[node, 3 + i] = center - half, center + half


@kernel
def _place_row(tree, row, pose, corners):
    """One triangle in the world."""
    for k in range(0, 9, 3):
        x, y, z = tree.corners[row, k], tree.corners[row, k + 1], tree.corners[row, k + 2]
        for i in range(3):
            corners[row, k + i] = pose[i, 0] * x + pose[i, 1] * y + pose[i, 2] * z + pose[i, 3]


@kernel
def _refit(tree, pose, boxes, corners):
    """All triangles in the world, and the boxes (nodes, 6) of the world around them."""
    for row in range(len(tree.corners)):
        _place_row(tree, row, pose, corners)
    for node in range(len(tree.nodes) - 1, -1, -1):
        first, count = tree.nodes[node, 0], tree.nodes[node, 1]
        for i in range(3):
            low, high = np.inf, -np.inf
            if count > 0:
                for child in range(first, first + count):
                    low, high = min(low, boxes[child, i]), max(high, boxes[child, 3 + i])
            else:
                for slot in range(first, first - count):
                    row = tree.slots[slot, 0]
                    for k in range(i, 9, 3):
                        low, high = min(low, corners[row, k]), max(high, corners[row, k])
            boxes[node, i], boxes[node, 3 + i] = low, high


@kernel
def _boxes_meet(one, i, other, j):
    for k in range(3):
        if one[i, k] > other[j, 3 + k] or other[j, k] > one[i, 3 + k]:
            return False
    return True


@kernel
def _size(boxes, i):
    """Squared diagonal."""
    size = 0.0
    for k in range(3):
        size += (boxes[i, 3 + k] - boxes[i, k]) ** 2
    return size


@kernel
def _centers_apart(one, i, other, j):
    square = 0.0
    for k in range(3):
        square += (one[i, k] + one[i, 3 + k] - other[j, k] - other[j, 3 + k]) ** 2
    return square


@kernel
def _cross_in_world(a, boxes_a, corners_a, pose_a, b, boxes_b, corners_b, pose_b, refits):
    """As `crossing_triangles` for yes or no, with boxes of the world.

    Where they are not refitted, those of children are made when their parent is opened.
    """
    pair = work_space(0.0, 6, 3)
    waiting, far = work_space(np.int64(0), STACK, 2), work_space(0.0, STACK, 1)
    waiting[0, 0], waiting[0, 1] = 0, 0
    top = 1 if _boxes_meet(boxes_a, 0, boxes_b, 0) else 0
    while top > 0:
        top -= 1
        i, j = waiting[top, 0], waiting[top, 1]
        first_a, count_a = a.nodes[i, 0], a.nodes[i, 1]
        first_b, count_b = b.nodes[j, 0], b.nodes[j, 1]
        if count_a < 0 and count_b < 0:
            for m in range(first_b, first_b - count_b):
                row_b = b.slots[m, 0]
                if not refits:
                    _place_row(b, row_b, pose_b, corners_b)
                for k in range(3):
                    for axis in range(3):
                        pair[3 + k, axis] = corners_b[row_b, 3 * k + axis]
                for k in range(first_a, first_a - count_a):
                    row_a = a.slots[k, 0]
                    if not refits:
                        _place_row(a, row_a, pose_a, corners_a)
                    take_corners(corners_a, row_a, pair)
                    if squared_distance_below(pair, 0, 3, 1e-14)[0] == 0.0:
                        return True
            continue
        opens_a = count_b < 0 or (count_a > 0 and _size(boxes_a, i) >= _size(boxes_b, j))
        base = top
        for child in range(count_a if opens_a else count_b):
            if opens_a:
                i = first_a + child
                if not refits:
                    _world_box(a, i, pose_a, boxes_a)
            else:
                j = first_b + child
                if not refits:
                    _world_box(b, j, pose_b, boxes_b)
            if not _boxes_meet(boxes_a, i, boxes_b, j):
                continue
            apart = _centers_apart(boxes_a, i, boxes_b, j)
            at = top
            while at > base and far[at - 1, 0] < apart:
                far[at, 0] = far[at - 1, 0]
                waiting[at, 0], waiting[at, 1] = waiting[at - 1, 0], waiting[at - 1, 1]
                at -= 1
            far[at, 0] = apart
            waiting[at, 0], waiting[at, 1] = i, j
            top += 1
    return False


@kernel
def by_world(numbers, index, starts, pairs, all_poses, space, places, refits, out):
    """As `by_links`, with boxes of the world.

    ``refits``: to the placed corners, of links whose outermost boxes meet another link's; otherwise
    boxes of the world around boxes of the link are made where they are asked for. ``space``: room
    for boxes and corners of all links; ``places`` (links, 2): where those of each begin.
    """
    links = len(starts)
    ready = np.empty(links, dtype=np.bool_)
    pose_a, pose_b = work_space(0.0, 3, 4), work_space(0.0, 3, 4)
    for n in range(len(all_poses)):
        out[n] = False
        for i in range(links):
            tree = unpack_tree(numbers, index, starts[i, 0], starts[i, 1])
            _take_pose(all_poses[n, i], pose_a)
            _world_box(tree, 0, pose_a, borrow(space, places[i, 0], len(tree.nodes), 6))
            ready[i] = not refits
        for p in range(len(pairs)):
            i, j = pairs[p, 0], pairs[p, 1]
            a = unpack_tree(numbers, index, starts[i, 0], starts[i, 1])
            b = unpack_tree(numbers, index, starts[j, 0], starts[j, 1])
            boxes_a = borrow(space, places[i, 0], len(a.nodes), 6)
            boxes_b = borrow(space, places[j, 0], len(b.nodes), 6)
            if not _boxes_meet(boxes_a, 0, boxes_b, 0):
                continue
            corners_a = borrow(space, places[i, 1], len(a.corners), 9)
            corners_b = borrow(space, places[j, 1], len(b.corners), 9)
            _take_pose(all_poses[n, i], pose_a)
            _take_pose(all_poses[n, j], pose_b)
            if not ready[i]:
                _refit(a, pose_a, boxes_a, corners_a)
                ready[i] = True
            if not ready[j]:
                _refit(b, pose_b, boxes_b, corners_b)
                ready[j] = True
            if _cross_in_world(
                a, boxes_a, corners_a, pose_a, b, boxes_b, corners_b, pose_b, refits
            ):
                out[n] = True
                break

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Two peers of the paper on the tree of the model: AABBs with oriented boxes, and OBBs.

The bodies are those of the leaves: the oriented box of each shape, grown by half of the margin.
Both peers have the kinematics of the model, its tree and its order of traversal, level by level,
and compare bounding balls before they test two boxes of bodies by the 15 separating axes. They
report pairs that may be closer than the margin: boxes are larger than their contents.

In the tree of AABBs inner nodes are boxes along the axes of the base, and bodies are tested by
separating axes. In the tree of OBBs all nodes are oriented: a parent has the axes of its first
child, and all node pairs are tested by separating axes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from collision_monitor import CollisionModel
from collision_monitor.common.compiled import kernel
from collision_monitor.fitting.bounding_shapes import OrientedBox
from collision_monitor.hierarchy.aabb_tree import is_open
from collision_monitor.hierarchy.kinematics import first_bad, forward_kinematics
from collision_monitor.hierarchy.packed import unpack, windows
from collision_monitor.robot.description import Shape

# A box is a row: centre (3), axes one after another (9), half sides (3), radius of its ball.
_WIDTH = 16
ROOM = 16384  # rows of the work space of queries for contacts: pairs of nodes in the queue


@kernel
def _place(view, local, world, leaf):
    """The box of a leaf in the base frame."""
    body, poses = view.leaf_bodies[leaf, 0], view.poses
    for m in range(4):  # centre, then the axes
        x, y, z = local[leaf, 3 * m], local[leaf, 3 * m + 1], local[leaf, 3 * m + 2]
        for axis in range(3):
            value = (
                poses[body, 3 * axis] * x + poses[body, 3 * axis + 1] * y
                + poses[body, 3 * axis + 2] * z
            )  # fmt: skip
            world[leaf, 3 * m + axis] = value + (poses[body, 9 + axis] if m == 0 else 0.0)


@kernel
def _refit_aabbs(view, world, first, last):
    """AABBs of nodes first .. last - 1, around oriented boxes."""
    nodes, boxes = view.nodes, view.boxes
    for node in range(last - 1, first - 1, -1):
        left, right = nodes[node, 0], nodes[node, 1]
        for axis in range(3):
            if left < 0:
                half = 0.0
                for m in range(3):
                    half += abs(world[right, 3 + 3 * m + axis]) * world[right, 12 + m]
                boxes[node, axis] = world[right, axis] - half
                boxes[node, axis + 3] = world[right, axis] + half
            else:
                boxes[node, axis] = min(boxes[left, axis], boxes[right, axis])
                boxes[node, axis + 3] = max(boxes[left, axis + 3], boxes[right, axis + 3])


@kernel
def _refit_obbs(view, world, tree, first, last):
    """Oriented boxes of nodes first .. last - 1."""
    nodes = view.nodes
    for node in range(last - 1, first - 1, -1):
        left, right = nodes[node, 0], nodes[node, 1]
        if left < 0:
            for m in range(_WIDTH):
                tree[node, m] = world[right, m]
            continue
        for m in range(3, 12):
            tree[node, m] = tree[left, m]
        cx, cy, cz = 0.0, 0.0, 0.0
        for m in range(3):
            x, y, z = tree[node, 3 + 3 * m], tree[node, 4 + 3 * m], tree[node, 5 + 3 * m]
            low, high = np.inf, -np.inf
            for child in (left, right):
                centre = x * tree[child, 0] + y * tree[child, 1] + z * tree[child, 2]
                half = 0.0
                for n in range(3):
                    half += tree[child, 12 + n] * abs(
                        x * tree[child, 3 + 3 * n] + y * tree[child, 4 + 3 * n]
                        + z * tree[child, 5 + 3 * n]
                    )  # fmt: skip
                low, high = min(low, centre - half), max(high, centre + half)
            tree[node, 12 + m] = 0.5 * (high - low)
            along = 0.5 * (high + low)
            cx += along * x
            cy += along * y
            cz += along * z
        tree[node, 0], tree[node, 1], tree[node, 2] = cx, cy, cz
        tree[node, 15] = np.sqrt(tree[node, 12] ** 2 + tree[node, 13] ** 2 + tree[node, 14] ** 2)


@kernel
def _boxes_meet(a, i, b, j, margin):
    """Whether two oriented boxes, each grown by half of ``margin``, overlap; balls first."""
    x, y, z = b[j, 0] - a[i, 0], b[j, 1] - a[i, 1], b[j, 2] - a[i, 2]
    reach = a[i, 15] + b[j, 15] + margin
    if x * x + y * y + z * z > reach * reach:
        return False
    grow = 0.5 * margin
    a0, a1, a2 = a[i, 12] + grow, a[i, 13] + grow, a[i, 14] + grow
    b0, b1, b2 = b[j, 12] + grow, b[j, 13] + grow, b[j, 14] + grow
    t0 = a[i, 3] * x + a[i, 4] * y + a[i, 5] * z
    t1 = a[i, 6] * x + a[i, 7] * y + a[i, 8] * z
    t2 = a[i, 9] * x + a[i, 10] * y + a[i, 11] * z
    r00 = a[i, 3] * b[j, 3] + a[i, 4] * b[j, 4] + a[i, 5] * b[j, 5]
    r01 = a[i, 3] * b[j, 6] + a[i, 4] * b[j, 7] + a[i, 5] * b[j, 8]
    r02 = a[i, 3] * b[j, 9] + a[i, 4] * b[j, 10] + a[i, 5] * b[j, 11]
    f00, f01, f02 = abs(r00) + 1e-12, abs(r01) + 1e-12, abs(r02) + 1e-12
    if abs(t0) > a0 + b0 * f00 + b1 * f01 + b2 * f02:
        return False
    r10 = a[i, 6] * b[j, 3] + a[i, 7] * b[j, 4] + a[i, 8] * b[j, 5]
    r11 = a[i, 6] * b[j, 6] + a[i, 7] * b[j, 7] + a[i, 8] * b[j, 8]
    r12 = a[i, 6] * b[j, 9] + a[i, 7] * b[j, 10] + a[i, 8] * b[j, 11]
    f10, f11, f12 = abs(r10) + 1e-12, abs(r11) + 1e-12, abs(r12) + 1e-12
    if abs(t1) > a1 + b0 * f10 + b1 * f11 + b2 * f12:
        return False
    r20 = a[i, 9] * b[j, 3] + a[i, 10] * b[j, 4] + a[i, 11] * b[j, 5]
    r21 = a[i, 9] * b[j, 6] + a[i, 10] * b[j, 7] + a[i, 11] * b[j, 8]
    r22 = a[i, 9] * b[j, 9] + a[i, 10] * b[j, 10] + a[i, 11] * b[j, 11]
    f20, f21, f22 = abs(r20) + 1e-12, abs(r21) + 1e-12, abs(r22) + 1e-12
    return not (
        abs(t2) > a2 + b0 * f20 + b1 * f21 + b2 * f22
        or abs(t0 * r00 + t1 * r10 + t2 * r20) > b0 + a0 * f00 + a1 * f10 + a2 * f20
        or abs(t0 * r01 + t1 * r11 + t2 * r21) > b1 + a0 * f01 + a1 * f11 + a2 * f21
        or abs(t0 * r02 + t1 * r12 + t2 * r22) > b2 + a0 * f02 + a1 * f12 + a2 * f22
        or abs(t2 * r10 - t1 * r20) > a1 * f20 + a2 * f10 + b1 * f02 + b2 * f01
        or abs(t2 * r11 - t1 * r21) > a1 * f21 + a2 * f11 + b0 * f02 + b2 * f00
        or abs(t2 * r12 - t1 * r22) > a1 * f22 + a2 * f12 + b0 * f01 + b1 * f00
        or abs(t0 * r20 - t2 * r00) > a0 * f20 + a2 * f00 + b1 * f12 + b2 * f11
        or abs(t0 * r21 - t2 * r01) > a0 * f21 + a2 * f01 + b0 * f12 + b2 * f10
        or abs(t0 * r22 - t2 * r02) > a0 * f22 + a2 * f02 + b0 * f11 + b1 * f10
        or abs(t1 * r00 - t0 * r10) > a0 * f10 + a1 * f00 + b1 * f22 + b2 * f21
        or abs(t1 * r01 - t0 * r11) > a0 * f11 + a1 * f01 + b0 * f22 + b2 * f20
        or abs(t1 * r02 - t0 * r12) > a0 * f12 + a1 * f02 + b0 * f21 + b1 * f20
    )


@kernel
def _boxes_overlap(boxes, i, j, margin):
    """Whether boxes i and j come closer than ``margin`` along every axis."""
    return (
        boxes[i, 0] - margin <= boxes[j, 3]
        and boxes[j, 0] - margin <= boxes[i, 3]
        and boxes[i, 1] - margin <= boxes[j, 4]
        and boxes[j, 1] - margin <= boxes[i, 4]
        and boxes[i, 2] - margin <= boxes[j, 5]
        and boxes[j, 2] - margin <= boxes[i, 5]
    )


@kernel
def _nodes_meet(view, tree, i, j, margin, oriented):
    if i == j:
        return True
    if oriented:
        return _boxes_meet(tree, i, tree, j, margin)
    return _boxes_overlap(view.boxes, i, j, margin)


@kernel
def contacts(numbers, index, q, margin, pairs, local, world, tree, oriented):
    """As `hierarchy.query.contacts`, between boxes; ``oriented``: the tree of OBBs."""
    bad = first_bad(q)
    if bad >= 0:
        return -2 - bad
    view = unpack(numbers, index)
    forward_kinematics(view, q)
    for leaf in range(view.moving_leaves):
        _place(view, local, world, leaf)
    if oriented:
        _refit_obbs(view, world, tree, 0, view.moving_nodes)
    else:
        _refit_aabbs(view, world, 0, view.moving_nodes)
    nodes, static = view.nodes, view.moving_nodes
    pairs[0, 0], pairs[0, 1] = 0, 0
    count, head, tail, room = 0, 0, 1, len(pairs)
    if (
        len(nodes) > static
        and is_open(view, 0, static)
        and _nodes_meet(view, tree, 0, static, margin, oriented)
    ):
        pairs[1, 0], pairs[1, 1] = 0, static
        tail = 2
    while head < tail:
        i, j = pairs[head, 0], pairs[head, 1]
        head += 1
        i_is_leaf, j_is_leaf = nodes[i, 0] < 0, nodes[j, 0] < 0
        if i_is_leaf and j_is_leaf:
            if oriented or _boxes_meet(world, nodes[i, 1], world, nodes[j, 1], margin):
                pairs[count, 0], pairs[count, 1] = nodes[i, 1], nodes[j, 1]
                count += 1
            continue
        if tail + 4 > room:
            return room + 1
        for m in range(1 if i_is_leaf else 2):
            child_i = i if i_is_leaf else nodes[i, m]
            for n in range(m if i == j else 0, 1 if j_is_leaf else 2):
                child_j = j if j_is_leaf else nodes[j, n]
                if is_open(view, child_i, child_j) and _nodes_meet(
                    view, tree, child_i, child_j, margin, oriented
                ):
                    pairs[tail, 0], pairs[tail, 1] = child_i, child_j
                    tail += 1
    return count


@kernel
def _place_all(numbers, index, q, local, world, tree):
    """Tables of everything that does not move."""
    view = unpack(numbers, index)
    forward_kinematics(view, q)
    for leaf in range(len(world)):
        _place(view, local, world, leaf)
    _refit_aabbs(view, world, 0, len(view.nodes))
    _refit_obbs(view, world, tree, 0, len(view.nodes))


def box_tree(
    model: CollisionModel, margin: float, oriented: bool, box_of: Callable[[Shape], OrientedBox]
) -> Callable[[np.ndarray], list[tuple[int, int]]]:
    """The compiled call of one peer: pairs of leaves at q, as (array, number of rows).

    ``model``: with one leaf for each shape; its arrays are copied. ``box_of``: of a shape, in its
    own frame.

    Raises:
        RuntimeError: a shape has several leaves.
    """
    numbers, index = model.work_space()
    view = windows(numbers, index)
    shapes = [(n, s) for n in model.link_names for s in model.robot.links[n].shapes]
    if [name for name, _ in shapes] != [leaf.link for leaf in model.leaves]:
        raise RuntimeError("the boxes of shapes need one leaf for each shape")
    local = np.zeros((len(shapes), _WIDTH))
    for row, (name, shape) in zip(local, shapes, strict=True):
        box, pose = box_of(shape), model.bodies.link_poses[name] @ shape.pose
        row[:3] = pose[:3, :3] @ box.center + pose[:3, 3]
        row[3:12] = (pose[:3, :3] @ box.axes).T.ravel()
        row[12:15], row[15] = 0.5 * box.extents, 0.5 * np.linalg.norm(box.extents)
    world, tree = local.copy(), np.zeros((len(view.nodes), _WIDTH))
    _place_all(numbers, index, np.zeros(len(model.joint_names)), local, world, tree)
    found = np.empty((ROOM, 2), dtype=np.int64)
    return lambda q: (
        found, contacts(numbers, index, q, margin, found, local, world, tree, oriented)
    )  # fmt: skip

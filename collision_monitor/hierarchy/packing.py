# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""From bodies, leaves and pairs to the two arrays that the kernels read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collision_monitor.geometry.leaf import Leaf
from collision_monitor.hierarchy import packed
from collision_monitor.hierarchy.binary_tree import build_tree, open_bits
from collision_monitor.robot.bodies import Bodies


def _rows(poses: np.ndarray) -> np.ndarray:
    """Poses (k, 4, 4) as rows of 12: the rotation row by row, then the translation."""
    return np.hstack([poses[:, :3, :3].reshape(-1, 9), poses[:, :3, 3]])


def pack_model(
    bodies: Bodies,
    body_leaves: Sequence[Leaf],
    leaf_bodies: np.ndarray,
    link_leaves: np.ndarray,
    pairs: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The arrays (numbers, index) of ``hierarchy.packed``.

    Args:
        bodies: the kinematic tree.
        body_leaves: leaves in the frames of their bodies; those that move come first.
        leaf_bodies: (m,) body of each leaf.
        link_leaves: (links, 2) first leaf of each link and one past its last.
        pairs: (p, 2) link indices of the pairs to check.
    """
    count = len(body_leaves)
    moving_count = int((leaf_bodies > 0).sum())
    ends = np.array([end for leaf in body_leaves for end in (leaf.p0, leaf.p1)], dtype=float)
    ends = ends.reshape(-1, 6)
    centers = 0.5 * (ends[:, :3] + ends[:, 3:])
    link_of = np.repeat(np.arange(len(link_leaves)), np.diff(link_leaves, axis=1).ravel())
    moving = build_tree(np.arange(moving_count), centers, link_of)
    static = build_tree(np.arange(moving_count, count), centers)
    inner = static[:, 0] >= 0
    static[inner] += len(moving)
    nodes = np.vstack([moving, static])

    checked = np.zeros((moving_count, count), dtype=bool)
    ranges = [slice(first, stop) for first, stop in link_leaves.tolist()]
    for a, b in pairs.tolist():
        first, second = ranges[a], ranges[b]
        if first.start >= moving_count:
            first, second = second, first
        checked[first, second] = True
        if second.start < moving_count:
            checked[second, first] = True

    poses = np.zeros((len(bodies.parents) + 1, 12))
    poses[0, [0, 4, 8]] = 1.0
    view = packed.View(
        joint_table=np.column_stack(
            [
                bodies.parents,
                np.where(bodies.slides, packed.PRISMATIC, packed.REVOLUTE),
                bodies.columns,
            ]
        ),
        leaf_bodies=leaf_bodies.reshape(-1, 1),
        nodes=nodes,
        open_bits=open_bits(moving, nodes, checked),
        links=link_leaves,
        pairs=pairs.reshape(-1, 2),
        warm_start=np.array([[-1, -1]]),
        joint_motion=np.column_stack([bodies.gains, bodies.offsets]),
        placements=_rows(bodies.placements),
        poses=poses,
        leaf_ends=ends,
        radii=np.array([[leaf.radius] for leaf in body_leaves]),
        ends=np.zeros((count, 6)),
        boxes=np.zeros((len(nodes), 6)),
        moving_leaves=moving_count,
        moving_nodes=len(moving),
    )
    return packed.pack(view)

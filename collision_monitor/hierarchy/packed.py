# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A model as two flat arrays, built from bodies, leaves and pairs, and views of them for kernels.

Passing an array to compiled code costs about 50 ns, more than many queries. Therefore all data of a
query are in one float and one integer array; ``index[0:HEADER]`` holds sizes and offsets.

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
reaches (float)         leaves x 1: radius of a ball about the middle of the axis
ends (float)            leaves x 6: end points in the base frame (written)
nodes (int)             nodes x (first child, second child, bit); a leaf: (-1, leaf, bit)
boxes (float)           nodes x 6: AABB of a node (written)
open_bits (int)         bits x words: which nodes hold a partner to be checked
links (int)             links x (first leaf, one past the last)
link_balls (float)      links x 4: ball around the leaves: centre in the body's frame, radius
link_centers (float)    links x 3: its centre in the base frame (written)
pairs (int)             pairs x (link, link)
searches (int)          searches x (root, root) of two trees, the first one moves
warm_start (int)        1 x 2: the nearest two leaves of the last query (written)
======================  ==========================================================

Body 0 is the base; joint k moves body k + 1 about or along the z axis of its own frame.
Nodes: first the tree of the moving leaves, level by level, then that of the static leaves. The
index of a child is above that of its parent. The bit of a node is its row and column in
``open_bits``; those of nodes that do not move have no row. `link_balls` sets the balls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from collision_monitor.common.array_views import borrow
from collision_monitor.common.compiled import kernel
from collision_monitor.geometry.leaf import Leaf
from collision_monitor.robot.bodies import Bodies
from collision_monitor.robot.poses import pose_rows

# -- the arrays --

REVOLUTE, PRISMATIC = range(2)

HEADER = 32


class View(NamedTuple):
    """Windows into the packed arrays; see the table of the module."""

    joint_table: np.ndarray
    leaf_bodies: np.ndarray
    nodes: np.ndarray
    open_bits: np.ndarray
    links: np.ndarray
    pairs: np.ndarray
    searches: np.ndarray
    warm_start: np.ndarray
    joint_motion: np.ndarray
    placements: np.ndarray
    poses: np.ndarray
    leaf_ends: np.ndarray
    radii: np.ndarray
    reaches: np.ndarray
    ends: np.ndarray
    boxes: np.ndarray
    link_balls: np.ndarray
    link_centers: np.ndarray
    moving_leaves: int  # leaves 0 .. moving_leaves - 1 are on moving bodies
    moving_nodes: int  # nodes 0 .. moving_nodes - 1 form the trees of those leaves


_WINDOWS = View._fields.index("moving_leaves")
_INTEGERS = View._fields.index("joint_motion")  # windows in the integer array: the first ones


def pack(view: View) -> tuple[np.ndarray, np.ndarray]:
    """Return (numbers, index): the windows of ``view`` one after another in two arrays."""
    windows = [np.atleast_2d(np.asarray(w)) for w in view[:_WINDOWS]]
    header = np.zeros(HEADER, dtype=np.int64)
    offsets = [HEADER, 0]
    for k, window in enumerate(windows):
        which = 0 if k < _INTEGERS else 1
        header[k] = offsets[which]
        offsets[which] += window.size
    header[_WINDOWS : _WINDOWS + 10] = (
        len(view.joint_table), len(view.leaf_bodies), len(view.nodes), *view.open_bits.shape,
        len(view.links), len(view.pairs), len(view.searches), view.moving_leaves, view.moving_nodes,
    )  # fmt: skip
    integers = [w.astype(np.int64).ravel() for w in windows[:_INTEGERS]]
    floats = [w.astype(np.float64).ravel() for w in windows[_INTEGERS:]]
    return np.concatenate(floats), np.concatenate([header, *integers])


def set_content(index: np.ndarray, searches: int, moving_leaves: int, moving_nodes: int) -> None:
    """Set how many rows of ``searches`` and how many leaves and nodes are in use."""
    index[_WINDOWS + 7 : _WINDOWS + 10] = searches, moving_leaves, moving_nodes


def pack_chain(
    joint_table: np.ndarray, joint_motion: np.ndarray, placements: np.ndarray,
    leaf_bodies: np.ndarray, leaf_ends: np.ndarray, radii: np.ndarray, links: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return the arrays of `pack` for joints, leaves and links alone, without a tree and pairs.

    Arguments as in the table of the module, but ``placements`` (joints, 4, 4), ``leaf_bodies``
    (leaves,) and ``radii`` (leaves,).
    """
    none = np.empty(0, dtype=np.int64)
    poses = np.zeros((len(joint_table) + 1, 12))
    poses[0, [0, 4, 8]] = 1.0
    view = View(
        joint_table=joint_table.reshape(-1, 3),
        leaf_bodies=leaf_bodies.reshape(-1, 1),
        nodes=none.reshape(0, 3),
        open_bits=none.reshape(0, 1),
        links=links.reshape(-1, 2),
        pairs=none.reshape(0, 2),
        searches=none.reshape(0, 2),
        warm_start=np.array([[-1, -1]]),
        joint_motion=joint_motion.reshape(-1, 2),
        placements=pose_rows(placements.reshape(-1, 4, 4)),
        poses=poses,
        leaf_ends=leaf_ends.reshape(-1, 6),
        radii=radii.reshape(-1, 1),
        reaches=np.zeros((len(leaf_bodies), 1)),
        ends=np.zeros((len(leaf_bodies), 6)),
        boxes=np.empty((0, 6)),
        link_balls=np.zeros((len(links), 4)),
        link_centers=np.zeros((len(links), 3)),
        moving_leaves=len(leaf_bodies),
        moving_nodes=0,
    )
    return pack(view)


def windows(numbers: np.ndarray, index: np.ndarray) -> View:
    """Return the View of two packed arrays for numpy, without copies."""
    sizes = index[_WINDOWS : _WINDOWS + 10].tolist()
    joints, leaves, nodes, bits, words, links, pairs, searches = sizes[:8]
    shapes = [
        (joints, 3), (leaves, 1), (nodes, 3), (bits, words), (links, 2), (pairs, 2), (searches, 2),
        (1, 2), (joints, 2), (joints, 12), (joints + 1, 12), (leaves, 6), (leaves, 1), (leaves, 1),
        (leaves, 6), (nodes, 6), (links, 4), (links, 3),
    ]  # fmt: skip
    arrays = []
    for k, (rows, columns) in enumerate(shapes):
        source = index if k < _INTEGERS else numbers
        arrays.append(source[index[k] : index[k] + rows * columns].reshape(rows, columns))
    return View(*arrays, *sizes[8:])


@kernel
def unpack(numbers, index):
    """The View of two packed arrays; valid as long as the arrays exist."""
    joints, leaves, nodes, links = index[18], index[19], index[20], index[23]
    return View(
        borrow(index, index[0], joints, 3),
        borrow(index, index[1], leaves, 1),
        borrow(index, index[2], nodes, 3),
        borrow(index, index[3], index[21], index[22]),
        borrow(index, index[4], links, 2),
        borrow(index, index[5], index[24], 2),
        borrow(index, index[6], index[25], 2),
        borrow(index, index[7], 1, 2),
        borrow(numbers, index[8], joints, 2),
        borrow(numbers, index[9], joints, 12),
        borrow(numbers, index[10], joints + 1, 12),
        borrow(numbers, index[11], leaves, 6),
        borrow(numbers, index[12], leaves, 1),
        borrow(numbers, index[13], leaves, 1),
        borrow(numbers, index[14], leaves, 6),
        borrow(numbers, index[15], nodes, 6),
        borrow(numbers, index[16], links, 4),
        borrow(numbers, index[17], links, 3),
        index[26],
        index[27],
    )


# -- binary trees over leaves, level by level --


def _halve(
    order: np.ndarray, centers: np.ndarray | None, groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Split into two halves: between groups, else across the longest side of the centres' box."""
    half = (len(order) + 1) // 2
    borders = np.flatnonzero(np.diff(groups[order])) + 1
    if len(borders):
        half = int(borders[np.abs(borders - 0.5 * len(order)).argmin()])
        return order[:half], order[half:]
    if centers is not None:
        extents = np.ptp(centers[order], axis=0)
        order = order[np.argsort(centers[order, int(extents.argmax())], kind="stable")]
    return order[:half], order[half:]


def build_tree(
    leaves: np.ndarray, centers: np.ndarray | None = None, groups: np.ndarray | None = None
) -> np.ndarray:
    """Return nodes (n, 2) of a balanced tree over the leaf indices ``leaves``, top down.

    Without ``centers`` the leaves keep their order along the chain (Zhang et al.): m leaves give
    ceil(log2 m) + 1 levels. With ``centers`` (all leaves, 3) each node is split across its longest
    extent: for leaves that do not move relative to each other. With ``groups`` (all leaves,) as
    well, nodes are first split between consecutive groups, as close to the middle as possible:
    links along the chain stay whole, and only the leaves of one link are split by position.

    Returns:
        Rows (first child, second child), or (-1, leaf). Node 0 is the root. Nodes are ordered by
        level, so the index of a child is above that of its parent.
    """
    leaves = np.asarray(leaves, dtype=np.int64)
    if groups is None:
        return _build_halving(leaves, centers)
    nodes: list[list[int]] = []
    waiting: deque[tuple[np.ndarray, int, int]] = deque()
    if len(leaves):
        waiting.append((leaves, -1, -1))
    while waiting:
        members, parent, side = waiting.popleft()
        if parent >= 0:
            nodes[parent][side] = len(nodes)
        if len(members) == 1:
            nodes.append([-1, int(members[0])])
            continue
        for k, half in enumerate(_halve(members, centers, groups)):
            waiting.append((half, len(nodes), k))
        nodes.append([-1, -1])
    return np.array(nodes, dtype=np.int64).reshape(-1, 2)


def _build_halving(order: np.ndarray, centers: np.ndarray | None) -> np.ndarray:
    """`build_tree` without groups: vectorised over each level, for scenes of many leaves."""
    levels = []
    sizes = np.array([len(order)] if len(order) else [], dtype=np.int64)
    count = 0  # nodes so far
    while len(sizes):
        starts = np.cumsum(sizes) - sizes
        inner = sizes > 1
        nodes = np.full((len(sizes), 2), -1, dtype=np.int64)
        nodes[~inner, 1] = order[starts[~inner]]
        count += len(sizes)
        children = count + 2 * np.arange(inner.sum())
        nodes[inner] = np.column_stack([children, children + 1])
        levels.append(nodes)
        order, sizes = order[np.repeat(inner, sizes)], sizes[inner]
        if centers is not None and len(sizes):
            order = _sorted_within(order, sizes, centers)
        sizes = np.column_stack([(sizes + 1) // 2, sizes // 2]).ravel()
    return np.vstack(levels) if levels else np.empty((0, 2), dtype=np.int64)


def _sorted_within(order: np.ndarray, sizes: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Sort each range of ``order``, of length ``sizes``, along the longest side of its box."""
    starts = np.cumsum(sizes) - sizes
    points = centers[order]
    extents = np.maximum.reduceat(points, starts) - np.minimum.reduceat(points, starts)
    stretch = np.repeat(np.arange(len(sizes)), sizes)
    along = points[np.arange(len(order)), extents.argmax(axis=1)[stretch]]
    return order[np.lexsort((along, stretch))]


def levels_of(nodes: np.ndarray) -> list[np.ndarray]:
    """Indices of the nodes of one tree or several, level by level from the roots."""
    inner = nodes[:, 0] >= 0
    is_child = np.zeros(len(nodes), dtype=bool)
    is_child[nodes[inner, :2]] = True
    levels = []
    level = np.flatnonzero(~is_child)
    while len(level):
        levels.append(level)
        level = nodes[level[inner[level]], :2].ravel()
    return levels


def gathered(nodes: np.ndarray, of_leaves: np.ndarray) -> np.ndarray:
    """Combine rows of ``of_leaves`` (leaves, k) of bool by "or" over the leaves below each node."""
    of_nodes = np.zeros((len(nodes), of_leaves.shape[1]), dtype=bool)
    for level in reversed(levels_of(nodes)):
        first, second = nodes[level, :2].T
        inner = first >= 0
        of_nodes[level[~inner]] = of_leaves[second[~inner]]
        of_nodes[level[inner]] = of_nodes[first[inner]] | of_nodes[second[inner]]
    return of_nodes


def open_bits(moving: np.ndarray, all_nodes: np.ndarray, checked: np.ndarray) -> np.ndarray:
    """Return for all pairs of nodes, as bits, whether any leaf pair below them is checked.

    Args:
        moving: nodes of the tree of moving leaves, which come first.
        all_nodes: nodes of both trees.
        checked: (moving leaves, leaves) of bool, symmetric for pairs of moving leaves.

    Returns:
        (len(moving), words): bit j % 64 of word j // 64 in row i is for nodes i, j.
    """
    partners = gathered(moving, checked)  # moving nodes x leaves
    meets = gathered(all_nodes, partners.T).T  # moving nodes x nodes
    words = max(1, -(-len(all_nodes) // 64))
    padded = np.zeros((len(moving), words * 64), dtype=np.uint8)
    padded[:, : len(all_nodes)] = meets
    return np.packbits(padded, axis=1, bitorder="little").view(np.int64)


def _checked(links: np.ndarray, pairs: np.ndarray, moving: int, leaves: int) -> np.ndarray:
    """(moving leaves, leaves) of bool for `open_bits`: leaves of the ``pairs`` (p, 2) of links."""
    link_of = np.repeat(np.arange(len(links)), np.diff(links, axis=1).ravel())
    moving_links = np.count_nonzero(links[:, 0] < moving)
    among = np.zeros((moving_links, len(links)), dtype=bool)
    for one, other in (pairs.T, pairs.T[::-1]):
        moves = one < moving_links
        among[one[moves], other[moves]] = True
    return among[link_of[:moving, None], link_of]


def close_all_but(kept: np.ndarray, numbers: np.ndarray, index: np.ndarray) -> None:
    """Let searches of the tree find only leaves of the pairs of links that are ``kept`` (p,)."""
    view = windows(numbers, index)
    checked = _checked(view.links, view.pairs[kept], view.moving_leaves, len(view.leaf_bodies))
    view.open_bits[:] = open_bits(view.nodes[: view.moving_nodes], view.nodes, checked)
    view.warm_start[:] = -1


def pack_model(
    bodies: Bodies,
    body_leaves: Sequence[Leaf],
    leaf_bodies: np.ndarray,
    link_leaves: np.ndarray,
    pairs: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the arrays (numbers, index) of `pack` for a model.

    Args:
        bodies: the kinematic tree.
        body_leaves: leaves in the frames of their bodies; moving leaves first.
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
    searches = [[0, 0]] if moving_count else []
    if 0 < moving_count < count:
        searches.append([0, len(moving)])

    checked = _checked(link_leaves, pairs, moving_count, count)

    poses = np.zeros((len(bodies.parents) + 1, 12))
    poses[0, [0, 4, 8]] = 1.0
    view = View(
        joint_table=np.column_stack(
            [bodies.parents, np.where(bodies.slides, PRISMATIC, REVOLUTE), bodies.columns]
        ),
        leaf_bodies=leaf_bodies.reshape(-1, 1),
        nodes=np.column_stack([nodes, np.arange(len(nodes))]),
        open_bits=open_bits(moving, nodes, checked),
        links=link_leaves,
        pairs=pairs.reshape(-1, 2),
        searches=np.array(searches).reshape(-1, 2),
        warm_start=np.array([[-1, -1]]),
        joint_motion=np.column_stack([bodies.gains, bodies.offsets]),
        placements=pose_rows(bodies.placements),
        poses=poses,
        leaf_ends=ends,
        radii=np.array([[leaf.radius] for leaf in body_leaves]),
        reaches=np.zeros((count, 1)),
        ends=np.zeros((count, 6)),
        boxes=np.zeros((len(nodes), 6)),
        link_balls=np.zeros((len(link_leaves), 4)),
        link_centers=np.zeros((len(link_leaves), 3)),
        moving_leaves=moving_count,
        moving_nodes=len(moving),
    )
    return pack(view)

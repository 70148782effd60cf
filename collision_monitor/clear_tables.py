# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""From the packed arrays of a model to the tables of `kernels.clear`."""

from __future__ import annotations

import numpy as np

from collision_monitor.bounding.link_solid import link_solid
from collision_monitor.kernels import lane_solids, packed
from collision_monitor.kernels.clear import STACK, ClearTables
from collision_monitor.kernels.lanes import LANES


def _lane_array(rows: int) -> np.ndarray:
    """Zeros (rows, LANES) that begin at a cache line: a vector then never crosses one."""
    raw = np.zeros(rows * LANES + 8)
    skip = (-raw.ctypes.data % 64) // 8
    return raw[skip : skip + rows * LANES].reshape(rows, LANES)


def _leaf_solids(view: packed.View) -> np.ndarray:
    """Rows of `lane_solids` for all leaves, in their bodies' frames."""
    solids = np.zeros((len(view.leaf_ends), lane_solids.COLUMNS))
    p, q = view.leaf_ends[:, :3], view.leaf_ends[:, 3:]
    half = 0.5 * (q - p)
    length = np.linalg.norm(half, axis=1)
    solids[:, :3], solids[:, 3:6] = 0.5 * (p + q), half
    solids[:, lane_solids.RADIUS] = view.radii[:, 0]
    solids[:, lane_solids.REACH] = (view.radii[:, 0] + length) * (1.0 + 1e-12)
    _set_inverse(solids)
    return solids


def _set_inverse(solids: np.ndarray) -> None:
    squared = (solids[:, 3:6] ** 2).sum(axis=1)
    long = squared > 1e-30  # as in `segments`: shorter ones are points
    solids[long, lane_solids.INVERSE] = 1.0 / squared[long]


def _needed_joints(view: packed.View, bodies: np.ndarray) -> np.ndarray:
    """Rows (k, 4) of ClearTables.joints: those that move one of ``bodies``, in chain order."""
    needed = np.zeros(len(view.joint_table) + 1, dtype=bool)
    needed[bodies] = True
    for k in range(len(view.joint_table) - 1, -1, -1):
        needed[view.joint_table[k, 0]] |= needed[k + 1]
    rows = np.flatnonzero(needed[1:])
    return np.column_stack([rows + 1, view.joint_table[rows]])


def clear_tables(view: packed.View, columns: int) -> ClearTables:
    """The tables of a model whose static leaves and boxes are placed.

    ``columns``: entries of a configuration.
    """
    moving = view.moving_leaves
    body_of = view.leaf_bodies[view.links[:, 0], 0]
    in_pairs = np.zeros(len(view.links), dtype=bool)
    in_pairs[view.pairs] = True
    used = np.flatnonzero(in_pairs & (body_of > 0))
    rank = np.full(len(view.links), -1)
    rank[used] = np.arange(len(used))

    leaf_solids = _leaf_solids(view)
    links = np.zeros((len(used), 4), dtype=np.int64)
    solids = np.zeros((len(used) + moving + 1, lane_solids.COLUMNS))
    solids[len(used) : -1] = leaf_solids[:moving]
    first_node = {leaf: node for node, (left, leaf) in enumerate(view.nodes[: view.moving_nodes].tolist()) if left < 0}
    static = len(view.nodes) - view.moving_nodes
    partners = np.zeros((len(used), static // 64 + 1), dtype=np.int64)
    for row, link in enumerate(used.tolist()):
        first, stop = view.links[link]
        links[row] = body_of[link], len(used) + first, len(used) + stop, row
        center, half, radius, reach = link_solid(view.leaf_ends[first:stop], view.radii[first:stop, 0])
        solids[row] = [*center, *half, radius, reach, 0.0]
        # All leaves of a link have the same partners.
        words = view.open_bits[first_node[int(first)]].astype("<i8").view(np.uint8)
        below = np.unpackbits(words, bitorder="little")[view.moving_nodes : len(view.nodes)]
        packed_bits = np.packbits(below, bitorder="little")
        partners[row].view(np.uint8)[: len(packed_bits)] = packed_bits
        if not below.any():
            links[row, 3] = -1
    _set_inverse(solids)

    nodes = view.nodes[view.moving_nodes :].copy()
    inner = nodes[:, 0] >= 0
    nodes[inner] -= view.moving_nodes
    nodes[~inner, 1] -= moving
    pairs = rank[view.pairs]
    pairs = pairs[(pairs >= 0).all(axis=1)]
    joints = _needed_joints(view, body_of[used])
    return ClearTables(
        joints=joints,
        motions=view.joint_motion[joints[:, 0] - 1],
        placements=view.placements[joints[:, 0] - 1],
        links=links,
        pairs=pairs.astype(np.int64),
        hits=np.zeros(len(pairs), dtype=np.int64),
        solids=solids,
        nodes=nodes,
        boxes=view.boxes[view.moving_nodes :].copy(),
        partners=partners,
        fixed=leaf_solids[moving:],
        positions=_lane_array(columns + 1),
        poses=_lane_array(12 * (len(view.joint_table) + 1)),
        places=_lane_array(6 * len(solids)),
        placed=np.zeros(len(used), dtype=bool),
        stack=np.zeros(STACK, dtype=np.int64),
    )

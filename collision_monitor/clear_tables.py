# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""From the packed arrays of a model to the tables of `kernels.clear`."""

from __future__ import annotations

import numpy as np

from collision_monitor.bounding.link_solid import link_solid
from collision_monitor.kernels import lane_solids, packed
from collision_monitor.kernels.clear import CHUNK, STACK, ClearTables
from collision_monitor.kernels.lanes import LANES

# Up to so many links that stand still are met one by one, more through the tree.
_FEW = 32


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


def _static_links_in_pairs(view: packed.View) -> bool:
    """Whether links that stand still are few enough to be met one by one, not by the tree."""
    return int((view.leaf_bodies[view.links[:, 0], 0] == 0).sum()) <= _FEW


def _partners(view: packed.View, link: int, first_node: dict[int, int]) -> np.ndarray:
    """Words of ClearTables.partners for one link: all its leaves have the same partners."""
    row = view.open_bits[first_node[int(view.links[link, 0])]]
    below = np.unpackbits(row.astype("<i8").view(np.uint8), bitorder="little")
    below = below[view.moving_nodes : len(view.nodes)]
    below = np.r_[below, np.zeros(-len(below) % 64, np.uint8)]
    return np.packbits(below, bitorder="little").view("<i8")


def _link_row(view: packed.View, link: int) -> list[float]:
    """The row of `lane_solids` around all leaves of a link."""
    first, stop = view.links[link]
    center, half, radius, reach = link_solid(
        view.leaf_ends[first:stop], view.radii[first:stop, 0]
    )
    return [*center, *half, radius, reach, 0.0]


def clear_tables(view: packed.View, columns: int) -> ClearTables:
    """The tables of a model whose static leaves and boxes are placed.

    ``columns``: entries of a configuration.
    """
    moving = view.moving_leaves
    body_of = view.leaf_bodies[view.links[:, 0], 0]
    few = _static_links_in_pairs(view)
    listed = view.pairs if few else view.pairs[(body_of[view.pairs] > 0).all(axis=1)]
    wanted = np.zeros(len(view.links), dtype=bool)
    wanted[view.pairs] = True
    used = np.flatnonzero(wanted & (few | (body_of > 0)))
    rank = np.full(len(view.links), -1)
    rank[used] = np.arange(len(used))

    # Solids: links, their leaves, one to spare.
    leaf_solids = _leaf_solids(view)
    leaves = leaf_solids if few else leaf_solids[:moving]
    solids = np.array(
        [_link_row(view, link) for link in used]
        + list(leaves)
        + [np.zeros(lane_solids.COLUMNS)]
    )
    _set_inverse(solids)
    links = np.column_stack([body_of[used], len(used) + view.links[used], np.full(len(used), -1)])
    placed = np.zeros(len(used), dtype=bool)
    places = _lane_array(6 * len(solids))
    for k in np.flatnonzero(links[:, 0] == 0).tolist():  # these stay where they are put now
        placed[k] = True
        for solid in (k, *range(links[k, 1], links[k, 2])):
            places[6 * solid : 6 * solid + 6] = solids[solid, :6, None]

    nodes = view.nodes[view.moving_nodes :].copy()
    inner = nodes[:, 0] >= 0
    nodes[inner] -= view.moving_nodes
    nodes[~inner, 1] -= moving
    partners = np.zeros((0, 0), dtype=np.int64)
    if not few:
        leaf_nodes = enumerate(view.nodes[: view.moving_nodes].tolist())
        first_node = {leaf: node for node, (left, leaf) in leaf_nodes if left < 0}
        partners = np.array([_partners(view, link, first_node) for link in used])
        links[(partners[:, 0] & 1) != 0, 3] = np.flatnonzero((partners[:, 0] & 1) != 0)

    pairs = rank[listed].reshape(-1, 2)
    # The larger link first: its leaves are rejected by the smaller one whole.
    smaller_first = solids[pairs[:, 0], lane_solids.REACH] < solids[pairs[:, 1], lane_solids.REACH]
    pairs[smaller_first] = pairs[smaller_first, ::-1]
    joints = _needed_joints(view, body_of[used])
    return ClearTables(
        joints=joints,
        motions=view.joint_motion[joints[:, 0] - 1],
        placements=view.placements[joints[:, 0] - 1],
        links=links,
        first=pairs[:, 0].copy(),
        second=pairs[:, 1].copy(),
        hits=np.zeros(len(pairs), dtype=np.int64),
        limits=np.zeros(len(pairs)),
        near_of=np.zeros(CHUNK, dtype=np.int64),
        solids=solids,
        nodes=nodes,
        boxes=view.boxes[view.moving_nodes :].copy(),
        partners=partners,
        fixed=leaf_solids[moving:],
        positions=_lane_array(columns + 1),
        poses=_lane_array(12 * (len(view.joint_table) + 1)),
        places=places,
        placed=placed,
        rows=np.zeros(LANES, dtype=np.int64),
        waiting=np.zeros(2 * LANES, dtype=np.int64),
        stack=np.zeros(STACK, dtype=np.int64),
    )

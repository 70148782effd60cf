# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Converts the packed arrays of a model to the tables of `batch_clear.clear`."""

from __future__ import annotations

import numpy as np

from collision_monitor.batch_clear.clear import (
    CHUNK,
    COLUMNS,
    INVERSE,
    RADIUS,
    REACH,
    STACK,
    ClearTables,
)
from collision_monitor.batch_clear.simd import LANES
from collision_monitor.hierarchy import packed

# -- one capsule around all leaves of a link, for a fast coarse test --


_STEPS = 60


def _smallest_ball_center(points: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Approximate centre (d,) of the smallest ball around balls at ``points`` (n, d).

    Takes decreasing steps towards the farthest ball (Badoiu and Clarkson).
    """
    center = 0.5 * ((points - radii[:, None]).min(axis=0) + (points + radii[:, None]).max(axis=0))
    best, least = center, np.inf
    for step in range(_STEPS):
        offsets = points - center
        distances = np.linalg.norm(offsets, axis=1)
        k = int((distances + radii).argmax())
        if distances[k] + radii[k] < least:
            best, least = center, distances[k] + radii[k]
        if distances[k] == 0.0:
            break
        center = center + offsets[k] * (0.5 / (step + 2))
    return best


def _capsule_along(direction: np.ndarray, points: np.ndarray, radii: np.ndarray) -> tuple:
    """Return (p0, p1, radius) of a slim capsule around balls, with its axis along ``direction``."""
    helper = np.eye(3)[int(np.abs(direction).argmin())]
    x = np.cross(helper, direction)
    x /= np.linalg.norm(x)
    across = np.array([x, np.cross(direction, x)])
    center = _smallest_ball_center(points @ across.T, radii)
    heights = points @ direction
    distances = np.linalg.norm(points @ across.T - center, axis=1)
    radius = float((distances + radii).max())
    # A ball may extend beyond the end of the axis by this length and stay inside the cap.
    spare = np.sqrt(np.maximum((radius - radii) ** 2 - distances**2, 0.0))
    low, high = float((heights + spare).min()), float((heights - spare).max())
    if low > high:
        low = high = 0.5 * (low + high)
    origin = center @ across
    return origin + low * direction, origin + high * direction, radius


def link_solid(ends: np.ndarray, radii: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return the slimmest capsule found around leaves, and its bounding ball.

    Args:
        ends: (n, 6) both end points of each leaf.
        radii: (n,) radius of each leaf.

    Returns:
        (centre (3,), half axis (3,), radius, radius of the ball about the centre).
    """
    points = np.asarray(ends, dtype=float).reshape(-1, 3)
    radii = np.repeat(np.asarray(radii, dtype=float), 2)
    centered = points - points.mean(axis=0)
    directions = [*np.eye(3), *np.linalg.svd(centered, full_matrices=True)[2]]
    axes = points[1::2] - points[::2]
    longest = axes[int(np.linalg.norm(axes, axis=1).argmax())]
    if np.linalg.norm(longest) > 0.0:
        directions.append(longest / np.linalg.norm(longest))
    ball = _smallest_ball_center(points, radii)
    found = [(ball, ball, 0.0), *(_capsule_along(d, points, radii) for d in directions)]
    best, least = None, np.inf
    for p0, p1, _ in found:
        center, half = 0.5 * (p0 + p1), 0.5 * (p1 - p0)
        # A capsule is convex: it encloses a leaf if it encloses the balls at both ends.
        squared = float(half @ half)
        t = np.clip((points - center) @ half / squared, -1.0, 1.0) if squared else np.zeros(1)
        gaps = np.linalg.norm(points - center - t[:, None] * half, axis=1)
        radius = float((gaps + radii).max())
        volume = radius**2 * (2.0 * np.sqrt(squared) + 4.0 / 3.0 * radius)
        if volume < least:
            best, least = (center, half, radius), volume
    center, half, radius = best
    reach = float((np.linalg.norm(points - center, axis=1) + radii).max())
    grown = 1.0 + 1e-12  # covers rounding errors
    return center, half, radius * grown, reach * grown


# Up to this number static links are tested one by one, more through the tree.
_FEW = 32
_LANE_ARRAYS = ("positions", "poses", "places")


def _lane_array(rows: int) -> np.ndarray:
    """Zeros (rows, LANES) aligned to a cache line, so that no vector crosses one."""
    raw = np.zeros(rows * LANES + 8)
    skip = (-raw.ctypes.data % 64) // 8
    return raw[skip : skip + rows * LANES].reshape(rows, LANES)


def _leaf_solids(view: packed.View) -> np.ndarray:
    """Rows of `clear.ClearTables.solids` for all leaves, in their bodies' frames."""
    solids = np.zeros((len(view.leaf_ends), COLUMNS))
    p, q = view.leaf_ends[:, :3], view.leaf_ends[:, 3:]
    half = 0.5 * (q - p)
    length = np.linalg.norm(half, axis=1)
    solids[:, :3], solids[:, 3:6] = 0.5 * (p + q), half
    solids[:, RADIUS] = view.radii[:, 0]
    solids[:, REACH] = (view.radii[:, 0] + length) * (1.0 + 1e-12)
    _set_inverse(solids)
    return solids


def _set_inverse(solids: np.ndarray) -> None:
    squared = (solids[:, 3:6] ** 2).sum(axis=1)
    long = squared > 1e-30  # as in `segments`: shorter ones are points
    solids[long, INVERSE] = 1.0 / squared[long]


def _needed_joints(view: packed.View, bodies: np.ndarray) -> np.ndarray:
    """Rows (k, 4) of ClearTables.joints: those that move one of ``bodies``, in chain order."""
    needed = np.zeros(len(view.joint_table) + 1, dtype=bool)
    needed[bodies] = True
    for k in range(len(view.joint_table) - 1, -1, -1):
        needed[view.joint_table[k, 0]] |= needed[k + 1]
    rows = np.flatnonzero(needed[1:])
    return np.column_stack([rows + 1, view.joint_table[rows]])


def _partners(view: packed.View, link: int, first_node: dict[int, int]) -> np.ndarray:
    """Words of ClearTables.partners for one link: all its leaves have the same partners."""
    row = view.open_bits[first_node[int(view.links[link, 0])]]
    below = np.unpackbits(row.astype("<i8").view(np.uint8), bitorder="little")
    below = below[view.moving_nodes : len(view.nodes)]
    below = np.r_[below, np.zeros(-len(below) % 64, np.uint8)]
    return np.packbits(below, bitorder="little").view("<i8")


def _link_row(view: packed.View, link: int) -> list[float]:
    """The row of `clear.ClearTables.solids` around all leaves of a link."""
    first, stop = view.links[link]
    center, half, radius, reach = link_solid(
        view.leaf_ends[first:stop], view.radii[first:stop, 0]
    )
    return [*center, *half, radius, reach, 0.0]


def _static_tree(view: packed.View) -> tuple[np.ndarray, np.ndarray]:
    """(nodes, boxes) of the tree of static leaves, counted from 0."""
    nodes = view.nodes[view.moving_nodes :].copy()
    inner = nodes[:, 0] >= 0
    nodes[inner] -= view.moving_nodes
    nodes[~inner, 1] -= view.moving_leaves
    return nodes, view.boxes[view.moving_nodes :].copy()


def _all_partners(view: packed.View, used: np.ndarray) -> np.ndarray:
    """ClearTables.partners, a row for each of the links ``used``."""
    leaf_nodes = enumerate(view.nodes[: view.moving_nodes].tolist())
    first_node = {leaf: node for node, (left, leaf) in leaf_nodes if left < 0}
    words = -(-(len(view.nodes) - view.moving_nodes) // 64)
    rows = [_partners(view, link, first_node) for link in used.tolist()]
    return np.array(rows, dtype=np.int64).reshape(len(used), words)


def _placed(links: np.ndarray, solids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(placed, places): static links and their leaves are placed once."""
    places = _lane_array(6 * len(solids))
    for k in np.flatnonzero(links[:, 0] == 0).tolist():
        for solid in (k, *range(links[k, 1], links[k, 2])):
            places[6 * solid : 6 * solid + 6] = solids[solid, :6, None]
    return links[:, 0] == 0, places


def clear_tables(view: packed.View, columns: int) -> ClearTables:
    """Return the tables of a model whose static leaves and boxes are placed.

    Args:
        view: `packed.windows` of its arrays.
        columns: entries of a configuration.
    """
    body_of = view.leaf_bodies[view.links[:, 0], 0]
    few = int((body_of == 0).sum()) <= _FEW
    met = few | (body_of > 0)  # tested one by one, not by the tree
    used = np.intersect1d(np.flatnonzero(met), view.pairs)
    rank = np.full(len(view.links), -1)
    rank[used] = np.arange(len(used))

    # Solids: links, their leaves, one spare row.
    leaf_solids = _leaf_solids(view)
    spare = np.zeros((1, COLUMNS))
    around = np.array([_link_row(view, link) for link in used.tolist()])
    leaves = leaf_solids if few else leaf_solids[: view.moving_leaves]
    solids = np.vstack([around.reshape(-1, COLUMNS), leaves, spare])
    _set_inverse(solids)
    links = np.column_stack([body_of[used], len(used) + view.links[used], np.full(len(used), -1)])
    placed, places = _placed(links, solids)

    partners = np.zeros((0, 0), dtype=np.int64)
    if not few:
        partners = _all_partners(view, used)
        rows = np.flatnonzero(partners[:, 0] & 1)  # the root's bit
        links[rows, 3] = rows
    nodes, boxes = _static_tree(view)

    pairs = rank[view.pairs[met[view.pairs].all(axis=1)]]
    # The larger link first: the smaller one then rejects its leaves as a whole.
    smaller_first = solids[pairs[:, 0], REACH] < solids[pairs[:, 1], REACH]
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
        boxes=boxes,
        partners=partners,
        fixed=leaf_solids[view.moving_leaves :],
        positions=_lane_array(columns + 1),
        poses=_lane_array(12 * (len(view.joint_table) + 1)),
        places=places,
        placed=placed,
        rows=np.zeros(LANES, dtype=np.int64),
        waiting=np.zeros(2 * LANES, dtype=np.int64),
        stack=np.zeros(STACK, dtype=np.int64),
    )


def copied(tables: ClearTables) -> ClearTables:
    """Copy the tables for another thread."""
    lanes = {name: _lane_array(len(getattr(tables, name))) for name in _LANE_ARRAYS}
    for name, array in lanes.items():
        array[:] = getattr(tables, name)
    others = [n for n in ClearTables._fields if n not in lanes]
    return tables._replace(**lanes, **{name: getattr(tables, name).copy() for name in others})

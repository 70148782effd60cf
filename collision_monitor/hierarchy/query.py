# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Compiled queries, one call each, from joint positions to distances; and their result.

``numbers`` and ``index`` are the arrays of `packed.pack`. They contain work space, so threads must
not query the same arrays at the same time.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

import numpy as np

from collision_monitor.common.array_views import work_space
from collision_monitor.common.compiled import (
    MINUS_ONE,
    compiling,
    is_on_disk,
    kernel,
    offline_kernel,
    small_kernel,
)
from collision_monitor.geometry.segments import capsule_distance, capsule_witness
from collision_monitor.hierarchy.aabb_tree import (
    ROOT,
    STACK,
    Search,
    any_closer,
    begin_search,
    leaves_closer,
    nearest_leaves,
    next_leaves,
    refit,
)
from collision_monitor.hierarchy.kinematics import (
    add_motion,
    first_bad,
    forward_kinematics,
    place_leaves,
    place_links,
)
from collision_monitor.hierarchy.link_balls import (
    set_link_ball,
    set_reaches,
    surely_farther,
    surely_farther_from_link,
)
from collision_monitor.hierarchy.packed import pack_chain, unpack


class Clearance:
    """The minimum signed distance of a configuration, with the nearest pair and points.

    Attributes:
        distance: metres; at most 0 in contact, where the links are at most so deep in each other.
        links: names of the two nearest links or obstacles.
        leaves: indices of the two leaves in ``model.leaves``, -1 for that of an object that is no
            part of the model; (-1, -1) for an exact distance.
        exact: whether the shapes were measured instead of the leaves. If they touch and ``leaves``
            are given, depth and points are those of the leaves.
        triangles: indices of the nearest triangles in the meshes of the two links, counted through
            all meshes of a link; -1 for leaves and for shapes that are not meshes.
    """

    __slots__ = ("_normal", "_points", "distance", "exact", "leaves", "links", "triangles")

    def __init__(
        self,
        distance: float,
        links: tuple[str, str],
        points: Sequence,
        normal: Sequence[float],
        leaves: tuple[int, int] = (-1, -1),
        exact: bool = False,
        triangles: tuple[int, int] = (-1, -1),
    ) -> None:
        """``points``: six coordinates, in any nesting; ``normal``: three. Created by queries."""
        self.distance = distance
        self.links = links
        self.leaves = leaves
        self.exact = exact
        self.triangles = triangles
        self._points = points
        self._normal = normal

    @property
    def points(self) -> np.ndarray:
        """Nearest points (2, 3) on the surfaces of the two leaves or shapes, base frame, metres."""
        return np.array(self._points, dtype=float).reshape(2, 3)

    @property
    def normal(self) -> np.ndarray:
        """Unit vector (3,) from ``links[0]`` to ``links[1]``, base frame.

        Also defined in contact and penetration: ``points[1] - points[0] == distance * normal``.
        """
        return np.array(self._normal, dtype=float)

    def __repr__(self) -> str:
        a, b = self.links
        return f"Clearance({self.distance:.6f} m between {a!r} and {b!r})"


MANY = np.int64(np.iinfo(np.int64).max)  # all pairs


@small_kernel
def place_all(numbers, index):
    """Set the balls, place the static leaves and update the boxes above them, once at load."""
    view = unpack(numbers, index)
    set_reaches(view, ROOT, len(view.leaf_bodies))
    for link in range(len(view.links)):
        set_link_ball(view, link)
    place_leaves(view, len(view.leaf_bodies))
    refit(view, view.moving_nodes, len(view.nodes))


@small_kernel
def move(view, q):
    """Run forward kinematics, place the moving leaves and refit the tree."""
    forward_kinematics(view, q)
    place_leaves(view, view.moving_leaves)
    refit(view, ROOT, view.moving_nodes)


@kernel
def distance(numbers, index, q):
    """Return (leaf i, leaf j, signed distance, 3 + 3 point coordinates, 3 normal components).

    Metres, base frame. Leaf i is -2 - k if q[k] is not finite, -1 if no pair is checked.
    """
    bad = first_bad(q)
    if bad >= 0:
        return -2 - bad, -1, np.nan, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    view = unpack(numbers, index)
    move(view, q)
    _, i, j = nearest_leaves(view)
    if i < 0:
        return -1, -1, np.nan, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    d, ax, ay, az, bx, by, bz, nx, ny, nz = capsule_witness(view.ends, view.radii, i, j)
    return i, j, d, ax, ay, az, bx, by, bz, nx, ny, nz


@offline_kernel
def min_distances(numbers, index, configurations, out):
    """Write the minimum signed distance at each configuration; return an invalid row, or -1."""
    view = unpack(numbers, index)
    for configuration in range(len(configurations)):
        q = configurations[configuration]
        if first_bad(q) >= 0:
            return configuration
        move(view, q)
        out[configuration] = nearest_leaves(view)[0]
    return -1


@offline_kernel
def clear_rows(numbers, index, configurations, margin, out):
    """Write whether no pair is closer than ``margin``; return an invalid row, or -1."""
    view = unpack(numbers, index)
    for configuration in range(len(configurations)):
        q = configurations[configuration]
        if first_bad(q) >= 0:
            return configuration
        move(view, q)
        out[configuration] = not any_closer(view, margin)
    return -1


@kernel
def nearest_of_links(view, a, b, i, j, within):
    """Return (distance, leaf, leaf) of links a and b, where they are placed.

    Their leaves i and j, unless -1, are measured first. If no leaves are nearer than ``within``,
    this and i and j are returned.
    """
    links, ends, radii, reaches = view.links, view.ends, view.radii, view.reaches
    least, best_i, best_j = within, i, j
    if i >= 0:
        least = min(within, capsule_distance(ends, radii, i, j))
    for m in range(links[a, 0], links[a, 1]):
        if surely_farther_from_link(
            ends, reaches, view.link_centers, view.link_balls, m, b, least
        ):
            continue
        for n in range(links[b, 0], links[b, 1]):
            if not surely_farther(ends, reaches, m, n, least):
                distance = capsule_distance(ends, radii, m, n)
                if distance < least:
                    least, best_i, best_j = distance, m, n
    return least, best_i, best_j


@kernel
def pair_distances(numbers, index, configurations, pairs, out):
    """Write signed distances (configurations, pairs) of two links, ``pairs`` (pairs, 2).

    Returns the row of an invalid configuration, or -1.
    """
    view = unpack(numbers, index)
    for configuration in range(len(configurations)):
        q = configurations[configuration]
        if first_bad(q) >= 0:
            return configuration
        place_links(view, q)
        for pair in range(len(pairs)):
            a, b = pairs[pair, 0], pairs[pair, 1]
            out[configuration, pair] = nearest_of_links(
                view, a, b, MINUS_ONE, MINUS_ONE, np.inf
            )[0]
    return -1


@kernel
def contacts(numbers, index, q, margin, leaf_pairs):
    """Write pairs closer than ``margin`` to ``leaf_pairs`` (k, 2); return their number, or -2 - k.

    The number includes pairs that do not fit.
    """
    bad = first_bad(q)
    if bad >= 0:
        return -2 - bad
    view = unpack(numbers, index)
    move(view, q)
    return leaves_closer(view, margin, MANY, leaf_pairs)


@kernel
def leaf_segments(numbers, index, q, out):
    """Write end points of all leaves to out (leaves, 6), base frame; return 0, or -2 - k."""
    bad = first_bad(q)
    if bad >= 0:
        return -2 - bad
    view = unpack(numbers, index)
    forward_kinematics(view, q)
    place_leaves(view, view.moving_leaves)
    for k in range(len(out)):  # whole-array assignment takes seconds to compile
        for axis in range(6):
            out[k, axis] = view.ends[k, axis]
    return 0


# -- pairs of leaves below a limit, and the gradients of their distances --
#
# ``pair_table[a, b]`` is the index of the pair of links a and b, or -1; ``leaf_links`` the link of
# each leaf; ``limits`` one distance (m) for each pair of links, -inf for ignored pairs.


@offline_kernel
def near_leaves(view, leaf_links, pair_table, limits, widest, leaf_pairs, values):
    """Write leaf pairs closer than their limit to ``leaf_pairs`` (k, 3): leaf, leaf, pair of links.

    Their distances are written to the first column of ``values``. Returns the number of pairs,
    including those that do not fit into ``leaf_pairs``. ``widest`` is the largest limit.
    """
    search = Search(work_space(ROOT, STACK, 2), work_space(widest, STACK, 1))
    size, count = begin_search(search), 0
    while True:
        size, a, b = next_leaves(view, widest, search, size)
        if a < 0:
            return count
        pair = pair_table[leaf_links[a], leaf_links[b]]
        if surely_farther(view.ends, view.reaches, a, b, limits[pair]):
            continue
        distance = capsule_distance(view.ends, view.radii, a, b)
        if distance < limits[pair]:
            if count < len(leaf_pairs):
                leaf_pairs[count, 0], leaf_pairs[count, 1], leaf_pairs[count, 2] = a, b, pair
                values[count, 0] = distance
            count += 1


@offline_kernel
def nearest_of_pairs(limits, leaf_pairs, values, count, spread):
    """Keep, of ``count`` leaf pairs, those within ``spread`` (m) of the nearest of their links."""
    least = np.full(len(limits), np.inf)
    for item in range(count):
        least[leaf_pairs[item, 2]] = min(least[leaf_pairs[item, 2]], values[item, 0])
    kept = 0
    for item in range(count):
        if values[item, 0] <= least[leaf_pairs[item, 2]] + spread:
            leaf_pairs[kept, 0], leaf_pairs[kept, 1] = leaf_pairs[item, 0], leaf_pairs[item, 1]
            leaf_pairs[kept, 2], values[kept, 0] = leaf_pairs[item, 2], values[item, 0]
            kept += 1
    return kept


@offline_kernel
def near(
    numbers, index, leaf_links, pair_table, limits, widest, spread, q, leaf_pairs, values, gradients
):
    """Write leaf pairs closer than their limit at q, with distances and gradients.

    Of the leaf pairs of two links only those within ``spread`` metres of the nearest are kept.

    ``leaf_pairs`` (k, 3) and ``values`` (k, 1) as in `near_leaves`; ``gradients`` (k, nq): d
    distance / d q. Returns their number (above k if some did not fit), or -2 - i for an invalid
    q[i].

    The gradient holds the nearest points fixed in their bodies (Danskin's theorem).
    """
    bad = first_bad(q)
    if bad >= 0:
        return -2 - bad
    view = unpack(numbers, index)
    move(view, q)
    count = near_leaves(view, leaf_links, pair_table, limits, widest, leaf_pairs, values)
    if count > len(leaf_pairs):
        return count
    if spread < np.inf:
        count = nearest_of_pairs(limits, leaf_pairs, values, count, spread)
    for item in range(count):
        i, j = leaf_pairs[item, 0], leaf_pairs[item, 1]
        _, ax, ay, az, bx, by, bz, nx, ny, nz = capsule_witness(view.ends, view.radii, i, j)
        gradients[item, :] = 0.0
        add_motion(view, view.leaf_bodies[i, 0], ax, ay, az, nx, ny, nz, -1.0, gradients[item])
        add_motion(view, view.leaf_bodies[j, 0], bx, by, bz, nx, ny, nz, 1.0, gradients[item])
    return count


# -- compiling before the first query --
#
# Compiling takes seconds. `distance` and the kernels of loading are compiled while a robot is
# loaded, the other queries when a monitor is created, never when a joint state arrives. Everything
# else is compiled at its first call.

logger = logging.getLogger(__name__)


def empty_model() -> tuple[np.ndarray, np.ndarray]:
    """Return (numbers, index) of a model without joints and leaves, for compiling kernels."""
    none, rows = np.empty(0), np.empty(0, dtype=np.int64)
    return pack_chain(rows, none, none, rows, none, none, rows)


def warm_up() -> None:
    """Compile what loading and the first distance need, or load it from disk; log the reason."""
    compile_now, begin = not is_on_disk(distance), time.monotonic()
    if compile_now:
        logger.info("compiling kernels; this takes some seconds, once")
    numbers, index = empty_model()
    q = np.empty(0)
    with compiling(distance):
        place_all(numbers, index)
        contacts(numbers, index, q, 0.0, np.empty((2, 2), dtype=np.int64))
        distance(numbers, index, q)
    if compile_now:
        logger.info("kernels compiled in %.1f s", time.monotonic() - begin)


def warm_up_for_states() -> None:
    """Compile the other queries, so that no joint state of a monitor has to wait for it."""
    numbers, index = empty_model()
    q = np.empty(0)
    with compiling(pair_distances):
        leaf_segments(numbers, index, q, np.empty((0, 6)))
        pairs = np.empty((0, 2), dtype=np.int64)
        pair_distances(numbers, index, q.reshape(1, 0), pairs, np.empty((1, 0)))

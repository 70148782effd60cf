# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Exact distances of a model, on the triangles of its shapes instead of the leaves."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numba import typeof

from collision_monitor.common.compiled import callback_address, compiling, is_on_disk
from collision_monitor.common.disk_cache import content_key
from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.hierarchy.query import Clearance, empty_model
from collision_monitor.mesh_distance import crossings, nearest_query, part_calls
from collision_monitor.mesh_distance.crossings import list_contacts
from collision_monitor.mesh_distance.link_pair_distance import TOUCH
from collision_monitor.mesh_distance.mesh_tree import build_triangle_tree
from collision_monitor.mesh_distance.nearest_query import LOOKAHEAD, LOOSE, NEAR, UNSURE, WITHIN
from collision_monitor.mesh_distance.part_distance import holds, part_distance
from collision_monitor.mesh_distance.parts import (
    Part,
    Shapes,
    box_around,
    new_state,
    pack_shapes,
    parts_of,
    windows,
)
from collision_monitor.robot.description import Shape
from collision_monitor.robot.poses import pose_rows

logger = logging.getLogger(__name__)

_NO_LEAVES = (-1, -1)
# What exact queries may compute: the numbers of callees that they need (`calls`).
DISTANCES, CROSSINGS = 2, part_calls.CALLS


class LinkShapes(NamedTuple):
    """The shapes of a link or an obstacle, its body, and its pose (4, 4) in the body's frame.

    Attributes:
        parts: made of the shapes; None to make them when needed.
    """

    shapes: Sequence[Shape]
    body: int
    pose: np.ndarray
    parts: Sequence[Part] | None = None


class ExactShapes:
    """All shapes of a model as flat arrays; built at first use and shared by twins.

    Attributes:
        given: the shapes of each link and obstacle, in the order of ``model.link_names``.
    """

    def __init__(
        self, links: Mapping[str, LinkShapes], leaf_links: Sequence[int], hierarchy: str
    ) -> None:
        """``links``: see ``given``; ``leaf_links`` (leaves,) index them."""
        self.hierarchy = hierarchy
        self.nodes = 0
        self.names = tuple(links)
        self.given = links
        self._leaf_links = np.asarray(leaf_links, dtype=np.int64)
        self._arrays: tuple[np.ndarray, np.ndarray] | None = None

    @cached_property
    def content(self) -> str:
        """Digest of all shapes."""
        return content_key(
            [
                (name, link.body, link.pose, [shape.content for shape in link.shapes])
                for name, link in self.given.items()
            ]
        )

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (numbers, index) of `parts.Shapes`."""
        if self._arrays is None:
            self._arrays = self._build()
        return self._arrays

    def links(self) -> dict[str, LinkShapes]:
        """Return all links with their parts, which are windows into ``arrays``."""
        numbers, index = self.arrays()
        shapes = windows(numbers, index)
        table, places = shapes.parts, np.tile(np.eye(4), (len(shapes.parts), 1, 1))
        places[:, :3, :3] = shapes.places[:, :9].reshape(-1, 3, 3)
        places[:, :3, 3] = shapes.places[:, 9:]
        ends = np.vstack([table[1:, [1, 2, 4]], [len(numbers), len(index), len(shapes.closed)]])
        parts = [
            Part(
                kind=int(row[0]),
                tree=(numbers[row[1] : end[0]], index[row[2] : end[1]]),
                ball=shapes.balls[k],
                place=places[k],
                solid=shapes.solids[k],
                closed=shapes.closed[row[4] : end[2], 0],
                box=shapes.boxes[k],
                probes=shapes.probes[row[6] : row[6] + row[7]],
            )
            for k, (row, end) in enumerate(zip(table, ends, strict=True))
        ]
        return {
            name: link._replace(parts=parts[first : first + count])
            for (name, link), (_, first, count) in zip(
                self.given.items(), shapes.links.tolist(), strict=True
            )
        }

    def _build(self) -> tuple[np.ndarray, np.ndarray]:
        of_links = [
            parts_of(link.shapes, self.hierarchy) if link.parts is None else link.parts
            for link in self.given.values()
        ]
        parts = [part for some in of_links for part in some]
        counts = np.array([len(some) for some in of_links])
        probes = np.array([len(part.probes) for part in parts])
        bodies = [link.body for link in self.given.values()]
        nodes = np.array([part.nodes for part in parts])
        row_counts = np.array([len(part.closed) for part in parts])
        self.nodes = int(nodes.sum())
        poses = [link.pose for link in self.given.values()]
        tables = {
            "links": np.column_stack([bodies, _offsets(counts), counts]),
            "parts": np.column_stack(
                [
                    [part.kind for part in parts], np.zeros((len(parts), 2)), _offsets(nodes),
                    _offsets(row_counts), [part.closed.any() for part in parts], _offsets(probes),
                    probes,
                ]
            ),
            "leaf_links": self._leaf_links.reshape(-1, 1),
            "closed": np.concatenate([part.closed for part in parts]).reshape(-1, 1),
            "frames": pose_rows(np.array(poses)),
            "extents": np.array(
                [box_around(np.array([part.extent for part in some])) for some in of_links]
            ),
            "balls": np.array([part.ball for part in parts]),
            "boxes": np.array([part.box for part in parts]),
            "places": pose_rows(np.array([part.place for part in parts])),
            "solids": np.array([part.solid for part in parts]),
            "probes": np.concatenate([part.probes for part in parts]),
        }  # fmt: skip
        return pack_shapes(tables, [part.tree for part in parts])


def _offsets(counts: np.ndarray) -> np.ndarray:
    return np.cumsum(counts) - counts


class Crossing(NamedTuple):
    """Crossing triangles of two links.

    Attributes:
        triangles: (k, 2) indices of the triangles in the meshes of their links, counted through all
            meshes; -1 for a box, a cylinder, a sphere or a capsule.
        corners: (k, 2, 3, 3) their corners in the base frame, metres; nan for -1.
    """

    triangles: np.ndarray
    corners: np.ndarray


class ExactDistance:
    """The exact queries of one model, with their work space, for one thread."""

    def __init__(
        self,
        shapes: ExactShapes,
        packed: tuple[np.ndarray, np.ndarray],
        pairs: np.ndarray,
        names: Callable[[int], tuple[str, str]],
        refusal: Callable[[int, np.ndarray], Exception],
    ) -> None:
        """Build missing hierarchies and compile missing kernels.

        Args:
            shapes: of all links.
            packed: the arrays of `hierarchy.packed`, shared with the model's other queries.
            pairs: (p, 2) links of each pair.
            names: returns the links of a pair.
            refusal: returns the error for a kernel's negative code and a configuration.
        """
        self._names, self._pairs = names, pairs
        self._refusal = refusal
        _prepare_cached(DISTANCES)
        numbers, index = shapes.arrays()
        self._leaf_links = windows(numbers, index).leaf_links
        self.state = new_state(len(shapes.names), pairs, shapes.nodes)
        self._arrays = (*packed, numbers, index, *self.state, calls(DISTANCES))
        self._callees = DISTANCES

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """First arguments of the kernels of `nearest_query`."""
        return self._arrays

    def prepare(self, what: int) -> None:
        """Compile the queries of `CROSSINGS`; the first of them does this otherwise."""
        _prepare_cached(what)
        if what > self._callees:
            self._arrays, self._callees = (*self._arrays[:-1], calls(what)), what

    def nearest(self, q: np.ndarray, any_contact: bool = False) -> Clearance:
        """Return the nearest pair at ``q``; see `CollisionModel.distance`."""
        result = nearest_query.exact_distance(*self._arrays, q, not any_contact)
        pair = result[0]
        if result[2] > 0:
            found = self._nearest_by_leaves(result[2])
            if pair < 0 or found.distance <= result[1]:
                return found
        if pair < 0:
            raise self._refusal(pair, q)
        return Clearance(
            result[1], self._names(pair), result[5:11], result[11:], _NO_LEAVES, True, result[3:5]
        )

    def _nearest_by_leaves(self, touching: int) -> Clearance:
        """Return the deepest of the ``touching`` pairs of the last query, by the leaves."""
        numbers, index, _, _, work, work_index, _ = self._arrays
        result = nearest_query.touching_leaves(numbers, index, work, work_index, touching)
        pair, i, j, distance = result[:4]
        points, normal = np.array(result[4:10]).reshape(2, 3), np.array(result[10:])
        if self._leaf_links[i, 0] != self._pairs[pair, 0]:  # the leaves are in another order
            i, j, points, normal = j, i, points[::-1], -normal
        distance = min(distance, 0.0)  # shapes may stick out of leaves of a file by a micrometre
        return Clearance(distance, self._names(pair), points, normal, (i, j), True)

    def refine(self, q: np.ndarray, out: np.ndarray, within: float) -> np.ndarray:
        """Replace distances in ``out`` that are at most ``within`` by exact distances at ``q``.

        Metres. Touching shapes keep the distance of their leaves, at most 0.
        """
        pairs = np.flatnonzero(out <= within)
        leaves = out[pairs]
        rows = self._measure(q, pairs, np.inf, np.inf, leaves)
        out[pairs] = np.where(rows[:, 0] == TOUCH, np.minimum(leaves, 0.0), rows[:, 0])
        return out

    def points(
        self, q: np.ndarray, pairs: np.ndarray, limits: np.ndarray,
        enough: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """See `CollisionModel.surface_points`."""
        pairs = np.ascontiguousarray(pairs)  # kernels are for one layout
        rows = self._measure(q, pairs, limits, np.inf if enough is None else enough, 0.0)
        return np.where(rows[:, 0] == TOUCH, 0.0, rows[:, 0]), rows[:, 1:].reshape(-1, 2, 3)

    def _measure(
        self, q: np.ndarray, pairs: np.ndarray, limits: np.ndarray | float,
        enough: np.ndarray | float, leaves: np.ndarray | float,
    ) -> np.ndarray:  # fmt: skip
        """Rows of `nearest_query.measure_pairs`, 0 where there are no points."""
        measured, asked = np.zeros((len(pairs), 7)), np.empty((3, len(pairs)))
        measured[:, 0] = leaves
        asked[0], asked[1], asked[2] = limits, enough, LOOKAHEAD
        bad = nearest_query.measure_pairs(*self._arrays, q, pairs, asked, measured)
        if bad >= 0:
            raise self._refusal(-2 - bad, q)
        return measured

    def bound(
        self,
        q: np.ndarray,
        pairs: np.ndarray,
        leaves: np.ndarray,
        within: float | np.ndarray,
        loose: float | np.ndarray,
        near: float | np.ndarray,
        seconds: float,
    ) -> np.ndarray:
        """Raise distances of leaves up to ``within`` to lower bounds of those of the shapes.

        Measures one pair, and more until ``seconds`` are over, but none beyond ``near``.
        """
        pairs, out = np.ascontiguousarray(pairs, dtype=np.int64), np.array(leaves, dtype=float)
        asked = np.empty((4, len(out)))
        asked[WITHIN], asked[LOOSE], asked[NEAR] = within, loose, near
        bad = nearest_query.exact_bounds(*self._arrays, q, pairs, asked, out)
        if bad >= 0:
            raise self._refusal(-2 - bad, q)
        unsure = np.flatnonzero(asked[UNSURE] > asked[LOOSE])
        if len(unsure) == 0:
            return out
        end = time.thread_time() + seconds
        # The smallest parts of what is asked first: pairs near by design are asked for little.
        parts = out[unsure] / np.maximum(asked[WITHIN, unsure], ROUNDING)
        measured, limits, placed = np.empty((1, 7)), np.array([[0.0], [np.inf], [0.0]]), q[:0]
        for row in unsure[np.argsort(parts, kind="stable")].tolist():
            measured[0, 0], limits[0, 0] = out[row], asked[WITHIN, row]
            pair = pairs[row : row + 1]
            nearest_query.measure_pairs(*self._arrays, placed, pair, limits, measured)
            if measured[0, 0] > 0.0:
                out[row] = max(out[row], measured[0, 0])
            if time.thread_time() >= end:
                break
        return out

    def crossing(self, q: np.ndarray, links: tuple[int, int], most: int) -> Crossing:
        """See `CollisionModel.crossing_triangles`."""
        self.prepare(CROSSINGS)
        count, room = 0, 0
        while count == room < most:
            room = min(most, max(1000, 4 * room))
            names = np.empty((room, 2), dtype=np.int64)
            corners = np.empty((room, 18))
            count = crossings.list_crossings(*self._arrays, q, *links, names, corners)
        if count < 0:
            raise self._refusal(count, q)
        return Crossing(names[:count], corners[:count].reshape(-1, 2, 3, 3))


# -- compiling exact queries; addresses of the kernels that they call --


@cache
def calls(count: int) -> np.ndarray:
    """Addresses, in this process, of the first callees of exact queries (`part_calls.py`).

    Those of the others are 0.
    """
    kernels = [
        (part_distance, part_calls.PART_DISTANCE),
        (holds, part_calls.HOLDS),
        (list_contacts, part_calls.LIST_CONTACTS),
    ]
    found = [callback_address(kernel, signature) for kernel, signature in kernels[:count]]
    return np.array(found + [0] * (part_calls.CALLS - len(found)), dtype=np.int64)


def prepare(what: int) -> None:
    """Compile exact queries, or load them from disk; log why it takes long.

    ``what``: `DISTANCES` or `CROSSINGS` (of triangles).
    """
    last, compile_all, text = {
        DISTANCES: (nearest_query.touching_leaves, _compile_distances, "exact distances"),
        CROSSINGS: (crossings.list_crossings, _compile_crossings, "crossing triangles"),
    }[what]
    compile_now = not is_on_disk(last)
    if compile_now:
        logger.info("compiling kernels of %s; this takes some seconds, once", text)
    begin = time.monotonic()
    with compiling(last):
        compile_all()
    if compile_now:
        logger.info("kernels of %s compiled in %.1f s", text, time.monotonic() - begin)


_prepare_cached = cache(prepare)  # it checks for files, which takes longer than a distance


def _empty_arguments(what: int) -> tuple[np.ndarray, ...]:
    """Return arguments of queries for a model without links."""
    shapes = pack_shapes(dict.fromkeys(Shapes._fields, np.empty((0, 0))), [])
    state = new_state(0, np.empty((0, 2), dtype=np.int64), 0)
    return (*empty_model(), *shapes, *state, calls(what))


def _compile_distances() -> None:
    build_triangle_tree(np.eye(3), [[0, 1, 2]])
    none, arrays = np.empty(0), _empty_arguments(DISTANCES)
    nearest_query.exact_distance(*arrays, none, True)
    which = np.empty(0, np.int64)
    nearest_query.exact_bounds(*arrays, none, which, np.empty((4, 0)), none)
    nearest_query.measure_pairs(*arrays, none, which, np.empty((3, 0)), np.empty((0, 7)))
    # Only compiled, not called: there are no links.
    numbers, index, _, _, work, work_index, _ = arrays
    nearest_query.touching_leaves.compile(tuple(map(typeof, (numbers, index, work, work_index, 0))))


def _compile_crossings() -> None:
    # Only compiled, not called, as above.
    arrays, none = _empty_arguments(CROSSINGS), np.empty(0)
    rows = np.empty((1, 2), dtype=np.int64), np.empty((1, 18))
    crossings.list_crossings.compile(tuple(map(typeof, (*arrays, none, 0, 0, *rows))))

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Distances of a model's shapes themselves, on their triangles, instead of its leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from collision_monitor.hierarchy.clearance import Clearance
from collision_monitor.mesh_distance import contact_triangles, deepest_contacts, nearest_query
from collision_monitor.mesh_distance.compile_queries import calls, prepare
from collision_monitor.mesh_distance.packed_parts import new_state, pack_shapes
from collision_monitor.mesh_distance.parts import Part, parts_of
from collision_monitor.robot.description import Shape

_NO_LEAVES = (-1, -1)


class LinkShapes(NamedTuple):
    """The shapes of a link or an obstacle, its body and its pose (4, 4) in there."""

    shapes: Sequence[Shape]
    body: int
    pose: np.ndarray


class ExactShapes:
    """All shapes of a model as flat arrays; built when first asked for, shared by its twins."""

    def __init__(
        self, links: Mapping[str, LinkShapes], leaf_links: Sequence[int], hierarchy: str
    ) -> None:
        """``links`` in the order of ``model.link_names``; ``leaf_links`` (leaves,) index them."""
        self.hierarchy = hierarchy
        self.nodes = 0
        self._links = links
        self._leaf_links = np.asarray(leaf_links, dtype=np.int64)
        self._arrays: tuple[np.ndarray, np.ndarray] | None = None

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """(numbers, index) of `mesh_distance.packed_parts.Shapes`."""
        if self._arrays is None:
            self._arrays = self._build()
        return self._arrays

    def _build(self) -> tuple[np.ndarray, np.ndarray]:
        of_links = [parts_of(link.shapes, self.hierarchy) for link in self._links.values()]
        parts = [part for some in of_links for part in some]
        counts = np.array([len(some) for some in of_links])
        probes = np.array([len(part.probes) for part in parts])
        bodies = [link.body for link in self._links.values()]
        nodes = np.array([part.nodes for part in parts])
        rows = np.array([len(part.closed) for part in parts])
        self.nodes = int(nodes.sum())
        poses = [link.pose for link in self._links.values()]
        tables = {
            "links": np.column_stack([bodies, _starts(counts), counts]),
            "parts": np.column_stack(
                [
                    [part.kind for part in parts], np.zeros((len(parts), 2)), _starts(nodes),
                    _starts(rows), [part.closed.any() for part in parts], _starts(probes), probes,
                ]
            ),
            "leaf_links": self._leaf_links.reshape(-1, 1),
            "closed": np.concatenate([part.closed for part in parts]).reshape(-1, 1),
            "frames": _rows(poses),
            "link_balls": np.array([_ball_around(some) for some in of_links]),
            "balls": np.array([part.ball for part in parts]),
            "boxes": np.array([part.box for part in parts]),
            "places": _rows([part.place for part in parts]),
            "solids": np.array([part.solid for part in parts]),
            "probes": np.concatenate([part.probes for part in parts]),
        }  # fmt: skip
        return pack_shapes(tables, [part.tree for part in parts])


def _starts(counts: np.ndarray) -> np.ndarray:
    return np.cumsum(counts) - counts


def _rows(poses: Sequence[np.ndarray]) -> np.ndarray:
    """Poses (k, 4, 4) as rows of 12: the rotation row by row, then the translation."""
    poses = np.array(poses)
    return np.hstack([poses[:, :3, :3].reshape(-1, 9), poses[:, :3, 3]])


def _ball_around(parts: Sequence[Part]) -> np.ndarray:
    """Centre and radius of a ball around the balls of parts."""
    balls = np.array([part.ball for part in parts])
    low, high = (balls[:, :3] - balls[:, 3:]).min(axis=0), (balls[:, :3] + balls[:, 3:]).max(axis=0)
    center = 0.5 * (low + high)
    return np.r_[center, (np.linalg.norm(balls[:, :3] - center, axis=1) + balls[:, 3]).max()]


class Crossing(NamedTuple):
    """Triangles of two links that cross.

    Attributes:
        triangles: (k, 2) numbers of the triangles in the meshes of their links, those of several
            meshes counted one after another; -1 for a box, a cylinder, a sphere or a capsule.
        corners: (k, 2, 3, 3) their corners in the base frame, metres; nan for those.
    """

    triangles: np.ndarray
    corners: np.ndarray


class ExactDistance:
    """The exact queries of one model, and their work space: for one thread."""

    def __init__(
        self,
        shapes: ExactShapes,
        packed: tuple[np.ndarray, np.ndarray],
        link_names: Sequence[str],
        pairs: Sequence[tuple[str, str]],
        refusal: Callable[[int, np.ndarray], Exception],
    ) -> None:
        """Get ready: build what is not built, compile what is not compiled.

        ``packed``: the arrays of `hierarchy.packed` that the model's other queries use as well;
        ``refusal``: the error for a kernel's negative code and a configuration.
        """
        self._pairs = list(pairs)
        self._refusal = refusal
        self._rank = rank = {name: k for k, name in enumerate(link_names)}
        ranks = np.array([[rank[a], rank[b]] for a, b in pairs], dtype=np.int64)
        prepare()
        numbers, index = shapes.arrays()
        self._arrays = (
            *packed, numbers, index,
            *new_state(len(rank), ranks.reshape(-1, 2), shapes.nodes), calls(),
        )  # fmt: skip

    def nearest(self, q: np.ndarray) -> Clearance:
        """The nearest pair at ``q``; see `CollisionModel.distance`."""
        result = nearest_query.exact_distance(*self._arrays, q)
        if result[2] > 0:
            best = result[1] if result[0] >= 0 else 0.0
            deeper = deepest_contacts.deepest_pair(*self._arrays, result[2], best)
            if deeper[0] >= 0:
                result = deeper
        pair = result[0]
        if pair < 0:
            raise self._refusal(pair, q)
        distance = result[1] + 0.0  # a contact that just touches is 0.0, not -0.0
        return Clearance(
            distance, self._pairs[pair], result[5:11], result[11:], _NO_LEAVES, True, result[3:5]
        )

    def refine(self, q: np.ndarray, out: np.ndarray, within: float) -> np.ndarray:
        """Put exact distances at ``q`` in the place of those that are at most ``within``."""
        touching = nearest_query.exact_distances(*self._arrays, q, float(within), out)
        if touching < 0:
            raise self._refusal(touching, q)
        if touching > 0:
            deepest_contacts.depths(*self._arrays, touching, out)
        return out

    def bound(
        self, q: np.ndarray, pairs: np.ndarray, out: np.ndarray, within: float, loose: float
    ) -> np.ndarray:
        """Raise distances of leaves, up to ``within``, to what is known of the shapes."""
        code = nearest_query.exact_bounds(
            *self._arrays, q, pairs, float(within), float(loose), np.empty(len(out)), out
        )
        if code < 0:
            raise self._refusal(code, q)
        return out

    def crossing(self, q: np.ndarray, pair: tuple[str, str], most: int) -> Crossing:
        """See `CollisionModel.crossing_triangles`."""
        ranks, room = (self._rank[pair[0]], self._rank[pair[1]]), 0
        count = 0
        while count == room < most:
            room = min(most, max(1000, 4 * room))
            names = np.empty((room, 2), dtype=np.int64)
            corners = np.empty((room, 18))
            count = contact_triangles.list_crossings(*self._arrays, q, *ranks, names, corners)
        if count < 0:
            raise self._refusal(count, q)
        return Crossing(names[:count], corners[:count].reshape(-1, 2, 3, 3))

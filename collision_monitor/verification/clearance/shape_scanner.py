# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Scans of a motion by the distances between the shapes of links (kernels: `clearance_scan`)."""

from __future__ import annotations

import copy
import threading
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from collision_monitor.continuous.clearance_scan import BinBounds, no_minima, scan
from collision_monitor.continuous.shape_sweep import Hulls, ShapeTables
from collision_monitor.robot.shape_kinds import hull_points
from collision_monitor.verification.clearance.scanner import (
    BINS_A_CALL,
    MOST,
    MOST_BINS,
    Progress,
    Scan,
    Scanner,
    ScanRequest,
    no_progress,
)

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

_DEPTH_SHARE, _DEPTH_BIN_SHARE = 0.1, 0.3  # tolerances of penetration depths
# A twin takes as long as many distances: a thread keeps one as long as its model exists.
_THREAD = threading.local()


class ShapeScanner(Scanner):
    """As `Scanner`, by the shapes; for use in one thread. Nothing is prepared before its use."""

    def __init__(
        self, model: CollisionModel, progress: Progress = no_progress, most: int = MOST
    ) -> None:
        """``most`` as of `Scanner`."""
        super().__init__(model, progress, most)
        self._alone: dict[int, CollisionModel] = {}  # for depths of pairs that touch

    @cached_property
    def twin(self) -> CollisionModel:
        """A model of its own, so that no result depends on earlier motions."""
        if not hasattr(_THREAD, "twins"):
            _THREAD.twins = WeakKeyDictionary()
        if self.model not in _THREAD.twins:
            _THREAD.twins[self.model] = self.model.twin()
        return copy.copy(_THREAD.twins[self.model])  # which has measured nothing

    @cached_property
    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """The packed model of the twin."""
        return self.twin.exact_arrays()[:2]

    @cached_property
    def shapes(self) -> ShapeTables:
        """Tables of the shapes."""
        arrays = self.twin.exact_arrays()[2:]
        return ShapeTables(arrays, link_hulls(self.model), np.full((MOST_BINS, 1), -np.inf))

    def scan(self, request: ScanRequest, leaf_lows: np.ndarray | None = None) -> Scan:
        """Bounds between shapes, or those between leaves where they are better.

        ``leaf_lows`` (bins, pairs): ``lows`` of a scan by leaves, if there was one.
        """
        result = Scan.empty(request.chosen(self.model), request.edges)
        if leaf_lows is None:
            by_leaves = super().scan(request)
            leaf_lows, result.looks = by_leaves.lows, by_leaves.looks
        for column in range(len(result.pairs)):
            self._scan_pair(request, leaf_lows[:, [column]], column, result)
        np.maximum(result.lows, leaf_lows, out=result.lows)
        return result

    def _scan_pair(
        self, request: ScanRequest, leaf_lows: np.ndarray, column: int, result: Scan
    ) -> None:
        """Write ``result`` of one pair, from the bins with the smallest leaf distances on."""
        pair, schedule, motion = result.pairs[column], request.schedule, request.schedule.packed()
        text = f"distances between the shapes of {' and '.join(self.model.pairs[pair])}"
        bins = np.column_stack([result.edges[:-1], result.edges[1:]])
        known, left = no_minima(self.tables), self.most
        precision = request.precision._replace(
            depth_share=_DEPTH_SHARE, depth_bin_share=_DEPTH_BIN_SHARE
        )
        order = np.argsort(leaf_lows[:, 0], kind="stable")
        for first in range(0, len(order), BINS_A_CALL):
            self.progress(text, first / len(order))
            some = order[first : first + BINS_A_CALL]
            bounds = BinBounds(*(array[some, column : column + 1] for array in result.bounds))
            *_, measured = scan(
                *self.arrays, self.shapes._replace(by_leaves=leaf_lows[some]),
                self.space(motion.order), motion, bins[some], pair[None], request.rows_of_limits(),
                precision._replace(most=left), schedule.rest.copy(), known, bounds,
            )  # fmt: skip
            self.measured += measured
            result.looks[1] += measured
            left = max(left - measured, 0)
            for whole, part in zip(result.bounds, bounds, strict=True):
                whole[some, column] = part[:, 0]
        result.best[column], result.times[column] = known.best[pair], known.times[pair]

    def measure(self, q: np.ndarray, pair: int) -> tuple[float, np.ndarray]:
        """Signed distance of a pair at q (nq,), metres, and nearest points (2, 3).

        It is at most 0 in contact; depth and points are those of the leaves there.
        """
        (distance,), (points,) = self.twin.surface_points(q, np.array([pair]), np.array([np.inf]))
        if distance > 0.0:
            return float(distance), points
        if pair not in self._alone:
            self._alone[pair] = self.twin.twin([self.model.pairs[pair]])
        contact = self._alone[pair].distance(q, exact=True)
        return contact.distance, contact.points


_HULLS: WeakKeyDictionary[CollisionModel, Hulls] = WeakKeyDictionary()


def link_hulls(model: CollisionModel) -> Hulls:
    """Points whose hulls enclose the links of ``model``, in the order of ``model.link_names``."""
    if model not in _HULLS:
        _HULLS[model] = _link_hulls(model)
    return _HULLS[model]


def _link_hulls(model: CollisionModel) -> Hulls:
    points, stops = [], [0]
    for link in model.exact_shapes.given.values():
        rows, pose = hull_points(link.shapes), link.pose
        rows[:, :3] = rows[:, :3] @ pose[:3, :3].T + pose[:3, 3]
        points.append(rows)
        stops.append(stops[-1] + len(rows))
    links = np.column_stack([stops[:-1], stops[1:]]).astype(np.int64)
    return Hulls(np.concatenate(points).ravel(), links.ravel())

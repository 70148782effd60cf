# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Distances between the leaves of a packed model; tables of its pairs for searches of others."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from collision_monitor.common.limits import LARGEST_OF_JOINT, check_time
from collision_monitor.common.text import MOST_NAMED, shortened
from collision_monitor.errors import ConfigurationError, NothingToCheckError
from collision_monitor.hierarchy import query
from collision_monitor.hierarchy.packed import windows
from collision_monitor.hierarchy.query import Clearance
from collision_monitor.robot.pairs import UnmonitoredPair

_MIN_ROWS_PER_THREAD = 200  # fewer rows do not justify a thread
_FLOAT = np.dtype(np.float64)


def require_length(margin: float) -> None:
    """Raise ConfigurationError unless a margin is a finite length, metres."""
    try:
        is_length = math.isfinite(margin)  # numpy.isfinite would take as long as a small query
    except TypeError:
        is_length = False
    if not is_length:
        raise ConfigurationError(f"margin: {margin!r} is not a length in metres")


def plain_array(values: Any, what: str) -> np.ndarray:
    """``values`` as numbers in the one kind of array that kernels are compiled for.

    Raises:
        ConfigurationError: they are not numbers; ``what`` they are begins the message.
    """
    try:
        values = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{what} is not an array of numbers: {error}") from None
    # A copy of one that is read-only, too: kernels would be compiled for it.
    return values if values.flags.carray else np.array(values, order="C")


def existing_pairs(pairs: Sequence[int] | np.ndarray, count: int) -> np.ndarray:
    """``pairs``, indices (k,) or a mask, as the indices that kernels take, which do not check them.

    Raises:
        IndexError: one is not below ``count``, or negative: -1 is none in a table of pairs.
    """
    pairs = np.asarray(pairs)
    pairs = np.flatnonzero(pairs) if pairs.dtype == bool else pairs
    pairs = np.ascontiguousarray(pairs, dtype=np.int64)
    bad = pairs[pairs.view(np.uint64) >= count]  # where negative ones are large
    if len(bad):
        raise IndexError(f"there is no pair {bad[0]}, but {count} from 0 on")
    return pairs


def _refusal(
    robot: str, joint_names: Sequence[str], link_names: Sequence[str],
    unmonitored: Sequence[UnmonitoredPair], code: int, q: Sequence[float] | np.ndarray,
) -> Exception:  # fmt: skip
    """The error for the return code of a kernel: -1 no pairs, -2 - k an invalid q[k]."""
    if code != -1:
        return ConfigurationError(
            f"joint '{joint_names[-2 - code]}' is at {q[-2 - code]:.6g}; "
            f"a finite number is needed, at most {LARGEST_OF_JOINT:g}"
        )
    if not unmonitored:
        return NothingToCheckError(
            f"'{robot}' has no pair of links to check: only {link_names[0]!r} has a shape; add "
            "obstacles"
        )
    return NothingToCheckError(
        f"'{robot}' has no pair of links to check: of {len(link_names)} links with shapes, all "
        f"{len(unmonitored)} pairs are left out (unmonitored_pairs says why); add obstacles or "
        "enable pairs"
    )


class LeafQueries:
    """Calls the kernels of `hierarchy.query`, and raises what they refuse. For one thread.

    Derived classes set the attributes of `CollisionModel`.

    Attributes:
        packed: (numbers, index), the packed model.
        refusal: returns the error for the return code of a kernel at q: -1 no pairs, -2 - k an
            invalid q[k]. It has no reference to the model, so that there is no reference cycle.
    """

    name: str
    joint_names: tuple[str, ...]
    link_names: tuple[str, ...]
    leaf_links: np.ndarray
    pair_links: np.ndarray
    unmonitored_pairs: list[UnmonitoredPair]

    def _use_arrays(self, numbers: np.ndarray, index: np.ndarray) -> None:
        """Query a packed model."""
        self.packed = numbers, index
        self.refusal: Callable[[int, Sequence[float] | np.ndarray], Exception] = partial(
            _refusal, self.name, self.joint_names, self.link_names, self.unmonitored_pairs
        )
        self._found = np.empty((4096, 2), dtype=np.int64)  # work space

    # -- checks --

    def configuration(self, q: Sequence[float] | np.ndarray) -> np.ndarray:
        """Return ``q`` as an array (nq,) of numbers; queries check the values.

        Raises:
            ConfigurationError: it has another shape, or is not of numbers.
        """
        shape = (len(self.joint_names),)
        if type(q) is np.ndarray and q.dtype is _FLOAT and q.shape == shape and q.flags.carray:
            return q  # the usual case; the code below would take as long as a small query
        q = plain_array(q, "q")
        if q.shape != shape:
            raise ConfigurationError(
                f"q has shape {q.shape}, but '{self.name}' has {len(self.joint_names)} joints: "
                f"{shortened(self.joint_names, MOST_NAMED)}"
            )
        return q

    def _configurations(self, configurations: np.ndarray) -> np.ndarray:
        configurations = plain_array(configurations, "a batch of configurations")
        if configurations.ndim != 2 or configurations.shape[1] != len(self.joint_names):
            raise ConfigurationError(
                f"configurations have shape {configurations.shape}, not "
                f"(N, {len(self.joint_names)}): one row each, one column per joint of "
                f"'{self.name}'"
            )
        return configurations

    def _raise_for_row(self, row: int, configurations: np.ndarray) -> None:
        if row >= 0:
            q = configurations[row]
            bad = int(np.flatnonzero(~(np.abs(q) <= LARGEST_OF_JOINT))[0])
            raise ConfigurationError(f"row {row}: {self.refusal(-2 - bad, q)}")

    # -- one configuration --

    def _nearest_leaves(self, q: Sequence[float] | np.ndarray) -> tuple:
        """Two leaves, their distance, and nine coordinates of points and normal."""
        q = self.configuration(q)
        result = query.distance(*self.packed, q)
        if result[0] < 0:
            raise self.refusal(result[0], q)
        return result

    def contacts(
        self, q: Sequence[float] | np.ndarray, margin: float = 0.0
    ) -> list[tuple[int, int]]:
        """Pairs of leaves nearer than ``margin`` metres at ``q`` (nq,), as indices into ``leaves``.

        Raises:
            ConfigurationError: q has the wrong shape or a value that is not finite, or margin is
                not a finite number.
        """
        require_length(margin)
        return list(map(tuple, self._near_leaves(self.configuration(q), margin).tolist()))

    def _near_leaves(self, q: np.ndarray, margin: float) -> np.ndarray:
        """As `contacts`, (k, 2); valid until the next call."""
        while True:
            count = query.contacts(*self.packed, q, float(margin), self._found)
            if count < 0:
                raise self.refusal(count, q)
            if count <= len(self._found):
                return self._found[:count]
            self._found = np.empty((2 * len(self._found), 2), dtype=np.int64)

    def leaf_segments(self, q: Sequence[float] | np.ndarray) -> np.ndarray:
        """End points (len(leaves), 2, 3) of the leaves at ``q`` (nq,), base frame, metres."""
        q = self.configuration(q)
        out = np.empty((len(self.leaf_links), 6))
        code = query.leaf_segments(*self.packed, q, out)
        if code < 0:
            raise self.refusal(code, q)
        return out.reshape(-1, 2, 3)

    # -- batches --

    def pair_distances(
        self, configurations: np.ndarray, which: np.ndarray | slice = slice(None)
    ) -> np.ndarray:
        """Distances (N, k) of pairs by index (k,), by default all, metres."""
        configurations, pairs = self._configurations(configurations), self.pair_links[which]
        out = np.empty((len(configurations), len(pairs)))
        self._raise_for_row(
            query.pair_distances(*self.packed, configurations, pairs, out), configurations
        )
        return out

    def min_distances(self, configurations: np.ndarray, threads: int = 1) -> np.ndarray:
        """Minimum signed distances (N,) of a batch, in metres.

        Args:
            configurations: (N, nq) one configuration per row, radians or metres.
            threads: number of threads; 0 uses all processors.

        Raises:
            ConfigurationError: configurations have the wrong shape or a value that is not finite.
            NothingToCheckError: no pair of links is checked.
        """
        return self._in_parallel(
            lambda space, rows, out: query.min_distances(*space, rows, out),
            configurations, np.float64, threads,
        )  # fmt: skip

    def is_clear(
        self, configurations: np.ndarray, margin: float = 0.0, threads: int = 1
    ) -> np.ndarray:
        """Whether no checked pair is closer than ``margin``, (N,) booleans.

        The result equals ``min_distances(configurations) >= margin``, but each row stops at the
        first pair that is too close.

        Args:
            configurations: (N, nq) one configuration per row, radians or metres.
            margin: metres.
            threads: number of threads; 0 uses all processors.

        Raises:
            ConfigurationError: configurations have the wrong shape or a value that is not finite,
                or margin is not a finite number.
            NothingToCheckError: no pair of links is checked.
        """
        require_length(margin)
        margin = float(margin)
        return self._in_parallel(
            lambda space, rows, out: query.clear_rows(*space, rows, margin, out),
            configurations, np.bool_, threads,
        )  # fmt: skip

    def near_shares(self, configurations: np.ndarray, margin: float) -> np.ndarray:
        """Share (pairs,) of configurations with leaves nearer than ``margin``, by the tree."""
        configurations = self._configurations(configurations)
        table, hits = self.pair_table(), np.zeros(len(self.pair_links))
        for q in configurations:
            check_time("selecting pairs")
            one, other = self.leaf_links[self._near_leaves(q, margin)].T
            hits[np.unique(table[one, other])] += 1
        return hits / len(configurations)

    def pair_table(self) -> np.ndarray:
        """(links, links) index into ``pairs``; -1 for links that are not checked."""
        links, (one, other) = len(self.link_names), self.pair_links.T
        table = np.full((links, links), -1, dtype=np.int64)
        table[one, other] = table[other, one] = np.arange(len(one))
        return table

    def _in_parallel(
        self,
        kernel: Callable[[Sequence[np.ndarray], np.ndarray, np.ndarray], int],
        configurations: np.ndarray,
        kind: type,
        threads: int,
    ) -> np.ndarray:
        """Run a batch kernel over ``configurations``; every thread has a copy of the work space."""
        configurations = self._configurations(configurations)
        if not len(self.pair_links):
            raise self.refusal(-1, ())
        out = np.empty(len(configurations), dtype=kind)
        threads = min(
            threads or os.cpu_count() or 1, max(1, len(configurations) // _MIN_ROWS_PER_THREAD)
        )
        if threads <= 1:
            self._raise_for_row(kernel(self.packed, configurations, out), configurations)
            return out
        bounds = np.linspace(0, len(configurations), threads + 1).astype(int)
        with ThreadPoolExecutor(threads) as pool:
            parts = [
                pool.submit(
                    kernel, [array.copy() for array in self.packed], configurations[a:b], out[a:b]
                )
                for a, b in zip(bounds[:-1], bounds[1:], strict=True)
            ]
        for start, part in zip(bounds, parts, strict=False):
            if (bad := part.result()) >= 0:
                self._raise_for_row(start + bad, configurations)
        return out


def nearest_clearance(
    model: Any, q: np.ndarray, exact_within: float, any_contact: bool = True
) -> Clearance:
    """Return the nearest pair at ``q`` (nq,): of shapes if leaves are within ``exact_within`` m.

    ``model``: a CollisionModel, or whatever has its ``distance``.
    """
    nearest = model.distance(q)
    # Written so that NaN counts as near.
    if exact_within == -np.inf or nearest.distance > exact_within:
        return nearest
    return model.distance(q, exact=True, any_contact=any_contact)


class ModelPairs:
    """Tables of the pairs of a model; a `LiveScene` has the same, of the model and its objects.

    Attributes:
        leaf_links: (leaves,) row of each leaf, an index into ``model.link_names``.
        pair_table: (moving links, links) index into ``model.pairs``; -1 for links that are not
            checked. Moving links come first.
        pair_rows: (pairs, 2) both rows of each pair.
        most_moving_leaves: how many leaves may ever move.
    """

    def __init__(self, model: Any, kept: np.ndarray | None = None) -> None:
        """``model``: a CollisionModel.

        ``kept`` (pairs,) bool: the pairs that searches of the tree find; None: all.
        """
        self._arrays = model.work_space(kept)
        self._names = model.link_names
        self._rows = model.link_rows
        view = windows(*self._arrays)
        self.most_moving_leaves = view.moving_leaves
        self.leaf_links, self.pair_rows = model.leaf_links, model.pair_links
        self.pair_table = model.pair_table()[: len(model.moving_links)]

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """(numbers, index) of the packed model, copied."""
        return self._arrays

    def row_of(self, name: str) -> int:
        """Row of a link."""
        return self._rows[name]

    def name_of(self, row: int) -> str:
        """Name of a link."""
        return self._names[row]

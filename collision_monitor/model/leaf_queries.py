# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""LeafQueries: distances between the leaves of a packed model, for checked configurations."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from collision_monitor.common.limits import LARGEST_OF_JOINT, check_time
from collision_monitor.errors import ConfigurationError, NothingToCheckError
from collision_monitor.hierarchy import query
from collision_monitor.hierarchy.packed import windows
from collision_monitor.robot.pairs import UnmonitoredPair

_MIN_ROWS_PER_THREAD = 200  # fewer rows do not justify a thread
_FLOAT = np.dtype(np.float64)


class LeafQueries:
    """Calls the kernels of `hierarchy.query`, and raises what they refuse. For one thread.

    Attributes:
        arrays: (numbers, index), the packed model.
    """

    def __init__(
        self, arrays: tuple[np.ndarray, np.ndarray], robot: str, joint_names: Sequence[str],
        link_names: Sequence[str], leaf_links: np.ndarray, unmonitored: Sequence[UnmonitoredPair],
    ) -> None:  # fmt: skip
        """``unmonitored``: the pairs that are not checked, for a message."""
        self.arrays = arrays
        self._robot, self._joint_names, self._link_names = robot, joint_names, link_names
        self._unmonitored, self._shape = unmonitored, (len(joint_names),)
        self._pairs, self._leaf_links = windows(*arrays).pairs, leaf_links
        self._contacts = np.empty((4096, 2), dtype=np.int64)  # work space

    # -- checks --

    def configuration(self, q: Sequence[float] | np.ndarray) -> np.ndarray:
        """Return ``q`` as an array (nq,); its values are checked by the kernels."""
        if (
            type(q) is np.ndarray
            and q.dtype is _FLOAT
            and q.shape == self._shape
            and q.flags.c_contiguous
        ):
            return q  # the usual case; the code below would take as long as a small query
        try:
            q = np.ascontiguousarray(q, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"q is not an array of numbers: {error}") from None
        if q.shape != self._shape:
            raise ConfigurationError(
                f"q has shape {q.shape}, but '{self._robot}' has {len(self._joint_names)} joints: "
                f"{', '.join(self._joint_names)}"
            )
        return q

    def _configurations(self, configurations: np.ndarray) -> np.ndarray:
        try:
            configurations = np.ascontiguousarray(configurations, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"not an array of configurations: {error}") from None
        if configurations.ndim != 2 or configurations.shape[1:] != self._shape:
            raise ConfigurationError(
                f"configurations have shape {configurations.shape}, not "
                f"(N, {len(self._joint_names)}): one row each, one column per joint of "
                f"'{self._robot}'"
            )
        return configurations

    def refusal(self, code: int, q: Sequence[float] | np.ndarray) -> Exception:
        """The error for the return code of a kernel: -1 no pairs, -2 - k an invalid q[k]."""
        if code == -1:
            return self._nothing_to_check()
        return ConfigurationError(
            f"joint '{self._joint_names[-2 - code]}' is at {q[-2 - code]:.6g}; "
            f"a finite number is needed, at most {LARGEST_OF_JOINT:g}"
        )

    def _raise_for_row(self, row: int, configurations: np.ndarray) -> None:
        if row >= 0:
            q = configurations[row]
            bad = int(np.flatnonzero(~(np.abs(q) <= LARGEST_OF_JOINT))[0])
            raise ConfigurationError(f"row {row}: {self.refusal(-2 - bad, q)}")

    def _require_pairs(self) -> None:
        if not len(self._pairs):
            raise self._nothing_to_check()

    def _nothing_to_check(self) -> NothingToCheckError:
        if not self._unmonitored:
            return NothingToCheckError(
                f"'{self._robot}' has no pair of links to check: only {self._link_names[0]!r} has "
                "a shape; add obstacles"
            )
        return NothingToCheckError(
            f"'{self._robot}' has no pair of links to check: of {len(self._link_names)} links with "
            f"shapes, all {len(self._unmonitored)} pairs are left out (unmonitored_pairs says "
            "why); add obstacles or enable pairs"
        )

    # -- one configuration --

    def nearest(self, q: Sequence[float] | np.ndarray) -> tuple:
        """Two leaves, their distance, and nine coordinates of points and normal."""
        result = query.distance(*self.arrays, self.configuration(q))
        if result[0] < 0:
            raise self.refusal(result[0], q)
        return result

    def contacts(self, q: np.ndarray, margin: float) -> np.ndarray:
        """Pairs (k, 2) of leaves nearer than ``margin`` metres; valid until the next call."""
        while True:
            count = query.contacts(*self.arrays, q, float(margin), self._contacts)
            if count < 0:
                raise self.refusal(count, q)
            if count <= len(self._contacts):
                return self._contacts[:count]
            self._contacts = np.empty((2 * len(self._contacts), 2), dtype=np.int64)

    def segments(self, q: Sequence[float] | np.ndarray) -> np.ndarray:
        """End points (leaves, 2, 3) of the leaves, base frame, metres."""
        q = self.configuration(q)
        out = np.empty((len(self._leaf_links), 6))
        code = query.leaf_segments(*self.arrays, q, out)
        if code < 0:
            raise self.refusal(code, q)
        return out.reshape(-1, 2, 3)

    # -- batches --

    def pair_distances(
        self, configurations: np.ndarray, which: np.ndarray | slice = slice(None)
    ) -> np.ndarray:
        """Distances (N, k) of pairs by index (k,), by default all, metres."""
        pairs = self._pairs[which]
        out = np.empty((len(configurations), len(pairs)))
        self._raise_for_row(
            query.pair_distances(*self.arrays, configurations, pairs, out), configurations
        )
        return out

    def min_distances(self, configurations: np.ndarray, threads: int) -> np.ndarray:
        """Distances (N,) of the nearest pair, metres."""
        return self._in_parallel(
            lambda space, rows, out: query.min_distances(*space, rows, out),
            configurations, np.float64, threads,
        )  # fmt: skip

    def are_clear(
        self, configurations: np.ndarray, margin: float, threads: int
    ) -> np.ndarray:
        """Whether (N,) no pair is closer than ``margin``, metres."""
        return self._in_parallel(
            lambda space, rows, out: query.clear_rows(*space, rows, margin, out),
            configurations, np.bool_, threads,
        )  # fmt: skip

    def near_shares(self, configurations: np.ndarray, margin: float) -> np.ndarray:
        """Share (pairs,) of configurations with leaves nearer than ``margin``, by the tree."""
        count = len(self._link_names)

        def keys(links: np.ndarray) -> np.ndarray:
            links = np.sort(links, axis=1)
            return links[:, 0] * count + links[:, 1]

        known = keys(self._pairs)
        order = np.argsort(known)
        known = known[order]
        hits = np.zeros(len(known))
        for q in configurations:
            check_time("selecting pairs")
            met = np.unique(keys(self._leaf_links[self.contacts(q, margin)]))
            hits[order[np.searchsorted(known, met)]] += 1
        return hits / len(configurations)

    def _in_parallel(
        self,
        kernel: Callable[[Sequence[np.ndarray], np.ndarray, np.ndarray], int],
        configurations: np.ndarray,
        kind: type,
        threads: int,
    ) -> np.ndarray:
        """Run a batch kernel over ``configurations``; every thread has a copy of the work space."""
        configurations = self._configurations(configurations)
        self._require_pairs()
        out = np.empty(len(configurations), dtype=kind)
        threads = min(
            threads or os.cpu_count() or 1, max(1, len(configurations) // _MIN_ROWS_PER_THREAD)
        )
        if threads <= 1:
            self._raise_for_row(kernel(self.arrays, configurations, out), configurations)
            return out
        bounds = np.linspace(0, len(configurations), threads + 1).astype(int)
        with ThreadPoolExecutor(threads) as pool:
            parts = [
                pool.submit(
                    kernel, [array.copy() for array in self.arrays], configurations[a:b], out[a:b]
                )
                for a, b in zip(bounds[:-1], bounds[1:], strict=True)
            ]
        for start, part in zip(bounds, parts, strict=False):
            if (bad := part.result()) >= 0:
                self._raise_for_row(start + bad, configurations)
        return out

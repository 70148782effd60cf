# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""One table of how near the links of a robot are: at home, and over their joint ranges.

It is made once when a robot is loaded, and cached on disk. Which pairs are near by design, their
thresholds and the margins of adjusted motions follow from it. The contacts of pairs that overlap by
design are those of the same configurations.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from collision_monitor.common.disk_cache import Store, content_key
from collision_monitor.common.limits import check_time
from collision_monitor.model.pair_rules import (
    AROUND_ZERO,
    GRID,
    LEAST_SHARE,
    REACH,
    SAMPLES,
    SOMETIMES,
    VERSION,
)

# The least distance is searched from so many of these, by steps in parts of the joint ranges.
_STARTS, _FIRST_STEP, _LAST_STEP = 4, 0.1, 1e-3
_LEVELS = np.linspace(0.0, 1.0, 21)
# Distances of leaves that vary by less (metres) over so many of these are constant.
LEAST_CHANGE, _CHANGE_SAMPLES = 0.005, 64


@dataclass(frozen=True, eq=False)
class SampledDistances:
    """Distances of the pairs of a model that are near at home or in many configurations.

    Distances are in metres, 0 in contact, and at most ``reach``.

    Attributes:
        reach: larger distances were not measured; `REACH` unless it was asked for more.
        pairs: (k,) indices into the pairs of the model.
        quantiles: (k, 21) of the distance in steps of 5 %, over random configurations, or over a
            grid of the joints that move the pair if these are at most three.
        contacts: (k,) share of these configurations in which the shapes touch.
        least: (k,) smallest distance of a pair that at most three joints move, by a search from the
            grid, if it is within `REACH` in a tenth of that; 0 for others.
        at_home: (k,) smallest distance at home where it is above 0: at the configurations of
            `CollisionModel.home_configurations` in which no links touch. `REACH` for pairs with an
            obstacle, or of two robots, which their user places.
        constant: indices of the pairs of the model whose distance hardly varies.
    """

    reach: float
    pairs: np.ndarray
    quantiles: np.ndarray
    contacts: np.ndarray
    least: np.ndarray
    at_home: np.ndarray
    constant: list[int]

    def share_within(self, distance: float) -> np.ndarray:
        """Share (k,) of the configurations with at most this distance, metres."""
        steps = np.diff(self.quantiles, axis=1)
        passed = np.clip(
            (distance - self.quantiles[:, :-1]) / np.where(steps > 0.0, steps, 1.0), 0.0, 1.0
        )
        passed = np.where(steps > 0.0, passed, self.quantiles[:, :-1] <= distance)
        return passed.mean(axis=1)

    def apart_quantile(self, share: float) -> np.ndarray:
        """Quantile (k,) of the distances without contact, metres."""
        return np.array([
            np.interp(contact + share * (1.0 - contact), _LEVELS, row)
            for contact, row in zip(self.contacts, self.quantiles, strict=True)
        ])  # fmt: skip

    def always_touching(self) -> list[int]:
        """Return the indices of pairs that touch in all configurations."""
        return self.pairs[self.contacts >= 1.0].tolist()


def sampled_configurations(
    model: Any, columns: tuple[int, ...], corners: bool = False
) -> np.ndarray:
    """Return the configurations (n, nq) of pairs with these `few_joints_of`: random, or a grid.

    ``corners``: with those of the grid, at the end. They would count too much in a share.
    """
    if not columns:
        return _random(model)
    rows = _grid(model, [columns])
    return rows if corners else rows[: -(2 ** len(columns))]


def samples_around_zero(model: Any, count: int, seed: int = 0) -> np.ndarray:
    """Return configurations (count, nq) near zero, or near the limit nearest to zero."""
    half = AROUND_ZERO * (model.upper - model.lower)
    offsets = np.random.default_rng(seed).uniform(-1.0, 1.0, (count, len(half))) * half
    return np.clip(np.clip(0.0, model.lower, model.upper) + offsets, model.lower, model.upper)


def reach_for(distance: float) -> float:
    """`REACH`, doubled until it is above ``distance``, metres: few tables serve all distances."""
    reach = REACH
    while reach <= distance < np.inf:
        reach *= 2.0
    return reach


def sampled_distances(model: Any, exact: bool, reach: float = REACH) -> SampledDistances:
    """Measure the pairs of a CollisionModel that are near at home or often; cached on disk.

    ``exact``: on the shapes instead of the leaves. It compiles exact queries, and builds their
    hierarchies, unless the result is cached. ``reach``: metres, at least `REACH`.
    """
    kept: list[list] = [[] for _ in range(6)]
    if model.pairs:
        home = model.home_configurations()
        key = content_key("sampled", VERSION, exact, reach, home, model.content)
        kept = Store("contacts").kept(key, lambda: _measured(model, home, exact, reach))
    pairs, quantiles, *columns, constant = kept
    return SampledDistances(
        reach, np.array(pairs, dtype=int), np.reshape(quantiles, (-1, len(_LEVELS))),
        *(np.array(column, dtype=float) for column in columns), constant,
    )  # fmt: skip


def _measured(model: Any, home: np.ndarray, exact: bool, reach: float) -> list[list]:
    """The arguments of `SampledDistances` after the first, as plain lists."""
    samples = _random(model)
    # Leaves are nearer than meshes: they exclude pairs that are far apart.
    shares = model.near_shares(samples, reach)
    at_home = _at_home(model, home, exact)
    groups: dict[tuple[int, ...], list[int]] = {}
    for pair in np.flatnonzero(shares > 0.0).tolist() + sorted(at_home):
        columns = few_joints_of(model, model.pairs[pair])
        if columns or shares[pair] >= LEAST_SHARE or pair in at_home:
            groups.setdefault(columns, []).append(pair)
    table = {}
    for batch in _batches(groups):
        numbers = np.unique(np.concatenate(list(batch.values())))
        is_grid = () not in batch
        configurations = _grid(model, batch) if is_grid else samples
        distances = _distances(model, configurations, numbers, exact, reach)
        quantiles = np.quantile(distances, _LEVELS, axis=0).T.tolist()
        contacts = np.mean(distances <= 0.0, axis=0).tolist()
        least = dict.fromkeys(numbers.tolist(), 0.0)
        for columns, pairs in batch.items():
            for pair in pairs if is_grid else ():
                of_pair = distances[:, np.searchsorted(numbers, pair)]
                if np.mean(of_pair < REACH) >= SOMETIMES:
                    least[pair] = _least(model, pair, configurations, of_pair, columns, exact)
        for pair, *row in zip(numbers.tolist(), quantiles, contacts, strict=True):
            table[pair] = *row, least[pair], at_home.get(pair, REACH)
    pairs = sorted(table)
    columns = ([table[pair][column] for pair in pairs] for column in range(4))
    return [pairs, *columns, _constant(model)]


def _random(model: Any) -> np.ndarray:
    return model.random_configurations(SAMPLES, seed=2)


def _distances(
    model: Any, configurations: np.ndarray, pairs: np.ndarray, exact: bool, reach: float = REACH
) -> np.ndarray:
    """Distances (n, k) of ``pairs`` (k,) at configurations (n, nq), metres, from 0 to ``reach``."""
    distances = np.empty((len(configurations), len(pairs)))
    for q, row in zip(configurations, distances, strict=True):
        check_time("measuring how near pairs usually are")
        row[:] = (
            model.surface_distances(q, pairs, limit=reach)
            if exact
            else model.pair_distances(q[None], pairs)[0]
        )
    return np.clip(distances, 0.0, reach)


def is_of_one_robot(model: Any, pair: tuple[str, str]) -> bool:
    """Whether a pair is of two links of one robot; obstacles and robots are placed by the user."""
    parts = model.robot.parts
    return parts.keys() >= set(pair) and parts[pair[0]] == parts[pair[1]]


def few_joints_of(model: Any, pair: tuple[str, str]) -> tuple[int, ...]:
    """Return the columns of the joints that move two links of the robot; none if these are many.

    Joints whose limits are equal do not count.
    """
    if not model.bodies.link_bodies.keys() >= set(pair):
        return ()
    columns = model.bodies.joints_between(*pair)
    columns = [k for k in columns if model.lower[k] < model.upper[k]]
    return tuple(columns) if len(columns) <= len(GRID) else ()


def _batches(groups: Mapping[tuple[int, ...], list[int]]) -> list[dict[tuple[int, ...], list[int]]]:
    """Join groups of pairs, by the columns of q that move them, that can be measured together.

    They have equally many columns, and none in common.
    """
    batches: list[dict[tuple[int, ...], list[int]]] = []
    for columns, pairs in groups.items():
        for batch in batches:
            if all(len(c) == len(columns) and not set(c) & set(columns) for c in batch):
                batch[columns] = pairs
                break
        else:
            batches.append({columns: pairs})
    return batches


def _grid(model: Any, groups: Collection[tuple[int, ...]]) -> np.ndarray:
    """Configurations (n, nq), one in each cell of a grid of the columns of each group, and corners.

    Other joints are at zero.
    """
    count = len(next(iter(groups)))
    cells = np.array(list(product(range(GRID[count - 1]), repeat=count)))
    inside = (cells + np.random.default_rng(2).random(cells.shape)) / GRID[count - 1]
    parts = np.vstack((inside, list(product((0.0, 1.0), repeat=count))))
    rows = np.tile(np.clip(0.0, model.lower, model.upper), (len(parts), 1))
    for columns in map(list, groups):
        low, high = model.lower[columns], model.upper[columns]
        rows[:, columns] = low + parts * (high - low)
    return rows


def _at_home(model: Any, home: np.ndarray, exact: bool) -> dict[int, float]:
    """Smallest distance at home, metres, of pairs of links of one robot that are near there."""
    smallest: dict[int, float] = {}
    links = model.bodies.link_bodies
    within = np.full(len(model.pairs), REACH)
    for q in home:
        check_time("measuring how near pairs are at home")
        near, touching = near_and_touching(model, q, within, exact)
        if any(links.keys() >= set(model.pairs[pair]) for pair in touching):
            continue  # no pose of this robot
        for pair, distance in near.items():
            if is_of_one_robot(model, model.pairs[pair]):
                smallest[pair] = min(distance, smallest.get(pair, REACH))
    return smallest


def _least(
    model: Any, pair: int, samples: np.ndarray, distances: np.ndarray, columns: Sequence[int],
    exact: bool,
) -> float:  # fmt: skip
    """Smallest distance that pattern searches of some ``columns`` of q find, from 0 to `REACH`.

    They start at the nearest of the ``samples`` (n, nq) with ``distances`` (n,), and end in
    contact.
    """
    lower, upper, number = model.lower, model.upper, np.array([pair])
    smallest = float(distances.min())
    for start in np.argsort(distances, kind="stable")[:_STARTS]:
        q, least, part = samples[start], float(distances[start]), _FIRST_STEP
        while part > _LAST_STEP and smallest > 0.0:
            before = least
            for column, step in product(columns, (-part, part)):
                trial = q.copy()
                trial[column] += step * (upper[column] - lower[column])
                trial = np.clip(trial, lower, upper)
                if (found := _distances(model, trial[None], number, exact)[0, 0]) < least:
                    q, least = trial, float(found)
            smallest = min(smallest, least)
            if least == before:
                part *= 0.5
    return smallest


def _constant(model: Any) -> list[int]:
    """Indices of the pairs whose distance hardly varies."""
    low, high = np.full(len(model.pairs), np.inf), np.full(len(model.pairs), -np.inf)
    for q in _random(model)[:_CHANGE_SAMPLES]:
        check_time("measuring how much the distances of pairs vary")
        distances = model.distances(q)
        np.minimum(low, distances, out=low)
        np.maximum(high, distances, out=high)
    return np.flatnonzero(high - low < LEAST_CHANGE).tolist()


def near_and_touching(
    model: Any, q: np.ndarray, within: np.ndarray, exact: bool
) -> tuple[dict[int, float], list[int]]:
    """Distances at q (nq,) of pairs that are apart by at most ``within``, and pairs in contact.

    Pairs by index; ``within`` (pairs,) and distances in metres, ``exact`` or of leaves.
    """
    distances = model.distances(q, exact=exact, within=float(within.max(initial=0.0)))
    near = np.flatnonzero((distances <= within) & (distances > 0.0)).tolist()
    return {k: float(distances[k]) for k in near}, np.flatnonzero(distances <= 0.0).tolist()

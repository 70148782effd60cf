# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs of links that are near each other by construction, and their thresholds.

For example, the forearm and the second wrist link of an arm are 15 mm apart in nearly every
configuration: common thresholds would raise a permanent alarm. Such a structural pair is compared
with its usual distance instead: it is reported when it is clearly nearer. So is a pair that few
joints move and for which a search finds no contact, compared with its smallest distance: a lifted
torso and the antennas of its base. A pair that is near with all joints at zero is reported when it
comes nearer than there. Distances are taken within the joint limits. A monitor does not apply this
to pairs with an obstacle of the scene, because the user chooses the position of an obstacle.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from collision_monitor.common.disk_cache import Store, content_key
from collision_monitor.common.limits import check_time
from collision_monitor.robot.pairs import are_of_one_robot

# Increment when the same input gives another result.
_VERSION = 14
# Random configurations; and instead, for pairs that one, two or three joints move, so many parts of
# the range of each joint, with one configuration in each cell.
_SAMPLES, _PARTS = 256, (64, 16, 6)
# A pair that is farther apart than this (metres) in most configurations is not structural.
REACH = 0.15
_NEAR = 0.99 * REACH
# Share of the configurations in which a structural pair is within its warning distance.
_SHARE = 0.5
# From this part of that share on, a pair is between structural and common.
_SHARE_FACTOR = 0.8
# Share of the configurations without contact in which the distance is below the usual one.
_USUAL_QUANTILE = 0.05
# A pair that few joints move, and that is within `REACH` in this share of the configurations, is
# judged by its smallest distance if it never touches.
_NEVER_SHARE = 0.1
# Starts of the search of the smallest distance, and how far they differ in at least one joint, as a
# part of its range.
_STARTS, _APART = 5, 0.1
_FIRST_STEP, _LAST_STEP = 0.1, 1e-3  # of that search, as parts of the ranges of the joints
# Warning and stop distance as shares of the usual distance, and of the smallest one of a pair that
# never touches. The latter leave room for the tolerance of distances on a braking path.
_USUAL_PARTS, _NEVER_PARTS = (0.8, 0.4), (0.5, 0.25)
# The warning distance is at most this share of the distance at zero, so that a robot that rests
# there is clear. Of other pairs than structural ones only within this range, metres.
_PART_AT_ZERO, _AT_ZERO = 0.8, (0.001, 0.04)
# Smaller distances (metres), at zero or anywhere, may be errors of the meshes.
_LEAST = 0.0002
# Stop distance (metres) of a pair that is sometimes in contact, unless it is usually nearer: then a
# part of the usual distance, or of this one if that is more.
_MARGIN, _LEAST_USUAL = 0.005, 0.001
# A warning distance is at least so many times the stop distance.
_WARN_FACTOR = 1.5
_LEVELS = np.linspace(0.0, 1.0, 41)
# A pair whose distance (metres, of leaves) varies by less over so many random configurations is
# near by design however far apart it is: its distance says nothing of the configuration.
_LEAST_CHANGE, _CHANGE_SAMPLES = 0.005, 64


@dataclass(frozen=True)
class StructuralPair:
    """A pair near in most configurations or at zero, or moved by few joints and never touching.

    Distances are in metres.

    Attributes:
        links: names.
        near: share of the configurations in which the pair is within the warning distance.
        contact: share of the configurations in which the shapes touch.
        usual: the smallest distance if few joints move the pair and a search finds no contact;
            otherwise 95 % of the distances without contact are above it.
        largest: largest distance, at most `REACH`.
        at_zero: distance with all joints at zero, at most `REACH`; 0 in contact.
        warn: warning distance of this pair.
        stop: stop distance of this pair.
        is_smallest: whether ``usual`` is the smallest distance that was found.
    """

    links: tuple[str, str]
    near: float
    contact: float
    usual: float
    largest: float
    at_zero: float
    warn: float
    stop: float
    is_smallest: bool = False

    @property
    def reason(self) -> str:
        """What is known of the distance."""
        part = self.warn / (_PART_AT_ZERO * self.at_zero) if self.at_zero >= _LEAST else 0.0
        decides = abs(part - 1.0) < 1e-6
        zero = f", {1e3 * self.at_zero:.1f} mm at zero" if decides else ""
        if self.is_smallest:
            return f"never found nearer than {1e3 * self.usual:.1f} mm{zero}"
        share = f"{self.contact:.0%}" if self.contact >= 0.005 else "less than 1%"
        touching = f", in contact in {share}" if self.contact > 0.0 else ""
        always = f", always within {1e3 * self.largest:.1f} mm" if self.largest < _NEAR else ""
        return (
            f"near in {self.near:.0%} of the configurations{touching}, usually at least "
            f"{1e3 * self.usual:.1f} mm apart{zero}{always}"
        )

    def __str__(self) -> str:
        a, b = self.links
        return (
            f"{a} - {b}: {self.reason}: warning at {1e3 * self.warn:.1f} mm, stop at "
            f"{1e3 * self.stop:.1f} mm"
        )


class UsualDistances:
    """Distances of pairs of a model that are near in most configurations or moved by few joints.

    Attributes:
        pairs: (k,) indices into the pairs of the model.
        quantiles: (k, 41) of the distance, metres; 0 in contact, at most `REACH`. At random
            configurations, or at evenly spread ones if few joints move a pair.
        smallest: (k,) smallest distance of pairs of links that few joints move, by a search from
            some of these configurations, metres; 0 for other pairs, and if it is below 0.2 mm.
        at_zero: (k,) distance with all joints at zero, or the limit nearest to it, metres; 0 in
            contact, at most `REACH`.
        contacts: (k,) share of the configurations in which the shapes touch.
        at_rest: (k,) whether two links of one robot are 1 to 40 mm apart at zero, where no links
            touch: then a robot may rest there.
        constant: indices of the pairs of the model whose distance hardly varies.
    """

    def __init__(
        self, pairs: Sequence[int], quantiles: Sequence[Sequence[float]],
        smallest: Sequence[float], at_zero: Sequence[float], contacts: Sequence[float],
        at_rest: Sequence[bool], constant: Sequence[int],
    ) -> None:  # fmt: skip
        """Created by `usual_distances`."""
        self.constant = list(constant)
        self.contacts, self.at_rest = np.array(contacts, dtype=float), np.array(at_rest, dtype=bool)
        self.pairs = np.array(pairs, dtype=int)
        self.smallest = np.array(smallest, dtype=float)
        self.at_zero = np.array(at_zero, dtype=float)
        self.quantiles = np.array(quantiles, dtype=float).reshape(len(self.pairs), len(_LEVELS))

    def structural(
        self,
        names: Sequence[tuple[str, str]],
        stop: float,
        warn: float,
        obstacles: Collection[str] = (),
        share: float = _SHARE,
        at_rest: bool = True,
    ) -> dict[int, StructuralPair]:
        """Return the structural pairs by index, and those that are near ``at_rest``.

        Args:
            names: of all pairs of the model.
            stop: stop distance of other pairs, metres.
            warn: warning distance of other pairs, metres; at least ``stop``.
            obstacles: names of obstacles; their pairs are excluded.
            share: of the configurations in which a structural pair is within ``warn``. From 0.8 of
                it on, thresholds change gradually.
            at_rest: whether pairs that are near at zero are returned if they are not structural.
        """
        structural, warn = {}, max(warn, stop)
        nears, close = (self._share_below(d) for d in (min(warn, _NEAR), _NEAR))
        # From 0.8 of the share on, a part of the difference: samples of mirrored pairs differ.
        parts = np.clip((nears / share - _SHARE_FACTOR) / (1.0 - _SHARE_FACTOR), 0.0, 1.0)
        parts[(self.smallest != 0.0) & (close >= _NEVER_SHARE)] = 1.0
        judged = (parts > 0.0) | (self.at_rest & at_rest)
        for index in np.flatnonzero(judged & (self.contacts < 1.0)).tolist():
            pair, row, part = int(self.pairs[index]), self.quantiles[index], float(parts[index])
            near, contact, smallest = map(
                float, (nears[index], self.contacts[index], self.smallest[index])
            )
            if not set(obstacles).isdisjoint(names[pair]):
                continue
            quantile = contact + _USUAL_QUANTILE * (1.0 - contact)
            usual = smallest or float(np.interp(quantile, _LEVELS, row))
            warn_part, stop_part = _NEVER_PARTS if smallest else _USUAL_PARTS
            own_stop = stop_part * usual
            if contact > 0.0:  # a pair that can collide keeps a margin
                middle = float(np.interp(0.5 * (1.0 + contact), _LEVELS, row))
                margin = min(_MARGIN, stop_part * middle)
                margin = min(margin, max(usual, _LEAST_USUAL) / _WARN_FACTOR)
                own_stop = max(own_stop, margin)
            own_stop = min(stop, own_stop)
            own_warn = min(warn, max(warn_part * usual, _WARN_FACTOR * own_stop))
            own_stop, own_warn = (
                limit + part * (own - limit) for own, limit in ((own_stop, stop), (own_warn, warn))
            )
            at_zero = float(self.at_zero[index])
            if at_zero >= _LEAST:
                own_warn = min(own_warn, _PART_AT_ZERO * at_zero)
                own_stop = min(own_stop, _PART_AT_ZERO * at_zero / _WARN_FACTOR)
            if own_warn < warn or own_stop < stop:
                structural[pair] = StructuralPair(
                    names[pair], near, contact, usual, float(row[-1]), at_zero, own_warn, own_stop,
                    smallest > 0.0,
                )  # fmt: skip
        return structural

    def _share_below(self, distance: float) -> np.ndarray:
        """Shares (k,) of the samples with at most this distance, metres."""
        return np.mean(self.quantiles <= distance, axis=1)

    def always_touching(self) -> list[int]:
        """Return the indices of pairs that touch in all samples."""
        return self.pairs[self.contacts >= 1.0].tolist()


# Distances (k,) of pairs (k,) at q (nq,), metres, from 0 to the limit that follows.
_Measure = Callable[[np.ndarray, np.ndarray, float], np.ndarray]


def _measure_of(model: Any, pairs: Sequence[int], exact: bool) -> _Measure:
    """A function that measures some of ``pairs``, on the shapes (``exact``) or the leaves."""
    those = None if exact else model.twin([model.pairs[k] for k in pairs])
    places = {k: place for place, k in enumerate(pairs)}

    def measure(q: np.ndarray, some: np.ndarray, limit: float) -> np.ndarray:
        check_time("measuring how near pairs usually are")
        if those is None:
            found = model.surface_distances(q, some, limit=limit)
        else:
            found = those.distances(q)[[places[k] for k in some.tolist()]]
        return np.clip(found, 0.0, limit)

    return measure


def _are_links(model: Any, pair: tuple[str, str]) -> bool:
    """Whether both are links, not obstacles."""
    return all(name in model.bodies.link_bodies for name in pair)


def _may_rest(model: Any, pair: tuple[str, str]) -> bool:
    """Whether both are links of one robot."""
    return are_of_one_robot(*pair) and _are_links(model, pair)


def _few_joints_of(model: Any, pair: tuple[str, str]) -> tuple[int, ...]:
    """Columns of the joints that move two links of the robot; none if these are many.

    Joints whose limits are equal do not count.
    """
    if not _are_links(model, pair):
        return ()
    columns = model.bodies.joints_between(*pair)
    columns = [k for k in columns if model.lower[k] < model.upper[k]]
    return tuple(columns) if len(columns) <= len(_PARTS) else ()


def _batches(
    groups: Mapping[tuple[int, ...], list[int]]
) -> list[dict[tuple[int, ...], list[int]]]:
    """Join groups of pairs, by the columns of q that move them, that can be measured together.

    They have equally many columns, and none in common.
    """
    batches: list[tuple[int, set[int], dict[tuple[int, ...], list[int]]]] = []
    for columns, numbers in groups.items():
        for count, used, batch in batches:
            if count == len(columns) and used.isdisjoint(columns):
                used.update(columns)
                batch[columns] = numbers
                break
        else:
            batches.append((len(columns), set(columns), {columns: numbers}))
    return [batch for _, _, batch in batches]


def _evenly_spread(model: Any, groups: Collection[tuple[int, ...]]) -> np.ndarray:
    """Configurations (n, nq): for each of the ``groups`` of columns, one in each cell of a grid.

    Other joints are at zero.
    """
    count, zero = len(next(iter(groups))), np.clip(0.0, model.lower, model.upper)
    cells = np.array(list(product(range(_PARTS[count - 1]), repeat=count)))
    parts = (cells + np.random.default_rng(2).random(cells.shape)) / _PARTS[count - 1]
    rows = np.tile(zero, (len(parts), 1))
    for columns in map(list, groups):
        low, high = model.lower[columns], model.upper[columns]
        rows[:, columns] = low + parts * (high - low)
    return rows


def _smallest(
    model: Any, pair: int, columns: Sequence[int], samples: np.ndarray, distances: np.ndarray,
    measure: _Measure,
) -> float:  # fmt: skip
    """Smallest distance of a pair that the ``columns`` of q move, metres, from 0 to `REACH`.

    0 if it is less than 0.2 mm. A pattern search starts at some of the ``samples`` (n, nq), with
    ``distances`` (n,).
    """
    which, numbers = list(columns), np.array([pair])
    parts = samples[:, which] / (model.upper[which] - model.lower[which])
    least, starts = float(distances.min()), []
    for start in np.argsort(distances, kind="stable").tolist():
        if len(starts) == _STARTS or least <= 0.0:
            break
        if all(np.abs(parts[start] - parts[other]).max() >= _APART for other in starts):
            starts.append(start)
            low = _descend(
                lambda q, limit: float(measure(q, numbers, limit)[0]),
                samples[start], float(distances[start]), columns, model,
            )  # fmt: skip
            least = min(least, low)
    return least if least >= _LEAST else 0.0


def _descend(
    distance: Callable[[np.ndarray, float], float], start: np.ndarray, least: float,
    columns: Sequence[int], model: Any,
) -> float:  # fmt: skip
    """Smallest distance that a pattern search of some ``columns`` of q finds; ends in contact.

    ``distance``: of a configuration, if it is below the second argument. ``least``: at ``start``.
    """
    lower, upper = model.lower, model.upper
    q, part = start, _FIRST_STEP
    while part > _LAST_STEP and least > 0.0:
        before = least
        for column, step in product(columns, (-part, part)):
            trial = q.copy()
            trial[column] += step * (upper[column] - lower[column])
            trial = np.clip(trial, lower, upper)
            if (found := distance(trial, least)) < least:
                q, least = trial, found
        if least == before:
            part *= 0.5
    return least


def usual_distances(model: Any, exact: bool) -> UsualDistances:
    """Measure the pairs of a CollisionModel that are near in most configurations; cached on disk.

    ``exact``: on the shapes instead of the leaves. It compiles exact queries, and builds their
    hierarchies, unless the result is cached.
    """
    if not model.pairs:
        return UsualDistances([], [], [], [], [], [], [])
    key = content_key("usual", _VERSION, exact, model.content)
    with Store("contacts") as store:
        kept = store.get(key)
        if not isinstance(kept, list):
            kept = _measured(model, exact)
            store.set(key, kept)
    return UsualDistances(*kept)


def _measured(model: Any, exact: bool) -> list[list]:
    """The arguments of `UsualDistances`."""
    samples = model.random_configurations(_SAMPLES, seed=2)
    # Leaves are nearer than meshes: a few samples of them exclude pairs that are far apart.
    near = model.near_shares(samples[: _SAMPLES // 2], REACH)
    zero = np.clip(0.0, model.lower, model.upper)
    near_at_zero, touching = near_and_touching(
        model, zero, np.full(len(model.pairs), _AT_ZERO[1]), exact
    )
    at_rest = {
        number for number, distance in near_at_zero.items()
        if distance >= _AT_ZERO[0] and _may_rest(model, model.pairs[number])
    }  # fmt: skip
    if any(_are_links(model, model.pairs[number]) for number in touching):  # no pose of this robot
        at_rest = set()
    groups: dict[tuple[int, ...], list[int]] = {}
    for number in sorted(at_rest.union(np.flatnonzero(near > 0.0).tolist())):
        columns = _few_joints_of(model, model.pairs[number])
        if columns or near[number] >= _SHARE_FACTOR * _SHARE or number in at_rest:
            groups.setdefault(columns, []).append(number)
    chosen = sorted(number for numbers in groups.values() for number in numbers)
    quantiles, there, contacts, smallest = {}, {}, {}, dict.fromkeys(chosen, 0.0)
    for batch in _batches(groups):
        numbers = [number for some in batch.values() for number in some]
        measure, pairs = _measure_of(model, numbers, exact), np.array(numbers)
        configurations = np.vstack((samples if () in batch else _evenly_spread(model, batch), zero))
        all_distances = np.array([measure(q, pairs, REACH) for q in configurations])
        distances = all_distances[:-1]
        quantiles |= zip(numbers, np.quantile(distances, _LEVELS, axis=0).T.tolist(), strict=True)
        contacts |= zip(numbers, np.mean(distances <= 0.0, axis=0).tolist(), strict=True)
        there |= zip(numbers, all_distances[-1].tolist(), strict=True)
        columns_of = {number: columns for columns, some in batch.items() for number in some}
        for number, own in zip(numbers, all_distances.T, strict=True):
            if columns_of[number]:
                smallest[number] = _smallest(
                    model, number, columns_of[number], configurations, own, measure
                )
    tables = quantiles, smallest, there, contacts
    values = ([table[number] for number in chosen] for table in tables)
    return [chosen, *values, [number in at_rest for number in chosen], _constant(model)]


def _constant(model: Any) -> list[int]:
    """Indices of the pairs whose distance hardly varies."""
    low, high = np.full(len(model.pairs), np.inf), np.full(len(model.pairs), -np.inf)
    for q in model.random_configurations(_CHANGE_SAMPLES, seed=3):
        check_time("measuring how much the distances of pairs vary")
        distances = model.distances(q)
        np.minimum(low, distances, out=low)
        np.maximum(high, distances, out=high)
    return np.flatnonzero(high - low < _LEAST_CHANGE).tolist()


def near_and_touching(
    model: Any, q: np.ndarray, within: np.ndarray, exact: bool
) -> tuple[dict[int, float], list[int]]:
    """Distances at q (nq,) of pairs that are apart by at most ``within``, and pairs in contact.

    Pairs by index; ``within`` (pairs,) and distances in metres, ``exact`` or of leaves.
    """
    distances = model.distances(q, exact=exact, within=float(within.max(initial=0.0)))
    near = np.flatnonzero((distances <= within) & (distances > 0.0)).tolist()
    return {k: float(distances[k]) for k in near}, np.flatnonzero(distances <= 0.0).tolist()

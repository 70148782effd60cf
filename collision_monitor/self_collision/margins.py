# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The clearance that is required of each pair of links."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from collision_monitor.errors import ConfigurationError
from collision_monitor.model.proximity import Proximity
from collision_monitor.self_collision.arms import Arm
from collision_monitor.self_collision.preparation import is_number

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

_SAMPLES = 400
# A link pair of an arm and the rest of the robot that is nearer than d_saf in this part of the
# samples is so by design: an upper arm at the torso; between two arms only what can hardly be
# otherwise: two shoulders.
_BY_DESIGN = 0.5
_BETWEEN_BY_DESIGN = 0.95
_ROOM = 0.03  # m by which leaves of one arm may come nearer, where meshes are looked at afterwards
# Leaves that overlap in this part of the samples say nothing of a pair.
_LOOSE = 0.9
_EASE = 4e-3  # m below what the desired motion has: room to move past it


@dataclass(frozen=True, eq=False)
class Margins:
    """Distances between leaves for every pair of ``model.pairs``, metres.

    Attributes:
        safe: (pairs,) d_saf; -inf where a pair is not monitored.
        danger: (pairs,) d_dan, never above ``safe``.
        eased: (pairs,) bool: monitored, but only may not come nearer than desired; None: no pair.
    """

    safe: np.ndarray
    danger: np.ndarray
    eased: np.ndarray | None = None

    @property
    def kept(self) -> np.ndarray:
        """(pairs,) bool: monitored, with a clearance of its own."""
        monitored = self.safe > -np.inf
        return monitored if self.eased is None else monitored & ~self.eased


@dataclass(frozen=True, eq=False)
class Problem:
    """What a method of adjustment is given: a desired motion of two arms, and clearances to keep.

    Attributes:
        model: the robot and its scene.
        arms: right and left.
        times: (n,) seconds, increasing.
        desired: (n, nq) configurations of all joints of the model.
        columns: columns of q of the right and of the left arm.
        margins: d_saf and d_dan of every pair.
        yielding: which arm gives way: ``both``, ``left`` or ``right``.
        tip_weight: weight of tip displacement against joint displacement, rad/m.
    """

    model: CollisionModel
    arms: tuple[Arm, Arm]
    times: np.ndarray
    desired: np.ndarray
    columns: tuple[np.ndarray, np.ndarray]
    margins: Margins
    yielding: str = "both"
    tip_weight: float = 0.0

    @property
    def yielding_columns(self) -> np.ndarray:
        """Columns of q of the arms that give way, right before left."""
        sides = {"right": (0,), "left": (1,), "both": (0, 1)}[self.yielding]
        return np.concatenate([self.columns[k] for k in sides])


@dataclass(frozen=True, eq=False)
class Sides:
    """What each pair of ``model.pairs`` is to two arms; masks (pairs,).

    Attributes:
        between: one link of each arm.
        outside: a link of an arm, and one that neither arm moves, or an obstacle.
        inside: both links of the same arm.
    """

    between: np.ndarray
    outside: np.ndarray
    inside: np.ndarray


def sides(model: CollisionModel, arms: tuple[Arm, Arm]) -> Sides:
    """Sort the pairs of a model by the arms that their links belong to.

    An obstacle that is fixed to a link of an arm is carried, and a part of that arm.
    """
    right, left = (frozenset(arm.links) for arm in arms)
    of = {name: (at in right) + 2 * (at in left) for name, at in carriers(model).items()}
    a = np.array([of[first] for first, _ in model.pairs], dtype=int)
    b = np.array([of[second] for _, second in model.pairs], dtype=int)
    return Sides((a != b) & (a > 0) & (b > 0), (a > 0) != (b > 0), (a == b) & (a > 0))


def carriers(model: CollisionModel) -> dict[str, str]:
    """The link that each name in ``model.link_names`` moves with: itself, or its carrier."""
    obstacles = {obstacle.name: obstacle.link for obstacle in model.scene.obstacles}
    return {name: obstacles.get(name, name) for name in model.link_names}


# By model: samples take longer than all the rest for a motion on which nothing is near.
_MOST_KNOWN = 64
_KNOWN: WeakKeyDictionary[CollisionModel, dict[tuple, tuple]] = WeakKeyDictionary()


def _shares(
    proximity: Proximity, arms: tuple[Arm, Arm], kinds: Sides, rest: np.ndarray, safe: float
) -> tuple[np.ndarray, np.ndarray]:
    """Parts (pairs,) of sampled configurations in which a pair is below ``safe``, and below 0.

    Joints of no arm are as in ``rest`` (nq,). Inside one arm only pairs below 0 count.
    """
    model = proximity.model
    columns = [model.joint_names.index(name) for arm in arms for name in arm.joint_names]
    others = np.delete(rest, columns)
    known = _KNOWN.setdefault(model, {})
    key = (tuple(columns), *(arm.links for arm in arms), safe, others.tobytes())
    if key not in known:
        if len(known) >= _MOST_KNOWN:
            known.clear()  # sensor noise of other joints makes every motion a new key
        rows = np.repeat(rest[None, :], _SAMPLES, axis=0)
        rows[:, columns] = model.random_configurations(_SAMPLES)[:, columns]
        asked = np.where(kinds.outside | kinds.between, safe, np.where(kinds.inside, 0.0, -np.inf))
        below, overlapping = np.zeros((2, len(model.pairs)))
        for row in rows:
            near = proximity.near(row, asked, 0.0)
            below[near.pairs] += 1.0 / _SAMPLES
            overlapping[near.pairs[near.distances < 0.0]] += 1.0 / _SAMPLES
        known[key] = below, overlapping
    return known[key]


def _moved_apart(model: CollisionModel, columns: Collection[int]) -> np.ndarray:
    """(pairs,) bool: pairs whose links the joints ``columns`` move against each other.

    Fingers of one hand, for instance, the joints of the arm do not.
    """
    turning = np.isin(model.bodies.columns, list(columns))
    carries = dict(zip(model.link_names, (model.link_reach() > 0.0) & turning, strict=True))
    return np.array([(carries[a] != carries[b]).any() for a, b in model.pairs], dtype=bool)


def choose_margins(
    model: CollisionModel,
    arms: tuple[Arm, Arm],
    desired: np.ndarray,
    safe_distance: float,
    danger_distance: float,
    strict: Collection[int] | None = None,
    yielding: Collection[int] | None = None,
) -> Margins:
    """d_saf and d_dan of every pair for a desired motion (n, nq).

    Between the arms, and between an arm and all else, they are ``safe_distance`` and
    ``danger_distance``. Where the motion itself begins or ends nearer to something else than
    another arm, that distance is kept instead, but no less than ``danger_distance``: a hand is
    sent to a table on purpose. Pairs inside one arm, and pairs that are nearer than
    ``safe_distance`` in most configurations of the arms (between the arms: in nearly all), cannot
    keep that: they only may not come nearer than the desired motion brings them, or than
    ``danger_distance``, whichever is less; if they are ``danger_distance`` apart in most
    configurations, no nearer than the motion begins or ends.

    ``strict``: pairs inside one arm for which that holds; the others have some room, for a caller
    that looks at their meshes afterwards (`own_contacts`). None: all of them.

    ``yielding``: columns of q that an adjustment may change; None: all of both arms. What else
    takes part only may not be nearer than ``danger_distance``: nothing here can mend it.

    Pairs that the arms' joints do not move against each other are not monitored, nor are those
    whose leaves overlap nearly always, because leaves tell nothing about them.

    Raises:
        ConfigurationError: a distance that is no finite number of at least 0, danger above safe, or
            a safe distance that the arms hardly ever have.
    """
    for name, value in (("safe_distance", safe_distance), ("danger_distance", danger_distance)):
        if not is_number(value) or value < 0.0:
            raise ConfigurationError(f"{name}: {value!r} is not a length in metres of at least 0")
    if danger_distance > safe_distance:
        raise ConfigurationError(
            f"danger_distance: {danger_distance!r} m is above safe_distance, {safe_distance!r} m"
        )
    kinds = sides(model, arms)
    strict = np.arange(len(model.pairs)) if strict is None else np.array(sorted(strict), dtype=int)
    columns = [model.joint_names.index(name) for arm in arms for name in arm.joint_names]
    moved = _moved_apart(model, columns)
    as_desired = moved & ~_moved_apart(model, columns if yielding is None else yielding)
    proximity = Proximity(model)
    part = np.where(kinds.between, _BETWEEN_BY_DESIGN, _BY_DESIGN) - 1e-9
    share, overlapping = _shares(proximity, arms, kinds, desired[0], float(safe_distance))
    nearer, _ = _shares(proximity, arms, kinds, desired[0], float(danger_distance))
    close, touching = share >= part, nearer >= part
    moved &= overlapping < _LOOSE  # leaves tell nothing about them
    if (between := moved & kinds.between).any() and close[between].all():
        raise ConfigurationError(
            f"safe_distance: {safe_distance!r} m: all links of '{arms[0].name}' are closer to "
            f"those of '{arms[1].name}' in nearly all configurations: no pair would be monitored"
        )
    eased = moved & (kinds.inside | ((kinds.between | kinds.outside) & close))
    kept = moved & (kinds.between | kinds.outside) & ~eased
    ends = np.minimum(model.distances(desired[0]), model.distances(desired[-1])) - _EASE
    meant = np.clip(ends, danger_distance, safe_distance)
    meant[as_desired] = danger_distance
    safe = np.where(kept, np.where(kinds.outside, meant, float(safe_distance)), -np.inf)
    danger = np.where(kept, float(danger_distance), -np.inf)
    if eased.any():
        least = np.full(len(model.pairs), float(danger_distance))
        asked = np.where(eased, float(danger_distance), -np.inf)
        for row in desired:
            near = proximity.near(row, asked)
            np.minimum.at(least, near.pairs, near.distances)
        # What could be d_dan apart may be nearer only where the motion begins or ends so, and
        # arms must not overlap: else a large d_saf would let them run into each other.
        could = ~kinds.inside & ~touching
        least = np.where(could, np.minimum(ends + _EASE, danger_distance), least)
        least = np.where(could & kinds.between, np.maximum(least, 0.0), least)
        # No room below zero, unless the leaves overlap on the desired motion already.
        bound = np.where(least < 0.0, least - _EASE, np.maximum(least - _EASE, 0.0))
        loosely = np.setdiff1d(np.flatnonzero(kinds.inside), strict)
        bound[loosely] = least[loosely] - _ROOM
        safe[eased] = danger[eased] = bound[eased]
    return Margins(safe, danger, eased)

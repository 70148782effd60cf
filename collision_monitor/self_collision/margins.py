# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The clearance that is required of each pair of links."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from collision_monitor.errors import ConfigurationError
from collision_monitor.model.proximity import Proximity
from collision_monitor.self_collision.arms import Arm
from collision_monitor.self_collision.mesh_proximity import MeshProximity, carriers
from collision_monitor.self_collision.preparation import is_number

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

_SAMPLES = 400
# A link pair of an arm and the rest of the robot that is nearer than d_saf in this part of the
# samples is so by design: an upper arm at the torso; between two arms only what can hardly be
# otherwise: two shoulders.
_BY_DESIGN = 0.5
_BETWEEN_BY_DESIGN = 0.95
_EASE = 4e-3  # m below what the desired motion has: room to move past it
# Links of one arm whose leaves come nearer than this are measured on meshes: leaves would leave
# them no room.
_NEAR_ITSELF = 0.03
# m between meshes of an eased pair whose leaves overlap, unless it usually is nearer.
_CONTACT_MARGIN = 5e-3
_PART_OF_ENDS = 0.5  # of the distance that such a pair has where the motion begins or ends


@dataclass(frozen=True, eq=False)
class Margins:
    """Distances to keep for every pair of ``model.pairs``, metres; between leaves, or meshes.

    Attributes:
        safe: (pairs,) d_saf; -inf where a pair is not monitored.
        danger: (pairs,) d_dan, never above ``safe``.
        eased: (pairs,) bool: monitored, but only may not come nearer than desired; None: no pair.
        on_meshes: (pairs,) bool: distances of these are between meshes; None: no pair.
    """

    safe: np.ndarray
    danger: np.ndarray
    eased: np.ndarray | None = None
    on_meshes: np.ndarray | None = None

    @property
    def kept(self) -> np.ndarray:
        """(pairs,) bool: monitored, with a clearance of its own."""
        monitored = self.safe > -np.inf
        return monitored if self.eased is None else monitored & ~self.eased


@dataclass(frozen=True, eq=False)
class Problem:
    """What a method of adjustment is given: a desired motion of arms, and clearances to keep.

    Attributes:
        model: the robot and its scene.
        arms: of two, the right one first.
        times: (n,) seconds, increasing.
        desired: (n, nq) configurations of all joints of the model.
        columns: columns of q of each arm.
        margins: d_saf and d_dan of every pair.
        yielding: which arm gives way: ``both`` for all, ``left`` or ``right`` of two, or a name.
        tip_weight: weight of tip displacement against joint displacement, rad/m.
        cancelled: whether the result is not wanted any more; None: it is.
    """

    model: CollisionModel
    arms: tuple[Arm, ...]
    times: np.ndarray
    desired: np.ndarray
    columns: tuple[np.ndarray, ...]
    margins: Margins
    yielding: str = "both"
    tip_weight: float = 0.0
    cancelled: Callable[[], bool] | None = None

    def proximity(self) -> Proximity:
        """A new work space for the distances that ``margins`` are about."""
        on_meshes = self.margins.on_meshes
        on_leaves = on_meshes is None or not on_meshes.any()
        found = Proximity(self.model) if on_leaves else MeshProximity(self.model, on_meshes)
        found.cancelled = self.cancelled
        return found

    @property
    def yielding_columns(self) -> np.ndarray:
        """Columns of q of the arms that give way, in the order of ``arms``."""
        return np.concatenate([self.columns[k] for k in yielding_arms(self.arms, self.yielding)])


def yielding_arms(arms: Sequence[Arm], yielding: str) -> tuple[int, ...]:
    """Which of ``arms`` give way, by their index.

    Raises:
        ConfigurationError: ``yielding`` is no name of an arm, nor one of the words for them.
    """
    known = {"right": (0,), "left": (1,)} if len(arms) == 2 else {}
    known |= {"both": tuple(range(len(arms)))} | {arm.name: (k,) for k, arm in enumerate(arms)}
    if yielding not in known:
        raise ConfigurationError(f"yielding: {yielding!r} is not one of {', '.join(known)}")
    return known[yielding]


@dataclass(frozen=True, eq=False)
class Sides:
    """What each pair of ``model.pairs`` is to the arms; masks (pairs,).

    Attributes:
        between: links of two arms.
        outside: a link of an arm, and one that neither arm moves, or an obstacle.
        inside: both links of the same arm.
    """

    between: np.ndarray
    outside: np.ndarray
    inside: np.ndarray


def sides(model: CollisionModel, arms: Sequence[Arm]) -> Sides:
    """Sort the pairs of a model by the arms that their links belong to.

    An obstacle that is fixed to a link of an arm is carried, and a part of that arm.
    """
    number = {link: k for k, arm in enumerate(arms, start=1) for link in arm.links}
    of = {name: number.get(at, 0) for name, at in carriers(model).items()}
    a = np.array([of[first] for first, _ in model.pairs], dtype=int)
    b = np.array([of[second] for _, second in model.pairs], dtype=int)
    return Sides((a != b) & (a > 0) & (b > 0), (a > 0) != (b > 0), (a == b) & (a > 0))


# By model: samples take longer than all the rest for a motion on which nothing is near.
_MOST_KNOWN = 64
_KNOWN: WeakKeyDictionary[CollisionModel, dict[tuple, np.ndarray]] = WeakKeyDictionary()


def _share_below(
    proximity: Proximity, arms: Sequence[Arm], kinds: Sides, rest: np.ndarray, safe: float
) -> np.ndarray:
    """Part (pairs,) of sampled configurations in which a pair that is not inside is below ``safe``.

    Joints of no arm are as in ``rest`` (nq,).
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
        asked = np.where(kinds.outside | kinds.between, safe, -np.inf)
        below = np.zeros(len(model.pairs))
        for row in rows:
            below[proximity.near(row, asked, 0.0).pairs] += 1.0 / _SAMPLES
        known[key] = below
        return below
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
    arms: Sequence[Arm],
    desired: np.ndarray,
    safe_distance: float,
    danger_distance: float,
    yielding: Collection[int] | None = None,
) -> Margins:
    """d_saf and d_dan of every pair for a desired motion (n, nq).

    Between the arms, and between an arm and all else, they are ``safe_distance`` and
    ``danger_distance``. Where the motion itself ends nearer, that distance is kept instead, but no
    less than ``danger_distance``: a hand is sent to a table on purpose. The same holds where it
    begins nearer to something else than another arm. Pairs whose leaves are nearer than
    ``safe_distance`` where the motion begins or ends are measured between their meshes.

    *Eased* are pairs inside one arm, and pairs that are nearer than ``safe_distance`` in most
    configurations of the arms (between the arms: in nearly all, or nearer than ``danger_distance``
    in most). They only may not come nearer than the desired motion brings them, or than
    ``danger_distance``, whichever is less; if they are ``danger_distance`` apart in most
    configurations, no nearer than the motion begins or ends. Where their leaves overlap on the
    desired motion, or those of one arm nearly do, their meshes are kept apart instead: by 5 mm, by
    two fifths of their usual distance, or by half of what they have where the motion begins or
    ends, whichever is least.

    ``yielding``: columns of q that an adjustment may change; None: all of both arms. What else
    takes part only may not be nearer than ``danger_distance``: nothing here can mend it.

    Pairs that the arms' joints do not move against each other are not monitored.

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
    columns = [model.joint_names.index(name) for arm in arms for name in arm.joint_names]
    moved = _moved_apart(model, columns)
    as_desired = moved & ~_moved_apart(model, columns if yielding is None else yielding)
    proximity = Proximity(model)
    below_safe, below_danger = (
        _share_below(proximity, arms, kinds, desired[0], float(distance)) + 1e-9
        for distance in (safe_distance, danger_distance)
    )
    touching = below_danger >= np.where(kinds.between, _BETWEEN_BY_DESIGN, _BY_DESIGN)
    close = below_safe >= np.where(kinds.between, _BETWEEN_BY_DESIGN, _BY_DESIGN)
    close |= below_danger >= _BY_DESIGN
    if (between := moved & kinds.between).any() and close[between].all():
        raise ConfigurationError(
            f"safe_distance: {safe_distance!r} m: all links of '{arms[0].name}' are closer to "
            f"those of '{arms[-1].name}' in nearly all configurations: no pair would be monitored"
        )
    # What follows a joint of an arm without being a part of it: a link that mimics.
    others = moved & ~(kinds.between | kinds.outside | kinds.inside)
    eased = moved & (kinds.inside | others | ((kinds.between | kinds.outside) & close))
    kept = moved & (kinds.between | kinds.outside) & ~eased
    start, goal = model.distances(desired[0]), model.distances(desired[-1])
    # Leaves do not decide whether a motion may begin or end somewhere.
    on_meshes = kept & (np.minimum(start, goal) < safe_distance)
    near = np.flatnonzero(on_meshes)
    if len(near):
        start[near], goal[near] = (model.surface_distances(q, near) for q in desired[[0, -1]])
    ends = np.minimum(start, goal) - _EASE
    # A motion that starts near the other arm is led out; one that ends in it has no way.
    nearer = (danger_distance <= goal) & (goal < safe_distance) & (len(desired) > 1)
    between_ends = np.where(nearer, goal - _EASE, np.inf)
    meant = np.where(kinds.outside, ends, between_ends).clip(danger_distance, safe_distance)
    meant[as_desired] = danger_distance
    safe = np.where(kept, meant, -np.inf)
    danger = np.where(kept, float(danger_distance), -np.inf)
    if eased.any():
        asked = np.where(eased, max(float(danger_distance), _NEAR_ITSELF), -np.inf)
        least = np.full(len(model.pairs), np.inf)
        for row in desired:
            near = proximity.near(row, asked)
            np.minimum.at(least, near.pairs, near.distances)
        # What could be d_dan apart may be nearer only where the motion begins or ends so: else a
        # large d_saf would let arms run into each other.
        inside = kinds.inside | others
        least = np.where(inside | touching, least, ends + _EASE)
        chosen = np.flatnonzero(eased & (least < np.where(inside, _NEAR_ITSELF, 0.0)))
        on_meshes[chosen] = True
        least = np.maximum(np.minimum(least, danger_distance) - _EASE, 0.0)
        least[chosen] = np.minimum(_mesh_limits(model, chosen, desired), danger_distance)
        safe[eased] = danger[eased] = least[eased]
    return Margins(safe, danger, eased, on_meshes)


def _mesh_limits(model: CollisionModel, pairs: np.ndarray, desired: np.ndarray) -> np.ndarray:
    """Metres (k,) by which the meshes of eased pairs, by their index (k,), are kept apart."""
    limits = np.full(len(model.pairs), _CONTACT_MARGIN)
    if len(pairs):
        usual = model.usual_distances()
        for k, pair in usual.structural(model.pairs, _CONTACT_MARGIN, _CONTACT_MARGIN).items():
            limits[k] = pair.stop
        ends = [model.surface_distances(q, pairs) for q in (desired[0], desired[-1])]
        ends = np.maximum(np.min(ends, axis=0), 0.0)
        limits[pairs] = np.minimum(limits[pairs], _PART_OF_ENDS * ends)
    return limits[pairs]

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Required clearance of each pair of links."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.errors import ConfigurationError
from collision_monitor.model.near_by_design import NearPair, near_by_design
from collision_monitor.model.pair_rules import ALWAYS, LEAST_SHARE
from collision_monitor.model.proximity import Proximity
from collision_monitor.model.sampled_distances import LEAST_CHANGE
from collision_monitor.self_collision.arms import Arm
from collision_monitor.self_collision.mesh_proximity import MeshProximity
from collision_monitor.verification.clearance.schedule import moved_relatively

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

# Closer than a distance in this share of the sampled configurations is by design: an upper arm and
# the torso. Between two arms it is `ALWAYS`: only pairs such as two shoulders.
_BY_DESIGN = 0.5
# Links whose meshes are nearer than d_saf in `LEAST_SHARE` are judged by their usual distance.
# Those that few joints move and that never touch are, too, if their leaves are nearer in this
# share, as TIAGo's upper arms at its column. Others can keep away: Nextage's shoulders.
_SOMETIMES_NEAR = 0.3
_EASE = 4e-3  # m below the distance in the desired motion: room to move past it,
_PART = 0.5  # but at least this part of it, or, on meshes, of that at an end of the motion
# Links of one arm whose leaves come closer than this are measured on meshes: their leaves would
# leave no room.
_NEAR_INSIDE_ARM = 0.03
# m between meshes of an eased pair with overlapping leaves, unless it is usually closer.
_CONTACT_MARGIN = 5e-3
_FARTHER = 5e-3  # m by which pairs that leave their d_dan must end farther apart
# A joint is idle if turning it changes distances by less than `LEAST_CHANGE`, in so many
# configurations and angles (multiples of 2.4 rad, so that no symmetry of a link hides a change).
_IDLE_SAMPLES, _IDLE_ANGLES = 4, 8


@dataclass(frozen=True, eq=False)
class Margins:
    """Required distances of all ``model.pairs``, metres, between leaves or meshes.

    Attributes:
        safe: (pairs,) d_saf; -inf where a pair is not monitored.
        danger: (pairs,) d_dan, never above ``safe``.
        eased: (pairs,) bool: monitored, but only required to keep a distance of its own, as if it
            is often near, or not to come closer than in the desired motion.
        on_meshes: (pairs,) bool: measured between meshes.
        start: (pairs,) minimum distance at the start.
        goal: (pairs,) minimum distance at the goal, for pairs that must end farther apart than they
            start; -inf for the others.
    """

    safe: np.ndarray
    danger: np.ndarray
    eased: np.ndarray
    on_meshes: np.ndarray
    start: np.ndarray
    goal: np.ndarray

    @classmethod
    def plain(cls, safe: np.ndarray, danger: np.ndarray) -> Margins:
        """Margins between leaves, none of them eased, and the same at both ends of a motion."""
        none = np.zeros(len(safe), dtype=bool)
        return cls(safe, danger, none, none, danger, np.full(len(safe), -np.inf))

    @property
    def kept(self) -> np.ndarray:
        """(pairs,) bool: monitored, and not eased."""
        return (self.safe > -np.inf) & ~self.eased


@dataclass(frozen=True, eq=False)
class Problem:
    """Input of an adjustment method: the desired motion of arms, and the required clearances.

    Attributes:
        model: the robot and its scene.
        arms: of two, the right one first.
        times: (n,) seconds, increasing.
        desired: (n, nq) configurations of all joints of the model.
        columns: columns of q of each arm.
        margins: d_saf and d_dan of every pair.
        able: indices of the ``arms`` that are adjusted.
        tip_weight: weight of tip displacement against joint displacement, rad/m.
        cancelled: returns true once the result is no longer needed; None: never.
        speeds: (nq,) velocity limits, rad/s or m/s, inf without one; for detours among moving
            obstacles.
    """

    model: CollisionModel
    arms: tuple[Arm, ...]
    times: np.ndarray
    desired: np.ndarray
    columns: tuple[np.ndarray, ...]
    margins: Margins
    able: tuple[int, ...]
    tip_weight: float = 0.0
    cancelled: Callable[[], bool] | None = None
    speeds: np.ndarray | None = None

    @cached_property
    def proximity(self) -> Proximity:
        """Of the pairs that ``margins`` limit."""
        on_meshes, kept = self.margins.on_meshes, self.margins.safe > -np.inf
        if on_meshes.any():
            found = MeshProximity(self.model, on_meshes, kept)
        else:
            found = Proximity(self.model, kept=kept)
        found.cancelled = self.cancelled
        return found

    @property
    def yielding_columns(self) -> np.ndarray:
        """Columns of q of the adjusted arms, in the order of ``arms``."""
        return np.concatenate([self.columns[k] for k in self.able])


def yielding_arms(arms: Sequence[Arm], yielding: str) -> tuple[int, ...]:
    """Indices of the ``arms`` that are adjusted.

    Raises:
        ConfigurationError: ``yielding`` is neither the name of an arm nor a keyword.
    """
    known = {"right": (0,), "left": (1,)} if len(arms) == 2 else {}
    known |= {"both": tuple(range(len(arms)))} | {arm.name: (k,) for k, arm in enumerate(arms)}
    if not isinstance(yielding, str) or yielding not in known:
        raise ConfigurationError(f"yielding: {yielding!r} is not one of {', '.join(known)}")
    return known[yielding]


def check_arms(arms: Sequence[Arm], method: str, yielding: str) -> None:
    """Check that these settings are for as many arms.

    Raises:
        ConfigurationError: the method is for two arms, or ``yielding`` names none of them.
    """
    if method != "robust" and len(arms) != 2:
        raise ConfigurationError(
            f"method: {method} is for two arms, not for {len(arms)}; robust is for any number"
        )
    yielding_arms(arms, yielding)


@dataclass(frozen=True, eq=False)
class Sides:
    """Relation of ``model.pairs`` to the arms, as masks (pairs,).

    Attributes:
        between: links of two arms.
        outside: a link of an arm, and an obstacle or a link that no arm moves.
        inside: both links of the same arm.
    """

    between: np.ndarray
    outside: np.ndarray
    inside: np.ndarray


def sides(model: CollisionModel, arms: Sequence[Arm]) -> Sides:
    """Classify the pairs of a model by the arms of their links.

    An obstacle that is attached to a link of an arm is a part of that arm.
    """
    number = {link: k for k, arm in enumerate(arms, start=1) for link in arm.links}
    of_links = np.array([number.get(model.carriers[name], 0) for name in model.link_names])
    a, b = of_links[model.pair_links].T
    return Sides((a != b) & (a > 0) & (b > 0), (a > 0) != (b > 0), (a == b) & (a > 0))


def rarely_apart(kinds: Sides, shares: np.ndarray) -> np.ndarray:
    """Whether (pairs,) links are near by design of the robot.

    ``shares`` (pairs,): of configurations in which they are within a distance.
    """
    return shares >= np.where(kinds.between, ALWAYS, _BY_DESIGN)


def is_idle(model: CollisionModel, arms: Sequence[Arm], name: str) -> bool:
    """Whether no distance that the ``arms`` change depends on the joint ``name``, such as a wheel.

    A wheel that is round about its axis keeps its distances from the arms as it turns.
    """
    (column,) = model.columns_of([name])
    columns = model.columns_of(joint for arm in arms for joint in arm.joint_names)
    pairs = moved_relatively(model, columns) & moved_relatively(model, [column])
    if not pairs.any():
        return True
    for q in model.random_configurations(_IDLE_SAMPLES):
        turned = np.repeat(q[None, :], _IDLE_ANGLES, axis=0)
        turned[:, column] = 2.4 * np.arange(_IDLE_ANGLES)
        distances = np.array([model.distances(row)[pairs] for row in turned])
        if np.ptp(distances, axis=0).max() > LEAST_CHANGE:
            return False
    return True


def often_near(
    model: CollisionModel, kept: np.ndarray, safe: float, danger: float
) -> dict[int, NearPair]:
    """Pairs of links that are near by design, and have distances of their own.

    For example, the upper arms of two arms on one small torso. ``kept`` (pairs,) bool: pairs to
    judge. Pairs with an obstacle are not among them, nor those whose leaves are rarely below
    ``safe``: arms can keep away from there.
    """
    candidates = kept & (model.shares_within(safe) >= _SOMETIMES_NEAR)
    if not candidates.any():
        return {}
    found = near_by_design(model, danger, safe, share=LEAST_SHARE, at_home=False)
    return {k: pair for k, pair in found.items() if candidates[k]}


def choose_margins(
    model: CollisionModel,
    arms: Sequence[Arm],
    desired: np.ndarray,
    safe_distance: float,
    danger_distance: float,
    yielding: Collection[int] | None = None,
    ends: bool = True,
    leaving: Mapping[tuple[str, str], float] | None = None,
) -> Margins:
    """d_saf and d_dan of every pair for a desired motion (n, nq).

    Between the arms, and between an arm and everything else, they are ``safe_distance`` and
    ``danger_distance``. If the motion ends closer, the distance at its end is required instead, but
    at least ``danger_distance``: the goal may be close to a table on purpose. The same applies if
    the motion starts closer to anything but another arm. Pairs whose leaves are closer than
    ``safe_distance`` at the start or end of the motion are measured between their meshes. Links
    that are `often_near` have smaller distances instead, by how near they usually are, and are
    measured between their meshes.

    *Eased* pairs are pairs inside one arm, and pairs that are closer than ``safe_distance`` in most
    configurations of the robot (between the arms: in nearly all, or closer than ``danger_distance``
    in most). They must not come closer than in the desired motion, or than ``danger_distance``,
    whichever is less; if they are ``danger_distance`` apart in most configurations, not closer than
    at the start or end of the motion. If their leaves overlap in the desired motion, or those of
    one arm nearly do, their meshes are kept apart instead: by the minimum of 5 mm, two fifths of
    their usual distance, and half of their distance at the start or end of the motion.

    ``yielding``: columns of q that an adjustment may change; None: all of the arms. Pairs that do
    not depend on them must only be ``danger_distance`` apart. ``ends``: whether the end of
    ``desired`` counts; not for a stream, which goes on, or a prefix, which does not reach it.
    ``leaving``: pairs that may start at less than ``danger_distance``, with their minimum at the
    start; they are never eased, and must end 5 mm farther apart than they start.

    Pairs whose relative pose does not depend on the joints of the arms are not monitored.

    Raises:
        ConfigurationError: the arms are rarely ``safe_distance`` apart.
    """
    kinds = sides(model, arms)
    columns = model.columns_of(name for arm in arms for name in arm.joint_names)
    moved = moved_relatively(model, columns)
    as_desired = moved & ~moved_relatively(model, columns if yielding is None else yielding)
    proximity = Proximity(model, kept=moved)
    below_danger = model.shares_within(danger_distance)
    touching = rarely_apart(kinds, below_danger)
    close = rarely_apart(kinds, model.shares_within(safe_distance)) | (below_danger >= _BY_DESIGN)
    if (between := moved & kinds.between).any() and close[between].all():
        raise ConfigurationError(
            f"safe_distance: {safe_distance!r} m: all links of '{arms[0].name}' are closer to "
            f"those of '{arms[-1].name}' in nearly all configurations: no pair would be monitored"
        )
    # Links of mimic joints follow a joint of an arm without being a part of it.
    others = moved & ~(kinds.between | kinds.outside | kinds.inside)
    eased = moved & (kinds.inside | others | ((kinds.between | kinds.outside) & close))
    least_at_start = np.array([(leaving or {}).get(pair, np.inf) for pair in model.pairs])
    leaves = moved & (least_at_start < np.inf)
    eased &= ~leaves
    kept = moved & (kinds.between | kinds.outside) & ~eased
    own = np.tile([float(danger_distance), float(safe_distance)], (len(model.pairs), 1))
    often = often_near(model, kept, safe_distance, danger_distance)
    for k, pair in often.items():
        own[k] = pair.stop, pair.warn
    danger_of, safe_of = own.T
    poses = desired[[0, -1 if ends else 0]]
    start, goal = map(model.distances, poses)
    # The start and end of a motion are checked on meshes instead of leaves.
    on_meshes = kept & ((np.minimum(start, goal) < safe_of) | (safe_of < safe_distance))
    near = np.flatnonzero(on_meshes)
    if len(near):
        far = safe_distance + 2.0 * _EASE  # farther apart they have to keep d_saf
        start[near], goal[near] = (model.surface_distances(q, near, limit=far) for q in poses)
    goal_of = np.where(leaves, np.minimum(start + _FARTHER, safe_of), -np.inf)
    danger_of[leaves] = np.minimum(start, danger_of)[leaves]
    at_ends = np.minimum(start, goal) - _EASE
    # A motion that starts close to the other arm is led out; one that ends there has no solution.
    nearer = (danger_of <= goal) & (goal < safe_of) & ends
    between_ends = np.where(nearer, goal - _EASE, np.inf)
    meant = np.where(kinds.outside, at_ends, between_ends).clip(danger_of, safe_of)
    meant[as_desired] = danger_of[as_desired]
    safe = np.where(kept, meant, -np.inf)
    danger = np.where(kept, danger_of, -np.inf)
    if eased.any():
        asked = np.where(eased, max(float(danger_distance), _NEAR_INSIDE_ARM), -np.inf)
        least = np.full(len(model.pairs), np.inf)
        for row in desired:
            np.minimum(least, proximity.distances_below(row, asked), out=least)
        # Pairs that can be d_dan apart may be closer only if the motion starts or ends so:
        # otherwise a large d_saf would permit collisions.
        inside = kinds.inside | others
        least = np.where(inside | touching, least, at_ends + _EASE)
        chosen = np.flatnonzero(eased & (least < np.where(inside, _NEAR_INSIDE_ARM, 0.0)))
        on_meshes[chosen] = True
        least = np.clip(least, 0.0, danger_distance)
        least = np.maximum(least - _EASE, _PART * least)
        least[chosen] = np.minimum(_mesh_limits(model, chosen, poses), danger_distance)
        safe[eased] = danger[eased] = least[eased]
    eased[list(often)] = True
    at_start = np.where(leaves, least_at_start, danger)
    return Margins(safe, danger, eased, on_meshes, at_start, goal_of)


def _mesh_limits(model: CollisionModel, pairs: np.ndarray, poses: np.ndarray) -> np.ndarray:
    """Required mesh distances (k,) of eased ``pairs`` (k,) of a motion between two ``poses``, m."""
    limits = np.full(len(model.pairs), _CONTACT_MARGIN)
    if len(pairs):
        usually = near_by_design(
            model, _CONTACT_MARGIN, _CONTACT_MARGIN, at_home=False, with_obstacles=True
        )
        for k, pair in usually.items():
            limits[k] = pair.stop
        far = _CONTACT_MARGIN / _PART  # farther apart they keep the distance by design
        ends = [model.surface_distances(q, pairs, limit=far) for q in poses]
        limits[pairs] = np.minimum(limits[pairs], _PART * np.min(ends, axis=0).clip(0.0))
    return limits[pairs]

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs of links whose shapes overlap by design, so that checking them is useless.

A pair of links is omitted only if its shapes, measured on the meshes,

- meet in two thirds of the configurations within the joint limits, or more, and in a fifth of
  those around zero: fingers without real joint limits are mostly in the palm, but rest apart;
- meet in nearly all configurations around zero, and in most of all configurations: hips and covers
  that are modelled into each other. Here and above they meet in every configuration, or always at
  the same place of both links: an arm meets the walls of a narrow cell anywhere. Links that both
  move on their own side of a branch, such as two shoulders, also have to meet at zero;
- depend on one or two joints, come within a millimetre, and penetrate each other by at most a graze
  over their whole range: a closing gripper, fingers and their knuckles. They must also meet
  often, or come within a millimetre at zero; with one joint, meet nowhere apart from zero and its
  limits: carriages on one rail, or sheets, can collide however thin or shallow their contact is;
- depend on one joint, meet at zero or often around it, over its whole range overlap hardly deeper
  than there, and meet in one connected part of it: covers around a joint. The limits of a joint
  are chosen so that its two sides do not collide;
- depend on the sections of a telescope only, and meet likewise over the sum of these: tubes in
  each other;
- are on two branches that follow one joint (a mimic), overlap by at most 20 mm, and meet in one
  connected part of its range that ends at a limit: bars of a linkage, closing fingers; or
- depend on one or two joints, meet in nearly all configurations around zero, overlap hardly
  deeper, and meet only at that place and in one connected part of the range: an upper arm and a
  forearm that overlap while the elbow is straight, and do not collide in a fold.

Pairs with an obstacle, or of two robots in a cell, are never omitted: the user places these.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from collision_monitor.common.disk_cache import Store, content_key
from collision_monitor.common.limits import check_time
from collision_monitor.model.mesh_contacts import LinkContacts, Solid
from collision_monitor.model.range_contacts import (
    MOST_COORDINATES,
    RangeContacts,
    coordinates_between,
)
from collision_monitor.robot.bodies import link_poses
from collision_monitor.robot.description import Shape
from collision_monitor.robot.pairs import are_of_one_robot

# Increase when the same input gives another result.
_VERSION = 31
_SAMPLES = 1000  # at most
# Links that meet in this share of the configurations overlap by design. Links that can be apart met
# in at most 0.57 of them in tests.
_ALWAYS_SHARE = 2.0 / 3.0
_ZERO_SHARE = 0.95
_AROUND_ZERO = 0.15  # of the range of a joint
_SAMPLES_AROUND_ZERO = 100
_GENERAL_SHARE = 0.5  # share of the samples
# Metres, of the middle of the contacts from their mean, in the frame of each link. At most 0.08
# where shapes overlap by design in tests, at least 0.2 where links meet walls.
_SAME_PLACE = 0.15
_GRAZE = 0.002  # metres
_OFTEN = 0.2  # share of the samples
_COVER = 0.02  # metres, of an overlap around one joint
_STEPS = (0.002, 0.005, 0.01, 0.02, 0.04, 0.08)  # metres, of depths in reasons
_MEASURED_PLACES = 60  # configurations for the places
_MEASURED, _LEAST_MEASURED = 25, 5  # configurations for the largest and the smallest depth
_DEEPER = 0.01  # metres deeper than around zero: the pair may also collide


def permanent_contacts(model: Any) -> tuple[dict[int, str], tuple[str, ...]]:
    """Return pairs of a CollisionModel to omit, by index, with the reason; and warnings.

    Cached on disk.
    """
    if not model.pairs:
        return {}, ()
    with Store("contacts") as store:
        key = content_key("permanent", _VERSION, model.content)
        kept = store.get(key)
        if not isinstance(kept, list):
            found, warnings = _Search(model).run()
            kept = [list(found.items()), warnings]
            store.set(key, kept)
    return {int(k): reason for k, reason in kept[0]}, tuple(kept[1])


def samples_around_zero(model: Any, count: int, seed: int = 0) -> np.ndarray:
    """Return configurations (count, nq) near zero, or near the limit nearest to zero."""
    half = _AROUND_ZERO * (model.upper - model.lower)
    offsets = np.random.default_rng(seed).uniform(-1.0, 1.0, (count, len(half))) * half
    return np.clip(np.clip(0.0, model.lower, model.upper) + offsets, model.lower, model.upper)


class _Search:
    def __init__(self, model: Any) -> None:
        self._model = model
        self._everywhere = model.random_configurations(_SAMPLES)
        self._around_zero = samples_around_zero(model, _SAMPLES_AROUND_ZERO)
        self._solids: dict[str, Solid] = {}
        self._obstacles = {obstacle.name: obstacle for obstacle in model.scene.obstacles}
        names = {self._frame(name) for name in model.link_names}
        self._poses = {
            id(rows): link_poses(model.bodies, names, rows)
            for rows in (self._everywhere, self._around_zero)
        }

    def run(self) -> tuple[dict[int, str], list[str]]:
        """Return pairs to omit by index, with the reason; and warnings."""
        model, found, warnings = self._model, {}, []
        overlap = model.near_shares(self._everywhere, 0.0)
        at_zero = model.near_shares(self._around_zero, 0.0)
        for k, (a, b) in enumerate(model.pairs):
            check_time("looking for pairs that overlap by design")
            if a in self._obstacles or b in self._obstacles or not are_of_one_robot(a, b):
                share = count = 0
                if overlap[k] >= _ZERO_SHARE:
                    contacts = self._contacts((a, b), self._everywhere)
                    share, count = contacts.sampled_share(_ZERO_SHARE)
                if share >= _ZERO_SHARE:
                    warnings.append(
                        f"'{a}' and '{b}': shapes meet in {share:.1%} of {count} sampled "
                        "configurations; if they are meant to touch, list the pair under ignore: "
                        "in the scene"
                    )
                continue
            if reason := self._reason(k, float(overlap[k]), float(at_zero[k])):
                found[k] = reason
        return found, warnings

    def _reason(self, pair: int, overlap: float, at_zero: float) -> str:
        """Return why a pair is omitted; empty if it is checked, or its leaves are apart."""
        links, share = self._model.pairs[pair], 0.0
        if overlap >= _GENERAL_SHARE:
            thresholds = [_GENERAL_SHARE] if at_zero >= _ZERO_SHARE else []
            contacts = self._contacts(links, self._everywhere)
            share, count = contacts.sampled_share(_ALWAYS_SHARE, *thresholds)
            if (
                share >= _ALWAYS_SHARE and at_zero >= _OFTEN and self._rest_together(links)
                and (share == 1.0 or self._is_design(links))
            ):  # fmt: skip
                return (
                    f"shapes meet in {share:.1%} of {count} sampled configurations, "
                    f"{self._how_deep(links)}"
                )
        if (overlap > 0.0 or at_zero > 0.0) and (reason := self._grazing(pair)):
            return reason
        if share >= _GENERAL_SHARE and at_zero >= _ZERO_SHARE and self._is_design(links):
            zero = self._contacts(links, self._around_zero).share(_ZERO_SHARE)
            if zero >= _ZERO_SHARE:
                return (
                    f"shapes meet in {zero:.0%} of the configurations around zero and in "
                    f"{share:.0%} of all, {self._how_deep(links)}"
                )
        return ""

    def _rest_together(self, links: tuple[str, str]) -> bool:
        """Whether shapes often meet around zero."""
        return self._contacts(links, self._around_zero).share(_OFTEN) >= _OFTEN

    def _is_design(self, links: tuple[str, str]) -> bool:
        """Whether shapes meet at the same place of both links, and at zero if both move."""
        contacts = self._contacts(links, self._everywhere)
        some = range(min(_MEASURED_PLACES, len(self._everywhere)))
        found = [contacts.points(k) for k in some if contacts.surfaces_meet(k)]
        middles = [[of_link.mean(axis=0) for of_link in both] for both in found if len(both[0])]
        if not middles:  # one is in the other
            return False
        off = np.array(middles) - np.mean(middles, axis=0)
        # Written so that NaN, the place of some contacts of primitives, is no place.
        if not np.linalg.norm(off, axis=-1).max() <= _SAME_PLACE:
            return False
        bodies = self._model.bodies
        up, down = bodies.between(*(bodies.link_bodies[link] for link in links))
        zero = np.clip(0.0, self._model.lower, self._model.upper)
        return not (up and down) or self._contacts(links, zero[None]).meet(0)

    def _how_deep(self, links: tuple[str, str]) -> str:
        """How deep shapes meet, and whether they may also collide, in words."""
        least, most = self._depths(links, self._everywhere)
        _, at_zero = self._depths(links, self._around_zero)
        limit = f"{1e3 * min(most, _STEPS[-1]):.0f} mm deep"
        if most > _STEPS[-1]:
            limit = f"more than {limit}"
        if least == _STEPS[-1]:
            return limit
        text = f"{1e3 * least:.0f} to {limit}" if least > 0.0 else f"up to {limit}"
        if at_zero + _DEEPER >= most:
            return text
        near = f"at most {1e3 * at_zero:.0f} mm" if at_zero > 0.0 else "not at all"
        return (
            f"{text}, around zero {near}: they may also collide elsewhere; a rule in the "
            "thresholds file has the pair checked"
        )

    def _depths(self, links: tuple[str, str], rows: np.ndarray) -> tuple[float, float]:
        """Bounds in metres of the smallest and largest depth in some of the ``rows``, in steps.

        The largest is 0 without contact, and infinite beyond the last step.
        """
        contacts = self._contacts(links, rows)
        meet = [k for k in range(min(_MEASURED, len(rows))) if contacts.meet(k)]
        bounds, least, most = (0.0, *_STEPS, np.inf), len(_STEPS), 0
        for n, k in enumerate(meet):
            most = max(most, 1)
            while most <= len(_STEPS) and not contacts.is_shallow(k, bounds[most]):
                most += 1
            # Slower: all directions are tried where the depth is not below the smallest so far.
            while n < _LEAST_MEASURED and least > 0 and contacts.is_shallow(k, bounds[least]):
                least -= 1
        return bounds[least], bounds[most]

    def _grazing(self, pair: int) -> str:
        links = self._model.pairs[pair]
        bodies = self._model.bodies
        columns = bodies.joints_between(*links)
        if sum(bodies.joints[k].kind != "prismatic" for k in columns) > MOST_COORDINATES:
            return ""
        coordinates = coordinates_between(self._model, links)
        if not 1 <= len(coordinates) <= MOST_COORDINATES:
            return ""
        over = RangeContacts(self._model, pair, coordinates, partial(self._contacts, links))
        names = " and ".join(f"'{self._model.joint_names[k]}'" for k in columns)
        is_one = len(coordinates) == 1
        is_joint = is_one and not over.is_telescope

        def is_grazing(depth: float) -> bool:
            if not over.is_shallow(depth):
                return False
            if is_joint and over.meet_at_zero_or_limits(depth):
                return True
            is_usual = not is_joint and over.come_near() or self._meet_often(links)
            return is_usual and over.is_shallow_between(depth)

        if is_grazing(_GRAZE):
            return f"shapes meet or nearly meet, {_nowhere_deeper(_GRAZE, names)}"
        if over.is_linkage:
            depth = _GRAZE + over.everywhere().largest_depth()
            if (
                depth <= _GRAZE + _COVER and is_grazing(depth)
                and over.meet_in_one_region(depth, at_limit=True)
            ):  # fmt: skip
                return f"shapes meet or nearly meet, {_nowhere_deeper(depth, names)}"
        zero = over.around_zero(_AROUND_ZERO)
        share = zero.share(_OFTEN)
        if share < _OFTEN and not (is_one and over.meet_at_zero()):
            return ""
        usual = zero.largest_depth()
        if usual == np.inf:
            return ""
        depth = _GRAZE + usual
        if (
            is_one and (usual <= _COVER or over.is_telescope) and is_grazing(depth)
            and over.meet_in_one_region(depth)
        ):  # fmt: skip
            return f"shapes meet or nearly meet, {_nowhere_deeper(depth, names)}"
        if share < _ZERO_SHARE or not (over.is_shallow(depth) and over.only_there(zero, depth)):
            return ""
        return (
            f"shapes meet in {share:.0%} of the configurations around zero, "
            f"{_nowhere_deeper(depth, names)}, and only at that place"
        )

    def _meet_often(self, links: tuple[str, str]) -> bool:
        return self._contacts(links, self._everywhere).sampled_share(_OFTEN)[0] >= _OFTEN

    def _contacts(self, links: tuple[str, str], rows: np.ndarray) -> LinkContacts:
        model = self._model
        frames = [self._frame(name) for name in links]
        poses = self._poses.get(id(rows)) or link_poses(model.bodies, frames, rows)
        for name, frame in zip(links, frames, strict=True):
            if name not in self._solids:
                self._solids[name] = Solid(self._shapes(name), poses[frame])
        return LinkContacts(
            *(self._solids[n].at(poses[f]) for n, f in zip(links, frames, strict=True))
        )

    def _frame(self, name: str) -> str:
        """The link that carries an obstacle; a link itself."""
        return self._obstacles[name].link if name in self._obstacles else name

    def _shapes(self, name: str) -> tuple[Shape, ...]:
        if name in self._obstacles:
            return (self._obstacles[name].shape,)
        return self._model.robot.links[name].shapes


def _nowhere_deeper(depth: float, names: str) -> str:
    return f"but nowhere deeper than {1e3 * depth:.0f} mm over the range of {names}"

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs of links that overlap by design, which are left out; and neighbours that meet.

The former are rule 2 of docs/behaviour.md. A pair of links overlaps by design if its shapes,
measured on the meshes,

- meet in most configurations: in all, or in two thirds if at most two joints move the pair; and
  also at rest. Fingers without real joint limits are mostly in the palm, but rest apart. An arm
  that many joints move can meet the walls of a narrow cell in most configurations; or
- meet at home, are moved by at most two joints, and over the whole range of these overlap hardly
  deeper than around zero, in one connected part of it: covers around a joint, a closing gripper, an
  upper arm and a forearm that overlap while the elbow is straight. Limits keep the two sides of one
  joint apart, so that these may overlap somewhat deeper. Links that also meet in a fold, or a post
  elsewhere on their way, are checked. So are carriages on one rail, however shallow their contact.

Pairs with an obstacle, or of two robots in a cell, are never left out: the user places these.

Neighbours over one joint are left out by rule 1, since its limits keep them apart. Here is measured
where they meet nevertheless. A continuous joint has no limits: a warning names its neighbours that
meet in a part of its turn.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from collision_monitor.common.disk_cache import Store, content_key
from collision_monitor.common.limits import check_time
from collision_monitor.common.text import counted, shortened
from collision_monitor.model.mesh_contacts import LinkContacts, Solid, contacts_at
from collision_monitor.model.pair_rules import (
    ALWAYS,
    COVER,
    DEEPER,
    FEW,
    GRAZE,
    PLACE,
    SAMPLES_AROUND_ZERO,
    SOMETIMES,
    TOUCH,
    USUALLY,
    VERSION,
)
from collision_monitor.model.range_contacts import RangeContacts, coordinates_between
from collision_monitor.model.sampled_distances import (
    few_joints_of,
    is_of_one_robot,
    sampled_configurations,
    samples_around_zero,
)
from collision_monitor.robot.bodies import link_poses
from collision_monitor.robot.description import Joint
from collision_monitor.robot.pairs import MAY_COLLIDE, NEIGHBOURS

_LEAVES_USUALLY = 0.5  # share in which leaves overlap: not all pairs are sampled evenly for them
_MEASURED = 25  # configurations for depths and places in reasons


def pairs_to_leave_out(model: Any) -> tuple[dict[int, str], tuple[str, ...]]:
    """Return pairs of a CollisionModel to omit, by index, with the reason; and warnings.

    Cached on disk.
    """
    if not model.pairs:
        return {}, ()
    key = content_key("left out", VERSION, model.home_configurations(), model.content)
    reasons, warnings = Store("contacts").kept(key, lambda: _Search(model).run())
    return {int(k): reason for k, reason in reasons.items()}, tuple(warnings)


class _Search:
    def __init__(self, model: Any) -> None:
        self._model = model
        self._everywhere = {(): sampled_configurations(model, ())}  # by the joints of a pair
        self._around_zero = samples_around_zero(model, SAMPLES_AROUND_ZERO)
        self._solids: dict[str, Solid] = {}
        frames = {model.carriers[name] for name in model.link_names}
        self._poses = {
            id(rows): link_poses(model.bodies, frames, rows)
            for rows in (self._everywhere[()], self._around_zero)
        }

    def run(self) -> tuple[dict[int, str], list[str]]:
        """Return pairs to omit by index, with the reason; and warnings."""
        model, reasons, warnings = self._model, {}, []
        overlap = model.near_shares(self._everywhere[()], 0.0)
        at_rest = np.maximum(
            model.near_shares(self._around_zero, 0.0),
            model.near_shares(model.home_configurations(), 0.0),
        )
        for pair, (a, b) in enumerate(model.pairs):
            check_time("looking for pairs that overlap by design")
            if not is_of_one_robot(model, (a, b)):
                if overlap[pair] >= ALWAYS:
                    contacts = self._contacts((a, b), self._everywhere[()])
                    if (share := contacts.share(ALWAYS)) >= ALWAYS:
                        warnings.append(
                            f"'{a}' and '{b}': shapes meet in {share:.1%} of {len(contacts)} "
                            "sampled configurations; if they are meant to touch, list the pair "
                            "under ignore: in the scene"
                        )
                continue
            if reason := self._reason(pair, float(overlap[pair]), float(at_rest[pair])):
                reasons[pair] = reason
        return reasons, warnings

    def _reason(self, pair: int, overlap: float, at_rest: float) -> str:
        """Return why a pair is omitted; empty if it is checked, or its leaves are apart."""
        links, bodies = self._model.pairs[pair], self._model.bodies
        if overlap >= _LEAVES_USUALLY and at_rest > 0.0:
            up, down = bodies.between(*links)
            contacts = self._contacts(links, self._samples(links))
            share = contacts.share(USUALLY)
            is_usual = share == 1.0 or share >= USUALLY and len(up) + len(down) <= FEW
            if is_usual and self._rest_together(links, bool(up and down)):
                return (
                    f"overlap in most configurations: shapes meet in {share:.1%} of "
                    f"{len(contacts)} sampled configurations, {self._how_deep(links, contacts)}"
                )
        return self._over_range(pair) if overlap > 0.0 or at_rest > 0.0 else ""

    def _rest_together(self, links: tuple[str, str], on_branches: bool) -> bool:
        """Whether shapes meet at home, or, of links in series, often around zero."""
        at_home = self._contacts(links, self._model.home_configurations())
        if any(at_home.meet(k) for k in range(len(at_home))):
            return True
        around = self._contacts(links, self._around_zero)
        return not on_branches and around.share(SOMETIMES) >= SOMETIMES

    def _how_deep(self, links: tuple[str, str], contacts: LinkContacts) -> str:
        """How deep and where shapes meet, and whether they may also collide, in words."""
        around = self._contacts(links, self._around_zero).some(slice(_MEASURED))
        contacts = contacts.some(slice(None, None, len(contacts) // _MEASURED))  # a grid is ordered
        most, near = (each.largest_depth() for each in (contacts, around))
        text = f"up to {1e3 * most:.0f} mm deep"
        if most > DEEPER * near + GRAZE:
            text += f", around zero {f'{1e3 * near:.0f} mm' if near > 0.0 else 'apart'}"
        else:
            part = contacts.place_part()
            if part < np.inf:  # coal's points of contact may be anywhere
                size = 10.0 * math.ceil(10.0 * part)
                text += f", at places within {size:.0f}% of the size of a link"
            if part <= PLACE:
                return text
        return f"{text}: {MAY_COLLIDE}; a rule in the thresholds file has the pair checked"

    def _over_range(self, pair: int) -> str:
        """Why a pair that one or two joints move is left out for its contacts at rest, or empty."""
        links = self._model.pairs[pair]
        bodies = self._model.bodies
        columns = bodies.joints_between(*links)
        if sum(bodies.joints[k].kind != "prismatic" for k in columns) > FEW:
            return ""
        coordinates = coordinates_between(self._model, links)
        if not 1 <= len(coordinates) <= FEW:
            return ""
        over = RangeContacts(self._model, pair, coordinates, partial(self._contacts, links), TOUCH)
        if not (rests := over.rests()):
            return ""
        most = (COVER if over.is_one_joint else GRAZE) + GRAZE
        few = few_joints_of(self._model, links)
        rows = sampled_configurations(self._model, few, corners=True)
        contacts = self._contacts(links, rows[::-1])  # corners first: overlaps are deepest there
        if (depth := contacts.largest_depth(most=most)) == np.inf:
            around = self._contacts(links, self._around_zero)
            if around.share(ALWAYS) < ALWAYS:
                return ""
            most = around.largest_depth() + GRAZE
            if (depth := contacts.largest_depth(most=most)) > most:
                return ""
        depth = GRAZE if depth <= GRAZE else min(depth + GRAZE, most)
        count, resting = over.parts(depth, rests)
        # Two joints may rub anywhere: a graze is hardly a collision.
        may_be_many = depth <= GRAZE and len(coordinates) > 1
        if count == 0 or not may_be_many and (count, resting) != (1, 1):
            return ""
        names = " and ".join(f"'{self._model.joint_names[k]}'" for k in columns)
        samples = range(2 ** len(few) if few else 0, len(contacts))  # without corners
        share = np.mean([contacts.meet(index) for index in samples])
        return (
            f"overlap at home: shapes meet in {share:.1%} of {len(samples)} sampled "
            f"configurations, or nearly meet, but nowhere deeper than {1e3 * depth:.0f} mm over "
            f"the range of {names}, in {counted(count, 'part')} of it"
        )

    def _samples(self, links: tuple[str, str]) -> np.ndarray:
        columns = few_joints_of(self._model, links)
        if columns not in self._everywhere:
            self._everywhere[columns] = sampled_configurations(self._model, columns)
        return self._everywhere[columns]

    def _contacts(self, links: tuple[str, str], configurations: np.ndarray) -> LinkContacts:
        model = self._model
        frames = [model.carriers[name] for name in links]
        poses = self._poses.get(id(configurations)) or link_poses(
            model.bodies, frames, configurations
        )
        for name, frame in zip(links, frames, strict=True):
            if name not in self._solids:
                shapes = model.exact_shapes.given[name].shapes
                self._solids[name] = Solid(shapes, poses[frame])
        return LinkContacts(
            *(self._solids[n].at(poses[f]) for n, f in zip(links, frames, strict=True))
        )


# -- neighbours over one joint --


class ContactsOfJoint(NamedTuple):
    """Contacts of two neighbours over the range of the joint between them.

    Attributes:
        joint: name.
        share: share of the positions in which the shapes meet; exactly 0 or 1 if they meet nowhere
            or everywhere.
        depth: metres that they overlap at most (`LinkContacts.largest_depth`); 0 if they cannot be
            apart, or do not meet.
    """

    joint: str
    share: float
    depth: float


def contacts_of_joint(model: Any, pair: tuple[str, str]) -> ContactsOfJoint:
    """Contacts of two links of a CollisionModel that one joint connects, over its range.

    The positions are those of `sampled_configurations`, and the ends. The other joints do not move
    these links relative to each other. The joint of a mimic joint is moved over its range; a
    continuous joint turns once. The depth is only measured if the shapes can be apart.
    """
    contacts = _over_joint(model, pair)
    share = contacts.share(0.0)
    depth = contacts.largest_depth() if 0.0 < share < 1.0 else 0.0
    return ContactsOfJoint(_joint_between(model, pair).name, share, depth)


def _joint_between(model: Any, pair: tuple[str, str]) -> Joint:
    bodies = model.bodies
    up, down = bodies.between(*pair)
    (row,) = up + down
    return next(
        joint for joint in model.robot.joints
        if bodies.link_bodies[joint.child] == row + 1 != bodies.link_bodies[joint.parent]
    )  # fmt: skip


def _over_joint(model: Any, pair: tuple[str, str]) -> LinkContacts:
    """The links over the range of the joint between them."""
    columns = tuple(model.bodies.joints_between(*pair))
    return contacts_at(model, pair, sampled_configurations(model, columns, corners=True))


def meeting_around_turns(model: Any) -> tuple[str, ...]:
    """A warning of unchecked neighbours that meet in a part of the turn of a continuous joint.

    Cached on disk.
    """
    pairs = [
        (a, b) for a, b, reason in model.unmonitored_pairs
        if reason == NEIGHBOURS and _joint_between(model, (a, b)).kind == "continuous"
    ]  # fmt: skip
    if not pairs:
        return ()
    key = content_key("turns", VERSION, pairs, model.content)
    meeting = Store("contacts").kept(
        key, lambda: [pair for pair in pairs if _meet_in_part(_over_joint(model, pair))]
    )
    if not meeting:
        return ()
    named = shortened(f"{a} - {b} over {_joint_between(model, (a, b)).name!r}" for a, b in meeting)
    return (
        f"not checked, though they meet in a part of the turn of a continuous joint, which has no "
        f"limits that keep them apart: {named}; rules that name them have them checked, and fit "
        "shows the depths",
    )


def _meet_in_part(contacts: LinkContacts) -> bool:
    """Whether the shapes meet at some positions, but not at all, by more than a graze."""
    return 0.0 < contacts.share(0.0) < 1.0 and contacts.largest_depth(most=GRAZE) > GRAZE

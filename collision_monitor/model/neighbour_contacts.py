# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts of neighbours over one joint, which are not checked: its limits keep them apart.

A continuous joint has no limits, so nothing keeps its neighbours apart.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from collision_monitor.common.disk_cache import Store, content_key
from collision_monitor.common.text import shortened
from collision_monitor.model.mesh_contacts import LinkContacts, contacts_at
from collision_monitor.model.pair_rules import GRAZE, VERSION
from collision_monitor.model.sampled_distances import sampled_configurations
from collision_monitor.robot.description import Joint
from collision_monitor.robot.pairs import NEIGHBOURS


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
    named = shortened(
        f"{a} - {b} over {_joint_between(model, (a, b)).name!r}" for a, b in meeting
    )
    return (
        f"not checked, though they meet in a part of the turn of a continuous joint, which has no "
        f"limits that keep them apart: {named}; rules that name them have them checked, and fit "
        "shows the depths",
    )


def _meet_in_part(contacts: LinkContacts) -> bool:
    """Whether the shapes meet at some positions, but not at all, by more than a graze."""
    return 0.0 < contacts.share(0.0) < 1.0 and contacts.largest_depth(most=GRAZE) > GRAZE

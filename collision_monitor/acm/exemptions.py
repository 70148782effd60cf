# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Which pairs of links to exempt from checking, each with its reason."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from lxml import etree

from collision_monitor.acm.matrix import default_pose, where_links_meet
from collision_monitor.acm.pair_search import Ground, Meeting, Verdict
from collision_monitor.common.safe_xml import parse_xml
from collision_monitor.common.text import counted
from collision_monitor.errors import SemanticDescriptionError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.robot.pairs import neighbours

# Reasons as MoveIt's setup assistant writes and reads them.
ADJACENT, NEVER, ALWAYS, DEFAULT, USER = "Adjacent", "Never", "Always", "Default", "User"


@dataclass(frozen=True)
class Exemption:
    """A pair that need not be checked.

    Attributes:
        links: names.
        reason: one of the words that MoveIt writes; of a pair that the SRDF exempts, its own.
        detail: on what it rests, in words.
        given: the SRDF that was handed in has it.
    """

    links: tuple[str, str]
    reason: str
    detail: str
    given: bool = False


def exemptions(
    model: CollisionModel,
    verdicts: Sequence[Verdict],
    always: float = 0.95,
    proved_only: bool = False,
    in_default_pose: bool = False,
    renew: bool = False,
    least_samples: int = 0,
) -> list[Exemption]:
    """Pairs to exempt, in the order of ``verdicts``.

    Pairs that a monitor leaves out because they overlap by design are exempted as always meeting,
    with its reason.

    Args:
        model: the robot, and the SRDF that it was loaded with, whose exemptions stay.
        verdicts: of all pairs of links.
        always: a pair that meets in at least this share of the samples is exempted as well:
            checking it would raise a permanent alarm.
        proved_only: exempt no pair that never met in samples, without a proof.
        in_default_pose: exempt pairs that meet with all joints at zero, as MoveIt does, though they
            can be apart elsewhere.
        renew: drop the exemptions of the SRDF, and judge anew.
        least_samples: exempt no pair that never met in fewer samples than this: time ran out.
    """
    given = {} if renew else model.semantics.disabled
    near = neighbours(model.robot, model.bodies)
    joined = {frozenset((joint.parent, joint.child)) for joint in model.robot.joints}
    at_default: set[frozenset[str]] = set()
    if in_default_pose:
        rows = default_pose(model)[None]
        at_default = {
            frozenset(verdict.links)
            for verdict in verdicts
            if verdict.meeting is Meeting.SOMETIMES
            and where_links_meet(model, verdict.links, rows)[0]
        }
    by_design = overlaps_by_design(
        model,
        [v.links for v in verdicts if frozenset(v.links) not in given.keys() | joined | near
         and v.meeting is not Meeting.NEVER and v.ground is not Ground.RIGID],
    )  # fmt: skip
    found = []
    for verdict in verdicts:
        pair = frozenset(verdict.links)
        detail = grounds(verdict)
        if pair in given:
            reason = given[pair] or USER
            found.append(Exemption(verdict.links, reason, f"in the SRDF; {detail}", True))
            continue
        if pair in joined:
            reason = ADJACENT
            detail = f"joined by one joint; {detail}"
        elif pair in near:
            reason = ADJACENT
            detail = f"neighbours over one joint; {detail}"
        elif verdict.meeting is Meeting.NEVER:
            is_hasty = proved_only or verdict.samples < least_samples
            if verdict.ground is Ground.SAMPLES and is_hasty:
                continue
            reason = NEVER
        elif pair in by_design:
            reason = ALWAYS
            detail = f"{by_design[pair]}; {detail}"
        elif verdict.meeting is Meeting.ALWAYS or (
            verdict.samples > 0 and verdict.meets >= always * verdict.samples
        ):
            reason = ALWAYS
        elif pair in at_default:
            reason = DEFAULT
            detail = f"in the default pose; {detail}"
        else:
            continue
        found.append(Exemption(verdict.links, reason, detail))
    return found


def overlaps_by_design(
    model: CollisionModel, pairs: Sequence[tuple[str, str]]
) -> dict[frozenset[str], str]:
    """Those of ``pairs`` that a monitor leaves out because they overlap by design, and why."""
    return {
        frozenset(pair): reason for pair, reason in model.overlapping_by_design(pairs).items()
    }


def grounds(verdict: Verdict) -> str:
    """What a verdict says and on what it rests, in words."""
    kind = verdict.meeting.value
    if verdict.ground is Ground.RIGID:
        return f"rigidly joined, {kind} meet"
    if verdict.ground is Ground.PROOF:
        return f"never: proved by {counted(verdict.boxes, 'box', 'boxes')}"
    if verdict.meeting is Meeting.NEVER:
        where = (
            f", all in the {verdict.unproved:.1%} of the ranges that is not proved"
            if verdict.unproved < 1.0
            else ""
        )
        return (
            f"never in {counted(verdict.samples, 'sample')}{where}: "
            f"less than {verdict.share[1]:.2g} of all configurations"
        )
    samples = counted(verdict.samples, "sample")
    if verdict.meets == 0:
        return f"{kind}: at a configuration that was searched for, in none of {samples}"
    return f"{kind}: in {verdict.meets} of {samples}"


# -- an SRDF with pairs exempted, all else of a given one kept --


_RULES = ("disable_collisions", "disable_default_collisions", "enable_collisions")


def srdf_text(
    robot: str,
    exempted: Sequence[Exemption],
    given: str | os.PathLike | None = None,
    renew: bool = False,
) -> str:
    """The text of an SRDF that exempts pairs, each followed by a comment that says why.

    Args:
        robot: name of the robot, as in its URDF.
        exempted: the pairs; those that ``given`` has stay as they stand there.
        given: path or text of an SRDF. Its groups, states, end effectors and so on are kept.
        renew: drop what ``given`` exempts.

    Raises:
        SemanticDescriptionError: ``given`` cannot be read.
    """
    if given is None:
        root = etree.Element("robot", name=robot)
    else:
        root = parse_xml(given, SemanticDescriptionError, "semantic robot description").root
    if renew:
        for element in [child for child in root if child.tag in _RULES]:
            root.remove(element)
    children = list(root)
    root.text = "\n    "
    for child in children:
        child.tail = "\n    "
    for exemption in exempted:
        if exemption.given and not renew:
            continue
        a, b = exemption.links
        element = etree.SubElement(
            root, "disable_collisions", link1=a, link2=b, reason=exemption.reason
        )
        element.tail = "  "
        note = etree.Comment(f" {exemption.detail.replace('--', '- -')} ")
        note.tail = "\n    "
        root.append(note)
    if len(root):
        root[-1].tail = "\n"
    text = etree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'

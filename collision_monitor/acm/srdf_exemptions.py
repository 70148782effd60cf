# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs of links to exempt from checking, each with its reason; and the audit of an SRDF.

The audit finds exempted pairs that can really collide, with a configuration for each.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from lxml import etree

from collision_monitor.acm.matrix import (
    PairGeometries,
    Progress,
    SearchSettings,
    classify,
    default_pose,
    where_links_meet,
)
from collision_monitor.acm.pair_search import Ground, Meeting, SearchResult, share_bounds
from collision_monitor.common.safe_files import parse_xml
from collision_monitor.common.text import counted
from collision_monitor.errors import SemanticDescriptionError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.mesh_contacts import contacts_at
from collision_monitor.robot.pairs import neighbours

# Reasons as written and read by MoveIt's setup assistant.
ADJACENT, NEVER, ALWAYS, DEFAULT, USER = "Adjacent", "Never", "Always", "Default", "User"


@dataclass(frozen=True)
class Exemption:
    """A pair that need not be checked.

    Attributes:
        links: names.
        reason: one of MoveIt's words; the original one if the SRDF already exempts the pair.
        detail: the grounds, in words.
        given: whether the input SRDF already exempts the pair.
    """

    links: tuple[str, str]
    reason: str
    detail: str
    given: bool = False


def exemptions(
    model: CollisionModel,
    verdicts: Sequence[SearchResult],
    always: float = 0.95,
    proved_only: bool = False,
    in_default_pose: bool = False,
    renew: bool = False,
    least_samples: int = 0,
) -> list[Exemption]:
    """Return pairs to exempt, in the order of ``verdicts``.

    Pairs over a joint of unknown range (`LinkPair.has_range`) are exempted as neighbours only.
    Pairs that a monitor omits because they overlap by design are exempted as always in contact,
    with the monitor's reason. Pairs that the SRDF enables are not exempted.

    Args:
        model: the robot, with the SRDF that it was loaded with, whose exemptions are kept.
        verdicts: of all pairs of links.
        always: a pair that meets in at least this share of the samples is exempted as well, because
            checking it would raise a permanent alarm.
        proved_only: do not exempt pairs that never met in samples without a proof.
        in_default_pose: exempt pairs that meet with all joints at zero, as MoveIt does, even if
            they can be apart elsewhere.
        renew: drop the exemptions of the SRDF, and what it enables, and decide again.
        least_samples: do not exempt pairs that never met in fewer samples, because time ran out.
    """
    given = {} if renew else model.semantics.disabled
    enabled = frozenset() if renew else model.semantics.enabled
    near = dict.fromkeys(neighbours(model.robot, model.bodies), "neighbours over one joint; ")
    near |= {frozenset((j.parent, j.child)): "joined by one joint; " for j in model.robot.joints}
    known = given.keys() | enabled | near.keys()
    others = [verdict for verdict in verdicts if frozenset(verdict.links) not in known]
    contacts = _contacts(model, others, always, in_default_pose)
    left_out = {
        frozenset((pair.link_a, pair.link_b)): pair.reason
        for pair in model.unmonitored_pairs if pair.by_design
    }  # fmt: skip
    exempted = []
    for verdict in verdicts:
        pair = frozenset(verdict.links)
        is_hasty = proved_only or verdict.samples < least_samples
        if pair in enabled:
            continue
        if pair in given:
            reason, why = given[pair] or USER, "in the SRDF; "
        elif pair in near:
            reason, why = ADJACENT, near[pair]
        elif pair in contacts:
            reason, why = contacts[pair]
        elif verdict.meeting is Meeting.NEVER and (
            verdict.ground is not Ground.NO_RANGE
            and not (verdict.ground is Ground.SAMPLES and is_hasty)
        ):
            reason, why = NEVER, ""
        elif verdict.ground is Ground.SAMPLES and pair in left_out:  # no time to find the contact
            reason, why = ALWAYS, f"{left_out[pair]}; "
        else:
            continue
        exempted.append(Exemption(verdict.links, reason, why + grounds(verdict), pair in given))
    return exempted


def _contacts(
    model: CollisionModel, verdicts: Sequence[SearchResult], always: float, in_default_pose: bool
) -> dict[frozenset[str], tuple[str, str]]:
    """Reason and evidence of pairs that are exempted because they are in contact."""
    meeting = [
        verdict for verdict in verdicts
        if verdict.meeting is not Meeting.NEVER and verdict.ground is not Ground.NO_RANGE
    ]  # fmt: skip
    separate = [verdict.links for verdict in meeting if verdict.ground is not Ground.RIGID]
    by_design = overlaps_by_design(model, separate)
    pose, contacts = default_pose(model)[None], {}
    for verdict in meeting:
        pair = frozenset(verdict.links)
        if pair in by_design:
            contacts[pair] = ALWAYS, f"{by_design[pair]}; "
        elif verdict.meeting is Meeting.ALWAYS or (
            verdict.samples > 0 and verdict.meets >= always * verdict.samples
        ):
            contacts[pair] = ALWAYS, ""
        elif in_default_pose and where_links_meet(model, verdict.links, pose)[0]:
            contacts[pair] = DEFAULT, "in the default pose; "
    return contacts


def overlaps_by_design(
    model: CollisionModel, pairs: Sequence[tuple[str, str]]
) -> dict[frozenset[str], str]:
    """Return those of ``pairs`` that a monitor omits because they overlap by design, and why."""
    return {frozenset(pair): reason for pair, reason in model.overlapping_by_design(pairs).items()}


def grounds(verdict: SearchResult) -> str:
    """Describe a verdict and its grounds in words."""
    kind = verdict.meeting.value
    if verdict.ground is Ground.RIGID:
        return f"rigidly joined, {kind} meet"
    if verdict.ground is Ground.PROOF:
        return f"never: proved by {counted(verdict.boxes, 'box', 'boxes')}"
    if verdict.ground is Ground.NO_RANGE:
        return (
            f"{kind}, but the range of a joint between them is unknown: its limits are equal, it "
            "is floating or planar, or it makes a part of a turn while a continuous joint turns"
        )
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


# -- an SRDF with pairs exempted; everything else of a given one is kept --


_RULES = ("disable_collisions", "disable_default_collisions", "enable_collisions")


def srdf_text(
    robot: str,
    exempted: Sequence[Exemption],
    given: str | os.PathLike | None = None,
    renew: bool = False,
) -> str:
    """Return the text of an SRDF that exempts pairs, each followed by a comment with the reason.

    Args:
        robot: name of the robot, as in its URDF.
        exempted: the pairs; those already in ``given`` are kept unchanged.
        given: path or text of an SRDF. Its groups, states, end effectors and so on are kept.
        renew: drop the exemptions of ``given``.

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
        detail = re.sub("-(?=-)", "- ", exemption.detail)  # a comment in XML holds no "--"
        note = etree.Comment(f" {detail} ")
        note.tail = "\n    "
        root.append(note)
    if len(root):
        root[-1].tail = "\n"
    text = etree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


# -- the audit of an SRDF --

_SAMPLES = 1000  # configurations for shares, and for joints that do not affect a pair
_MAX_CONTACTS = 200  # configurations of contact, searched for one without other contacts


@dataclass(frozen=True, eq=False)
class Finding:
    """An exempted pair that can really collide.

    Attributes:
        links: names.
        reason: as given in the SRDF.
        neighbours: whether one joint connects them, with only links without shapes in between.
        by_design: why a monitor omits the pair even without an SRDF, because it overlaps by design;
            empty if it does not.
        verdict: result for the pair; ``verdict.q`` is a configuration in which they meet.
        confirmed: whether the library coal finds contact of the meshes there. Otherwise they are
            within 0.02 mm, which cannot be distinguished from touching.
        unseen: whether the leaves of all checked pairs are apart at ``verdict.q``: the collision
            would not be reported.
    """

    links: tuple[str, str]
    reason: str
    neighbours: bool
    verdict: SearchResult
    confirmed: bool
    unseen: bool
    by_design: str = ""


@dataclass(frozen=True, eq=False)
class Audit:
    """The result of an audit.

    Attributes:
        findings: exempted pairs that can collide and be apart; unseen ones first.
        harmless: (reason, verdict) of exempted pairs that never or always meet.
        shapeless: exempted pairs with a link without shape.
        missing: pairs that nearly always meet or overlap by design, but are not exempted.
    """

    findings: tuple[Finding, ...]
    harmless: tuple[tuple[str, SearchResult], ...]
    shapeless: tuple[tuple[str, str], ...]
    missing: tuple[tuple[str, str], ...]


def audit(
    model: CollisionModel,
    settings: SearchSettings | None = None,
    always: float = 0.95,
    progress: Progress | None = None,
) -> Audit:
    """Audit the exemptions of the SRDF of ``model``.

    A pair that meets in at least the share ``always`` of the samples is no finding, because
    checking it would raise a permanent alarm.
    """
    settings = SearchSettings() if settings is None else settings
    geometries = PairGeometries(model)
    rank = {link: k for k, link in enumerate(geometries.links)}
    order = {link: k for k, link in enumerate(model.robot.links)}
    exempted, shapeless = [], []
    for pair in model.semantics.disabled:
        a, b = sorted(pair, key=order.__getitem__)
        (exempted if a in rank and b in rank else shapeless).append((a, b))
    exempted.sort(key=lambda pair: (rank[pair[0]], rank[pair[1]]))
    near = neighbours(model.robot, model.bodies)
    samples = model.random_configurations(_SAMPLES, settings.seed)
    findings, harmless = [], []
    for verdict in classify(model, exempted, settings, progress):
        reason = model.semantics.disabled[frozenset(verdict.links)]
        if verdict.meeting is not Meeting.SOMETIMES:
            harmless.append((reason, verdict))
            continue
        verdict, met = _with_share(model, verdict, samples, settings.confidence)
        if verdict.meets >= always * verdict.samples:
            harmless.append((reason, verdict))
            continue
        verdict, confirmed, unseen = _best_witness(model, verdict, met[:_MAX_CONTACTS], samples)
        if confirmed:
            verdict = replace(verdict, q=_simplified(model, verdict, unseen))
        is_near = frozenset(verdict.links) in near
        findings.append(Finding(verdict.links, reason, is_near, verdict, confirmed, unseen))
    by_design = overlaps_by_design(model, [f.links for f in findings if not f.neighbours])
    findings = [replace(f, by_design=by_design.get(frozenset(f.links), "")) for f in findings]
    findings.sort(key=lambda f: (not f.unseen, f.neighbours, not f.confirmed))
    return Audit(
        tuple(findings),
        tuple(harmless),
        tuple(shapeless),
        tuple(_not_exempted(model, samples, always)),
    )


def _with_share(
    model: CollisionModel, verdict: SearchResult, samples: np.ndarray, confidence: float
) -> tuple[SearchResult, np.ndarray]:
    """Return the verdict with the share of ``samples`` in which coal finds contact, and those."""
    met = where_links_meet(model, verdict.links, samples)
    meets = int(met.sum())
    bounds = share_bounds(meets, len(samples), confidence)
    return replace(verdict, samples=len(samples), meets=meets, share=bounds), samples[met]


def _best_witness(
    model: CollisionModel, verdict: SearchResult, met: np.ndarray, others: np.ndarray
) -> tuple[SearchResult, bool, bool]:
    """Return (verdict, confirmed, unseen) with a configuration without other contacts, if found.

    Candidates: the witness and the rows ``met`` (k, nq) with all irrelevant joints in the default
    pose; then these rows unchanged; then the witness with irrelevant joints from ``others``.
    """
    matter = model.bodies.joints_between(*verdict.links)
    plain = np.tile(default_pose(model), (len(met), 1))
    plain[:, matter] = met[:, matter]
    moved = others.copy()
    moved[:, matter] = verdict.q[matter]
    candidates = np.concatenate([verdict.q[None], plain, met, moved])
    clear = candidates[model.min_distances(candidates) > 0.0] if model.pairs else candidates
    if len(clear):
        meet = where_links_meet(model, verdict.links, clear)
        if meet.any():
            return replace(verdict, q=clear[int(meet.argmax())]), True, True
    meet = where_links_meet(model, verdict.links, candidates)
    if meet.any():
        return replace(verdict, q=candidates[int(meet.argmax())]), True, False
    return verdict, False, False


def _simplified(model: CollisionModel, verdict: SearchResult, unseen: bool) -> np.ndarray:
    """Return the witness (nq,), with joints in the default pose if possible, and few digits."""
    q, default = verdict.q.copy(), default_pose(model)
    matter = model.bodies.joints_between(*verdict.links)

    def is_unseen(row: np.ndarray) -> bool:
        return not unseen or not model.pairs or model.min_distances(row[None])[0] > 0.0

    for column in np.setdiff1d(np.arange(len(q)), matter):
        other = q.copy()
        other[column] = default[column]
        if is_unseen(other):
            q = other
    for digits in (2, 3, 4, 5, 6):
        other = q.copy()
        other[matter] = np.clip(q[matter].round(digits), model.lower[matter], model.upper[matter])
        if is_unseen(other) and where_links_meet(model, verdict.links, other[None])[0]:
            return other
    return q


def _not_exempted(
    model: CollisionModel, samples: np.ndarray, always: float
) -> list[tuple[str, str]]:
    """Return pairs not exempted by the SRDF that nearly always meet or overlap by design."""
    missing = []
    left_out = [
        (a, b) for a, b, _ in model.unmonitored_pairs
        if frozenset((a, b)) not in model.semantics.disabled
    ]  # fmt: skip
    left_out += [pair for pair in model.pairs if frozenset(pair) in model.semantics.enabled]
    near = neighbours(model.robot, model.bodies)
    body = model.bodies.link_bodies
    by_design = overlaps_by_design(
        model, [(a, b) for a, b in left_out if body[a] != body[b] and frozenset((a, b)) not in near]
    )
    for a, b in left_out:
        if (
            frozenset((a, b)) in by_design
            or contacts_at(model, (a, b), samples).share(always) >= always
        ):
            missing.append((a, b))
    return missing

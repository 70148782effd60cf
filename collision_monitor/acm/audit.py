# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Audit of an SRDF: exempted pairs that can really collide, with a configuration for each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from collision_monitor.acm.exemptions import overlaps_by_design
from collision_monitor.acm.matrix import (
    PairGeometries,
    Progress,
    SearchSettings,
    classify,
    default_pose,
    link_columns,
    where_links_meet,
)
from collision_monitor.acm.pair_search import Meeting, Verdict, share_bounds
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.robot.pairs import neighbours

_SAMPLES = 1000  # configurations for shares, and for joints that do not matter to a pair
_KEPT = 200  # configurations in which a pair meets, tried for one in which nothing else does
_FIRST = 20  # configurations that rule out most pairs that do not always meet


@dataclass(frozen=True, eq=False)
class Finding:
    """An exempted pair that can really collide.

    Attributes:
        links: names.
        reason: as the SRDF gives it.
        neighbours: whether one joint joins them, with nothing but bare frames between.
        by_design: why a monitor leaves the pair out without an SRDF as well, because it overlaps by
            design; empty if it does not.
        verdict: what is known of them; ``verdict.q`` is a configuration in which they meet.
        confirmed: the library coal finds the meshes in contact there. Without it they come
            nearer than 0.02 mm, and cannot be told from touching.
        unseen: at ``verdict.q`` the leaves of all checked pairs are apart: the collision would
            not be reported.
    """

    links: tuple[str, str]
    reason: str
    neighbours: bool
    verdict: Verdict
    confirmed: bool
    unseen: bool
    by_design: str = ""


@dataclass(frozen=True, eq=False)
class Audit:
    """The result of an audit.

    Attributes:
        findings: exempted pairs that can collide, and be apart; those unseen come first.
        harmless: (reason, verdict) of exempted pairs that never meet, or always do.
        shapeless: exempted pairs of which a link has no shape.
        missing: pairs that meet nearly always or overlap by design, and are not exempted.
    """

    findings: tuple[Finding, ...]
    harmless: tuple[tuple[str, Verdict], ...]
    shapeless: tuple[tuple[str, str], ...]
    missing: tuple[tuple[str, str], ...]


def audit(
    model: CollisionModel,
    settings: SearchSettings | None = None,
    always: float = 0.95,
    progress: Progress | None = None,
) -> Audit:
    """Audit the exemptions of the SRDF of ``model``.

    A pair that meets in at least the share ``always`` of the samples is no finding: checking it
    would raise a permanent alarm.
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
    rows = model.random_configurations(_SAMPLES, settings.seed)
    findings, harmless = [], []
    for verdict in classify(model, exempted, settings, progress):
        reason = model.semantics.disabled[frozenset(verdict.links)]
        if verdict.meeting is not Meeting.SOMETIMES:
            harmless.append((reason, verdict))
            continue
        verdict, met = _with_share(model, verdict, rows, settings.confidence)
        if verdict.meets >= always * verdict.samples:
            harmless.append((reason, verdict))
            continue
        verdict, confirmed, unseen = _best_witness(model, verdict, met[:_KEPT], rows)
        if confirmed:
            verdict = replace(verdict, q=_tidied(model, verdict, unseen))
        is_near = frozenset(verdict.links) in near
        findings.append(Finding(verdict.links, reason, is_near, verdict, confirmed, unseen))
    by_design = overlaps_by_design(model, [f.links for f in findings if not f.neighbours])
    findings = [replace(f, by_design=by_design.get(frozenset(f.links), "")) for f in findings]
    findings.sort(key=lambda f: (not f.unseen, f.neighbours, not f.confirmed))
    return Audit(
        tuple(findings),
        tuple(harmless),
        tuple(shapeless),
        tuple(_missing(model, rows, always)),
    )


def _with_share(
    model: CollisionModel, verdict: Verdict, rows: np.ndarray, confidence: float
) -> tuple[Verdict, np.ndarray]:
    """The verdict with the share of ``rows`` in which coal finds contact, and these rows."""
    met = where_links_meet(model, verdict.links, rows)
    meets = int(met.sum())
    bounds = share_bounds(meets, len(rows), confidence)
    return replace(verdict, samples=len(rows), meets=meets, share=bounds), rows[met]


def _best_witness(
    model: CollisionModel, verdict: Verdict, met: np.ndarray, others: np.ndarray
) -> tuple[Verdict, bool, bool]:
    """(verdict, confirmed, unseen): with a configuration in which nothing else meets, if found.

    Tried are the witness, and the rows ``met`` (k, nq), with all joints that do not matter in
    the default pose; then the latter as they are; then the witness with joints as in ``others``.
    """
    matter = link_columns(model, verdict.links)
    plain = np.tile(default_pose(model), (len(met), 1))
    plain[:, matter] = met[:, matter]
    moved = others.copy()
    moved[:, matter] = verdict.q[matter]
    rows = np.concatenate([verdict.q[None], plain, met, moved])
    clear = rows[model.min_distances(rows) > 0.0] if model.pairs else rows
    if len(clear):
        meet = where_links_meet(model, verdict.links, clear)
        if meet.any():
            return replace(verdict, q=clear[int(meet.argmax())]), True, True
    meet = where_links_meet(model, verdict.links, rows)
    if meet.any():
        return replace(verdict, q=rows[int(meet.argmax())]), True, False
    return verdict, False, False


def _tidied(model: CollisionModel, verdict: Verdict, unseen: bool) -> np.ndarray:
    """The witness (nq,) with joints in the default pose where they may be, and few digits."""
    q, default = verdict.q.copy(), default_pose(model)
    matter = link_columns(model, verdict.links)

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


def _missing(model: CollisionModel, rows: np.ndarray, always: float) -> list[tuple[str, str]]:
    """Pairs that the SRDF does not exempt though they meet nearly always or overlap by design."""
    found = []
    left_out = [
        (a, b) for a, b, _ in model.unmonitored_pairs
        if frozenset((a, b)) not in model.semantics.disabled
    ]  # fmt: skip
    near = neighbours(model.robot, model.bodies)
    body = model.bodies.link_bodies
    by_design = overlaps_by_design(
        model, [(a, b) for a, b in left_out if body[a] != body[b] and frozenset((a, b)) not in near]
    )
    for a, b in left_out:
        if frozenset((a, b)) in by_design:
            found.append((a, b))
        else:
            few = where_links_meet(model, (a, b), rows[:_FIRST])
            if few.mean() >= always and where_links_meet(model, (a, b), rows).mean() >= always:
                found.append((a, b))
    return found

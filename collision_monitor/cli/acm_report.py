# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Text and JSON of what ``acm`` has found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from collision_monitor.acm.audit import Audit, Finding
from collision_monitor.acm.exemptions import Exemption, grounds
from collision_monitor.acm.matrix import SearchSettings, default_pose
from collision_monitor.acm.pair_verdict import Ground, Meeting, Verdict
from collision_monitor.cli.output_path import text_table
from collision_monitor.model.collision_model import CollisionModel

# -- shared ------------------------------------------------------------------------------


def _settings(settings: SearchSettings) -> dict[str, Any]:
    return {
        "seconds": settings.seconds,
        "samples": settings.samples,
        "confidence": settings.confidence,
        "seed": settings.seed,
    }


def _verdict(model: CollisionModel, verdict: Verdict) -> dict[str, Any]:
    return {
        "links": list(verdict.links),
        "meeting": verdict.meeting.value,
        "ground": verdict.ground.value,
        "boxes": verdict.boxes,
        "unproved": verdict.unproved,
        "samples": verdict.samples,
        "meets": verdict.meets,
        "share": list(verdict.share),
        "q": None
        if verdict.q is None
        else dict(zip(model.joint_names, verdict.q.tolist(), strict=True)),
    }


def _count(number: int, one: str) -> str:
    return f"{number} {one}{'s'[: number != 1]}"


def _summary(verdicts: Sequence[Verdict]) -> str:
    counts = Counter((verdict.meeting, verdict.ground) for verdict in verdicts)
    names = {
        (Meeting.NEVER, Ground.PROOF): "never meet, proved",
        (Meeting.NEVER, Ground.SAMPLES): "never met in samples",
        (Meeting.SOMETIMES, Ground.WITNESS): "sometimes meet",
        (Meeting.ALWAYS, Ground.SAMPLES): "meet in every sample",
        (Meeting.NEVER, Ground.RIGID): "rigidly joined and apart",
        (Meeting.ALWAYS, Ground.RIGID): "rigidly joined and meeting",
    }
    return ", ".join(f"{counts[key]} {name}" for key, name in names.items() if counts[key])


def _how(settings: SearchSettings) -> str:
    return (
        f"Samples within the joint limits, seed {settings.seed}; bounds with "
        f"{settings.confidence:.4g} confidence."
    )


# -- the matrix --------------------------------------------------------------------------


def matrix_json(
    model: CollisionModel,
    verdicts: Sequence[Verdict],
    exempted: Sequence[Exemption],
    settings: SearchSettings,
) -> dict[str, Any]:
    """What is known of every pair, and why it is exempted where it is."""
    why = {exemption.links: exemption for exemption in exempted}
    pairs = []
    for verdict in verdicts:
        row = _verdict(model, verdict)
        exemption = why.get(verdict.links)
        row["exempted"] = exemption and {"reason": exemption.reason, "detail": exemption.detail}
        pairs.append(row)
    return {"robot": model.name, **_settings(settings), "pairs": pairs}


def matrix_text(
    model: CollisionModel,
    verdicts: Sequence[Verdict],
    exempted: Sequence[Exemption],
    settings: SearchSettings,
) -> str:
    """A table of exempted pairs, what stays, and what deserves a look."""
    parts = []
    if exempted:
        rows = [(" - ".join(e.links), e.reason, e.detail) for e in exempted]
        rows.insert(0, ("exempted pair", "reason", "on what it rests"))
        widths = [max(len(row[k]) for row in rows) for k in range(2)]
        parts.append("\n".join(f"{a:{widths[0]}}  {b:{widths[1]}}  {c}" for a, b, c in rows))
    checked = len(verdicts) - len(exempted)
    parts.append(
        f"{model.name}: {_count(len(verdicts), 'pair')}, {len(exempted)} exempted, {checked} "
        f"checked\n{_summary(verdicts)}\n{_how(settings)}"
    )
    known = {verdict.links: verdict for verdict in verdicts}
    doubtful = [e for e in exempted if known[e.links].meeting is Meeting.SOMETIMES]
    if doubtful:
        parts.append(
            f"{_count(len(doubtful), 'exempted pair')} can meet and be apart "
            f"({', '.join(' - '.join(e.links) for e in doubtful)}): --audit shows how"
        )
    return "\n\n".join(parts)


# -- the audit ---------------------------------------------------------------------------


def _finding(model: CollisionModel, finding: Finding) -> dict[str, Any]:
    return {
        **_verdict(model, finding.verdict),
        "reason": finding.reason,
        "neighbours": finding.neighbours,
        "confirmed": finding.confirmed,
        "unseen": finding.unseen,
    }


def audit_json(model: CollisionModel, result: Audit, settings: SearchSettings) -> dict[str, Any]:
    """Findings with their witnesses, and what is as it should be."""
    return {
        "robot": model.name,
        **_settings(settings),
        "findings": [_finding(model, finding) for finding in result.findings],
        "harmless": [
            {**_verdict(model, verdict), "reason": reason} for reason, verdict in result.harmless
        ],
        "without_shapes": [list(pair) for pair in result.shapeless],
        "missing": [list(pair) for pair in result.missing],
        "warnings": list(model.semantics.warnings),
    }


def _pose(model: CollisionModel, q: np.ndarray) -> str:
    """The joints that are not where they are by default, as ``--q`` of ``distance`` takes them."""
    default = default_pose(model)
    parts = [
        f"{name}={value:.10g}"
        for name, value, usual in zip(model.joint_names, q, default, strict=True)
        if value != usual
    ]
    return ",".join(parts) or "the default pose"


def audit_text(model: CollisionModel, result: Audit, settings: SearchSettings) -> str:
    """Findings as a table, a pose for each, and what is as it should be."""
    parts = []
    if result.findings:
        rows = []
        for number, finding in enumerate(result.findings, 1):
            verdict = finding.verdict
            low, high = verdict.share
            rows.append(
                [
                    f"{number}  {' - '.join(finding.links)}",
                    finding.reason or "-",
                    "yes" if finding.neighbours else "no",
                    f"{verdict.meets} of {verdict.samples}",
                    f"{low:.2%} to {high:.2%}",
                    "nobody" if finding.unseen else "other pairs",
                ]
            )
        header = ("exempted pair that can collide", "reason", "neighbours", "meets in", "share",
                  "warned by")  # fmt: skip
        parts.append(text_table(header, rows))
        lines = ["Where they meet (joints not named as in the default pose):"]
        for number, finding in enumerate(result.findings, 1):
            doubt = "" if finding.confirmed else "  (nearer than 0.02 mm, not told from touching)"
            lines.append(f"{number}  {_pose(model, finding.verdict.q)}{doubt}")
        parts.append("\n".join(lines))
    unseen = sum(finding.unseen for finding in result.findings)
    verdicts = [verdict for _, verdict in result.harmless]
    total = len(verdicts) + len(result.findings)
    found = _count(len(result.findings), "pair")
    text = f"{model.name}: {_count(total, 'exempted pair')} with shapes, {found} can collide"
    if result.findings:
        text += f", {unseen} of them where no pair that is checked is in contact"
    parts.append(f"{text}\nThe others: {_summary(verdicts) or 'none'}\n{_how(settings)}")
    sampled = [
        verdict
        for verdict in verdicts
        if verdict.meeting is Meeting.NEVER and verdict.ground is Ground.SAMPLES
    ]
    if sampled:
        lines = ["Not proved (more --seconds may):"]
        lines += [f"  {' - '.join(verdict.links)}: {grounds(verdict)}" for verdict in sampled]
        parts.append("\n".join(lines))
    if result.missing:
        names = ", ".join(" - ".join(pair) for pair in result.missing)
        parts.append(f"Not exempted though they meet nearly always: {names}")
    if result.shapeless:
        count = len(result.shapeless)
        has = "has" if count == 1 else "have"
        parts.append(f"{_count(count, 'exempted pair')} {has} a link without a shape")
    return "\n\n".join(parts)

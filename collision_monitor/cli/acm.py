# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""``acm``: computes the allowed collision matrix, writes an SRDF, or audits one."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from collision_monitor.acm.matrix import Progress, SearchSettings, classify, default_pose
from collision_monitor.acm.pair_search import Ground, Meeting, SearchResult
from collision_monitor.acm.srdf_exemptions import (
    Audit,
    Exemption,
    Finding,
    audit,
    exemptions,
    grounds,
    srdf_text,
)
from collision_monitor.cli.options import (
    Exit,
    LiveProgress,
    add_flag,
    add_option,
    add_setting,
    check_outputs,
    files_read,
    input_path,
    output_path,
    print_json,
)
from collision_monitor.cli.robots import add_robot_arguments
from collision_monitor.common.files import write_text
from collision_monitor.common.settings import Setting, settings_of, values_of
from collision_monitor.common.text import counted, text_table
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.loading import Recipe

_SUMMARY = {
    (Meeting.NEVER, Ground.PROOF): "never meet, proved",
    (Meeting.NEVER, Ground.SAMPLES): "never met in samples",
    (Meeting.SOMETIMES, Ground.WITNESS): "sometimes meet",
    (Meeting.ALWAYS, Ground.SAMPLES): "meet in every sample",
    (Meeting.NEVER, Ground.NO_RANGE): "apart, over a joint of unknown range",
    (Meeting.SOMETIMES, Ground.NO_RANGE): "sometimes meet, over a joint of unknown range",
    (Meeting.ALWAYS, Ground.NO_RANGE): "meeting, over a joint of unknown range",
    (Meeting.NEVER, Ground.RIGID): "rigidly joined and apart",
    (Meeting.ALWAYS, Ground.RIGID): "rigidly joined and meeting",
}


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers."""
    parser = commands.add_parser(
        "acm",
        help="which pairs of links can meet; write or audit an SRDF",
        description=(
            "Which pairs of links never, sometimes or always meet, proved over the joint ranges "
            "where possible. Writes an SRDF that exempts pairs that need no check, or audits an "
            "SRDF and lists every exempted pair that can really collide."
        ),
        epilog="Exit code: 0 done, nothing found; 1 exempted pairs that can collide (--audit); "
        "2 input that cannot be used.",
    )
    add_robot_arguments(parser)
    add_setting(parser, settings_of(Recipe)["visual_meshes"], None)
    given = parser.add_mutually_exclusive_group()
    add_option(given, "--srdf", "SRDF file; its exemptions, groups and all else are kept",
               type=input_path)  # fmt: skip
    add_option(given, "--audit SRDF", "check the exemptions of this SRDF", type=input_path)
    add_option(parser, "--output SRDF", "write an SRDF with the exemptions", type=output_path)
    add_flag(parser, "--renew", "ignore the exemptions of --srdf and decide all pairs again")
    add_flag(parser, "--proved-only", "exempt no pair that never met in samples, without a proof")
    add_flag(parser, "--default-pose", "exempt pairs that meet with all joints at zero, though "
             "they can be apart elsewhere")  # fmt: skip
    always = Setting(
        "always", 0.95, "pairs that meet in at least this share of the samples count as always "
        "meeting, as do pairs that a monitor leaves out", most=1.0, positive=True,
    )  # fmt: skip
    add_setting(parser, always, "SHARE")
    for each in settings_of(SearchSettings).values():
        add_setting(parser, each, None)
    add_flag(parser, "--json", "print JSON")
    parser.set_defaults(run=run, parser=parser)


def run(options: argparse.Namespace) -> int:
    """Print the result; write the SRDF if requested."""
    settings = SearchSettings(**values_of(SearchSettings, vars(options)))
    if options.audit:
        if options.output or options.renew or options.proved_only or options.default_pose:
            options.parser.error("--audit writes nothing: run without it to write an SRDF")
        return _audit(options, settings)
    if options.renew and not options.srdf:
        options.parser.error("--renew requires --srdf; all of it but the exemptions is kept")
    check_outputs(options, ["output"], files_read(options, ["urdf"]))
    model = _loaded(options, options.srdf)
    with LiveProgress(quiet=True) as progress:
        verdicts = classify(model, settings=settings, progress=_shown_on(progress))
    _warn_of_short_time(verdicts, settings)
    exempted = exemptions(
        model, verdicts, options.always, options.proved_only, options.default_pose, options.renew,
        settings.samples,
    )  # fmt: skip
    if options.output:
        text = srdf_text(model.name, exempted, options.srdf, options.renew)
        write_text(options.output, text)
    if options.json:
        print_json(_matrix_json(model, verdicts, exempted, settings))
    else:
        print(_matrix_text(model, verdicts, exempted, settings))
    return 0


def _loaded(options: argparse.Namespace, srdf: str | None) -> CollisionModel:
    return CollisionModel.from_urdf(
        options.urdf, srdf, options.package_dir, visual_meshes=options.visual_meshes
    )


def _audit(options: argparse.Namespace, settings: SearchSettings) -> int:
    model = _loaded(options, options.audit)
    with LiveProgress(quiet=True) as progress:
        result = audit(model, settings, options.always, _shown_on(progress))
    if options.json:
        print_json(_audit_json(model, result, settings))
    else:
        print(_audit_text(model, result, settings))
    return Exit.FAILED if result.findings else 0


def _shown_on(progress: LiveProgress) -> Progress:
    """A callback for `classify` that shows the number of finished pairs."""
    return lambda what, done, total: progress.update(
        f"{what}: {done} of {total} pairs", done / max(total, 1)
    )


def _warn_of_short_time(verdicts: Sequence[SearchResult], settings: SearchSettings) -> None:
    """Warn if the time was not sufficient for all samples of a pair that never collided."""
    few = [
        verdict.samples
        for verdict in verdicts
        if verdict.meeting is Meeting.NEVER
        and verdict.ground is Ground.SAMPLES
        and verdict.samples < settings.samples
    ]
    if few:
        print(
            f"warning: time ran out: {len(few)} pairs that never met were sampled in {min(few)} "
            f"configurations instead of {settings.samples}, and proofs are incomplete. These "
            "pairs stay checked: give more --seconds, or fewer --samples",
            file=sys.stderr,
        )


# -- text and JSON --


def _verdict(model: CollisionModel, verdict: SearchResult) -> dict[str, Any]:
    q = verdict.q
    return {
        **asdict(verdict),
        "meeting": verdict.meeting.value,
        "ground": verdict.ground.value,
        "q": None if q is None else dict(zip(model.joint_names, q.tolist(), strict=True)),
    }


def _summary(verdicts: Sequence[SearchResult]) -> str:
    counts = Counter((verdict.meeting, verdict.ground) for verdict in verdicts)
    return ", ".join(f"{counts[key]} {name}" for key, name in _SUMMARY.items() if counts[key])


def _search_text(settings: SearchSettings) -> str:
    return (
        f"Samples within the joint limits, seed {settings.seed}; bounds with "
        f"{settings.confidence:.4g} confidence."
    )


# -- matrix --


def _matrix_json(
    model: CollisionModel,
    verdicts: Sequence[SearchResult],
    exempted: Sequence[Exemption],
    settings: SearchSettings,
) -> dict[str, Any]:
    """Data for JSON: result of every pair, with the reason of an exemption."""
    why = {exemption.links: exemption for exemption in exempted}
    pairs = []
    for verdict in verdicts:
        row = _verdict(model, verdict)
        exemption = why.get(verdict.links)
        row["exempted"] = exemption and {"reason": exemption.reason, "detail": exemption.detail}
        pairs.append(row)
    return {"robot": model.name, **asdict(settings), "pairs": pairs}


def _matrix_text(
    model: CollisionModel,
    verdicts: Sequence[SearchResult],
    exempted: Sequence[Exemption],
    settings: SearchSettings,
) -> str:
    """Text: a table of exempted pairs, remaining pairs, and pairs to review."""
    parts = []
    if exempted:
        rows = [(" - ".join(e.links), e.reason, e.detail) for e in exempted]
        parts.append(text_table(("exempted pair", "reason", "evidence"), rows, left=3))
    checked = len(verdicts) - len(exempted)
    parts.append(
        f"{model.name}: {counted(len(verdicts), 'pair')}, {len(exempted)} exempted, {checked} "
        f"checked\n{_summary(verdicts)}\n{_search_text(settings)}"
    )
    known = {verdict.links: verdict for verdict in verdicts}
    doubtful = [e for e in exempted if known[e.links].meeting is Meeting.SOMETIMES]
    if doubtful:
        parts.append(
            f"{counted(len(doubtful), 'exempted pair')} can meet and be apart "
            f"({', '.join(' - '.join(e.links) for e in doubtful)}): --audit shows how"
        )
    return "\n\n".join(parts)


# -- audit --


def _audit_json(model: CollisionModel, result: Audit, settings: SearchSettings) -> dict[str, Any]:
    """Data for JSON: findings with witness poses, and confirmed entries."""
    return {
        "robot": model.name,
        **asdict(settings),
        "findings": [
            {**_verdict(model, finding.verdict),
             **{key: value for key, value in vars(finding).items() if key != "verdict"}}
            for finding in result.findings
        ],
        "harmless": [
            {**_verdict(model, verdict), "reason": reason} for reason, verdict in result.harmless
        ],
        "without_shapes": [list(pair) for pair in result.shapeless],
        "missing": [list(pair) for pair in result.missing],
        "warnings": list(model.semantics.warnings),
    }


def _pose(model: CollisionModel, q: np.ndarray) -> str:
    """Joints that are not at their default position, in the form of ``--q`` of ``distance``."""
    default = default_pose(model)
    parts = [
        f"{name}={value:.10g}"
        for name, value, usual in zip(model.joint_names, q, default, strict=True)
        if value != usual
    ]
    return ",".join(parts) or "the default pose"


def _findings_text(model: CollisionModel, findings: Sequence[Finding]) -> list[str]:
    """A table of findings, the poses where they meet, and those that overlap by design."""
    table = []
    lines = ["Where they meet (joints not named as in the default pose):"]
    for item, finding in enumerate(findings, 1):
        verdict = finding.verdict
        low, high = verdict.share
        table.append(
            [
                f"{item}  {' - '.join(finding.links)}",
                finding.reason or "-",
                "yes" if finding.neighbours else "no",
                f"{verdict.meets} of {verdict.samples}",
                f"{low:.2%} to {high:.2%}",
                "no pair" if finding.unseen else "other pairs",
            ]
        )
        doubt = "" if finding.confirmed else "  (closer than 0.02 mm, contact not confirmed)"
        lines.append(f"{item}  {_pose(model, verdict.q)}{doubt}")
    header = ("exempted pair that can collide", "reason", "neighbours", "meets in", "share",
              "warned by")  # fmt: skip
    parts = [text_table(header, table), "\n".join(lines)]
    by_design = [f"  {' - '.join(f.links)}: {f.by_design}" for f in findings if f.by_design]
    if by_design:
        head = "Left out by a monitor without an SRDF as well, as they overlap by design:"
        parts.append("\n".join([head, *by_design]))
    return parts


def _audit_text(model: CollisionModel, result: Audit, settings: SearchSettings) -> str:
    """Text: a table of findings with poses, and confirmed entries."""
    parts = _findings_text(model, result.findings) if result.findings else []
    unseen = sum(finding.unseen for finding in result.findings)
    verdicts = [verdict for _, verdict in result.harmless]
    total = len(verdicts) + len(result.findings)
    found = counted(len(result.findings), "pair")
    text = f"{model.name}: {counted(total, 'exempted pair')} with shapes, {found} can collide"
    if result.findings:
        text += f", {unseen} of them while no checked pair is in contact"
    parts.append(f"{text}\nThe others: {_summary(verdicts) or 'none'}\n{_search_text(settings)}")
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
        parts.append(f"Not exempted though they meet nearly always or overlap by design: {names}")
    if result.shapeless:
        shapeless = counted(len(result.shapeless), "exempted pair")
        parts.append(f"{shapeless} with a link that has no shape")
    return "\n\n".join(parts)

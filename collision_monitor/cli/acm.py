# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""``acm``: which pairs of links can meet; an SRDF from it, or what is wrong with one."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from collision_monitor.acm.audit import audit
from collision_monitor.acm.exemptions import exemptions, srdf_text
from collision_monitor.acm.matrix import Progress, SearchSettings, classify
from collision_monitor.acm.pair_verdict import Ground, Meeting, Verdict
from collision_monitor.cli import acm_report
from collision_monitor.cli.output_path import option_number, output_path
from collision_monitor.common.atomic_file import write_text
from collision_monitor.model.collision_model import CollisionModel

EXIT_FOUND = 1


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers."""
    parser = commands.add_parser(
        "acm",
        help="which pairs of links can meet; write or audit an SRDF",
        description=(
            "Which pairs of links never, sometimes or always meet, proved over the joint ranges "
            "where it can be. Writes an SRDF that exempts those that need no check, or goes "
            "through one and shows every exempted pair that can really collide."
        ),
        epilog="Exit code: 0 done, nothing found; 1 exempted pairs that can collide (--audit); "
        "2 input that cannot be used.",
    )
    parser.add_argument("urdf", help="URDF file of the robot")
    given = parser.add_mutually_exclusive_group()
    given.add_argument(
        "--srdf", help="SRDF file whose exemptions, groups and all else are to stay"
    )
    given.add_argument("--audit", metavar="SRDF", help="go through what this SRDF exempts")
    parser.add_argument(
        "--package-dir",
        action="append",
        default=[],
        metavar="DIR",
        help="folder that holds packages, at any depth, for package://; may be given several times",
    )
    parser.add_argument(
        "--output", type=output_path, metavar="SRDF", help="write an SRDF with the exemptions"
    )
    parser.add_argument(
        "--renew", action="store_true", help="drop what --srdf exempts, and judge anew"
    )
    parser.add_argument(
        "--proved-only",
        action="store_true",
        help="exempt no pair that was only sampled, and never met",
    )
    parser.add_argument(
        "--default-pose",
        action="store_true",
        help="exempt pairs that meet with all joints at zero, though they can be apart elsewhere",
    )
    parser.add_argument(
        "--always",
        type=_share,
        default=0.95,
        metavar="SHARE",
        help="pairs that meet in at least this share of the samples count as always meeting "
        "(default %(default)s)",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=SearchSettings.seconds,
        help="time for proofs and searches (default %(default)g)",
    )
    parser.add_argument(
        "--samples",
        type=int,
        default=SearchSettings.samples,
        help="configurations to look at for each pair (default %(default)s)",
    )
    parser.add_argument(
        "--confidence",
        type=float,
        default=SearchSettings.confidence,
        help="of what rests on samples (default %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the samples (default 0)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run, parser=parser)


def _share(text: str) -> float:
    value = option_number(text)
    if not 0.0 < value <= 1.0:
        raise argparse.ArgumentTypeError(f"{text} is not a share above 0 and up to 1")
    return value


def _progress() -> Progress | None:
    """Tells on the terminal how far a search is; nothing where nobody looks."""
    if not sys.stderr.isatty():
        return None

    def tell(what: str, done: int, total: int) -> None:
        end = "\n" if done >= total else ""
        print(f"\r{what}: {done} of {total} pairs ", end=end, file=sys.stderr, flush=True)

    return tell


def run(options: argparse.Namespace) -> int:
    """Print what was found; write the SRDF if asked to."""
    settings = SearchSettings(
        options.seconds, options.samples, options.confidence, options.seed
    )
    if options.audit:
        if options.output or options.renew or options.proved_only or options.default_pose:
            options.parser.error("--audit writes nothing: run without it to write an SRDF")
        return _audit(options, settings)
    if options.renew and not options.srdf:
        options.parser.error("--renew needs --srdf, of which it keeps all but the exemptions")
    model = CollisionModel.from_urdf(options.urdf, options.srdf, options.package_dir)
    verdicts = classify(model, settings=settings, progress=_progress())
    _warn_of_haste(verdicts, settings)
    exempted = exemptions(
        model, verdicts, options.always, options.proved_only, options.default_pose, options.renew,
        settings.samples,
    )  # fmt: skip
    if options.output:
        text = srdf_text(model.name, exempted, options.srdf, options.renew)
        write_text(options.output, text)
    if options.json:
        print(json.dumps(acm_report.matrix_json(model, verdicts, exempted, settings), indent=2))
    else:
        print(acm_report.matrix_text(model, verdicts, exempted, settings))
    return 0


def _warn_of_haste(verdicts: Sequence[Verdict], settings: SearchSettings) -> None:
    """Say it where the time was over before a pair that never met had had all its samples."""
    few = [
        verdict.samples
        for verdict in verdicts
        if verdict.meeting is Meeting.NEVER
        and verdict.ground is Ground.SAMPLES
        and verdict.samples < settings.samples
    ]
    if few:
        print(
            f"warning: the time was over too soon: {len(few)} pairs that never met were looked at "
            f"in {min(few)} configurations instead of {settings.samples}, and proofs broken off. "
            "They stay in the watch: give more --seconds, or fewer --samples",
            file=sys.stderr,
        )


def _audit(options: argparse.Namespace, settings: SearchSettings) -> int:
    model = CollisionModel.from_urdf(options.urdf, options.audit, options.package_dir)
    result = audit(model, settings, options.always, _progress())
    if options.json:
        print(json.dumps(acm_report.audit_json(model, result, settings), indent=2))
    else:
        print(acm_report.audit_text(model, result, settings))
    return EXIT_FOUND if result.findings else 0

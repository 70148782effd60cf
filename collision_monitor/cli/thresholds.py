# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""``thresholds``: structurally close pairs, and a file with their thresholds."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from collision_monitor.cli.robots import add_model_arguments, load_model
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.thresholds import (
    STOP_DISTANCE,
    WARN_DISTANCE,
    StructuralPair,
    Thresholds,
    load_thresholds,
)


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers."""
    parser = commands.add_parser(
        "thresholds",
        help="pairs that are near by construction, with the thresholds that a monitor uses",
        description=(
            "Print a file of thresholds (YAML) with a rule for each pair that is near by "
            "construction. A monitor uses the same thresholds for pairs "
            "of links without this file; edit it to overrule them. Rules for pairs with an "
            "obstacle only apply with the file."
        ),
    )
    add_model_arguments(parser)
    parser.add_argument(
        "--warn", type=float, default=WARN_DISTANCE, metavar="METRES",
        help="warning distance of all pairs (default %(default)s)",
    )
    parser.add_argument(
        "--stop", type=float, default=STOP_DISTANCE, metavar="METRES",
        help="stop distance of all pairs (default %(default)s)",
    )
    parser.add_argument(
        "--thresholds", metavar="FILE",
        help="file of thresholds (YAML) to begin with; its rules are kept",
    )
    parser.add_argument(
        "--leaves-only", action="store_true",
        help="for distances of leaves instead of meshes: a monitor with narrow_phase leaf",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the file; pairs that always touch are in comments, and on standard error."""
    given = Thresholds() if options.thresholds is None else load_thresholds(options.thresholds)
    start = Thresholds(
        given.warn or options.warn, given.stop or options.stop, given.rules, given.source
    )
    model = load_model(options)
    # Raises for a rule without a match.
    start.of(model.pairs, objects=model.link_names, left_out=model.unmonitored_pairs)
    for text in start.without_effect(model.pairs, model.unmonitored_pairs):
        print(f"warning: {text}", file=sys.stderr)
    usual = model.usual_distances(exact=not options.leaves_only)
    ruled = start.named(model.pairs)
    found = [
        pair for k, pair in usual.structural(model.pairs, start.stop, start.warn).items()
        if k not in ruled
    ]  # fmt: skip
    print(f"# '{model.name}': {len(found)} of {len(model.pairs)} pairs are near by construction.")
    print(f"warn: {start.warn:g}\nstop: {start.stop:g}")
    lines = [_line(rule.pattern, rule.warn, rule.stop) for rule in start.rules]
    lines += [_suggested(pair) for pair in found]
    left_out = [pair for pair in model.unmonitored_pairs if pair.by_design]
    print("pairs:" if lines or left_out else "pairs: []")
    for line in lines:
        print(line)
    if left_out:
        print("  # Not checked because they overlap by design; without its # a pair is checked:")
    for a, b, reason in left_out:
        print(f"  #{_line(f'{a} {b}', 0.0, 0.0).strip()}  # {reason}")
    for k in usual.always_touching():
        text = _always_touching(model, model.pairs[k], options.leaves_only)
        print(f"  # {text}")
        print(f"warning: {text}", file=sys.stderr)
    return 0


def _always_touching(model: CollisionModel, pair: tuple[str, str], leaves_only: bool) -> str:
    a, b = pair
    if leaves_only:
        return (
            f"{a} {b}: leaves overlap in all sampled configurations, so that no threshold helps; "
            "the meshes may be apart: use narrow_phase auto, and this command without "
            "--leaves-only, or allow more leaves (--max-leaves)"
        )
    advice = "if they are meant to touch, list the pair under ignore: in the scene"
    if a in model.robot.links and b in model.robot.links:
        advice = "without a rule the pair is not checked"
    return f"{a} {b}: meshes touch in all sampled configurations: no threshold helps; {advice}"


def _line(pattern: str, warn: float | None, stop: float | None) -> str:
    parts = [f"pair: {_quoted(pattern)}"]
    distances = (("warn", warn), ("stop", stop))
    parts += [f"{key}: {value:g}" for key, value in distances if value is not None]
    return f"  - {{{', '.join(parts)}}}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _suggested(pair: StructuralPair) -> str:
    line = _line(" ".join(pair.links), round(pair.warn, 6), round(pair.stop, 6))
    return f"{line}  # {pair.reason}"

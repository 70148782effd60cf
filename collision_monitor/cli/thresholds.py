# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""``thresholds``: pairs that are always nearer than the thresholds; a file that suits them."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from collision_monitor.cli.robots import add_model_arguments, load_model
from collision_monitor.model.thresholds import Thresholds, load_thresholds
from collision_monitor.monitoring.speed_policy.threshold_suggestions import (
    ThresholdSuggestion,
    suggest_thresholds,
)


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers."""
    parser = commands.add_parser(
        "thresholds",
        help="pairs that are always nearer than the thresholds, with thresholds that suit them",
        description=(
            "Sample configurations within the joint limits, and print a file of thresholds (YAML) "
            "with a rule for each pair that is always nearer than its warning distance: such a "
            "pair would alarm, and slow the robot down, wherever it is."
        ),
    )
    add_model_arguments(parser)
    parser.add_argument(
        "--warn", type=float, default=0.1, metavar="METRES",
        help="warning distance of all pairs (default %(default)s)",
    )
    parser.add_argument(
        "--stop", type=float, default=0.02, metavar="METRES",
        help="stop distance of all pairs (default %(default)s)",
    )
    parser.add_argument(
        "--thresholds", metavar="FILE",
        help="file of thresholds (YAML) to begin with; its rules are kept",
    )
    parser.add_argument(
        "--samples", type=int, default=2000, metavar="N",
        help="configurations (default %(default)s)",
    )
    parser.add_argument(
        "--share", type=float, default=1.0,
        help="part of the samples in which a pair has to be near (default %(default)s)",
    )
    parser.add_argument(
        "--exact", action="store_true",
        help="distances of the shapes themselves instead of the leaves around them; slower",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the file; pairs that no threshold suits are in comments, and on standard error."""
    given = Thresholds() if options.thresholds is None else load_thresholds(options.thresholds)
    start = Thresholds(
        given.warn or options.warn, given.stop or options.stop, given.rules, given.source
    )
    model = load_model(options)
    found = suggest_thresholds(model, start, options.samples, options.share, options.exact)
    print(f"# '{model.name}': {len(found)} of {len(model.pairs)} pairs are within their warning")
    print(f"# distance in {options.share:.0%} of {options.samples} sampled configurations.")
    print(f"warn: {start.warn:g}\nstop: {start.stop:g}")
    lines = [
        _line(rule.pattern, rule.warn, rule.stop, "") for rule in start.rules
    ] + [_suggested(suggestion) for suggestion in found if suggestion.warn is not None]
    print("pairs:" if lines else "pairs: []")
    for line in lines:
        print(line)
    for suggestion in found:
        if suggestion.warn is None:
            text = _overlap(suggestion)
            print(f"  # {text}")
            print(f"warning: {text}", file=sys.stderr)
    return 0


def _line(pattern: str, warn: float | None, stop: float | None, comment: str) -> str:
    parts = [f"pair: {_quoted(pattern)}"]
    distances = (("warn", warn), ("stop", stop))
    parts += [f"{key}: {value:g}" for key, value in distances if value is not None]
    return f"  - {{{', '.join(parts)}}}{comment}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _suggested(suggestion: ThresholdSuggestion) -> str:
    seen = f"  # {suggestion.least:.4f} to {suggestion.largest:.4f} m"
    return _line(" ".join(suggestion.pair), suggestion.warn, suggestion.stop, seen)


def _overlap(suggestion: ThresholdSuggestion) -> str:
    a, b = suggestion.pair
    return (
        f"{a} {b}: as near as {suggestion.least:.4f} m, never farther than "
        f"{suggestion.largest:.4f} m: no threshold helps; if they cannot collide, "
        "disable the pair in the SRDF, or under ignore: in the scene"
    )

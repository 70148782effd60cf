# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""``thresholds``: pairs near by design, and a file with their thresholds.

A pair that is within its warning distance while the robot rests would always be a warning, or a
stop: such a pair gets distances below that of the pose of rest. Motions that the robot has made
show which stops are artefacts of the meshes: such a pair gets distances below what was seen.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from collision_monitor.cli.options import (
    add_flag,
    add_motion_arguments,
    add_option,
    add_positions_argument,
    input_path,
    parse_configuration,
)
from collision_monitor.cli.robots import (
    add_model_arguments,
    given_thresholds,
    load_model,
    opened_motions,
    read_motions,
)
from collision_monitor.cli.seen_distances import Seen, seen_near
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.near_by_design import NearPair, near_by_design
from collision_monitor.model.pair_rules import OFTEN_NEAR, STOP_PART, WARN_PART
from collision_monitor.model.sampled_distances import is_of_one_robot, near_and_touching
from collision_monitor.model.thresholds import STOP_DISTANCE, WARN_DISTANCE, Rule, pattern_of

# Pairs nearer than this at rest (metres) are named on standard error.
_VERY_NEAR = 0.005


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers."""
    parser = commands.add_parser(
        "thresholds",
        help="pairs that are near by design, and the thresholds of a monitor",
        description=(
            "Print a file of thresholds (YAML) with a rule for each pair that is near by "
            "design, or within its warning distance while the robot rests (--q). A monitor "
            "uses the same thresholds for pairs of links that are near by design "
            "without this file; edit it to overrule them. Rules for pairs with "
            "an obstacle, and smaller distances because of another pose of rest, only apply with "
            "the file."
        ),
    )
    add_model_arguments(parser)
    add_positions_argument(parser, "joint positions of the robot at rest")
    add_option(parser, "--motion FILE", "what the robot did without harm (ROS 2 bag, CSV, "
               "JointTrajectory in YAML, command file): pairs that would stop it there get "
               "distances below what was seen, and pairs whose meshes meet there are left out; may "
               "be given several times", many=True, type=input_path)  # fmt: skip
    add_motion_arguments(parser)
    add_option(parser, "--warn METRES",
               f"warning distance of all pairs (default: of --thresholds, or {WARN_DISTANCE})",
               type=float)  # fmt: skip
    add_option(parser, "--stop METRES",
               f"stop distance of all pairs (default: of --thresholds, or {STOP_DISTANCE})",
               type=float)  # fmt: skip
    add_option(parser, "--thresholds FILE",
               "file of thresholds (YAML) to begin with; its rules are kept",
               type=input_path)  # fmt: skip
    add_flag(parser, "--leaves-only", "for distances of leaves instead of meshes: a monitor with "
             "narrow_phase leaf")  # fmt: skip
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the file; pairs that touch often or at rest are in comments, and on standard error."""
    start = given_thresholds(options, WARN_DISTANCE, STOP_DISTANCE)
    files = opened_motions(options, options.motion)
    model = load_model(options)
    q = parse_configuration(options.q, model)
    motions = read_motions(options, files, model)
    # Raises for a rule without a match.
    start.of(model.pairs, objects=model.link_names, left_out=model.unmonitored_pairs)
    for text in start.without_effect(model.pairs, model.unmonitored_pairs):
        print(f"warning: {text}", file=sys.stderr)
    exact = not options.leaves_only
    ruled = start.named(model.pairs)
    near_pairs = near_by_design(model, start.stop, start.warn, exact, with_obstacles=True)
    by_design = {k: pair for k, pair in near_pairs.items() if k not in ruled}
    sampled = model.sampled_distances(exact)
    often = {
        pair: share for pair, share in zip(sampled.pairs.tolist(), sampled.contacts, strict=True)
        if share >= OFTEN_NEAR and pair not in ruled
    }  # fmt: skip
    limits = start.of(model.pairs, must_name=False, near=by_design)
    near, touching = near_and_touching(model, q, limits[:, 1], exact)
    seen = seen_near(model, motions, q, limits[:, 0], exact)
    seen = {k: each for k, each in seen.items() if k not in ruled}
    suggested = _suggested(model, by_design, near, seen, ruled, limits)
    print(
        f"# '{model.name}': {len(by_design)} of {len(model.pairs)} pairs are near by design."
    )
    print(f"warn: {_number(start.warn)}\nstop: {_number(start.stop)}")
    lines = [_line(rule) for rule in start.rules] + suggested
    left_out = [pair for pair in model.unmonitored_pairs if pair.by_design]
    notes = _where_they_touch(often, touching, sampled.always_touching())
    print("pairs:" if lines or left_out or notes else "pairs: []")
    for line in lines:
        print(line)
    if left_out:
        print("  # Not checked because they overlap by design; without its # a pair is checked:")
    for a, b, reason in left_out:
        print(f"  #{_line(Rule(pattern_of((a, b)), 0.0, 0.0)).strip()}  # {reason}")
    for pair, note in notes.items():
        if pair not in seen:
            _note_touching(model, model.pairs[pair], note, options.leaves_only)
    return 0


def _where_they_touch(
    often: Mapping[int, float], touching: Iterable[int], always: Iterable[int]
) -> dict[int, str]:
    """Where pairs touch that no threshold helps, by index; empty: in all configurations.

    ``often``: shares of the configurations in which pairs touch.
    """
    notes = dict.fromkeys(always, "")
    for pair in touching:
        notes.setdefault(pair, "at rest, which is a stop: give a pose without contact as --q;")
    for pair, share in often.items():
        notes.setdefault(pair, f"in {share:.0%} of the configurations, which is a stop there:")
    return notes


def _note_touching(
    model: CollisionModel, pair: tuple[str, str], note: str, leaves_only: bool
) -> None:
    """Name a pair that no threshold helps in a comment of the file, and on standard error.

    ``note``: where it touches; empty: in all sampled configurations.
    """
    is_always = not note
    if is_always:
        text = _always_touching(model, pair, leaves_only)
    else:
        text = (
            f"{' '.join(pair)}: {'leaves overlap' if leaves_only else 'meshes meet'} {note} "
            "if they overlap by design, leave the pair out by check: false here, or in the "
            f"{'SRDF' if is_of_one_robot(model, pair) else 'scene, under ignore'}"
        )
    print(f"  # {text}")
    if not is_always:
        line = _line(Rule(pattern_of(pair), check=False)).strip()
        print(f"  #{line}  # without its first #, the pair is left out")
    print(f"warning: {text}", file=sys.stderr)


def _always_touching(model: CollisionModel, pair: tuple[str, str], leaves_only: bool) -> str:
    a, b = pair
    if leaves_only:
        return (
            f"{a} {b}: leaves overlap in all sampled configurations, so that no threshold helps; "
            "the meshes may be apart: use narrow_phase auto, and this command without "
            "--leaves-only, or allow more leaves (--max-leaves)"
        )
    advice = "if they are meant to touch, list the pair under ignore: in the scene"
    if is_of_one_robot(model, pair):
        advice = "without a rule the pair is not checked"
    return f"{a} {b}: meshes touch in all sampled configurations: no threshold helps; {advice}"


def _line(rule: Rule) -> str:
    parts = [f"pair: {_quoted(rule.pattern)}"]
    distances = (("warn", rule.warn), ("stop", rule.stop))
    parts += [f"{key}: {_number(value)}" for key, value in distances if value is not None]
    if len(parts) == 1:
        parts.append(f"check: {str(rule.check).lower()}")
    return f"  - {{{', '.join(parts)}}}"


def _number(value: float) -> str:
    """Never with an exponent: YAML readers disagree whether 8e-06 is a number."""
    return np.format_float_positional(value, trim="-")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _suggested(
    model: CollisionModel,
    by_design: Mapping[int, NearPair],
    near: Mapping[int, float],
    seen: Mapping[int, Seen],
    ruled: set[int],
    limits: np.ndarray,
) -> list[str]:
    """Lines of pairs without a rule: near by design, ``near`` at rest, and ``seen`` near."""
    lines = []
    for pair in sorted(by_design.keys() | near.keys() - ruled | seen.keys()):
        if pair in seen and seen[pair].distance <= 0.0:
            lines.append(_left_out(model.pairs[pair], seen[pair]))
            continue
        stop, warn = limits[pair].tolist()
        reasons = [by_design[pair].reason] if pair in by_design else []
        if pair in near:
            warn, stop = WARN_PART * near[pair], min(stop, STOP_PART * near[pair])
            reasons.append(f"{1e3 * near[pair]:.1f} mm apart at rest")
            if near[pair] < _VERY_NEAR:
                print(
                    f"warning: {' '.join(model.pairs[pair])}: {1e3 * near[pair]:.2f} mm apart at "
                    f"rest, so that it stops at {1e3 * stop:.2f} mm in every pose", file=sys.stderr,
                )  # fmt: skip
        if pair in seen:
            distance = seen[pair].distance
            warn, stop = min(warn, WARN_PART * distance), min(stop, STOP_PART * distance)
            reasons.append(seen[pair].reason)
        rule = Rule(pattern_of(model.pairs[pair]), round(warn, 6), round(stop, 6))
        lines.append(f"{_line(rule)}  # {', '.join(reasons)}")
    return lines


def _left_out(pair: tuple[str, str], seen: Seen) -> str:
    """The line of a pair whose meshes meet where the robot came to no harm; also warns of it."""
    print(
        f"warning: {' '.join(pair)}: {seen.reason}, so the pair is left out by check: false; "
        "remove the line if the links can collide anywhere else",
        file=sys.stderr,
    )
    return f"{_line(Rule(pattern_of(pair), check=False))}  # {seen.reason}"

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""``adjust``: a motion of two arms made free of collision, or the reason why not."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from collision_monitor.cli import adjust_plot, adjust_report
from collision_monitor.cli.distance import parse_positions
from collision_monitor.cli.model_arguments import add_model_arguments, load_model
from collision_monitor.cli.motion_arguments import add_bag_arguments
from collision_monitor.cli.output_path import option_number, output_path
from collision_monitor.errors import (
    AdjustmentError,
    ConfigurationError,
    JointLimitsError,
    MotionError,
    SemanticDescriptionError,
)
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.motion import Motion, read_motion, write_motion
from collision_monitor.motion.motion_files import open_motion
from collision_monitor.robot.joint_limits import read_joint_limits
from collision_monitor.robot.srdf import srdf_beside

EXIT_NO_ADJUSTMENT = 1


def _not_negative(text: str) -> float:
    value = option_number(text)
    if not 0.0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a finite number of at least 0")
    return value


def _two_names(text: str) -> tuple[str, str]:
    names = tuple(name.strip() for name in text.split(","))
    if len(names) != 2 or not all(names):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not two names with a comma between, such as right_arm,left_arm"
        )
    return names


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers."""
    parser = commands.add_parser(
        "adjust",
        help="make a motion of two arms free of collision",
        description=(
            "Change a motion of two arms as little as possible so that they keep their distance "
            "from each other and from everything else, at every instant, within the limits of "
            "the joints. Exit code 0: adjusted, or safe as it is; 1: there is no safe "
            "adjustment, and why; 2: input that cannot be used."
        ),
    )
    add_model_arguments(parser)
    parser.add_argument(
        "motion",
        help="motion file: CSV 'time,<joint>,...', a JointTrajectory as YAML, a ROS 2 bag, or a "
        "command file",
    )
    add_bag_arguments(parser)
    parser.add_argument(
        "--output",
        type=output_path,
        metavar="FILE",
        help="write the adjusted motion: *.yaml as JointTrajectory, others as CSV",
    )
    parser.add_argument(
        "--safe-distance",
        type=_not_negative,
        default=0.1,
        metavar="METRES",
        help="clearance between leaves that is kept (default %(default)s)",
    )
    parser.add_argument(
        "--danger-distance",
        type=_not_negative,
        default=0.05,
        metavar="METRES",
        help="clearance between leaves below which the field is infinite (default %(default)s)",
    )
    parser.add_argument(
        "--method",
        choices=("robust", "published"),
        default="robust",
        help="robust: all pairs at once, certified; published: arm against arm as in the paper "
        "(default %(default)s)",
    )
    parser.add_argument(
        "--arms",
        type=_two_names,
        metavar="RIGHT,LEFT",
        help="two groups of the SRDF, or two base_link:tip_link; found by themselves if not given",
    )
    parser.add_argument(
        "--yielding",
        choices=("both", "left", "right"),
        default="both",
        help="which arm gives way (default %(default)s)",
    )
    parser.add_argument(
        "--tip-weight",
        type=_not_negative,
        default=0.0,
        metavar="W",
        help="how much a metre of a tip counts against a radian of a joint (default %(default)s)",
    )
    parser.add_argument(
        "--limits",
        metavar="FILE",
        help="joint_limits.yaml: accelerations, and what is tighter than in the URDF",
    )
    parser.add_argument(
        "--q",
        default="",
        metavar="JOINT=VALUE,...",
        help="positions of joints that the motion does not name, radians or metres; the others "
        "are held at zero, or at the nearer limit where zero is outside the limits",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--plot",
        type=output_path,
        metavar="PNG",
        help="draw joints, clearance and index over time",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Adjust the motion, print what was done, write what is asked for."""
    from collision_monitor.self_collision.adjustment import adjust  # other commands need no solver

    _check_outputs(options)
    file = open_motion(options.motion)  # errors in it are reported before the model is loaded
    model = _load(options)
    motion = read_motion(file, model.robot, topic=options.topic, stamps=options.stamps)
    held = _held(options.q, model, motion)
    limits = _limits(options.limits, model)
    try:
        adjustment = adjust(
            model,
            motion,
            options.arms,
            safe_distance=options.safe_distance,
            danger_distance=options.danger_distance,
            method=options.method,
            yielding=options.yielding,
            tip_weight=options.tip_weight,
            held=held,
            **limits,
        )
    except AdjustmentError as error:
        return _refuse(options, adjust_report.failure(model, options.method, error))
    result = adjust_report.report(model, adjustment, options.safe_distance, options.danger_distance)
    if options.plot:
        adjust_plot.plot(
            options.plot,
            adjustment,
            options.safe_distance,
            options.danger_distance,
            adjust_report.units(model),
        )
    if options.output:
        write_motion(options.output, adjustment.motion)
    result["output"] = os.fspath(options.output) if options.output else None
    if options.json:
        print(json.dumps(result, indent=2, allow_nan=False))
        return 0
    print(adjust_report.text(result))
    if options.output:
        print(f"  written            {options.output}")
    return 0


def _check_outputs(options: argparse.Namespace) -> None:
    """Find out before the work, not after it, that its results would destroy something."""
    inputs = {
        os.path.realpath(path): name
        for name in ("motion", "urdf", "srdf", "scene", "leaves", "limits")
        if (path := getattr(options, name, None)) is not None
    }
    for path in filter(None, (options.output, options.plot)):
        name = inputs.get(os.path.realpath(path))
        if name:
            what = "motion" if name == "motion" else f"{name} that is read"
            raise MotionError(f"{path}: is the {what} itself; give another file for the result")
    if options.plot:
        if options.output and os.path.realpath(options.output) == os.path.realpath(options.plot):
            raise MotionError(f"{options.plot}: is given for the motion and for the plot")
        adjust_plot.require(options.plot)


def _load(options: argparse.Namespace) -> CollisionModel:
    """The model, with the SRDF that lies beside the URDF if none is given."""
    if options.srdf is not None:
        return load_model(options)
    beside = srdf_beside(options.urdf)
    if beside is None:
        return load_model(options)
    options.srdf = os.fspath(beside)
    try:
        model = load_model(options)
    except SemanticDescriptionError as error:
        # Without it more pairs are checked, not fewer.
        _say(f"warning: {beside}, beside the URDF, is not used: {error}")
        options.srdf = None
        return load_model(options)
    _say(f"note: SRDF {beside} is taken, which lies beside the URDF")
    return model


def _held(text: str, model: CollisionModel, motion: Motion) -> dict[str, float]:
    """Positions given for joints that the motion does not name."""
    given = parse_positions(text, model)
    both = [name for name in given if name in motion.joint_names]
    if both:
        raise ConfigurationError(f"--q: {', '.join(both)}: the motion itself moves this")
    still = [
        name for name in model.joint_names if name not in motion.joint_names and name not in given
    ]
    if still:
        more = f" and {len(still) - 6} more" if len(still) > 6 else ""
        _say(
            f"note: held at zero, or at the nearer limit (--q sets them): {', '.join(still[:6])}"
            f"{more}"
        )
    return given


def _limits(path: str | None, model: CollisionModel) -> dict[str, Any]:
    """Options of `adjust` for what a file limits tighter than the robot does."""
    if path is None:
        return {}
    positions, velocities, accelerations = {}, {}, {}
    for name, limits in read_joint_limits(path, model.joint_names).items():
        k = model.joint_names.index(name)
        if max(model.lower[k], limits.lower) > min(model.upper[k], limits.upper):
            raise JointLimitsError(
                f"{path}: {name}: nothing is left between its positions "
                f"{limits.lower:g} .. {limits.upper:g} and the limits of the URDF"
            )
        positions[name] = (limits.lower, limits.upper)
        velocity = model.velocity_limits[k]
        none = not np.isfinite(velocity) or velocity <= 0.0
        if math.isfinite(limits.velocity):
            velocities[name] = limits.velocity if none else min(velocity, limits.velocity)
        if math.isfinite(limits.acceleration):
            accelerations[name] = limits.acceleration
    return {
        "position_limits": positions,
        "velocity_limits": velocities,
        "acceleration_limits": accelerations or None,
    }


def _refuse(options: argparse.Namespace, result: dict[str, Any]) -> int:
    """Say why there is no result, and that no file has it."""
    result["output"] = None
    if options.json:
        print(json.dumps(result, indent=2, allow_nan=False))
    else:
        print(adjust_report.failure_text(result))
    for path in filter(None, (options.output, options.plot)):
        if Path(path).exists():
            _say(f"warning: {path} is not of this run: it was there before, and is left as it was")
    return EXIT_NO_ADJUSTMENT


def _say(text: str) -> None:
    print(text, file=sys.stderr)

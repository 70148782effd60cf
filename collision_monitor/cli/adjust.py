# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""``adjust``: adjusts a motion of arms to be collision-free."""

from __future__ import annotations

import argparse
import math
import os
import sys
from pathlib import Path
from typing import Any

from collision_monitor.cli import adjust_report
from collision_monitor.cli.options import (
    Exit,
    add_flag,
    add_motion_arguments,
    add_option,
    add_positions_argument,
    add_setting,
    check_outputs,
    files_read,
    input_path,
    output_path,
    parse_positions,
    print_json,
)
from collision_monitor.cli.robots import (
    add_model_arguments,
    add_soft_limits,
    load_model,
    opened_motions,
    read_motions,
)
from collision_monitor.common.settings import settings_of, values_of
from collision_monitor.common.text import shortened
from collision_monitor.errors import AdjustmentError, JointLimitsError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.motion import Motion, write_motion
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.motion.violation import Code
from collision_monitor.robot.limits import JointLimits, tightened_limits, urdf_limits
from collision_monitor.self_collision import AdjustmentSettings, adjustment, find_chains
from collision_monitor.self_collision.preparation import mimics
from collision_monitor.self_collision.retiming import moving_ends, moving_ends_warnings
from collision_monitor.verification import check_joint_limits

_READ = ("motion", "urdf", "srdf", "scene", "leaves", "limits")
_SETTINGS = settings_of(AdjustmentSettings)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a comma-separated list of names, such as right_arm,left_arm"
        )
    return names


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers."""
    parser = commands.add_parser(
        "adjust",
        help="make a motion of one arm or more free of collision",
        description=(
            "Change a motion of arms as little as possible so that they keep their distance "
            "from each other and from everything else, at every instant, within the limits of "
            "the joints. Exit code 0: adjusted, or safe as it is; 1: there is no safe "
            "adjustment, and why; 2: input that cannot be used."
        ),
    )
    add_model_arguments(parser)
    parser.add_argument(
        "motion", type=input_path,
        help="motion file: CSV 'time,<joint>,...', a JointTrajectory as YAML, a ROS 2 bag, or a "
        "command file",
    )
    add_motion_arguments(parser)
    add_option(parser, "--output FILE", "write the adjusted motion: *.yaml as JointTrajectory, "
               "others as CSV", type=output_path)  # fmt: skip
    add_setting(parser, _SETTINGS["safe_distance"], "METRES")
    add_setting(parser, _SETTINGS["danger_distance"], "METRES")
    add_setting(parser, _SETTINGS["method"], None)
    add_option(parser, "--arms RIGHT,LEFT", "groups of the SRDF, or base_link:tip_link, of one arm "
               "or more; detected if not given", type=_names)  # fmt: skip
    add_setting(parser, _SETTINGS["yielding"], "ARM")
    add_setting(parser, _SETTINGS["tip_weight"], "W")
    add_option(parser, "--limits FILE", "joint_limits.yaml: accelerations, jerks, and limits "
               "tighter than in the URDF", type=input_path)  # fmt: skip
    add_soft_limits(parser)
    add_positions_argument(parser, "positions of joints that the motion does not move")
    add_flag(parser, "--json", "print JSON")
    add_option(parser, "--plot PNG", "draw joints, clearance and index over time", type=output_path)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Adjust the motion, print the result, write files."""
    check_outputs(options, ("output", "plot"), files_read(options, _READ))
    if options.plot:
        adjust_report.require_plot(options.plot)
    files = opened_motions(options, [options.motion])
    model = load_model(options)
    _, motion = read_motions(options, files, model, smooth=True)[0]
    held = _held(options.q, model, motion)
    tighter = _limits_of_leaders(options.limits, options.soft_limits, model)
    limits = _limits(tighter)
    safe, danger = options.safe_distance, options.danger_distance
    arms = find_chains(model.robot, model.semantics, options.arms)
    try:
        adjusted = adjustment.adjust(
            model, motion, arms, held=held, **values_of(AdjustmentSettings, vars(options)), **limits
        )
    except AdjustmentError as error:
        return _refuse(options, adjust_report.failure(model, arms, options.method, error))
    result = adjust_report.report(model, adjusted, safe, danger)
    if options.plot:
        adjust_report.plot(options.plot, adjusted, safe, danger, adjust_report.units(model))
    if options.output:
        write_motion(options.output, adjusted.motion)
    result["output"] = os.fspath(options.output) if options.output else None
    result["beyond_limits"] = _beyond_limits(model, adjusted.motion, tighter)
    rates = (limits.get(f"{kind}_limits") for kind in ("acceleration", "jerk"))
    ends = moving_ends(adjusted.motion, adjusted.desired, *rates)
    result["moving_ends"] = [each._asdict() for each in ends]
    if options.json:
        print_json(result)
    else:
        print(adjust_report.text(result))
    for text in moving_ends_warnings(ends):
        _print_error(f"warning: {text}")
    for found in result["beyond_limits"]:
        _print_error(
            f"warning: joint '{found['joint']}' begins at {found['value']:g}, beyond its limit "
            f"{found['limit']:g}; the motion does not exceed this value, and `verify` reports it"
        )
    return 0


def _held(text: str, model: CollisionModel, motion: Motion) -> dict[str, float]:
    """Given positions of joints that the motion does not name."""
    given = parse_positions(text, model)
    known = {*motion.joint_names, *motion.held, *given}
    still = [name for name in model.joint_names if name not in known]
    if still:
        _print_error(
            f"note: held at zero, or at the nearer limit (--q sets them): {shortened(still, 6)}"
        )
    return given


def _limits(limits: dict[str, JointLimits]) -> dict[str, Any]:
    """Arguments of `adjust`; none without limits."""
    if not limits:
        return {}

    def finite(key: str) -> dict[str, float]:
        values = {name: getattr(both, key) for name, both in limits.items()}
        return {name: value for name, value in values.items() if math.isfinite(value)}

    return {
        "position_limits": {name: (both.lower, both.upper) for name, both in limits.items()},
        "velocity_limits": finite("velocity"),
        "acceleration_limits": finite("acceleration") or None,
        "jerk_limits": finite("jerk") or None,
    }


def _limits_of_leaders(
    path: str | None, soft: bool, model: CollisionModel
) -> dict[str, JointLimits]:
    """Limits in a file and soft ones, if they are given.

    Joints that others mimic keep those of the others, too.

    Raises:
        JointLimitsError: as `tightened_limits`, or a joint cannot keep those of one that mimics it.
    """
    of_urdf = urdf_limits(model.robot)
    given = urdf_limits(model.robot, soft=True) if soft else {}
    if path is not None:
        given |= tightened_limits(model.robot, path, tuple(of_urdf), soft)
    limits = {name: both for name, both in given.items() if name in model.joint_names}
    for joint, leader, gain, offset in mimics(model):
        of_follower, urdf = given.get(joint.name), of_urdf[joint.name]
        if of_follower is None:
            continue
        ends = -math.inf, math.inf
        if (of_follower.lower, of_follower.upper) != (urdf.lower, urdf.upper):
            ends = sorted((end - offset) / gain for end in (of_follower.lower, of_follower.upper))
        largest = of_follower.velocity, of_follower.acceleration, of_follower.jerk
        rates = (each / abs(gain) for each in largest)
        limits[leader] = limits.get(leader, of_urdf[leader]).tightened(JointLimits(*ends, *rates))
        if limits[leader].lower > limits[leader].upper:
            raise JointLimitsError(
                f"{path or 'soft limits'}: no position of {leader!r} is within its limits and "
                f"keeps {joint.name!r}, which follows it, within {of_follower.lower:g} .. "
                f"{of_follower.upper:g}"
            )
    return limits


def _beyond_limits(
    model: CollisionModel, motion: Motion, limits: dict[str, JointLimits]
) -> list[dict[str, Any]]:
    """Joints beyond a position limit, as `verify` reports them: the robot starts beyond it."""
    trajectory = Trajectory.through(motion.joint_names, motion.times, motion.positions)
    check = check_joint_limits(trajectory, model.robot, urdf_limits(model.robot) | limits)
    return [
        {"joint": violation.subject, "value": violation.value, "limit": violation.limit}
        for violation in check.violations if violation.code is Code.JOINT_POSITION
    ]  # fmt: skip


def _refuse(options: argparse.Namespace, result: dict[str, Any]) -> int:
    """Print the reason of a failure; warn of files of an earlier run."""
    result["output"] = None
    if options.json:
        print_json(result)
    else:
        print(adjust_report.failure_text(result))
    for path in filter(None, (options.output, options.plot)):
        if Path(path).exists():
            _print_error(f"warning: {path} is from an earlier run and was not changed")
    return Exit.FAILED


def _print_error(text: str) -> None:
    print(text, file=sys.stderr)

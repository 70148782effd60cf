# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""``verify``: checks whether a motion is safe, and prints a verdict with reasons."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from collision_monitor.cli.options import (
    LiveProgress,
    add_flag,
    add_motion_arguments,
    add_option,
    check_bag_arguments,
    check_outputs,
    discard_output,
    files_read,
    input_path,
    output_path,
    parse_positions,
    print_json,
    timed_motion,
    topic_of,
    vector,
)
from collision_monitor.cli.robots import (
    add_model_arguments,
    add_second_robot,
    add_soft_limits,
    given_thresholds,
    inertials_of,
    load_cell,
    prefix_of,
    prefixed_motion,
    recorded_obstacles,
    recording_note,
    with_recorded,
)
from collision_monitor.common.compiled import log_compiling
from collision_monitor.common.files import write_text
from collision_monitor.common.text import MOST_NAMED, time_text
from collision_monitor.errors import CollisionMonitorError, ConfigurationError, MotionError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.motion.bags import is_bag, topic_names
from collision_monitor.motion.measured import MeasuredMotion, read_measured
from collision_monitor.motion.motion_files import LoadedMotion, load_trajectory
from collision_monitor.robot.description import Robot
from collision_monitor.robot.limits import joint_limits
from collision_monitor.robot.scene import Scene
from collision_monitor.verification.check import METHODS, Settings, SimultaneousMotion, Torques
from collision_monitor.verification.report.comparison import differences, not_compared
from collision_monitor.verification.report.messages import (
    as_data,
    compared,
    headline,
    junit,
    nearest,
    sentence,
    summary,
)
from collision_monitor.verification.report.report_page import require_report, write_reports
from collision_monitor.verification.run_checks import verify_many
from collision_monitor.verification.torques.actuators import Drives, read_drives
from collision_monitor.verification.verification import Verdict, Verification

_SUFFIXES = (".yaml", ".yml", ".json", ".csv", ".mcap", ".db3")
_READ = (
    "urdf", "srdf", "scene", "leaves", "limits", "thresholds", "drives", "other", "other_srdf"
)  # fmt: skip
_BAG = "metadata.yaml"  # file in the folder of a bag


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers."""
    parser = commands.add_parser(
        "verify",
        help="check a motion before it is sent",
        description=(
            "Check a motion, or every motion in a folder: limits of joints, torques, and distances "
            "between all links and to the scene at every instant, between samples too. Exit code "
            "0: safe; 1: not safe; 2: could not be checked."
        ),
    )
    add_model_arguments(parser)
    parser.add_argument(
        "motion", nargs="+", type=lambda text: Path(input_path(text)),
        help="motion file or a folder of them: JointTrajectory or command (YAML), CSV, ROS 2 bag",
    )  # fmt: skip
    checks = parser.add_argument_group("what is checked")
    add_option(checks, "--limits FILE", "joint_limits.yaml: limits tighter than those of the URDF",
               type=input_path)  # fmt: skip
    add_soft_limits(checks)
    add_option(checks, "--thresholds FILE", "YAML: warn and stop distances, for all pairs and by "
               "pattern (docs/verify.md)", type=input_path)  # fmt: skip
    add_option(checks, "--warn METRES", "warn below this distance", type=float)
    add_option(checks, "--stop METRES", "not safe below this distance", type=float)
    add_option(checks, "--level", "auto: pairs that leaves do not clear are decided by their "
               "meshes; leaf: they are not safe; mesh: all pairs are measured by their meshes "
               "(default %(default)s)", choices=("auto", "leaf", "mesh"),
               default="auto")  # fmt: skip
    add_option(checks, "--method", "continuous: distances of all pairs over time; two-level: only "
               "whether they keep their thresholds, in few tests, but slower (default %(default)s)",
               choices=METHODS, default=METHODS[0])  # fmt: skip
    add_flag(checks, "--recorded",
             "the robot may be moving at the start and the end, as in a recording")  # fmt: skip
    add_flag(checks, "--recorded-scene", "include the obstacles from topics, as of the first stop "
             "in a recording of the monitor")  # fmt: skip
    add_flag(checks, "--torques", "check torques, by the inertias of the URDF")
    add_option(checks, "--drives FILE", "YAML: rotor inertias, stiffnesses, margins, payload; "
               "implies --torques", type=input_path)  # fmt: skip
    add_flag(checks, "--floating",
             "the base floats freely, as in space; implies --torques and no gravity")  # fmt: skip
    add_option(checks, "--gravity X,Y,Z", "m/s^2 in the frame of the root link; implies --torques "
               "(default 0,0,-9.81)",
               type=vector((3,), "three numbers with commas between"))  # fmt: skip
    motions = parser.add_argument_group("motions")
    add_option(motions, "--q JOINT=VALUE,...", "positions of joints that the motion does not name, "
               "radians or metres", default="")  # fmt: skip
    add_motion_arguments(motions)
    add_option(motions, "--beside MOTION[@START]", "a motion of other joints that runs at the same "
               "time, and begins at START seconds", type=timed_motion, many=True)  # fmt: skip
    add_option(motions, "--measured BAG[@START]", "joint states of a run of this motion, which "
               "began START seconds after the first of them (default 0): drawn over the command in "
               "the report, with the largest differences of positions, velocities and torques; "
               "--topic and --stamps apply to it", type=timed_motion)  # fmt: skip
    add_second_robot(parser)
    outputs = parser.add_argument_group("what is written")
    add_option(outputs, "--report HTML", "a page, all in one", type=output_path)
    add_flag(outputs, "--json", "print JSON")
    add_option(outputs, "--junit XML", "results for a CI server", type=output_path)
    add_option(outputs, "--envelopes CSV", "the least distance of every pair over time, from below "
               "and from above", type=output_path)  # fmt: skip
    add_option(parser, "--executor dask://HOST:PORT", "verify many motions on this Dask cluster "
               "instead of all processors of this machine", default="")  # fmt: skip
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Verify, print, write files; the exit code is that of the worst verdict."""
    try:
        results, written, model = _verify(options)
    except Exception as error:
        # Exit code 1 means that a motion is unsafe: errors have another code.
        reason = str(error)
        if not isinstance(error, (CollisionMonitorError, OSError)):
            traceback.print_exc()
            reason = "could not be checked: internal error (see above); please report it"
        _report_not_checked(options, reason)
        raise MotionError(reason) from None
    try:
        _print_results(options, model, results, written)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has closed the pipe: `... | head -1`
        discard_output()
    except OSError as error:
        discard_output()
        raise MotionError(f"the verdict cannot be written: {error}") from None
    return max(result.verdict.exit_code for result in results)


def _report_not_checked(options: argparse.Namespace, reason: str) -> None:
    """Report an error that prevents all checks, such as a faulty scene, as JSON and JUnit."""
    source = ", ".join(path.name for path in options.motion)
    result = Verification(source, "", Verdict.NOT_CHECKED, reason=reason)
    if options.json:
        print_json(as_data(result))
    if options.junit and os.path.realpath(options.junit) not in _inputs(options, options.motion):
        with contextlib.suppress(OSError):
            write_text(options.junit, junit([result]))


def _inputs(options: argparse.Namespace, motions: Sequence[Path]) -> dict[str, str]:
    """Real paths of all inputs, with a noun for each."""
    return {
        **{os.path.realpath(path): "motion" for path in motions},
        **files_read(options, _READ),
        **{os.path.realpath(path): "motion beside" for path in _beside_paths(options)},
    }


def _beside_paths(options: argparse.Namespace) -> list[Path]:
    """Files of other motions than the verified ones."""
    measured = [options.measured] if options.measured else []
    return [path for path, _ in (*options.beside, *(options.other_motion or ()), *measured)]


def _verify(options: argparse.Namespace) -> tuple[list[Verification], list[str], CollisionModel]:
    """The result of each motion, messages about written files, and the model."""
    paths = _motions(options.motion)
    if options.report:
        require_report()
    check_outputs(options, ("report", "junit", "envelopes"), _inputs(options, paths))
    check_bag_arguments(options, [*paths, *_beside_paths(options)])
    for option in ("envelopes", "measured"):
        if len(paths) > 1 and getattr(options, option):
            raise MotionError(f"--{option}: requires one motion, but {len(paths)} are given")
    if options.method == "two-level" and (options.envelopes or options.level == "mesh"):
        option = f"--envelopes {options.envelopes}" if options.envelopes else "--level mesh"
        raise MotionError(f"{option}: --method two-level measures no distances over time")
    with LiveProgress(quiet=options.json) as progress:
        progress.update("loading the robot")
        log_compiling()
        model, other = load_cell(options)
        if options.recorded_scene:
            model = _among_recorded(model, paths)
        settings, measured = _settings(options, model, other), _measured(options, model)
        load = _loader(options, model, settings)
        motions, by_path, files = {}, {}, Counter(path.name for path in paths)
        for path in paths:
            name = path.name if files[path.name] == 1 else str(path)
            progress.update(f"reading {name}")
            try:
                motion = load(path)
                motions[path] = replace(motion, source=name + motion.source[len(path.name) :])
            except CollisionMonitorError as error:
                # For several motions, the line begins with the name of the file.
                reason = str(error).removeprefix(f"{path}: " if len(paths) > 1 else "")
                by_path[path] = Verification(name, model.name, Verdict.NOT_CHECKED, reason=reason)
        given = list(motions.values())
        verified = verify_many(model, given, settings, options.executor, progress.update)
        by_path |= zip(motions, verified, strict=True)
        results = [by_path[path] for path in paths]
        if measured is not None and results[0].verdict is not Verdict.NOT_CHECKED:
            if (limits := results[0].limits) is not None:
                measured = measured.beside(limits.joint_names, limits.times, limits.positions)
            differences(results[0], measured)  # raises if there is nothing to compare
            notes = (*results[0].notes, *not_compared(results[0], measured))
            results[0] = replace(results[0], measured=measured, notes=notes)
        if options.report:
            progress.update("writing the report")
        written = _write(options, model, results)
    return results, written, model


def _among_recorded(model: CollisionModel, paths: Sequence[Path]) -> CollisionModel:
    """The model with the obstacles of a single recording."""
    if len(paths) != 1 or paths[0].suffix.lower() != ".mcap":
        raise MotionError(
            f"--recorded-scene: requires one recording (.mcap), got {len(paths)} motions: "
            f"{', '.join(path.name for path in paths[:3])}"
        )
    recorded = recorded_obstacles(paths[0])
    if not recorded["obstacles"]:
        raise MotionError(
            f"--recorded-scene: {paths[0]}: has no obstacles from topics at its first stop"
        )
    return with_recorded(model, recorded)


def _measured(options: argparse.Namespace, model: CollisionModel) -> MeasuredMotion | None:
    """The recording of ``--measured``."""
    if not options.measured:
        return None
    path, begin = options.measured
    kinds = {joint.name: joint.kind for joint in model.robot.joints}
    turning = [name for name, kind in kinds.items() if kind == "continuous"]
    return read_measured(
        path, begin, topic_names(options.topic), options.stamps, turning,
        lambda joint: joint not in kinds,
    )  # fmt: skip


def _motions(given: Sequence[Path]) -> list[Path]:
    """The given files, and those in given folders; a folder can be a bag."""
    paths = []
    for path in given:
        if path.is_dir() and not (path / _BAG).is_file():
            inside = sorted(
                p for p in path.iterdir() if p.suffix.lower() in _SUFFIXES or (p / _BAG).is_file()
            )
            if not inside:
                raise MotionError(f"{path}: no motion is in this folder ({', '.join(_SUFFIXES)})")
            paths += inside
        else:
            paths.append(path)
    return list(dict.fromkeys(paths))


def _settings(options: argparse.Namespace, model: CollisionModel, other: Robot | None) -> Settings:
    """Settings of the verification."""
    thresholds = given_thresholds(options)
    for text in thresholds.without_effect(model.pairs, model.unmonitored_pairs):
        print(f"warning: {text}", file=sys.stderr)
    return Settings(
        thresholds=thresholds,
        limits=joint_limits(model.robot, options.limits, options.soft_limits),
        exact=options.level != "leaf",
        every_pair_exact=options.level == "mesh",
        method=options.method,
        from_rest=not options.recorded,
        torques=_torques(options),
        beside=[
            *(_beside(*motion, options, model.robot, model.scene) for motion in options.beside),
            *(
                _beside(*motion, options, other, None, prefix_of(options))
                for motion in options.other_motion or ()
            ),
        ],
    )


def _torques(options: argparse.Namespace) -> Torques | None:
    """Settings of the torque check, or None if no option asks for it."""
    if not (options.torques or options.drives or options.floating or options.gravity):
        return None
    if options.floating and options.other:
        raise ConfigurationError(
            "--floating supports one robot only; verify each alone, or leave torques out"
        )
    return Torques(
        inertials_of(options),
        read_drives(options.drives) if options.drives else Drives(),
        options.floating,
        options.gravity,
    )


def _beside(
    path: Path,
    start: float,
    options: argparse.Namespace,
    robot: Robot,
    scene: Scene | None,
    prefix: str = "",
) -> SimultaneousMotion:
    """A motion of ``robot`` and its start."""
    joints = [joint.name for joint in robot.joints]  # others move other joints
    # Where the verified motion is a bag, the topics are its own.
    topic = None if any(map(is_bag, _motions(options.motion))) else topic_of(options, path)
    motion = load_trajectory(
        path, robot, topic=topic, stamps=options.stamps,
        ignored=options.ignore, elsewhere=joints, scene=scene,
    )  # fmt: skip
    if prefix:
        motion = prefixed_motion(motion, prefix)
    return SimultaneousMotion(motion, start)


def _loader(
    options: argparse.Namespace, model: CollisionModel, settings: Settings
) -> Callable[[Path], LoadedMotion]:
    """Reads one motion of the robot."""
    held = parse_positions(options.q, model)
    others = [beside.motion for beside in settings.beside]
    moved = frozenset().union(*(motion.named for motion in others))
    if both := sorted(moved & held.keys()):
        raise MotionError(f"--q {both[0]}={held[both[0]]:g}: a simultaneous motion moves it")
    elsewhere = moved.union(*(motion.known for motion in others))

    def load(path: Path) -> LoadedMotion:
        motion = load_trajectory(
            path,
            model.robot,
            topic=topic_of(options, path),
            stamps=options.stamps,
            held=held,
            ignored=options.ignore,
            elsewhere=elsewhere,
            scene=model.scene,
        )
        note = "" if options.recorded_scene else recording_note(path)
        return replace(motion, warnings=(*motion.warnings, note)) if note else motion

    return load


def _write(
    options: argparse.Namespace, model: CollisionModel, results: Sequence[Verification]
) -> list[str]:
    """Write the requested files; returns their names."""
    written: list[str] = []
    if options.report:
        from collision_monitor.viewer.picture import render

        path, *pages = write_reports(options.report, model, results, render)
        beside = f" and {pages[0].name} to {pages[-1].name} beside it" if pages else ""
        written.append(f"{path}{beside}")
    if options.junit:
        write_text(options.junit, junit(results))
        written.append(str(options.junit))
    if options.envelopes and results[0].clearance is not None:
        results[0].clearance.series.write_csv(options.envelopes)
        written.append(str(options.envelopes))
    return written


def _print_results(
    options: argparse.Namespace,
    model: CollisionModel,
    results: Sequence[Verification],
    written: Sequence[str],
) -> None:
    """Print the verdicts."""
    if options.json:
        data = [as_data(result) for result in results]
        print_json(data[0] if len(data) == 1 else data)
        return
    for result in results:
        if len(results) > 1:  # only the first reason
            print(f"{result.source}: {headline(result)}")
            continue
        print(headline(result))
        for v in result.violations[:MOST_NAMED]:
            print(f"  {'warning' if v.warning else 'unsafe ':7s} [{v.code.value}] {sentence(v)}")
        if (more := len(result.violations) - MOST_NAMED) > 0:
            print(f"  and {more} more; --report or --json has them all")
        if result.verdict is not Verdict.NOT_CHECKED:
            print(f"  motion: {result.source}, {time_text(result.duration)}")
        if result.clearance is not None:
            print(f"  nearest: {nearest(result.clearance)}")
        for text in compared(result):
            print(f"  measured: {text}")
        for note in result.notes:
            if note not in model.warnings:  # these are logged
                print(f"  note: {note}")
    if len(results) > 1:
        print(summary(results))
    for what in written:
        print(f"written: {what}")

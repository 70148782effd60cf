# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Command line arguments of robots and scenes, and their model."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from collision_monitor.cli.options import (
    LiveProgress,
    add_flag,
    add_option,
    add_setting,
    check_bag_arguments,
    input_path,
    timed_motion,
    topic_of,
    vector,
)
from collision_monitor.common.compiled import log_compiling
from collision_monitor.common.lazy_imports import optional_dependency
from collision_monitor.common.limits import LoadingLimits
from collision_monitor.common.settings import settings_of, values_of
from collision_monitor.common.text import one_line
from collision_monitor.errors import ConfigurationError, MissingDependencyError, MotionError
from collision_monitor.fitting.shapes import FitSettings
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.loading import Recipe, RobotSource
from collision_monitor.model.thresholds import Thresholds, load_thresholds
from collision_monitor.motion import Motion, read_motion
from collision_monitor.motion.motion_files import MotionFile, open_motion
from collision_monitor.robot.description import Robot
from collision_monitor.robot.scene import Scene, load_scene

if TYPE_CHECKING:
    from collision_monitor.motion.motion_files import LoadedMotion
    from collision_monitor.robot.inertials import Inertial

_ONLY_WITH_OTHER = ("other_srdf", "other_at", "other_prefix", "other_motion")
_ROOT = "root of both robots"  # which is no name of a link in their URDFs

# -- one robot --


def add_robot_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the URDF and ``--package-dir``."""
    parser.add_argument("urdf", help="URDF file of the robot")
    add_option(parser, "--package-dir DIR", "folder that holds packages, at any depth, for "
               "package://; may be given several times", many=True, type=input_path)  # fmt: skip


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the URDF, ``--srdf``, ``--package-dir``, ``--scene`` and options of leaves."""
    add_robot_arguments(parser)
    add_option(parser, "--srdf", "SRDF file; its disabled pairs are not checked", type=input_path)
    of_model = settings_of(Recipe)
    for name in ("visual_meshes", "scene", "leaves"):
        add_setting(parser, of_model[name], "FILE")
    add_flag(parser, "--unchecked-leaves",
             "use the leaves of a file even if they do not enclose the robot")  # fmt: skip
    of_fit = settings_of(FitSettings)
    add_setting(parser, of_fit["max_leaves_per_link"], "N", "--max-leaves")
    add_setting(parser, of_fit["leaf_tolerance"], "METRES")
    add_setting(parser, of_model["fit"], None)
    add_setting(parser, of_model["hierarchy"], "KIND[:SETTINGS]")
    group = parser.add_argument_group("limits of loading")
    for limit in settings_of(LoadingLimits).values():
        add_setting(group, limit, "N" if limit.is_integer else "S")


def add_soft_limits(parser: Any) -> None:
    """Add ``--soft-limits`` to a parser or a group."""
    add_flag(parser, "--soft-limits", "keep the soft position limits (safety_controller) of the "
             "URDF, as MoveIt does")  # fmt: skip


def loading_limits(options: argparse.Namespace) -> LoadingLimits:
    """Limits of loading from the arguments."""
    return LoadingLimits(**values_of(LoadingLimits, vars(options)))


def load_model(options: argparse.Namespace) -> CollisionModel:
    """Load the model of the arguments; progress is shown on standard error."""
    log_compiling()
    with LiveProgress(quiet=getattr(options, "json", False)) as progress:
        progress.update("loading the robot")
        return assembled(options)[0]


def assembled(options: argparse.Namespace) -> tuple[CollisionModel, list[Robot]]:
    """As `load_model`, without progress; also returns each robot with the names of its URDF."""
    robots = [RobotSource(options.urdf, options.srdf or "")]
    if getattr(options, "other", None) is not None:
        place = (*(options.other_at or ()), *[0.0] * 6)[:6]
        srdf = options.other_srdf or ""
        robots.append(RobotSource(options.other, srdf, "", prefix_of(options), place))
    given = values_of(Recipe, vars(options)).items()
    recipe = Recipe(
        tuple(robots),
        tuple(options.package_dir),
        root=_ROOT,
        check_leaves=not options.unchecked_leaves,
        limits=loading_limits(options),
        **_patterns(options),
        **values_of(FitSettings, vars(options)),
        **{name: value for name, value in given if value is not None},
    )
    return recipe.assembled()


def _patterns(options: argparse.Namespace) -> dict[str, tuple[str, ...]]:
    """Pairs that rules of the file of thresholds have checked, or not; empty without a file."""
    if (path := getattr(options, "thresholds", None)) is None:
        return {}
    rules = load_thresholds(path)
    return {"checked": rules.patterns(check=True), "unchecked": rules.patterns(check=False)}


def given_thresholds(
    options: argparse.Namespace, warn: float = 0.0, stop: float = 0.0
) -> Thresholds:
    """Thresholds of ``--warn`` and ``--stop``, of ``--thresholds`` where these are not given.

    ``warn`` and ``stop``: metres, where neither gives them.
    """
    of_file = Thresholds(warn, stop, source="")
    if options.thresholds is not None:
        of_file = load_thresholds(options.thresholds, warn, stop)
    given = {key: getattr(options, key) for key in ("warn", "stop")}
    given = {key: value for key, value in given.items() if value is not None}
    Thresholds(**given, source="options").of(())  # raises, and does not name the file
    sources = filter(None, (*(f"--{key}" for key in given), of_file.source))
    thresholds = replace(of_file, **given, source=" and ".join(sources))
    replace(thresholds, rules=()).of(())  # raises where options and file do not go together
    return thresholds


# -- a second robot --

_place = vector((3, 6), "X,Y,Z in metres, or X,Y,Z,ROLL,PITCH,YAW with radians")


def add_second_robot(parser: argparse.ArgumentParser) -> None:
    """Add ``--other`` and its options."""
    group = parser.add_argument_group("a second robot")
    add_option(group, "--other URDF", "URDF of a robot beside the first", type=input_path)
    add_option(group, "--other-srdf SRDF", "its SRDF", type=input_path)
    add_option(group, "--other-at X,Y,Z[,R,P,Y]", "pose of its root link in the root frame of the "
               "first, metres and radians; write --other-at=-1,0,0 where the first number is "
               "negative (default 0,0,0)", type=_place)  # fmt: skip
    add_option(group, "--other-prefix NAME", "before the names of its links and joints everywhere "
               "but in its own files (default other_)")  # fmt: skip
    add_option(group, "--other-motion MOTION[@START]", "its motion, joints named as in its URDF; "
               "it begins at START seconds; without a motion the robot does not move",
               type=timed_motion, action="append")  # fmt: skip


def prefix_of(options: argparse.Namespace) -> str:
    """Prefix of the names of the second robot."""
    return "other_" if options.other_prefix is None else options.other_prefix


def load_cell(options: argparse.Namespace) -> tuple[CollisionModel, Robot | None]:
    """Load the model of one robot, or of both; also returns the second robot of its URDF.

    Raises:
        ConfigurationError: options of a second robot without one.
        CollisionMonitorError: as `Recipe.load`.
    """
    if options.other is None:
        for name in _ONLY_WITH_OTHER:
            if getattr(options, name) is not None:
                option = f"--{name.replace('_', '-')}"
                raise ConfigurationError(f"{option} requires a second robot: --other URDF")
    model, (_, *others) = assembled(options)
    return model, others[0] if others else None


def prefixed_motion(motion: LoadedMotion, prefix: str) -> LoadedMotion:
    """The motion with the joint names of the composed model."""
    trajectory = replace(
        motion.trajectory,
        joint_names=tuple(prefix + name for name in motion.trajectory.joint_names),
    )
    violations = tuple(replace(v, subject=prefix + v.subject) for v in motion.violations)
    return replace(
        motion,
        trajectory=trajectory,
        violations=violations,
        named=frozenset(prefix + name for name in motion.named),
        known=frozenset(prefix + name for name in motion.known),
    )


def inertials_of(options: argparse.Namespace) -> Mapping[str, Inertial]:
    """Masses of the links of one robot or both."""
    from collision_monitor.robot.inertials import read_inertials

    found: dict[str, Any] = dict(read_inertials(options.urdf))
    if options.other is not None:
        prefix = prefix_of(options)
        found |= {prefix + name: one for name, one in read_inertials(options.other).items()}
    return found


# -- motions to read --


def opened_motions(options: argparse.Namespace, paths: Sequence[str]) -> list[MotionFile]:
    """Files of motions, of which errors are reported before the model is loaded."""
    files = [open_motion(path) for path in paths]
    check_bag_arguments(options, [file.path for file in files])
    return files


def read_motions(
    options: argparse.Namespace,
    files: Sequence[MotionFile],
    model: CollisionModel,
    smooth: bool = False,
) -> list[tuple[Path, Motion]]:
    """The path of each file, and the motion of the model in it; ``smooth``: see `read_motion`."""
    return [
        (file.path, read_motion(
            file, model.robot, topic=topic_of(options, file.path), stamps=options.stamps,
            ignored=options.ignore, scene=model.scene, smooth=smooth,
        )) for file in files
    ]  # fmt: skip


# -- obstacles of topics, from a recording of the monitor --

_NAME, _KEY = "collision_monitor", "scene_at_stop"


def recorded_obstacles(path: Path) -> dict[str, Any]:
    """``obstacles`` and ``ignore`` in the form of a scene file, at the first stop of a recording.

    There are no obstacles if the file is not a recording of the monitor.

    Raises:
        MissingDependencyError: mcap is not installed.
        MotionError: the file cannot be read.
    """
    nothing = {"obstacles": [], "ignore": []}
    if path.suffix.lower() != ".mcap" or not path.is_file():
        return nothing
    with optional_dependency("obstacles of a recording need mcap", "record"):
        from mcap.reader import make_reader
    try:
        with path.open("rb") as stream:
            for found in make_reader(stream).iter_metadata():
                if found.name == _NAME and _KEY in found.metadata:
                    return json.loads(found.metadata[_KEY])
    except Exception as error:  # mcap raises various errors for damaged files
        raise MotionError(f"{path}: its obstacles cannot be read: {one_line(error)}") from None
    return nothing


def recording_note(path: Path) -> str:
    """A note on a recording whose obstacles of topics are not checked; empty if it has none."""
    try:
        count = len(recorded_obstacles(path)["obstacles"])
    except MissingDependencyError as error:
        return f"{path}: unknown whether it has obstacles from topics: {error}"
    except MotionError as error:
        return str(error)
    if not count:
        return ""
    return (
        f"{path}: obstacles from topics at its stop are not checked ({count}); "
        "--recorded-scene includes them"
    )


def with_recorded(model: CollisionModel, recorded: dict[str, Any]) -> CollisionModel:
    """The model with these obstacles added.

    Raises:
        SceneError: an obstacle on an unknown link, or with the name of a link.
        MotionError: an obstacle is already in the scene.
    """
    given = model.scene
    both = {each.name for each in given.obstacles} & {one["name"] for one in recorded["obstacles"]}
    if both:
        raise MotionError(f"{min(both)}: is an obstacle of the scene and of the recording")
    found = load_scene({"obstacles": recorded["obstacles"]}, model.robot)
    known = {*model.robot.links, *(each.name for each in (*given.obstacles, *found.obstacles))}
    ignore = tuple((a, b) for a, b in recorded["ignore"] if {a, b} <= known)
    return model.with_scene(
        Scene(given.obstacles + found.obstacles, given.ignore + ignore, given.joints)
    )

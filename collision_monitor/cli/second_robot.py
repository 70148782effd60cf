# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A second robot on the command line: its URDF, where it stands, and what it does meanwhile."""

from __future__ import annotations

import argparse
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from collision_monitor.cli.model_arguments import make_model
from collision_monitor.errors import ConfigurationError
from collision_monitor.fitting.enclosure import check_enclosing
from collision_monitor.fitting.fit_settings import FitSettings
from collision_monitor.fitting.interior_coverage import check_filling
from collision_monitor.fitting.leaves_file import read_leaves
from collision_monitor.geometry.leaf import Leaf
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.robot.composed import Mounted, compose, compose_semantics
from collision_monitor.robot.description import Robot
from collision_monitor.robot.poses import pose_from_xyz_rpy
from collision_monitor.robot.scene import load_scene
from collision_monitor.robot.srdf import load_srdf
from collision_monitor.robot.urdf.urdf import load_robot

if TYPE_CHECKING:
    from collision_monitor.motion.motion_files import LoadedMotion
    from collision_monitor.robot.urdf.inertials import Inertial

_ONLY_WITH = ("other_srdf", "other_at", "other_prefix", "other_motion")


def _place(text: str) -> tuple[float, ...]:
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if len(values) not in (3, 6) or not all(map(math.isfinite, values)):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not X,Y,Z in metres, or X,Y,Z,ROLL,PITCH,YAW with radians"
        )
    return values


def add_second_robot(parser: argparse.ArgumentParser) -> None:
    """Add ``--other`` and what belongs to it."""
    group = parser.add_argument_group("a second robot")
    group.add_argument("--other", metavar="URDF", help="URDF of a robot beside the first")
    group.add_argument("--other-srdf", metavar="SRDF", help="its SRDF")
    group.add_argument(
        "--other-at", type=_place, metavar="X,Y,Z[,R,P,Y]",
        help="where its root link is in the frame of the first one's, metres and radians; write "
        "--other-at=-1,0,0 where the first number is negative (default 0,0,0)",
    )  # fmt: skip
    group.add_argument(
        "--other-prefix", metavar="NAME",
        help="before the names of its links and joints everywhere but in its own files "
        "(default other_)",
    )  # fmt: skip
    group.add_argument(
        "--other-motion", action="append", metavar="MOTION[@START[..LATEST]]",
        help="its motion, joints named as in its URDF; it begins at START seconds, or at an "
        "unknown instant up to LATEST; without one it stands still",
    )  # fmt: skip


def prefix_of(options: argparse.Namespace) -> str:
    """What stands before the names of the second robot."""
    return "other_" if options.other_prefix is None else options.other_prefix


def load_cell(options: argparse.Namespace) -> tuple[CollisionModel, Robot | None]:
    """The model of one robot, or of both; and the second robot as its URDF has it.

    Raises:
        ConfigurationError: options of a second robot without one.
        CollisionMonitorError: as `CollisionModel.from_urdf` and `compose`.
    """
    if options.other is None:
        for name in _ONLY_WITH:
            if getattr(options, name) is not None:
                option = f"--{name.replace('_', '-')}"
                raise ConfigurationError(f"{option}: of which robot? --other URDF is missing")
        return make_model(options), None
    first = load_robot(options.urdf, options.package_dir, options.visual_meshes)
    other = load_robot(options.other, options.package_dir, options.visual_meshes)
    place = options.other_at or (0.0, 0.0, 0.0)
    parts = [
        Mounted(first, semantics=load_srdf(options.srdf, first) if options.srdf else None),
        Mounted(
            other,
            prefix_of(options),
            pose_from_xyz_rpy(place[:3], place[3:] or None),
            semantics=load_srdf(options.other_srdf, other) if options.other_srdf else None,
        ),
    ]
    root = "cell"
    while root in first.links or root in other.links:
        root += "_"
    robot = compose(parts, f"{first.name} and {other.name}", root)
    scene = load_scene(options.scene, robot, options.package_dir) if options.scene else None
    settings = FitSettings(options.max_leaves, options.leaf_tolerance)
    leaves: Mapping[str, Sequence[Leaf]]
    if options.leaves:
        leaves = read_leaves(options.leaves, robot)
        if not options.unchecked_leaves:
            check_enclosing(robot, leaves)
            check_filling(robot, leaves)
    else:
        leaves = _own_leaves(parts, settings)
    return CollisionModel(robot, compose_semantics(parts), scene, settings, leaves), other


def _own_leaves(parts: Sequence[Mounted], settings: FitSettings) -> dict[str, list[Leaf]]:
    """Those that each robot has by itself: they were fitted before, or will be asked for again."""
    found: dict[str, list[Leaf]] = {}
    log = logging.getLogger(CollisionModel.__module__)
    for part in parts:
        was, log.disabled = log.disabled, True  # the whole says the same once more
        try:
            alone = CollisionModel(part.robot, part.semantics, None, settings)
        finally:
            log.disabled = was
        for leaf in alone.leaves:
            link = part.prefix + leaf.link
            found.setdefault(link, []).append(replace(leaf, link=link))
    return found


def prefixed_motion(motion: LoadedMotion, prefix: str) -> LoadedMotion:
    """The same motion under the names that its joints have in the whole."""
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
    )


def inertials_of(options: argparse.Namespace) -> Mapping[str, Inertial]:
    """Masses of the links of one robot or both."""
    from collision_monitor.robot.urdf.inertials import read_inertials

    found: dict[str, Any] = dict(read_inertials(options.urdf))
    if options.other is not None:
        prefix = prefix_of(options)
        found |= {prefix + name: one for name, one in read_inertials(options.other).items()}
    return found

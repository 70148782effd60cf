# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Arguments by which every command is told of a robot and its scene."""

from __future__ import annotations

import argparse

from collision_monitor.cli.live_progress import LiveProgress
from collision_monitor.common.compile_log import log_compiling
from collision_monitor.fitting.fit_settings import FitSettings
from collision_monitor.model.collision_model import CollisionModel


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the URDF, ``--srdf``, ``--package-dir``, ``--scene`` and what leaves to take."""
    parser.add_argument("urdf", help="URDF file of the robot")
    parser.add_argument("--srdf", help="SRDF file; its disabled pairs are not checked")
    parser.add_argument(
        "--package-dir",
        action="append",
        default=[],
        metavar="DIR",
        help="folder that holds packages, at any depth, for package://; may be given several times",
    )
    parser.add_argument(
        "--visual-meshes",
        action="store_true",
        help="links without collision geometry take their visual one",
    )
    parser.add_argument("--scene", help="scene file (YAML) with obstacles")
    parser.add_argument("--leaves", help="file of leaves (YAML), as fit --output writes it")
    parser.add_argument(
        "--unchecked-leaves",
        action="store_true",
        help="take leaves from a file even where they do not enclose the robot",
    )
    parser.add_argument(
        "--max-leaves",
        type=int,
        default=FitSettings.max_leaves_per_link,
        metavar="N",
        help="leaves of a link at most (default %(default)s)",
    )
    parser.add_argument(
        "--leaf-tolerance",
        type=float,
        default=FitSettings.leaf_tolerance,
        metavar="METRES",
        help="no more leaves are added once they stand off by this in the mean "
        "(default %(default)s)",
    )


def load_model(options: argparse.Namespace) -> CollisionModel:
    """The model that the arguments describe; the terminal shows what is being done."""
    log_compiling()
    with LiveProgress(quiet=getattr(options, "json", False)) as progress:
        progress.told("loading the robot", 0.0)
        with progress.following_log():
            return make_model(options)


def make_model(options: argparse.Namespace) -> CollisionModel:
    """As `load_model`, and shows nothing."""
    return CollisionModel.from_urdf(
        options.urdf,
        srdf=options.srdf,
        package_dirs=options.package_dir,
        scene=options.scene,
        max_leaves_per_link=options.max_leaves,
        leaf_tolerance=options.leaf_tolerance,
        leaves=options.leaves,
        check_leaves=not options.unchecked_leaves,
        visual_meshes=options.visual_meshes,
    )

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Arguments by which every command is told of a robot and its scene."""

from __future__ import annotations

import argparse

from collision_monitor.collision_model import CollisionModel


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the URDF, ``--srdf``, ``--package-dir`` and ``--scene``."""
    parser.add_argument("urdf", help="URDF file of the robot")
    parser.add_argument("--srdf", help="SRDF file; its disabled pairs are not checked")
    parser.add_argument(
        "--package-dir",
        action="append",
        default=[],
        metavar="DIR",
        help="folder in which package:// is looked up; may be given several times",
    )
    parser.add_argument("--scene", help="scene file (YAML) with obstacles")


def load_model(options: argparse.Namespace) -> CollisionModel:
    """The model that the arguments describe."""
    return CollisionModel.from_urdf(
        options.urdf, srdf=options.srdf, package_dirs=options.package_dir, scene=options.scene
    )

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Arguments for motions that are read from ROS 2 bags."""

from __future__ import annotations

import argparse


def add_bag_arguments(parser: argparse._ActionsContainer) -> None:
    """Add ``--topic`` and ``--stamps``."""
    parser.add_argument(
        "--topic", action="append", help="topic of a bag; may be given several times"
    )
    parser.add_argument(
        "--stamps", choices=("header", "receive"), default="header",
        help="times of a bag: those in headers, or of recording (default %(default)s)",
    )  # fmt: skip

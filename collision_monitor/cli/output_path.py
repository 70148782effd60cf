# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Paths of files to write: refused before the work is done, not after it."""

from __future__ import annotations

import argparse
from pathlib import Path


def output_path(text: str) -> Path:
    """Path of a file that may be written: its folder is there, and it is no folder.

    Raises:
        argparse.ArgumentTypeError: it cannot be written, and why.
    """
    path = Path(text)
    if not text or path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is not the path of a file to write")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text}: there is no folder {path.parent}")
    return path


def png_path(text: str) -> Path:
    """Path of a PNG that may be written; raises as `output_path` does."""
    path = output_path(text)
    if path.suffix.lower() != ".png":
        raise argparse.ArgumentTypeError(f"{text}: pictures are PNG, expected a name in .png")
    return path

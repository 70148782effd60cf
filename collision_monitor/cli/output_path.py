# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Paths of files to write: refused before the work is done, not after it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

# -- plain text tables --


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest entry; the first to the left, others to the right."""
    lines = [list(header), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


# -- numbers behind options: what is none is said in words, not by the name of a function --


def option_number(text: str) -> float:
    """The number that ``text`` is; `argparse.ArgumentTypeError` where it is none."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


# -- output that nobody takes any more --


def forget_output() -> None:
    """Send what is still to be written nowhere, or Python fails again on its way out."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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

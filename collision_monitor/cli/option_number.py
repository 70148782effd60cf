# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Numbers behind options: what is none is said in words, not by the name of a function."""

from __future__ import annotations

import argparse


def option_number(text: str) -> float:
    """The number that ``text`` is; `argparse.ArgumentTypeError` where it is none."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None

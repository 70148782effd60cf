# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How far a verification is: what is called with what is being done, and what share of it is."""

from __future__ import annotations

from collections.abc import Callable

Told = Callable[[str, float], None]  # (what is being done, 0 to 1); from any thread, often


def silent(what: str, share: float) -> None:
    """Tell nobody."""

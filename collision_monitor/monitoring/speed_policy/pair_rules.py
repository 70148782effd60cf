# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Per-pair thresholds as lines of text, as in the parameter."""

from __future__ import annotations

from collections.abc import Sequence

from collision_monitor.errors import ThresholdsError
from collision_monitor.model.thresholds import Rule


def rules_of(entries: Sequence[str], source: str = "pair_thresholds") -> tuple[Rule, ...]:
    """Rules out of lines such as ``left_* right_* warn=0.2 stop=0.05``; empty ones are none.

    Raises:
        ThresholdsError: an entry that is not two names and warn, stop or both.
    """
    rules = []
    for entry in entries:
        words = entry.split()
        if not words:
            continue
        found: dict[str, float] = {}
        for word in words[2:]:
            key, equals, text = word.partition("=")
            if not equals or key not in ("warn", "stop") or key in found:
                _refuse(source, entry, f"{word!r} is neither warn=... nor stop=...")
            try:
                found[key] = float(text)
            except ValueError:
                _refuse(source, entry, f"{text!r} is not a number of metres")
        if len(words) < 2 or any("=" in word for word in words[:2]) or not found:
            _refuse(source, entry, "expected two names or patterns, then warn, stop or both")
        rules.append(Rule(" ".join(words[:2]), found.get("warn"), found.get("stop")))
    return tuple(rules)


def _refuse(source: str, entry: str, why: str) -> None:
    raise ThresholdsError(
        f"{source}: {entry!r}: {why}; such as 'left_* right_* warn=0.2 stop=0.05'"
    )

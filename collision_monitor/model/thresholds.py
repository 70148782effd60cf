# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How near pairs of links may come: a warning below one distance, an error below another.

One pair of distances for all, and others for pairs that a pattern names, such as
``left_* right_*``: two patterns as the shell has them, for the two names in either order.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from collision_monitor.common.limits import beyond_reason
from collision_monitor.common.safe_files import read_document
from collision_monitor.errors import SceneError, ThresholdsError
from collision_monitor.model.structural_pairs import StructuralPair
from collision_monitor.robot.yaml_values import Entry

_LARGEST_FILE = 1_000_000  # bytes
_NUMBER = re.compile(r"[-0-9*?\[\]!]+")  # or a pattern of numbers


@dataclass(frozen=True)
class Rule:
    """Thresholds of the pairs that ``pattern`` names, metres; None: as before it."""

    pattern: str
    warn: float | None = None
    stop: float | None = None


@dataclass(frozen=True)
class Thresholds:
    """Distances in metres below which a motion is warned of, or refused.

    Attributes:
        warn: below it is a warning.
        stop: below it is not safe; touching never is.
        rules: for some pairs; a later one counts where two name the same pair.
        source: where they come from, for messages.
    """

    warn: float = 0.0
    stop: float = 0.0
    rules: tuple[Rule, ...] = ()
    source: str = "thresholds"

    def of(
        self,
        pairs: Sequence[tuple[str, str]],
        must_name: bool = True,
        objects: Collection[str] | None = None,
        structural: Mapping[int, StructuralPair] | None = None,
    ) -> np.ndarray:
        """(len(pairs), 2) stop and warn of each pair, metres.

        ``must_name``: whether a rule that names none of them is an error. With ``objects``, the
        names of links, it is none if it may be about objects to come: see `may_be_object`.
        ``structural``: pairs by index that have distances of their own where no rule names them.

        Raises:
            ThresholdsError: a distance that is below 0 or not finite, a pattern that is not two
                names, or names no pair.
        """
        self._check("warn", self.warn)
        self._check("stop", self.stop)
        out = np.tile([float(self.stop), float(self.warn)], (len(pairs), 1))
        for k, pair in (structural or {}).items():
            out[k] = pair.stop, pair.warn
        for k, rule in enumerate(self.rules):
            names = rule.pattern.split() if isinstance(rule.pattern, str) else ()
            if len(names) != 2:
                raise ThresholdsError(
                    f"{self.source}: pairs[{k}].pair: {rule.pattern!r} is not two names or "
                    "patterns, such as 'left_* right_*'"
                )
            hits = [m for m, pair in enumerate(pairs) if _names(names, pair)]
            if not hits and must_name and not _may_be_objects(names, objects):
                hint = "" if objects is None else (
                    ", nor a link and an object such as 'cell/7', 'planning_scene/box' or 'cloud'"
                )
                raise ThresholdsError(
                    f"{self.source}: pairs[{k}].pair: {rule.pattern!r} names none of the "
                    f"{len(pairs)} pairs that are checked{hint}"
                )
            for column, key in enumerate(("stop", "warn")):
                value = getattr(rule, key)
                if value is not None:
                    self._check(f"pairs[{k}].{key}", value)
                    out[hits, column] = value
        out[:, 1] = out.max(axis=1)  # a stop implies a warning
        return out

    def named(self, pairs: Sequence[tuple[str, str]]) -> set[int]:
        """Pairs, by their index, that a rule names."""
        return {
            k for k, pair in enumerate(pairs)
            if any(_names(rule.pattern.split(), pair) for rule in self.rules)
        }  # fmt: skip

    def naming_none(self, pairs: Sequence[tuple[str, str]]) -> list[str]:
        """Patterns of the rules that name none of these pairs."""
        return [
            rule.pattern for rule in self.rules
            if not any(_names(rule.pattern.split(), pair) for pair in pairs)
        ]  # fmt: skip

    def _check(self, key: str, value: object) -> None:
        is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        if not is_number or not np.isfinite(value) or value < 0.0:
            raise ThresholdsError(
                f"{self.source}: {key}: {value!r} is not a distance of 0 m or more"
            )
        if problem := beyond_reason(float(value)):
            raise ThresholdsError(f"{self.source}: {key}: {problem}")


def _names(patterns: Sequence[str], pair: tuple[str, str]) -> bool:
    one, other = patterns
    a, b = pair
    return (fnmatchcase(a, one) and fnmatchcase(b, other)) or (
        fnmatchcase(b, one) and fnmatchcase(a, other)
    )


def may_be_object(pattern: str, links: Collection[str]) -> bool:
    """Whether objects of a live scene may be called so: ``cell/7``, ``planning_scene/box``, cloud.

    ``links``: of one of several robots, ``left/arm``, have a ``/`` as well: what begins as they do
    is an object's only where it may end in a marker's number.
    """
    first, slash, last = pattern.rpartition("/")
    if not slash:
        return pattern == "cloud"
    if _NUMBER.fullmatch(last) or first == "planning_scene":
        return True
    return not any(link.startswith(f"{first}/") for link in links)


def _may_be_objects(patterns: Sequence[str], links: Collection[str] | None) -> bool:
    """Whether two patterns may name an object to come, and beside it another or a link."""
    if links is None:
        return False
    known = [any(fnmatchcase(link, pattern) for link in links) for pattern in patterns]
    new = [may_be_object(pattern, links) for pattern in patterns]
    return (new[0] and (new[1] or known[1])) or (new[1] and known[0])


def load_thresholds(source: str | os.PathLike | Mapping[str, Any]) -> Thresholds:
    """Thresholds from a YAML file, or from a mapping with the same keys.

    ``warn`` and ``stop`` in metres, and a list ``pairs`` of mappings with ``pair`` (two patterns)
    and ``warn``, ``stop`` or both.

    Raises:
        ThresholdsError: no such file, no YAML, an unknown key, a value that is no distance; the
            message starts with the file's name.
    """
    if isinstance(source, Mapping):
        name, data = "thresholds", source
    else:
        name = Path(source).name
        data = read_document(Path(source), ThresholdsError, _LARGEST_FILE, "thresholds")
    try:
        top = Entry(name, {} if data is None else data, ("warn", "stop", "pairs"))
        rules = []
        for k, item in enumerate(top.list("pairs")):
            entry = Entry(f"{name}: pairs[{k}]", item, ("pair", "warn", "stop"))
            if "warn" not in entry and "stop" not in entry:
                entry.fail("pair", "has neither warn nor stop: give one at least")
            rule = Rule(entry.text("pair"), _distance(entry, "warn"), _distance(entry, "stop"))
            rules.append(rule)
        warn, stop = _distance(top, "warn"), _distance(top, "stop")
    except SceneError as problem:
        raise ThresholdsError(str(problem)) from None
    return Thresholds(warn or 0.0, stop or 0.0, tuple(rules), name)


def _distance(entry: Entry, key: str) -> float | None:
    if key not in entry:
        return None
    value = entry.number(key)
    if value < 0.0:
        entry.fail(key, f"{value:g} is not a distance of 0 m or more")
    if problem := beyond_reason(value):
        entry.fail(key, problem)
    return value

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Thresholds of pairs of links: a warning below one distance, an error below another.

There is one pair of thresholds for all, and others for pairs that match a pattern such as
``left_* right_*``: two shell patterns for the two names in either order.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase, translate
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from collision_monitor.common.limits import range_problem
from collision_monitor.common.safe_files import read_document
from collision_monitor.common.text import MOST_NAMED, shortened
from collision_monitor.errors import SceneError, ThresholdsError
from collision_monitor.model.near_by_design import NearPair
from collision_monitor.robot.pairs import UnmonitoredPair
from collision_monitor.robot.yaml_values import Entry

WARN_DISTANCE, STOP_DISTANCE = 0.1, 0.02  # metres, the defaults of a monitor

_WILD = re.compile(r"[*?\[]")
_NUMBER = re.compile(r"[-0-9*?\[\]!]+")  # number or pattern of numbers


@dataclass(frozen=True)
class Rule:
    """Thresholds of the pairs that match ``pattern``, metres; None: unchanged.

    ``check``: whether these pairs are checked at all, whatever other rules say; decided when a
    robot is loaded.
    ``source``: where the rule was given, for messages.
    """

    pattern: str
    warn: float | None = None
    stop: float | None = None
    check: bool = True
    source: str = field(default="", compare=False)


@dataclass(frozen=True)
class Thresholds:
    """Distances in metres below which a warning or an error is raised.

    Attributes:
        warn: distances below it raise a warning; 0: those below ``stop``.
        stop: distances below it are not safe; contact is never safe.
        rules: for some pairs; a later rule overrides an earlier one.
        source: their origin, for messages.
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
        near: Mapping[int, NearPair] | None = None,
        left_out: Sequence[UnmonitoredPair] = (),
    ) -> np.ndarray:
        """Return (len(pairs), 2) stop and warning distance of each pair, metres.

        ``must_name``: whether a rule that matches no pair is an error. With ``objects``, the names
        of links, it is not an error if it may match objects added later: see `may_be_object`.
        ``near``: pairs by index that have their own distances where no rule gives them.
        ``left_out``: pairs that are not checked. A rule that matches only them has no effect (see
        `without_effect`), and is an error if they can be checked: it was not there when the robot
        was loaded.

        Raises:
            ThresholdsError: a distance is below 0 or not finite, ``stop`` is above ``warn``, or a
                pattern is not two names or matches no pair.
        """
        _check(f"{self.source}: warn", self.warn)
        _check(f"{self.source}: stop", self.stop)
        if 0.0 < self.warn < self.stop:
            raise ThresholdsError(
                f"{self.source}: stop {self.stop:g} is above warn {self.warn:g}: nothing would be "
                "warned of"
            )
        out = np.tile([float(self.stop), float(self.warn)], (len(pairs), 1))
        for k, pair in (near or {}).items():
            out[k] = pair.stop, pair.warn
        matches, left = PairNames(pairs), PairNames(left_out)
        for k, rule in enumerate(self.rules):
            names, where = two_names(rule.pattern), self._where(k)
            if names is None:
                raise ThresholdsError(f"{where}.pair: {rule.pattern!r} {NOT_TWO_NAMES}")
            hits = matches.indices(names)
            if not hits.size and must_name and not (rule.check and _may_be_objects(names, objects)):
                named = left.of(names)
                back = [pair for pair in named if pair.can_be_checked and rule.check]
                for a, b, reason in back:
                    raise ThresholdsError(
                        f"{where}.pair: {rule.pattern!r} names a pair that is left out, {a} - {b}: "
                        f"{reason}; to have it checked, give the rule when the robot is loaded: to "
                        "the node when it starts, or as checked= to CollisionModel.from_urdf"
                    )
                if named:
                    continue
                hint = "" if objects is None or not rule.check else (
                    ", nor a link and an object such as 'cell/7', 'planning_scene/box' or 'cloud'"
                )
                raise ThresholdsError(
                    f"{where}.pair: {rule.pattern!r} matches none of the {len(pairs)} pairs that "
                    f"are checked{hint}"
                )
            for column, key in enumerate(("stop", "warn")):
                value = getattr(rule, key)
                if value is not None:
                    _check(f"{where}.{key}", value)
                    out[hits, column] = value
        out[:, 1] = out.max(axis=1)  # a stop implies a warning
        return out

    def named(self, pairs: Sequence[tuple[str, str]], key: str = "pattern") -> set[int]:
        """Return the indices of pairs that a rule matches, with ``key`` ``warn`` or ``stop``."""
        rules = [rule for rule in self.rules if rule.check and getattr(rule, key) is not None]
        matches = PairNames(pairs)
        return {int(k) for rule in rules for k in matches.indices(rule.pattern.split())}

    def without_rules(
        self, pairs: Mapping[int, NearPair], limits: np.ndarray
    ) -> dict[int, NearPair]:
        """Return pairs near by design, by index, with their ``limits`` of `of`.

        Pairs with rules for both distances are not among them.
        """
        links = [pair.links for pair in pairs.values()]
        ruled = self.named(links, "stop") & self.named(links, "warn")
        return {
            k: replace(pair, stop=float(limits[k, 0]), warn=float(limits[k, 1]))
            for n, (k, pair) in enumerate(pairs.items()) if n not in ruled
        }  # fmt: skip

    def naming_none(self, pairs: Sequence[tuple[str, str]]) -> list[str]:
        """Return the patterns of rules that match none of these pairs."""
        matches = PairNames(pairs)
        return [rule.pattern for rule in self.rules if not matches.of(rule.pattern.split())]

    def without_effect(
        self, pairs: Sequence[tuple[str, str]], left_out: Sequence[UnmonitoredPair]
    ) -> list[str]:
        """Return messages on rules that match none of ``pairs``, but pairs left out, by reason.

        And on rules with ``check: false`` that match pairs which are checked nevertheless.
        """
        by_reason: dict[str, list[str]] = {}
        checked = []
        matches, left = PairNames(pairs), PairNames(left_out)
        for rule in self.rules:
            names = rule.pattern.split()
            hits = matches.of(names)
            if not rule.check:
                checked += [f"{a} - {b}" for a, b in hits]
            elif not hits:
                reasons = (pair.reason for pair in left.of(names))
                for reason in dict.fromkeys(reasons):
                    by_reason.setdefault(reason, []).append(repr(rule.pattern))
        messages = [
            f"thresholds of {shortened(patterns, MOST_NAMED)} have no effect on pairs that are "
            f"not checked: {reason}"
            for reason, patterns in by_reason.items()
        ]
        if checked:
            messages.append(
                f"checked in spite of a rule with check: false: {shortened(checked, MOST_NAMED)}; "
                "the SRDF enables the pair, or the robot was loaded without the rule"
            )
        return messages

    def check_left_out(self, left_out: Sequence[UnmonitoredPair]) -> None:
        """Raise ThresholdsError if a pair is left out by a rule that is not among these."""
        ruled = [(pair.link_a, pair.link_b) for pair in left_out if pair.by_rule]
        kept = excluded_by([two_names(text) for text in self.patterns(check=False)], ruled)
        for a, b in ruled:
            if (a, b) not in kept:
                raise ThresholdsError(
                    f"{self.source}: no rule with check: false for {a} - {b}, which was left out "
                    "by one when the robot was loaded: restart the node without the rule to have "
                    "the pair checked"
                )

    def patterns(self, check: bool) -> tuple[str, ...]:
        """Return the patterns of rules with or without ``check``, for loading a robot."""
        return tuple(rule.pattern for rule in self.rules if rule.check is check)

    def _where(self, rule: int) -> str:
        return self.rules[rule].source or f"{self.source}: pairs[{rule}]"


NOT_TWO_NAMES = "is not two names or patterns, such as 'left_* right_*'"


def two_names(pattern: object) -> tuple[str, str] | None:
    """The two names or shell patterns of a rule; None if it is something else."""
    words = pattern.split() if isinstance(pattern, str) else ()
    return (words[0], words[1]) if len(words) == 2 else None


def pattern_of(pair: tuple[str, str]) -> str:
    """The pattern of a rule for a pair: spaces and special characters in names become ``?``."""
    return " ".join(re.sub(r"[\s\[*]", "?", name) for name in pair)


def _check(where: str, value: object) -> None:
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not is_number or not np.isfinite(value) or value < 0.0:
        raise ThresholdsError(f"{where}: {value!r} is not a distance of 0 m or more")
    if problem := range_problem(float(value)):
        raise ThresholdsError(f"{where}: {problem}")


@lru_cache(maxsize=4096)
def _matcher(pattern: str) -> Callable[[str], object]:
    """A function of a name: whether a shell pattern matches it. Compiling one takes 0.1 ms."""
    return re.compile(translate(pattern)).match if _WILD.search(pattern) else pattern.__eq__


class PairNames:
    """Which pairs two patterns match: each pattern is compared once with each name."""

    def __init__(self, pairs: Iterable[Any]) -> None:
        """``pairs``: each begins with two names."""
        self._pairs = list(pairs)
        self._masks: dict[str, np.ndarray] = {}

    @cached_property
    def _ends(self) -> tuple[list[str], np.ndarray]:
        """All names, and (2, pairs) the numbers of both of each pair; without patterns unused."""
        numbers: dict[str, int] = {}
        ends = [
            [numbers.setdefault(name, len(numbers)) for name in tuple(pair)[:2]]
            for pair in self._pairs
        ]
        return list(numbers), np.array(ends, dtype=np.intp).reshape(-1, 2).T

    def indices(self, patterns: Sequence[str]) -> np.ndarray:
        """Indices of the pairs that two patterns match, in either order."""
        one, other = map(self._mask, patterns)
        a, b = self._ends[1]
        return np.flatnonzero((one[a] & other[b]) | (one[b] & other[a]))

    def of(self, patterns: Sequence[str]) -> list[Any]:
        """The pairs that two patterns match."""
        return [self._pairs[k] for k in self.indices(patterns)]

    def _mask(self, pattern: str) -> np.ndarray:
        if pattern not in self._masks:
            names, _ = self._ends
            hits = map(_matcher(pattern), names)
            self._masks[pattern] = np.fromiter(map(bool, hits), bool, len(names))
        return self._masks[pattern]


def brought_back(
    patterns: Sequence[tuple[str, str]],
    pairs: Sequence[tuple[str, str]],
    left_out: Sequence[tuple[str, str]],
) -> set[tuple[str, str]]:
    """Return those of ``left_out`` that are to be checked.

    A pattern of two names that matches one of ``pairs`` is about these, and brings nothing back.
    """
    matches, left = PairNames(pairs), PairNames(left_out)
    alone = [names for names in patterns if not matches.of(names)]
    return {pair for names in alone for pair in left.of(names)}


def excluded_by(
    patterns: Sequence[tuple[str, str]], pairs: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], str]:
    """Return those of ``pairs`` that are not to be checked, and the first pattern of each."""
    patterns_of: dict[int, str] = {}
    matches = PairNames(pairs if patterns else ())
    for names in patterns:
        for pair in matches.indices(names):
            patterns_of.setdefault(int(pair), " ".join(names))
    return {pairs[pair]: patterns_of[pair] for pair in sorted(patterns_of)}


def mixed_rules(
    patterns: Sequence[tuple[str, str]],
    pairs: Sequence[tuple[str, str]],
    by_design: Sequence[tuple[str, str]],
) -> list[str]:
    """Return warnings on patterns that match ``pairs``, and so leave pairs ``by_design`` out.

    The pattern ``* *`` is about all pairs, and not warned of.
    """
    warnings = []
    matches, left_out = PairNames(pairs), PairNames(by_design)
    for names in dict.fromkeys(patterns):
        missed = [f"{a} - {b}" for a, b in left_out.of(names)]
        if not missed or names == ("*", "*") or not matches.of(names):
            continue
        warnings.append(
            f"the rule {' '.join(names)!r} matches pairs that are checked anyway, so pairs left "
            f"out by design stay unchecked: {shortened(missed, MOST_NAMED)}; to have one checked, "
            "name it in a rule of its own"
        )
    return warnings


def may_be_object(pattern: str, links: Collection[str]) -> bool:
    """Whether a pattern may match live objects: ``cell/7``, ``planning_scene/box``, cloud.

    ``links``: names of links of one of several robots, such as ``left/arm``, contain a ``/`` as
    well. A pattern that begins like one of them matches an object only if it can end in the number
    of a marker.
    """
    first, slash, last = pattern.rpartition("/")
    if not slash:
        return pattern == "cloud"
    if _NUMBER.fullmatch(last) or first == "planning_scene":
        return True
    return not any(link.startswith(f"{first}/") for link in links)


def _may_be_objects(patterns: Sequence[str], links: Collection[str] | None) -> bool:
    """Whether two patterns may match an object added later, and another object or a link."""
    if links is None:
        return False
    known = [any(fnmatchcase(link, pattern) for link in links) for pattern in patterns]
    new = [may_be_object(pattern, links) for pattern in patterns]
    return (new[0] and (new[1] or known[1])) or (new[1] and known[0])


def load_thresholds(
    source: str | os.PathLike | Mapping[str, Any], warn: float = 0.0, stop: float = 0.0
) -> Thresholds:
    """Return thresholds from a YAML file, or from a mapping with the same keys.

    ``warn`` and ``stop`` in metres, and a list ``pairs`` of mappings with ``pair`` (two patterns)
    and ``warn``, ``stop`` or both, or ``check``: false for pairs that are not to be checked, true
    for a pair that is otherwise left out.

    Args:
        source: path of the file, or the mapping.
        warn: warning distance, metres, if it gives none.
        stop: stop distance, metres, if it gives none.

    Raises:
        ThresholdsError: the file does not exist or is not YAML, a key is unknown, or a value is not
            a distance; the message starts with the name of the file.
    """
    if isinstance(source, Mapping):
        name, data = "thresholds", source
    else:
        name = Path(source).name
        data = read_document(Path(source), ThresholdsError, "thresholds")
    try:
        top = Entry(name, {} if data is None else data, ("warn", "stop", "pairs"))
        rules = []
        for index, item in enumerate(top.list("pairs")):
            entry = Entry(f"{name}: pairs[{index}]", item, ("pair", "warn", "stop", "check"))
            has_distance = "warn" in entry or "stop" in entry
            if not has_distance and "check" not in entry:
                entry.fail("pair", "has neither warn nor stop nor check: give at least one")
            pattern = entry.text("pair")
            if two_names(pattern) is None:
                entry.fail("pair", f"{pattern!r} {NOT_TWO_NAMES}")
            distances = _distance(entry, "warn"), _distance(entry, "stop")
            check = entry.flag("check", default=True)
            if has_distance and not check:
                entry.fail("check", "a pair that is not checked has neither warn nor stop")
            rules.append(Rule(pattern, *distances, check, f"{name}: pairs[{index}]"))
        given = {key: _distance(top, key) for key in ("warn", "stop") if key in top}
    except SceneError as problem:
        raise ThresholdsError(str(problem)) from None
    return replace(Thresholds(warn, stop, tuple(rules), name), **given)


def _distance(entry: Entry, key: str) -> float | None:
    if key not in entry:
        return None
    value = entry.number(key)
    if value < 0.0:
        entry.fail(key, f"{value:g} is not a distance of 0 m or more")
    if problem := range_problem(value):
        entry.fail(key, problem)
    return value

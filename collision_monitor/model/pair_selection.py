# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Which pairs of links a model checks, by the robot, its SRDF, the scene and rules."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence

from collision_monitor.common.limits import check_count, check_time
from collision_monitor.common.text import MOST_NAMED, shortened
from collision_monitor.errors import ConfigurationError
from collision_monitor.model.placed_leaves import PlacedLeaves
from collision_monitor.model.thresholds import (
    NOT_TWO_NAMES,
    Rule,
    Thresholds,
    brought_back,
    excluded_by,
    may_be_object,
    mixed_rules,
    two_names,
)
from collision_monitor.robot.bodies import Bodies
from collision_monitor.robot.description import Robot
from collision_monitor.robot.pairs import (
    NEIGHBOURS,
    UnmonitoredPair,
    count_pairs,
    omitted_pairs,
    select_pairs,
)
from collision_monitor.robot.scene import Scene
from collision_monitor.robot.srdf import Semantics

logger = logging.getLogger(__name__)


class PairRules:
    """The entries ``checked`` and ``unchecked`` of `CollisionModel.from_urdf`.

    Attributes:
        checked, unchecked: patterns of two names each.
    """

    def __init__(self, checked: Sequence[str], unchecked: Sequence[str]) -> None:
        """Raises ConfigurationError: an entry is not two names or patterns."""
        self.checked = _patterns("checked", checked)
        self.unchecked = _patterns("unchecked", unchecked)

    def without_pair(
        self, pairs: Sequence[tuple[str, str]], link_names: Sequence[str]
    ) -> list[str]:
        """Warnings on patterns that match none of ``pairs``, nor objects that may come."""
        warnings = []
        for what, patterns in (("checked", self.checked), ("unchecked", self.unchecked)):
            rules = tuple(Rule(" ".join(names)) for names in patterns)
            for pattern in Thresholds(rules=rules).naming_none(pairs):
                objects = (may_be_object(name, link_names) for name in pattern.split())
                if what == "unchecked" or not any(objects):
                    warnings.append(f"{what}: {pattern!r} matches no pair")
        return warnings


def _patterns(what: str, entries: Sequence[str]) -> list[tuple[str, str]]:
    names = [two_names(pattern) for pattern in entries]
    if None in names:
        raise ConfigurationError(f"{what}: {entries[names.index(None)]!r} {NOT_TWO_NAMES}")
    return names


class PairSelection:
    """The pairs of one robot and scene.

    Attributes:
        pairs: pairs that are checked.
        unmonitored: pairs that are not, with reasons.
    """

    def __init__(
        self, robot: Robot, bodies: Bodies, semantics: Semantics, scene: Scene,
        placed: PlacedLeaves, rules: PairRules,
    ) -> None:  # fmt: skip
        """List pairs regardless of their shapes."""
        self._name, self._semantics, self._rules, self._placed = (
            robot.name, semantics, rules, placed
        )  # fmt: skip
        self._omitted = omitted_pairs(robot, bodies, semantics, scene)
        self._select()

    def _select(self, restored: Collection[tuple[str, str]] = ()) -> None:
        """``restored``: neighbours that are checked."""
        placed, left_out = self._placed, dict(self._omitted)
        obstacles = set(placed.obstacle_names)
        links = [name for name in placed.link_names if name not in obstacles]
        for pair in restored:
            del left_out[frozenset(pair)]
        # Check the number of pairs before listing them: there may be millions.
        where = f"robot {self._name!r} and its scene"
        least = count_pairs([*links, *placed.obstacle_names], placed.body_of) - len(left_out)
        check_count("max_pairs", least, where)
        check_time("selecting pairs")
        pairs, unmonitored = select_pairs(links, placed.obstacle_names, placed.body_of, left_out)
        check_count("max_pairs", len(pairs), where)
        excluded = excluded_by(self._rules.unchecked, pairs)
        for a, b in list(excluded):
            if frozenset((a, b)) in self._semantics.enabled:
                del excluded[a, b]
        unmonitored += [
            UnmonitoredPair(a, b, f"not checked by the rule {pattern!r}", by_rule=True)
            for (a, b), pattern in excluded.items()
        ]
        self.pairs: list[tuple[str, str]] = [pair for pair in pairs if pair not in excluded]
        self.unmonitored: list[UnmonitoredPair] = unmonitored

    def leave_out(self, by_design: Mapping[tuple[str, str], str], level: int) -> list[str]:
        """Omit pairs that overlap ``by_design``, with reasons; restore those to be checked.

        Those and neighbours over one joint are checked if the SRDF enables them, or ``checked``
        names them; see `left_out_pairs` and `brought_back`. ``level``: of what is logged. Returns
        warnings.
        """
        left_out = {pair: by_design[pair] for pair in self.pairs if pair in by_design}
        others = [pair for pair in self.pairs if pair not in left_out]
        left_out |= {(a, b): reason for a, b, reason in self.unmonitored if reason == NEIGHBOURS}
        enabled = {pair for pair in left_out if frozenset(pair) in self._semantics.enabled}
        by_rule = [(p.link_a, p.link_b) for p in self.unmonitored if p.by_rule]
        others += [*enabled, *by_rule]  # a pattern is about these, whether they are checked or not
        unchecked = excluded_by(self._rules.unchecked, list(left_out))
        ruled = brought_back(
            self._rules.checked, others,
            [pair for pair in left_out if pair not in enabled and pair not in unchecked],
        )  # fmt: skip
        for who, pairs in (("the SRDF", enabled), ("a rule", ruled)):
            for a, b in sorted(pairs):
                reason = left_out.pop((a, b))
                logger.log(level, "monitored by %s: '%s' and '%s', although %s", who, a, b, reason)
        if restored := (enabled | ruled).difference(self.pairs):
            self._select(restored)
        omitted = {pair: why for pair, why in left_out.items() if pair in by_design}
        for (a, b), reason in omitted.items():
            self.unmonitored.append(UnmonitoredPair(a, b, reason, by_design=True))
        self.pairs = [pair for pair in self.pairs if pair not in omitted]
        warnings = mixed_rules(self._rules.checked, others, list(omitted))
        if by_rule:
            names = shortened([f"{a} - {b}" for a, b in by_rule], MOST_NAMED)
            warnings.append(f"not checked because a rule has check: false: {names}")
        return warnings

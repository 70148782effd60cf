# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Selection of the pairs of links that are checked.

Every pair that is left out has a recorded reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from collision_monitor.robot.bodies import Bodies
from collision_monitor.robot.description import Robot
from collision_monitor.robot.scene import Scene
from collision_monitor.robot.srdf import Semantics

RIGID = "rigidly joined"
NEIGHBOURS = "neighbours over one joint"
MAY_COLLIDE = "they may also collide elsewhere"


@dataclass(frozen=True)
class UnmonitoredPair:
    """A pair of links that is not checked, and the reason.

    ``by_design``: whether the reason is that shapes overlap by design. ``by_rule``: whether a rule
    of the thresholds leaves the pair out.
    """

    link_a: str
    link_b: str
    reason: str
    by_design: bool = False
    by_rule: bool = False

    @property
    def can_be_checked(self) -> bool:
        """Whether a rule or an SRDF can have the pair checked: by design, or over one joint."""
        return self.by_design or self.reason == NEIGHBOURS

    def __iter__(self) -> Iterator[str]:
        """Unpack as link_a, link_b, reason."""
        return iter((self.link_a, self.link_b, self.reason))


def _nearest_with_shapes(robot: Robot, start: str, fixed: dict[str, list[str]]) -> set[str]:
    """``start``, or the links beyond it if it is a bare frame without a shape."""
    nearest, seen, waiting = set(), {start}, [start]
    while waiting:
        name = waiting.pop()
        if robot.links[name].shapes:
            nearest.add(name)
            continue
        for other in fixed[name]:
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return nearest


def neighbours(robot: Robot, bodies: Bodies) -> set[frozenset[str]]:
    """Pairs of links over one moving joint, with nothing but bare frames between them.

    A link further along the same rigid body is not a neighbour: a screen fixed
    to a torso can be hit by the arm whose first link the torso carries. Nor is a link of another
    robot that stands on the same bare frame.
    """
    fixed: dict[str, list[str]] = {name: [] for name in robot.links}
    for joint in robot.joints:
        if bodies.link_bodies[joint.parent] == bodies.link_bodies[joint.child]:
            if joint.name not in robot.mounts:
                fixed[joint.parent].append(joint.child)
            fixed[joint.child].append(joint.parent)
    pairs = set()
    for joint in robot.joints:
        if bodies.link_bodies[joint.parent] == bodies.link_bodies[joint.child]:
            continue
        for a in _nearest_with_shapes(robot, joint.parent, fixed):
            for b in _nearest_with_shapes(robot, joint.child, fixed):
                pairs.add(frozenset((a, b)))
    return pairs


def omitted_pairs(
    robot: Robot, bodies: Bodies, semantics: Semantics, scene: Scene
) -> dict[frozenset[str], str]:
    """Pairs of links or obstacles that are omitted regardless of their shapes, with the reason.

    Pairs disabled by the SRDF, pairs ignored by the scene, and neighbours over one joint. The first
    reason counts: a rule can only overrule the last. Links of one rigid body are not listed.
    """
    omitted = {}
    for pair, reason in semantics.disabled.items():
        text = f": {reason}" if reason else ""
        omitted[pair] = f"disabled in the SRDF{text}"
    for a, b in scene.ignore:
        omitted.setdefault(frozenset((a, b)), "ignored by the scene")
    for pair in neighbours(robot, bodies):
        omitted.setdefault(pair, NEIGHBOURS)
    return omitted


def _candidates(links: Sequence[str], obstacles: Sequence[str], body_of: dict[str, int]):
    """Pairs that could be checked; obstacles on the base are many, and never a pair."""
    yield from combinations(links, 2)
    yield from product(links, obstacles)
    carried = [name for name in obstacles if body_of[name] != 0]
    rank = {name: k for k, name in enumerate(obstacles)}
    for a in carried:
        for b in obstacles:
            if body_of[b] == 0 or rank[a] < rank[b]:
                yield a, b


def count_pairs(names: Iterable[str], body_of: dict[str, int]) -> int:
    """Number of the pairs that `select_pairs` has to decide on, without rigidly joined ones."""
    counts = Counter(body_of[name] for name in names).values()
    return (sum(counts) ** 2 - sum(count * count for count in counts)) // 2


def select_pairs(
    links: Sequence[str],
    obstacles: Sequence[str],
    body_of: dict[str, int],
    left_out: dict[frozenset[str], str],
) -> tuple[list[tuple[str, str]], list[UnmonitoredPair]]:
    """Split the pairs of links and obstacles into those to check and those left out.

    Args:
        links: links that carry leaves.
        obstacles: names of the scene's obstacles.
        body_of: rigid body of each; two names on one body are never a pair.
        left_out: reasons for further pairs.
    """
    checked, unmonitored = [], []
    for a, b in _candidates(links, obstacles, body_of):
        reason = RIGID if body_of[a] == body_of[b] else left_out.get(frozenset((a, b)))
        if reason is None:
            checked.append((a, b))
        else:
            unmonitored.append(UnmonitoredPair(a, b, reason))
    return checked, unmonitored


def by_reason(pairs: Sequence[UnmonitoredPair]) -> dict[str, list[tuple[str, str]]]:
    """Pairs left out, grouped by their reason."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for a, b, reason in pairs:
        groups.setdefault(reason, []).append((a, b))
    return groups


def may_also_collide(pairs: Sequence[UnmonitoredPair]) -> list[tuple[str, str]]:
    """Pairs left out because they overlap, which are deeper in each other elsewhere."""
    return [(a, b) for a, b, reason in pairs if MAY_COLLIDE in reason]

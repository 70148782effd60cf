# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Two links and the joints between them, ready for the kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collision_monitor.acm.chain import Chain, place_chain
from collision_monitor.acm.link_geometry import LinkGeometry
from collision_monitor.hierarchy.packed import PRISMATIC, REVOLUTE
from collision_monitor.robot.bodies import Bodies


@dataclass(frozen=True, eq=False)
class LinkPair:
    """Two links, the joints between them and the ranges of these.

    Attributes:
        links: names of A and B.
        columns: (c,) entries of q that move the links against each other.
        low: (c,) and
        high: (c,) limits, radians or metres.
    """

    links: tuple[str, str]
    columns: np.ndarray
    low: np.ndarray
    high: np.ndarray
    chain: Chain
    geometries: tuple[LinkGeometry, LinkGeometry]

    def guess(self) -> np.ndarray:
        """Room for the nearest triangles of a query, none yet."""
        pieces = len(self.chain.pieces_a) * len(self.chain.pieces_b)
        return np.full((pieces, 2), -1, dtype=np.int64)

    def one_holds_the_other(self, values: np.ndarray) -> bool:
        """Whether a part of one link is inside the other at ``values`` (c,) of the columns."""
        poses = np.empty((2, 12))
        place_chain(self.chain, values, np.empty((len(self.chain.joints), 6)), poses)
        rotations, shifts = poses[:, :9].reshape(2, 3, 3), poses[:, 9:]
        for outer, inner in ((0, 1), (1, 0)):
            probes = self.geometries[inner].inside.probes @ rotations[inner].T + shifts[inner]
            local = (probes - shifts[outer]) @ rotations[outer]
            if self.geometries[outer].inside.holds_any(local):
                return True
        return False

    def complete(self, values: np.ndarray, default: np.ndarray) -> np.ndarray:
        """The configuration (nq,) with ``values`` (c,), all other joints as in ``default``."""
        q = np.array(default, dtype=float)
        q[self.columns] = values
        return q


def _to_base(bodies: Bodies, body: int) -> list[int]:
    """Joints that carry a body, the nearest first."""
    found = []
    while body > 0:
        found.append(body - 1)
        body = int(bodies.parents[body - 1])
    return found


def between(bodies: Bodies, body_a: int, body_b: int) -> tuple[list[int], list[int]]:
    """Joints from body A down to the body that carries both, and from there to B."""
    up, down = _to_base(bodies, body_a), _to_base(bodies, body_b)
    while up and down and up[-1] == down[-1]:
        up.pop()
        down.pop()
    return up, down[::-1]


def _swept(ends: np.ndarray, radius: float, turns: bool) -> tuple[np.ndarray, float]:
    """A leaf (6,) and its radius, swept about the z axis if its body ``turns`` about it."""
    if not turns:
        return ends, radius
    away = max(np.hypot(ends[0], ends[1]), np.hypot(ends[3], ends[4]))
    return np.array([0.0, 0.0, ends[2], 0.0, 0.0, ends[5]]), radius + away


def link_pair(
    bodies: Bodies,
    links: tuple[str, str],
    geometries: tuple[LinkGeometry, LinkGeometry],
) -> LinkPair:
    """Gather two links of different bodies, in the order of ``links``."""
    up, down = between(bodies, *(bodies.link_bodies[link] for link in links))
    joints = [*up, *down]
    columns = sorted({int(bodies.columns[k]) for k in joints})
    local = {column: c for c, column in enumerate(columns)}
    a, b = geometries
    swept = np.array(
        [bool(up) and not bodies.slides[up[0]], bool(down) and not bodies.slides[down[-1]]]
    )
    ends = np.concatenate([a.ends, b.ends])
    radii = np.concatenate([a.radii, b.radii])
    whose = np.repeat([0, 1], [len(a.ends), len(b.ends)])
    around = [
        _swept(row, radius, swept[k]) for row, radius, k in zip(ends, radii, whose, strict=True)
    ]
    chain = Chain(
        joints=np.array(
            [
                [PRISMATIC if bodies.slides[k] else REVOLUTE, local[int(bodies.columns[k])]]
                for k in joints
            ],
            dtype=np.int64,
        ).reshape(-1, 2),
        motion=np.array([[bodies.gains[k], bodies.offsets[k]] for k in joints]),
        placements=np.array(
            [[*bodies.placements[k][:3, :3].ravel(), *bodies.placements[k][:3, 3]] for k in joints]
        ),
        ends=np.concatenate([ends, [row for row, _ in around]]),
        radii=np.concatenate([radii, [radius for _, radius in around]])[:, None],
        hull_a=a.hull,
        hull_b=b.hull,
        thick=np.array([a.thick, b.thick]),
        numbers_a=a.numbers,
        index_a=a.index,
        pieces_a=a.pieces,
        skins_a=a.skins,
        numbers_b=b.numbers,
        index_b=b.index,
        pieces_b=b.pieces,
        skins_b=b.skins,
        swept=swept,
        up=len(up),
        leaves=len(a.ends),
        rows=len(ends),
    )
    low = np.array([bodies.joints[column].lower for column in columns])
    high = np.array([bodies.joints[column].upper for column in columns])
    return LinkPair(links, np.array(columns), low, high, chain, geometries)

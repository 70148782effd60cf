# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Whether an adjusted motion makes links of one arm touch that did not touch before."""

from __future__ import annotations

import numpy as np

from collision_monitor.model.mesh_contacts import meeting_shares
from collision_monitor.model.proximity import Proximity
from collision_monitor.robot.bodies import link_poses
from collision_monitor.self_collision.margins import sides
from collision_monitor.self_collision.problem import Problem


class _Forgetful:
    """A store that keeps nothing: no motion comes twice."""

    def __enter__(self) -> _Forgetful:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def get(self, key: str) -> None:
        """Nothing is known."""

    def set(self, key: str, value: object) -> None:
        """Nothing is kept."""


def own_contacts(problem: Problem, proximity: Proximity, adjusted: np.ndarray) -> list[int]:
    """Pairs inside one arm whose meshes meet in more rows of ``adjusted`` (n, nq) than desired.

    Decided by the meshes, because leaves of links next but one to each other overlap in many
    harmless poses; and at the rows alone, which are close together where it matters.

    Raises:
        MissingDependencyError: the library coal is not installed, and leaves do overlap.
    """
    model = problem.model
    inside = sides(model, problem.arms).inside & (problem.margins.safe > -np.inf)
    asked = np.where(inside, 0.0, -np.inf)
    rows: dict[int, list[int]] = {}
    for k, q in enumerate(adjusted):
        for pair in proximity.near(q, asked, 0.0).pairs:
            rows.setdefault(int(pair), []).append(k)
    carried = {obstacle.name: obstacle.link for obstacle in model.scene.obstacles}
    return [
        pair
        for pair, places in rows.items()
        if _meetings(problem, carried, pair, adjusted[places])
        > _meetings(problem, carried, pair, problem.desired[places])
    ]


def _meetings(problem: Problem, carried: dict[str, str], pair: int, rows: np.ndarray) -> float:
    """Part of ``rows`` in which the meshes of a pair meet."""
    model = problem.model
    names = model.pairs[pair]
    links = {link for name in names for link in (carried.get(name, name),)}
    poses = link_poses(model.bodies, sorted(links), rows)
    shares = meeting_shares(
        model.robot, poses, [names], 0.0, model.scene.obstacles, store=_Forgetful()
    )
    return float(shares[0])

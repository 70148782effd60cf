# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""One object of a live scene, and how many there may be."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from collision_monitor.robot.description import Shape


@dataclass(frozen=True)
class Bounds:
    """How much a live scene has room for; what does not fit is an error, never left out.

    Attributes:
        objects: of them at once.
        leaves_per_object: capsules and spheres around one of one shape, at most.
        voxels: of a point cloud.
        carried: objects on links that move.
        carried_leaves: of all of these together.
    """

    objects: int = 200
    leaves_per_object: int = 16
    voxels: int = 2000
    carried: int = 16
    carried_leaves: int = 256


@dataclass(eq=False)
class LiveObject:
    """An object as the scene holds it.

    Attributes:
        name: under which it appears in pairs.
        link: that carries it.
        pose: (4, 4) in the frame of that link.
        rows: (k, 7) its leaves in its own frame: end points and radius.
        touch: links and objects that it may touch.
        expires: seconds of a steady clock at which it goes by itself; inf: never.
        shape: what the leaves are around, in the object's frame; None where leaves are all that
            is known.
    """

    name: str
    link: str
    pose: np.ndarray
    rows: np.ndarray
    touch: frozenset[str] = frozenset()
    expires: float = math.inf
    shape: Shape | None = None
    body: int = 0
    slot: int = -1
    leaf: int = -1  # first of its leaves in the packed model
    node: int = -1  # root of the tree over them
    place: int = -1  # among the objects that stand still
    carrier: int = -1  # its number among those on links that move
    # Whether it is checked against a link, for each.
    is_allowed: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=bool))

    @property
    def nodes(self) -> int:
        """Number of nodes of its tree."""
        return 2 * len(self.rows) - 1

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A ball of 0.1 m that slides along x past a ball of 0.1 m that stands still."""

from collision_monitor import CollisionModel
from support.robots.toys import joint, link, robot

SLIDER = robot(
    link("rail", ""), link("ball"),
    joint("slide", "rail", "ball", "prismatic", xyz="0 0 0", axis="1 0 0"),
)  # fmt: skip


def slider(aside: float) -> CollisionModel:
    """The other one, "post", stands at (1, aside, 0)."""
    post = {"name": "post", "type": "sphere", "radius": 0.1, "position": [1.0, aside, 0.0]}
    return CollisionModel.from_urdf(SLIDER, scene={"obstacles": [post]})

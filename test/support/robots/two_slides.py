# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A robot of two arms that anybody can compute: two balls, each on two slides."""

import math

from collision_monitor import CollisionModel
from collision_monitor.self_collision.arms import Arm
from support.robots.toys import joint, link, robot

JOINTS = ("r_x", "r_y", "l_x", "l_y")
ARMS = (
    Arm("right", ("r_x", "r_y"), ("r_cart", "r_ball"), "r_ball"),
    Arm("left", ("l_x", "l_y"), ("l_cart", "l_ball"), "l_ball"),
)
RADIUS = 0.1
URDF = robot(
    link("base", ""),
    link("mast", '<sphere radius="0.1"/>', "0 0 3"),
    joint("mast_joint", "base", "mast", "continuous", "0 0 0"),
    *(
        part
        for side, x in (("r", "-0.5 0 0"), ("l", "0.5 0 0"))
        for part in (
            link(f"{side}_cart", ""),
            link(f"{side}_ball", f'<sphere radius="{RADIUS}"/>'),
            joint(f"{side}_x", "base", f"{side}_cart", "prismatic", x, "1 0 0"),
            joint(f"{side}_y", f"{side}_cart", f"{side}_ball", "prismatic", "0 0 0", "0 1 0"),
        )
    ),
    name="slides",
)


def model() -> CollisionModel:
    """The robot; the mast's ball is far above the arms'."""
    return CollisionModel.from_urdf(URDF)


def distance(r_x: float, r_y: float, l_x: float, l_y: float) -> float:
    """Distance of the balls' surfaces, metres."""
    return math.hypot(1.0 + l_x - r_x, l_y - r_y) - 2.0 * RADIUS


def apart(gap: float) -> list[float]:
    """Positions of JOINTS at which the balls are ``gap`` metres apart."""
    return [0.4 - gap / 2, 0.0, -0.4 + gap / 2, 0.0]

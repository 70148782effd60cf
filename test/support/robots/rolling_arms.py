# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Two arms, each a slide and a wrist that turns without end, and a wheel."""

from collision_monitor import CollisionModel
from collision_monitor.self_collision.arms import Arm
from support.robots.toys import joint, link, robot

JOINTS = ("r_x", "r_roll", "l_x", "l_roll")
ARMS = tuple(
    Arm(name, (f"{side}_x", f"{side}_roll"), (f"{side}_cart", f"{side}_hand"), f"{side}_hand")
    for name, side in (("right", "r"), ("left", "l"))
)
HAND = '<box size="0.1 0.4 0.1"/>'
URDF = robot(
    link("base", ""),
    link("wheel", '<cylinder radius="0.1" length="0.05"/>'),
    joint("wheel_joint", "base", "wheel", "continuous", "0 0 -2"),
    *(
        part
        for side, x in (("r", "-0.6 0 0"), ("l", "0.6 0 0"))
        for part in (
            link(f"{side}_cart", '<sphere radius="0.05"/>', "0 0 0.5"),
            link(f"{side}_hand", HAND, "0 0.2 0"),
            joint(f"{side}_x", "base", f"{side}_cart", "prismatic", x, "1 0 0"),
            joint(f"{side}_roll", f"{side}_cart", f"{side}_hand", "continuous", "0 0 0"),
        )
    ),
    name="rolling",
)


def model() -> CollisionModel:
    """The robot. At zero the hands are 1.1 m apart."""
    return CollisionModel.from_urdf(URDF)

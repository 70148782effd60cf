# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Two arms on a small body: their upper arms are within 10 cm in three of four configurations.

An upper arm is a ball of radius 0.04 m, 0.06 m off a vertical axis; the axes are 0.19 m apart. Each
carries a hand 0.5 m above, which is never near the other arm.
"""

from functools import cache

import numpy as np

from collision_monitor import CollisionModel
from collision_monitor.self_collision.arms import Arm, find_chains
from support.robots.toys import joint, link, robot

RADIUS, OFFSET, AXES = 0.04, 0.06, 0.19
JOINTS = ("right_shoulder", "right_wrist", "left_shoulder", "left_wrist")


@cache
def model() -> CollisionModel:
    """The robot."""
    parts = [link("base", '<box size="0.1 0.1 0.1"/>', "0 0 -1")]
    for side, sign in (("right", -1.0), ("left", 1.0)):
        parts += [
            link(f"{side}_upper", f'<sphere radius="{RADIUS}"/>', f"{-sign * OFFSET} 0 0"),
            joint(f"{side}_shoulder", "base", f"{side}_upper", xyz=f"{sign * AXES / 2} 0 0"),
            link(f"{side}_hand", '<sphere radius="0.02"/>'),
            joint(f"{side}_wrist", f"{side}_upper", f"{side}_hand", xyz=f"0 0 {1.5 + sign}"),
        ]
    return CollisionModel.from_urdf(robot(*parts, name="close_shoulders"))


def arms() -> tuple[Arm, ...]:
    """The right and the left arm."""
    return find_chains(model().robot, model().semantics)


def upper_distance(q: np.ndarray) -> np.ndarray:
    """Distance of the upper arms, metres, at configurations (..., 4), in closed form."""
    right, left = np.asarray(q)[..., 0], np.asarray(q)[..., 2]
    x = AXES - OFFSET * (np.cos(left) + np.cos(right))
    y = -OFFSET * (np.sin(left) + np.sin(right))
    return np.hypot(x, y) - 2.0 * RADIUS

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Two arms with hands, whose thumbs lie in their palms with all joints at zero."""

from support.robots.toys import joint, link, robot

JOINTS = ("right_1", "right_2", "left_1", "left_2")
CHAINS = ("base:right_palm", "base:left_palm")


def _arm(side: str, x: float) -> tuple[str, ...]:
    names = f"{side}_finger_1", f"{side}_palm", f"{side}_knuckle"
    knuckle = joint(*names, xyz="0.02 0.14 0", axis="1 0 0", limits=(-0.1, 3))
    return (
        link(f"{side}_upper", '<box size="0.05 0.3 0.05"/>', "0 0.2 0"),
        joint(f"{side}_1", "base", f"{side}_upper", xyz=f"{x} 0 0"),
        link(f"{side}_palm", '<box size="0.08 0.1 0.02"/>', "0 0.05 0"),
        joint(f"{side}_2", f"{side}_upper", f"{side}_palm", xyz="0 0.45 0", axis="0 1 0"),
        link(f"{side}_knuckle", ""),
        knuckle,
        link(f"{side}_thumb", '<box size="0.015 0.06 0.015"/>', "0 -0.03 0"),
        joint(f"{side}_finger_2", f"{side}_knuckle", f"{side}_thumb", xyz="0 0 0"),
    )


URDF = robot(link("base", ""), *_arm("right", -0.5), *_arm("left", 0.5), name="handed")

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Two arms in a plane, small enough to be worked out by hand: three links and joints each.

Bases at (0, -0.5) and (0, 0.5), links of 0.4 m along x at zero, round axes with radius 0.03.
"""

from functools import cache

import numpy as np

from collision_monitor import CollisionModel
from collision_monitor.self_collision.arms import find_chains
from collision_monitor.self_collision.margins import Problem, choose_margins
from support.robots.dual_arm_cases import segment_distances
from support.robots.toys import joint, link, robot

RADIUS, LENGTH, BASE = 0.03, 0.4, 0.5
SIDES = ("right", "left")
JOINTS = tuple(f"{side}_j{i}" for side in SIDES for i in (1, 2, 3))
SRDF = (
    '<robot name="planar"><group name="right_arm"><chain base_link="base" tip_link="right_3"/>'
    '</group><group name="left_arm"><chain base_link="base" tip_link="left_3"/></group></robot>'
)


@cache
def planar_urdf() -> str:
    """The robot as text."""
    parts = [link("base", '<sphere radius="0.05"/>', "-0.3 0 0")]
    for side, sign in zip(SIDES, (-1.0, 1.0), strict=True):
        for i in (1, 2, 3):
            shape = f'<capsule radius="{RADIUS}" length="{LENGTH}"/>'
            capsule = link(f"{side}_{i}", shape, f"{LENGTH / 2} 0 0")
            parts.append(capsule.replace("<origin", '<origin rpy="0 1.570796326794896619 0"'))
            parent = f"{side}_{i - 1}" if i > 1 else "base"
            xyz = f"{LENGTH} 0 0" if i > 1 else f"0 {sign * BASE} 0"
            parts.append(joint(f"{side}_j{i}", parent, f"{side}_{i}", xyz=xyz))
    return robot(*parts, name="planar")


def planar_model(*obstacles: dict) -> CollisionModel:
    """The robot, with a scene of ``obstacles``."""
    scene = {"obstacles": list(obstacles)} if obstacles else None
    return CollisionModel.from_urdf(planar_urdf(), srdf=SRDF, scene=scene)


def sliding_box(position: list[float], axis: list[int]) -> CollisionModel:
    """The robot, and a box of 0.1 m on joint ``slide``, by 0 to 4 m along ``axis``."""
    slide = {
        "name": "slide", "type": "prismatic", "position": position, "axis": axis, "lower": 0.0,
        "upper": 4.0,
    }  # fmt: skip
    box = {"name": "box", "type": "box", "size": [0.1, 0.1, 0.1], "joint": "slide"}
    scene = {"joints": [slide], "obstacles": [box]}
    return CollisionModel.from_urdf(planar_urdf(), srdf=SRDF, scene=scene)


def limits_of(model: CollisionModel, between: float, inside: float = -np.inf) -> np.ndarray:
    """(pairs,) distances to keep: of the two arms, inside of each, -inf with the base."""
    arms = [inside if a[:4] == b[:4] else between for a, b in model.pairs]
    return np.where(["base" in pair for pair in model.pairs], -np.inf, arms)


def ball(name: str, x: float, y: float, radius: float = 0.05) -> dict:
    """An obstacle for `planar_model`."""
    return {"name": name, "type": "sphere", "radius": radius, "position": [x, y, 0.0]}


def planar_problem(model: CollisionModel, desired: np.ndarray) -> Problem:
    """What a method is given, a second a waypoint."""
    arms = find_chains(model.robot, model.semantics)
    columns = tuple(model.columns_of(arm.joint_names) for arm in arms)
    margins = choose_margins(model, arms, desired, 0.1, 0.02)
    times = np.arange(float(len(desired)))
    return Problem(model, arms, times, desired, columns, margins, (0, 1))


def points(q: np.ndarray) -> np.ndarray:
    """Shoulder, elbow, wrist and tip of both arms (2, 4, 3), by sines and cosines."""
    out = np.zeros((2, 4, 3))
    for k, sign in enumerate((-1.0, 1.0)):
        out[k, 0, 1] = sign * BASE
        angles = np.cumsum(np.asarray(q)[3 * k : 3 * k + 3])
        steps = LENGTH * np.column_stack([np.cos(angles), np.sin(angles), 0.0 * angles])
        out[k, 1:] = out[k, 0] + np.cumsum(steps, axis=0)
    return out


def arm_distance(q: np.ndarray) -> float:
    """Least distance of the surfaces of the two arms, from `points` alone."""
    right, left = points(q)
    first, second = right[:, None], left[None, :]
    gaps = segment_distances(first[:-1], first[1:], second[:, :-1], second[:, 1:])
    return float(gaps.min()) - 2.0 * RADIUS


def meeting(count: int = 41, depth: float = 1.0) -> np.ndarray:
    """Both arms turn towards each other, through each other in the middle, and back; (count, 6)."""
    turn = -0.4 + depth * np.sin(np.linspace(0.0, np.pi, count))
    still = np.zeros(count)
    return np.column_stack([turn, still, still, -turn, still, still])

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Robots for proofs about ranges: chains out of text, and their pairs."""

import numpy as np

from collision_monitor import CollisionModel
from collision_monitor.acm.link_pair import PairGeometries
from support.robots.toys import joint, link, robot

_SHAPES = (
    '<capsule radius="0.06" length="0.3"/>',
    '<box size="0.2 0.1 0.3"/>',
    '<sphere radius="0.1"/>',
    '<cylinder radius="0.05" length="0.4"/>',
)


def branched(rng: np.random.Generator, joints: int = 4) -> str:
    """Two arms on one base, their joints turning or sliding about random axes, one a mimic."""
    parts = [link("base", _SHAPES[0])]
    for arm in "ab":
        parent = "base"
        for k in range(joints):
            child = f"{arm}{k}"
            axis = rng.normal(size=3)
            axis = " ".join(map(str, axis / np.linalg.norm(axis)))
            xyz = " ".join(map(str, rng.uniform(-0.4, 0.4, 3)))
            kind = "prismatic" if rng.random() < 0.25 else "revolute"
            extra = ""
            if arm == "b" and k == joints - 1:
                extra = '<mimic joint="jb0" multiplier="-0.7" offset="0.1"/>'
            shape = _SHAPES[rng.integers(len(_SHAPES))]
            offset = " ".join(map(str, rng.uniform(-0.2, 0.2, 3)))
            parts.append(link(child, shape, offset))
            parts.append(joint(f"j{child}", parent, child, kind, xyz, axis, extra))
            parent = child
    return robot(*parts)


def pair_of(urdf: str, a: str, b: str):
    """(model, pair) of two links of a robot; the model has one leaf for each shape."""
    model = CollisionModel.from_urdf(urdf, max_leaves_per_link=1)
    return model, PairGeometries(model).pair(a, b)

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How far a link can ever be from the axis of a joint that moves it.

The weights of the motion bound of Schwarzer, Saha and Latombe ("Adaptive dynamic collision
checking for single and multiple articulated robots in complex environments", IEEE Trans.
Robotics 21(3), 2005, 338-353): no point of a link travels farther than the sum over the joints of
|dq| times this distance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collision_monitor.geometry.leaf import Leaf
from collision_monitor.robot.bodies import Bodies


def largest_slides(bodies: Bodies) -> np.ndarray:
    """Largest |position| (joints,) of every sliding joint in metres; 0 for those that turn."""
    low = np.array([joint.lower for joint in bodies.joints])[bodies.columns]
    high = np.array([joint.upper for joint in bodies.joints])[bodies.columns]
    ends = bodies.offsets + bodies.gains * np.array([low, high])
    return np.where(bodies.slides, np.abs(ends).max(axis=0), 0.0)


def reach(bodies: Bodies, body: int, leaves: Sequence[Leaf]) -> np.ndarray:
    """Travel (joints,) of the farthest point of ``leaves`` for a unit of each joint.

    ``leaves`` are in the frame of ``body``. Metres per radian, and 1 for joints that
    slide; 0 for joints that do not move the body. An upper bound whatever the configuration:
    lengths between the axes are added up as if all pointed one way.
    """
    out = np.zeros(len(bodies.parents))
    if body == 0:
        return out
    slides = largest_slides(bodies)
    ends = np.array([end for leaf in leaves for end in (leaf.p0, leaf.p1)])
    radii = np.repeat([leaf.radius for leaf in leaves], 2)
    from_axis = float((np.hypot(ends[:, 0], ends[:, 1]) + radii).max())
    from_origin = float((np.linalg.norm(ends, axis=1) + radii).max())
    while body > 0:
        k = body - 1
        out[k] = 1.0 if bodies.slides[k] else from_axis
        offset = bodies.placements[k][:3, 3]
        from_axis = float(np.hypot(offset[0], offset[1])) + from_origin + slides[k]
        from_origin = float(np.linalg.norm(offset)) + from_origin + slides[k]
        body = int(bodies.parents[k])
    return out


def relative_reach(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """How far two links come nearer for a unit of each joint, at most, from the reach of each.

    ``first``, ``second``: (..., joints). A joint that moves both, or neither, does not count.
    """
    return np.where((first > 0.0) != (second > 0.0), first + second, 0.0)


def by_position(bodies: Bodies, weights: np.ndarray, count: int) -> np.ndarray:
    """``weights`` (k, joints) per unit of each of the ``count`` entries of q: (k, count).

    Mimic joints add to that of the joint that they follow, times their gain.
    """
    out = np.zeros((len(weights), count))
    np.add.at(out.T, bodies.columns, (weights * np.abs(bodies.gains)).T)
    return out

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The space arm, and the straight approach of its end to the hull of a laboratory, on a double S.

Differential inverse kinematics: joint rates of minimum norm that give the tool the desired velocity
and keep its initial orientation; accumulated errors are fed back.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from motions.probe_motion import double_s

from collision_monitor import CollisionModel

SPACE_ARM = Path(__file__).resolve().parents[2] / "urdf" / "space_arm.urdf"
SPEED = 0.1  # largest of the tool, m/s
RAMP = 1.98  # s: to that speed, and to rest; no cycle then lies at the threshold itself
WAY = 1.55  # m: from 1.5 m above the hull into it
LAB_RADIUS = 2.5  # m; the laboratory's axis is parallel to y, at x = LAB_X and z = 0
LAB_X = 1.7
START = np.array([LAB_X, 5.5, LAB_RADIUS + 1.5])  # of the foremost point of the tool, m
DOWN = np.array([0.0, 0.0, -1.0])
_MOUNT_X = -3.2  # of the arm, at y = 0
_HEADING = np.arctan2(START[1], START[0] - _MOUNT_X)  # of the arm's plane, rad about z
# Joint positions from which the search for the start begins: elbow up, tool down.
_GUESS = np.array([_HEADING, 0.0, 0.9, 1.1, 1.1, 0.0, 0.0])


def load_space_arm(**settings: object) -> CollisionModel:
    """The arm on its station; with one leaf a body it has the 13 moving leaves of the paper.

    ``settings``: of `CollisionModel.from_urdf`; without any a body has one leaf.
    """
    return CollisionModel.from_urdf(SPACE_ARM, **(settings or {"max_leaves_per_link": 1}))


def jacobian(model: CollisionModel, poses: dict[str, np.ndarray]) -> np.ndarray:
    """Velocity of the tool (linear, angular; 6) over joint rates, in the base frame."""
    at = poses["tool"][:3, 3]
    columns = []
    for joint in model.robot.joints:
        if joint.moves:
            pose = poses[joint.child]
            axis = pose[:3, :3] @ joint.axis
            columns.append(np.concatenate([np.cross(axis, at - pose[:3, 3]), axis]))
    return np.array(columns).T


def _tool_rotation() -> np.ndarray:
    """Tool frame with z down, x back towards the arm's base."""
    c, s = np.cos(_HEADING), np.sin(_HEADING)
    return np.array([[-c, -s, 0.0], [-s, c, 0.0], [0.0, 0.0, -1.0]])


def step_towards(model: CollisionModel, q: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Joint displacements (7,) of least norm that bring the tool to ``position``, z down.

    To first order; the rotation's error is the vector of sines 1/2 sum a_i x b_i over the axes.
    """
    poses = model.link_poses(q)
    tool = poses["tool"]
    turn = 0.5 * np.cross(tool[:3, :3].T, _tool_rotation().T).sum(axis=0)
    error = np.concatenate([position - tool[:3, 3], turn])
    return np.linalg.lstsq(jacobian(model, poses), error, rcond=1e-6)[0]


def start(model: CollisionModel) -> np.ndarray:
    """Joint positions (7,) with the tool at START, pointing down at the laboratory's axis.

    Raises:
        RuntimeError: the search failed.
    """
    q = _GUESS.copy()
    for _ in range(100):
        step = step_towards(model, q, START)
        q += step * min(1.0, 0.3 / np.abs(step).max())
        if np.abs(step).max() < 1e-13:
            return q
    raise RuntimeError(f"no joint positions found for the tool at {START.tolist()}")


def way_at(times: np.ndarray) -> np.ndarray:
    """Way of the tool (n,) at ``times`` (n,), metres, on the double S of the paper."""
    profile = double_s(WAY / SPEED + RAMP, SPEED / WAY)
    return WAY * profile(np.clip(times, 0.0, profile.x[-1]))


def approach(model: CollisionModel, cycle: float, beyond: float = 0.01) -> np.ndarray:
    """Joint positions (n, 7), one row a cycle, until ``beyond`` metres inside the hull.

    Args:
        model: the space arm.
        cycle: seconds from row to row.
        beyond: metres by which the hull of the leaves is entered before it ends.
    """
    rows = [start(model)]
    while model.distance(rows[-1]).distance > -beyond:
        target = START + way_at(np.array(cycle * len(rows))) * DOWN
        rows.append(rows[-1] + step_towards(model, rows[-1], target))
    return np.array(rows)

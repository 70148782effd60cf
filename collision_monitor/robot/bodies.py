# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A robot as rigid bodies: links that cannot move against each other become one.

Body 0 is the base with all that is fixed to it; every moving joint starts another.
A body's frame is turned so that its joint moves about or along its z axis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collision_monitor.robot.description import Joint, Robot
from collision_monitor.robot.poses import joint_motion


@dataclass(frozen=True, eq=False)
class Bodies:
    """The kinematic tree of a robot; row k of the tables is the joint of body k + 1.

    ``parents`` (k,) body indices; ``slides`` (k,) bool, true for prismatic joints;
    ``columns`` (k,) the entry of q that drives the joint, whose position is
    ``gains`` * q + ``offsets``; ``placements`` (k, 4, 4) the body in its parent at
    position zero. ``link_bodies`` and ``link_poses`` tell where each link is fixed.
    """

    joints: tuple[Joint, ...]  # those with an entry of q of their own, in its order
    parents: np.ndarray
    slides: np.ndarray
    columns: np.ndarray
    gains: np.ndarray
    offsets: np.ndarray
    placements: np.ndarray
    link_bodies: dict[str, int]
    link_poses: dict[str, np.ndarray]

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names in the order of q."""
        return tuple(joint.name for joint in self.joints)


def _frame_with_z_along(axis: np.ndarray) -> np.ndarray:
    """A pose (4, 4) without translation whose z axis is the unit vector ``axis``."""
    pose = np.eye(4)
    if np.array_equal(axis, [0.0, 0.0, 1.0]):
        return pose
    helper = np.eye(3)[int(np.abs(axis).argmin())]
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    pose[:3, 0], pose[:3, 1], pose[:3, 2] = x, np.cross(axis, x), axis
    return pose


def drive(joint: Joint, joints: dict[str, Joint]) -> tuple[str | None, float, float]:
    """(leading joint, gain, offset) of a moving joint; mimics of mimics are followed.

    The leader is None where the chain ends at a joint that is held: the position is
    ``offset`` then.
    """
    gain, offset = 1.0, 0.0
    while joint.mimic is not None:
        offset += gain * joint.mimic.offset
        gain *= joint.mimic.multiplier
        joint = joints[joint.mimic.joint]
    if not joint.moves:
        return None, 0.0, offset
    return joint.name, gain, offset


def rigid_bodies(robot: Robot) -> Bodies:
    """The bodies of ``robot``; fixed and held joints join links, moving ones part them."""
    by_name = {joint.name: joint for joint in robot.joints}
    free = tuple(j for j in robot.joints if j.moves and j.mimic is None)
    column = {joint.name: k for k, joint in enumerate(free)}
    bodies = {robot.root: 0}
    poses = {robot.root: np.eye(4)}
    parents, slides, columns, gains, offsets, placements = [], [], [], [], [], []
    for joint in robot.joints:
        body, pose = bodies[joint.parent], poses[joint.parent] @ joint.origin
        leader, gain, offset = drive(joint, by_name) if joint.moves else (None, 0.0, 0.0)
        if leader is None:
            if joint.moves:
                pose = pose @ joint_motion(joint.kind == "prismatic", joint.axis, offset)
            bodies[joint.child], poses[joint.child] = body, pose
            continue
        frame = _frame_with_z_along(joint.axis)
        parents.append(body)
        slides.append(joint.kind == "prismatic")
        columns.append(column[leader])
        gains.append(gain)
        offsets.append(offset)
        placements.append(pose @ frame)
        bodies[joint.child], poses[joint.child] = len(parents), frame.T
    return Bodies(
        joints=free,
        parents=np.array(parents, dtype=np.int64),
        slides=np.array(slides, dtype=bool),
        columns=np.array(columns, dtype=np.int64),
        gains=np.array(gains, dtype=float),
        offsets=np.array(offsets, dtype=float),
        placements=np.array(placements, dtype=float).reshape(-1, 4, 4),
        link_bodies=bodies,
        link_poses=poses,
    )

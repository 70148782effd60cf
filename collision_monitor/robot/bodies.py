# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A robot as rigid bodies, their poses, Jacobians and reach, for load time and offline use (numpy).

Links that cannot move against each other become one body. Body 0 is the base with all that is
fixed to it; every moving joint starts another.
A body's frame is turned so that its joint moves about or along its z axis.

The reach of links gives the weights of the motion bound of Schwarzer, Saha and Latombe ("Adaptive
dynamic collision checking for single and multiple articulated robots in complex environments",
IEEE Trans. Robotics 21(3), 2005, 338-353): no point of a link travels farther than the sum over the
joints of |dq| times its reach.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from collision_monitor.geometry.leaf import Leaf
from collision_monitor.robot.description import Joint, Robot
from collision_monitor.robot.poses import joint_motion


@dataclass(frozen=True, eq=False)
class Bodies:
    """The kinematic tree of a robot; row k of the tables is the joint of body k + 1.

    ``parents`` (k,) body indices; ``slides`` (k,) bool, true for prismatic joints;
    ``columns`` (k,) the entry of q that drives the joint, whose position is
    ``gains`` * q + ``offsets``; ``placements`` (k, 4, 4) the body in its parent at
    position zero. ``link_bodies`` and ``link_poses`` give the body and pose of each link.
    """

    joints: tuple[Joint, ...]  # those with their own entry of q, in the order of q
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

    @cached_property
    def endless(self) -> np.ndarray:
        """(nq,) bool: joints of which a whole turn changes no pose, as `robot.angles` uses.

        A continuous joint is not, if a joint that mimics it slides or makes a part of a turn.
        """
        found = self.continuous.copy()
        found[self.columns[~self.in_step]] = False
        return found

    @cached_property
    def continuous(self) -> np.ndarray:
        """(nq,) bool: joints that turn without end stops."""
        return np.array([joint.kind == "continuous" for joint in self.joints], dtype=bool)

    @cached_property
    def in_step(self) -> np.ndarray:
        """(k,) bool: joints that make whole turns for each turn of their entry of q."""
        return ~self.slides & (self.gains == np.round(self.gains))

    def chain(self, body: int) -> np.ndarray:
        """Rows of the joints that move ``body``, from the base."""
        rows = []
        while body > 0:
            rows.append(body - 1)
            body = int(self.parents[body - 1])
        return np.array(rows[::-1], dtype=np.int64)

    def between(self, a: str, b: str) -> tuple[list[int], list[int]]:
        """Rows of the joints from link ``a`` down to the body that carries both, and to ``b``."""
        both = self.link_bodies[a], self.link_bodies[b]
        if both not in self._between:
            up, down = (self.chain(body)[::-1].tolist() for body in both)
            while up and down and up[-1] == down[-1]:
                up.pop()
                down.pop()
            self._between[both] = up, down[::-1]
        return self._between[both]

    @cached_property
    def _between(self) -> dict[tuple[int, int], tuple[list[int], list[int]]]:
        return {}

    def joints_between(self, a: str, b: str) -> list[int]:
        """Sorted entries of q that change the relative pose of links ``a`` and ``b``."""
        up, down = self.between(a, b)
        return np.unique(self.columns[up + down]).tolist()


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


def leading_joint(joint: Joint, joints: dict[str, Joint]) -> tuple[str | None, float, float]:
    """(leading joint, gain, offset) of a joint; mimics of mimics are followed.

    The leader is None where the chain ends at a joint that does not move: the position is
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
    """The bodies of ``robot``; fixed and held joints join links, moving ones separate them."""
    free = tuple(j for j in robot.joints if j.moves and j.mimic is None)
    column = {joint.name: k for k, joint in enumerate(free)}
    bodies = {robot.root: 0}
    poses = {robot.root: np.eye(4)}
    parents, slides, columns, gains, offsets, placements = [], [], [], [], [], []
    for joint in robot.joints:
        body, pose = bodies[joint.parent], poses[joint.parent] @ joint.origin
        leader, gain, offset = leading_joint(joint, robot.joint_named)
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


def parts_between_held_joints(robot: Robot) -> dict[str, int]:
    """The part of ``robot`` that each link belongs to: joints that are held separate parts.

    Floating and planar joints are held at zero. Where a part is to another is unknown.
    """
    parts, count = {robot.root: 0}, 1
    for joint in robot.joints:
        parts[joint.child] = parts[joint.parent]
        if not joint.moves and joint.kind != "fixed":
            parts[joint.child] = count
            count += 1
    return parts


def _z_motions(slides: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Poses (k, n, 4, 4) of k bodies moved about, or along, the z axes of their frames.

    ``slides`` (k,) says which; ``positions`` (k, n).
    """
    motions = np.zeros((*positions.shape, 4, 4))
    turns = np.where(slides[:, None], 0.0, positions)
    motions[..., 0, 0] = motions[..., 1, 1] = np.cos(turns)
    motions[..., 1, 0] = np.sin(turns)
    motions[..., 0, 1] = 0.0 - motions[..., 1, 0]
    motions[..., 2, 2] = motions[..., 3, 3] = 1.0
    motions[slides, :, 2, 3] = positions[slides]
    return motions


def link_poses(
    bodies: Bodies, links: Iterable[str], configurations: np.ndarray
) -> dict[str, np.ndarray]:
    """Poses (n, 4, 4) of ``links`` in the base frame at each row of ``configurations``.

    Args:
        bodies: the kinematic tree.
        links: names of links, keys of ``bodies.link_bodies``.
        configurations: (n, nq), radians and metres, in the order of ``bodies.joint_names``.
    """
    links = list(links)
    poses = _body_poses(bodies, {bodies.link_bodies[link] for link in links}, configurations)
    return {link: poses[bodies.link_bodies[link]] @ bodies.link_poses[link] for link in links}


def _body_poses(
    bodies: Bodies, wanted: Iterable[int], configurations: np.ndarray
) -> dict[int, np.ndarray]:
    """Poses (n, 4, 4) of bodies, and of those that carry them, as of `link_poses`."""
    configurations = np.asarray(configurations, dtype=float)
    poses = {0: np.broadcast_to(np.eye(4), (len(configurations), 4, 4))}
    rows = sorted({row for body in wanted for row in bodies.chain(body).tolist()})
    gains, offsets = bodies.gains[rows, None], bodies.offsets[rows, None]
    positions = gains * configurations[:, bodies.columns[rows]].T + offsets
    motions, parents = _z_motions(bodies.slides[rows], positions), bodies.parents.tolist()
    for row, motion in zip(rows, motions, strict=True):
        poses[row + 1] = poses[parents[row]] @ bodies.placements[row] @ motion
    return poses


_NEXT, _LAST = np.roll(range(3), -1), np.roll(range(3), 1)  # of the axes x, y, z


class Jacobians:
    """Velocities of points per joint speed, at one configuration; base frame.

    Joint k of ``bodies`` acts along or about the z axis z_k of its body's frame, through its
    origin o_k: a point p beyond it moves with z_k x (p - o_k) per radian, or with z_k per metre.
    A mimic joint adds to the column of its leader, times its gain.
    """

    def __init__(self, bodies: Bodies, q: np.ndarray) -> None:
        """Take ``q`` (nq,), radians and metres; bodies are placed on demand."""
        self._bodies, self._q = bodies, np.asarray(q, dtype=float)
        self._poses: dict[int, np.ndarray] = {}

    def _pose(self, body: int) -> np.ndarray:
        if body not in self._poses:
            self._poses |= _body_poses(self._bodies, [body], self._q[None])
        return self._poses[body][0]

    def link_pose(self, link: str) -> np.ndarray:
        """Pose (4, 4) of a link of the robot."""
        return self._pose(self._bodies.link_bodies[link]) @ self._bodies.link_poses[link]

    def of_point(self, body: int, point: np.ndarray) -> np.ndarray:
        """(6, nq) of the point of ``body`` that is at ``point`` (3,): velocity, then turning."""
        bodies, joints = self._bodies, self._bodies.chain(body)
        self._pose(body)  # and those of all that carry it
        frames = np.array([self._pose(k + 1) for k in joints.tolist()]).reshape(-1, 4, 4)
        out = np.zeros((6, len(bodies.joints)))
        axes = frames[:, :3, 2] * bodies.gains[joints, None]
        slides = bodies.slides[joints]
        arms = np.asarray(point, dtype=float) - frames[:, :3, 3]
        # The cross product, in a quarter of the time that numpy's takes for so few rows.
        across = axes[:, _NEXT] * arms[:, _LAST] - axes[:, _LAST] * arms[:, _NEXT]
        linear = np.where(slides[:, None], axes, across)
        turning = np.where(slides[:, None], 0.0, axes)
        # A mimic joint may stand in the same chain as its leader.
        np.add.at(out.T, bodies.columns[joints], np.hstack([linear, turning]))
        return out


# -- how far a link can ever be from the axis of a joint that moves it --


# Metres by which sliding joints may be beyond their limits, as many are at rest: bounds of the
# motion of links hold there as well.
SLIDES_BEYOND = 0.002


def largest_slides(bodies: Bodies) -> np.ndarray:
    """Largest |position| (joints,) of every sliding joint in metres; 0 for those that turn."""
    low = np.array([joint.lower for joint in bodies.joints])[bodies.columns]
    high = np.array([joint.upper for joint in bodies.joints])[bodies.columns]
    ends = bodies.offsets + bodies.gains * np.array([low, high])
    return np.where(bodies.slides, np.abs(ends).max(axis=0), 0.0)


def axis_distances(
    bodies: Bodies, link_bodies: Sequence[int], leaves: Sequence[Sequence[Leaf]]
) -> tuple[np.ndarray, np.ndarray]:
    """How far points of links can be from the axis of each joint, and which joints move a link.

    ``leaves`` of each link, in the frame of its body, one of ``link_bodies``. Returns (links,
    joints) metres, and 1 for joints that slide, whatever the configuration: lengths between the
    axes are added up as if all pointed one way. And (links, joints) bool.
    """
    body_of = np.asarray(link_bodies, dtype=np.int64)
    count, joints = len(body_of), len(bodies.parents)
    slides = np.where(bodies.slides, largest_slides(bodies) + SLIDES_BEYOND, 0.0)
    ends = np.array([end for each in leaves for leaf in each for end in (leaf.p0, leaf.p1)])
    ends = ends.reshape(-1, 3)
    thick = np.repeat([leaf.radius for each in leaves for leaf in each], 2)
    link_of = np.repeat(np.arange(count), [2 * len(each) for each in leaves])
    # A ball around each link, in the frame of each body.
    centers, radii = np.zeros((joints + 1, count, 3)), np.zeros((joints + 1, count))
    distances, moves = np.zeros((count, joints)), np.zeros((count, joints), dtype=bool)

    def cross(joint: int, frame: int, pose: np.ndarray, some: np.ndarray) -> np.ndarray:
        """Set ``distances`` of ``some`` links to ``joint``; radii of balls around its origin then.

        ``pose``: of the joint in the frame of the body ``frame``.
        """
        middles = (centers[frame] - pose[:3, 3]) @ pose[:3, :3]
        from_axis = np.hypot(middles[:, 0], middles[:, 1]) + radii[frame]
        from_origin = np.linalg.norm(middles, axis=1) + radii[frame]
        here = body_of[link_of] == frame
        points = (ends[here] - pose[:3, 3]) @ pose[:3, :3]
        for out, lengths in (
            (from_axis, np.hypot(points[:, 0], points[:, 1])),
            (from_origin, np.linalg.norm(points, axis=1)),
        ):
            out[body_of == frame] = 0.0
            np.maximum.at(out, link_of[here], lengths + thick[here])
        distances[some, joint] = 1.0 if bodies.slides[joint] else from_axis[some]
        return from_origin[some] + slides[joint]

    for joint in reversed(range(joints)):  # towards the base
        parent = int(bodies.parents[joint])
        moves[:, joint] |= body_of == joint + 1
        some = np.flatnonzero(moves[:, joint])
        radii[parent, some] = cross(joint, joint + 1, np.eye(4), some)
        centers[parent, some] = bodies.placements[joint][:3, 3]
        if parent > 0:
            moves[some, parent - 1] = True
    for joint in range(joints):  # away from it
        some = np.flatnonzero(~moves[:, joint])
        radii[joint + 1, some] = cross(
            joint, int(bodies.parents[joint]), bodies.placements[joint], some
        )
    return distances, moves


def reach(bodies: Bodies, body: int, leaves: Sequence[Leaf]) -> np.ndarray:
    """Travel (joints,) of the farthest point of ``leaves`` for a unit of each joint.

    ``leaves`` are in the frame of ``body``. Metres per radian, and 1 for joints that
    slide; 0 for joints that do not move the body. An upper bound; see `axis_distances`.
    """
    distances, moves = axis_distances(bodies, [body], [leaves])
    return np.where(moves, distances, 0.0)[0]


def relative_reach(
    first: np.ndarray,
    second: np.ndarray,
    distances: tuple[np.ndarray | float, np.ndarray | float] = (np.inf, np.inf),
) -> np.ndarray:
    """How far two links come nearer for a unit of each joint, at most, from the reach of each.

    ``first``, ``second``: (..., joints). A joint that moves both, or neither, does not count. It
    turns one link about its axis, or as well the other one: ``distances`` are those of both links
    from the axes, as of `axis_distances`, if they are known.
    """
    one, other = distances
    alone = np.where(first > 0.0, np.minimum(first, other), np.minimum(second, one))
    return np.where((first > 0.0) != (second > 0.0), alone, 0.0)


def by_position(bodies: Bodies, weights: np.ndarray) -> np.ndarray:
    """``weights`` (k, joints) per unit of each entry of q: (k, nq).

    Mimic joints add to that of the joint that they follow, times their gain.
    """
    out = np.zeros((len(weights), len(bodies.joints)))
    for column, gain, weight in zip(bodies.columns, bodies.gains, weights.T, strict=True):
        out[:, column] += abs(gain) * weight
    return out

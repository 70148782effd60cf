# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Motions on which two arms meet, and what an adjusted motion has to keep to.

The experiment of Wu Changzheng et al., J. Shanghai Jiao Tong University 52(1), 2018, 45-53, on
the package's dual arm, and harder ones: mounted so near that the desired motion crosses through
itself, and with one arm lagging behind the other.

The robot is that of urdf/dual_arm.urdf with another mounting and its links as the paper has
them: segments between joint centres, each within a capsule of radius 0.05. The distances that
judge a motion come from Denavit-Hartenberg parameters and numpy alone, not from the package.
"""

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from functools import cache

import numpy as np

from collision_monitor import CollisionModel
from collision_monitor.motion import read_motion
from collision_monitor.self_collision.arms import Arm
from collision_monitor.self_collision.margins import Margins, Problem, sides, yielding_arms
from support.paths import ROOT

RADIUS = 0.05  # of every capsule, m
ALPHA = np.radians([-90.0, 90.0, -90.0, 90.0, -90.0, 90.0, 0.0])
D = (0.145, 0.0, 0.415, 0.0, 0.405, 0.0, 0.150)
SIDES = ("right", "left")
JOINTS = tuple(f"{side}_joint_{i}" for side in SIDES for i in range(1, 8))
BASES = (  # rotations of the arms' bases in the torso, at y = -b and +b; they work towards +x
    np.array([[0.0, 1.0, 0.0], [0.0, 0.0, -1.0], [-1.0, 0.0, 0.0]]),
    np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
)


@dataclass(frozen=True)
class Case:
    """A mounting, a desired motion, and the distances to keep.

    ``offset`` is b, each base from the middle plane; ``safe`` and ``danger`` are d_saf and d_dan
    of both arms together, between segments (not between surfaces); all in metres. The left arm
    lags ``lag`` steps of one second behind.
    """

    name: str
    offset: float
    safe: float
    danger: float
    lag: int = 0

    @property
    def times(self) -> np.ndarray:
        """Seconds, one apart."""
        return np.arange(63.0 + self.lag)

    @property
    def desired(self) -> np.ndarray:
        """(n, 14) radians: right arm, left arm; an arm that is done waits."""
        motion = read_motion(ROOT / "config/dual_arm_motion.csv")
        assert motion.joint_names == JOINTS
        rows = motion.positions
        waits = [np.repeat(rows[[k]], self.lag, axis=0) for k in (-1, 0)]
        right = np.vstack([rows, waits[0]])[:, :7]
        left = np.vstack([waits[1], rows])[:, 7:]
        return np.hstack([right, left])

    def problem(self, yielding: str = "both") -> Problem:
        """The case as the package's methods of adjustment take it."""
        model = capsule_model(self.offset)
        assert model.joint_names == JOINTS
        arms = tuple(
            Arm(
                f"{side}_arm",
                tuple(f"{side}_joint_{i}" for i in range(1, 8)),
                tuple(f"{side}_link_{i}" for i in range(1, 8)) + (f"{side}_tool",),
                f"{side}_tool",
            )
            for side in SIDES
        )
        between = np.array([a.split("_")[0] != b.split("_")[0] for a, b in model.pairs])
        margins = Margins.plain(
            np.where(between, self.safe - 2.0 * RADIUS, -np.inf),
            np.where(between, self.danger - 2.0 * RADIUS, -np.inf),
        )
        columns = (np.arange(7), np.arange(7, 14))
        able = yielding_arms(arms, yielding)
        return Problem(model, arms, self.times, self.desired, columns, margins, able)

    def segment_distances(self, positions: np.ndarray) -> np.ndarray:
        """Least distance (n,) of the arms' segments at each row of ``positions`` (n, 14)."""
        return least_distances(joint_centres(positions, self.offset))


PAPER = Case("paper", 0.195, 0.2, 0.15)
CROSSING = Case("crossing", 0.17, 0.15, 0.1)
CROSSING_CLOSELY = Case("crossing closely", 0.145, 0.1, 0.1)
LAGGING = Case("lagging", 0.195, 0.2, 0.15, lag=4)
CASES = (PAPER, CROSSING, CROSSING_CLOSELY, LAGGING)


@cache
def capsule_urdf(offset: float) -> str:
    """urdf/dual_arm.urdf mounted at ``offset``; arms of bare capsules, no body."""
    root = ElementTree.parse(ROOT / "urdf/dual_arm.urdf").getroot()
    for link in root.iter("link"):
        for tag in ("visual", "collision"):
            for element in link.findall(tag):
                link.remove(element)
        side, _, number = link.get("name").partition("_link_")
        if side in SIDES and D[int(number) - 1] > 0.0:
            length = D[int(number) - 1]
            collision = ElementTree.SubElement(link, "collision")
            ElementTree.SubElement(collision, "origin", xyz=f"0 0 {length / 2!r}")
            geometry = ElementTree.SubElement(collision, "geometry")
            ElementTree.SubElement(geometry, "capsule", radius=str(RADIUS), length=str(length))
    for side, sign in zip(SIDES, (-1.0, 1.0), strict=True):
        origin = root.find(f"joint[@name='{side}_joint_1']/origin")
        assert float(origin.get("xyz").split()[1]) == sign * 0.195
        origin.set("xyz", f"0 {sign * offset!r} 0")
    return ElementTree.tostring(root, encoding="unicode")


@cache
def capsule_model(offset: float) -> CollisionModel:
    """The robot of `capsule_urdf`; its 16 pairs between the arms are those of the paper."""
    return CollisionModel.from_urdf(capsule_urdf(offset), srdf=ROOT / "urdf/dual_arm.srdf")


def joint_centres(positions: np.ndarray, offset: float) -> np.ndarray:
    """Base, shoulder, elbow, wrist and tip of both arms, (n, 2, 5, 3), in the torso; by DH."""
    arms = []
    for k, (base, sign) in enumerate(zip(BASES, (-1.0, 1.0), strict=True)):
        rotation = np.broadcast_to(base, (len(positions), 3, 3))
        point = np.broadcast_to([0.0, sign * offset, 0.0], (len(positions), 3))
        points = [point]
        for i in range(7):
            point = point + D[i] * rotation[:, :, 2]
            c, s = np.cos(positions[:, 7 * k + i]), np.sin(positions[:, 7 * k + i])
            ca, sa = np.cos(ALPHA[i]), np.sin(ALPHA[i])
            zero = np.zeros_like(c)
            step = [[c, -s * ca, s * sa], [s, c * ca, -c * sa], [zero, zero + sa, zero + ca]]
            rotation = rotation @ np.moveaxis(np.array(step), 2, 0)
            if D[i] > 0.0:
                points.append(point)
        arms.append(np.stack(points, axis=1))
    return np.stack(arms, axis=1)


def _point_to_segment(p: np.ndarray, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    v = q1 - q0
    t = np.clip(np.sum((p - q0) * v, axis=-1) / np.sum(v * v, axis=-1), 0.0, 1.0)
    return np.linalg.norm(p - q0 - t[..., None] * v, axis=-1)


def segment_distances(p0, p1, q0, q1) -> np.ndarray:
    """Distances of segments (..., 3) of some length: of four ends, and of lines that cross inside.

    The nearest points are an end of one, or else both inside and joined at right angles.
    """
    ends = [_point_to_segment(p, q0, q1) for p in (p0, p1)]
    ends += [_point_to_segment(q, p0, p1) for q in (q0, q1)]
    u, v, w = p1 - p0, q1 - q0, q0 - p0
    n = np.cross(u, v)
    nn = np.sum(n * n, axis=-1)
    skew = nn > 1e-20
    safe_nn = np.where(skew, nn, 1.0)
    s = np.sum(np.cross(w, v) * n, axis=-1) / safe_nn
    t = np.sum(np.cross(w, u) * n, axis=-1) / safe_nn
    inside = skew & (0.0 <= s) & (s <= 1.0) & (0.0 <= t) & (t <= 1.0)
    crossing = np.where(inside, np.abs(np.sum(w * n, axis=-1)) / np.sqrt(safe_nn), np.inf)
    return np.minimum(np.min(ends, axis=0), crossing)


def pair_distances(centres: np.ndarray) -> np.ndarray:
    """Distances (n, 4, 4) of the right arm's four segments from the left arm's four."""
    right, left = centres[:, 0, :, None], centres[:, 1, None, :]
    return segment_distances(right[:, :-1], right[:, 1:], left[:, :, :-1], left[:, :, 1:])


def least_distances(centres: np.ndarray) -> np.ndarray:
    """Least distance (n,) of the right arm's segments from the left arm's."""
    return pair_distances(centres).min(axis=(1, 2))


def refined(positions: np.ndarray, times: int = 20) -> np.ndarray:
    """Rows (times (n - 1) + 1, nq): between waypoints too, linear in the joints."""
    at = np.linspace(0.0, len(positions) - 1.0, times * (len(positions) - 1) + 1)
    rows = np.arange(len(positions))
    return np.array([np.interp(at, rows, column) for column in positions.T]).T


def largest_step(positions: np.ndarray) -> float:
    """Largest change of a joint from one waypoint to the next, degrees."""
    return float(np.degrees(np.abs(np.diff(positions, axis=0)).max()))


def largest_deviation(positions: np.ndarray, desired: np.ndarray) -> float:
    """Largest change of a joint by an adjustment, degrees."""
    return float(np.degrees(np.abs(positions - desired).max()))


def between_arms(model: CollisionModel, arms) -> CollisionModel:
    """The model with the pairs between the arms only."""
    return model.twin([model.pairs[k] for k in np.flatnonzero(sides(model, arms).between)])

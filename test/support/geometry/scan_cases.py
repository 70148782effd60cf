# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Small robots with motions, and what dense sampling says of them: for tests of scans."""

import numpy as np

from collision_monitor import CollisionModel
from collision_monitor.continuous.clearance_scan import Precision
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.verification.clearance.scanner import ScanRequest
from collision_monitor.verification.clearance.schedule import Schedule, Scheduled
from support.robots.toys import joint, link, robot

PRECISION = Precision(accuracy=1e-3, share=0.01, bin_share=0.1, resolution=1e-5)

# Two arms on a common slide; one joint mimics, one slides, axes point anywhere.
TWO_ARMS = robot(
    link("base", '<sphere radius="0.2"/>'),
    link("cart", '<box size="0.2 0.2 0.1"/>'),
    *(
        link(f"{side}{k}", '<cylinder radius="0.05" length="0.4"/>', "0 0 0.2")
        for side in "ab"
        for k in (1, 2, 3)
    ),
    joint("lift", "base", "cart", "prismatic", xyz="0 0 0.6"),
    joint("a_1", "cart", "a1", xyz="0.3 0 0.1", axis="0.2 1 0"),
    joint("a_2", "a1", "a2", xyz="0 0.05 0.5", axis="1 0.3 0.2"),
    joint("a_3", "a2", "a3", "prismatic", xyz="0 0 0.5", axis="0 1 1"),
    joint("b_1", "cart", "b1", xyz="-0.3 0 0.1", axis="0 1 0"),
    joint("b_2", "b1", "b2", xyz="0 0.05 0.5", axis="0 0.6 0.8"),
    joint(
        "b_3", "b2", "b3", xyz="0 0 0.5", axis="1 0 0",
        extra='<mimic joint="b_2" multiplier="-0.7" offset="0.2"/>',
    ),
)  # fmt: skip
POSTS = {
    "obstacles": [
        {"name": "post", "type": "capsule", "radius": 0.05, "length": 1.0,
         "position": [0.5, 0.5, 1.0]},
        {"name": "ball", "type": "sphere", "radius": 0.2, "position": [-0.6, -0.4, 1.6]},
    ]
}  # fmt: skip


def two_arms() -> CollisionModel:
    """The robot of two arms and its posts, one or two leaves a link."""
    return CollisionModel.from_urdf(TWO_ARMS, scene=POSTS, max_leaves_per_link=2)


def random_motion(
    model: CollisionModel, seed: int, points: int = 4, kind: int = 2, duration: float = 3.0
) -> Trajectory:
    """A motion through random configurations: linear (1), cubic (2) or quintic (3) pieces."""
    rng = np.random.default_rng(seed)
    times = np.linspace(0.0, duration, points)
    rows = model.random_configurations(points, seed)
    rates = [rng.uniform(-1.0, 1.0, rows.shape) for _ in range(kind - 1)]
    return Trajectory.through(model.joint_names, times, rows, *rates)


def two_motions(seed: int, start: float) -> list[Trajectory | Scheduled]:
    """Random motions of the two arms, in their own joints; the second begins at ``start``."""
    rng = np.random.default_rng(seed)
    one, other = (
        Trajectory.through(names, np.arange(4.0), rng.uniform(-1.5, 1.5, (4, len(names))))
        for names in (("a_1", "a_2", "a_3"), ("b_1", "b_2"))
    )
    return [one, Scheduled(other, start)]


def sampled(model: CollisionModel, schedule: Schedule, times: np.ndarray) -> np.ndarray:
    """(times, pairs) distances of all pairs at single instants."""
    rows = [schedule.configuration(time) for time in times]
    return np.array([model.distances(row) for row in rows])


def limits_of(model: CollisionModel, *values: float) -> np.ndarray:
    """(pairs, 3) thresholds, the same for all pairs; inf for those that are not given."""
    return np.tile([*values, *[np.inf] * (3 - len(values))], (len(model.pairs), 1))


def request(
    model: CollisionModel, schedule: Schedule, bins: int | np.ndarray, *limits: float, **more
) -> ScanRequest:
    """A scan with the same ``limits`` for all pairs, over ``bins`` bins or these edges."""
    edges = schedule.bins(bins) if isinstance(bins, int) else bins
    given = {"precision": PRECISION, **more}
    return ScanRequest(schedule, edges, limits_of(model, *limits), **given)

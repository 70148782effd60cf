# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""With live objects the level follows the distance of the shapes, not that of the leaves."""

import numpy as np
from support.geometry.coal_shapes import least
from support.ros.live_cases import coal_shapes, is_inside, pose_of, shape_of, ur5

from collision_monitor import Monitor
from collision_monitor.model.live.live_objects import Bounds
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.monitoring.monitor import Level
from collision_monitor.monitoring.speed_policy.speed_policy import SpeedPolicy

WARN, STOP = 0.1, 0.02
KINDS = ("box", "cylinder", "sphere", "capsule", "mesh", "rock")


class Watch:
    """A monitor of a robot that stands still."""

    def __init__(self, phase):
        self.live = LiveScene(ur5(), Bounds(objects=3, leaves_per_object=1, voxels=4, carried=1))
        self.monitor = Monitor(
            ur5(), WARN, STOP, narrow_phase=phase, live=self.live,
            behaviour=SpeedPolicy(ur5(), live=self.live),
        )  # fmt: skip
        self.now = 0.0

    def state(self, q):
        """After so long that velocities are known, and flags are released."""
        self.monitor.forget()
        for _ in range(20):
            self.now += 0.05
            state = self.monitor.update(ur5().joint_names, q, now=self.now, stamp=self.now)
        return state


def true_distance(live, q):
    """Of the nearest pair with an object, as coal sees it; 0 where one is inside the other."""
    shapes, found = coal_shapes(live, q), []
    for one, two in live.pairs:
        inside = is_inside(live, q, one, two)
        found.append(0.0 if inside else least(shapes[one], shapes[two]))
    return min(found)


def test_the_level_at_rest_is_that_of_the_shapes():
    rng = np.random.default_rng(1)
    watches = {"leaf": Watch("leaf"), "auto": Watch("auto")}
    false, seen, loose = dict.fromkeys(watches, 0), np.zeros(3, dtype=int), 0.0
    for k, q in enumerate(ur5().random_configurations(72, 1)):
        pose, shape = pose_of(rng, 0.3), shape_of(KINDS[k % 6], rng)
        pose[:3, 3] += ur5().leaf_segments(q)[rng.integers(len(ur5().leaves)), 0]
        for phase, watch in watches.items():
            watch.live.clear()
            if watch.state(q).level > Level.OK:  # near itself
                continue
            watch.live.add("thing", shape, None, pose)
            state, true = watch.state(q), true_distance(watch.live, q)
            assert state.distance <= max(true, 0.0) + 1e-6
            right = Level.ERROR if true <= STOP else Level.WARN if true <= WARN else Level.OK
            assert state.level >= right
            false[phase] += state.level > right
            seen[right] += 1
            if phase == "leaf" and true > 0.0:
                loose = max(loose, true - state.distance)
    assert seen.min() > 4
    assert false["auto"] == 0
    assert loose > 0.005  # with leaves alone it would be another test

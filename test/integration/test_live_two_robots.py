# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Objects on links of either of two robots, and what stays of them when the cell is another."""

import numpy as np
import pytest
from support.geometry.coal_shapes import least
from support.robots.toys import chain
from support.ros.live_cases import coal_leaves, pose_of, shape_of

from collision_monitor.model.live.desired_scene import DesiredScene, ObjectRequest
from collision_monitor.model.live.live_objects import Bounds
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.loading import Recipe, RobotSource
from collision_monitor.model.thresholds import Rule, Thresholds
from collision_monitor.monitoring.monitor import Level, Monitor
from collision_monitor.monitoring.speed_policy.speed_policy import SpeedPolicy
from collision_monitor.robot.description import Shape

BOUNDS = Bounds(objects=8, leaves_per_object=4, voxels=20, carried=4)


def load(gap):
    """Two arms with their bases ``gap`` metres apart."""
    mounts = {"left": (0.0, gap / 2, 0.0, 0.0, 0.0, 0.0), "right": (0.0, -gap / 2, 0, 0, 0, 0)}
    return Recipe(
        tuple(RobotSource(chain(4), "", name, f"{name}/", mounts[name]) for name in mounts)
    ).load()


@pytest.fixture(scope="module")
def near():
    return load(3.0)


@pytest.fixture(scope="module")
def far():
    return load(6.0)


def fill(keeper, rng):
    """A part in either hand, a post, a lamp over the left base and a cloud."""
    ball = Shape("sphere", np.eye(4), (0.1,))
    for name, link in (("left", "left/l3"), ("right", "right/l3")):
        shape = shape_of("box", rng)
        assert keeper.request(ObjectRequest(f"{name}/7", shape, link, pose_of(rng, 0.3)))
    assert keeper.request(ObjectRequest("cell/post", ball, "world", pose_of(rng, 1.0)))
    assert keeper.request(ObjectRequest("cell/lamp", ball, "left/l0", pose_of(rng, 1.0)))
    balls = np.column_stack([rng.uniform(-2, 2, (20, 3)), np.full(20, 0.05)])
    keeper.live.set_cloud(balls)


def agrees(live, q):
    """With coal on the same leaves; that of the two parts in hands."""
    found, leaves = live.distances(q), coal_leaves(live, q)
    for (one, two), distance in zip(live.pairs, found, strict=True):
        expected = least(leaves[one], leaves[two])
        assert distance <= max(expected, 0.0) + 1e-6
        if expected > 1e-6:
            assert distance == pytest.approx(expected, abs=1e-6)
    assert live.distance(q).distance == pytest.approx(found.min(), abs=1e-9)
    pairs = list(map(frozenset, live.pairs))
    return found[pairs.index(frozenset(("left/7", "right/7")))]


def test_distances_across_robots_before_and_after_the_cell_is_another(near, far):
    rng = np.random.default_rng(5)
    keeper = DesiredScene()
    keeper.use_scene(LiveScene(near.model, BOUNDS))
    fill(keeper, rng)
    pairs = set(map(frozenset, keeper.live.pairs))
    for pair in (
        ("left/7", "right/7"), ("left/7", "right/l2"), ("right/7", "left/l1"),
        ("left/7", "cell/post"), ("right/l3", "cloud"), ("right/l3", "cell/lamp"),
    ):  # fmt: skip
        assert frozenset(pair) in pairs
    assert frozenset(("left/7", "left/l3")) not in pairs
    configurations = near.model.random_configurations(4, 3)
    before = [agrees(keeper.live, q) for q in configurations]
    keeper.use_scene(LiveScene(far.model, BOUNDS))
    assert keeper.fault(0.0) == ""
    assert set(keeper.live.objects) == {"left/7", "right/7", "cell/post", "cell/lamp"}
    after = [agrees(keeper.live, q) for q in configurations]
    assert np.abs(np.subtract(before, after)).min() > 0.01


def test_rules_across_robots_count_for_what_they_carry(near):
    live = LiveScene(near.model, BOUNDS)
    keeper = DesiredScene()
    keeper.use_scene(live)
    ball = Shape("sphere", np.eye(4), (0.1,))
    for number, side in ((7, "left"), (8, "right")):
        touch = frozenset({f"{side}/l2"})  # it is at the joint between them
        assert keeper.request(ObjectRequest(f"cell/{number}", ball, f"{side}/l3", np.eye(4), touch))
    names = list(near.model.joint_names)
    monitor = Monitor(near.model, behaviour=SpeedPolicy(near.model, live=live), live=live)
    q = np.array([0.2, 0.3, 0.3, -0.2, 0.0, 0.0])
    apart = dict(zip(live.pairs, live.distances(q), strict=True))
    gap = next(d for pair, d in apart.items() if set(pair) == {"cell/7", "cell/8"})
    monitor.set_thresholds(Thresholds(0.0, 0.0))
    is_clear = monitor.update(names, q, 1.0)
    assert is_clear.level == Level.OK
    for k, pattern in enumerate(("cell/7 cell/8", "cell/* cell/*")):
        rule = Rule(pattern, warn=gap + 0.02, stop=gap + 0.01)
        monitor.set_thresholds(Thresholds(0.0, 0.0, (rule,)))
        state = monitor.update(names, q, 1.1 + 0.1 * k)
        assert (state.level, set(state.pair)) == (Level.ERROR, {"cell/7", "cell/8"})
        assert state.speed_scale == 0.0

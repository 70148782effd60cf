# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""An obstacle is an obstacle: what is decided is the same whether a file or a topic brought it."""

import numpy as np
import pytest
from support.robots.robots import require
from support.robots.toys import chain, link, robot
from support.ros.live_cases import TABLE

from collision_monitor import CollisionModel
from collision_monitor.errors import ConfigurationError
from collision_monitor.fitting.shapes import leaf_rows
from collision_monitor.model.live.live_objects import Bounds
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.thresholds import Rule, Thresholds
from collision_monitor.monitoring.monitor import Level, Monitor
from collision_monitor.monitoring.settings import SpeedSettings
from collision_monitor.monitoring.speed_policy.braking_check import BrakingCheck, Measured
from collision_monitor.monitoring.speed_policy.speed_policy import SpeedPolicy
from collision_monitor.robot.description import Shape

THINGS = [
    {"name": "cell/post", "type": "cylinder", "radius": 0.05, "length": 1.2,
     "position": [0.5, 0.2, 0.6]},
    {"name": "cell/lamp", "type": "sphere", "radius": 0.1, "position": [-0.3, -0.4, 0.7]},
    {"name": "cell/shelf", "type": "box", "size": [0.3, 0.5, 0.05], "position": [0.2, -0.6, 0.4]},
    {"name": "cell/tool", "type": "box", "size": [0.05, 0.05, 0.25], "position": [0.0, 0.12, 0.0],
     "link": "wrist_3_link"},
    {"name": "cell/camera", "type": "capsule", "radius": 0.03, "length": 0.1,
     "link": "forearm_link", "position": [0.2, 0.0, 0.12]},
]  # fmt: skip
TOUCH = {"cell/tool": ("wrist_2_link",), "cell/camera": ("upper_arm_link", "cell/tool")}
IGNORED = [
    ["cell/tool", "wrist_2_link"], ["cell/camera", "upper_arm_link"], ["cell/camera", "cell/tool"]
]  # fmt: skip
RULES = (
    Rule("cell/lamp *", warn=0.15), Rule("cell/tool cell/shelf", warn=0.12, stop=0.04),
    Rule("cell/tool *_link", 0.03),
)  # fmt: skip
ACCELERATIONS = np.full(6, 4.0)


@pytest.fixture(scope="module")
def models():
    """(a model that knows all obstacles, one that knows the table, a live scene of the rest)."""
    files = require("ur5")
    options = {"srdf": files.srdf, "package_dirs": files.package_dirs}
    scene = {"obstacles": TABLE["obstacles"] + THINGS, "ignore": TABLE["ignore"] + IGNORED}
    known = CollisionModel.from_urdf(files.urdf, scene=scene, **options)
    bare = CollisionModel.from_urdf(files.urdf, scene=TABLE, **options)
    live = LiveScene(bare, Bounds(objects=10, leaves_per_object=32))
    return known, bare, live


def rows_of(model, name):
    return leaf_rows([leaf for leaf in model.leaves if leaf.link == name])


def fill(models, phase="leaf"):
    """The obstacles that one model has in its file, leaf by leaf, or as they are."""
    known, _, live = models
    live.clear()
    for thing in known.scene.obstacles:
        if thing.name == "table":
            continue
        link = thing.link if thing.link in live.model.robot.links else None
        shape = rows_of(known, thing.name) if phase == "leaf" else thing.shape
        live.add(thing.name, shape, link, touch=TOUCH.get(thing.name, ()))


def monitors(models, rules=(), phase="leaf"):
    known, bare, live = models
    found = []
    for model, around in ((known, None), (bare, live)):
        behaviour = SpeedPolicy(model, SpeedSettings(), ACCELERATIONS, live=around)
        monitor = Monitor(
            model, zero_state_confirmation=0.0, narrow_phase=phase, behaviour=behaviour,
            live=around,
        )  # fmt: skip
        monitor.set_thresholds(Thresholds(0.1, 0.02, rules))
        found.append(monitor)
    return found


def motion(model, seed):
    """Rows (q, v) of joints that speed up and slow down."""
    rng = np.random.default_rng(seed)
    q, v = rng.uniform(-2.0, 2.0, 6), np.zeros(6)
    wanted = rng.uniform(-1.5, 1.5, 6)
    for step in range(150):
        if step % 50 == 49:
            wanted = rng.uniform(-1.5, 1.5, 6)
        v = v + np.clip(wanted - v, -0.032, 0.032)
        q = q + v * 0.008
        yield q, v


def same(one, other):
    assert other.distance == pytest.approx(one.distance, abs=1e-9)
    assert set(other.clearance.links) == set(one.clearance.links)
    assert (other.level, other.action) == (one.level, one.action)
    assert other.speed_scale == pytest.approx(one.speed_scale, abs=1e-6)


@pytest.mark.parametrize("rules", [(), RULES], ids=["alike", "by rules"])
def test_the_verdict_is_that_of_the_same_obstacles_in_a_file(models, rules):
    fill(models)
    known, live = monitors(models, rules)
    names = list(known.model.joint_names)
    levels, off = set(), []
    for seed in range(4):
        known.forget()
        live.forget()
        for step, (q, v) in enumerate(motion(known.model, seed)):
            now = 100.0 * seed + 0.008 * step
            one, other = (m.update(names, q, now, now, 0.0, tuple(v)) for m in (known, live))
            same(one, other)
            levels.add(one.level)
            off.append(abs(one.speed_scale - other.speed_scale))
            if step % 30 == 0 and one.decision.inside:
                q_out = [m.behaviour.escape_direction(q) for m in (known, live)]
                assert (q_out[0] is None) == (q_out[1] is None)
                if q_out[0] is not None:
                    np.testing.assert_allclose(q_out[1], q_out[0], atol=1e-6)
            if step % 30 == 0:
                times = [m.behaviour.time_to_collision(q) for m in (known, live)]
                assert times[1] == pytest.approx(times[0], abs=0.02)
        found = dict(zip(map(frozenset, live.pairs), live.distances(), strict=True))
        expected = dict(zip(map(frozenset, known.pairs), known.distances(), strict=True))
        assert found.keys() == expected.keys()
        for pair, distance in expected.items():
            assert found[pair] == pytest.approx(distance, abs=1e-9)
    assert levels >= {Level.WARN, Level.ERROR}
    assert np.mean(off) < 0.005


def test_exact_verdicts_are_those_of_the_same_obstacles_in_a_file(models):
    fill(models, "auto")
    known, live = monitors(models, phase="auto")
    names = list(known.model.joint_names)
    levels, off = set(), []
    for seed in range(5):
        known.forget()
        live.forget()
        for step, (q, v) in enumerate(motion(known.model, seed)):
            now = 100.0 * seed + 0.008 * step
            one, other = (m.update(names, q, now, now, 0.0, tuple(v)) for m in (known, live))
            # Depths are those of leaves, which are others here.
            assert max(other.distance, 0.0) == pytest.approx(max(one.distance, 0.0), abs=2e-6)
            assert other.level == one.level
            levels.add(one.level)
            off.append(abs(one.speed_scale - other.speed_scale))
    assert levels >= {Level.WARN, Level.ERROR}
    # Bounds on the braking path have a tolerance. By leaves, 8 % would be off by more than 0.05.
    assert np.mean(off) < 0.002 and max(off) < 0.05


def test_an_object_that_moves_or_is_another_is_measured_again_on_the_path(models):
    """What was measured along the braking path of an object that is gone, or was elsewhere."""
    _, bare, live = models
    live.clear()
    _, monitor = monitors(models, phase="auto")
    names, q, v = list(bare.joint_names), np.array([0.0, -1.2, 1.0, 0.2, 0.3, 0.0]), np.zeros(6)
    v[0] = 1.5
    ahead = q + 0.4 / 1.5 * v  # before it stands
    tip = bare.link_poses(ahead)["wrist_3_link"]
    box, beside, far = Shape("box", np.eye(4), (0.08, 0.08, 0.08)), tip.copy(), tip.copy()
    beside[2, 3] -= 0.16
    far[2, 3] += 3.0
    live.add("cell/1", box, None, beside)
    poses = {Level.WARN: beside, Level.ERROR: tip, Level.OK: far}
    for k, level in enumerate([Level.WARN, Level.ERROR, Level.OK] * 2):
        live.move("cell/1", poses[level])
        for step in range(100):  # an earlier stop is released
            now = 10.0 * k + 0.008 * step
            state = monitor.update(names, q, now, now, 0.0, tuple(v))
        assert state.level is level


@pytest.fixture
def at_rest(models):
    """(scene, monitor, its state at a time, a ball in the hand) of a robot that stands still."""
    _, bare, live = models
    live.clear()
    _, monitor = monitors(models)
    names, q = list(bare.joint_names), np.array([0.0, -1.2, 1.0, 0.2, 0.3, 0.0])
    where = bare.link_poses(q)["wrist_3_link"]

    def look(now):
        return monitor.update(names, q, now, now, 0.0, (0.0,) * 6)

    return live, monitor, look, np.array([[*where[:3, 3]] * 2 + [0.05]])


def test_what_comes_and_goes_between_two_states_counts_at_the_next(at_rest):
    live, monitor, look, ball = at_rest
    assert look(1.0).level is not Level.ERROR
    live.add("hand/1", ball, expires=1.05)
    state = look(1.01)
    assert state.level is Level.ERROR
    assert "hand/1" in state.message
    assert "hand/1" in state.pair
    live.remove("hand/1")
    assert "hand/1" in monitor.state(1.011).message  # until news of the joints
    assert "hand/1" not in look(1.02).clearance.links
    live.add("hand/1", ball, expires=1.05)
    assert "hand/1" in look(1.03).clearance.links
    assert "hand/1" not in look(1.06).clearance.links


def test_two_scenes_are_one_too_many(models):
    _, bare, live = models
    with pytest.raises(ConfigurationError, match="different live scenes"):
        Monitor(bare, behaviour=SpeedPolicy(bare), live=live)


def test_a_stop_that_is_held_says_of_which_pair(at_rest):
    live, monitor, look, ball = at_rest
    clear = look(1.0)
    live.add("hand/1", ball)
    caused = look(1.01)
    assert "hand/1" in caused.pair and caused.held is None
    live.remove("hand/1")
    held = look(1.02)
    assert (held.action, held.held) == ("stop", caused.pair)
    a, b = caused.pair
    c, d = clear.clearance.links
    assert held.message == (
        f"stop held by hysteresis of {a} and {b}: now {clear.distance:.3f} m between {c} and {d}"
    )
    for k in range(200):
        released = look(1.03 + 0.01 * k)
    assert (released.action, released.held) == ("none", None)
    assert released.message == clear.message


def test_an_object_counts_at_a_velocity_whose_braking_distance_is_no_number():
    model = CollisionModel.from_urdf(chain(4))
    live = LiveScene(model)
    check = BrakingCheck(model, np.full(len(model.joint_names), 5.0), live=live)
    check.set_thresholds(Thresholds().of(model.pairs), Thresholds())
    pose = np.eye(4)
    pose[2, 3] = 3.0
    live.add("ball", np.array([[0.0] * 6 + [0.05]]), None, pose)
    q = np.zeros(len(model.joint_names))
    with np.errstate(all="ignore"):
        decision = check.decide(q, np.eye(len(q))[0] * 1e200, Measured(live.distance(q)))
    assert decision.scale == 0.0 and "ball" in check.pair(decision.pair)


def test_objects_that_are_attached_later_are_swept_along_the_braking_path():
    """Their leaves are more than the robot has: the work space of the search has room for them."""
    turn = '<joint name="turn" type="revolute"><parent link="base"/><child link="arm"/>{}</joint>'
    limit = '<axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="1" velocity="4"/>'
    model = CollisionModel.from_urdf(robot(link("base", ""), link("arm"), turn.format(limit)))
    live = LiveScene(model, Bounds(objects=17))
    settings = SpeedSettings(reaction_time=0.0, release_cycles=1)
    check = BrakingCheck(model, np.full(1, 2.0), settings, live)
    check.set_thresholds(np.empty((0, 2)), Thresholds(0.2, 0.02))
    radius, post = 0.01, 0.1
    for k in range(16):  # a comb along the arm; its last tooth comes nearest to the post
        teeth = np.linspace(0.2 + 0.05 * k, 0.24 + 0.05 * k, 16)
        rows = [[x, 0.0, 0.0, x, 0.0, 0.0, radius] for x in teeth]
        live.add(f"tooth/{k}", np.array(rows), "arm")
    live.add("post", np.array([[0.99, 0.0, 0.0, 0.99, 0.0, 0.0, post]]))
    alarms = 0
    for k in range(400):
        angle, speed = 0.5 + 0.5 * (k % 20) / 20.0, 0.05 if k % 2 else 1.5
        decision = check.decide(
            np.array([-angle]), np.array([speed]), Measured(live.distance(np.array([-angle])))
        )
        end = angle - 0.5 * speed**2 / 2.0
        least = 2.0 * 0.99 * np.sin(0.5 * max(end, 0.0)) - radius - post
        if decision.pair >= 0 and not decision.stop:
            assert decision.braking_clearance <= least + 1e-6
        assert decision.stop or least > 0.02
        alarms += decision.stop
    assert 50 < alarms < 250

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Margins of every pair, and the motion as an adjustment takes it."""

import numpy as np
import pytest
from support.robots import close_shoulders
from support.robots.dual_arm_cases import JOINTS as DUAL_ARM
from support.robots.dual_arm_cases import ROOT, capsule_model
from support.robots.planar_arms import JOINTS, ball, meeting, planar_model

from collision_monitor.errors import ConfigurationError, MotionError
from collision_monitor.motion import read_motion
from collision_monitor.motion.trajectory import Motion
from collision_monitor.self_collision.arms import find_chains
from collision_monitor.self_collision.margins import choose_margins, sides
from collision_monitor.self_collision.preparation import checked, configurations

# -- margins: which pair is kept how far apart, against a table worked out from names ----


EASE = 0.004  # m: documented room of a pair that may not come nearer than desired
NEAR_ITSELF = 0.03  # m: nearer links of one arm are measured on meshes
CONTACT_MARGIN = 0.005  # m: documented distance between the meshes of such a pair, at most


def eased_to(least, danger, kind="outside"):
    """The bound of a pair whose leaves come as near as ``least``, none of them near by design."""
    if least < (NEAR_ITSELF if kind == "inside" else 0.0):
        return min(CONTACT_MARGIN, danger)
    near = min(max(least, 0.0), danger)
    return max(near - EASE, 0.5 * near)


def kind_of(a, b):
    """What a pair is to two arms, by the names of its links."""
    owner = {name.split("_")[0] for name in (a, b)} & {"right", "left"}
    both = all(name.split("_")[0] in ("right", "left") for name in (a, b))
    return "between" if len(owner) == 2 else "inside" if both else "outside" if owner else "none"


@pytest.mark.parametrize("scene", [(), (ball("ball", 0.6, 0.0), ball("far", 3.0, 3.0))])
def test_pairs_are_sorted_by_the_arms_of_their_links(scene):
    for model in (planar_model(*scene), capsule_model(0.195)):
        arms = find_chains(model.robot, model.semantics)
        kinds = sides(model, arms)
        for k, pair in enumerate(model.pairs):
            found = [name for name in ("between", "inside", "outside") if getattr(kinds, name)[k]]
            assert found == [kind_of(*pair)] or (not found and kind_of(*pair) == "none")
        swapped = sides(model, arms[::-1])
        assert all(
            np.array_equal(getattr(kinds, name), getattr(swapped, name))
            for name in ("between", "inside", "outside")
        )


def test_every_pair_has_the_distance_that_its_kind_asks_for():
    # The motion ends 0.043 m from one ball, and 0.014 m from another one.
    model = planar_model(ball("cup", 1.2, 0.0, 0.05), ball("wall", 0.6, -0.85, 0.05))
    arms = find_chains(model.robot, model.semantics)
    desired = meeting(11)
    desired[-1, :3] = [0.32, 0.0, 0.0]
    margins = choose_margins(model, arms, desired, 0.1, 0.02)
    along = np.array([model.distances(q) for q in desired])
    ends = np.minimum(along[0], along[-1])
    seen = set()
    for k, (a, b) in enumerate(model.pairs):
        kind = kind_of(a, b)
        if kind == "between":
            expected = (0.1, 0.02, False)
        elif kind == "inside":
            bound = eased_to(along[:, k].min(), 0.02, kind)
            expected = (bound, bound, True)
        elif margins.eased[k]:
            bound = eased_to(along[:, k].min(), 0.02)
            assert "base" in (a, b)  # a link beside its own root
            expected = (bound, bound, True)
        else:
            expected = (min(0.1, max(0.02, ends[k] - EASE)), 0.02, False)
            kind = ("near" if expected[0] < 0.1 else "far") + " outside"
        assert (margins.safe[k], margins.danger[k], margins.eased[k]) == pytest.approx(expected)
        seen.add(kind)
    assert seen >= {"between", "inside", "near outside", "far outside"}
    assert not (margins.kept & margins.eased).any()
    assert (margins.danger <= margins.safe).all()


@pytest.fixture(scope="module")
def dual_arm():
    """The capsule robot, its arms and its motion."""
    model = capsule_model(0.195)
    motion = read_motion(ROOT / "config/dual_arm_motion.csv")
    assert motion.joint_names == DUAL_ARM == model.joint_names
    return model, find_chains(model.robot, model.semantics), motion.positions


def test_a_desired_motion_keeps_what_it_is_eased_to(dual_arm):
    model, arms, desired = dual_arm
    for danger in (0.05, 0.001, 0.0):
        margins = choose_margins(model, arms, desired, 0.1, danger)
        assert margins.eased.sum() == 6  # three inside each arm
        least = np.min([model.distances(q) for q in desired], axis=0)[margins.eased]
        bound = margins.safe[margins.eased]
        assert bound == pytest.approx([eased_to(d, danger, "inside") for d in least])
        assert (bound <= least).all() and (bound >= 0.0).all()
        assert margins.safe[margins.kept] == pytest.approx(0.1)


def test_links_that_touch_at_the_goal_are_not_eased_away():
    model = planar_model()
    desired = meeting(11)
    desired[:, 1:3] = np.linspace(0.0, 2.2, 11)[:, None]  # the right arm folds into itself
    arms = find_chains(model.robot, model.semantics)
    margins = choose_margins(model, arms, desired, 0.1, 0.02)
    k = model.pairs.index(("right_1", "right_3"))
    assert model.distances(desired[-1])[k] < 0.0
    assert margins.safe[k] == margins.danger[k] == 0.0
    assert margins.on_meshes[k]


def test_a_goal_in_the_danger_zone_is_not_eased_away():
    model = planar_model(ball("cup", 1.1, 0.0, 0.05))
    arms = find_chains(model.robot, model.semantics)
    desired = meeting(5)
    desired[-1, :3] = [np.arctan2(0.5, 1.1), 0.0, 0.0]  # into the cup
    margins = choose_margins(model, arms, desired, 0.1, 0.02)
    pair = model.pairs.index(("right_3", "cup"))
    assert model.distances(desired[-1])[pair] < 0.0
    assert margins.safe[pair] == margins.danger[pair] == 0.02


def test_a_large_safe_distance_does_not_let_arms_meet(dual_arm):
    model, arms, desired = dual_arm
    margins = choose_margins(model, arms, desired, 1.5, 0.05)
    pair = model.pairs.index(("right_link_5", "left_link_5"))
    assert margins.eased[pair]  # 1.5 m is more than these two hardly ever have
    assert min(model.distances(q)[pair] for q in desired) < 0.0
    assert margins.safe[pair] == margins.danger[pair] == pytest.approx(0.05 - EASE)
    ends = choose_margins(model, arms, desired[[0, 50]], 1.5, 0.05)  # it ends in the other arm
    assert ends.safe[pair] == 0.0
    with pytest.raises(ConfigurationError, match=r"safe_distance: 5.0 m: all links of 'right_arm'"):
        choose_margins(model, arms, desired, 5.0, 0.05)


def test_nor_arms_run_into_what_they_can_leave_alone():
    model = planar_model(ball("cup", 1.0, 0.0, 0.05))
    arms = find_chains(model.robot, model.semantics)
    pair = model.pairs.index(("right_3", "cup"))
    far, into = np.zeros(6), np.zeros(6)
    far[:3], into[0] = [-1.2, 0.0, 0.0], np.arctan2(0.5, 1.0)
    assert model.distances(into)[pair] < 0.0 < 0.3 < model.distances(far)[pair]
    for desired, bound in (([far, into, far], 0.02 - EASE), ([far, into], 0.0)):
        margins = choose_margins(model, arms, np.array(desired), 1.2, 0.02)
        assert margins.eased[pair]
        assert margins.safe[pair] == pytest.approx(bound)


def test_links_of_two_arms_that_are_often_near_have_their_own_distances():
    model, pair = close_shoulders.model(), 0
    assert model.pairs[pair] == ("right_upper", "left_upper")
    margins = choose_margins(model, close_shoulders.arms(), np.full((1, 4), 1.9), 0.1, 0.05)
    assert margins.eased[pair] and margins.on_meshes[pair]
    assert margins.danger[pair] == pytest.approx(0.5 * margins.safe[pair])
    gaps = close_shoulders.upper_distance(model.random_configurations(20_000, seed=11))
    assert 0.01 < np.mean(gaps[gaps > 0.0] < margins.safe[pair]) < 0.1  # 5 % are below the usual
    assert margins.kept.any() and (margins.danger[margins.kept] == 0.05).all()


# -- desired motions made ready: the same motion, fine enough, of all joints; or an error --


MODEL = planar_model()
ROUNDING = 1e-6


def test_rounding_beyond_a_limit_is_allowed_and_more_is_not():
    def at(value):
        motion = Motion(JOINTS[:1], np.arange(1.0), np.array([[value]]))
        return configurations(MODEL, motion, np.zeros(6))[0]

    assert at(2.0 + 0.9 * ROUNDING)[0] > 2.0
    with pytest.raises(MotionError, match="waypoint 0 at 0 s: joint 'right_j1' is at -2"):
        at(-2.0 - 1.1 * ROUNDING)


def test_what_is_checked_is_an_own_copy():
    positions = np.zeros((2, 6))
    motion = checked(MODEL, Motion(list(JOINTS), [0, 1], positions))
    positions[0, 0] = 1.0
    assert motion.positions[0, 0] == 0.0 and motion.times.dtype == float
    assert motion.joint_names == JOINTS

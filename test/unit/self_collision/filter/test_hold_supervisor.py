# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The supervisor: one order to hold for each time that two arms come too near."""

import math
from dataclasses import replace

import pytest
from support.robots import close_shoulders
from support.robots.toys import joint, link
from support.robots.two_slides import ARMS, JOINTS, URDF, apart, model

from collision_monitor import CollisionModel
from collision_monitor.errors import ArmsError
from collision_monitor.monitoring.joint_state_buffer import JointState
from collision_monitor.monitoring.monitor import Level
from collision_monitor.self_collision.hold_supervisor import HoldSupervisor, names_of

NAMES = (*JOINTS, "mast_joint")
MODEL = model()


class Watched:
    """A supervisor that hears a joint state every 10 ms."""

    def __init__(self):
        self.supervisor = HoldSupervisor(MODEL, ARMS, 0.1, 0.05)
        self.now = 100.0

    def at(self, gap: float) -> bool:
        """Whether it orders to hold at this gap."""
        self.now += 0.01
        state, hold = self.supervisor.update(JointState(NAMES, [*apart(gap), 0.5], self.now))
        assert state.distance == pytest.approx(gap, abs=1e-12)
        assert self.supervisor.distance(self.now) == state.distance
        return hold


@pytest.fixture
def watched():
    return Watched()


def test_only_pairs_between_the_arms_are_watched():
    assert len(MODEL.pairs) == 3  # and each ball against the mast
    supervisor = HoldSupervisor(MODEL, ARMS)
    assert supervisor.model.pairs == [("r_ball", "l_ball")]
    assert supervisor.model is not MODEL


def test_what_an_arm_carries_is_a_part_of_it():
    scene = {
        "obstacles": [
            {"name": name, "link": link, "type": "sphere", "radius": 0.05, "position": [0, 0, z]}
            for name, link, z in (("tool", "r_ball", 0.3), ("stone", "base", 1.0))
        ]
    }
    carrying = CollisionModel.from_urdf(URDF, scene=scene)
    assert names_of(carrying, ARMS[0]) == {"r_cart", "r_ball", "tool"}
    assert names_of(carrying, ARMS[1]) == {"l_cart", "l_ball"}
    between = {frozenset(pair) for pair in HoldSupervisor(carrying, ARMS).pairs}
    assert between == {frozenset(("r_ball", "l_ball")), frozenset(("tool", "l_ball"))}


def test_links_that_are_hardly_ever_apart_are_no_event():
    # Shoulders that turn on the spot, 20 mm apart, beside the balls.
    fixed = "".join(
        link(f"{side}_shoulder", '<sphere radius="0.1"/>')
        + joint(f"{side}_turn", "base", f"{side}_shoulder", xyz=f"{x} 0 9")
        for side, x in (("r", -0.11), ("l", 0.11))
    )
    arms = tuple(replace(arm, links=(*arm.links, f"{arm.name[0]}_shoulder")) for arm in ARMS)
    shoulders = CollisionModel.from_urdf(URDF.replace("</robot>", f"{fixed}</robot>"))
    supervisor = HoldSupervisor(shoulders, arms)
    assert supervisor.left_out == [("r_shoulder", "l_shoulder")]
    assert frozenset(("r_ball", "l_ball")) in set(map(frozenset, supervisor.model.pairs))
    assert supervisor.update(JointState(shoulders.joint_names, [0.1] * 7, 1.0))[1] is False
    with pytest.raises(ArmsError, match="nearer than 100 m in nearly all"):
        HoldSupervisor(shoulders, arms, 200.0, 100.0)


@pytest.mark.parametrize("count", [2, 1])
@pytest.mark.parametrize(("turned", "holds"), [(0.9, False), (0.35, True)])
def test_links_that_are_often_near_are_held_at_their_own_distance(turned, holds, count):
    """Of two arms, and of one arm beside links that it does not move."""
    q = [turned, 0.2, -turned, 0.1]
    assert close_shoulders.upper_distance(q) < 0.05
    arms = close_shoulders.arms()[:count]
    supervisor = HoldSupervisor(close_shoulders.model(), arms, 0.1, 0.05)
    assert supervisor.left_out == []
    _, hold = supervisor.update(JointState(close_shoulders.JOINTS, q, 1.0))
    assert hold == holds
    nearest = supervisor.nearest
    assert set(nearest.links) == {"right_upper", "left_upper"}
    assert nearest.distance == pytest.approx(close_shoulders.upper_distance(q), abs=1e-6)
    assert (nearest.above < 0.0) == holds and 0.0 < nearest.danger < 0.05
    assert supervisor.distance(1.0) == nearest.distance
    assert supervisor.below() == ({nearest.links: nearest.distance} if holds else {})
    assert f"{nearest.distance:.4f} m apart, the danger distance of these links" in str(nearest)


def test_links_keep_their_own_distance_where_all_are_often_near():
    """Hands that are disabled leave the upper arms as the only pair."""
    robot = close_shoulders.model()
    only = robot.twin([p for p in robot.pairs if set(p) == {"right_upper", "left_upper"}])
    supervisor = HoldSupervisor(only, close_shoulders.arms(), 0.1, 0.05)
    assert supervisor.pairs == only.pairs
    assert not supervisor.update(JointState(close_shoulders.JOINTS, [0.9, 0.2, -0.9, 0.1], 1.0))[1]
    assert supervisor.update(JointState(close_shoulders.JOINTS, [0.35, 0.2, -0.35, 0.1], 1.1))[1]


def test_arms_between_which_nothing_is_checked_are_refused():
    with pytest.raises(ArmsError, match="between 'right' and 'right' is checked"):
        HoldSupervisor(MODEL, (ARMS[0], ARMS[0]))


def test_one_order_for_one_event(watched):
    assert not any(watched.at(gap) for gap in (0.5, 0.2, 0.1, 0.0501))
    assert watched.at(0.0499)
    assert not any(watched.at(gap) for gap in (0.04, 0.0, -0.1, 0.0, 0.049, 0.051, 0.0549))
    assert watched.supervisor.in_event and watched.supervisor.events == 1
    assert not watched.at(0.0551)
    assert not watched.supervisor.in_event
    assert watched.at(0.04)
    assert watched.supervisor.events == 2


def test_a_motion_that_leads_away_is_not_held_again_one_that_leads_nearer_is(watched):
    assert watched.at(0.03)
    watched.supervisor.allow_leaving()
    assert not any(watched.at(gap) for gap in (0.031, 0.03, 0.0275, 0.0251, 0.04))
    assert watched.at(0.0249)
    assert not any(watched.at(gap) for gap in (0.02, 0.0))  # held; it may take a moment
    watched.supervisor.allow_leaving()
    assert not any(watched.at(gap) for gap in (0.01, 0.04, 0.06))
    assert watched.supervisor.events == 1


def test_nothing_is_known_before_the_first_state_and_after_the_last(watched):
    assert "no joint state" in watched.supervisor.joint_state_fault(99.0)
    assert math.isnan(watched.supervisor.distance(99.0))
    watched.at(0.3)
    assert math.isnan(watched.supervisor.distance(watched.now + 0.6))
    assert watched.supervisor.joint_state_fault(watched.now + 0.4) == ""
    assert "old" in watched.supervisor.joint_state_fault(watched.now + 0.6)
    assert watched.supervisor.positions() == dict(zip(NAMES, [*apart(0.3), 0.5], strict=True))


def test_a_joint_that_is_not_heard_of_is_named(watched):
    watched.supervisor.update(JointState(JOINTS, apart(0.01), 1.0))
    assert "mast_joint" in watched.supervisor.joint_state_fault(1.0)
    assert not watched.supervisor.in_event


def test_bad_data_are_a_doubt_and_no_order(watched):
    watched.at(0.06)
    state, hold = watched.supervisor.update(JointState(NAMES, [math.nan] * 5, watched.now))
    assert (state.level, hold) == (Level.ERROR, False)
    assert "nan" in watched.supervisor.joint_state_fault(watched.now)


def test_distances_may_be_changed(watched):
    assert not watched.at(0.2)
    watched.supervisor.set_distances(0.4, 0.25)
    assert watched.supervisor.joint_state_fault(watched.now + 0.1) == ""  # the last is still known
    assert watched.at(0.2)


def test_other_distances_during_a_motion_that_leads_away_are_no_approach(watched):
    assert watched.at(0.04)
    watched.supervisor.allow_leaving()
    for danger in (0.07, 0.045):
        watched.supervisor.set_distances(0.1, danger)
        assert watched.supervisor.nearest.danger == danger
        assert not watched.at(0.04)
    assert watched.at(0.03)


def test_pairs_are_selected_again_for_other_distances(watched):
    shoulders, arms = close_shoulders.model(), close_shoulders.arms()
    for before, after in (((0.1, 0.05), (0.12, 0.11)), ((0.12, 0.11), (0.1, 0.05))):
        changed, fresh = HoldSupervisor(shoulders, arms, *before), HoldSupervisor(shoulders, arms)
        fresh.set_distances(*after)
        changed.set_distances(*after)
        expected = HoldSupervisor(shoulders, arms, *after)
        assert changed.left_out == fresh.left_out == expected.left_out
        assert changed.pairs == fresh.pairs == expected.pairs
    with pytest.raises(ArmsError, match="nothing can be monitored"):
        watched.supervisor.set_distances(200.0, 100.0)
    assert not watched.at(0.2) and watched.at(0.04)

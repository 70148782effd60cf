# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Rigid bodies: fixed joints merge, mimics follow, motion is Rodrigues' formula."""

import numpy as np
import pytest
from support.robots.toy_models import toy_robot
from support.robots.toys import joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.robot.bodies import leading_joint, rigid_bodies
from collision_monitor.robot.urdf import load_robot


def test_links_over_fixed_joints_share_a_body():
    bodies = rigid_bodies(
        toy_robot(
            link("base"), link("plate"), link("arm"), link("tool"),
            joint("f", "base", "plate", "fixed", xyz="0 0 1"),
            joint("j", "plate", "arm"),
            joint("g", "arm", "tool", "fixed", xyz="0 2 0"),
        )
    )  # fmt: skip
    assert bodies.link_bodies == {"base": 0, "plate": 0, "arm": 1, "tool": 1}
    assert bodies.link_poses["plate"][:3, 3] == pytest.approx([0, 0, 1])
    assert bodies.placements[0][:3, 3] == pytest.approx([1, 0, 1])
    assert bodies.joint_names == ("j",)


MIMICS = robot(
    link("a"), link("b"), link("c"), link("d"),
    joint("lead", "a", "b"),
    joint("second", "b", "c", extra='<mimic joint="lead" multiplier="-2" offset="0.5"/>'),
    joint("third", "c", "d", extra='<mimic joint="second" multiplier="3" offset="1"/>'),
)  # fmt: skip


def test_a_mimic_of_a_mimic_follows_the_leader():
    loaded = load_robot(MIMICS)
    by_name = {j.name: j for j in loaded.joints}
    assert leading_joint(by_name["second"], by_name) == ("lead", -2.0, 0.5)
    assert leading_joint(by_name["third"], by_name) == ("lead", -6.0, 2.5)  # 3 (-2 q + 0.5) + 1
    model = CollisionModel.from_urdf(MIMICS)
    assert model.joint_names == ("lead",)
    q = 0.3
    angles = np.cumsum([q, -2 * q + 0.5, -6 * q + 2.5])
    expected = np.array([1.0, 0.0])
    points = [expected]
    for angle in angles[:2]:
        expected = expected + [np.cos(angle), np.sin(angle)]
        points.append(expected)
    placed = {leaf.link: ends[0] for leaf, ends in zip(model.leaves, model.leaf_segments([q]),
                                                       strict=True)}  # fmt: skip
    for name, point in zip("bcd", points, strict=True):
        assert placed[name][:2] == pytest.approx(point)

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Rigid bodies: fixed joints merge, mimics follow, motion is Rodrigues' formula."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from support.robots.toys import joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.robot.bodies import leading_joint, rigid_bodies
from collision_monitor.robot.poses import joint_motion
from collision_monitor.robot.urdf import load_robot


def test_links_over_fixed_joints_share_a_body():
    bodies = rigid_bodies(
        load_robot(
            robot(
                link("base"), link("plate"), link("arm"), link("tool"),
                joint("f", "base", "plate", "fixed", xyz="0 0 1"),
                joint("j", "plate", "arm"),
                joint("g", "arm", "tool", "fixed", xyz="0 2 0"),
            )
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


@given(st.integers(0, 10_000), st.sampled_from(["revolute", "prismatic", "continuous"]))
@settings(max_examples=40, deadline=None)
def test_placed_leaves_follow_joint_origins_and_axes(seed, kind):
    rng = np.random.default_rng(seed)
    axes = rng.normal(size=(3, 3))
    origins = rng.normal(size=(3, 6))
    text = robot(
        *(link(f"l{k}", xyz="0.1 0.2 0.3") for k in range(4)),
        *(
            f'<joint name="j{k}" type="{kind}"><parent link="l{k}"/><child link="l{k + 1}"/>'
            f'<origin xyz="{" ".join(map(repr, map(float, origins[k, :3])))}" '
            f'rpy="{" ".join(map(repr, map(float, origins[k, 3:])))}"/>'
            f'<axis xyz="{" ".join(map(repr, map(float, axes[k])))}"/>'
            '<limit lower="-2" upper="2" effort="1" velocity="1"/></joint>'
            for k in range(3)
        ),
    )
    model = CollisionModel.from_urdf(text)
    q = rng.uniform(-2, 2, 3)
    placed = {
        leaf.link: ends[0]
        for leaf, ends in zip(model.leaves, model.leaf_segments(q), strict=True)
    }
    pose = np.eye(4)
    for k in range(3):
        step, move = np.eye(4), np.eye(4)
        step[:3, :3] = Rotation.from_euler("xyz", origins[k, 3:]).as_matrix()
        step[:3, 3] = origins[k, :3]
        axis = axes[k] / np.linalg.norm(axes[k])
        if kind == "prismatic":
            move[:3, 3] = q[k] * axis
        else:
            move[:3, :3] = Rotation.from_rotvec(q[k] * axis).as_matrix()
        pose = pose @ step @ move
        assert placed[f"l{k + 1}"] == pytest.approx((pose @ [0.1, 0.2, 0.3, 1.0])[:3], abs=1e-9)
        loaded = model.robot.joints[k]
        moved = joint_motion(loaded.kind == "prismatic", loaded.axis, q[k])
        assert moved == pytest.approx(move, abs=1e-12)

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs that may pass through each other: the ones that a CollisionModel does not check."""

from support.robots.robots import require

from collision_monitor import CollisionModel
from collision_monitor.robot.pairs import NEIGHBOURS, RIGID
from collision_monitor.robot.scene import Scene, load_scene
from collision_monitor.simulation.mujoco_model import excluded_pairs


def test_they_are_those_that_the_model_leaves_out():
    files = require("ur5")
    model = CollisionModel.from_urdf(files.urdf, srdf=files.srdf, package_dirs=files.package_dirs)
    found = excluded_pairs(model.robot, model.bodies, model.semantics, Scene())
    shaped = {name for name, link in model.robot.links.items() if link.shapes}
    expected = {
        frozenset((a, b)): reason
        for a, b, reason in model.unmonitored_pairs
        if reason != RIGID and not reason.startswith("meshes meet")
    }
    found = {pair: why for pair, why in found.items() if pair <= shaped}
    rigid = {frozenset((a, b)) for a, b, reason in model.unmonitored_pairs if reason == RIGID}
    assert {pair: why for pair, why in found.items() if pair not in rigid} == expected
    assert NEIGHBOURS in found.values()


def test_what_the_scene_ignores_is_excluded():
    files = require("ur5")
    model = CollisionModel.from_urdf(files.urdf, package_dirs=files.package_dirs)
    scene = load_scene(
        {
            "obstacles": [{"name": "ball", "type": "sphere", "radius": 0.1}],
            "ignore": [["ball", "wrist_3_link"]],
        },
        model.robot,
    )
    found = excluded_pairs(model.robot, model.bodies, model.semantics, scene)
    assert found[frozenset(("ball", "wrist_3_link"))] == "ignored by the scene"

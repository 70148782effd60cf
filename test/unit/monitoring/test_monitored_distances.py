# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The minimum distance of a monitor, among pairs near by design."""

from types import SimpleNamespace

import numpy as np
import pytest
from support.robots.toys import box_and_ball_on_slides

from collision_monitor import CollisionModel
from collision_monitor.model.near_by_design import MinimumDistance
from collision_monitor.monitoring.monitored_distances import MonitoredDistances
from collision_monitor.monitoring.speed_policy.decision import Decision


def test_a_contact_counts_beside_a_pair_that_only_seemed_to_be_in_contact():
    """Without time for shapes, leaves in contact decide alone, though another pair collides."""
    post = {"name": "post", "type": "box", "size": [0.2, 0.4, 0.1], "position": [0.6, 0.5, 0.0]}
    ball = {"name": "ball", "type": "sphere", "radius": 0.05, "position": [0.0, 0.0, 2.0]}
    wall = {"name": "wall", "type": "sphere", "radius": 0.05, "position": [0.0, 0.0, 1.0]}
    model = CollisionModel.from_urdf(
        box_and_ball_on_slides(), scene={"obstacles": [post, ball, wall]}, max_leaves_per_link=1
    )
    seeming, contact = (model.pairs.index(pair) for pair in (("hand", "post"), ("tip", "ball")))
    q = np.zeros(3)
    for name, position in {"x": 0.27, "y": 0.5, "z": 0.08}.items():
        q[model.joint_names.index(name)] = position
    leaves, shapes = (model.distances(q, exact=exact) for exact in (False, True))
    assert leaves[seeming] < 0.0 < 0.02 < shapes[seeming] and shapes[contact] < 0.0
    limits = np.full(len(model.pairs), 0.02)
    minimum = MinimumDistance(model, {seeming: None, contact: None}, limits, True)
    decision = Decision(inside=True, stop=True, pair=seeming, distance=float(leaves[seeming]))
    behaviour = SimpleNamespace(
        minimum_distance=minimum, near=np.array([seeming]), exact_within=0.02, decision=decision
    )
    distances = MonitoredDistances(model, None, behaviour)
    distances.use("auto")
    nearest = distances.measured(q, 1.0).nearest
    assert nearest.distance > 0.0
    counted = distances.counted(q, nearest)
    assert counted.links == ("tip", "ball")
    assert counted.distance == pytest.approx(shapes[contact], abs=1e-9)

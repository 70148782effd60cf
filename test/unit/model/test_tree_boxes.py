# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Boxes to look at: those that the kernels traverse, level by level."""

import numpy as np
import pytest
from support.robots.toys import chain

from collision_monitor import CollisionModel
from collision_monitor.hierarchy.packed import windows
from collision_monitor.model.hierarchy_boxes import TreeBoxes

SCENE = {
    "obstacles": [
        {"name": f"ball{k}", "type": "sphere", "radius": 0.1, "position": [0.7 * k, 2.0, 0.3 * k]}
        for k in range(5)
    ]
}


def test_boxes_hold_the_leaves_below_them():
    model = CollisionModel.from_urdf(chain(6), scene=SCENE)
    boxes, view = TreeBoxes(model), windows(*model.work_space())
    radii = np.array([leaf.radius for leaf in model.leaves])[:, None]
    for q in model.random_configurations(20):
        ends, placed = model.leaf_segments(q), boxes.at(q)
        low, high = ends.min(axis=1) - radii, ends.max(axis=1) + radii
        for node, (left, right) in enumerate(view.nodes[:, :2].tolist()):
            if left >= 0:
                expected = placed[[left, right], :3].min(0), placed[[left, right], 3:].max(0)
            else:
                expected = low[right], high[right]
            assert placed[node] == pytest.approx(np.concatenate(expected), abs=1e-12)

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The work space of Proximity: it grows, and is nobody else's."""

import numpy as np
from support.robots.toys import chain

from collision_monitor import CollisionModel
from collision_monitor.model.proximity import Proximity


def test_room_grows_with_what_is_near():
    model = CollisionModel.from_urdf(chain(14))
    proximity = Proximity(model)
    near = proximity.near(np.zeros(13), np.full(len(model.pairs), 100.0))
    assert len(near.pairs) == len(model.pairs) > 64


def test_a_model_and_its_proximities_do_not_disturb_each_other():
    model = CollisionModel.from_urdf(chain(5))
    one, other = Proximity(model), Proximity(model)
    rows = model.random_configurations(20)
    limits = np.full(len(model.pairs), 5.0)
    expected = [model.distance(q).distance for q in rows]
    for q, again, distance in zip(rows, rows[::-1], expected, strict=True):
        mine = one.near(q, limits)
        other.near(again, limits)
        model.distances(again)
        assert mine.distances.min() == distance
        assert model.distance(q).distance == distance

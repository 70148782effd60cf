# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Objects of a live scene, written as obstacles of a file, are as near as they were."""

import json

import numpy as np
import pytest
from support.robots.toys import chain
from support.ros.live_cases import pose_of, shape_of

from collision_monitor import CollisionModel
from collision_monitor.model.live.live_objects import Bounds
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.scene_file import as_scene, objects_now
from collision_monitor.robot.scene import load_scene

MODEL = CollisionModel.from_urdf(chain(4))
KINDS = ["box", "sphere", "cylinder", "capsule", "mesh"]


@pytest.fixture(scope="module")
def live():
    rng = np.random.default_rng(5)
    found = LiveScene(MODEL, Bounds(objects=20, leaves_per_object=6))
    for k, kind in enumerate(KINDS * 2):
        found.add(f"cell/{k}", shape_of(kind, rng), "l0" if k < 5 else "l1", pose_of(rng, 3.0))
    down = np.array([[0.0, 0.0, 0.3, 0.0, 0.0, -0.3, 0.05], [0.1, 0, 0, 0.1, 0, 1e-8, 0.05]])
    found.add("part", down, "l3", touch=["l2", "cell/0", "cloud", "nobody"])
    found.set_cloud(np.column_stack([rng.uniform(-2.0, 2.0, (8, 3)), np.full(8, 0.04)]))
    return found


def test_every_pair_is_as_near_as_it_was_watched(live):
    scene = json.loads(json.dumps(as_scene(objects_now(live))))
    known = {*MODEL.link_names, *(one["name"] for one in scene["obstacles"])}
    scene["ignore"] = [pair for pair in scene["ignore"] if set(pair) <= known]
    model = MODEL.with_scene(load_scene(scene, MODEL.robot))
    watched = set(map(frozenset, live.pairs))
    exact = {name for name, thing in live.objects.items() if thing.shape is None or
             thing.shape.kind in ("sphere", "capsule", "mesh")}  # fmt: skip
    compared = 0
    for q in MODEL.random_configurations(20, 3):
        found = {}
        for pair, distance in zip(model.pairs, model.distances(q), strict=True):
            names = frozenset(name.split("#")[0] for name in pair)
            found[names] = min(found.get(names, np.inf), distance)
        assert watched <= found.keys()
        for pair, distance in zip(map(frozenset, live.pairs), live.distances(q), strict=True):
            # A box in a file has leaves that are fitted, where it had some at once.
            if pair <= exact | set(MODEL.link_names):
                assert found[pair] == pytest.approx(distance, abs=1e-6)
                compared += 1
            else:
                # The fit of a flat disc stands off its rim by up to 75 mm.
                assert found[pair] > distance - 0.1
    assert compared > 200


def test_what_may_touch_is_not_checked(live):
    ignored = {tuple(pair) for pair in as_scene(objects_now(live))["ignore"]}
    assert ignored == {
        (part, other)
        for part in ("part#0", "part#1")
        for other in ("l2", "cell/0", "nobody", *(f"cloud#{k}" for k in range(8)))
    }

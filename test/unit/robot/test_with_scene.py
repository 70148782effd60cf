# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""`CollisionModel.with_scene`: the answers of a model that was loaded with that scene."""

import itertools

import numpy as np
import pytest
from support.robots.toys import chain, joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.robot.scene import Scene, load_scene

BALL = {"name": "ball", "type": "sphere", "radius": 0.2, "position": [1.5, 0.8, 0.0]}
DOOR = {
    "obstacles": [
        {"name": "panel", "type": "box", "size": [0.5, 0.1, 0.6], "joint": "door"},
        {**BALL, "name": "post", "position": [0.0, -0.7, 0.1]},
    ],
    "joints": [
        {"name": "door", "type": "revolute", "axis": [0, 0, 1], "lower": -1, "upper": 1,
         "position": [2.0, -0.9, 0.0]},
    ],
}  # fmt: skip
SCENES = {
    "none": {},
    "a ball": {"obstacles": [BALL]},
    "a ball that moves along": {"obstacles": [{**BALL, "link": "l2", "position": [0, 0.7, 0]}]},
    "a ball that may touch": {"obstacles": [BALL], "ignore": [["ball", "l3"], ["ball", "l1"]]},
    "a door": DOOR,
}


@pytest.mark.parametrize("before", ["none", "a door"])
@pytest.mark.parametrize("after", SCENES)
def test_it_is_the_model_of_that_scene(before, after):
    loaded = CollisionModel.from_urdf(chain(5), scene=SCENES[after])
    first = CollisionModel.from_urdf(chain(5), scene=SCENES[before])
    scene = load_scene(SCENES[after], CollisionModel.from_urdf(chain(5)).robot)
    model = first.with_scene(scene)
    assert model.joint_names == loaded.joint_names
    assert model.pairs == loaded.pairs
    assert set(map(tuple, model.unmonitored_pairs)) == set(map(tuple, loaded.unmonitored_pairs))
    rows = loaded.random_configurations(50)
    assert (model.random_configurations(50) == rows).all()
    assert model.min_distances(rows) == pytest.approx(loaded.min_distances(rows), abs=1e-12)
    for q in rows[:5]:
        assert model.distances(q) == pytest.approx(loaded.distances(q), abs=1e-12)
        assert model.link_poses(q).keys() == loaded.link_poses(q).keys()
    exact = [one.distance(rows[0], exact=True).distance for one in (model, loaded)]
    assert exact[0] == pytest.approx(exact[1], abs=1e-9)


def test_the_model_before_it_is_as_it_was():
    model = CollisionModel.from_urdf(chain(5), scene={"obstacles": [BALL]})
    rows = model.random_configurations(20)
    before, pairs = model.min_distances(rows), list(model.pairs)
    other = model.with_scene(Scene())
    other.min_distances(rows)
    assert model.pairs == pairs and "ball" in model.link_names
    assert (model.min_distances(rows) == before).all()
    assert np.array([other.min_distances(rows) >= before]).all()


def test_pairs_of_links_stay_as_they_were_chosen():
    model = CollisionModel.from_urdf(chain(5))
    fewer = model.twin(model.pairs[:2])
    scene = load_scene({"obstacles": [BALL]}, model.robot)
    own = [pair for pair in fewer.with_scene(scene).pairs if "ball" not in pair]
    assert own == model.pairs[:2]


# By design, "a" always meets "c" and "e"; "c" and "f" are the only neighbours that a rule names.
ARM = robot(
    link("a", '<sphere radius="2"/>'), *(link(name) for name in "bcdef"),
    joint("j1", "a", "b", xyz="0.1 0 0"),
    joint("j2", "b", "c", xyz="0.1 0 0"),
    joint("j3", "c", "d", xyz="5 0 0"),
    joint("j4", "b", "e", xyz="0.5 0 0"),
    joint("j5", "c", "f", xyz="0 4 0"),
)  # fmt: skip
SRDF = (
    '<robot name="toy"><disable_collisions link1="b" link2="d" reason="Never"/>'
    '<enable_collisions link1="a" link2="e"/></robot>'
)
OWN_PAIRS = {
    "nothing": {},
    "ignores one": {"ignore": [["a", "d"]]},
    "ignores what is not checked": {"ignore": [["c", "a"], ["b", "d"], ["a", "b"]]},
    "ignores what is brought back": {"ignore": [["f", "c"], ["a", "e"]]},
    "ignores all of a link, with an obstacle": {"obstacles": [BALL], "ignore": [["a", "*"]]},
    "an obstacle that a rule names": {"obstacles": [{**BALL, "name": "apple"}]},
    "a door": {**DOOR, "ignore": [["d", "f"]]},
}


@pytest.mark.parametrize(("srdf", "checked"), [(None, ()), (SRDF, ("c f", "c a*"))])
def test_all_pairs_are_checked_or_have_the_reason_of_a_load(srdf, checked):
    loaded = {
        name: CollisionModel.from_urdf(ARM, srdf, scene=scene, checked=checked)
        for name, scene in OWN_PAIRS.items()
    }
    walking = loaded["nothing"]
    for before, after in itertools.product(loaded, loaded):
        expected = loaded[after]
        walking = walking.with_scene(expected.scene)
        for found in (walking, loaded[before].with_scene(expected.scene)):
            assert found.pairs == expected.pairs, (before, after)
            left_out, of_load = (
                sorted((*pair, pair.can_be_checked) for pair in one.unmonitored_pairs)
                for one in (found, expected)
            )
            assert left_out == of_load, (before, after)
        own = [(a, b) for a, b, *_ in left_out] + found.pairs
        own = [frozenset(pair) for pair in own if set("abcdef").issuperset(pair)]
        assert len(own) == len(set(own)) == 15


def test_a_pair_that_the_obstacles_leave_out_is_named_in_one_warning():
    model = CollisionModel.from_urdf(ARM, checked=["c a*"])
    apple = load_scene(OWN_PAIRS["an obstacle that a rule names"], model.robot)
    other = model.with_scene(apple)
    assert ("c", "a") in model.pairs and ("c", "a") not in other.pairs
    (warning,) = other.warnings
    assert "stay unchecked: c - a" in warning and model.warnings == ()
    assert other.with_scene(apple).warnings == other.warnings

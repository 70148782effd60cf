# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What is left out, and only that."""

import itertools

from support.robots.toys import chain, joint, link, robot

from collision_monitor import CollisionModel


def left_out(model):
    """Reasons by pair."""
    return {frozenset((a, b)): reason for a, b, reason in model.unmonitored_pairs}


def test_neighbours_are_left_out_and_the_rest_is_checked():
    model = CollisionModel.from_urdf(chain(4))
    assert {frozenset(p) for p in model.pairs} == {
        frozenset(p) for p in [("l0", "l2"), ("l0", "l3"), ("l1", "l3")]
    }
    assert left_out(model)[frozenset(("l1", "l2"))] == "neighbours over one joint"


def test_every_pair_is_checked_or_has_a_reason():
    model = CollisionModel.from_urdf(chain(6))
    checked = {frozenset(p) for p in model.pairs}
    reasons = left_out(model)
    assert not checked & set(reasons)
    assert checked | set(reasons) == {
        frozenset(p) for p in itertools.combinations(model.link_names, 2)
    }


def test_rigidly_joined_links_are_no_pair_but_their_other_sides_are():
    model = CollisionModel.from_urdf(
        robot(
            link("torso"), link("screen"), link("upper"), link("fore"),
            joint("s", "torso", "screen", "fixed", xyz="3 3 0"),
            joint("j1", "torso", "upper"),
            joint("j2", "upper", "fore"),
        )
    )  # fmt: skip
    assert left_out(model)[frozenset(("torso", "screen"))] == "rigidly joined"
    # the arm can hit a screen that its torso carries
    assert {frozenset(p) for p in model.pairs} == {
        frozenset(p) for p in [("screen", "upper"), ("screen", "fore"), ("torso", "fore")]
    }


def test_bare_frames_between_two_links_do_not_part_neighbours():
    model = CollisionModel.from_urdf(
        robot(
            link("base"), link("frame", ""), link("arm"), link("other"),
            joint("f", "base", "frame", "fixed"),
            joint("j", "frame", "arm"),
            joint("k", "arm", "other"),
        )
    )  # fmt: skip
    assert left_out(model)[frozenset(("base", "arm"))] == "neighbours over one joint"
    assert [frozenset(p) for p in model.pairs] == [frozenset(("base", "other"))]


def test_obstacles_are_checked_against_neighbours_of_their_link_too():
    box = {"name": "table", "type": "box", "size": [1, 1, 0.1], "position": [0, 0, -1]}
    tool = {"name": "tool", "type": "sphere", "radius": 0.05, "link": "l3"}
    model = CollisionModel.from_urdf(
        chain(4), scene={"obstacles": [box, tool], "ignore": [["tool", "l2"]]}
    )
    pairs = {frozenset(p) for p in model.pairs}
    for name in ("l1", "l2", "l3", "tool"):
        assert frozenset((name, "table")) in pairs
    assert frozenset(("l0", "table")) not in pairs
    assert frozenset(("tool", "l0")) in pairs and frozenset(("tool", "l1")) in pairs
    assert left_out(model)[frozenset(("tool", "l2"))] == "ignored by the scene"
    assert left_out(model)[frozenset(("tool", "l3"))] == "rigidly joined"


def test_disabled_pairs_of_an_srdf_are_left_out_with_their_reason():
    srdf = '<robot name="toy"><disable_collisions link1="l0" link2="l3" reason="Never"/></robot>'
    model = CollisionModel.from_urdf(chain(4), srdf=srdf)
    assert left_out(model)[frozenset(("l0", "l3"))] == "disabled in the SRDF: Never"


def test_pairs_that_overlap_everywhere_are_dropped_and_listed():
    overlapping = robot(
        link("a", '<sphere radius="2"/>'), link("b"), link("c"), link("d"),
        joint("j1", "a", "b", xyz="0.1 0 0"),
        joint("j2", "b", "c", xyz="0.1 0 0"),
        joint("j3", "c", "d", xyz="5 0 0"),
    )  # fmt: skip
    model = CollisionModel.from_urdf(overlapping)
    reason = left_out(model)[frozenset(("a", "c"))]
    assert "100.0%" in reason and "1000 sampled" in reason
    assert {frozenset(p) for p in model.pairs} == {frozenset("ad"), frozenset("bd")}


def test_an_obstacle_is_never_dropped_but_named_in_a_warning():
    inside = {"name": "ball", "type": "sphere", "radius": 9.0}
    model = CollisionModel.from_urdf(chain(3), scene={"obstacles": [inside]})
    assert ("l2", "ball") in model.pairs
    assert any("'l2' and 'ball'" in text and "ignore" in text for text in model.warnings)
    assert model.distance([0.0, 0.0]).distance < 0.0

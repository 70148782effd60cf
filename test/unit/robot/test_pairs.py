# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What is left out, and only that."""

import pytest
from support.robots.toy_models import toy_model
from support.robots.toys import chain, joint, link, robot

from collision_monitor import CollisionModel, Monitor
from collision_monitor.errors import ConfigurationError, ThresholdsError
from collision_monitor.model.loading import Recipe, RobotSource
from collision_monitor.model.thresholds import Rule, Thresholds
from collision_monitor.robot.scene import load_scene


def pairs(*texts):
    """Pairs of two names each."""
    return {frozenset(text.split()) for text in texts}


def checked(model):
    """Pairs that a model checks."""
    return set(map(frozenset, model.pairs))


def left_out(model):
    """Reasons by pair."""
    return {frozenset((a, b)): reason for a, b, reason in model.unmonitored_pairs}


def test_neighbours_are_left_out_and_the_rest_is_checked():
    model = CollisionModel.from_urdf(chain(4))
    assert checked(model) == pairs("l0 l2", "l0 l3", "l1 l3")
    assert left_out(model)[frozenset(("l1", "l2"))] == "neighbours over one joint"


def test_rigidly_joined_links_are_no_pair_but_their_other_sides_are():
    model = toy_model(
        link("torso"), link("screen"), link("upper"), link("fore"),
        joint("s", "torso", "screen", "fixed", xyz="3 3 0"),
        joint("j1", "torso", "upper"),
        joint("j2", "upper", "fore"),
    )  # fmt: skip
    assert left_out(model)[frozenset(("torso", "screen"))] == "rigidly joined"
    # the arm can hit a screen that its torso carries
    assert checked(model) == pairs("screen upper", "screen fore", "torso fore")


def test_bare_frames_between_two_links_do_not_part_neighbours():
    model = toy_model(
        link("base"), link("frame", ""), link("arm"), link("other"),
        joint("f", "base", "frame", "fixed"),
        joint("j", "frame", "arm"),
        joint("k", "arm", "other"),
    )  # fmt: skip
    assert left_out(model)[frozenset(("base", "arm"))] == "neighbours over one joint"
    assert [frozenset(p) for p in model.pairs] == [frozenset(("base", "other"))]


@pytest.mark.parametrize("pattern", ["l0 l1", "l1 l0", "l0 l[01]"])
def test_a_rule_that_is_there_at_the_start_has_neighbours_checked(pattern):
    plain = CollisionModel.from_urdf(chain(4))
    model = CollisionModel.from_urdf(chain(4), checked=[pattern])
    (both,) = set(model.pairs) - set(plain.pairs)
    assert set(both) == {"l0", "l1"} and set(plain.pairs) < set(model.pairs)
    assert set(left_out(model)) == pairs("l1 l2", "l2 l3")
    nearest = model.distance([0.0, 2.0, 2.0])
    assert set(nearest.links) == set(both) and nearest.distance == pytest.approx(0.8)
    # With its own distances in a monitor; a rule that comes later is rejected.
    rule = Thresholds(0.1, 0.02, (Rule(pattern, 0.9, 0.5),))
    monitor = Monitor(model)
    monitor.set_thresholds(rule)
    row = monitor.behaviour.thresholds[model.pairs.index(both)]
    assert row.tolist() == [0.5, 0.9]
    with pytest.raises(ThresholdsError, match="left out, .*: neighbours over one joint; to have"):
        Monitor(plain).set_thresholds(rule)
    # Copies and other scenes keep it, unless they ignore it.
    assert both in model.twin().pairs and model.twin([both]).pairs == [both]
    ball = {"name": "ball", "type": "sphere", "radius": 0.1, "position": [0, 0, 3]}
    for ignored in ([], [["l0", "l1"]]):
        scene = load_scene({"obstacles": [ball], "ignore": ignored}, model.robot)
        other = model.with_scene(scene)
        assert (both in other.pairs) != bool(ignored) and ("l3", "ball") in other.pairs


def test_rules_bring_neighbours_of_one_of_several_robots_back():
    first = RobotSource(chain(3), "", "left", "left/")
    second = RobotSource(chain(3), "", "right", "right/", (0.0, 0.0, 9.0, 0.0, 0.0, 0.0))
    rules = ("left/l0 left/l1", "right/l[12] right/l1")
    model = Recipe((first, second), checked=rules).load().model
    assert pairs("left/l0 left/l1", "right/l1 right/l2") <= checked(model)
    near = {pair for pair, why in left_out(model).items() if why == "neighbours over one joint"}
    assert near == pairs("left/l1 left/l2", "right/l0 right/l1")


@pytest.mark.parametrize(
    ("pattern", "options", "pair", "says"),
    [
        ("l0 l1", {"srdf": "disable"}, ("l0", "l1"), "disabled in the SRDF: Adjacent"),
        ("l0 l1", {"scene": {"ignore": [["l1", "l0"]]}}, ("l0", "l1"), "ignored by the scene"),
        ("l3 plate", {}, ("l3", "plate"), "rigidly joined"),
    ],
)
def test_a_rule_does_not_overrule_an_srdf_a_scene_or_a_rigid_body(pattern, options, pair, says):
    urdf = chain(4).replace(
        "</robot>", link("plate") + joint("weld", "l3", "plate", "fixed") + "</robot>"
    )
    if "srdf" in options:
        disabled = '<disable_collisions link1="l1" link2="l0" reason="Adjacent"/>'
        options = {"srdf": f'<robot name="toy">{disabled}</robot>'}
    model = CollisionModel.from_urdf(urdf, checked=[pattern], **options)
    assert left_out(model)[frozenset(pair)] == says
    given = Thresholds(rules=(Rule(pattern, 0.1),))
    given.of(model.pairs, left_out=model.unmonitored_pairs)  # no error
    (text,) = given.without_effect(model.pairs, model.unmonitored_pairs)
    assert text.endswith(says)


def test_a_pattern_that_matches_checked_pairs_is_not_about_neighbours():
    model = CollisionModel.from_urdf(chain(4), checked=["l0 *", "* *"])
    assert left_out(model) == left_out(CollisionModel.from_urdf(chain(4)))
    assert model.warnings == ()


def test_a_rule_leaves_pairs_out_unless_an_srdf_enables_them(caplog):
    post = {"name": "post", "type": "sphere", "radius": 0.1, "position": [9, 9, 9]}
    srdf = '<robot name="toy"><enable_collisions link1="l0" link2="l3"/></robot>'
    caplog.set_level("INFO")
    model = CollisionModel.from_urdf(
        chain(4), srdf=srdf, scene={"obstacles": [post]}, unchecked=["l0 *", "post l2", "l1 l9"]
    )
    assert checked(model) == pairs("l0 l3", "l1 l3", "l1 post", "l3 post")
    assert {pair for pair in left_out(model).items() if "rule" in pair[1]} == {
        (frozenset(("l0", "l2")), "not checked by the rule 'l0 *'"),
        (frozenset(("l2", "post")), "not checked by the rule 'post l2'"),
    }
    says = "not checked because a rule has check: false: l2 - l0, l2 - post"
    assert says in caplog.text
    assert model.warnings == (says, "unchecked: 'l1 l9' matches no pair")
    # The SRDF decides, and it is said.
    given = Thresholds(rules=tuple(Rule(rule, check=False) for rule in ("l0 *", "post l2")))
    given.of(model.pairs, left_out=model.unmonitored_pairs)
    (text,) = given.without_effect(model.pairs, model.unmonitored_pairs)
    assert text.startswith("checked in spite of a rule with check: false: ")
    # Another scene keeps it, and so does a rule for the same neighbours.
    other = model.with_scene(load_scene({"obstacles": []}, model.robot))
    assert frozenset(("l0", "l2")) in left_out(other)
    both = CollisionModel.from_urdf(chain(4), checked=["l0 l1"], unchecked=["l1 l0"])
    assert left_out(both)[frozenset(("l0", "l1"))] == "neighbours over one joint"
    # A pattern for pairs that another rule leaves out is not about neighbours either.
    left = ["l0 l2", "l0 l3", "l1 l3"]
    none = CollisionModel.from_urdf(chain(4), checked=["l* l*"], unchecked=left)
    assert none.pairs == []
    with pytest.raises(ConfigurationError, match="unchecked: 'l0' is not two names"):
        CollisionModel.from_urdf(chain(4), unchecked=["l0"])


def test_an_srdf_that_enables_neighbours_has_them_checked():
    enabled = (
        '<robot name="toy"><disable_default_collisions link="l1"/>'
        '<enable_collisions link1="l1" link2="l0"/></robot>'
    )
    model = CollisionModel.from_urdf(chain(4), srdf=enabled)
    assert checked(model) == pairs("l0 l1", "l0 l2", "l0 l3")
    two = [RobotSource(chain(4), enabled, name, f"{name}/") for name in ("a", "b")]
    cell = Recipe(tuple(two)).load().model
    assert pairs("a/l0 a/l1", "b/l0 b/l1") <= checked(cell)
    ignored = {"ignore": [["l0", "l1"]]}
    model = CollisionModel.from_urdf(chain(4), srdf=enabled, scene=ignored)
    assert left_out(model)[frozenset(("l0", "l1"))] == "ignored by the scene"


def test_obstacles_are_checked_against_neighbours_of_their_link_too():
    box = {"name": "table", "type": "box", "size": [1, 1, 0.1], "position": [0, 0, -1]}
    tool = {"name": "tool", "type": "sphere", "radius": 0.05, "link": "l3"}
    model = CollisionModel.from_urdf(
        chain(4), scene={"obstacles": [box, tool], "ignore": [["tool", "l2"]]}
    )
    wanted = pairs("l1 table", "l2 table", "l3 table", "tool table", "tool l0", "tool l1")
    assert wanted <= checked(model)
    assert not pairs("l0 table") & checked(model)
    assert left_out(model)[frozenset(("tool", "l2"))] == "ignored by the scene"
    assert left_out(model)[frozenset(("tool", "l3"))] == "rigidly joined"


def test_pairs_that_overlap_everywhere_are_dropped_and_listed():
    overlapping = robot(
        link("a", '<sphere radius="2"/>'), link("b"), link("c"), link("d"),
        joint("j1", "a", "b", xyz="0.1 0 0"),
        joint("j2", "b", "c", xyz="0.1 0 0"),
        joint("j3", "c", "d", xyz="5 0 0"),
    )  # fmt: skip
    model = CollisionModel.from_urdf(overlapping)
    reason = left_out(model)[frozenset(("a", "c"))]
    assert "100.0%" in reason and "256 sampled" in reason
    assert checked(model) == pairs("a d", "b d")


def test_an_obstacle_is_never_dropped_but_named_in_a_warning():
    inside = {"name": "ball", "type": "sphere", "radius": 9.0}
    model = CollisionModel.from_urdf(chain(3), scene={"obstacles": [inside]})
    assert ("l2", "ball") in model.pairs
    assert any("'l2' and 'ball'" in text and "ignore" in text for text in model.warnings)
    assert model.distance([0.0, 0.0]).distance < 0.0

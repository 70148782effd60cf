# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs whose shapes overlap by design are left out, with the reason; others stay."""

import re

import numpy as np
import pytest
from support.robots.robots import load_model
from support.robots.toy_models import toy_model
from support.robots.toys import joint, link, robot
from support.robots.vendor_robots import at_rest

from collision_monitor import CollisionModel, Monitor
from collision_monitor.errors import ConfigurationError, ThresholdsError
from collision_monitor.model.loading import Recipe, RobotSource
from collision_monitor.model.range_contacts import coordinates_between
from collision_monitor.model.thresholds import Rule, Thresholds
from collision_monitor.robot.pairs import may_also_collide


def hand_urdf(first, second):
    """Two boxes of 20 mm on slides, side by side at zero; limits of both in metres."""
    parts = [link("palm", "")]
    for name, side, limits in (("left", 1, first), ("right", -1, second)):
        place, axis = f"0 {0.01 * side} 0", f"0 {side} 0"
        slide = joint(f"slide_{name}", "palm", name, "prismatic", place, axis, limits=limits)
        parts += [box(name, "0.1 0.02 0.02"), slide]
    return robot(*parts, name="hand")


def hand(first, second, **options):
    """The model of `hand_urdf`."""
    return CollisionModel.from_urdf(hand_urdf(first, second), **options)


def reasons(model):
    """Reasons by pair of what overlaps by design."""
    return {
        frozenset((a, b)): reason for a, b, reason in model.unmonitored_pairs if "meet" in reason
    }


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        # Fingers that close until they touch.
        ((0.0, 0.04), (0.0, 0.04), "nowhere deeper than 2 mm over the range of 'slide_left' and"),
        ((-0.0005, 0.04), (-0.0005, 0.04), "nowhere deeper than 2 mm"),
        ((0.0004, 0.04), (0.0004, 0.04), "nearly meet, but nowhere deeper than 2 mm"),
        # Boxes that overlap nearly always.
        ((-0.02, 0.0), (-0.02, 0.0), "of 256 sampled configurations"),
        ((-0.02, 0.004), (-0.02, 0.004), "of 256 sampled configurations"),
    ],
)
def test_what_overlaps_by_design_is_left_out_with_its_reason(first, second, says):
    model = hand(first, second)
    assert model.pairs == []
    assert says in reasons(model)[frozenset(("left", "right"))]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((-0.01, 0.04), (-0.01, 0.04)),  # 20 mm deep
        ((0.001, 0.04), (0.001, 0.04)),  # never touch
        ((-0.02, 0.02), (-0.02, 0.02)),  # in half of all configurations, up to 20 mm deep
    ],
)
def test_what_can_collide_or_is_apart_stays(first, second):
    model = hand(first, second)
    assert [set(pair) for pair in model.pairs] == [{"left", "right"}]
    assert reasons(model) == {}


def test_shapes_that_mostly_meet_but_rest_apart_are_checked():
    """Fingers whose joints have no real limits are in the palm in most poses, but not at rest."""
    urdf = hand_urdf((-0.2, 0.0), (-0.2, 0.0)).replace("0.1 0.02 0.02", "0.1 0.2 0.02")
    urdf = urdf.replace('xyz="0 0.01 0"', 'xyz="0 0.15 0"').replace("0 -0.01 0", "0 -0.15 0")
    model = CollisionModel.from_urdf(urdf)
    share = np.mean(model.min_distances(model.random_configurations(500, seed=1)) <= 0.0)
    assert share > 0.8
    assert [set(pair) for pair in model.pairs] == [{"left", "right"}]
    assert at_rest(Monitor(model), np.zeros(2)).safe
    assert at_rest(Monitor(model), model.lower).action == "stop"


def telescope(axes):
    """A tube of 0.3 m, and sections that slide out of it by 0.25 m each along ``axes``."""
    parts = [box("s0", "0.3 0.1 0.1")]
    for k, axis in enumerate(axes, start=1):
        limits = (0.0, 0.25) if sum(map(float, axis.split())) > 0.0 else (-0.25, 0.0)
        width = 0.1 - 0.02 * k
        parts.append(box(f"s{k}", f"0.3 {width} {width}"))
        ends = f"s{k - 1}", f"s{k}"
        parts.append(joint(f"j{k}", *ends, "prismatic", "0.005 0 0", axis, limits=limits))
    return robot(*parts)


@pytest.mark.parametrize("axes", [["1 0 0"] * 3, ["1 0 0", "-1 0 0", "1 0 0"]])
def test_sections_of_a_telescope_that_are_in_each_other_are_left_out(axes):
    model = CollisionModel.from_urdf(telescope(axes))
    reason = reasons(model)[frozenset(("s0", "s3"))]
    assert "over the range of 'j1' and 'j2' and 'j3'" in reason
    assert model.pairs == []


def test_a_telescope_is_one_coordinate_and_a_slide_across_it_another():
    model = CollisionModel.from_urdf(telescope(["1 0 0", "-1 0 0", "0 0 1"]))
    one, across = coordinates_between(model, ("s0", "s3"))
    assert one.columns.tolist() == [0, 1] and across.columns.tolist() == [2]
    assert (one.begin.tolist(), one.end.tolist()) == ([0.0, 0.0], [0.25, -0.25])
    ways = []
    for part in (0.0, 0.5, 1.0):
        q = np.zeros(3)
        q[one.columns] = one.begin + part * (one.end - one.begin)
        ways.append(model.link_poses(q)["s2"][0, 3])
    assert np.diff(ways) == pytest.approx([0.25, 0.25])


def linkage(follows=True, size="0.02 0.03 0.02", upper=0.035):
    """Two bars that meet from a third of the range of their common joint on, up to its limit."""
    parts = [link("palm", "")]
    for name, side in (("a", 1), ("b", -1)):
        mimic = '<mimic joint="ja" multiplier="1"/>' if follows and name == "b" else ""
        place, axis = f"{0.03 * side} {0.012 * side} 0", f"{-side} 0 0"
        slide = joint(f"j{name}", "palm", name, "prismatic", place, axis, mimic, (0, upper))
        parts += [box(name, size), slide]
    return toy_model(*parts)


def test_bars_of_a_linkage_may_overlap_away_from_zero():
    shallow = reasons(linkage())[frozenset("ab")]
    assert "nowhere deeper than 10 mm over the range of 'ja'" in shallow
    assert reasons(linkage(follows=False)) == {}  # each has its own motor
    assert reasons(linkage(size="0.05 0.1 0.1")) == {}  # deeper than 20 mm
    assert reasons(linkage(upper=0.06)) == {}  # they pass each other


def chain(posts, fine=(0.0, 0.3), mimic=""):
    """A tool on two slides in series along x, among ``posts`` at (x, depth) on their base."""
    base = '<link name="base"></link>'
    for x, depth in posts:
        base = with_box(base, "0.1 0.1 0.1", f"{x} {0.1 - depth} 0")
    return toy_model(
        base, link("car", ""), box("tool", "0.1 0.1 0.1"),
        joint("x", "base", "car", "prismatic", "0 0 0", "1 0 0", limits=(0.0, 1.0)),
        joint("s", "car", "tool", "prismatic", "0 0 0", "1 0 0", mimic, fine),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("posts", "options"),
    [
        ([(0.0, 0.015), (1.3, 0.015)], {}),  # at rest, and at the end of both slides
        ([(0.0, 0.06), (0.7, 0.06)], {}),
        ([(1.2, 0.0015)], {}),  # two motors can drive against it
        ([(0.0, 0.06), (1.0, 0.06)], {"fine": (0.0, 0.0)}),  # no telescope: one slide is locked
        ([(1.3, 0.015)], {"mimic": '<mimic joint="x" multiplier="0.3"/>'}),
        ([(0.0, 0.015), (0.5, 0.015)], {"fine": (0.0, 0.0)}),  # a post apart from the cradle
    ],
)
def test_slides_in_series_do_not_hide_a_post_in_their_way(posts, options):
    model = chain(posts, **options)
    assert [set(pair) for pair in model.pairs] == [{"base", "tool"}]
    assert reasons(model) == {}


def test_a_cradle_that_holds_the_tool_at_rest_is_left_out():
    (reason,) = reasons(chain([(0.0, 0.015)], fine=(0.0, 0.0))).values()
    assert "nowhere deeper than 1" in reason


@pytest.mark.parametrize(("apart", "lowest"), [(0.08, -0.0405), (0.0024, -0.002)])
def test_carriages_on_one_rail_are_checked_however_shallow_their_contact(apart, lowest):
    """They can collide by 1 mm, or are 2.4 mm apart at zero and rub in a third of all cases."""
    urdf = hand_urdf((lowest, 0.0), (lowest, 0.0))
    for side in ("", "-"):
        urdf = urdf.replace(f'xyz="0 {side}0.01 0"', f'xyz="0 {side}{0.01 + 0.5 * apart} 0"')
    model = CollisionModel.from_urdf(urdf)
    assert model.pairs and reasons(model) == {}


@pytest.mark.parametrize(("lowest", "is_checked"), [(-0.001, False), (-0.0025, True)])
def test_links_that_overlap_slightly_at_zero_are_left_out_unless_deeper_elsewhere(
    lowest, is_checked
):
    """A thumb at its palm: 1 mm deep at zero, up to 3 or 6 mm deep elsewhere, mostly apart."""
    urdf = hand_urdf((lowest, 0.04), (lowest, 0.04))
    for side in ("", "-"):
        urdf = urdf.replace(f'xyz="0 {side}0.01 0"', f'xyz="0 {side}0.0095 0"')
    model = CollisionModel.from_urdf(urdf)
    assert bool(model.pairs) == is_checked
    if not is_checked:
        (reason,) = reasons(model).values()
        assert "nowhere deeper than 4 mm over the range" in reason


def box(name, size, xyz="0 0 0"):
    """A link of one box."""
    return link(name, f'<box size="{size}"/>', xyz)


def with_box(text, size, xyz):
    """A link with one more box."""
    return text.replace("</link>", box("", size, xyz).removeprefix('<link name="">'))


def test_an_arm_in_a_narrow_cell_is_checked_against_its_walls():
    """The tool meets the walls in most configurations, but anywhere."""
    cell = box("cell", "0.1 1 0.6", "0.45 0 0")
    for size, xyz in (
        ("0.1 1 0.6", "-0.45 0 0"), ("1 0.1 0.6", "0 0.45 0"), ("1 0.1 0.6", "0 -0.45 0")
    ):  # fmt: skip
        cell = with_box(cell, size, xyz)
    slides = [
        joint(name, *links, "prismatic", "0 0 0", axis, limits=(-0.4, 0.4))
        for name, links, axis in (("x", ("cell", "a"), "1 0 0"), ("y", ("a", "b"), "0 1 0"))
    ]
    model = toy_model(
        cell, link("a", ""), link("b", ""), box("tool", "0.5 0.5 0.2"), *slides,
        joint("turn", "b", "tool", xyz="0 0 0"),
    )  # fmt: skip
    assert [set(pair) for pair in model.pairs] == [{"cell", "tool"}]


def shoulder(base, name):
    """A box that turns on another."""
    parts = box(base, "0.05 0.05 0.05"), box(name, "0.3 0.3 0.4", "0 0 0.3")
    return "".join(parts) + joint(f"turn_{name}", base, name, xyz="0 0 0", limits=(-3, 3))


def test_two_shoulders_that_are_apart_at_zero_are_checked():
    mount = joint("mount", "base", "foot", "fixed", "0.35 0 0")
    model = toy_model(shoulder("base", "shoulder"), shoulder("foot", "other"), mount)
    assert {"shoulder", "other"} in [set(pair) for pair in model.pairs]
    q = np.full(2, 0.25 * np.pi)
    assert Monitor(model).update(model.joint_names, q, 0.0).action == "stop"


@pytest.mark.parametrize("apart", [0.25, 0.35])  # in each other, or in most configurations
@pytest.mark.parametrize("prefixes", [("left/", "right/"), ("left_", "right_"), ("", "other_")])
def test_pairs_of_two_robots_are_never_left_out(apart, prefixes):
    urdf = robot(shoulder("base", "shoulder"))
    robots = (
        RobotSource(urdf, "", "left", prefixes[0]),
        RobotSource(urdf, "", "right", prefixes[1], (apart, 0.0, 0.0, 0.0, 0.0, 0.0)),
    )
    model = Recipe(robots).load().model
    assert {f"{prefix}shoulder" for prefix in prefixes} in [set(pair) for pair in model.pairs]
    assert any("under ignore:" in text for text in model.warnings) == (apart == 0.25)


def test_a_robot_whose_names_have_slashes_is_one_robot():
    urdf = hand_urdf((-0.02, 0.0), (-0.02, 0.0))
    for name in ("left", "right"):
        urdf = urdf.replace(f'"{name}"', f'"/{name}/finger"')
    model = CollisionModel.from_urdf(urdf)
    assert model.pairs == [] and list(reasons(model)) == [{"/left/finger", "/right/finger"}]


@pytest.mark.parametrize("pad", [False, True])  # under the arm at zero
def test_a_sheet_in_the_way_of_a_sheet_is_checked(pad):
    """Thin shapes can always be parted by a short motion, but not in the plane of the sheets."""
    post = box("post", "0.2 0.1 0.0015", "0.3 0.3 0")
    model = toy_model(
        box("base", "0.05 0.05 0.05"),
        with_box(post, "0.6 0.05 0.02", "0.45 0 -0.011") if pad else post,
        box("arm", "0.6 0.05 0.0015", "0.45 0 0"),
        joint("mount", "base", "post", "fixed", "0 0 0"),
        joint("turn", "base", "arm", xyz="0 0 0"),
    )
    assert [set(pair) for pair in model.pairs] == [{"post", "arm"}]


def test_the_reason_says_how_deep_shapes_meet_and_whether_they_may_collide_elsewhere():
    flat = hand((-0.02, 0.0), (-0.02, 0.0))  # 6 mm deep around zero, 20 mm elsewhere
    assert [set(pair) for pair in may_also_collide(flat.unmonitored_pairs)] == [{"left", "right"}]
    # Boxes of 60 mm that touch at zero, and can be pushed into each other completely.
    urdf = hand_urdf((-0.03, 0.0), (-0.03, 0.0)).replace("0.1 0.02 0.02", "0.1 0.06 0.06")
    urdf = urdf.replace('xyz="0 0.01 0"', 'xyz="0 0.03 0"').replace("0 -0.01 0", "0 -0.03 0")
    model = CollisionModel.from_urdf(urdf)
    (deep,) = reasons(model).values()
    assert [set(pair) for pair in may_also_collide(model.unmonitored_pairs)] == [{"left", "right"}]
    assert deep.startswith("overlap in most configurations: shapes meet in ")
    assert "a rule in the thresholds file has the pair checked" in deep
    found = re.search(r" (\d+) mm deep, around zero (\d+) mm: they may also collide else", deep)
    assert 55 <= int(found[1]) <= 62 and 7 <= int(found[2]) <= 11
    # Boxes that overlap by 12 mm at zero, and by 28 mm at most.
    urdf = hand_urdf((-0.008, 0.0), (-0.008, 0.0)).replace("0.1 0.02 0.02", "0.1 0.06 0.06")
    urdf = urdf.replace('xyz="0 0.01 0"', 'xyz="0 0.024 0"').replace("0 -0.01 0", "0 -0.024 0")
    model = CollisionModel.from_urdf(urdf)
    (deeper,) = reasons(model).values()
    assert may_also_collide(model.unmonitored_pairs) == []
    found = re.search(r" (\d+) mm deep, at places within \d+% of the size of a link$", deeper)
    assert 24 <= int(found[1]) <= 30


@pytest.mark.parametrize(("reach", "may_collide"), [(0.45, True), (0.1, False)])
def test_places_of_contact_are_measured_against_the_size_of_the_links(reach, may_collide):
    """Two rods of 1 m that cross each other, and slide along both: always equally deep."""
    slides = [
        joint(name, *links, "prismatic", "0 0 0", axis, limits=(-reach, reach))
        for name, links, axis in (
            ("x", ("rod", "carriage"), "1 0 0"), ("y", ("carriage", "other"), "0 1 0")
        )
    ]  # fmt: skip
    rods = box("rod", "1 0.02 0.02"), link("carriage", ""), box("other", "0.02 1 0.02")
    model = toy_model(*rods, *slides)
    (reason,) = reasons(model).values()
    assert f"within {90 if may_collide else 20}% of the size of a link" in reason
    assert bool(may_also_collide(model.unmonitored_pairs)) == may_collide


@pytest.mark.parametrize("pattern", ["left right", "right left", "l* r*"])
def test_a_rule_that_is_there_at_the_start_has_a_pair_checked(pattern):
    limits = (-0.0005, 0.04)
    left_out, model = hand(limits, limits), hand(limits, limits, checked=[pattern])
    assert [set(pair) for pair in model.pairs] == [{"left", "right"}]
    assert reasons(model) == {} and model.warnings == ()
    rule = Thresholds(0.1, 0.02, (Rule(pattern, 0.03, 0.01),))
    monitor = Monitor(model)
    monitor.set_thresholds(rule)
    assert monitor.behaviour.thresholds.tolist() == [[0.01, 0.03]]
    loaded = Recipe((RobotSource(hand_urdf(limits, limits)),), checked=(pattern,)).load()
    assert loaded.model.pairs == model.pairs
    with pytest.raises(ThresholdsError, match="meet, but nowhere deeper than 2 mm.*to have it che"):
        rule.of(left_out.pairs, left_out=left_out.unmonitored_pairs)


def test_a_pattern_that_matches_checked_pairs_brings_none_back():
    post = {"name": "post", "type": "sphere", "radius": 0.01, "position": [0.2, 0, 0]}
    limits = (-0.0005, 0.04)
    scene = {"obstacles": [post]}
    model = hand(limits, limits, scene=scene, checked=["left *", "* *", "left *"])
    assert frozenset(("left", "right")) in reasons(model)
    (warning,) = model.warnings
    assert "'left *' matches pairs that are checked anyway" in warning
    assert "stay unchecked: left - right; to have one" in warning
    both = hand(limits, limits, scene=scene, checked=["left *", "right left"])
    assert both.warnings == () and reasons(both) == {}
    assert "'left rihgt' matches no" in str(hand(limits, limits, checked=["left rihgt"]).warnings)
    with pytest.raises(ConfigurationError, match="'left' is not two names"):
        hand(limits, limits, checked=["left"])


def test_an_srdf_that_enables_a_pair_has_it_checked():
    limits = (-0.0005, 0.04)
    enabled = '<enable_collisions link1="right" link2="left"/>'
    disabled = '<disable_collisions link1="left" link2="right"/>'
    model = hand(limits, limits, srdf=f'<robot name="hand">{enabled}</robot>')
    assert [set(pair) for pair in model.pairs] == [{"left", "right"}]
    assert reasons(model) == {}
    both = hand(limits, limits, srdf=f'<robot name="hand">{enabled}{disabled}</robot>')
    assert both.pairs == [] and both.unmonitored_pairs[0].reason == "disabled in the SRDF"


def cover(gap, lowest):
    """A cover on a slide that lifts it off a box; they are ``gap`` metres apart at zero."""
    return toy_model(
        box("base", "0.1 0.1 0.1"), link("slide", '<sphere radius="0.01"/>', "0 0 1"),
        box("cover", "0.06 0.06 0.02", f"0 0 {0.06 + gap}"),
        joint("lift", "base", "slide", "prismatic", "0 0 0", limits=(lowest, 0.04)),
        joint("screws", "slide", "cover", "fixed", "0 0 0"),
    )  # fmt: skip


def test_covers_that_overlap_around_one_joint_are_left_out_if_they_never_overlap_deeper():
    shallow = cover(-0.002, -0.005)  # up to 7 mm deep around zero, and nowhere deeper
    assert "nowhere deeper than 10 mm over the range of 'lift'" in str(reasons(shallow))
    assert not any({*pair} == {"base", "cover"} for pair in shallow.pairs)
    for gap, lowest in (
        (-0.002, -0.03),  # 20 mm deeper at the limit than around zero
        (0.006, -0.012),  # apart around zero, 6 mm deep at the limit
    ):
        assert any({*pair} == {"base", "cover"} for pair in cover(gap, lowest).pairs)


def elbow(bent, knob=()):
    """An arm whose wrist overlaps its upper arm while it is straight.

    ``bent``: limit in radians; ``knob``: size and place of another box of the upper arm.
    """
    upper = box("upper", "0.3 0.03 0.03", "0.15 0 0")
    wrist = link("wrist", '<cylinder radius="0.01" length="0.24"/>', "0.08 0 0")
    return toy_model(
        with_box(upper, *knob) if knob else upper, link("elbow", ""),
        wrist.replace("<origin", '<origin rpy="0 1.5708 0"'),
        joint("fold", "upper", "elbow", xyz="0.335 0 0", limits=(-bent, 0.2)),
        joint("slide", "elbow", "wrist", "prismatic", "0 0 0", "1 0 0", limits=(0, 0.001)),
    )  # fmt: skip


def test_links_that_overlap_around_zero_only_are_left_out():
    (reason,) = reasons(elbow(1.9)).values()
    assert reason.startswith("overlap at home: shapes meet in ")
    assert reason.endswith("range of 'fold' and 'slide', in 1 part of it")
    assert [set(pair) for pair in elbow(2.5).pairs] == [{"upper", "wrist"}]  # they meet in a fold
    # A knob beside the elbow, which the wrist reaches before it has left the upper arm.
    knob = "0.02 0.02 0.02", "0.45 -0.06 0"
    assert [set(pair) for pair in elbow(1.9, knob).pairs] == [{"upper", "wrist"}]
    # Cubes that overlap by 28 mm at zero, and can be pushed into each other by 88 mm.
    urdf = hand_urdf((-0.03, 0.07), (-0.03, 0.07)).replace("0.1 0.02 0.02", "0.3 0.3 0.3")
    urdf = urdf.replace('xyz="0 0.01 0"', 'xyz="0 0.136 0"').replace("0 -0.01 0", "0 -0.136 0")
    assert CollisionModel.from_urdf(urdf).pairs


def test_pairs_that_an_srdf_disables_are_judged_by_the_same_rules():
    limits = (-0.02, 0.004)
    pair = ("left", "right")
    disabled = '<robot name="hand"><disable_collisions link1="left" link2="right"/></robot>'
    model = hand(limits, limits, srdf=disabled)
    assert reasons(model) == {} and model.pairs == []
    found = model.overlapping_by_design([pair])
    assert found == {pair: reasons(hand(limits, limits))[frozenset(pair)]}
    apart = hand((0.001, 0.04), (0.001, 0.04))
    assert apart.overlapping_by_design(apart.pairs) == {}
    assert apart.overlapping_by_design([]) == {}
    assert apart.distance([0.0, 0.0]).distance > -0.01  # the model itself is as before
    assert model.pairs == []
    with pytest.raises(ConfigurationError, match="'middle' is not among the 2 links"):
        model.overlapping_by_design([("left", "middle")])


def test_a_coarse_sample_proves_nothing():
    """An arm of 0.8 m grazes a post at zero, and runs through it between the samples."""
    arm = toy_model(
        link("post", '<sphere radius="0.02"/>', "0.7 0.029 0"), link("frame", ""),
        box("arm", "0.8 0.02 0.02", "0.4 0 0"),
        joint("lift", "post", "frame", "prismatic", "0 0 0", limits=(-0.001, 0.001)),
        joint("turn", "frame", "arm", xyz="0 0 0", limits=(-6.28, 6.28)),
    )  # fmt: skip
    assert [set(pair) for pair in arm.pairs] == [{"post", "arm"}]


def test_an_obstacle_is_named_only_if_the_meshes_meet_in_nearly_all_configurations():
    """A pillar turns beside a post: its leaf always overlaps the post, its edges meet it."""
    turning = robot(
        link("base", ""), link("pillar", '<box size="0.2 0.2 0.6"/>'), joint("j", "base", "pillar"),
    )  # fmt: skip
    for distance, is_named in ((0.12, False), (0.105, True)):
        post = {"name": "post", "type": "sphere", "radius": 0.01, "position": [1 + distance, 0, 0]}
        model = CollisionModel.from_urdf(
            turning, scene={"obstacles": [post]}, max_leaves_per_link=1
        )
        assert (model.min_distances(model.random_configurations(200)) < 0.0).all()
        assert any("'post'" in text for text in model.warnings) == is_named


@pytest.mark.parametrize(
    ("name", "pair", "says"),
    [
        ("panda", ("panda_leftfinger", "panda_rightfinger"), "over the range of"),
        pytest.param(
            "baxter", ("right_upper_shoulder", "right_upper_elbow"), "sampled configurations",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_vendor_robots(name, pair, says):
    options = {"with_srdf": False, "max_leaves_per_link": 1}
    model = load_model(name, **options)
    assert says in reasons(model)[frozenset(pair)]
    # An obstacle is never left out, however often it touches.
    scene = {"obstacles": [{"name": "ball", "type": "sphere", "radius": 3.0}]}
    if name == "panda":
        blocked = load_model(name, scene=scene, **options)
        assert any("ball" in each for each in blocked.pairs)
        assert any("'ball': shapes meet in 100.0%" in text for text in blocked.warnings)

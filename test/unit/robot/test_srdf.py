# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""An SRDF's pairs and groups, and what it says about links that are not there."""

import pytest
from support.robots.toy_models import toy_robot
from support.robots.toys import joint, link

from collision_monitor.errors import SemanticDescriptionError
from collision_monitor.robot.srdf import Semantics, load_srdf

# Base -j1- a -j2- b -(fixed)- c, and base -k1- d -(mimic of k1)- e.
ROBOT = toy_robot(
    *(link(name) for name in ("base", "a", "b", "c", "d", "e")),
    joint("j1", "base", "a"), joint("j2", "a", "b", "prismatic"),
    joint("weld", "b", "c", "fixed"), joint("k1", "base", "d", "continuous"),
    joint("k2", "d", "e", extra='<mimic joint="k1"/>'), name="r",
)  # fmt: skip


def srdf(*lines, name="r") -> str:
    return f"<robot name='{name}'>\n" + "\n".join(lines) + "\n</robot>"


def read(*lines, name="r") -> Semantics:
    """What an SRDF of these lines says of the robot."""
    return load_srdf(srdf(*lines, name=name), ROBOT)


def pair(*names) -> frozenset:
    return frozenset(names)


def refused(*lines) -> str:
    with pytest.raises(SemanticDescriptionError) as caught:
        read(*lines)
    return str(caught.value)


def test_disabled_pairs_and_reasons():
    semantics = read(
        "<disable_collisions link1='a' link2='b' reason='Adjacent'/>",
        "<disable_collisions link1='d' link2='a'/>",
        "<disable_collisions link1='b' link2='a' reason='Never'/>",
        "<virtual_joint name='v' type='fixed'/><group_state name='home'/>",
    )
    assert semantics.disabled == {pair("a", "b"): "Never", pair("a", "d"): ""}
    assert pair("b", "a") in semantics.disabled
    assert semantics.warnings == ()
    assert Semantics().disabled == {}


def test_a_named_state_beyond_a_limit_is_no_pose_of_rest():
    values = {"degrees": 90.0, "rounded": ROBOT.joints[0].upper + 5e-4}
    semantics = read(
        *(
            f"<group_state name='{name}'><joint name='j1' value='{value}'/>"
            f"<joint name='j2' value='0.1'/></group_state>"
            for name, value in values.items()
        ),
        "<group_state name='turned'><joint name='k1' value='7'/></group_state>",
    )
    assert set(semantics.states) == {"rounded", "turned"}
    (warning,) = semantics.warnings
    assert "beyond joint limits of the URDF are ignored: 'degrees' (j1 = 90, not in [" in warning


@pytest.mark.parametrize("given", ["", 'lower="0" upper="0" '])
def test_a_named_state_is_not_beyond_limits_that_nobody_gave(given):
    finger = joint("finger", "a", "b", "prismatic").replace('lower="-2" upper="2" ', given)
    loaded = toy_robot(link("a"), link("b"), finger, name="r")
    state = "<group_state name='open'><joint name='finger' value='0.04'/></group_state>"
    semantics = load_srdf(srdf(state), loaded)
    assert set(semantics.states) == {"open"} and not semantics.warnings


def test_named_states_of_one_name_are_one():
    semantics = read(
        "<virtual_joint name='v' type='planar' parent_frame='w' child_link='base'/>",
        "<group_state name='home' group='one'><joint name='j1' value='0.5'/></group_state>",
        "<group_state name='home' group='other'><joint name='k1' value=' -2 '/>",
        "<joint name='v' value='1 2 3'/></group_state>",
        "<group_state name='odd' group='one'><joint name='j2' value='${x}'/><joint name='j1'/>",
        "<joint name='j9' value='1'/><joint name='k1' value='inf'/></group_state>",
    )
    assert semantics.states == {"home": {"j1": 0.5, "k1": -2.0}, "odd": {}}
    (warning,) = semantics.warnings
    assert "ignored in group states: position '${x}' of joint 'j2', position '' of joint" in warning
    assert "joint 'j9', position 'inf' of joint 'k1'" in warning


def test_from_a_file(tmp_path, written):
    path = written("r.srdf", srdf("<disable_collisions link1='a' link2='b'/>"))
    assert load_srdf(path, ROBOT).disabled == {pair("a", "b"): ""}
    path.write_text(srdf("", "<disable_collisions link1='a'/>"))
    with pytest.raises(SemanticDescriptionError) as caught:
        load_srdf(str(path), ROBOT)
    assert f"{path}:3: <disable_collisions> without link2=" in str(caught.value)
    with pytest.raises(SemanticDescriptionError, match="no such file"):
        load_srdf(tmp_path / "no.srdf", ROBOT)


def test_unknown_links_are_named_in_one_warning():
    semantics = read(
        "<disable_collisions link1='a' link2='gone'/>",
        "<disable_collisions link1='ghost' link2='gone'/>",
        "<disable_default_collisions link='phantom'/>",
        "<disable_collisions link1='a' link2='b'/>",
    )
    assert set(semantics.disabled) == {pair("a", "b")}
    (warning,) = semantics.warnings
    assert "unknown links" in warning
    assert all(warning.count(f"'{name}'") == 1 for name in ("gone", "ghost", "phantom"))


def test_elements_that_do_not_decide_on_pairs_though_they_look_so_are_named():
    semantics = read(
        "<disable_collision link1='a' link2='b'/>",
        "<group name='g'><disable_collisions link1='a' link2='d'/></group>",
    )
    assert not semantics.disabled
    (warning,) = semantics.warnings
    for element in ("<disable_collision> (", ":2), ", "<disable_collisions> (", ":3); directly in"):
        assert element in warning


def test_disabled_by_default():
    semantics = read(
        "<disable_default_collisions link='c'/>",
        "<enable_collisions link1='c' link2='e'/>",
        "<enable_collisions link1='a' link2='d'/>",
        "<disable_collisions link1='a' link2='d' reason='Never'/>",
        "<disable_collisions link1='c' link2='a' reason='Never'/>",
    )
    assert set(semantics.disabled) == {
        *(pair("c", other) for other in ("base", "a", "b", "d")),
        pair("a", "d"),
    }
    assert semantics.disabled[pair("c", "d")] == "off by default for 'c'"
    assert semantics.disabled[pair("c", "a")] == "Never"
    assert semantics.enabled == {pair("c", "e")}  # a and d are disabled as well


def test_another_robots_name_is_a_warning():
    (warning,) = read(name="other").warnings
    assert "'other'" in warning and "'r'" in warning


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("<disable_collisions link2='a'/>", ":2: <disable_collisions> without link1="),
        ("<disable_collisions link1='' link2='a'/>", ":2: <disable_collisions> without link1="),
        ("<disable_collisions link1='a' link2='a'/>", "link1 and link2 are both 'a'"),
        ("<enable_collisions link1='a'/>", ":2: <enable_collisions> without link2="),
        ("<disable_default_collisions/>", ":2: <disable_default_collisions> without link="),
        ("<link name='a'/>", ":2: <link> in <robot>: this is a URDF, an SRDF is expected"),
        ("<group/>", ":2: <group> without name="),
        ("<group name='g'/>\n<group name='g'/>", ":3: a second group is named 'g'"),
        ("<group name='g'><joint/></group>", ":2: <joint> without name="),
        ("<group name='g'><chain base_link='a'/></group>", ":2: <chain> without tip_link="),
        ("<group name='g'><group name='g'/></group>", "contain each other: 'g' -> 'g'"),
        (
            "<group name='g'><group name='h'/></group><group name='h'><group name='g'/></group>",
            "contain each other: 'g' -> 'h' -> 'g'",
        ),
        ("<unclosed>", ":3: not XML"),
        ("<x:macro xmlns:x='http://ros.org/wiki/xacro'/>", ":2: <xacro:macro> is not expanded"),
    ],
)
def test_refused(line, reason):
    message = refused(line)
    assert reason in message
    assert "semantic robot description" in message


def test_not_an_srdf():
    with pytest.raises(SemanticDescriptionError, match="<sdf>, expected <robot>"):
        load_srdf("<sdf/>", ROBOT)
    with pytest.raises(SemanticDescriptionError, match="DOCTYPE"):
        load_srdf("<!DOCTYPE a><robot/>", ROBOT)


def test_groups():
    semantics = read(
        "<group name='all'><group name='later'/><group name='chain'/></group>",
        "<group name='later'><joint name='k1'/><joint name='weld'/></group>",
        "<group name='chain'><chain base_link='base' tip_link='c'/></group>",
        "<group name='links'><link name='e'/><link name='base'/></group>",
        "<group name='across'><chain base_link='b' tip_link='e'/></group>",
        "<group name='mixed'><joint name='j2'/><chain base_link='base' tip_link='d'/></group>",
        "<group name='empty'/>",
    )
    assert semantics.groups == {
        "all": ("a", "b", "c", "d"),
        "later": ("c", "d"),
        "chain": ("a", "b", "c"),
        "links": ("base", "e"),
        "across": ("a", "b", "d", "e"),
        "mixed": ("b", "d"),
        "empty": (),
    }
    assert semantics.group_joints == {
        "all": ("j1", "j2", "k1"),
        "later": ("k1",),
        "chain": ("j1", "j2"),
        "links": ("k2",),
        "across": ("j1", "j2", "k1", "k2"),
        "mixed": ("j2", "k1"),
        "empty": (),
    }
    assert semantics.warnings == ()


def test_a_group_in_two_groups_is_no_cycle():
    semantics = read(
        "<group name='g'><group name='h'/><group name='i'/></group>",
        "<group name='h'><group name='i'/></group>",
        "<group name='i'><joint name='j1'/></group>",
    )
    assert semantics.group_joints["g"] == ("j1",)


def test_unknown_names_in_groups_are_one_warning():
    semantics = read(
        "<group name='g'><joint name='gone'/><link name='ghost'/><group name='none'/>",
        "<chain base_link='base' tip_link='nowhere'/><joint name='j1'/></group>",
    )
    assert semantics.group_joints["g"] == ("j1",)
    (warning,) = semantics.warnings
    for name in ("joint 'gone'", "link 'ghost'", "group 'none'", "link 'nowhere'"):
        assert name in warning


def test_a_virtual_joint_in_a_group_is_no_unknown_name():
    semantics = read(
        "<virtual_joint name='world_joint' type='fixed' child_link='base'/>",
        "<group name='g'><joint name='world_joint'/><joint name='j1'/></group>",
    )
    assert (semantics.group_joints["g"], semantics.warnings) == (("j1",), ())

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Masses out of a URDF: turned into the axes of the link, and refused where they cannot be."""

import numpy as np
import pytest

from collision_monitor.errors import RobotDescriptionError
from collision_monitor.robot.inertials import JointFriction, read_friction, read_inertials


def urdf(inner):
    """A robot of one link."""
    return f'<robot name="r"><link name="a">{inner}</link></robot>'


def test_inertia_is_turned_into_the_axes_of_the_link():
    inner = (
        '<inertial><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><mass value="4"/>'
        '<inertia ixx="1" iyy="2" izz="2.5" ixy="0.1" ixz="0" iyz="0.2"/></inertial>'
    )
    found = read_inertials(urdf(inner))["a"]
    assert found.mass == 4.0
    assert found.centre.tolist() == [1.0, 2.0, 3.0]
    # Turned by 90 degrees about z: x becomes y, y becomes -x.
    right = [[2.0, -0.1, -0.2], [-0.1, 1.0, 0.0], [-0.2, 0.0, 2.5]]
    assert np.allclose(found.inertia, right, atol=1e-12)
    assert found.is_possible


def test_links_without_mass_are_left_out():
    assert read_inertials(urdf("")) == {}
    assert read_inertials(urdf('<inertial><mass value="0"/></inertial>')) == {}


def test_an_inertia_that_no_body_has_is_known():
    for moments in ('ixx="1" iyy="1" izz="3"', 'ixx="1" iyy="1" izz="1" ixy="1.5"'):
        found = read_inertials(urdf(f'<inertial><mass value="1"/><inertia {moments}/></inertial>'))
        assert not found["a"].is_possible


@pytest.mark.parametrize(
    ("inner", "says"),
    [
        ("<inertial/>", "link 'a': <inertial> has no <mass>"),
        ('<inertial><mass value="-1"/></inertial>', "a mass of -1 kg is below zero"),
        ('<inertial><mass value="nan"/></inertial>', "<mass value=...>: expected finite numbers"),
        ('<inertial><mass/></inertial>', "<mass value=...> is missing"),
        ('<inertial><mass value="1"/></inertial>' * 2, "a second <inertial>"),
        ('<inertial><mass value="1"/><mass value="2"/></inertial>', "a second <mass>"),
        ('<inertial><Origin/><mass value="1"/></inertial>', "<Origin>: write <origin>"),
        ('<inertial><mass value="1"/><Inertia/></inertial>', "<Inertia>: write <inertia>"),
        ('<Inertial><mass value="1"/></Inertial>', "<Inertial>: write <inertial>"),
        (
            '<inertial><origin xyz="1 2"/><mass value="1"/></inertial>',
            "<origin xyz=...>: expected 3 numbers, got '1 2'",
        ),
    ],
)
def test_what_is_wrong_is_named(inner, says):
    with pytest.raises(RobotDescriptionError) as error:
        read_inertials(urdf(inner))
    assert says in str(error.value) and ":1: " in str(error.value)


def joints(*joints):
    return "<robot>\n" + "".join(joints) + "</robot>"


def test_what_is_written_is_read_and_the_rest_is_zero():
    found = read_friction(
        joints(
            '<joint name="j"><dynamics damping="0.5"/></joint>',
            '<joint name="k"><dynamics friction="2"/></joint>',
            '<joint name="l"/>',
        )
    )
    assert found == {"j": JointFriction(0.5, 0.0), "k": JointFriction(0.0, 2.0)}


def test_friction_that_would_be_ignored_is_an_error():
    with pytest.raises(RobotDescriptionError, match=r":2: <Dynamics>: write <dynamics>"):
        read_friction(joints('<joint name="j"><Dynamics damping="1"/></joint>'))


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "much", ""])
def test_what_means_nothing_is_an_error_with_its_line(value):
    text = joints(f'<joint name="j"><dynamics damping="{value}"/></joint>')
    with pytest.raises(RobotDescriptionError, match=r":2: joint 'j': <dynamics damping=\.\.\.>"):
        read_friction(text)

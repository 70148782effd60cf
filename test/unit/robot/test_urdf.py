# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A URDF is loaded whole, or refused with the name and the line of what is wrong."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from urdf_parser_py.xml_reflection import core as parser_core

from collision_monitor import CollisionModel
from collision_monitor.errors import JointLimitsError, MeshError, RobotDescriptionError
from collision_monitor.robot.limits import urdf_limits
from collision_monitor.robot.packages import publishable
from collision_monitor.robot.urdf import load_robot

LIMITS = "<limit lower='-1' upper='1'/>"
SPHERE = "<collision><geometry><sphere radius='0.1'/></geometry></collision>"


def link(name, inside=SPHERE) -> str:
    return f"<link name='{name}'>{inside}</link>\n"


def joint(name, parent, child, kind="revolute", inside="<limit lower='-1' upper='2'/>") -> str:
    return (
        f"<joint name='{name}' type='{kind}'><parent link='{parent}'/><child link='{child}'/>"
        f"{inside}</joint>\n"
    )


def robot(*parts) -> str:
    return "<robot name='r'>\n" + "".join(parts) + "</robot>"


def load(*parts):
    return load_robot(robot(*parts))


def two(inside="<limit lower='-1' upper='2'/>", kind="revolute") -> str:
    """Links on lines 2 and 3, the joint on line 4."""
    return robot(link("a"), link("b"), joint("j", "a", "b", kind, inside))


def collision(inside, attributes="") -> str:
    return robot(link("a", f"<collision {attributes}>{inside}</collision>"))


def refused(source, **arguments) -> str:
    with pytest.raises(RobotDescriptionError) as caught:
        load_robot(source, **arguments)
    return str(caught.value)


def test_tree_and_order():
    loaded = load(
        joint("jc", "a", "c"),
        link("d"),
        joint("jb", "a", "b"),
        link("a"),
        joint("je", "c", "e"),
        link("b"),
        link("c"),
        joint("jd", "b", "d"),
        link("e", ""),
    )
    assert loaded.name == "r"
    assert loaded.root == "a"
    assert [j.name for j in loaded.joints] == ["jc", "je", "jb", "jd"]
    assert list(loaded.links) == ["d", "a", "b", "c", "e"]
    assert loaded.links["e"].shapes == ()
    assert loaded.warnings == ()


def test_defaults():
    (j,) = load_robot(two()).joints
    np.testing.assert_array_equal(j.origin, np.eye(4))
    np.testing.assert_array_equal(j.axis, [1, 0, 0])
    assert (j.effort, j.velocity) == (math.inf, math.inf)
    tiny = "<axis xyz='0 0 1e-6'/><limit lower='0' upper='1' effort='inf' velocity='inf'/>"
    (j,) = load_robot(two(tiny)).joints
    np.testing.assert_allclose(j.axis, [0, 0, 1])
    assert (j.effort, j.velocity) == (math.inf, math.inf)


def test_shapes():
    inside = "".join(
        f"<collision><origin xyz='0 0 {i}'/><geometry>{shape}</geometry></collision>"
        for i, shape in enumerate(
            (
                "<box size='1 2 3'/>",
                "<cylinder radius='0.1' length='2'/>",
                "<sphere radius='0.3'/>",
                "<capsule radius='0.4' length='5'/>",
                "<capsule radius='0.4' length='0'/>",
            )
        )
    )
    shapes = load(link("a", inside)).links["a"].shapes
    assert [s.kind for s in shapes] == ["box", "cylinder", "sphere", "capsule", "capsule"]
    assert [s.size for s in shapes] == [(1, 2, 3), (0.1, 2), (0.3,), (0.4, 5), (0.4, 0)]
    assert [s.pose[2, 3] for s in shapes] == [0, 1, 2, 3, 4]
    assert shapes[0].source == "box of link 'a'"


def test_what_does_not_matter_is_not_read():
    loaded = load(
        "<material name='m'/><transmission/><gazebo><link name='a'/></gazebo>"
        "<ros2_control><joint name='j'/></ros2_control><link_of_mine/>",
        "<link name='a' odd='1'><inertial><mass value='heavy'/></inertial>"
        "<visual><geometry><mesh filename='no.stl'/></geometry></visual>"
        f"{SPHERE}<contact/></link>",
        link("b"),
        joint("j", "a", "b", inside="<dynamics damping='x'/><limit lower='0' upper='1'/>"),
    )
    assert len(loaded.links) == 2


def test_parser_noise_is_silent_and_its_hook_restored(capfd):
    hook = parser_core.on_error
    load_robot(two())
    refused(robot("<link/>"))
    assert parser_core.on_error is hook
    assert capfd.readouterr() == ("", "")


def test_robot_without_a_name():
    loaded = load_robot(robot(link("a")).replace("name='r'", ""))
    assert loaded.name == "robot"
    assert "no name" in loaded.warnings[0]


# Files, and where messages point to.


def test_file_and_line(written):
    path = written("r.urdf", two("<axis xyz='0 0 0'/>"))
    assert f"{path}:4: joint 'j': the axis (0.0, 0.0, 0.0)" in refused(path)
    assert f"{path}:4: joint 'j'" in refused(str(path))
    assert "<robot description>:4: joint 'j'" in refused(path.read_bytes())


def test_a_mesh_in_millimetres_is_remarked(tmp_path):
    (tmp_path / "m.obj").write_text("v 55 0 0\nv 0 55 0\nv 0 0 1\nf 1 2 3\n")
    text = collision(f"<geometry><mesh filename='{tmp_path}/m.obj'/></geometry>")
    (warning,) = load_robot(text).warnings
    assert "link 'a'" in warning and "m.obj is 55 m long" in warning and "0.001" in warning
    assert load_robot(text.replace("'/>", "' scale='0.001 0.001 0.001'/>")).warnings == ()


def test_meshes_are_found_scaled_and_placed(tmp_path):
    (tmp_path / "pkg" / "meshes").mkdir(parents=True)
    (tmp_path / "pkg" / "meshes" / "m.obj").write_text("v 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\n")
    mesh = "<mesh filename='package://pkg/meshes/m.obj' scale='1 -2 3'/>"
    text = collision(f"<origin xyz='7 8 9'/><geometry>{mesh}</geometry>")
    (shape,) = load_robot(text, [tmp_path]).links["a"].shapes
    assert shape.kind == "mesh" and shape.size == ()
    assert sorted(map(tuple, shape.vertices)) == [(0, -2, 0), (0, 0, 3), (1, 0, 0)]
    np.testing.assert_array_equal(shape.pose[:3, 3], [7, 8, 9])
    assert shape.source == str(tmp_path / "pkg" / "meshes" / "m.obj")
    a, b, c = shape.vertices[shape.triangles[0]]
    assert np.cross(b - a, c - a) @ [1, -1, 1] > 0  # outwards still, though mirrored
    with pytest.raises(MeshError, match=r":2: link 'a': no file 'package://pkg/meshes/m.obj'"):
        load_robot(text)
    (tmp_path / "pkg" / "meshes" / "m.obj").write_text("v 1 0 0\n")
    with pytest.raises(MeshError, match=r":2: link 'a': .*m.obj: the mesh is empty"):
        load_robot(text, [tmp_path])
    with pytest.raises(MeshError, match=r":2: link 'a': scale \(1, 0, 3\)"):
        load_robot(text.replace("-2", "0"), [tmp_path])


PROPERTY = "<xacro:property xmlns:xacro='http://www.ros.org/wiki/xacro' name='a' value='1'/>"


def left_behind(urdf):
    """A description with a property of xacro."""
    return urdf.replace("</robot>", f"{PROPERTY}</robot>")


def test_a_xacro_property_that_nothing_uses_is_ignored():
    text = two()
    assert load_robot(left_behind(text)).links.keys() == load_robot(text).links.keys()


ORIGIN = "<origin {}/><geometry><sphere radius='1'/></geometry>"
CASES = {
    "another document": ("<sdf/>", ":1: the root element is <sdf>"),
    "not XML": ("<robot name='r'>\n<link></robot>", ":2: not XML"),
    "doctype": ("<!DOCTYPE x><robot/>", "DOCTYPE"),
    "xacro": (
        "<robot name='r' xmlns:xacro='http://www.ros.org/wiki/xacro'>\n<xacro:arm/></robot>",
        ":2: <xacro:arm> is not expanded; run xacro first",
    ),
    "xacro property that is used": (
        left_behind(collision("<geometry><box size='${a} 1 1'/></geometry>")),
        "<xacro:property> is not expanded; run xacro first",
    ),
    "xacro without a namespace": (
        robot(link("a"), "<xacro:include filename='arm.xacro'/>"),
        ":3: <xacro:include> is not expanded; run xacro first",
    ),
    "xacro in another namespace": (
        robot(link("a"), "<xacro:arm xmlns:xacro='http://example.org/interface'/>"),
        ":3: <xacro:arm> is not expanded; run xacro first",
    ),
    "include of old xacro": (
        robot(link("a"), "<include filename='arm.xacro'/>"),
        ":3: <include> is not expanded; write <xacro:include> and run xacro",
    ),
    "macro of old xacro": (
        robot(link("a"), "<macro name='arm'/>"),
        ":3: <macro> is not expanded; write <xacro:macro> and run xacro",
    ),
    "no links": (robot(), "'r' has no links"),
    "an SRDF": (
        robot("<group name='arm'/>"),
        "'r' has no links; this is an SRDF, a URDF is expected",
    ),
    "nothing to monitor": (robot(link("a", "<visual/>")), "'r' has no collision geometry: nothing"),
    "link without name": (robot("<link/>"), ":2: a <link> without a name"),
    "joint without name": (robot(link("a"), "<joint type='fixed'/>"), ":3: a <joint> without a n"),
    "link twice": (robot(link("a"), link("a")), ":3: a second link is named 'a'"),
    "joint twice": (
        robot(link("a"), link("b"), link("c"), joint("j", "a", "b"), joint("j", "a", "c")),
        ":6: a second joint is named 'j'; the first is at <robot description>:5",
    ),
    "no type": (two().replace("type='revolute'", ""), ":4: joint 'j': it has no type"),
    "unknown type": (two(kind="ball"), ":4: joint 'j': unknown type 'ball'; use one of fixed"),
    "no parent": (two().replace("<parent link='a'/>", ""), ":4: joint 'j': no <parent link=...>"),
    "no child": (two().replace("<child link='b'/>", ""), ":4: joint 'j': no <child link=...>"),
    "parent no link": (two().replace("<parent link='a'/>", "<parent/>"), "'j': <parent link=...>"),
    "two parents in joint": (two("<parent link='a'/>"), ":4: joint 'j': a second <parent>"),
    "unknown parent": (
        two().replace("t link='a'", "t link='x'"),
        "'j': its parent link 'x' does not exist; add <link name=\"x\"/>, or name one of the "
        "links: a, b",
    ),
    "unknown child": (two().replace("d link='b'", "d link='x'"), "'j': its child link 'x'"),
    "two roots": (robot(link("a"), link("b")), "2 root links, a robot has one: 'a', 'b'"),
    "two parents": (
        robot(*map(link, "abc"), joint("j", "a", "c"), joint("k", "b", "c")),
        ":6: link 'c' has two parents: 'a' by joint 'j' and 'b' by joint 'k'",
    ),
    "own parent": (robot(link("a"), joint("j", "a", "a")), ":3: the links form a cycle: 'a'"),
    "cycle beside a tree": (
        robot(*map(link, "abcd"), joint("j", "a", "b"), joint("k", "c", "d"), joint("l", "d", "c")),
        "cycle: ",
    ),
    "zero axis": (two("<axis xyz='0 0 0'/>"), ":4: joint 'j': the axis (0.0, 0.0, 0.0)"),
    "axis not finite": (two("<axis xyz='0 0 nan'/>"), "<axis xyz=...>: expected finite numbers"),
    "limits crossed": (
        two("<limit lower='1' upper='-1'/>"),
        ":4: joint 'j': the lower limit 1 is above the upper limit -1; if they are swapped, write "
        'lower="-1" upper="1"',
    ),
    "limits infinite": (two("<limit lower='-inf' upper='1'/>"), "<limit lower=...>: expected f"),
    "joint origin": (two("<origin xyz='1 2'/>"), ":4: joint 'j': <origin xyz=...>: expected 3"),
    "joint origin in degrees": (
        two("<origin rpy='0 0 -90'/>"),
        ":4: joint 'j': <origin rpy=...>: -90 is more than a turn; angles are in radians",
    ),
    "mimic unknown": (two("<mimic joint='x'/>"), ":4: joint 'j' mimics 'x', which does not exist"),
    "mimic itself": (two("<mimic joint='j'/>"), ":4: joint 'j' mimics itself"),
    "mimic of fixed": (
        robot(
            *map(link, "abc"),
            joint("f", "a", "b", "fixed", ""),
            joint("j", "b", "c", inside="<mimic joint='f'/>"),
        ),
        ":6: joint 'j' mimics 'f', which is fixed",
    ),
    "mimic cycle": (
        robot(
            *map(link, "abc"),
            joint("j", "a", "b", inside="<mimic joint='k'/>"),
            joint("k", "b", "c", inside="<mimic joint='j'/>"),
        ),
        "in a cycle: 'j' -> 'k' -> 'j'",
    ),
    "no geometry": (collision(""), ":2: link 'a': a collision element needs one geometry"),
    "two geometries": (
        collision("<geometry><sphere radius='1'/><sphere radius='1'/></geometry>"),
        "found <sphere>, <sphere>",
    ),
    "misspelt collision": (robot(link("a", "<Collision/>")), ":2: <Collision>: write <collision>"),
    "misspelt link": (robot(link("a"), "<Link name='b'/>"), ":3: <Link>: write <link>"),
    "collision in visual": (
        robot(link("a", f"{SPHERE}<visual>{SPHERE}</visual>")),
        ":2: a <collision> in <visual> in <link> in <robot> would not be checked",
    ),
    "collision in a link in a link": (
        robot(link("a", SPHERE + link("b"))),
        ":2: a <collision> in <link> in <link> in <robot> would not be checked",
    ),
    "collision without a link": (
        robot(link("a"), SPHERE),
        ":3: a <collision> in <robot> would not be checked; write it in a <link> in <robot>",
    ),
    "slider without limits": (
        two("<limit lower='-1.7e308' upper='1'/>", "prismatic"),
        "exceed the maximum of 1e+06; write the range in which it moves, metres",
    ),
    "no mesh name": (collision("<geometry><mesh/></geometry>"), "<mesh filename=...> is missing"),
    "empty mesh name": (collision("<geometry><mesh filename=''/></geometry>"), "is empty"),
    "mesh scale": (
        collision("<geometry><mesh filename='a.stl' scale='0.001'/></geometry>"),
        ":2: link 'a': <mesh scale=...>: expected 3 numbers, got '0.001'",
    ),
    "expression of xacro": (
        collision("<geometry><box size='${a} 1 1'/></geometry>"),
        "expected 3 numbers, got '${a} 1 1'; run xacro first",
    ),
    "http": (collision("<geometry><mesh filename='http://a/b.stl'/></geometry>"), "'http' is not"),
}
for _shape, _number in (
    ("<box size='{} 1 1'/>", "3 numbers"),
    ("<box size='1 1 {}'/>", "3 numbers"),
    ("<sphere radius='{}'/>", "a number"),
    ("<cylinder radius='{}' length='1'/>", "a number"),
    ("<cylinder radius='1' length='{}'/>", "a number"),
    ("<capsule radius='{}' length='1'/>", "a number"),
    ("<capsule radius='1' length='{}'/>", "a number"),
):
    for _value, _reason in (
        ("-1", "is negative"),
        ("nan", "expected finite numbers"),
        ("inf", "expected finite numbers"),
        ("x", f"expected {_number}"),
        ("1_0", f"expected {_number}"),
    ):
        _text = _shape.format(_value)
        CASES[_text] = (collision(f"<geometry>{_text}</geometry>"), _reason)
CASES["<sphere/>"] = (collision("<geometry><sphere/></geometry>"), "<sphere radius=...> is missing")


@pytest.mark.parametrize("name", CASES)
def test_refused(name):
    text, reason = CASES[name]
    message = refused(text)
    assert reason in message
    assert "robot description" in message


@pytest.mark.parametrize(
    ("shape", "reach"),
    [
        ("<box size='0 0 0'/>", 0.0), ("<box size='0.2 0 0'/>", 0.1),
        ("<box size='0.2 2 0'/>", 0.1),
        ("<sphere radius='0'/>", 0.0), ("<cylinder radius='0' length='0'/>", 0.0),
        ("<cylinder radius='0.1' length='0'/>", 0.1), ("<cylinder radius='0' length='2'/>", 0.0),
        ("<capsule radius='0' length='2'/>", 0.0), ("<capsule radius='0' length='0'/>", 0.0),
        ("<capsule radius='0.1' length='0'/>", 0.1),
    ],
)  # fmt: skip
def test_shapes_without_a_size_have_a_distance(shape, reach):
    """Vendors put points on frames, and plates; urdfdom, RViz and MoveIt load them."""
    flat = link("a", f"<collision><geometry>{shape}</geometry></collision>")
    model = CollisionModel.from_urdf(
        robot(
            flat, link("m", ""), link("b"), joint("j", "a", "m", inside=LIMITS),
            joint("k", "m", "b", "prismatic", "<origin xyz='1 0 0'/>" + LIMITS),
        ),
        max_leaves_per_link=1,
    )  # fmt: skip
    q = np.array([0.0, 0.5])
    exact = model.distance(q, exact=True).distance
    assert exact == pytest.approx(1.5 - 0.1 - reach, abs=1e-6)
    assert exact - 2.0 < model.distance(q).distance <= exact + 1e-12


NAMESPACES = {
    "default": lambda text: text.replace("<robot", "<robot xmlns='http://www.ros.org'"),
    "extension": lambda text: text.replace("<robot", "<robot xmlns:drake='http://d'").replace(
        "</geometry>", "<drake:declare_convex/></geometry>"
    ),
    "undeclared": lambda text: text.replace(
        "</geometry>", "<drake:declare_convex/></geometry>"
    ).replace("</robot>", "<gazebo><a:plugin x:y='1'/></gazebo></robot>"),
}


@pytest.mark.parametrize("kind", NAMESPACES)
def test_namespaces_mean_nothing_as_in_urdfdom(kind):
    text = NAMESPACES[kind](two())
    loaded = load_robot(text)
    assert [len(one.shapes) for one in loaded.links.values()] == [1, 1]
    assert (loaded.joints[0].lower, loaded.joints[0].upper) == (-1.0, 2.0)
    assert ": not XML: " in refused(text.replace("</link>", "", 1))
    assert publishable(text)[1] == "a"


# Warnings.


def test_equal_limits_are_a_warning():
    """The exporter of SolidWorks writes 0 to 0 for limits that were left empty."""
    equal = "<limit lower='0' upper='0' effort='0' velocity='0'/>"
    loaded = load(
        *map(link, "abcd"),
        joint("r1", "a", "b", inside=equal),
        joint("r2", "b", "c", inside=equal),
        joint("m", "c", "d", inside=equal + "<mimic joint='r1'/>"),
    )
    (text,) = loaded.warnings
    assert text.startswith("joints 'r1', 'r2': limits 0 to 0, so it is sampled at 0 only; write")
    assert {(j.lower, j.upper) for j in loaded.joints} == {(0.0, 0.0)}


SAFETY = "<limit lower='-2' upper='2' effort='1' velocity='1'/><safety_controller k_velocity='1' "


def test_soft_limits_are_those_of_the_safety_controller():
    loaded = load(
        *map(link, "abcde"),
        joint("both", "a", "b",
              inside=SAFETY + "soft_lower_limit='-1.5' soft_upper_limit='1'/>"),
        joint("none", "b", "c", inside=SAFETY + "/>"),
        joint("zero", "c", "d", inside=SAFETY + "soft_lower_limit='0' soft_upper_limit='0'/>"),
        joint("turns", "d", "e", "continuous",
              "<safety_controller k_velocity='1' soft_lower_limit='-1' soft_upper_limit='1'/>"),
    )  # fmt: skip
    limits = urdf_limits(loaded, soft=True)
    assert (limits["both"].lower, limits["both"].upper) == (-1.5, 1.0)
    assert limits | {"both": None} == urdf_limits(loaded) | {"both": None}


@pytest.mark.parametrize(("lower", "upper"), [("2.5", "3"), ("1", "-1")])
def test_soft_limits_that_leave_no_position_cannot_count(lower, upper):
    inside = SAFETY + f"soft_lower_limit='{lower}' soft_upper_limit='{upper}'/>"
    loaded = load(link("a"), link("b"), joint("elbow", "a", "b", inside=inside))
    assert urdf_limits(loaded)["elbow"].upper == 2.0
    problem = f"joint 'elbow': its soft limits {lower} .. {upper} .* leave nothing of .* -2 .. 2$"
    with pytest.raises(JointLimitsError, match=problem):
        urdf_limits(loaded, soft=True)


def test_missing_limits():
    loaded = load(
        *map(link, "abcdefg"),
        joint("r1", "a", "b", inside=""),
        joint("r2", "b", "c", inside="<limit effort='1' velocity='1'/>"),
        joint("r3", "c", "d", inside="<limit lower='4'/>"),
        joint("p1", "d", "e", "prismatic", ""),
        joint("p2", "e", "f", "prismatic", "<limit lower='0.5'/>"),
        joint("c", "f", "g", "continuous", ""),
    )
    limits = {j.name: (j.lower, j.upper) for j in loaded.joints}
    assert limits == {
        "r1": (-math.pi, math.pi),
        "r2": (-math.pi, math.pi),
        "r3": (4, 4),
        "p1": (0, 0),
        "p2": (0.5, 0.5),
        "c": (-math.pi, math.pi),
    }
    text = "\n".join(loaded.warnings)
    assert "joints 'r1', 'r2': no lower and no upper limit, -3.14159 to 3.14159 is assumed" in text
    assert "'p1': no lower and no upper limit, 0 to 0 is assumed, so it is sampled at 0" in text
    assert "'p2': no upper limit, 0.5 to 0.5 is assumed" in text
    assert "'c'" not in text


def test_a_range_may_be_zero_and_continuous_joints_have_no_limits_of_their_own():
    loaded = load_robot(two("<limit lower='-2' upper='-2' velocity='0' effort='-1'/>"))
    assert (loaded.joints[0].lower, loaded.joints[0].upper) == (-2, -2)
    assert loaded.warnings == ()
    (j,) = load_robot(two("<limit lower='3' upper='-3' velocity='2'/>", "continuous")).joints
    assert (j.lower, j.upper, j.velocity) == (-math.pi, math.pi, 2)


def test_axis_of_a_joint_that_does_not_turn_about_it_does_not_matter():
    for kind in ("fixed", "floating"):
        (j,) = load_robot(two("<axis xyz='0 0 0'/>", kind)).joints
        assert not j.moves
    unfinished = "<axis xzy='0 0 1'/><limit lower='' upper=''/>"
    assert not load_robot(two(unfinished, "fixed")).joints[0].moves


def test_floating_and_planar_are_held_and_what_mimics_them_too():
    loaded = load(
        *map(link, "abcdef"),
        joint("free", "a", "b", "floating", ""),
        joint("flat", "b", "c", "planar", ""),
        joint("m1", "c", "d", inside="<axis xyz='0 0 1'/><mimic joint='free' offset='0.5'/>"),
        joint(
            "m2", "d", "e", "prismatic",
            "<origin xyz='1 0 0'/><axis xyz='0 0 1'/>"
            "<mimic joint='m1' multiplier='-2' offset='3'/>",
        ),
        joint("k", "e", "f"),
    )  # fmt: skip
    joints = {j.name: j for j in loaded.joints}
    assert [j.name for j in loaded.joints if j.moves] == ["k"]
    assert joints["free"].kind == "floating"
    assert joints["m1"].kind == "fixed" and joints["m1"].mimic is None
    turned = Rotation.from_matrix(joints["m1"].origin[:3, :3]).as_rotvec()
    np.testing.assert_allclose(turned, [0, 0, 0.5], atol=1e-12)
    np.testing.assert_allclose(joints["m2"].origin[:3, 3], [1, 0, -2 * 0.5 + 3])
    text = "\n".join(loaded.warnings)
    assert "'free': floating, held at zero" in text
    assert "'flat': planar, held at zero" in text
    assert "'m1': held at 0.5, since 'free' is held" in text
    assert "'m2': held at 2, since 'm1' is held" in text


def test_mimic_values_and_chains():
    loaded = load(
        *map(link, "abcd"),
        joint("x", "a", "b", inside="<limit lower='0' upper='1'/><mimic joint='y'/>"),
        joint("y", "b", "c", "continuous", "<mimic joint='z' multiplier='-2' offset='0.5'/>"),
        joint("z", "c", "d"),
    )
    x, y, z = loaded.joints
    assert (x.mimic.joint, x.mimic.multiplier, x.mimic.offset) == ("y", 1.0, 0.0)
    assert (y.mimic.joint, y.mimic.multiplier, y.mimic.offset) == ("z", -2.0, 0.5)
    assert z.mimic is None


def test_mimic_of_a_joint_that_does_not_move_is_ignored():
    loaded = load_robot(two("<mimic joint='x'/>", "fixed"))
    assert loaded.joints[0].mimic is None
    assert "'j': their <mimic> is ignored" in loaded.warnings[0]


def test_a_long_chain_is_no_problem():
    count = 3000
    loaded = load(
        *(link(f"l{i}") for i in range(count + 1)),
        *(joint(f"j{i}", f"l{i}", f"l{i + 1}") for i in reversed(range(count))),
    )
    assert [j.name for j in loaded.joints] == [f"j{i}" for i in range(count)]

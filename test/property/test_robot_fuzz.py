# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Whatever comes in as a description, a mesh or a scene: it loads, or it is refused by name."""

import contextlib
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.robots import toys
from unit.geometry.test_meshes import GOOD

from collision_monitor.errors import CollisionMonitorError
from collision_monitor.geometry.meshes import MeshLoader
from collision_monitor.robot.bodies import rigid_bodies
from collision_monitor.robot.scene import load_scene, with_joints
from collision_monitor.robot.srdf import load_srdf
from collision_monitor.robot.urdf import load_robot

SETTINGS = settings(
    max_examples=100,
    deadline=5000,  # milliseconds: nothing may hang
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)

URDF = """<?xml version="1.0" encoding="utf-8"?>
<robot name="r">
  <link name="a"><collision><origin xyz="0 0 1" rpy="0 0 0"/>
    <geometry><box size="1 2 3"/></geometry></collision></link>
  <link name="b"><collision><geometry><cylinder radius="0.1" length="2"/></geometry></collision>
    <collision><geometry><mesh filename="package://p/m.stl" scale="1 1 1"/></geometry></collision>
  </link>
  <link name="c"><collision><geometry><capsule radius="0.1" length="2"/></geometry></collision>
  </link>
  <joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="k" type="prismatic"><parent link="b"/><child link="c"/>
    <limit lower="0" upper="1"/><mimic joint="j" multiplier="2" offset="0.5"/></joint>
</robot>"""
SRDF = """<robot name="r">
  <group name="g"><chain base_link="a" tip_link="c"/><joint name="j"/><group name="h"/></group>
  <group name="h"><link name="b"/></group>
  <disable_default_collisions link="a"/><enable_collisions link1="a" link2="c"/>
  <disable_collisions link1="b" link2="c" reason="Adjacent"/>
</robot>"""
SCENE = """
obstacles:
  - {name: table, type: box, size: [1, 2, 3], position: [0, 0, 0], rpy: [0, 0, 1]}
  - {name: ball, type: sphere, radius: 0.1, orientation: [0, 0, 0, 1], link: hand}
  - {name: pipe, type: capsule, radius: 1.0e-3, length: 2, joint: door}
joints:
  - {name: rail, type: prismatic, axis: [1, 0, 0], lower: 0, upper: 1, velocity: 2, link: b}
  - {name: door, type: continuous, axis: [0, 0, 1], rpy: [0, 0, 1], joint: rail}
ignore:
  - [table, ball]
"""
WORDS = (
    "", "nan", "inf", "-1", "0", "1e999", "1 2", "a", "b", "c", "j", "k", "x", "\x00", "\ud800",
    "é", "<!DOCTYPE r [<!ENTITY e 'e'>]>", "&e;", "<", ">", '"', "/>", "<link name='a'/>",
    "<geometry/>", "fixed", "floating", "http://a/b.stl", "/etc/passwd", "{", "[", ": ",
    "*a", "&a ", "- ", "\n",
)  # fmt: skip


@st.composite
def mutated(draw, text):
    """Cut, double, replace and insert pieces of a text."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 40)))
        piece = draw(
            st.one_of(st.sampled_from(WORDS), st.just(text[start:end] * 2), st.text(max_size=5))
        )
        text = text[:start] + piece + text[end:]
    return text


def _check(robot) -> None:
    """What loads is finite and whole."""
    for link in robot.links.values():
        for shape in link.shapes:
            assert np.isfinite(shape.pose).all()
            assert all(np.isfinite(value) and value >= 0 for value in shape.size)
    placed = {robot.root}
    for joint in robot.joints:
        assert np.isfinite(joint.origin).all()
        assert joint.lower <= joint.upper
        assert np.linalg.norm(joint.axis) == pytest.approx(1.0)
        assert joint.parent in placed and joint.child not in placed
        placed.add(joint.child)
    assert placed == set(robot.links)


@SETTINGS
@given(st.one_of(st.binary(), st.text(), st.text().map(lambda t: "<" + t)))
def test_random_descriptions(source):
    with contextlib.suppress(CollisionMonitorError):
        _check(load_robot(source))


@SETTINGS
@given(mutated(URDF.replace("package://p/m.stl", "M")), st.booleans())
def test_mutated_urdf(text, as_bytes):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "m.stl").write_bytes(GOOD["binary.stl"])
        text = text.replace("M", f"{folder}/m.stl")
        source = text.encode("utf-8", "surrogatepass") if as_bytes else text
        with contextlib.suppress(CollisionMonitorError):
            _check(load_robot(source))


def test_the_seed_of_the_mutations_loads(tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "m.stl").write_bytes(GOOD["binary.stl"])
    robot = load_robot(URDF, [tmp_path])
    _check(robot)
    assert load_srdf(SRDF, robot).group_joints["g"] == ("j", "k")


ROBOT = load_robot(
    toys.robot(
        *map(toys.link, ("a", "b", "c", "hand")),
        *(toys.joint(*names) for names in (("j", "a", "b"), ("k", "b", "c"), ("l", "c", "hand"))),
    )
)


@SETTINGS
@given(mutated(SRDF))
def test_mutated_srdf(text):
    with contextlib.suppress(CollisionMonitorError):
        semantics = load_srdf(text, ROBOT)
        assert all(len(p) == 2 and p <= set(ROBOT.links) for p in semantics.disabled)


@SETTINGS
@given(st.one_of(mutated(SCENE).map(lambda t: t.encode("utf-8", "replace")), st.binary()))
def test_mutated_scene(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cell.yaml"
        path.write_bytes(data)
        with contextlib.suppress(CollisionMonitorError):
            scene = load_scene(path, ROBOT)
            names = {*ROBOT.links, *(o.name for o in scene.obstacles)}
            whole = with_joints(ROBOT, scene.joints)
            assert all(o.link in whole.links for o in scene.obstacles)
            bodies = rigid_bodies(whole)
            assert np.isfinite(bodies.placements).all()
            assert len(bodies.joints) == 3 + len(scene.joints)
            assert all(set(pair) <= names for pair in scene.ignore)
            assert all(np.isfinite(o.shape.pose).all() for o in scene.obstacles)


@st.composite
def broken_meshes(draw):
    """A good mesh file with bytes cut out, doubled or replaced."""
    name = draw(st.sampled_from(sorted(GOOD)))
    data = GOOD[name] if isinstance(GOOD[name], bytes) else GOOD[name].encode()
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 30)))
        piece = draw(
            st.one_of(
                st.binary(max_size=8),
                st.sampled_from(WORDS).map(lambda word: word.encode("utf-8", "replace")),
                st.just(data[start:end] * 2),
            )
        )
        data = data[:start] + piece + data[end:]
    return name, data


@SETTINGS
@given(broken_meshes())
def test_broken_meshes(case):
    name, data = case
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        with contextlib.suppress(CollisionMonitorError):
            vertices, triangles = MeshLoader().load(path, "x")
            assert len(triangles) and np.isfinite(vertices).all()
            assert triangles.min() == 0 and triangles.max() == len(vertices) - 1

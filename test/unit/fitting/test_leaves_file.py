# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Leaves written are leaves read, none smaller; what is wrong is named by its path."""

import os
import re
from dataclasses import replace

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.paths import ROOT

from collision_monitor.errors import LeavesError
from collision_monitor.fitting.leaves_file import read_leaves, shapes_digest, write_leaves
from collision_monitor.geometry.leaf import Leaf
from collision_monitor.robot.description import Link, Robot, Shape

BALL = (Shape("sphere", np.eye(4), (0.1,)),)
ROBOT = Robot("toy", "a", {"a": Link("a", BALL), "b": Link("b", BALL), "bare": Link("bare")}, ())
SPHERE = {"center": [0, 0, 0], "radius": 0.1}
CAPSULE = {"p0": [0, 0, -0.1], "p1": [0, 0, 0.1], "radius": 0.1}


def refused(source) -> str:
    with pytest.raises(LeavesError) as caught:
        read_leaves(source, ROBOT)
    return str(caught.value)


def with_b(*leaves, **more):
    return {"links": {"a": [SPHERE], "b": list(leaves), **more}}


def test_spheres_and_capsules_are_read_in_the_links_order():
    leaves = read_leaves({"robot": "toy", "links": {"b": [CAPSULE, SPHERE], "a": [SPHERE]}}, ROBOT)
    assert list(leaves) == ["a", "b"]
    assert [leaf.kind for leaf in leaves["b"]] == ["capsule", "sphere"]
    assert leaves["b"][0].link == "b"
    assert leaves["b"][0].p0 == pytest.approx([0, 0, -0.1])
    assert leaves["b"][0].radius == 0.1


point = st.tuples(*[st.floats(-10, 10)] * 3).map(np.array)


@given(point, point, st.floats(1e-9, 5), st.booleans())
def test_a_leaf_read_back_encloses_the_one_written(tmp_path_factory, p0, p1, radius, sphere):
    path = tmp_path_factory.getbasetemp() / "round_trip.yaml"
    leaf = Leaf("a", p0, p0 if sphere else p1, radius)
    write_leaves(path, "toy", {"a": [leaf], "b": [leaf, leaf]}, {})
    back = read_leaves(path, ROBOT)
    assert [len(back["a"]), len(back["b"])] == [1, 2]
    again = back["a"][0]
    for end in (leaf.p0, leaf.p1):
        assert again.distances_to(end[None])[0] + leaf.radius <= 1e-12
    assert again.radius <= leaf.radius + 13e-6
    assert np.abs(again.p0 - leaf.p0).max() <= 0.51e-6


def test_the_file_says_how_it_was_made_and_can_be_read_by_others(tmp_path):
    path = tmp_path / "leaves.yaml"
    leaf = Leaf("a", np.array([0.0, -1e-9, 1 / 3]), np.array([0.0, 0.0, 1.0]), 0.12345678)
    about = {"tolerance": "1 mm", "version": "0.1.0", "note": "two\nlines: # x"}
    write_leaves(path, 'a "quoted": \\ name\n#', {"1e3": [leaf], "no": [leaf]}, about)
    text = path.read_text()
    assert "# tolerance: 1 mm\n# version: 0.1.0\n# note: two lines: # x\n" in text
    assert "-0.0" not in text
    data = yaml.safe_load(text)
    assert data["robot"] == 'a "quoted": \\ name\n#'
    assert list(data["links"]) == ["1e3", "no"]
    assert data["links"]["no"][0] == {
        "p0": [0.0, 0.0, 0.333333], "p1": [0.0, 0.0, 1.0], "radius": 0.123468
    }  # fmt: skip
    write_leaves(path, "toy", {})
    assert yaml.safe_load(path.read_text()) == {"robot": "toy", "links": {}}


def test_a_file_that_cannot_be_written(tmp_path, monkeypatch):
    with pytest.raises(LeavesError, match="no/leaves.yaml: cannot be written: No such file"):
        write_leaves(tmp_path / "no" / "leaves.yaml", "toy", {})
    path = tmp_path / "leaves.yaml"
    path.write_text("old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LeavesError, match="leaves.yaml: cannot be written: No space"):
        write_leaves(path, "toy", {})
    assert path.read_text() == "old"


@pytest.mark.parametrize(
    "source, message",
    [
        (with_b({**SPHERE, "radius": -0.1}), "leaves: links.b[0].radius: should be positive"),
        (with_b({**SPHERE, "p0": [0, 0, 0]}), "leaves: links.b[0].p0: a sphere has no such key"),
        (with_b({"p0": [0, 0, 0], "radius": 1}), "leaves: links.b[0].p1: is missing"),
        (with_b(), "leaves: links.b: expected a list of one leaf or more"),
        ({"links": {"a": [SPHERE], "b": SPHERE}}, "leaves: links.b: expected a list"),
        ({"links": {"a": [SPHERE]}}, "leaves: links.b: is missing; a link with a shape"),
        (with_b(SPHERE, bb=[SPHERE]), "leaves: links.bb: the robot 'toy' has no such link; did"),
        (with_b(SPHERE, bare=[SPHERE]), "leaves: links.bare: the link has no collision shape"),
        ({}, "leaves: links: expected link names, each with a list of leaves, got nothing"),
        ({"robot": "other", **with_b(SPHERE)}, "leaves: robot: made for 'other', but this robot"),
        (7, "leaves: expected the path of a YAML file or a mapping, got int"),
    ],
)
def test_what_is_wrong_is_named_by_its_path(source, message):
    assert message in refused(source)


def test_files_that_are_no_leaves(tmp_path):
    path = tmp_path / "leaves.yaml"
    assert "no such file (looked for the leaves file there)" in refused(path)
    assert "the path of the leaves file is empty" in refused("")
    assert "cannot read the leaves file: Is a directory" in refused(tmp_path)
    path.write_bytes(b"#" * 10_000_001)
    message = refused(path)
    assert "leaves file: larger than 10000000 bytes" in message and "scene" not in message
    path.write_text("links:\n  a: []\n  a: []\n")
    assert "duplicate key 'a'" in refused(path)
    path.write_text("")
    assert refused(path).startswith("leaves.yaml: links: expected")


def test_the_example_of_the_documentation_is_a_leaves_file():
    text = (ROOT / "docs/reports/leaves.md").read_text(encoding="utf-8")
    data = yaml.safe_load(re.search(r"```yaml\n(.*?)```", text, re.DOTALL)[1])
    panda = Robot("panda", "panda_link1", {"panda_link1": Link("panda_link1", BALL)}, ())
    kinds = [leaf.kind for leaf in read_leaves(data, panda)["panda_link1"]]
    assert kinds == ["capsule", "sphere"]


def test_leaves_made_for_other_shapes_are_refused_where_the_file_says_which(tmp_path):
    path = tmp_path / "leaves.yaml"
    leaves = {name: [Leaf(name, np.zeros(3), np.zeros(3), 0.2)] for name in ("a", "b")}
    write_leaves(path, ROBOT.name, leaves, shapes=shapes_digest(ROBOT))
    assert set(read_leaves(path, ROBOT)) == {"a", "b"}
    larger = (replace(BALL[0], size=(0.1000001,)),)
    other = replace(ROBOT, links={**ROBOT.links, "b": Link("b", larger)})
    with pytest.raises(LeavesError, match=r"leaves.yaml: shapes: .* made for"):
        read_leaves(path, other)

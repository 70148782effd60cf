# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Links without collision geometry: named, and with ``visual_meshes`` shaped as they look."""

import numpy as np
import pytest
from support.robots.robots import require, share_folder
from support.robots.toys import joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.__main__ import main
from collision_monitor.errors import RobotDescriptionError
from collision_monitor.robot.urdf import load_robot

BOX = "<geometry><box size='1 2 3'/></geometry>"
BALL = "<geometry><sphere radius='0.1'/></geometry>"


def linked(inside: str) -> str:
    """A robot whose second link has this inside; the link is on line 1."""
    return robot(link("a"), f"<link name='b'>{inside}</link>", joint("j", "a", "b"))


def shapes(text: str, **options) -> list[tuple[str, tuple[float, ...]]]:
    return [(s.kind, s.size) for s in load_robot(text, **options).links["b"].shapes]


def test_only_links_without_collision_shapes_take_what_is_seen():
    alone = f"<visual><origin xyz='1 0 0'/>{BOX}</visual><visual>{BALL}</visual>"
    assert shapes(linked(alone)) == []
    assert shapes(linked(alone), visual_meshes=True) == [("box", (1, 2, 3)), ("sphere", (0.1,))]
    (placed, _) = load_robot(linked(alone), visual_meshes=True).links["b"].shapes
    np.testing.assert_array_equal(placed.pose[:3, 3], [1, 0, 0])
    both = f"<visual>{BOX}</visual><collision>{BALL}</collision>"
    assert shapes(linked(both)) == shapes(linked(both), visual_meshes=True) == [("sphere", (0.1,))]
    capsule = "<visual><geometry><capsule radius='1' length='2'/></geometry></visual>"
    assert shapes(linked(capsule), visual_meshes=True) == [("capsule", (1, 2))]


def test_what_is_not_monitored_is_said_and_nothing_else():
    (warning,) = load_robot(linked(f"<visual>{BOX}</visual>")).warnings
    assert warning.startswith("link 'b': not monitored")
    assert "visual_meshes=True" in warning
    assert load_robot(linked(f"<visual>{BOX}</visual>"), visual_meshes=True).warnings == ()
    for nothing_to_see in ("", "<visual/>", "<visual><geometry/></visual>"):
        for option in (False, True):
            assert load_robot(linked(nothing_to_see), visual_meshes=option).warnings == ()
            assert shapes(linked(nothing_to_see), visual_meshes=option) == []


WRONG = {
    "misspelt inside": (
        "<visual><Geometry><box size='1 1 1'/></Geometry></visual>",
        "<Geometry>: write <geometry>",
    ),
    "unknown shape": (
        "<visual><geometry><cone/></geometry></visual>",
        "link 'b': a visual element needs one geometry",
    ),
    "no file": (
        "<visual><geometry><mesh filename='gone.stl'/></geometry></visual>",
        "link 'b': no file 'gone.stl'",
    ),
}


@pytest.mark.parametrize(("inside", "says"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_it_names_the_link_but_only_where_it_is_used(inside, says):
    with pytest.raises(RobotDescriptionError) as caught:
        load_robot(linked(inside), visual_meshes=True)
    assert says in str(caught.value)
    assert shapes(linked(inside)) == []


def test_a_robot_of_nothing_else_says_what_would_help():
    text = robot(
        f"<link name='a'><visual>{BOX}</visual></link>",
        f"<link name='b'><visual><origin xyz='3 0 0'/>{BALL}</visual></link>",
        f"<link name='c'><visual><origin xyz='6 0 0'/>{BALL}</visual></link>",
        joint("j", "a", "b"), joint("k", "b", "c"),
    )  # fmt: skip
    with pytest.raises(RobotDescriptionError) as caught:
        CollisionModel.from_urdf(text)
    assert "has no collision geometry: nothing to monitor; pass visual_meshes=True" in str(
        caught.value
    )
    assert "--visual-meshes" in str(caught.value) and "links 'a', 'b', 'c'" in str(caught.value)
    model = CollisionModel.from_urdf(text, visual_meshes=True)
    assert model.pairs == [("c", "a")]
    q = [0.0, 0.0]  # c: 1 + 1 + 6 from the origin, the box ends at 0.5
    assert model.distance(q).distance == pytest.approx(8.0 - 0.1 - 0.5, abs=0.3)
    assert model.distance(q).distance <= 8.0 - 0.1 - 0.5


def test_commands_take_it(written, capsys):
    path = written("seen.urdf", robot(
        link("a"), link("b"), f"<link name='c'><visual>{BALL}</visual></link>",
        joint("j", "a", "b"), joint("k", "b", "c"),
    ))  # fmt: skip
    assert main(["distance", str(path), "--visual-meshes"]) == 0
    assert "1.8000 m between c and a" in capsys.readouterr().out
    assert main(["distance", str(path)]) == 2  # nothing to check: a and b are neighbours
    assert "no pair of links to check" in capsys.readouterr().err


# Real robots, whose visual geometry pinocchio knows how to place.
SEEN = {"human": "human_description/robots/human.urdf", "z1": "z1_description/urdf/z1.urdf"}


@pytest.mark.parametrize("name", SEEN)
def test_real_robots_are_where_pinocchio_sees_them(name):
    pin = pytest.importorskip("pinocchio")
    from scipy.spatial import cKDTree

    require("ur5")  # example-robot-data is there
    path = share_folder() / "example-robot-data" / "robots" / SEEN[name]
    loaded = load_robot(path, [share_folder()], visual_meshes=True)
    without = {} if name != "z1" else load_robot(path, [share_folder()]).links
    model = pin.buildModelFromUrdf(str(path))
    seen = pin.buildGeomFromUrdf(
        model, str(path), pin.GeometryType.VISUAL, package_dirs=[str(share_folder())]
    )
    waiting = {
        link.name: list(link.shapes)
        for link in loaded.links.values()
        if link.name not in without or not without[link.name].shapes
    }
    compared = 0
    for item in seen.geometryObjects:
        link_name = model.frames[item.parentFrame].name
        if link_name not in waiting:
            continue
        shape = waiting[link_name].pop(0)
        frame = model.frames[model.getFrameId(link_name, pin.FrameType.BODY)].placement.homogeneous
        ours = (frame @ shape.pose)[:3]
        theirs = item.placement.homogeneous[:3]
        placed = shape.vertices @ ours[:, :3].T + ours[:, 3]
        expected = item.geometry.vertices() @ theirs[:, :3].T + theirs[:, 3]
        size = np.ptp(placed, axis=0).max()
        assert cKDTree(placed).query(expected)[0].max() < 1e-5 * size, shape.source
        assert cKDTree(expected).query(placed)[0].max() < 1e-5 * size, shape.source
        compared += 1
    assert compared >= 2 and not any(waiting.values())

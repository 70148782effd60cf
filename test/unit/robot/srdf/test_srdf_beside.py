# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The SRDF beside a URDF."""


from support.paths import ROOT
from support.robots.robots import require

from collision_monitor.robot.srdf.discovery import srdf_beside


def place(folder, name, robot="toy"):
    """A file with nothing but the name of a robot in it."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'<robot name="{robot}"/>')
    return path


def test_the_same_stem_is_taken(tmp_path):
    urdf = place(tmp_path, "urdf/arm.urdf")
    assert srdf_beside(urdf) is None
    place(tmp_path, "srdf/other.srdf", "another")
    assert srdf_beside(urdf) is None
    expected = place(tmp_path, "srdf/arm.srdf", "whatever")
    assert srdf_beside(urdf) == expected
    expected = place(tmp_path, "urdf/arm.srdf", "whatever")
    assert srdf_beside(str(urdf)) == expected


def test_without_the_same_stem_the_only_one_of_this_robot_is(tmp_path):
    urdf = place(tmp_path, "urdf/arm.urdf")
    expected = place(tmp_path, "srdf/arm_manipulation.srdf")
    place(tmp_path, "srdf/else.srdf", "else")
    (tmp_path / "srdf/broken.srdf").write_text("<robot")
    assert srdf_beside(urdf) == expected
    place(tmp_path, "srdf/second.srdf")
    assert srdf_beside(urdf) is None, "a choice between two is the user's"


def test_a_robot_without_a_name_has_none(tmp_path):
    urdf = place(tmp_path, "arm.urdf", "")
    place(tmp_path, "else.srdf", "")
    assert srdf_beside(urdf) is None
    assert srdf_beside(tmp_path / "missing.urdf") is None


def test_those_of_real_robots_are_found():
    assert srdf_beside(ROOT / "urdf/dual_arm.urdf") == ROOT / "urdf/dual_arm.srdf"
    for name in ("pr2", "baxter", "panda"):
        files = require(name)
        assert srdf_beside(files.urdf).resolve() == files.srdf.resolve()

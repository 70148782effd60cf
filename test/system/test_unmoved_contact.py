# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A pair in contact that a motion does not move: one verdict of `adjust`, `verify` and monitor."""

import pytest
from support.robots.toys import joint, link, robot

from collision_monitor import CollisionModel, Monitor
from collision_monitor.__main__ import main
from collision_monitor.verification.clearance.schedule import UNMOVED

# Two arms with hands, whose thumbs lie in their palms with all joints at zero.
JOINTS = ("right_1", "right_2", "left_1", "left_2")
CHAINS = ("base:right_palm", "base:left_palm")


def arm(side: str, x: float) -> tuple[str, ...]:
    names = f"{side}_finger_1", f"{side}_palm", f"{side}_knuckle"
    knuckle = joint(*names, xyz="0.02 0.14 0", axis="1 0 0", limits=(-0.1, 3))
    return (
        link(f"{side}_upper", '<box size="0.05 0.3 0.05"/>', "0 0.2 0"),
        joint(f"{side}_1", "base", f"{side}_upper", xyz=f"{x} 0 0"),
        link(f"{side}_palm", '<box size="0.08 0.1 0.02"/>', "0 0.05 0"),
        joint(f"{side}_2", f"{side}_upper", f"{side}_palm", xyz="0 0.45 0", axis="0 1 0"),
        link(f"{side}_knuckle", ""),
        knuckle,
        link(f"{side}_thumb", '<box size="0.015 0.06 0.015"/>', "0 -0.03 0"),
        joint(f"{side}_finger_2", f"{side}_knuckle", f"{side}_thumb", xyz="0 0 0"),
    )


URDF = robot(link("base", ""), *arm("right", -0.5), *arm("left", 0.5), name="handed")
MOTION = f"time,{','.join(JOINTS)}\n0,0,0,0,0\n2,0.2,0.1,-0.2,-0.1\n"
AWAY = "right_finger_1=1,left_finger_1=1"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("handed")
    (folder / "handed.urdf").write_text(URDF)
    (folder / "motion.csv").write_text(MOTION)
    return str(folder / "handed.urdf"), str(folder / "motion.csv")


def test_adjust_and_verify_refuse_it_in_the_same_words_with_the_same_exit_code(files, capsys):
    words = []
    for command, more in (("adjust", ["--arms", ",".join(CHAINS)]), ("verify", ["--recorded"])):
        assert main([command, *files, *more, "--q", "left_finger_1=1"]) == 1
        said = " ".join(capsys.readouterr().out.split())
        assert "right_palm" in said and "right_thumb" in said
        words.append(UNMOVED in said)
        assert main([command, *files, *more, "--q", AWAY]) == 0
        assert UNMOVED not in capsys.readouterr().out
    assert words == [True, True]


def test_the_monitor_names_the_same_pair(files):
    model = CollisionModel.from_urdf(files[0])
    names, q = list(model.joint_names), [0.0] * len(model.joint_names)
    q[names.index("left_finger_1")] = 1.0
    state = Monitor(model).update(names, q, 1.0)
    assert state.action == "stop" and "right_palm and right_thumb" in state.message


def test_a_contact_that_the_motion_moves_is_described_otherwise(files, written, capsys):
    opening = written("opening.csv", "time,right_finger_1,left_finger_1\n0,0,1\n2,1,1\n")
    assert main(["verify", files[0], str(opening), "--recorded"]) == 1
    assert UNMOVED not in " ".join(capsys.readouterr().out.split())

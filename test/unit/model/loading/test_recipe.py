# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What a model is made of: one robot, or several in a cell with a scene."""


import numpy as np
import pytest
import yaml
from support.robots.toys import chain, joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.errors import (
    ConfigurationError,
    LeavesError,
    NothingToCheckError,
    RobotDescriptionError,
    SemanticDescriptionError,
)
from collision_monitor.model.loading import Recipe, RobotSource
from collision_monitor.robot.composed import Mounted, compose, compose_semantics
from collision_monitor.robot.poses import pose_from_xyz_rpy
from collision_monitor.robot.srdf import load_srdf
from collision_monitor.robot.urdf import load_robot

SRDF = '<robot name="toy"><disable_collisions link1="l0" link2="l3" reason="Never"/></robot>'
MOUNT = (0.3, -1.5, 0.1, 0.0, 0.2, 1.0)
LEFT = RobotSource(chain(4), SRDF, "left", "left/", (0.0, 1.5, 0.0, 0.0, 0.0, 0.0))
RIGHT = RobotSource(chain(3), "", "right", "right/", MOUNT)


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "cell.yaml"
    content = {
        "obstacles": [
            {"name": "ball", "type": "sphere", "radius": 0.2, "position": [0.0, 0.0, 0.5],
             "link": "right/l2"},
            {"name": "door", "type": "box", "size": [0.5, 0.1, 1.0], "joint": "hinge"},
        ],
        "joints": [{"name": "hinge", "type": "revolute", "axis": [0, 0, 1], "lower": -1.0,
                    "upper": 1.0, "position": [5.0, 0.0, 0.0]}],
        "ignore": [["left/l1", "right/l1"]],
    }  # fmt: skip
    path.write_text(yaml.safe_dump(content))
    return str(path)


def test_a_mount_in_degrees_is_refused():
    turned = RobotSource(chain(3), "", "right", "right/", (0.0, 1.0, 0.0, 0.0, 0.0, 180.0))
    with pytest.raises(ConfigurationError, match="mount of 'right': 180 is more than a turn"):
        Recipe((LEFT, turned)).load()


def test_several_robots_are_those_composed_by_hand(scene):
    loaded = Recipe((LEFT, RIGHT), scene=scene, root="cell").load()
    left, right = load_robot(chain(4)), load_robot(chain(3))
    parts = [
        Mounted(left, "left/", pose_from_xyz_rpy((0.0, 1.5, 0.0)), semantics=load_srdf(SRDF, left)),
        Mounted(right, "right/", pose_from_xyz_rpy(MOUNT[:3], MOUNT[3:])),
    ]
    bare = CollisionModel(compose(parts), compose_semantics(parts))
    model = loaded.model
    assert model.root == "cell" and model.name == "left and right"
    assert model.joint_names == (*bare.joint_names, "hinge")
    assert dict(loaded.joints) == {
        "left": ("left/j1", "left/j2", "left/j3"),
        "right": ("right/j1", "right/j2"),
        "scene": ("hinge",),
    }
    def of(pairs):
        return {frozenset(pair) for pair in pairs}

    own = of(pair for pair in model.pairs if "ball" not in pair and "door" not in pair)
    assert own == of(bare.pairs) - of([("left/l1", "right/l1")])
    assert not own & of([("left/l0", "left/l3")])  # disabled in the SRDF of the left one alone
    q = np.array([0.3, 0.4, 0.5, -0.6, 0.7])
    expected = dict(zip(map(frozenset, bare.pairs), bare.distances(q), strict=True))
    found = dict(zip(map(frozenset, model.pairs), model.distances(np.r_[q, 0.2]), strict=True))
    for pair in own:
        assert found[pair] == pytest.approx(expected[pair], abs=1e-12)
    # What a hand of the right robot holds is in pairs with the left one.
    assert of([("ball", "left/l3")]) <= of(model.pairs)


def test_a_robot_can_stand_on_another():
    tool = RobotSource(
        robot(link("base"), link("claw"), joint("turn", "base", "claw"), name="tool"),
        name="tool", prefix="", parent="left/l3", mount=(1.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    )  # fmt: skip
    model = Recipe((LEFT, tool)).load().model
    assert model.joint_names == ("left/j1", "left/j2", "left/j3", "turn")
    poses = model.link_poses([0.1, 0.2, 0.3, 0.4])
    assert poses["claw"][:3, 3] == pytest.approx(
        (poses["left/l3"] @ [2.0, 0.0, 0.0, 1.0])[:3], abs=1e-12
    )


LONE = robot(link("only"), name="lone")


@pytest.mark.parametrize(
    ("robots", "error", "says"),
    [
        ((RobotSource("<robot"),), RobotDescriptionError, "not XML"),
        ((RobotSource(LONE),), NothingToCheckError, "robot 'lone' has no pair of links to check"),
        ((LEFT, RobotSource("<robot", "", "right")), RobotDescriptionError,
         "robot 'right': .*not XML"),
        ((LEFT, RobotSource(chain(3), "<srdf/>", "right", "r/")), SemanticDescriptionError,
         "robot 'right': .*<srdf>"),
        ((LEFT, RobotSource(chain(3), "", "right", "left/")), RobotDescriptionError,
         "different prefixes"),
        ((LEFT, RobotSource(chain(3), "", "right", "r/", MOUNT, "left/l9")),
         RobotDescriptionError, "no link 'left/l9'"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_robot_is_said_of_that_robot(robots, error, says):
    with pytest.raises(error, match=says):
        Recipe(robots).load()


def test_leaves_are_of_all_robots_and_have_to_enclose_them(tmp_path):
    path = tmp_path / "leaves.yaml"
    radii = {**{f"left/l{k}": 0.1 for k in range(4)}, **{f"right/l{k}": 0.1 for k in range(3)}}

    def loaded():
        leaves = {name: [{"center": [0, 0, 0], "radius": r}] for name, r in radii.items()}
        path.write_text(yaml.safe_dump({"links": leaves}))
        return Recipe((LEFT, RIGHT), leaves=str(path)).load().model

    assert len(loaded().leaves) == 7
    radii["right/l2"] = 0.09
    with pytest.raises(LeavesError, match="'right/l2': .* sticks out of its leaves by 10"):
        loaded()

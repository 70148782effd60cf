# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Plans of MoveIt: all that they say of the robot is used or refused."""

import json
from copy import deepcopy

import pytest

from collision_monitor.__main__ import main
from collision_monitor.errors import MotionError
from collision_monitor.motion import read_motion
from collision_monitor.motion.motion_files import load_trajectory, open_motion
from collision_monitor.robot.description import Robot
from collision_monitor.robot.scene import load_scene
from collision_monitor.robot.urdf import load_robot

# An arm of two joints on a base that turns by `waist` and drives by the planar joint `drive`.
URDF = """\
<robot name="waisted">
<link name="odom"/>
<joint name="drive" type="planar"><parent link="odom"/><child link="floor"/></joint>
<link name="floor"/>
<joint name="waist" type="revolute"><parent link="floor"/><child link="base"/>
<axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
<link name="base"><collision><geometry><box size="0.1 0.1 0.3"/></geometry></collision></link>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
<origin xyz="0.1 0 0.6"/><axis xyz="0 1 0"/><limit effort="1" velocity="2"/></joint>
<link name="upper"/>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/>
<origin xyz="0.4 0 0"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="1" velocity="2"/></joint>
<link name="fore"><collision><origin xyz="0.2 0 0"/><geometry><box size="0.3 0.05 0.05"/></geometry>
</collision></link>
</robot>
"""
# With the waist at 0.9 rad the forearm is inside it.
SCENE = {"obstacles": [{"name": "post", "type": "box", "size": [0.1, 0.1, 1.5],
                        "position": [0.48, 0.6, 0.75]}]}  # fmt: skip
TRAJECTORY = {
    "joint_names": ["shoulder", "elbow"],
    "points": [
        {"positions": [0.0, 0.0], "time_from_start": {"sec": 0}},
        {"positions": [0.1, 0.1], "time_from_start": {"sec": 4}},
    ],
}
EMPTY = {"joint_names": [], "points": []}
DRIVING = {
    "joint_names": ["drive"],
    "points": [{"transforms": [{"translation": {"x": 1.0}}], "time_from_start": {"sec": 4}}],
}
BAR = {"link_name": "fore", "object": {"id": "bar"}, "detach_posture": EMPTY}


def plan(**state):
    """A DisplayTrajectory that starts in this state."""
    start = {"joint_state": {"name": [], "position": []}, "attached_collision_objects": [], **state}
    inner = {"joint_trajectory": TRAJECTORY, "multi_dof_joint_trajectory": EMPTY}
    return {"model_id": "waisted", "trajectory": [inner], "trajectory_start": start}


def at(**positions):
    """A state with the joints at these positions."""
    return {"joint_state": {"name": list(positions), "position": list(positions.values())}}


@pytest.fixture
def robot() -> Robot:
    return load_robot(URDF)


@pytest.fixture
def write(written):
    """Write a plan; returns its file."""
    return lambda document: written("plan.yaml", json.dumps(document))


@pytest.mark.parametrize(
    "document",
    [
        {"joint_trajectory": TRAJECTORY, "multi_dof_joint_trajectory": DRIVING},
        {"goal": {"trajectory": TRAJECTORY, "multi_dof_trajectory": DRIVING}},
        {"trajectory_start": {"joint_state": {}}, "trajectory": [
            {"joint_trajectory": TRAJECTORY, "multi_dof_joint_trajectory": DRIVING}]},
    ],
)  # fmt: skip
def test_a_base_that_drives_is_refused(write, document):
    with pytest.raises(MotionError, match=r"plan.yaml: multi_dof.*: moves \['drive'\]"):
        open_motion(write(document))


def test_empty_parts_of_a_message_mean_nothing(write):
    goal = {"trajectory": TRAJECTORY, "multi_dof_trajectory": EMPTY}
    result = {"planned_trajectory": {"joint_trajectory": TRAJECTORY},
              "executed_trajectory": {"joint_trajectory": EMPTY}}  # fmt: skip
    for document in (goal, result, plan()):
        assert read_motion(write(document)).joint_names == ("shoulder", "elbow")


def test_a_second_trajectory_at_another_level_is_not_dropped(write):
    solution = {"first": TRAJECTORY, "second": {"trajectory": {"joint_trajectory": TRAJECTORY}}}
    solution["second"] = deepcopy(solution["second"])
    with pytest.raises(MotionError, match="expected one JointTrajectory, got 2"):
        open_motion(write(solution))


def test_joints_stand_where_the_plan_starts(write, robot):
    path = write(plan(**at(waist=0.9, shoulder=0.0, elbow=0.0)))
    loaded = load_trajectory(path, robot)
    assert loaded.trajectory.joint_names == ("waist", "shoulder", "elbow")
    assert loaded.trajectory.positions([4.0])[0] == pytest.approx([0.9, 0.1, 0.1])
    assert not loaded.warnings
    assert loaded.known == {"waist"}
    assert load_trajectory(path, robot, held={"waist": 0.5}).trajectory.positions([0])[0, 0] == 0.5
    motion = read_motion(path, robot)
    assert motion.held == {"waist": 0.9}
    assert motion.with_held().at(1.0)[2] == 0.9
    with pytest.raises(MotionError, match="has a start state, which cannot be read without"):
        read_motion(path)


def test_a_start_state_may_have_nothing_but_joints_of_another_device(write, robot):
    path = write(plan(**at(gripper=0.1)))
    assert not load_trajectory(path, robot, ignored=["grip*"]).known
    assert read_motion(path, robot, ignored=["grip*"]).held == {}
    with pytest.raises(MotionError, match="no joint 'gripper'.* --ignore JOINT leaves joints out"):
        load_trajectory(path, robot)


def test_a_plan_begins_where_it_starts(write, robot):
    turned = write(plan(**at(shoulder=-6.283185, elbow=0.005)))
    load_trajectory(turned, robot)  # the same pose, within the tolerance of MoveIt
    with pytest.raises(MotionError, match="'elbow' is at 0.5, but at 0 in the first point"):
        load_trajectory(write(plan(**at(elbow=0.5))), robot)


def test_carried_objects_have_to_be_in_the_scene(write, robot):
    path = write(plan(attached_collision_objects=[BAR]))
    bar = {"name": "bar", "type": "box", "size": [1.2, 0.05, 0.05], "link": "fore"}
    elsewhere = load_scene({"obstacles": [{**bar, "link": "base"}]}, robot)
    for scene in (None, elsewhere):
        for read in (load_trajectory, read_motion):
            with pytest.raises(MotionError, match="carries 'bar' on link 'fore'.*link: fore"):
                read(path, robot, scene=scene)
    scene = load_scene({"obstacles": [bar]}, robot)
    assert load_trajectory(path, robot, scene=scene).named == {"shoulder", "elbow"}


def test_a_displaced_base_is_refused_and_a_virtual_joint_noted(write, robot):
    def standing(name, x):
        pose = {"translation": {"x": x, "y": 0.0, "z": 0.0}, "rotation": {"w": 1.0}}
        return write(plan(multi_dof_joint_state={"joint_names": [name], "transforms": [pose]}))

    assert "is displaced" not in str(load_trajectory(standing("drive", 0.0), robot).warnings)
    with pytest.raises(MotionError, match="'drive' is displaced, but planar joints are held"):
        load_trajectory(standing("drive", 2.0), robot)
    noted = load_trajectory(standing("world_joint", 2.0), robot).warnings
    assert "'world_joint' is displaced: obstacles count in the frame of 'odom'" in str(noted)


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ({"joint_state": {"name": ["waist"], "position": []}}, "position: 0 values for 1"),
        ({"joint_state": {"name": ["waist"], "position": ["x"]}}, "is not a finite number"),
        ({"joint_state": 3}, "joint_state: 3 has no 'name' and 'position'"),
        (at(wist=1.0), "no joint 'wist'; did you mean 'waist'"),
        ({"attached_collision_objects": [3]}, "3 has no 'link_name' and 'object'"),
        ({"multi_dof_joint_state": {"joint_names": ["drive"]}}, "a transform for each of"),
        ({"multi_dof_joint_state": {"joint_names": ["drive"], "transforms": [1]}},
         "1 is not a transform"),
    ],
)  # fmt: skip
def test_a_start_state_that_makes_no_sense_is_named(write, robot, state, says):
    with pytest.raises(MotionError, match=r"plan.yaml: start state: .*" + says):
        load_trajectory(write(plan(**state)), robot)


@pytest.mark.parametrize("command", ["verify", "adjust"])
def test_both_commands_see_the_collision_at_the_start_of_a_plan(written, write, command, capsys):
    urdf, scene = written("robot.urdf", URDF), written("scene.json", json.dumps(SCENE))
    options = ["--scene", str(scene), "--json"]
    options += ["--arms", "base:fore"] if command == "adjust" else []

    def code(document):
        return main([command, str(urdf), str(write(document)), *options])

    assert code(plan(**at(waist=0.0))) == 0
    assert code(plan(**at(waist=0.9))) == 1
    assert code(plan(attached_collision_objects=[BAR])) == 2
    assert code({"joint_trajectory": TRAJECTORY, "multi_dof_joint_trajectory": DRIVING}) == 2

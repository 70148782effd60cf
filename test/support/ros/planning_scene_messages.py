# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Planning scenes with the fields of moveit_msgs and shape_msgs, and what takes them."""

from types import SimpleNamespace

import numpy as np
from geometry_msgs.msg import Point, Pose
from std_msgs.msg import Header

from collision_monitor.monitoring.faults import FaultRegister
from collision_monitor.nodes.obstacles.planning_scene import ADD, PlanningSceneTopic
from collision_monitor.nodes.obstacles.scene_objects import SceneObjects
from support.ros.scene_stub import VALUES, hear, robot, stub_node, watch

Q = np.array([0.5, 0.5, 0.3])


def at(x=0.0, y=0.0, z=0.0):
    """A pose without a rotation."""
    pose = Pose()
    pose.position.x, pose.position.y, pose.position.z = float(x), float(y), float(z)
    return pose


def primitive(kind, *dimensions):
    """A shape_msgs/SolidPrimitive."""
    return SimpleNamespace(type=kind, dimensions=list(dimensions))


def mesh(corners):
    """A shape_msgs/Mesh of triangles (n, 3, 3)."""
    points = [Point(x=x, y=y, z=z) for x, y, z in corners.reshape(-1, 3).tolist()]
    triangles = [
        SimpleNamespace(vertex_indices=np.array([3 * k, 3 * k + 1, 3 * k + 2], dtype=np.uint32))
        for k in range(len(corners))
    ]
    return SimpleNamespace(vertices=points, triangles=triangles)


def thing(name="box", operation=ADD, pose=None, frame="l0", **shapes):
    """A moveit_msgs/CollisionObject."""
    fields = {
        key: []
        for key in (
            "primitives", "primitive_poses", "meshes", "mesh_poses", "planes", "plane_poses",
        )
    }
    return SimpleNamespace(
        id=name, operation=bytes([operation]), pose=pose or at(), header=Header(frame_id=frame),
        **(fields | shapes),
    )  # fmt: skip


def box(name="box", *, y=2.0, **more):
    """One with a box."""
    return thing(name, pose=at(0, y), primitives=[primitive(1, 0.2, 0.2, 0.2)],
                 primitive_poses=[at()], **more)  # fmt: skip


def scene(*things, attached=(), is_diff=True, state_is_diff=None, octomap=b"", octomap_id=""):
    """A moveit_msgs/PlanningScene.

    A whole scene has a whole state, as of MoveIt, unless ``state_is_diff`` says otherwise.
    """
    state_is_diff = is_diff if state_is_diff is None else state_is_diff
    names = [] if state_is_diff else ["j1"]
    return SimpleNamespace(
        is_diff=is_diff,
        robot_model_name="",
        robot_state=SimpleNamespace(
            is_diff=state_is_diff, attached_collision_objects=list(attached),
            joint_state=SimpleNamespace(name=names),
            multi_dof_joint_state=SimpleNamespace(joint_names=[]),
        ),
        world=SimpleNamespace(
            collision_objects=list(things),
            octomap=SimpleNamespace(
                octomap=SimpleNamespace(id=octomap_id, data=list(octomap))
            ),
        ),
    )  # fmt: skip


def held(message, link="l3", touch=("l2",)):
    """A moveit_msgs/AttachedCollisionObject."""
    return SimpleNamespace(object=message, link_name=link, touch_links=list(touch))


class Taken:
    """A topic of planning scenes, and the objects around a robot that is at ``Q``."""

    def __init__(self, is_heard=True):
        """Unless ``is_heard``, the pose of the robot is unknown."""
        self._scene = SceneObjects(stub_node(), VALUES)
        self.keeper = self._scene.keeper
        self.use_robot()
        self.faults = FaultRegister()
        most = VALUES["scene_leaves_per_object"]
        self.topic = PlanningSceneTopic(self._scene, most, self.faults)
        if is_heard:
            self.hear()

    def process(self, message):
        """Apply a scene."""
        for _ in self.topic.steps(message):
            pass

    def answer(self, message):
        """Apply a whole scene that was asked for."""
        for _ in self.topic.answer_steps(message):
            pass

    def use_robot(self, prefix="", carried=16):
        """Monitor a robot whose links have names with this prefix, and whose pose is unknown."""
        self._monitor = watch(robot(prefix), timeout=0.0, carried=carried)
        self._scene.use_robot(self._monitor)

    def hear(self):
        """Receive a joint state."""
        hear(self._monitor)
        self.keeper.retry(self._scene.q)

    def close(self):
        """Stop."""
        self._scene.close()

    @property
    def objects(self):
        """Of the live scene, by name."""
        return self.keeper.live.objects

    @property
    def fault(self):
        """Why the scene is not fully monitored."""
        return self.keeper.fault(0.0)

    def centre(self, name):
        """Of the ends of all leaves of an object (3,), metres."""
        ends, _ = self.keeper.live.segments(Q)[f"planning_scene/{name}"]
        return ends.reshape(-1, 3).mean(axis=0)

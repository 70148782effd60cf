# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Random lines on real arms, and pinocchio's word on where a link is."""

from functools import cache

import numpy as np

from collision_monitor.motion.line_motion import CartesianLine
from collision_monitor.robot.bodies import link_poses, rigid_bodies
from collision_monitor.robot.urdf import load_robot
from support.geometry.reference import Reference, pin
from support.paths import ROOT
from support.robots import robots

URDF = ROOT / "urdf" / "space_arm.urdf"
TIPS = {"ur5": "tool0", "panda": "panda_hand", "xarm7": "link_eef", "space_arm": "tool"}


class Arm:
    """A robot, its tip, and pinocchio's view of both."""

    def __init__(self, name: str) -> None:
        files = robots.RobotFiles(URDF, None, (URDF.parent,))
        if name != "space_arm":
            files = robots.require(name)
        self.name, self.tip = name, TIPS[name]
        self.robot = load_robot(files.urdf, files.package_dirs)
        self.bodies = rigid_bodies(self.robot)
        model = type("Model", (), {})
        model.robot, model.root = self.robot, self.robot.root
        model.joint_names = self.bodies.joint_names
        self._reference = Reference(files.urdf, list(files.package_dirs), model)
        joints = self.bodies.joints
        self.lower = np.array([joint.lower for joint in joints])
        self.upper = np.array([joint.upper for joint in joints])

    def pose(self, q: np.ndarray) -> np.ndarray:
        """Pose (4, 4) of the tip, by pinocchio."""
        return self._reference.link_pose(q, self.tip)

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """(6, nq) of the tip's origin in the base frame, by pinocchio."""
        model, data = self._reference.pin_model, self._reference.pin_data
        pin.computeJointJacobians(model, data, self._reference.configuration(q))
        pin.updateFramePlacements(model, data)
        frame = model.getFrameId(self.tip, pin.FrameType.BODY)
        columns = [model.joints[model.getJointId(n)].idx_v for n in self.bodies.joint_names]
        return pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)[:, columns]

    def line(self, rng: np.random.Generator, most: float = 0.6) -> tuple[np.ndarray, CartesianLine]:
        """A random configuration, and a line from there to a pose that it can reach."""
        q = rng.uniform(self.lower, self.upper)
        goal = q + rng.uniform(-most, most, len(q))
        return q, CartesianLine(*link_poses(self.bodies, [self.tip], np.array([q, goal]))[self.tip])


@cache
def arm(name: str) -> Arm:
    """An arm by name, loaded once."""
    return Arm(name)

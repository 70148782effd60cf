# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Drift of integrated lines, and torques of springs, on the published motions of the space arm.

    python benchmarks/space_arm_motions.py [--step 1.0] [--motions over_the_wing,...]

Drift: the joint rates of minimum norm that follow the line of ``over_the_wing.yaml``, integrated by
Euler steps, each with the mean rate along the line: in open loop as printed, with the deviation
from the line fed back at 0.5 / step, and the motion that `verify` checks. The largest deviation of
the tool in millimetres.

Springs: the largest torque of each joint with the springs of ``drives.yaml``, integrated, over that
of rigid joints by inverse dynamics. Joints count as loaded from a tenth of the largest rigid torque
of the motion on.
"""

from __future__ import annotations

import argparse

import numpy as np
from common import command_line  # noqa: F401  # finds the package and the references of tests
from support.robots.space_arm_story import STORY, URDF, Chapter, model, motion, result

from collision_monitor.motion.line_motion import CartesianLine
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.robot.bodies import Jacobians
from collision_monitor.robot.inertials import read_inertials
from collision_monitor.verification.torques.dynamics import RobotDynamics

TOOL, ARM = "tool", 7  # the link on the line, and the joints that move it
LOADED = 0.1
SAMPLING = 0.01  # seconds


def tool_poses(rows: np.ndarray) -> np.ndarray:
    """Poses (n, 4, 4) of the tool."""
    return np.array([model().link_poses(q)[TOOL] for q in rows])


class Line:
    """The line of a motion, and how far along it is due at each time."""

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.line = CartesianLine(*tool_poses(trajectory.positions(np.array([0.0, 1e9]))))

    def due(self, times: np.ndarray) -> np.ndarray:
        """From 0 at the start to 1 at the end (n,), at ``times`` (n,)."""
        way = self.line.twist[:3]
        places = tool_poses(self.trajectory.positions(times))[:, :3, 3] - self.line.start[:3, 3]
        return places @ way / (way @ way)

    def deviation(self, times: np.ndarray, rows: np.ndarray) -> float:
        """Largest distance of the tool from where it is due, millimetres."""
        ahead = self.line.ahead(self.due(times), tool_poses(rows))
        return 1e3 * float(np.linalg.norm(ahead[:, :3], axis=1).max())

    def euler(self, times: np.ndarray, feedback: float) -> np.ndarray:
        """Configurations (n, nq) by Euler steps; ``feedback``: 1/s."""
        bodies = model().bodies
        body = bodies.link_bodies[TOOL]
        s = self.due(times)
        rates = np.diff(s) / np.diff(times)
        configurations = [self.trajectory.positions(times[:1])[0]]
        for k, step in enumerate(np.diff(times)):
            at = Jacobians(bodies, configurations[-1])
            pose = at.link_pose(TOOL)
            ahead = self.line.ahead(s[k : k + 1], pose[None])[0]
            twist = self.line.twist * rates[k] + feedback * ahead
            jacobian = at.of_point(body, pose[:3, 3])[:, :ARM]
            row = configurations[-1].copy()
            row[:ARM] += step * (np.linalg.pinv(jacobian) @ twist)
            configurations.append(row)
        return np.array(configurations)


def springs(chapter: Chapter) -> list[tuple[str, float, float]]:
    """Largest torques of loaded joints: name, rigid, with springs; N m."""
    check = result(chapter).torques
    dynamics = RobotDynamics(model().robot, read_inertials(URDF), check.joint_names, floating=True)
    trajectory = motion(chapter).only(check.joint_names).trajectory
    times = np.arange(0.0, trajectory.duration, SAMPLING)
    sampled = trajectory.sample(times)
    rows = zip(sampled.positions, sampled.velocities, sampled.accelerations, strict=True)
    rigid = np.abs([dynamics.torques(*row) for row in rows]).max(axis=0)
    flexible = np.abs(check.link_torques).max(axis=0)
    loaded = np.flatnonzero(rigid >= LOADED * rigid.max())
    return [(check.joint_names[k], float(rigid[k]), float(flexible[k])) for k in loaded]


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--step", type=float, default=1.0, help="seconds of an Euler step")
    names = {chapter.motion: chapter for chapter in STORY[::-1]}  # the first of each motion
    parser.add_argument(
        "--motions", default=",".join(names), help="whose torques (default %(default)s)"
    )
    options = parser.parse_args()
    step = options.step
    line = Line(motion(STORY[0]).trajectory)
    times = np.arange(0.0, line.trajectory.duration, step)
    print(f"deviation from the line of {STORY[0].motion}.yaml, at steps of {step:g} s:")
    for name, positions in (
        ("Euler, open loop", line.euler(times, 0.0)),
        (f"Euler, feedback of {0.5 / step:g}/s", line.euler(times, 0.5 / step)),
        ("as verified", line.trajectory.positions(times)),
    ):
        print(f"  {name}: {line.deviation(times, positions):.3g} mm")
    print("largest torques, rigid and with springs:")
    for chapter in (names[name] for name in options.motions.split(",")):
        found = springs(chapter)
        for joint, rigid, flexible in found:
            print(f"  {chapter.motion}, {joint}: {rigid:.3g} and {flexible:.3g} N m, "
                  f"{flexible / rigid:.2f} times")  # fmt: skip


if __name__ == "__main__":
    main()

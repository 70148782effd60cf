# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The command of the published experiment, verified and adjusted before it is executed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.motion import Motion, read_motion
from collision_monitor.motion.motion_files import load_trajectory
from collision_monitor.self_collision.adjustment import Adjustment, adjust
from collision_monitor.verification import Settings, Verification, verify
from collision_monitor.verification.report.messages import headline, nearest

METHOD = "field"  # the published operator


@dataclass(frozen=True, eq=False)
class Plan:
    """The robot of the demo, its command, what verification says of it, and the adjusted motion.

    ``arms`` checks only pairs of one arm with the other.
    """

    model: CollisionModel
    arms: CollisionModel
    command: Motion
    verification: Verification
    adjustment: Adjustment

    def arms_apart(self, positions: Mapping[str, float]) -> float:
        """The least distance between the arms at ``positions`` by joint name, metres."""
        q = np.array([positions[name] for name in self.arms.joint_names])
        return self.arms.distance(q, exact=True).distance

    def change(self) -> str:
        """The largest change of a joint by the adjustment, with its unit and name."""
        name = self.adjustment.motion.joint_names[self.adjustment.largest_change_at[1]]
        return f"{self.adjustment.largest_change:.3f} rad ({name})"


def make_plan(
    parameters: Mapping[str, str], command_file: str | os.PathLike, say: Callable[[str], None]
) -> Plan:
    """Load the robot, verify the command and adjust it; ``say`` is told each result.

    Args:
        parameters: of the monitor: robot_description, robot_description_semantic, scene, leaves,
            warn_distance and stop_distance.
        command_file: the motion.
        say: gets one line for each step.
    """
    model = CollisionModel.from_urdf(
        parameters["robot_description"], srdf=parameters["robot_description_semantic"],
        scene=parameters["scene"], leaves=parameters["leaves"],
    )  # fmt: skip
    thresholds = Thresholds(
        warn=float(parameters["warn_distance"]), stop=float(parameters["stop_distance"])
    )
    name = os.path.basename(os.fspath(command_file))
    verification = verify(model, load_trajectory(command_file, model.robot), Settings(thresholds))
    say(f"1 verify  {name}: {headline(verification)}")
    if verification.clearance is not None:
        say(f"          least distance {nearest(verification.clearance)}")
    command = read_motion(command_file)
    begin = time.monotonic()
    adjustment = adjust(model, command, method=METHOD)
    right, left = (set(arm.links) for arm in adjustment.arms)
    between = [(a, b) for a, b in model.pairs if {a, b} & right and {a, b} & left]
    plan = Plan(model, model.twin(between), command, verification, adjustment)
    say(
        f"2 adjust  by the linear repulsion field in {time.monotonic() - begin:.1f} s: certified "
        f"{adjustment.certified:.3f} m between the arms, largest change {plan.change()}"
    )
    return plan

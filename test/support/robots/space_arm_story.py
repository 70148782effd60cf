# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The story of Liu Qian, Liu Chuankai et al. on the package's space arm: four verifications.

J. NUAA 54(1), 2022, 58-67: on a straight line with the solar wing at -90 deg the arm hits it at
60 s, at -45 deg it does not; a motion of the joints hits the cabin at 105 s, and with another
target it does not.
"""

import math
from dataclasses import dataclass
from functools import cache

from collision_monitor import CollisionModel
from collision_monitor.model.thresholds import load_thresholds
from collision_monitor.motion.motion_files import LoadedMotion, load_trajectory
from collision_monitor.robot.inertials import read_inertials
from collision_monitor.robot.limits import joint_limits
from collision_monitor.verification import Settings, Torques, verify
from collision_monitor.verification.torques.actuators import read_drives
from collision_monitor.verification.verification import Verification
from support.paths import ROOT

URDF = ROOT / "urdf/space_arm.urdf"
SCENE = ROOT / "urdf/space_arm_scene.yaml"
CONFIG = ROOT / "config/space_arm"
STARBOARD_DEG = -45.0


@dataclass(frozen=True)
class Chapter:
    """One verification.

    Attributes:
        name: of its picture.
        title: above it.
        motion: file.
        wing: the one to port, degrees.
        pair: the two that matter.
        collides: seconds; None where they do not.
    """

    name: str
    title: str
    motion: str
    wing: float
    pair: tuple[str, str]
    collides: float | None = None


_WING, _CABIN = ("arm_link_7", "port_panel_1"), ("arm_link_7", "core_module")
STORY = (
    Chapter("wing_upright", "Wing at -90 deg", "over_the_wing", -90.0, _WING, 60.0),
    Chapter("wing_turned", "Wing at -45 deg", "over_the_wing", -45.0, _WING),
    Chapter("across_the_cabin", "Across the cabin", "across_the_cabin", -45.0, _CABIN, 105.0),
    Chapter("above_the_cabin", "Another target", "above_the_cabin", -45.0, _CABIN),
)


@cache
def model() -> CollisionModel:
    """The arm, its station and the wings."""
    return CollisionModel.from_urdf(URDF, scene=SCENE)


def motion(chapter: Chapter) -> LoadedMotion:
    """The motion, the wings held."""
    held = {"port_wing": math.radians(chapter.wing), "starboard_wing": math.radians(STARBOARD_DEG)}
    path = CONFIG / f"motions/{chapter.motion}.yaml"
    return load_trajectory(path, model().robot, held=held)


def settings(torques: bool = True) -> Settings:
    """What the command is given: limits, thresholds, and drives on a floating base."""
    given = Torques(read_inertials(URDF), read_drives(CONFIG / "drives.yaml"), floating=True)
    return Settings(
        load_thresholds(CONFIG / "thresholds.yaml"),
        joint_limits(model().robot, CONFIG / "limits.yaml"),
        torques=given if torques else None,
    )


@cache
def result(chapter: Chapter, torques: bool = True) -> Verification:
    """Verify it."""
    return verify(model(), motion(chapter), settings(torques))

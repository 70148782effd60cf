# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What is checked of a motion, and against what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from collision_monitor.model.thresholds import Thresholds
from collision_monitor.motion.motion_files import LoadedMotion
from collision_monitor.robot.joint_limits import JointLimits
from collision_monitor.robot.urdf.inertials import Inertial
from collision_monitor.verification.torques.actuators import Drives


@dataclass(frozen=True)
class Beside:
    """A motion that runs beside the verified one.

    Attributes:
        motion: only the joints count that its file names; none may be moved by another motion.
        earliest, latest: it begins at some instant between these, seconds.
    """

    motion: LoadedMotion
    earliest: float = 0.0
    latest: float = 0.0


@dataclass(frozen=True)
class Torques:
    """How torques are computed.

    Attributes:
        inertials: masses of links, as `robot.urdf.inertials.read_inertials` has them.
        drives: rotors, springs, margins and payload.
        floating: the base floats freely.
        gravity: (3,) m/s^2; None: that of the earth, none where the base floats.
    """

    inertials: Mapping[str, Inertial]
    drives: Drives = field(default_factory=Drives)
    floating: bool = False
    gravity: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class Settings:
    """What is checked, and against what.

    Attributes:
        thresholds: distances of pairs.
        limits: of joints, by name; None for those of the URDF.
        exact: decide by the shapes themselves where leaves do not clear a pair.
        from_rest: the robot stands before and after the motion.
        torques: None to leave them out.
        beside: motions that run at the same time.
    """

    thresholds: Thresholds = field(default_factory=Thresholds)
    limits: Mapping[str, JointLimits] | None = None
    exact: bool = True
    from_rest: bool = True
    torques: Torques | None = None
    beside: Sequence[Beside] = ()

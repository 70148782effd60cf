# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""All that is known of one motion: the verdict, its reasons, and what plots need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collision_monitor.motion.violation import Code, Violation
from collision_monitor.verification.clearance.clearance_check import ClearanceCheck
from collision_monitor.verification.limits.joint_limits_check import LimitsCheck
from collision_monitor.verification.torques.torque_check import TorqueCheck
from collision_monitor.verification.verdict import Verdict


@dataclass(frozen=True)
class Check:
    """One of the checks.

    Attributes:
        name: for people.
        codes: the reasons that it can give.
        skipped: why it was not done; empty when it was.
    """

    name: str
    codes: tuple[Code, ...]
    skipped: str = ""


@dataclass(frozen=True)
class Moment:
    """The nearest moment of a motion.

    Attributes:
        time: seconds into it.
        q: (nq,) configuration.
        pair: the two links.
        distance: metres, signed.
        points: (2, 3) nearest points of the two, base frame.
        starts: when motions beside begin that may begin at any time of a range: what they are
            from, and seconds.
        at_least: metres: no pair is nearer than this at any instant, for certain.
        exact: between meshes and other shapes; else between leaves, which enclose these.
    """

    time: float
    q: np.ndarray
    pair: tuple[str, str]
    distance: float
    points: np.ndarray
    starts: tuple[tuple[str, float], ...] = ()
    at_least: float = -np.inf
    exact: bool = False


@dataclass(frozen=True, eq=False)
class Companion:
    """A motion that ran beside the verified one.

    Attributes:
        source: where it is from.
        earliest, latest: it begins at some instant between these, seconds.
        violations: of limits of its joints and, where it follows a line, of that; in the time of
            the verified motion, where it begins at ``earliest``.
        limits: what was found of them, in its own time.
    """

    source: str
    earliest: float
    latest: float
    violations: tuple[Violation, ...]
    limits: LimitsCheck


@dataclass(frozen=True, eq=False)
class Verification:
    """What became of one motion.

    Attributes:
        source: where the motion is from.
        robot: name.
        verdict: may it be sent?
        reason: why it could not be checked; else empty.
        duration: of the motion, seconds.
        seconds: that verifying took.
        violations: by urgency.
        notes: what was taken for granted or left out, sentences.
        checks: what was done and what not.
        limits, torques, clearance: what they found; None where not done.
        worst: the nearest moment, or None.
        companions: motions that ran beside it.
    """

    source: str
    robot: str
    verdict: Verdict
    reason: str = ""
    duration: float = 0.0
    seconds: float = 0.0
    violations: tuple[Violation, ...] = ()
    notes: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    limits: LimitsCheck | None = None
    torques: TorqueCheck | None = None
    clearance: ClearanceCheck | None = None
    worst: Moment | None = None
    companions: tuple[Companion, ...] = ()

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a command along a line is followed.

The line is followed when the command is read. What is wrong with it comes with the motion, and is
reported with the limits of the joints.
"""

from __future__ import annotations

from collision_monitor.motion.violation import Code
from collision_monitor.verification.check import Outcome, Task, VerificationCheck


def _skipped(task: Task) -> str:
    return "" if task.motion.along_line else "the motion is no command along a line"


CARTESIAN_LINE = VerificationCheck(
    "Cartesian line",
    (Code.SINGULARITY, Code.OFF_THE_LINE),
    run=lambda task: Outcome(),
    skipped=_skipped,
)

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A node with a fault put in: each of its cycles takes so many seconds (second argument).

First argument: ``collision_monitor`` or ``self_collision``.
"""

import sys
import time

from collision_monitor.monitoring.speed_policy.speed_policy import SpeedPolicy
from collision_monitor.nodes import collision_monitor, self_collision
from collision_monitor.self_collision.hold_supervisor import HoldSupervisor

NODES = {
    "collision_monitor": (collision_monitor.main, SpeedPolicy),
    "self_collision": (self_collision.main, HoldSupervisor),
}
MAIN, CLASS = NODES[sys.argv.pop(1)]
SECONDS = float(sys.argv.pop(1))
update = CLASS.update


def slow(self, *arguments):
    """Update, and take one's time."""
    time.sleep(SECONDS)
    return update(self, *arguments)


CLASS.update = slow
MAIN(sys.argv)

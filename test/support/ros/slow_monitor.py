# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The node with a fault put in: each of its cycles takes so many seconds (first argument)."""

import sys
import time

from collision_monitor.monitoring.speed_policy.speed_policy import SpeedPolicy
from collision_monitor.nodes.collision_monitor import main

SECONDS = float(sys.argv.pop(1))
update = SpeedPolicy.update


def slow(self, *arguments):
    """Update, and take one's time."""
    time.sleep(SECONDS)
    return update(self, *arguments)


SpeedPolicy.update = slow
main(sys.argv)

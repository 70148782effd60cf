# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The node with a fault put in: each of its cycles takes so many seconds (first argument)."""

import sys
import time

from collision_monitor.monitoring.monitor import Monitor
from collision_monitor.nodes.collision_monitor import main

SECONDS = float(sys.argv.pop(1))
measure = Monitor._measure


def slow(self):
    """Measure, and take one's time."""
    time.sleep(SECONDS)
    return measure(self)


Monitor._measure = slow
main(sys.argv)

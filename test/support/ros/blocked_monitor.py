# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The node with a fault put in: the service ``~/block`` takes so many seconds (first argument)."""

import sys
import time

from std_srvs.srv import Trigger

from collision_monitor.nodes.collision_monitor import CollisionMonitorNode
from collision_monitor.nodes.common.executor import run_program

SECONDS = float(sys.argv.pop(1))


class BlockedNode(CollisionMonitorNode):
    """A monitor that can be blocked."""

    def __init__(self) -> None:
        """Add the service."""
        super().__init__()
        self.create_service(Trigger, "~/block", self._block)

    def _block(self, request: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        time.sleep(SECONDS)
        return answer


run_program(BlockedNode, sys.argv, "blocked")

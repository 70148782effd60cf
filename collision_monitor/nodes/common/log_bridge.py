# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What the library says in Python's logging goes to the log of a node."""

from __future__ import annotations

import logging

from rclpy.node import Node


class LogBridge(logging.Handler):
    """Hands records on to the logger of one node, at their own level."""

    def __init__(self, node: Node) -> None:
        """``node``: whose logger speaks."""
        super().__init__()
        self._logger = node.get_logger()

    def emit(self, record: logging.LogRecord) -> None:
        """Say it in ROS; rclpy holds every place of a call to one severity."""
        text = self.format(record)
        if record.levelno >= logging.ERROR:
            self._logger.error(text)
        elif record.levelno >= logging.WARNING:
            self._logger.warning(text)
        else:
            self._logger.info(text)


def bridge_logs(node: Node) -> None:
    """From now on the library's log is that of ``node``, from INFO on, and nobody else's."""
    library = logging.getLogger("collision_monitor")
    for handler in list(library.handlers):
        if isinstance(handler, LogBridge):
            library.removeHandler(handler)
    library.addHandler(LogBridge(node))
    library.setLevel(logging.INFO)
    library.propagate = False

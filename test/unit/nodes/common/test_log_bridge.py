# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The library's log in the log of a node."""

import logging

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from collision_monitor.nodes.common.executor import LogBridge, bridge_logs  # noqa: E402


class FakeNode:
    """Remembers what its logger is told."""

    def __init__(self):
        self.said = []

    def get_logger(self):
        return self

    def error(self, text):
        self.said.append(("error", text))

    def warning(self, text):
        self.said.append(("warning", text))

    def info(self, text):
        self.said.append(("info", text))


@pytest.fixture(autouse=True)
def library():
    """The library's logger, as it was afterwards."""
    logger = logging.getLogger("collision_monitor")
    before = logger.level, logger.propagate, list(logger.handlers)
    yield logger
    logger.setLevel(before[0])
    logger.propagate = before[1]
    logger.handlers[:] = before[2]


def test_every_level_arrives_as_itself_and_only_once():
    old, node = FakeNode(), FakeNode()
    bridge_logs(old)
    bridge_logs(node)
    log = logging.getLogger("collision_monitor.fitting.fitter")
    log.debug("unheard")
    log.info("fitting %d of %d", 1, 2)
    log.warning("careful")
    log.error("wrong")
    expected = [("info", "fitting 1 of 2"), ("warning", "careful"), ("error", "wrong")]
    assert (node.said, old.said) == (expected, [])


def test_other_loggers_are_left_alone(library):
    bridge_logs(FakeNode())
    assert not any(isinstance(h, LogBridge) for h in logging.getLogger().handlers)
    assert not library.propagate

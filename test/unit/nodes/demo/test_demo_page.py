# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The page beside the demo: it shows what is sent, and leads once somebody has the robot."""

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from collision_monitor.nodes.demo.demo_page import DemoPage  # noqa: E402

NODE = SimpleNamespace(level="WARN", distance=0.04, message="near", rate=lambda now: 99.0)


class Page:
    """Keeps what it is told, and runs until it is closed."""

    joint_names = ("a", "b", "c")

    def __init__(self):
        self.by_hand = False
        self.configuration = np.array([1.0, 2.0, 3.0])
        self.heard = None
        self.closed = threading.Event()

    def hear(self, report):
        self.heard = report

    def follow(self, q):
        self.configuration = q

    def run(self):
        self.closed.wait(20.0)

    def close(self):
        self.closed.set()


def ready(beside):
    """Wait until it has loaded."""
    end = time.monotonic() + 20.0
    while beside.loading:
        assert time.monotonic() < end
        time.sleep(0.01)
    return beside


def test_the_page_follows_in_its_own_order_and_leads_when_it_is_taken_over():
    page = Page()
    beside = ready(DemoPage(lambda: page, ["c", "a"]))
    assert beside.exchange([7.0, 8.0], NODE) == [7.0, 8.0]
    assert page.configuration.tolist() == [8.0, 2.0, 7.0]
    assert (page.heard.level, page.heard.distance, page.heard.rate) == ("WARN", 0.04, 99.0)
    page.by_hand, page.configuration = True, np.array([0.1, 0.2, 0.3])
    assert beside.exchange([7.0, 8.0], NODE) == [0.3, 0.1]
    assert page.configuration.tolist() == [0.1, 0.2, 0.3]
    beside.close()
    assert page.closed.is_set() and not beside._thread.is_alive()


def test_while_it_loads_what_is_played_is_sent():
    go = threading.Event()
    beside = DemoPage(lambda: go.wait(20.0) and Page(), ["a"])
    assert beside.loading and beside.exchange([5.0], NODE) == [5.0]
    go.set()
    ready(beside).close()


def test_a_page_that_cannot_be_made_is_told_and_harms_nothing():
    def fail():
        raise OSError("no room")

    beside = DemoPage(fail, ["a"])
    beside._thread.join(10.0)
    assert not beside.loading and str(beside.error) == "no room"
    assert beside.exchange([5.0], NODE) == [5.0]
    beside.close()

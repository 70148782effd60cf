# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What a watcher remembers of a monitor: levels, times, rates and the nearest moment."""

import math

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue  # noqa: E402
from std_msgs.msg import Float64  # noqa: E402

from collision_monitor.nodes.demo import state_listener as module  # noqa: E402


class FakeNode:
    """Keeps what is subscribed to."""

    def __init__(self):
        self.callbacks = {}

    def create_subscription(self, kind, topic, callback, qos):
        self.callbacks[topic] = (kind, callback)


class Scene:
    """A watcher, its clock, and a monitor that speaks to it."""

    def __init__(self, monkeypatch, monitor="collision_monitor"):
        self.now = 100.0
        monkeypatch.setattr(module.time, "monotonic", lambda: self.now)
        node = FakeNode()
        self.watcher = module.Watcher(node, monitor)
        self.callbacks = node.callbacks
        self.monitor = monitor

    def says(self, distance, after):
        self.now += after
        kind, callback = self.callbacks[f"{self.monitor}/min_distance"]
        callback(kind(data=distance))

    def is_in(self, level, after=0.0, **values):
        self.now += after
        kind, callback = self.callbacks[f"{self.monitor}/state"]
        pairs = [KeyValue(key=key, value=value) for key, value in values.items()]
        callback(kind(level=level, message=f"level {level[0]}", values=pairs))


@pytest.fixture
def scene(monkeypatch):
    return Scene(monkeypatch)


def test_before_anything_is_heard_nothing_is_known(scene):
    watcher = scene.watcher
    assert not watcher.knows_distance and math.isnan(watcher.distance)
    assert (watcher.level, watcher.links, watcher.received) == ("silent", "", 0)
    assert watcher.rate(scene.now) == 0.0
    assert watcher.changes == [] and not watcher.seconds


def test_the_kinds_of_its_topics_are_those_of_the_monitor(monkeypatch):
    scene = Scene(monkeypatch, "cell/watch")
    kinds = {topic: kind for topic, (kind, _) in scene.callbacks.items()}
    assert kinds == {"cell/watch/min_distance": Float64, "cell/watch/state": DiagnosticStatus}


def test_nan_is_not_a_distance_and_not_the_nearest(scene):
    scene.says(0.5, 0.1)
    scene.says(math.nan, 0.1)
    assert not scene.watcher.knows_distance
    assert scene.watcher.received == 2
    assert scene.watcher.nearest[0] == 0.5
    scene.says(-0.2, 0.1)
    assert scene.watcher.knows_distance
    assert scene.watcher.nearest[0] == -0.2


def test_the_nearest_moment_keeps_its_time_and_links(scene):
    scene.is_in(DiagnosticStatus.OK, link_a="a", link_b="b")
    scene.says(0.5, 1.0)
    scene.is_in(DiagnosticStatus.ERROR, link_a="c", link_b="d")
    scene.says(-0.1, 1.0)
    scene.is_in(DiagnosticStatus.OK, link_a="e", link_b="f")
    scene.says(0.3, 1.0)
    assert scene.watcher.nearest == (-0.1, 102.0, "c - d")
    assert scene.watcher.links == "e - f"


def test_links_are_named_only_in_pairs(scene):
    scene.is_in(DiagnosticStatus.OK, link_a="a")
    assert scene.watcher.links == ""
    scene.is_in(DiagnosticStatus.STALE)
    assert scene.watcher.links == ""


def test_only_changes_of_the_level_are_kept_with_their_times(scene):
    levels = [DiagnosticStatus.STALE, DiagnosticStatus.OK, DiagnosticStatus.OK,
              DiagnosticStatus.WARN, DiagnosticStatus.ERROR, DiagnosticStatus.OK]  # fmt: skip
    for level in levels:
        scene.is_in(level, after=1.0)
    assert scene.watcher.changes == [
        (101.0, "STALE"), (102.0, "OK"), (104.0, "WARN"), (105.0, "ERROR"), (106.0, "OK"),
    ]  # fmt: skip
    assert (scene.watcher.level, scene.watcher.message) == ("OK", "level 0")


def test_time_goes_to_the_level_it_was_spent_in(scene):
    scene.is_in(DiagnosticStatus.OK)
    for level, count in (("OK", 4), ("WARN", 2), ("ERROR", 1)):
        scene.is_in(getattr(DiagnosticStatus, level))
        for _ in range(count):
            scene.says(0.1, 0.25)
    # The first distance begins the count; it ends no stretch.
    assert scene.watcher.seconds == pytest.approx({"OK": 0.75, "WARN": 0.5, "ERROR": 0.25})


@pytest.mark.parametrize("period", [0.01, 0.05, 0.25])
def test_the_rate_is_that_of_the_last_second(scene, period):
    for _ in range(300):
        scene.says(0.1, period)
    assert scene.watcher.rate(scene.now) == pytest.approx(1.0 / period, rel=1e-6)
    assert scene.watcher.rate(scene.now + 5.0) == 0.0  # silence is not a rate


def test_a_rate_above_200_hz_is_told_too(scene):
    for _ in range(1000):
        scene.says(0.1, 0.001)
    assert scene.watcher.rate(scene.now) == pytest.approx(1000.0, rel=1e-6)

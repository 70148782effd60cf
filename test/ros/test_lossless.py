# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A subscription that keeps all that waits, and says what a publisher threw away.

That also across processes, one of them held up: test_scene_node.py.
"""

import time
from types import SimpleNamespace

import pytest
from support.ros.ros_graph import Graph

from collision_monitor.nodes.obstacles.reliable_subscription import LosslessSubscription

from rclpy.serialization import deserialize_message  # isort: skip
from std_msgs.msg import String  # isort: skip


@pytest.fixture
def graph():
    found = Graph()
    yield found
    found.close()


def test_nobody_is_called_for_what_came_while_publishers_were_found_and_all_that_waits_is_heard(
    graph,
):
    heard, lost = [], []
    publisher = graph.node.create_publisher(String, "talk", 10)
    for _ in range(20):
        publisher.publish(String(data="before anybody listened"))
    subscription = LosslessSubscription(
        graph.node, String, "talk", lambda message: heard.append(message.data), lost.append
    )
    graph.until(lambda: publisher.get_subscription_count())
    graph.spin(0.2)
    heard.clear()
    for k in range(500):  # nobody takes one meanwhile
        publisher.publish(String(data=str(k)))
    graph.until(lambda: len(heard) == 500)
    assert heard == [str(k) for k in range(500)] and lost == []
    subscription.destroy()


def test_what_is_missed_counts_unless_a_publisher_is_new(graph, monkeypatch):
    lost, now = [], [100.0]
    clock = "collision_monitor.nodes.obstacles.reliable_subscription.time.monotonic"
    monkeypatch.setattr(clock, lambda: now[0])
    subscription = LosslessSubscription(graph.node, String, "talk", print, lost.append)
    event = SimpleNamespace(total_count_change=3)
    subscription._missed(event)
    assert lost == [3]
    counts = iter([1, 1, 0, 1])
    monkeypatch.setattr(graph.node, "count_publishers", lambda topic: next(counts))
    subscription._missed(event)
    assert lost == [3]
    now[0] += 1.1
    subscription._missed(event)
    assert lost == [3, 3]
    subscription.look()
    now[0] += 1.1
    subscription._missed(event)  # of the one that has just come
    assert lost == [3, 3]
    subscription.destroy()


def test_what_waits_is_taken_a_few_at_a_time_in_order_and_how_long_it_waited_is_known(graph):
    heard = []
    publisher = graph.node.create_publisher(String, "talk", 100)
    subscription = LosslessSubscription(
        graph.node, String, "talk", lambda message: heard.append(message.data), print
    )
    graph.until(lambda: publisher.get_subscription_count())
    for k in range(30):
        publisher.publish(String(data=str(k)))
    time.sleep(0.3)
    subscription.take()
    assert 0 < len(heard) < 30 and 0.25 < subscription.late < 60.0
    for _ in range(10):
        subscription.take()
    assert heard == [str(k) for k in range(30)]
    assert subscription.late == 0.0
    subscription.destroy()


def test_messages_are_kept_as_they_came_and_what_cannot_be_read_is_lost(graph):
    heard, kept, lost = [], [], []
    publisher = graph.node.create_publisher(String, "talk", 100)
    subscription = LosslessSubscription(
        graph.node, String, "talk", lambda message: heard.append(message.data), lost.append,
        kept.append,
    )  # fmt: skip
    graph.until(lambda: publisher.get_subscription_count())
    publisher.publish(String(data="one"))
    graph.until(lambda: len(heard) == 1)
    publisher.publish(String(data="two"))
    time.sleep(0.1)
    subscription.take()
    assert heard == [deserialize_message(data, String).data for data in kept] == ["one", "two"]
    subscription._hear(kept[0][:5])
    assert len(heard) == 2 and len(kept) == 3 and lost == [1]
    subscription.destroy()

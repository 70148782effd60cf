# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How the graph tells which service belongs to a publisher, with messages that are there."""

import time

from support.ros.ros_graph import rclpy

from std_msgs.msg import String  # isort: skip
from std_srvs.srv import Trigger  # isort: skip

from collision_monitor.monitoring.faults import FaultRegister
from collision_monitor.nodes.obstacles.whole_scene import WholeScene


def test_the_node_that_publishes_is_asked_in_whatever_namespace(graph):
    context = rclpy.Context()
    context.init(domain_id=graph.domain)
    server = rclpy.create_node("move_group_private_94", namespace="/cell", context=context)
    graph.node.create_service(Trigger, "/get_scene", lambda request, answer: answer)

    def answer(request, response):
        response.message = "of the cell"
        return response

    events, faults = [], FaultRegister()
    whole = WholeScene(
        graph.node, "/cell/monitored", Trigger, Trigger.Request(),
        lambda is_asked: events.append("asked" if is_asked else "given up"),
        lambda response: events.append(response.message), faults,
    )  # fmt: skip
    executor = rclpy.executors.SingleThreadedExecutor(context=context)
    executor.add_node(server)

    def step():
        whole.update(time.monotonic())
        executor.spin_once(timeout_sec=0.0)

    graph.until(lambda: True, sending=step)
    assert not events and faults.text("whole_scene", 0.0) == ""
    server.create_service(Trigger, "get_scene", answer)
    publisher = server.create_publisher(String, "monitored", 10)
    graph.until(lambda: len(events) > 1, sending=step)
    assert events == ["asked", "of the cell"]
    graph.until(lambda: not faults.text("whole_scene", 0.0), sending=step)
    publisher.destroy()
    whole.close()
    executor.shutdown()
    server.destroy_node()
    context.shutdown()

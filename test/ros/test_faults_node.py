# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Faults on a real ROS graph: publishers, clocks, overload; several monitors and observers."""

import contextlib
import math
import time

import pytest
from support.paths import ROOT
from support.robots.two_slides import JOINTS, apart
from support.ros.ros_graph import (
    DIAGNOSTICS,
    ERROR,
    LATCHED,
    OK,
    PATIENT_DEADLINE,
    STALE,
    WARN,
    Graph,
    rclpy,
)

from diagnostic_msgs.msg import DiagnosticStatus  # isort: skip
from rclpy.qos import QoSProfile, qos_profile_sensor_data  # isort: skip
from rosgraph_msgs.msg import Clock  # isort: skip
from sensor_msgs.msg import JointState  # isort: skip
from std_msgs.msg import Bool, Float64, String  # isort: skip
from std_srvs.srv import SetBool  # isort: skip
from trajectory_msgs.msg import JointTrajectory  # isort: skip

NAMES = (*JOINTS, "mast_joint")
LEFT, RIGHT = "/left/collision_monitor", "/cell/right/watch"
LEFT_TOPIC, RIGHT_TOPIC = "/left/joint_states", "/cell/right/arm/states"


@contextlib.contextmanager
def opened(monitor):
    """A graph, closed at the end."""
    graph = Graph(monitor)
    try:
        graph.listen(*DIAGNOSTICS)
        yield graph
    finally:
        graph.close()


def pose(gap):
    """All joints, with the balls ``gap`` metres apart."""
    return (*apart(gap), 0.3)


# -- two monitors, one of them renamed, in namespaces of their own -----------------------


@pytest.fixture(scope="module")
def two(slides_file):
    """Two nodes that have heard their robots."""
    with opened(LEFT) as graph:
        robot = ("-p", f"robot_description:={slides_file}", "-p", "joint_state_timeout:=5.0")
        graph.start("-r", "__ns:=/left", *robot)
        graph.start(
            "-r", "__ns:=/cell/right", "-r", "__node:=watch", "-r", "joint_states:=arm/states",
            "-r", "~/min_distance:=/right_distance", *robot,
        )  # fmt: skip
        graph.listen("right_distance", Float64, 100, "/right_distance")
        graph.listen("right_state", DiagnosticStatus, LATCHED, f"{RIGHT}/state")
        graph.until_distance(lambda: send_both(graph, 0.5, 0.5))
        graph.until(
            lambda: graph.heard["right_state"]
            and any(m.data == m.data for m in graph.heard["right_distance"]), 60.0,
            lambda: send_both(graph, 0.5, 0.5),
        )  # fmt: skip
        yield graph


def send_both(graph, left, right):
    """A joint state for each monitor."""
    graph.send(NAMES, pose(left), topic=LEFT_TOPIC)
    graph.send(NAMES, pose(right), topic=RIGHT_TOPIC)


def levels(graph):
    """What the two said last."""
    return graph.state.level, graph.heard["right_state"][-1].level


def figures(graph, name="left/collision_monitor"):
    """The last key-values of this node on /diagnostics."""
    for message in reversed(graph.heard["diagnostics"]):
        for status in message.status:
            if status.name == f"{name}: clearance":
                return {item.key: item.value for item in status.values}
    return {}


def until_counted(graph, sending=None, name="left/collision_monitor", **wanted):
    """Listen until counts on /diagnostics have reached these."""
    graph.until(
        lambda: all(int(figures(graph, name).get(k, -1)) >= n for k, n in wanted.items()),
        sending=sending,
    )


def test_two_monitors_in_namespaces_each_watch_their_own_robot(two):
    for left, right, expected in ((0.5, 0.5, (OK, OK)), (-0.01, 0.5, (ERROR, OK)),
                                  (0.5, -0.01, (OK, ERROR)), (0.5, 0.5, (OK, OK))):  # fmt: skip
        two.until(
            lambda expected=expected: levels(two) == expected,
            sending=lambda left=left, right=right: send_both(two, left, right),
        )
        two.until(
            lambda left=left, right=right: (
                abs(two.heard["min_distance"][-1].data - left) < 1e-6
                and abs(two.heard["right_distance"][-1].data - right) < 1e-6
            ),
            sending=lambda left=left, right=right: send_both(two, left, right),
        )
    two.until(lambda: figures(two) and figures(two, "cell/right/watch"))


def test_subscribers_of_any_quality_receive_the_same_and_may_disconnect(two):
    steady = LEFT + "/min_distance"
    deep = QoSProfile(depth=99)
    qualities = {"best_effort": qos_profile_sensor_data, "reliable": 10, "deep": deep}
    for name, qos in qualities.items():
        two.listen(name, Float64, qos, steady)
    latched = {"safe": Bool, "state": DiagnosticStatus, "pair_names": String}
    for name, kind in latched.items():
        two.listen(f"late_{name}", kind, LATCHED, f"{LEFT}/{name}")
    two.until(lambda: all(two.heard[f"late_{name}"] for name in latched))  # nothing is new
    assert two.heard["late_pair_names"][0] == two.heard["pair_names"][-1]
    two.until(
        lambda: all(any(abs(m.data - 0.45) < 1e-6 for m in two.heard[n]) for n in qualities),
        sending=lambda: send_both(two, 0.45, 0.5),
    )
    for subscription in list(two.node.subscriptions):
        if subscription.topic_name == steady and subscription.qos_profile.depth != 100:
            two.node.destroy_subscription(subscription)
    seen = len(two.heard["min_distance"])
    two.until(
        lambda: len(two.heard["min_distance"]) > seen + 10, sending=lambda: send_both(two, 0.5, 0.5)
    )


def test_diagnostics_have_rates_latencies_and_counts(two):
    for _ in range(3):
        two.send(NAMES, (math.nan,) * 5, topic=LEFT_TOPIC)
        two.send(NAMES, pose(0.5)[:3], topic=LEFT_TOPIC)
        two.send(("x",), (0.0,), topic=LEFT_TOPIC)
        two.send(("r_x", "r_x"), (0.0, 0.0), topic=LEFT_TOPIC)
        two.send(NAMES, pose(0.5), stamp=60.0, topic=LEFT_TOPIC)
    kinds = ("not_finite", "length", "unknown", "twice", "future")
    until_counted(two, lambda: send_both(two, 0.5, 0.5), **{f"refused_{kind}": 3 for kind in kinds})
    two.until(
        lambda: all(float(figures(two)[name]) > 1e-6 for name in ("cycle_rate", "latency_max")),
        sending=lambda: send_both(two, 0.5, 0.5),
    )
    values = figures(two)
    assert {values[f"refused_{kind}"] for kind in kinds} == {"3"}
    mean, p99, most = (float(values[f"cycle_{name}"]) for name in ("mean", "p99", "max"))
    assert 0.0 < mean <= most and 0.0 < p99 <= most
    assert mean <= float(values["latency_mean"]) <= float(values["latency_max"])
    assert float(values["joint_state_rate"]) > 1.0
    assert (values["publishers"], float(values["cycle_deadline"])) == ("1", PATIENT_DEADLINE)
    two.until(lambda: "refused_future" in figures(two, "cell/right/watch"),
              sending=lambda: send_both(two, 0.5, 0.5))  # fmt: skip
    assert int(figures(two, "cell/right/watch")["refused_future"]) == 0
    two.until_level(OK, lambda: send_both(two, 0.5, 0.5))


def test_a_publisher_that_ends_is_missed_and_zeros_of_the_next_are_stale_until_repeated(two):
    two.until(lambda: levels(two) == (OK, OK), sending=lambda: send_both(two, 0.5, 0.5))
    two.node.destroy_publisher(two.joint_states.pop(RIGHT_TOPIC))
    # The timeout is 5 s: within that, nothing but the publisher can be the reason.
    two.until(
        lambda: "the publisher of the joint states is gone" in two.heard["right_state"][-1].message,
        sending=lambda: two.send(NAMES, pose(0.5), topic=LEFT_TOPIC),
    )
    assert levels(two) == (OK, STALE)
    seen = len(two.heard["right_state"])
    zeros = "joint states are all zeros: accepted once they have repeated for 3 s"
    two.until(
        lambda: two.heard["right_state"][-1].level != STALE,
        sending=lambda: two.send(NAMES, (0.0,) * len(NAMES), topic=RIGHT_TOPIC),
    )
    assert zeros in {message.message for message in two.heard["right_state"][seen:]}
    two.until(lambda: levels(two) == (OK, OK), sending=lambda: send_both(two, 0.5, 0.5))


def test_two_publishers_are_a_warning_if_they_may_have_the_same_joints_or_one_of_them_ends(two):
    second = two.node.create_publisher(JointState, LEFT_TOPIC, 10)

    def send_parts():
        two.send(NAMES[:2], pose(0.5)[:2], topic=LEFT_TOPIC)
        second.publish(JointState(name=list(NAMES[2:]), position=pose(0.5)[2:]))
        two.send(NAMES, pose(0.5), topic=RIGHT_TOPIC)

    two.until(lambda: figures(two).get("publishers") == "2", sending=send_parts)
    began, seen = time.monotonic(), len(two.heard["state"])
    two.until(lambda: time.monotonic() - began > 1.5, sending=send_parts)
    assert {message.level for message in two.heard["state"][seen:]} == {OK}
    named = "2 publishers of joint states may have the same joints: /listener (2 times)"
    two.until(lambda: named in two.state.message, sending=lambda: send_both(two, 0.5, 0.5))
    assert two.state.level == WARN and two.values["action"] == "none"
    two.node.destroy_publisher(second)
    two.until(lambda: "1 of 2 publishers of joint states is gone" in two.state.message,
              sending=lambda: send_both(two, 0.5, 0.5))  # fmt: skip
    assert two.state.level == WARN and two.values["action"] == "none"
    two.until_level(OK, lambda: send_both(two, 0.5, 0.5))


def test_a_publisher_of_efforts_alone_and_one_of_another_device_are_no_fault(two):
    second = two.node.create_publisher(JointState, LEFT_TOPIC, 10)

    def send_usual():
        send_both(two, 0.5, 0.5)

    def send_more():
        send_usual()
        second.publish(JointState(name=list(NAMES), effort=[1.0] * len(NAMES)))
        second.publish(JointState(name=["finger"], position=[0.02]))

    two.until(second.get_subscription_count, sending=send_usual)
    began, seen = time.monotonic(), len(two.heard["state"])
    two.until(lambda: time.monotonic() - began > 1.5, sending=send_more)
    assert {message.level for message in two.heard["state"][seen:]} == {OK}
    assert "finger" in two.values["unknown_joints"]
    two.node.destroy_publisher(second)
    two.until(lambda: "1 of 2 publishers" in two.state.message, sending=send_usual)
    two.until_level(OK, send_usual)


def test_publishers_that_the_middleware_does_not_connect_are_named_on_every_topic(slides_file):
    with opened("/collision_monitor") as graph:

        def send():
            graph.send(NAMES, pose(0.5))

        volatile = graph.node.create_publisher(String, "robot_description", 10)
        graph.start()
        graph.until(lambda: graph.heard["state"]
                    and "/listener on /robot_description (quality of" in graph.state.message)
        assert graph.state.level == STALE and "waiting for a robot" in graph.state.message
        graph.node.destroy_publisher(volatile)
        description = graph.node.create_publisher(String, "robot_description", LATCHED)
        description.publish(String(data=slides_file.read_text()))
        graph.until_distance(send)
        graph.until_level(OK, send)
        other = rclpy.Context()  # in one context a topic has one type
        other.init(domain_id=graph.domain)
        node = rclpy.create_node("wrong", context=other)
        node.create_publisher(String, "/joint_states", 10)
        node.create_publisher(
            JointTrajectory, "/collision_monitor/command", qos_profile_sensor_data
        )
        named = (
            "/wrong on /joint_states (its type is std_msgs/msg/String, not sensor_msgs/msg/Joi",
            "/wrong on /collision_monitor/command (quality of service: ",
        )
        graph.until(lambda: all(each in graph.state.message for each in named), sending=send)
        assert graph.state.level == WARN and graph.values["action"] == "none"
        began, seen = time.monotonic(), len(graph.heard["state"])
        graph.until(lambda: time.monotonic() - began > 1.5, sending=send)
        # It has no joints at all.
        assert not any("same joints" in each.message for each in graph.heard["state"][seen:])
        node.destroy_node()
        other.shutdown()
        graph.until_level(OK, send)


def test_two_monitors_of_one_name_warn_of_each_other(two, slides_file):
    second = two.start("-r", "__ns:=/left", "-p", f"robot_description:={slides_file}")
    two.until(
        lambda: f"2 nodes are named {LEFT}" in two.state.message and two.state.level == WARN,
        120.0, lambda: send_both(two, 0.5, 0.5),
    )  # fmt: skip
    two.stop(second)
    two.until_level(OK, lambda: send_both(two, 0.5, 0.5))


# -- simulated time ----------------------------------------------------------------------


class Simulation:
    """Somebody who publishes /clock, and joint states stamped with it."""

    def __init__(self, graph):
        self.graph, self.time = graph, 500.0  # set back by a minute it is still above 0
        self.clock = graph.node.create_publisher(Clock, "/clock", 10)

    def send(self, passes=0.02, ticks=True):
        """A moment later."""
        self.time += passes
        stamp = Clock()
        stamp.clock.sec, stamp.clock.nanosec = divmod(round(self.time * 1e9), 10**9)
        state = JointState(name=list(NAMES), position=pose(0.5))
        state.header.stamp = stamp.clock
        self.graph.publisher().publish(state)
        if ticks:
            self.clock.publish(stamp)


def test_simulated_time_is_missed_may_pause_and_its_jumps_are_reported(slides_file):
    with opened("/collision_monitor") as graph:
        simulation = Simulation(graph)
        graph.start(
            "-p", f"robot_description:={slides_file}", "-p", "use_sim_time:=true",
            "-p", "joint_state_timeout:=2.0",
        )  # fmt: skip
        says = "no time has been received on /clock"
        graph.until(lambda: graph.heard["state"] and says in graph.state.message,
                    60.0, lambda: simulation.send(ticks=False))  # fmt: skip
        assert graph.state.level == ERROR
        graph.until_level(OK, simulation.send)
        # It stands while joint states come.
        seen = len(graph.heard["state"])
        graph.until(
            lambda: len(graph.heard["state"]) > seen + 15,
            sending=lambda: simulation.send(passes=0.0),
        )
        bad = [m for m in graph.heard["state"][seen:] if m.level not in (OK, WARN)]
        assert not bad, [m.message for m in bad]
        graph.until_level(STALE)
        graph.until_level(OK, simulation.send)
        for jumps, (by, way) in enumerate([(100.0, "forward"), (-60.0, "back")], 1):
            seen = len(graph.heard["state"])
            simulation.send(passes=by)
            graph.until(
                lambda way=way, seen=seen: any(
                    f"set {way}" in m.message for m in graph.heard["state"][seen:]
                ),
                sending=simulation.send,
            )
            until_counted(graph, simulation.send, "collision_monitor", clock_jumps=jumps)
            said = [m for m in graph.heard["state"][seen:] if f"set {way}" in m.message]
            assert all(m.level in (WARN, ERROR, STALE) for m in said)
            graph.until_level(OK, simulation.send)


# -- overload ----------------------------------------------------------------------------


def test_a_node_too_slow_for_its_joint_states_works_on_the_newest_and_says_so(slides_file):
    with opened("/collision_monitor") as graph:
        robot = ("-p", f"robot_description:={slides_file}", "-p", "cycle_deadline:=0.02")
        slow = ROOT / "test/support/ros/slow_node.py", "collision_monitor", "0.04"
        graph.run([*slow, "--ros-args", *robot])
        graph.until_distance(lambda: graph.send(NAMES, pose(0.9)))
        graph.until(lambda: "overloaded: a cycle took" in graph.state.message,
                    sending=lambda: graph.send(NAMES, pose(0.9)))  # fmt: skip
        assert graph.state.level == WARN
        distances, states = len(graph.heard["min_distance"]), len(graph.heard["state"])
        began = time.monotonic()
        for k in range(400):
            graph.send(NAMES, pose(0.9 - 0.001 * k))
            graph.spin(0.004)
        at_the_end = len(graph.heard["min_distance"])
        assert at_the_end - distances <= (time.monotonic() - began) / 0.04 + 3  # 40 ms each
        assert len(graph.heard["state"]) - states >= 3  # the heartbeat goes on
        graph.until(
            lambda: any(abs(m.data - 0.501) < 1e-6 for m in graph.heard["min_distance"][distances:])
        )
        # What was under way; a queue worked through would bring a hundred.
        assert len(graph.heard["min_distance"]) - at_the_end <= 10
        until_counted(graph, name="collision_monitor", skipped=50, overruns=5)


def test_topics_and_services_have_their_turn_beside_more_joint_states_than_it_can_process(
    slides_file,
):
    with opened("/collision_monitor") as graph:
        graph.listen("distances")
        graph.run([
            ROOT / "test/support/ros/slow_node.py", "collision_monitor", "0.02", "--ros-args",
            "-p", f"robot_description:={slides_file}",
        ])  # fmt: skip
        graph.until_distance(lambda: graph.send(NAMES, pose(0.9)))
        graph.client(SetBool, "/collision_monitor/enable")
        graph.node.destroy_publisher(graph.joint_states.pop("joint_states"))
        positions = ",".join(map(str, pose(0.9)))
        graph.run([ROOT / "test/support/ros/flood.py", "1000", ",".join(NAMES), positions])
        graph.until(lambda: int(figures(graph, "collision_monitor").get("skipped", 0)) > 200)
        seen = {name: len(graph.heard[name]) for name in ("diagnostics", "distances", "safe")}
        graph.spin(8.0)
        heard = {name: len(graph.heard[name]) - count for name, count in seen.items()}
        assert heard["diagnostics"] >= 4 and heard["distances"] >= 20 and heard["safe"] >= 40, heard
        began = time.monotonic()
        assert graph.call(SetBool, "/collision_monitor/enable", data=False).success
        assert time.monotonic() - began < 2.0

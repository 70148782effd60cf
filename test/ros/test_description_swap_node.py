# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A new description while the node runs: loaded beside the old robot, which goes on being watched.

A robot that never finishes loading is one whose scene is a pipe that nobody writes to.
"""

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from support.robots.toys import chain
from support.ros.ros_graph import LATCHED, OK, STALE, WARN, Graph

from collision_monitor import CollisionModel

from sensor_msgs.msg import JointState  # isort: skip
from std_msgs.msg import String  # isort: skip

JOINTS = ("j1", "j2", "j3")
CLEAR = [-0.5, -0.5, 0.3]
PERIOD = 0.005


def distance(urdf):
    return CollisionModel.from_urdf(urdf).distance(CLEAR).distance


THICK, THIN = chain(4), chain(4).replace('radius="0.1"', 'radius="0.05"')
BAD = THICK.replace('<child link="l3"/>', '<child link="l9"/>')
OTHER = THICK.replace('"j', '"k')


class Driver:
    """Joint states at 200 Hz by a thread of its own, whoever else is busy."""

    def __init__(self, graph):
        self._publisher = graph.node.create_publisher(JointState, "joint_states", 10)
        self._clock = graph.node.get_clock()
        self.sent, self.names = 0, JOINTS
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        due = time.monotonic()
        while not self._ended.is_set():
            message = JointState(name=list(self.names), position=CLEAR)
            message.header.stamp = self._clock.now().to_msg()
            self._publisher.publish(message)
            self.sent += 1
            due = max(due + PERIOD, time.monotonic() - 0.1)
            time.sleep(max(0.0, due - time.monotonic()))

    def stop(self):
        self._ended.set()
        self._thread.join()


@pytest.fixture(scope="module")
def cell():
    """(graph, driver, publisher of descriptions, the node's process) of a node that watches."""
    graph = Graph()
    descriptions = graph.node.create_publisher(String, "robot_description", LATCHED)
    descriptions.publish(String(data=THICK))
    # Generous: what is asked is that nothing waits for a load, which takes longer.
    process = graph.start("-p", "joint_state_timeout:=1.0")
    driver = Driver(graph)
    graph.until(lambda: graph.heard["state"] and graph.state.level == OK, 180.0)
    yield graph, driver, descriptions, process
    driver.stop()
    graph.close()


def describe(cell, urdf, until, seconds=180.0):
    """Publish a description; (distances, states, loading seen, sent) until it is as told."""
    graph, driver, descriptions, _ = cell
    marks = {name: len(graph.heard[name]) for name in ("min_distance", "state")}
    sent = driver.sent
    loading = []
    descriptions.publish(String(data=urdf))

    def there():
        loading.extend(["loading" in graph.values])
        return until()

    graph.until(there, seconds)
    found = {name: graph.heard[name][mark:] for name, mark in marks.items()}
    distances = [message.data for message in found["min_distance"]]
    states = {(state.level, state.message) for state in found["state"]}
    return distances, states, any(loading), driver.sent - sent


def test_good_then_bad_then_good_and_every_joint_state_has_its_distance(cell):
    graph = cell[0]
    thick, thin = distance(THICK), distance(THIN)

    def is_thin():
        return abs(graph.heard["min_distance"][-1].data - thin) < 1e-9

    seen, states, loading, sent = describe(cell, THIN, is_thin)
    assert loading and {level for level, _ in states} <= {OK}, states
    # One after the other, nothing between: no NaN, and few that were lost on the way.
    first = next(k for k, x in enumerate(seen) if abs(x - thin) < 1e-9)
    assert seen[:first] == pytest.approx([thick] * first)
    assert seen[first:] == pytest.approx([thin] * (len(seen) - first))
    assert sent > 50 and len(seen) > 0.8 * sent
    graph.until(lambda: "loading" not in graph.values)

    seen, states, loading, sent = describe(
        cell, BAD, lambda: "description_refused" in graph.values
    )
    assert "l9" in graph.values["description_refused"]
    assert loading and len(seen) > 0.8 * sent
    assert {level for level, _ in states} <= {OK, WARN}, states
    assert seen == pytest.approx([thin] * len(seen))
    graph.until_level(WARN)
    assert "rejected" in graph.state.message and graph.values["action"] == "none"
    graph.until(lambda: graph.heard["safe"][-1].data is True)
    graph.spin(0.3)
    assert graph.state.level == WARN  # it stays so

    seen, states, _, sent = describe(
        cell, THICK, lambda: graph.state.level == OK and not is_thin()
    )
    assert "description_refused" not in graph.values
    assert {level for level, _ in states} <= {OK, WARN}, states
    assert len(seen) > 0.8 * sent
    assert seen[-1] == pytest.approx(thick)


def test_the_one_in_use_said_again_takes_a_refusal_back(cell):
    graph = cell[0]
    describe(cell, "", lambda: "description_refused" in graph.values)
    describe(cell, THICK, lambda: graph.state.level == OK)
    assert "description_refused" not in graph.values and "loading" not in graph.values


def test_other_joints_are_waited_for_and_then_known(cell):
    graph, driver, _, _ = cell
    describe(cell, OTHER, lambda: graph.state.level == STALE or "no joint" in graph.state.message)
    graph.until(lambda: "no joint of this robot" in graph.state.message)
    graph.until(lambda: graph.heard["safe"][-1].data is False)
    driver.names = ("k1", "k2", "k3")
    graph.until_level(OK)
    driver.names = JOINTS  # joint states of another robot than that of the description
    graph.until(lambda: "no joint of this robot" in graph.state.message)
    graph.until(lambda: graph.heard["safe"][-1].data is False)
    describe(cell, THICK, lambda: graph.state.level == OK)


def children(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_a_signal_while_a_robot_is_loaded_leaves_nothing_behind(cell, tmp_path):
    graph, _, descriptions, process = cell
    fifo = tmp_path / "robot.stl"
    os.mkfifo(fifo)
    endless = THICK.replace('<sphere radius="0.1"/>', f'<mesh filename="file://{fifo}"/>', 1)
    descriptions.publish(String(data=endless))
    graph.until(lambda: "loading" in graph.values)
    (child,) = children(process.pid)
    code, output = graph.stop(process, signal.SIGTERM)
    assert code == 0 and "Traceback" not in output, output
    end = time.monotonic() + 10.0
    while Path(f"/proc/{child}").exists():
        assert time.monotonic() < end, f"process {child} is still there"
        time.sleep(0.02)

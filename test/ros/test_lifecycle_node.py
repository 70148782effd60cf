# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Robots that come and go: the managed node, and new descriptions while a node runs."""

import math
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from support.processes import is_alive
from support.robots.toys import chain
from support.robots.two_slides import JOINTS, URDF, apart
from support.ros.obstacle_messages import marker
from support.ros.ros_graph import LATCHED, OK, STALE, WARN, Graph
from visualization_msgs.msg import MarkerArray

from collision_monitor import CollisionModel

# -- the managed variant: configure loads, activate watches, and nothing stays believed after it --


NAMES = (*JOINTS, "mast_joint")
ME = "/collision_monitor"


def change(graph, name):
    """Whether a transition succeeded."""
    number = getattr(Transition, f"TRANSITION_{name.upper()}")
    return graph.call(ChangeState, f"{ME}/change_state", transition=Transition(id=number)).success


def far_away(number):
    """An obstacle that nothing comes near to."""
    return marker(number, at=(0.0, 0.0, 50.0), frame="base")


def label(graph):
    return graph.call(GetState, f"{ME}/get_state").current_state.label


def send(graph):
    graph.send(NAMES, (*apart(0.5), 0.3))


def test_it_watches_while_it_is_active_and_only_then(graph, written):
    path = written("robot.urdf", "<robot")
    process = graph.start("-p", f"robot_description:={path}", node="collision_monitor_lifecycle")
    assert not change(graph, "configure")
    assert label(graph) == "unconfigured"
    path.write_text(URDF)
    assert change(graph, "configure")
    assert label(graph) == "inactive"
    graph.until(lambda: graph.heard["pair_names"], sending=lambda: send(graph))
    assert not graph.heard["state"] and not graph.heard["min_distance"]
    obstacles = graph.node.create_publisher(MarkerArray, f"{ME}/scene", 10)
    graph.until(obstacles.get_subscription_count)
    for number in range(2):
        obstacles.publish(MarkerArray(markers=[far_away(number)]))  # while nobody watches, too
        graph.spin(0.2)
        assert change(graph, "activate")
        graph.until_distance(lambda: send(graph), 10.0)
        graph.until(
            lambda n=number: graph.values.get("scene_objects") == str(n + 1),
            sending=lambda: send(graph),
        )
        graph.until_level(OK, lambda: send(graph))
        graph.until_safe(True, lambda: send(graph))
        assert change(graph, "deactivate")
        graph.until(lambda: graph.state.level == STALE and "inactive" in graph.state.message)
        graph.until_safe(False)
        graph.until(lambda: math.isnan(graph.heard["min_distance"][-1].data))
        graph.spin(0.1)  # all of it is said by now, and nothing more is
        heard = len(graph.heard["min_distance"]), len(graph.heard["state"])
        for _ in range(30):
            send(graph)
            graph.spin(0.02)
        assert (len(graph.heard["min_distance"]), len(graph.heard["state"])) == heard
    assert change(graph, "cleanup")
    assert label(graph) == "unconfigured"
    assert change(graph, "configure")
    assert change(graph, "activate")
    graph.until_distance(lambda: send(graph), 10.0)
    # What stands around the robot is still known.
    graph.until(
        lambda: graph.state.level == OK and graph.values.get("scene_objects") == "2",
        sending=lambda: send(graph),
    )
    assert change(graph, "active_shutdown")
    assert label(graph) == "finalized"
    code, output = graph.stop(process)
    assert code == 0, output
    assert "Traceback" not in output and "not XML" in output


# A new description while the node runs: loaded beside the old robot, which goes on being watched.
#
# A robot that never finishes loading is one whose scene is a pipe that nobody writes to.


JOINTS = ("j1", "j2", "j3")
CLEAR = [-0.5, -0.5, 0.3]
PERIOD = 0.005


def distance(urdf):
    return CollisionModel.from_urdf(urdf).distance(CLEAR, by_design=False).distance


THICK, THIN = chain(4), chain(4).replace('radius="0.1"', 'radius="0.05"')
BAD = THICK.replace('<child link="l3"/>', '<child link="l9"/>')


class Driver:
    """Joint states at 200 Hz by a thread of its own, whoever else is busy."""

    def __init__(self, graph):
        self._publisher = graph.node.create_publisher(JointState, "joint_states", 10)
        self._clock = graph.node.get_clock()
        self.sent = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        due = time.monotonic()
        while not self._ended.is_set():
            message = JointState(name=list(JOINTS), position=CLEAR)
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
    # Generous, for a busy machine: the number of distances tells that nothing waits for a load.
    process = graph.start("-p", "joint_state_timeout:=5.0")
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


def test_good_then_bad_then_the_one_in_use_and_distances_never_stop(cell):
    graph = cell[0]
    thick, thin = distance(THICK), distance(THIN)

    def is_thin():
        return abs(graph.heard["min_distance"][-1].data - thin) < 1e-9

    seen, states, loading, sent = describe(cell, THIN, is_thin)
    assert loading and {level for level, _ in states} <= {OK}, states
    # One after the other, nothing between: no NaN, and few joint states were merged.
    first = next(k for k, x in enumerate(seen) if abs(x - thin) < 1e-9)
    assert seen[:first] == pytest.approx([thick] * first)
    assert seen[first:] == pytest.approx([thin] * (len(seen) - first))
    assert sent > 50 and len(seen) > 0.3 * sent
    graph.until(lambda: "loading" not in graph.values)

    seen, states, loading, sent = describe(cell, BAD, lambda: "description_refused" in graph.values)
    assert "l9" in graph.values["description_refused"]
    assert loading and len(seen) > 0.3 * sent
    assert {level for level, _ in states} <= {OK, WARN}, states
    assert seen == pytest.approx([thin] * len(seen))
    graph.until_level(WARN)
    assert "rejected" in graph.state.message and graph.values["action"] == "none"
    graph.until_safe(True)
    graph.spin(0.3)
    assert graph.state.level == WARN  # it stays so

    # The one in use, sent again, takes the refusal back.
    describe(cell, THIN, lambda: graph.state.level == OK)
    assert "description_refused" not in graph.values and "loading" not in graph.values


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
    while is_alive(child):
        assert time.monotonic() < end, f"process {child} is still there"
        time.sleep(0.02)

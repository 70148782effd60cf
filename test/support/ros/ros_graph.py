# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A real ROS graph for tests: a node in a process of its own, and somebody who listens.

Every graph has a ROS domain of its own, and stays on this machine.
"""

import math
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence

import pytest

from support.ros.node_server import NodeProcess, node_server
from support.ros.ros_domains import Domain

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus  # noqa: E402
from rcl_interfaces.srv import SetParametersAtomically  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Bool, Float64, Float64MultiArray, String  # noqa: E402
from visualization_msgs.msg import MarkerArray  # noqa: E402

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Of a state that lasts a moment a slow listener would miss, with a depth of 1.
HEARD = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
TOPICS = {
    "min_distance": (Float64, 100),
    "speed_scale": (Float64, 100),
    "safe": (Bool, HEARD),
    "state": (DiagnosticStatus, HEARD),
    "pair_names": (String, LATCHED),
}
ON_DEMAND = {"distances": (Float64MultiArray, 10), "markers": (MarkerArray, 10)}
# On a machine that is busy with other tests a cycle may take long, which is not their subject.
PATIENT_DEADLINE = 5.0
OK, WARN, ERROR, STALE = b"\x00", b"\x01", b"\x02", b"\x03"


class Graph:
    """A domain with one listener; nodes under test are started into it."""

    def __init__(self, monitor: str = "/collision_monitor") -> None:
        self.monitor = monitor
        self._held = Domain()
        self.domain = self._held.number
        self.environment = self._held.environment
        self.processes: list[NodeProcess | subprocess.Popen] = []
        self.context = rclpy.Context()
        self.context.init(domain_id=self.domain)
        self.node = rclpy.create_node("listener", context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.heard: dict[str, list] = defaultdict(list)
        for name, (kind, qos) in TOPICS.items():
            self.listen(name, kind, qos)
        self.joint_states = {}
        self._clients = {}

    def listen(self, name: str, kind=None, qos=None, topic: str | None = None) -> None:
        """Collect the messages of one topic of the monitor under ``name``."""
        if kind is None:
            kind, qos = ON_DEMAND[name]
        heard = self.heard[name]

        def take_all(message) -> None:
            # One message for each turn of the executor is too slow on a busy machine.
            heard.append(message)
            while (taken := subscription.handle.take_message(kind, False)) is not None:
                heard.append(taken[0])

        subscription = self.node.create_subscription(
            kind, topic or f"{self.monitor}/{name}", take_all, qos
        )

    def start(
        self, *arguments: str, environment: dict | None = None, node: str = "collision_monitor"
    ) -> NodeProcess | subprocess.Popen:
        """Start a node of the package with these ROS arguments."""
        if node.startswith("collision_monitor"):
            arguments = ("-p", f"cycle_deadline:={PATIENT_DEADLINE}", *arguments)
        if arguments:
            arguments = ("--ros-args", *arguments)
        if environment is not None:  # variables may count while modules are imported
            return self.run(["-m", f"collision_monitor.nodes.{node}", *arguments], environment)
        self.processes.append(node_server().start(node, arguments, self.environment))
        return self.processes[-1]

    def run(self, words: Sequence, environment: Mapping[str, str] | None = None):
        """Start ``python`` with these words, in this graph."""
        paths = os.pathsep.join(filter(None, sys.path))
        process = subprocess.Popen(
            [sys.executable, *words],
            env={**self.environment, "PYTHONPATH": paths, **(environment or {})},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        self.processes.append(process)
        return process

    def publisher(self, topic: str = "joint_states"):
        """A publisher of joint states, as a driver has."""
        if topic not in self.joint_states:
            self.joint_states[topic] = self.node.create_publisher(JointState, topic, 10)
        return self.joint_states[topic]

    def send(
        self, names, positions, stamp: bool | float = True, topic="joint_states", velocities=()
    ) -> None:
        """Publish one joint state; ``stamp``: now, none, or so many seconds from now."""
        message = JointState(name=list(names), position=[float(x) for x in positions])
        message.velocity = [float(x) for x in velocities]
        if stamp is not False:
            now = self.node.get_clock().now().nanoseconds
            now += 0 if stamp is True else int(stamp * 1e9)
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(now, 10**9)
        self.publisher(topic).publish(message)

    def spin(self, seconds: float) -> None:
        """Listen for a while."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.executor.spin_once(timeout_sec=left)

    def until(self, condition, seconds: float = 60.0, sending=None, period: float = 0.02):
        """Listen (and call ``sending`` every ``period``) until ``condition()`` is true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if sending is not None:
                sending()
            self.spin(period)
            if condition():
                return
        output = self.stop_all()
        last = {name: messages[-1:] for name, messages in self.heard.items()}
        pytest.fail(f"not within {seconds} s; last heard: {last}; nodes said: {output}")

    @property
    def state(self) -> DiagnosticStatus:
        """The last state."""
        return self.heard["state"][-1]

    @property
    def values(self) -> dict[str, str]:
        """Key-values of the last state."""
        return {item.key: item.value for item in self.state.values}

    def until_level(self, level: bytes, sending=None, seconds: float = 60.0) -> None:
        """Listen until the state has this level."""
        self.until(lambda: self.heard["state"] and self.state.level == level, seconds, sending)

    def until_safe(self, value: bool, sending=None, seconds: float = 60.0) -> None:
        """Listen until this is said on ~/safe; it may come after the state, or before it."""
        heard = self.heard["safe"]
        self.until(lambda: heard and heard[-1].data is value, seconds, sending)

    def until_distance(self, sending, seconds: float = 400.0) -> float:
        """Send until a robot is monitored and a distance comes that is not NaN.

        The limit leaves time to compile.
        """
        seen = len(self.heard["min_distance"])

        def is_there() -> bool:
            found = self.heard["min_distance"][seen:]
            return found and not math.isnan(found[-1].data)

        self.until(is_there, seconds, sending)
        return self.heard["min_distance"][-1].data

    def client(self, kind, name: str):
        """A client of a service that is there; the same one each time, discovered by then."""
        if name not in self._clients:
            self._clients[name] = self.node.create_client(kind, name)
            assert self._clients[name].wait_for_service(60.0), name
            self.spin(0.3)  # an answer is lost where the client has not been discovered yet
        return self._clients[name]

    def call(self, kind, name: str, **fields):
        """The answer of a service, which may have to compile kernels first."""
        future = self.client(kind, name).call_async(kind.Request(**fields))
        self.until(future.done, 400.0)
        return future.result()

    def set_parameters(self, node: str = "", sending=None, **values):
        """Set parameters of a node (by default the monitor) at once; the result.

        ``sending`` is called meanwhile, again and again.
        """
        service = f"{node or self.monitor}/set_parameters_atomically"
        parameters = [
            rclpy.parameter.Parameter(name, value=value).to_parameter_msg()
            for name, value in values.items()
        ]
        request = SetParametersAtomically.Request(parameters=parameters)
        client = self.client(SetParametersAtomically, service)
        for _ in range(5):  # an answer is lost where the client has not been discovered yet
            future, end = client.call_async(request), time.monotonic() + 4.0
            while time.monotonic() < end and not future.done():
                if sending is not None:
                    sending()
                self.spin(0.02)
            if future.done():
                return future.result().result
        return pytest.fail(f"{service} did not answer to {values}")

    def stop(self, process, with_signal=signal.SIGINT) -> tuple[int, str]:
        """End a node; its exit code and what it said."""
        if process.poll() is None:
            process.send_signal(with_signal)
        try:
            output, _ = process.communicate(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
        return process.returncode, output

    def stop_all(self) -> list[tuple[int, str]]:
        """End every node."""
        running = [p for p in self.processes if p.stdout and not p.stdout.closed]
        return [self.stop(process) for process in running]

    def close(self) -> None:
        """End everything."""
        self.stop_all()
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.shutdown()
        self._held.release()


DIAGNOSTICS = ("diagnostics", DiagnosticArray, 10, "/diagnostics")

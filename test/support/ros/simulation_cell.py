# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The simulation node on a ROS graph of its own, and whoever listens to it, for tests."""

import pytest

from support.ros.ros_graph import LATCHED, Graph
from support.ros.self_collision_cell import trajectory

pytest.importorskip("mujoco", reason="mujoco is not installed: pip install '.[simulation]'")

from diagnostic_msgs.msg import DiagnosticStatus  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Bool, Float64  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
from trajectory_msgs.msg import JointTrajectory  # noqa: E402

NODE = "/simulation"


class SimulationCell:
    """A simulation in a process of its own; what it says is kept under short names."""

    def __init__(self, *parameters: str, remappings: tuple[str, ...] = ()) -> None:
        self.graph = graph = Graph()
        self.trajectories = graph.node.create_publisher(
            JointTrajectory, f"{NODE}/joint_trajectory", 10
        )
        self.scales = graph.node.create_publisher(Float64, f"{NODE}/speed_scale", 10)
        graph.listen("joint_states", JointState, 1000, "/joint_states")
        graph.listen("clock", Clock, 1000, "/clock")
        graph.listen("sim_state", DiagnosticStatus, LATCHED, f"{NODE}/state")
        graph.listen("contacts", DiagnosticStatus, LATCHED, f"{NODE}/contacts")
        graph.listen("touched", Bool, LATCHED, f"{NODE}/touched")
        self.process = graph.start(
            *(x for p in parameters for x in ("-p", p)),
            *(x for r in remappings for x in ("-r", r)),
            node="simulation",
        )

    def until(self, condition, seconds=60.0, sending=None):
        """Listen until it holds; no process may end meanwhile."""

        def holds():
            for process in self.graph.processes:
                assert process.poll() is None, self.graph.stop(process)
            return condition()

        self.graph.until(holds, seconds, sending)

    def ready(self, seconds=30.0):
        """Wait until joint states come, and trajectories are heard."""
        self.until(
            lambda: self.graph.heard["joint_states"]
            and self.graph.heard["sim_state"]
            and self.trajectories.get_subscription_count()
            and self.graph.heard["touched"],
            seconds,
        )

    @property
    def state(self):
        return self.graph.heard["sim_state"][-1]

    @property
    def values(self):
        return {item.key: item.value for item in self.state.values}

    @property
    def contacts(self):
        """Key-values of the last ~/contacts."""
        return {item.key: item.value for item in self.graph.heard["contacts"][-1].values}

    @property
    def touched(self):
        return self.graph.heard["touched"][-1].data

    @property
    def last(self):
        return self.graph.heard["joint_states"][-1]

    @property
    def position(self):
        return dict(zip(self.last.name, self.last.position, strict=True))

    @property
    def now(self):
        """Seconds on the simulation's clock."""
        return seconds(self.last.header.stamp)

    def send(self, names, rows, times):
        self.trajectories.publish(trajectory(names, rows, times))

    def call(self, service, kind=Trigger):
        return self.graph.call(kind, service)

    def set_parameters(self, node, **values):
        """Set parameters of a node; they must be taken."""
        if not values:
            return
        result = self.graph.set_parameters(node, **values)
        assert result.successful, result.reason

    def close(self):
        """End all; they must have gone on without an error."""
        results = self.graph.stop_all()
        self.graph.close()
        for code, output in results:
            assert code == 0 and "Traceback" not in output, output
        return results


def seconds(stamp):
    return stamp.sec + 1e-9 * stamp.nanosec


def wait(cell, simulated):
    """Let so many seconds of the simulation pass."""
    end = cell.now + simulated
    cell.until(lambda: cell.now >= end, 60.0)

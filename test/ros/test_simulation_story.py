# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Two arms are sent on a collision course three times; MuJoCo says what they touch.

The motion is the published one (config/dual_arm_motion.csv), in 6 s instead of 62; the
simulation goes at three times the speed of the clock on the wall. One simulation, one monitor
and one node self_collision serve all three; `reset` puts the arms back to their start.
"""

import math

import numpy as np
import pytest
from support.paths import ROOT
from support.ros.ros_graph import LATCHED
from support.ros.simulation_cell import SimulationCell, trajectory

from diagnostic_msgs.msg import DiagnosticStatus  # isort: skip
from trajectory_msgs.msg import JointTrajectory  # isort: skip

from collision_monitor import CollisionModel  # isort: skip
from collision_monitor.motion import read_motion  # isort: skip


FILES = {
    "robot_description": ROOT / "urdf/dual_arm.urdf",
    "robot_description_semantic": ROOT / "urdf/dual_arm.srdf",
}
SECONDS = 6.0
FACTOR = 3.0
STOP = 0.02


@pytest.fixture(scope="module")
def motion():
    """(joint names, times, positions)."""
    read = read_motion(ROOT / "config/dual_arm_motion.csv")
    return read.joint_names, read.times * (SECONDS / read.times[-1]), read.positions


@pytest.fixture(scope="module")
def model():
    """The robot, for distances along what was moved; its leaves are those of the monitor."""
    return CollisionModel.from_urdf(ROOT / "urdf/dual_arm.urdf", srdf=ROOT / "urdf/dual_arm.srdf")


class Cell(SimulationCell):
    """The simulation; and a monitor whose speed scale it hears, and self_collision before it."""

    def __init__(self):
        files = [f"{name}:={path}" for name, path in FILES.items()]
        super().__init__(
            *files, f"real_time_factor:={FACTOR}", "joint_state_rate:=50.0",
            remappings=("~/speed_scale:=/collision_monitor/speed_scale",),
        )  # fmt: skip
        files = [x for text in (*files, "use_sim_time:=true") for x in ("-p", text)]
        self.graph.start(*files)
        self.graph.start(
            *files, "-p", "safe_distance:=0.15",
            "-r", "/self_collision/joint_trajectory:=/simulation/joint_trajectory",
            node="self_collision",
        )  # fmt: skip
        self.wanted = self.graph.node.create_publisher(
            JointTrajectory, "/self_collision/desired_trajectory", 10
        )
        self.graph.listen("front", DiagnosticStatus, LATCHED, "/self_collision/state")

    @property
    def front(self):
        """Key-values of the state of self_collision."""
        return {item.key: item.value for item in self.graph.heard["front"][-1].values}

    def ready(self, seconds=180.0):
        """All have loaded, hear each other, and know where the arms are."""
        super().ready(seconds)
        self.until(
            lambda: self.graph.heard["min_distance"]
            and not math.isnan(self.graph.heard["min_distance"][-1].data)
            and self.graph.heard["front"]
            and self.front.get("joint_states") == "fresh"
            and self.wanted.get_subscription_count()
            and self.graph.node.count_publishers("/simulation/joint_trajectory") == 2,
            seconds,
        )

    def begin(self, heed, **distances):
        """Back to the start, with nothing touched and nothing heard."""
        self.set_parameters("/simulation", heed_speed_scale=heed)
        self.set_parameters("/collision_monitor", **distances)
        assert self.call("/simulation/reset").success
        seen = len(self.graph.heard["joint_states"])
        self.until(
            lambda: len(self.graph.heard["joint_states"]) > seen + 5
            and self.values["event"] == "holding"
            and max(map(abs, self.last.position)) < 1e-3
            and not self.touched
        )
        self.graph.heard["joint_states"].clear()

    def moved(self, names):
        """Every configuration that was published since, (n, nq)."""
        messages = self.graph.heard["joint_states"]
        order = [list(messages[0].name).index(name) for name in names]
        return np.array([message.position for message in messages])[:, order]


@pytest.fixture(scope="module")
def cell():
    """All three nodes."""
    cell = Cell()
    cell.ready()
    yield cell
    cell.close()


def between_arms(model, rows):
    """Least distance (n,) of the right arm's links from the left arm's."""
    sides = [{name.split("_")[0] for name in pair} for pair in model.pairs]
    pairs = [p for p, s in zip(model.pairs, sides, strict=True) if s == {"right", "left"}]
    return model.twin(pairs).min_distances(rows)


def test_without_the_monitor_the_arms_touch(cell, motion, model):
    names, times, rows = motion
    cell.begin(heed=False)
    cell.send(names, rows, times)
    cell.until(lambda: cell.touched, 30.0)
    assert "touched left_link_7 right_link_7" in cell.contacts
    assert model.min_distances(cell.moved(model.joint_names)).min() < 0.0  # leaves say it too


def test_with_the_monitor_they_stop_before(cell, motion, model):
    names, times, rows = motion
    cell.begin(heed=True, stop_distance=STOP, warn_distance=0.1)
    cell.send(names, rows, times)
    cell.until(lambda: cell.values["event"] == "moving")
    heard = cell.graph.heard["min_distance"]
    cell.until(
        lambda: cell.values["event"] == "stopped" and heard[-1].data < STOP + 0.005, 30.0
    )
    assert "speed scale is 0" in cell.state.message
    began = cell.now
    cell.until(lambda: cell.now > began + 1.0)
    assert cell.values["event"] == "stopped" and not cell.touched
    distances = model.min_distances(cell.moved(model.joint_names))
    # They stand where the monitor stopped them: near, and apart.
    assert 0.0 < distances.min() <= distances[-1] + 1e-4
    assert distances[-1] < STOP + 0.005
    assert np.abs(np.array(cell.last.velocity)).max() < 1e-3
    assert abs(cell.position["right_joint_4"] - rows[-1][3]) > 0.5  # far from the goal


def test_with_self_collision_in_front_they_reach_the_goal(cell, motion, model):
    names, times, rows = motion
    # At the goal each hand is 0.015 m from the shoulder of its own arm, as the paper has it.
    cell.begin(heed=True, stop_distance=0.005, warn_distance=0.02)
    # Adjusting takes as long as it takes: a node that stalls a third of a second then hears a
    # second of the simulation at once, and takes joint states for ones of another clock.
    cell.set_parameters("/simulation", real_time_factor=1.0)
    request = int(cell.front["request"])
    cell.wanted.publish(trajectory(names, rows, times))
    cell.until(
        lambda: int(cell.front["request"]) > request
        and cell.front["event"] in ("forwarded", "refused"), 60.0,
    )  # fmt: skip
    assert cell.front["event"] == "forwarded", cell.graph.heard["front"][-1].message
    cell.set_parameters("/simulation", real_time_factor=FACTOR)
    goal = dict(zip(names, rows[-1], strict=True))
    cell.until(lambda: max(abs(cell.position[name] - goal[name]) for name in names) < 2e-3, 60.0)
    assert not cell.touched
    assert between_arms(model, cell.moved(model.joint_names)).min() > 0.1

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The node ``simulation``: executes joint trajectories; publishes joint states and contacts."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from rclpy.timer import Timer
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from collision_monitor.common.limits import SIX_DIGITS
from collision_monitor.common.safe_files import ReceivedText
from collision_monitor.common.settings import values_of
from collision_monitor.common.text import named_numbers, shortened
from collision_monitor.errors import SimulationError, TrajectoryError
from collision_monitor.monitoring.monitor import Level
from collision_monitor.motion.trajectory import OTHER_CLOCK
from collision_monitor.nodes.common.executor import run_program, steady_timer
from collision_monitor.nodes.common.messages import LATCHED, STATE, VALUES, diagnostic, time_message
from collision_monitor.nodes.common.node_state import Report, ReportState
from collision_monitor.nodes.node_core import RobotNode, SingleRobotCore
from collision_monitor.nodes.parameters.simulation_parameters import PARAMETERS, check
from collision_monitor.nodes.simulation_action import TrajectoryAction, command_of
from collision_monitor.nodes.trajectories.follow_joint_trajectory import (
    follow_joint_trajectory_type,
)
from collision_monitor.simulation.mujoco_model import SimulationSettings
from collision_monitor.simulation.simulation import Contact, Pair, Simulation, Touch
from collision_monitor.simulation.trajectory_execution import Run, SpeedScale

_LEAST_PERIOD = 0.001  # seconds of wall time between two simulation steps
_FEEDBACK_SECONDS = 0.1  # of the simulation
_MOST_DELAY = 0.2  # s of wall time: larger delays are not made up
_PACE_SPAN = 0.5  # minimum s of wall time over which the pace is measured


class Pacer:
    """Advances simulated time by a factor of a steady clock; lost time is not made up.

    Attributes:
        factor: simulated seconds per second of wall time.
        achieved: the factor that was measured last.
    """

    def __init__(self, factor: float) -> None:
        """Begin with the first call of `due`."""
        self.factor = factor
        self._anchor: tuple[float, float] | None = None
        self.achieved = 0.0

    def due(self, simulated: float, wall: float) -> float:
        """Simulated time to reach at ``wall`` s of a steady clock."""
        if self._anchor is None:
            self._anchor = self._mark = simulated, wall
        target = self._anchor[0] + (wall - self._anchor[1]) * self.factor
        if target - simulated > _MOST_DELAY * self.factor:
            self._anchor = simulated, wall
            target = simulated
        if wall - self._mark[1] >= _PACE_SPAN:
            self.achieved = (simulated - self._mark[0]) / (wall - self._mark[1])
            self._mark = simulated, wall
        return target


def contacts_status(
    contacts: Mapping[Pair, Contact], touches: Mapping[Pair, Touch], name: str, robot: str
) -> DiagnosticStatus:
    """Current contacts, and those since the start, by pair; ERROR during a contact.

    Keys are ``a b`` for a current contact and ``touched a b`` for one since the start.
    """
    values = {
        f"{a} {b}": f"depth {contact.depth:.6f} force {contact.force:.1f}"
        for (a, b), contact in contacts.items()
    }
    values |= {
        f"touched {a} {b}": f"first {touch.first:.3f} last {touch.last:.3f} depth "
        f"{touch.depth:.6f} force {touch.force:.1f}"
        for (a, b), touch in touches.items()
    }
    if contacts:
        deepest = max(contacts, key=lambda pair: contacts[pair].depth)
        text = f"{len(contacts)} pairs touch, deepest {deepest[0]} and {deepest[1]}"
        return diagnostic(Level.ERROR, name, text, robot, values)
    text = "no contact now" + (f"; {len(touches)} pairs earlier" if touches else " or earlier")
    return diagnostic(Level.OK, name, text, robot, values)


class SimulationCore(SingleRobotCore):
    """A simulated robot that follows trajectories and reports contacts.

    Faults: the "simulation" has ended, and the last "request" was refused.
    """

    def __init__(self, node: Node) -> None:
        """Declare parameters, load a robot given by parameter, and start.

        Raises:
            CollisionMonitorError: inconsistent parameters, MuJoCo is missing, or a robot given by
                parameter cannot be simulated.
        """
        super().__init__(node, PARAMETERS, check)
        self._simulation: Simulation | None = None
        self._request = 0
        self._touching: tuple | None = None
        self._touched: bool | None = None
        self._pacer = Pacer(self._values["real_time_factor"])
        self._scale = SpeedScale(
            self._values["heed_speed_scale"], self._values["speed_scale_timeout"]
        )
        self._stepper: Timer | None = None
        self._next_feedback = -math.inf
        self.state = ReportState(
            node, self._values, self._faults, self._report, self._robot_and_values
        )
        self._make_publishers()
        self._action = self._make_action()
        self._start()
        node.create_subscription(JointTrajectory, "~/joint_trajectory", self._on_trajectory, 10)
        node.create_subscription(Float64, "~/speed_scale", self._on_speed_scale, 10)
        node.create_service(Trigger, "~/reset", self._on_reset)

    def end(self) -> None:
        """Publish that the robot is no longer simulated."""
        text = "node is shutting down; the robot is no longer simulated"
        self.state.end(Report(Level.STALE, "ended", text, serial=self._request))

    # -- set-up --

    def _make_publishers(self) -> None:
        self._time_publisher = self._node.create_publisher(ClockMessage, "/clock", VALUES)
        self._joint_states = self._node.create_publisher(JointState, "joint_states", VALUES)
        self._contacts = self._node.create_publisher(DiagnosticStatus, "~/contacts", STATE)
        self._touched_ever = self._node.create_publisher(Bool, "~/touched", LATCHED)

    def _make_action(self) -> TrajectoryAction | None:
        action_type = follow_joint_trajectory_type()
        if action_type is None:
            self._node.get_logger().info(
                "control_msgs is not installed: there is no FollowJointTrajectory action; use "
                "the topic"
            )
            return None
        return TrajectoryAction(
            self._node,
            action_type,
            self._follow,
            lambda run: self._simulation.execution.drop(run),
            lambda: self._values["goal_tolerance"],
        )

    def _load(self, description: str | ReceivedText) -> frozenset[str]:
        """See `SingleRobotCore`; trajectories of the previous robot end."""
        start, v = time.monotonic(), self._values
        # Time steps are shortened until a whole number of them lies between two joint states.
        period = 1.0 / v["joint_state_rate"]
        steps = math.ceil(period / v["timestep"] - SIX_DIGITS)
        settings = values_of(SimulationSettings, v) | {"timestep": period / steps}
        simulation = Simulation.from_urdf(
            description,
            **self._sources(),
            start=named_numbers(v["start_positions"], "start_positions"),
            settings=SimulationSettings(**settings),
        )
        if self._simulation is not None:
            self._simulation.execution.hold(self._simulation.q)
            simulation.continue_from(self._simulation.time)
            if self._action is not None:
                self._action.watch(self._simulation)
        self._simulation = simulation
        self._faults.clear("simulation", "request")
        self._scale = SpeedScale(v["heed_speed_scale"], v["speed_scale_timeout"])
        self._pacer = Pacer(v["real_time_factor"])
        self._message = JointState(name=list(simulation.joint_names))
        self._steps = steps
        self._restart_timer()
        self._node.get_logger().info(
            f"simulating '{simulation.robot.name}': {len(simulation.joint_names)} joints; loaded "
            f"in {time.monotonic() - start:.1f} s"
        )
        if simulation.contacts:
            names = shortened(" - ".join(pair) for pair in simulation.contacts)
            self._node.get_logger().warning(f"in contact at the start positions: {names}")
        self.state.refresh()
        return simulation.mesh_files

    def _restart_timer(self) -> None:
        if self._stepper is not None:
            self._node.destroy_timer(self._stepper)
        period = self._steps * self._simulation.timestep / self._pacer.factor
        self._stepper = steady_timer(self._node, max(period, _LEAST_PERIOD), self._advance)

    # -- simulation --

    def _advance(self) -> None:
        """Simulate up to the current time, and publish joint states."""
        simulation = self._simulation
        if simulation is None or "simulation" in self._faults.raised:
            return
        due = self._pacer.due(simulation.time, time.monotonic())
        span = self._steps * simulation.timestep
        # Messages are received between two calls, so do not simulate for long.
        most = 2 * max(1, math.ceil(_LEAST_PERIOD * self._pacer.factor / span))
        try:
            while most > 0 and simulation.time + span <= due + 0.5 * simulation.timestep:
                simulation.advance(self._steps, self._scale.at(simulation.time))
                self._publish_joint_state()
                most -= 1
        except SimulationError as error:
            text = f"the simulation {error}"
            self._faults.put("simulation", Level.ERROR, "fault", text)
            self.state.refresh()
            return
        if self._contacts_key() != self._touching:
            self._publish_contacts()
        if self._action is not None:
            self._action.watch(simulation)
            if simulation.time >= self._next_feedback:
                self._next_feedback = simulation.time + _FEEDBACK_SECONDS
                self._action.feed_back(simulation)

    def _publish_joint_state(self) -> None:
        simulation, message = self._simulation, self._message
        stamp = time_message(simulation.time)
        self._time_publisher.publish(ClockMessage(clock=stamp))
        message.header.stamp = stamp
        message.position = simulation.q.tolist()
        message.velocity = simulation.rates.tolist()
        message.effort = simulation.efforts.tolist()
        self._joint_states.publish(message)

    # -- requests --

    def _follow(self, message: JointTrajectory) -> Run:
        """Start a trajectory; a TrajectoryError is published and raised."""
        self._request += 1
        try:
            if self._simulation is None:
                raise TrajectoryError("was received before a robot was loaded")
            simulation = self._simulation
            command = command_of(message, simulation.joint_names)
            if command.start is not None and command.start > simulation.time + OTHER_CLOCK:
                raise TrajectoryError(
                    f"starts at {command.start:.0f} s, but the simulation time is "
                    f"{simulation.time:.0f} s: the sender must set use_sim_time or leave the "
                    "stamp empty"
                )
            run = simulation.command(command)
        except TrajectoryError as error:
            self._refuse(f"refused: the trajectory {error}")
            raise
        self._faults.clear("request")
        self.state.refresh()
        return run

    def _on_trajectory(self, message: JointTrajectory) -> None:
        if not message.points and self._simulation is not None:  # as in the controller: stop
            self._request += 1
            self._simulation.execution.hold(self._simulation.target)
            self._faults.clear("request")
            self.state.refresh()
            return
        try:
            self._follow(message)
        except TrajectoryError:
            pass  # published by _follow

    def _on_speed_scale(self, message: Float64) -> None:
        if self._simulation is not None:
            self._scale.update(message.data, self._simulation.time)

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self._simulation is None:
            response.message = "no robot is loaded"
            return response
        self._simulation.reset()
        self._faults.clear("simulation", "request")
        self.state.refresh()
        self._publish_contacts()
        response.success, response.message = True, "the robot is back at its start positions"
        return response

    def _refuse_description(self, reason: str) -> None:
        self._request += 1
        self._refuse(reason)

    def _refuse(self, reason: str) -> None:
        self._faults.put("request", Level.ERROR, "refused", reason)
        self.state.refresh()

    def _use_values(self, changed: Mapping[str, Any]) -> None:
        self._scale.enabled = self._values["heed_speed_scale"]
        self._scale.timeout = self._values["speed_scale_timeout"]
        if "real_time_factor" in changed:
            self._pacer = Pacer(changed["real_time_factor"])
            if self._simulation is not None:
                self._restart_timer()

    # -- state and contacts --

    def _report(self) -> Report:
        return Report(*self._condition(), serial=self._request)

    def _condition(self) -> tuple[Level, str, str]:
        """Level, event and message."""
        simulation = self._simulation
        if fault := self._faults.first(("simulation", "request"), time.monotonic()):
            return fault.level, fault.cause, fault.text
        if simulation is None:
            return Level.STALE, "waiting", "waiting for a robot description"
        moving = simulation.execution.moving
        if reason := self._scale.reason(simulation.time):
            what = "stopped during a trajectory" if moving else "holding, motion is not allowed"
            return Level.WARN, "stopped", f"{what}: {reason}"
        if moving:
            return Level.OK, "moving", "following a trajectory"
        return Level.OK, "holding", "holding the last commanded position"

    def _robot_and_values(self, report: Report) -> tuple[str, dict[str, str]]:
        simulation, values = self._simulation, {"request": str(report.serial)}
        if simulation is not None:
            values["time"] = f"{simulation.time:.3f}"
            values["speed_scale"] = f"{self._scale.at(simulation.time):.4f}"
        values["real_time_factor"] = f"{self._pacer.achieved:.3f}"
        values["wanted_real_time_factor"] = f"{self._pacer.factor:g}"
        return "" if simulation is None else simulation.robot.name, values

    def _watch(self) -> None:
        """Publish the state and contacts at their rate, and changes immediately."""
        self._robots.watch(time.monotonic())
        if self.state.watch(time.monotonic()):
            self._publish_contacts()

    def _publish_contacts(self) -> None:
        simulation = self._simulation
        if simulation is None:
            return
        touches = simulation.touches
        names = self._node.get_name(), simulation.robot.name
        message = contacts_status(simulation.contacts, touches, *names)
        self._contacts.publish(message)
        touched = bool(touches)
        if touched != self._touched:
            self._touched = touched
            self._touched_ever.publish(Bool(data=touched))
            if touched:
                self._node.get_logger().error(f"touched: {message.message}")
        self._touching = self._contacts_key()

    def _contacts_key(self) -> tuple:
        """Contacts are published when this changes: current pairs, number of pairs so far."""
        return tuple(self._simulation.contacts), len(self._simulation.touches)


class SimulationNode(RobotNode):
    """A simulated robot; see `SimulationCore`."""

    def __init__(self, **options: Any) -> None:
        """As of `SimulationCore`."""
        super().__init__("simulation", SimulationCore, **options)


def main(args: list[str] | None = None) -> None:
    """Run the node; it prints an error and exits with code 1 if parameters are invalid."""
    run_program(SimulationNode, args, "simulation")


if __name__ == "__main__":
    main()

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Services of the collision_monitor node, and the driver service that it calls on a stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

from collision_monitor.monitoring.monitor import Monitor
from collision_monitor.monitoring.speed_policy.stops import StopCall, StopLatch
from collision_monitor.nodes.trajectories.trajectory_messages import seconds_of

_TYPES = {"std_srvs/srv/Trigger": Trigger, "std_srvs/srv/SetBool": SetBool}
_LOOK_SECONDS = 1.0


class StopService:
    """A client of a Trigger or SetBool service, whichever the graph has under that name."""

    def __init__(self, node: Node) -> None:
        """No service yet; see `set`."""
        self._node = node
        self.call = StopCall()
        self._name, self._data = "", False
        self._client: Any = None
        self._kind = ""
        self._looked = -_LOOK_SECONDS
        self._said = "none"

    def set(self, name: str, data: bool, attempts: int, timeout: float) -> None:
        """Use this service, or none for an empty name; in force for the next stop."""
        if name != self._name:
            self.close()
            self.call = StopCall()
        self._name, self._data = name, data
        self.call.retries, self.call.timeout = attempts - 1, timeout

    def close(self) -> None:
        """Forget the client."""
        if self._client is not None:
            self._node.destroy_client(self._client)
        self._client, self._kind, self._looked = None, "", -_LOOK_SECONDS

    def update(self, stopping: bool) -> bool:
        """Call the service where it is time to; whether there is something new to say."""
        if not self._name:
            return False
        now = time.monotonic()
        # Before it is needed: a client that has just been made knows of no server yet.
        if self._client is None and now - self._looked >= _LOOK_SECONDS:
            self._look(now)
        if self.call.update(stopping, now):
            self._send(now)
        return self._tell()

    def _look(self, now: float) -> None:
        self._looked = now
        name = self._node.resolve_service_name(self._name)
        found = dict(self._node.get_service_names_and_types()).get(name, [])
        self._kind = next((kind for kind in found if kind in _TYPES), "")
        if self._kind:
            self._client = self._node.create_client(_TYPES[self._kind], self._name)
        elif found:
            self._kind = " ".join(found)

    def _send(self, now: float) -> None:
        attempt = self.call.attempts
        if self._client is None:
            self._look(now)
        if self._client is None:
            why = f"it is a {self._kind}, not std_srvs Trigger or SetBool" if self._kind else (
                "there is no such service"
            )  # fmt: skip
            self.call.answered(attempt, False, why, now)
            return
        if not self._client.service_is_ready():
            self.call.answered(attempt, False, "its server is not available", now)
            return
        request = _TYPES[self._kind].Request()
        if self._kind == "std_srvs/srv/SetBool":
            request.data = self._data
        call, stop = self.call, self.call.stops
        self._client.call_async(request).add_done_callback(
            lambda future: self._answered(call, stop, attempt, future)
        )

    def _answered(self, call: StopCall, stop: int, attempt: int, future: Any) -> None:
        if stop != call.stops:
            return  # what came of an earlier stop says nothing about this one
        if future.cancelled() or future.exception() is not None:
            success, reason = False, f"{future.exception() or 'cancelled'}"
        else:
            answer = future.result()
            success, reason = answer.success, answer.message or "refused without a message"
        call.answered(attempt, success, reason, time.monotonic())

    def _tell(self) -> bool:
        if self.call.outcome == self._said:
            return False
        self._said = self.call.outcome
        log = self._node.get_logger()
        if self._said == "failed":
            log.error(f"stop_service {self._name}: {self.call.text}")
        elif self._said == "done":
            log.info(f"stop_service {self._name}: called, attempt {self.call.attempts}")
        return True


class MonitorServices:
    """``~/enable``, ``~/reset``, ``~/acknowledge``, and the topic ``~/command``.

    Attributes:
        enabled: whether the behaviour is.
        latch: of all robots that this node monitors, one after another.
    """

    def __init__(
        self, node: Node, monitor: Callable[[], Monitor | None], changed: Callable[[], None]
    ) -> None:
        """``monitor`` as it is now; ``changed`` is called when the state may be another."""
        self._node, self._monitor, self._changed = node, monitor, changed
        self.enabled, self.latch = True, StopLatch()
        self._services = (
            node.create_service(SetBool, "~/enable", self._enable),
            *(
                node.create_service(Trigger, f"~/{name}", partial(self._ask_latch, name))
                for name in ("reset", "acknowledge")
            ),
        )
        self._command = node.create_subscription(
            JointTrajectory, "~/command", self._on_command, 10
        )

    def destroy(self) -> None:
        """End everything."""
        for service in self._services:
            self._node.destroy_service(service)
        self._node.destroy_subscription(self._command)

    def attend(self, monitor: Monitor) -> None:
        """From now on it is this monitor that is enabled and held."""
        monitor.behaviour.enabled = self.enabled
        monitor.behaviour.latch = self.latch

    def _enable(self, request: SetBool.Request, answer: SetBool.Response) -> Any:
        self.enabled = request.data
        if (monitor := self._monitor()) is not None:
            monitor.behaviour.enabled = self.enabled
        answer.success = True
        disabled = "disabled: the robot is neither slowed nor stopped"
        answer.message = "enabled" if self.enabled else disabled
        log = self._node.get_logger()
        if self.enabled:
            log.info(answer.message)
        else:
            log.warning(answer.message)
        self._changed()
        return answer

    def _ask_latch(
        self, name: str, request: Trigger.Request, answer: Trigger.Response
    ) -> Trigger.Response:
        answer.success, answer.message = getattr(self.latch, name)()
        self._node.get_logger().info(f"~/{name}: {answer.message}")
        self._changed()
        return answer

    def _on_command(self, message: JointTrajectory) -> None:
        """Take the way to the first point that is not where the robot is."""
        monitor = self._monitor()
        if monitor is None or monitor.buffer.missing():
            return
        present = dict(
            zip(monitor.buffer.joint_names, monitor.buffer.q.tolist(), strict=True)
        )
        names = [name for name in message.joint_names if name in present]
        columns = [k for k, name in enumerate(message.joint_names) if name in present]
        for point in message.points:
            velocities = _velocities(point, columns, [present[name] for name in names])
            if any(velocities):
                monitor.behaviour.command.update(names, velocities, time.monotonic())
                return
        monitor.behaviour.command.update([], [], time.monotonic())


def _velocities(point: Any, columns: list[int], present: list[float]) -> list[float]:
    """Of a point of a trajectory, rad/s or m/s; what stands in it, or the way to it."""
    many = max(columns, default=-1)
    if len(point.velocities) > many and any(point.velocities):
        return [point.velocities[k] for k in columns]
    if len(point.positions) > many:
        seconds = max(seconds_of(point.time_from_start), 0.01)
        return [
            (point.positions[k] - q) / seconds for k, q in zip(columns, present, strict=True)
        ]
    return []

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Calls of the driver's stop service, and the services of the collision_monitor node."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

from collision_monitor.errors import TrajectoryError
from collision_monitor.monitoring.monitor import Monitor
from collision_monitor.monitoring.speed_policy.decision import StopLatch
from collision_monitor.nodes.common.messages import read_beginning, seconds_of
from collision_monitor.robot.angles import apart

# -- calls of the stop service --

_TYPES = {"std_srvs/srv/Trigger": Trigger, "std_srvs/srv/SetBool": SetBool}
_SEARCH_SECONDS = 1.0


class StopCall:
    """When to call a driver's stop service: once per stop, and again if a call fails.

    The caller makes the calls.

    Attributes:
        retries: number of further calls after a failed one.
        timeout: seconds to wait for an answer.
        pause: seconds between a failed call and the next.
        outcome: ``none``, ``calling``, ``done`` or ``failed``.
        reason: why the last call failed; empty if it succeeded.
        attempts: number of calls for the last stop.
        stops: number of stops so far.
    """

    def __init__(self, retries: int = 3, timeout: float = 0.5, pause: float = 0.1) -> None:
        """Start without a stop."""
        self.retries, self.timeout, self.pause = retries, timeout, pause
        self.outcome, self.reason, self.attempts, self.stops = "none", "", 0, 0
        self._stopping = False
        self._sent, self._next = -math.inf, math.inf

    def update(self, stopping: bool, now: float) -> bool:
        """Whether to call the service now; ``stopping``: whether the robot has to stop.

        Use it on every change and several times a second, and report answers with `answered`.
        """
        if stopping and not self._stopping:
            self.outcome, self.attempts, self._next = "calling", 0, now
            self.stops += 1
        self._stopping = stopping
        if self.outcome != "calling":
            return False
        if self._next == math.inf and now - self._sent >= self.timeout:
            self.answered(self.attempts, False, f"no answer within {self.timeout:g} s", now)
        if now < self._next or self.outcome != "calling":
            return False
        self.attempts += 1
        self._sent, self._next = now, math.inf
        return True

    def answered(self, attempt: int, success: bool, reason: str, now: float) -> None:
        """Report the answer to call number ``attempt``; ignored if that has already timed out."""
        if self.outcome != "calling" or attempt != self.attempts or self._next < math.inf:
            if success and attempt == self.attempts and self.outcome == "failed":
                self.outcome, self.reason = "done", ""
            return
        if success:
            self.outcome, self.reason = "done", ""
            return
        self.reason = reason
        if self.attempts > self.retries:
            self.outcome = "failed"
        else:
            self._next = now + self.pause

    @property
    def text(self) -> str:
        """The outcome as a message."""
        if self.outcome == "failed":
            return f"FAILED after {self.attempts} attempts: {self.reason}"
        if self.outcome == "calling" and self.reason and self.attempts:
            return f"calling, attempt {self.attempts}: {self.reason}"
        return self.outcome


class StopService:
    """A client of a Trigger or SetBool service, depending on the type in the graph."""

    def __init__(self, node: Node) -> None:
        """Start without a service; see `use_values`."""
        self._node = node
        self.call = StopCall()
        self._name, self._data = "", False
        self._client: Any = None
        self._kind = ""
        self._searched = -_SEARCH_SECONDS
        self._logged = "none"

    def use_values(self, values: Mapping[str, Any]) -> None:
        """Use the service of these parameters from the next stop on."""
        name = values["stop_service"]
        if name != self._name:
            self.close()
            self.call = StopCall()
        self._name, self._data = name, values["stop_service_data"]
        self.call.retries = values["stop_service_attempts"] - 1
        self.call.timeout = values["stop_service_timeout"]

    def close(self) -> None:
        """Destroy the client."""
        if self._client is not None:
            self._node.destroy_client(self._client)
        self._client, self._kind, self._searched = None, "", -_SEARCH_SECONDS

    def update(self, stopping: bool) -> bool:
        """Call the service if it is due; returns whether its outcome has changed."""
        if not self._name:
            return False
        now = time.monotonic()
        # Before the first stop: a new client needs time to discover its server. A server that has
        # gone may come back with the other type.
        if now - self._searched >= _SEARCH_SECONDS and not self._is_ready():
            self._find_server(now)
        if self.call.update(stopping, now):
            self._send(now)
        return self._log_outcome()

    def _is_ready(self) -> bool:
        return self._client is not None and self._client.service_is_ready()

    def _find_server(self, now: float) -> None:
        """Make a client for the service as it is in the graph now."""
        name = self._node.resolve_service_name(self._name)
        types = dict(self._node.get_service_names_and_types()).get(name, [])
        kinds = [kind for kind in types if kind in _TYPES]
        # If the graph has both types, that of the client, which is not ready, is the old one.
        kind = min(kinds, key=lambda kind: kind == self._kind, default="")
        if self._client is None or (kind and kind != self._kind):
            self.close()
            self._kind = kind or " ".join(types)
            if kind:
                self._client = self._node.create_client(_TYPES[kind], self._name)
        self._searched = now

    def _send(self, now: float) -> None:
        attempt = self.call.attempts
        if not self._is_ready():
            self._find_server(now)
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
            return  # the answer to an earlier stop
        if future.cancelled() or future.exception() is not None:
            success, reason = False, f"{future.exception() or 'cancelled'}"
        else:
            answer = future.result()
            success, reason = answer.success, answer.message or "refused without a message"
        call.answered(attempt, success, reason, time.monotonic())

    def _log_outcome(self) -> bool:
        if self.call.outcome == self._logged:
            return False
        self._logged = self.call.outcome
        log = self._node.get_logger()
        if self._logged == "failed":
            log.error(f"stop_service {self._name}: {self.call.text}")
        elif self._logged == "done":
            log.info(f"stop_service {self._name}: called, attempt {self.call.attempts}")
        return True


# -- services of the node, and commands --

# Of a command: where it leads shows in its first points, and joint states wait meanwhile.
_COMMAND_POINTS = 100
# Rad or m from the position of the robot: planners allow as much between it and the start of a
# plan, so the way to a point that is nearer may be noise.
_NEAR = 0.01


class MonitorServices:
    """``~/enable``, ``~/reset``, ``~/acknowledge``, and the topic ``~/command``.

    Attributes:
        enabled: whether the speed policy is enabled.
        latch: shared by all robots during the lifetime of the node.
    """

    def __init__(
        self, node: Node, monitor: Callable[[], Monitor | None], changed: Callable[[], None]
    ) -> None:
        """``monitor`` returns the current one; ``changed`` is called if the state may change."""
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
            JointTrajectory, "~/command", self._on_command, 10, raw=True
        )

    def destroy(self) -> None:
        """Destroy services and subscription."""
        for service in self._services:
            self._node.destroy_service(service)
        self._node.destroy_subscription(self._command)

    def use(self, monitor: Monitor) -> None:
        """Apply to this monitor from now on."""
        monitor.behaviour.enabled = self.enabled
        monitor.behaviour.latch = self.latch

    def use_values(self, values: Mapping[str, Any]) -> None:
        """Use these parameters: which stops are held, and by what they end."""
        self.latch.latches = values["latch_stops"]
        self.latch.asks = values["acknowledge_stops"]

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

    def _on_command(self, data: bytes) -> None:
        """Store the direction in which a command leaves the current position."""
        monitor = self._monitor()
        if monitor is None or monitor.buffer.missing():
            return
        try:
            message = read_beginning(data, _COMMAND_POINTS)
        except TrajectoryError as error:
            text = f"a trajectory on ~/command {error}: it counts as no command"
            self._node.get_logger().warning(text, throttle_duration_sec=5.0)
            message = JointTrajectory()
        ours = {name: k for k, name in enumerate(monitor.buffer.joint_names)}
        names = [name for name in message.joint_names if name in ours]
        columns = [k for k, name in enumerate(message.joint_names) if name in ours]
        which = [ours[name] for name in names]
        present, endless = monitor.buffer.q[which], monitor.model.bodies.endless[which]
        velocities = _leaving(message.points, columns, present, endless)
        monitor.behaviour.command.update(names, velocities, time.monotonic())


def _leaving(
    points: Sequence[Any], columns: list[int], present: np.ndarray, endless: np.ndarray
) -> list[float]:
    """Velocities, rad/s or m/s, at which a trajectory leaves the position; empty if it stays.

    Those of the first point that has some, or the mean ones to the first point that is no longer
    near the position.
    """
    many, start, velocities = max(columns, default=-1), present, []
    for number, point in enumerate(points):
        if len(point.velocities) > many and any(point.velocities[k] for k in columns):
            return [point.velocities[k] for k in columns]
        if len(point.positions) <= many:
            continue
        wanted = np.array([point.positions[k] for k in columns])
        seconds = seconds_of(point.time_from_start)
        is_near = np.abs(apart(wanted, present, endless)).max(initial=0.0) <= _NEAR
        if number == 0 and seconds == 0.0 and is_near and len(points) > 1:
            start = wanted  # of the plan
            continue
        way = apart(wanted, start, endless)
        if way.any():
            velocities = (way / max(seconds, 0.01)).tolist()
            if not is_near:
                return velocities
    return velocities

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The node ``collision_monitor``: joint states in; distance, verdict and markers out."""

from __future__ import annotations

import gc
import math
import sys
import time
from collections.abc import Callable

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.exceptions import ParameterException
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64, Float64MultiArray, String
from visualization_msgs.msg import MarkerArray

from collision_monitor.collision_model import CollisionModel
from collision_monitor.errors import CollisionMonitorError
from collision_monitor.monitor import Level, Monitor, MonitorState
from collision_monitor.nodes.executor import run_node
from collision_monitor.nodes.joint_state_reader import JointStateReader
from collision_monitor.nodes.log_bridge import bridge_logs
from collision_monitor.nodes.markers import MarkerBuilder
from collision_monitor.nodes.messages import distances_message, status_message
from collision_monitor.nodes.parameters import declare_parameters, refusal
from collision_monitor.nodes.qos import LATCHED, VALUES
from collision_monitor.robot.pairs import by_reason

_WATCHDOG_SECONDS = 0.05
_LOG_SECONDS = 5.0
_LOADING = "loading a robot (the first time its leaves are fitted and kernels compiled)"


class CollisionMonitorNode(Node):
    """Publishes how near the links of a robot are, and whether that is known at all."""

    def __init__(self, **options) -> None:
        """Declare everything, load a robot given by parameter, and begin.

        Raises:
            CollisionMonitorError: parameters that contradict each other, or a robot
                given by parameter that cannot be loaded.
        """
        super().__init__("collision_monitor", **options)
        bridge_logs(self)
        self._values = declare_parameters(self)
        if reason := refusal(self._values):
            raise CollisionMonitorError(reason)
        self._monitor: Monitor | None = None
        self._marker_builder: MarkerBuilder | None = None
        self._description = ""
        self._idle = MonitorState(Level.STALE, "waiting for a robot description", "waiting")
        self._refused = ""  # why the newest description is not the one that is monitored
        self._published: tuple[Level, str] | None = None
        self._logged: dict[Level, float] = {}
        self._rate_mark = (time.monotonic(), 0, 0.0)  # since when, messages, the last rate
        self._messages = 0
        self._reader = JointStateReader()
        self._distance_message = Float64()  # one object for all: publishing copies it
        self._time_is_simulated = self.get_clock().ros_time_is_active
        self._make_publishers()
        self._publish_state(self._idle)
        self.add_on_set_parameters_callback(self._on_parameters)
        if self._values["joint_state_timeout"] == 0.0:
            self.get_logger().warning(
                "joint_state_timeout is 0: the watchdog is OFF, and a robot whose joint states "
                "stop is still called safe"
            )
        if self._values["robot_description"]:
            self._load(self._values["robot_description"])
        else:
            self.create_subscription(String, "robot_description", self._on_description, LATCHED)
        self.create_subscription(
            JointState, "joint_states", self._on_joint_state, qos_profile_sensor_data, raw=True
        )
        self._start_timers()

    # -- set-up ----------------------------------------------------------------------

    def _make_publishers(self) -> None:
        self._min_distance = self.create_publisher(Float64, "~/min_distance", VALUES)
        self._speed_scale = self.create_publisher(Float64, "~/speed_scale", VALUES)
        self._safe = self.create_publisher(Bool, "~/safe", LATCHED)
        self._state = self.create_publisher(DiagnosticStatus, "~/state", LATCHED)
        self._pair_names = self.create_publisher(String, "~/pair_names", LATCHED)
        self._distances = self.create_publisher(Float64MultiArray, "~/distances", VALUES)
        self._markers = self.create_publisher(MarkerArray, "~/markers", VALUES)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", VALUES)

    def _start_timers(self) -> None:
        # A steady clock: a watchdog on simulated time would sleep while that stands still.
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._on_demand = {
            "distances_rate": (self._distances, self._send_distances),
            "marker_rate": (self._markers, self._send_markers),
        }
        self._timers_by_name = {}
        self._next_beat = -math.inf
        self._scale_is_heard = True
        self._set_timer("watchdog", self._watch_period(), self._watch)
        self.create_timer(1.0, self._send_diagnostics, clock=self._steady)

    def _watch_period(self) -> float:
        """Seconds: a timer that wakes the node for the heartbeat alone would cost as much again."""
        return min(_WATCHDOG_SECONDS, 1.0 / self._values["state_rate"])

    def _set_timer(self, name: str, period: float, callback: Callable[[], None] | None) -> None:
        """(Re)start a timer; without a callback, or with no period, there is none."""
        if timer := self._timers_by_name.pop(name, None):
            self.destroy_timer(timer)
        if callback is not None:
            self._timers_by_name[name] = self.create_timer(period, callback, clock=self._steady)

    def _look_for_listeners(self) -> None:
        """Do for a topic what it takes only while somebody listens."""
        self._scale_is_heard = self._speed_scale.get_subscription_count() > 0
        for name, (publisher, callback) in self._on_demand.items():
            rate = self._values[name]
            wanted = rate > 0.0 and publisher.get_subscription_count() > 0
            if wanted != (name in self._timers_by_name):
                self._set_timer(name, 1.0 / rate if wanted else 0.0, callback if wanted else None)

    def _load(self, description: str) -> None:
        """Load a robot and begin to monitor it; whatever was monitored before ends here."""
        start = time.monotonic()
        # Until it is done nobody watches: what was called safe before is not any more.
        self._publish_state(MonitorState(Level.STALE, _LOADING, "waiting"))
        v = self._values
        model = CollisionModel.from_urdf(
            description,
            srdf=v["robot_description_semantic"] or None,
            package_dirs=[folder for folder in v["package_dirs"] if folder],
            scene=v["scene"] or None,
            max_leaves_per_link=v["max_leaves_per_link"],
            leaf_tolerance=v["leaf_tolerance"],
            leaves=v["leaves"] or None,
            visual_meshes=v["visual_meshes"],
        )
        for reason, pairs in by_reason(model.unmonitored_pairs).items():
            names = ", ".join(f"{a} - {b}" for a, b in pairs)
            self.get_logger().info(f"not monitored ({reason}): {names}")
        if not model.pairs:
            raise CollisionMonitorError(
                f"robot '{model.name}' has no pair of links to check ({len(model.link_names)} "
                "links have collision shapes)"
            )
        self._monitor = Monitor(
            model,
            v["warn_distance"],
            v["stop_distance"],
            v["joint_state_timeout"],
            v["zero_state_confirmation"],
        )
        self._marker_builder = None
        _freeze_what_is_loaded()
        self._description, self._refused = description, ""
        names = "\n".join(f"{a} {b}" for a, b in model.pairs)
        self._pair_names.publish(String(data=names))
        self.get_logger().info(
            f"monitoring '{model.name}': {len(model.link_names)} links, {len(model.pairs)} pairs "
            f"checked, {len(model.unmonitored_pairs)} left out; loaded in "
            f"{time.monotonic() - start:.1f} s"
        )

    # -- callbacks -------------------------------------------------------------------

    def _on_description(self, message: String) -> None:
        if message.data == self._description and not self._refused:
            return
        try:
            self._load(message.data)
        except CollisionMonitorError as error:
            self._refused = f"robot_description cannot be monitored: {error}"
            self._idle = MonitorState(Level.ERROR, self._refused, "fault")
            self.get_logger().error(self._refused)
        self._publish_state(self._now_state())

    def _on_joint_state(self, data: bytes) -> None:
        """Take in a serialized sensor_msgs/JointState."""
        self._messages += 1
        if self._monitor is None:
            return
        names, positions, stamp = self._reader.read(data)
        lag = self._clock_seconds() - stamp if stamp > 0.0 else 0.0
        state = self._monitor.update(names, positions, time.monotonic(), stamp, lag)
        if state.clearance is not None:
            message = self._distance_message
            message.data = state.clearance.distance
            self._min_distance.publish(message)
            if self._scale_is_heard:
                self._speed_scale.publish(Float64(data=state.speed_scale))
        if (state.level, state.cause) != self._published:
            self._publish_state(state)

    def _clock_seconds(self) -> float:
        """The node's time; without simulated time by the shortest way."""
        if self._time_is_simulated:
            return 1e-9 * self.get_clock().now().nanoseconds
        return time.time()

    def _on_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        wanted = {p.name: p.value for p in parameters if p.name in self._values}
        for name, value in wanted.items():
            if isinstance(value, float) and not math.isfinite(value):
                return SetParametersResult(
                    successful=False, reason=f"{name}: {value} is not a finite number"
                )
        if reason := refusal({**self._values, **wanted}):
            return SetParametersResult(successful=False, reason=reason)
        self._values.update(wanted)
        if self._monitor is not None:
            for name in ("warn_distance", "stop_distance", "joint_state_timeout"):
                setattr(self._monitor, name, self._values[name])
        if "marker_rate" in wanted:
            self._marker_builder = None  # its markers' lifetime follows the rate
        if "state_rate" in wanted:
            self._set_timer("watchdog", self._watch_period(), self._watch)
        for name in wanted.keys() & self._on_demand.keys():
            self._set_timer(name, 0.0, None)  # the watchdog starts it anew
        return SetParametersResult(successful=True)

    # -- what is said ----------------------------------------------------------------

    def _now_state(self) -> MonitorState:
        return self._idle if self._monitor is None else self._monitor.state(time.monotonic())

    def _watch(self) -> None:
        """Look after everything that no message brings about."""
        self._look_for_listeners()
        self._time_is_simulated = self.get_clock().ros_time_is_active  # a slow question
        state, now = self._now_state(), time.monotonic()
        period = 1.0 / self._values["state_rate"]
        if now < self._next_beat - 0.5 * self._watch_period():
            self._publish_if_changed(state)
            return
        # Beats keep their rate in the mean, whatever the watchdog's period is.
        self._next_beat = max(self._next_beat + period, now + 0.5 * period)
        self._publish_state(state)

    def _publish_if_changed(self, state: MonitorState) -> None:
        if (state.level, state.cause) != self._published:
            self._publish_state(state)

    def _publish_state(self, state: MonitorState) -> None:
        if (state.level, state.cause) != self._published:
            self._published = (state.level, state.cause)
            self._log(state)
        self._state.publish(self._status(state))
        self._safe.publish(Bool(data=state.safe))
        if state.clearance is None:
            # Not known: NaN, so that the last distance is not taken for a new one.
            self._min_distance.publish(Float64(data=math.nan))
            self._speed_scale.publish(Float64(data=0.0))

    def _status(self, state: MonitorState) -> DiagnosticStatus:
        extra = {
            "warn_distance": f"{self._values['warn_distance']:g}",
            "stop_distance": f"{self._values['stop_distance']:g}",
            "joint_state_rate": f"{self._rate():.1f}",
        }
        if self._values["joint_state_timeout"] == 0.0:
            extra["watchdog"] = "OFF: joint_state_timeout is 0"
        if self._refused:
            extra["robot_description"] = self._refused
        robot = ""
        if self._monitor is not None:
            robot = self._monitor.model.name
            if unknown := self._monitor.buffer.unknown_names:
                extra["unknown_joints"] = " ".join(sorted(unknown))
        return status_message(state, self.get_name(), robot, extra)

    def _rate(self) -> float:
        """Joint states a second, over at least one second."""
        since, count, rate = self._rate_mark
        elapsed = time.monotonic() - since
        if elapsed >= 1.0:
            rate = (self._messages - count) / elapsed
            self._rate_mark = (time.monotonic(), self._messages, rate)
        return rate

    def _log(self, state: MonitorState) -> None:
        """One line a change of level; the same level again only after a while."""
        now = time.monotonic()
        if now - self._logged.get(state.level, -math.inf) < _LOG_SECONDS:
            return
        self._logged[state.level] = now
        text = f"{state.level.name}: {state.message}"
        log = self.get_logger()
        # rclpy holds every place of a call to one severity
        if state.level is Level.OK or state.cause == "waiting":
            log.info(text)
        elif state.level is Level.WARN:
            log.warning(text)
        else:
            log.error(text)

    def _send_diagnostics(self) -> None:
        status = self._status(self._now_state())
        status.name = f"{self.get_fully_qualified_name().lstrip('/')}: clearance"
        message = DiagnosticArray(status=[status])
        message.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(message)

    def _send_distances(self) -> None:
        if self._monitor is None or self._now_state().clearance is None:
            return
        distances = self._monitor.model.distances(self._monitor.buffer.q)
        self._distances.publish(distances_message(distances.tolist()))

    def _send_markers(self) -> None:
        if self._monitor is None:
            return
        if self._marker_builder is None:
            lifetime = max(1.0, 3.0 / self._values["marker_rate"])
            self._marker_builder = MarkerBuilder(self._monitor.model, lifetime)
            self._markers.publish(MarkerBuilder.clear())
        self._markers.publish(
            self._marker_builder.build(
                self._monitor.buffer.q,
                self._now_state(),
                self.get_clock().now().to_msg(),
                self._values["warn_distance"],
                self._values["stop_distance"],
            )
        )


def _freeze_what_is_loaded() -> None:
    """Keep what is loaded out of the search for cyclic garbage, which else stops the watch.

    A full search among the objects of all imports takes tens of milliseconds; what comes
    and goes with messages is searched as before.
    """
    gc.unfreeze()  # a robot monitored before may be garbage now
    gc.collect()
    gc.freeze()


def main(args: list[str] | None = None) -> None:
    """Run the node; what is wrong with its parameters is said, and ends it with code 1."""
    try:
        run_node(CollisionMonitorNode, args)
    except (CollisionMonitorError, ParameterException) as error:
        print(f"collision_monitor: error: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The node ``self_collision``: adjusts desired trajectories of arms to safe ones."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, NamedTuple

from rclpy.qos import QoSProfile
from rclpy.timer import Timer
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import MarkerArray

from collision_monitor.common.safe_files import ReceivedText
from collision_monitor.errors import (
    AdjustmentError,
    CollisionMonitorError,
    JointStateError,
    MissingDependencyError,
    TrajectoryError,
    reason_of,
)
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.monitoring.monitor import Level
from collision_monitor.nodes.common.executor import StateLog, run_program
from collision_monitor.nodes.common.messages import (
    VALUES,
    diagnostic,
    seconds_of,
)
from collision_monitor.nodes.common.robot_node import RobotNode
from collision_monitor.nodes.common.trajectory_reading import read_trajectory
from collision_monitor.nodes.follow_joint_trajectory import (
    FollowJointTrajectoryRelay,
    RelayedGoal,
    follow_joint_trajectory_type,
)
from collision_monitor.nodes.markers.markers import MarkerBuilder, PathMarkers
from collision_monitor.nodes.parameters.monitor_parameters import limits_of
from collision_monitor.nodes.parameters.self_collision_parameters import (
    PARAMETERS,
    arm_names,
    check,
    settings_of,
)
from collision_monitor.nodes.robot_topics import JointStateSource
from collision_monitor.nodes.trajectory_messages import (
    PointStreaming,
    Report,
    Shortage,
    adjustment_values,
    desired_of,
    motion_message,
    overruled,
    point_message,
    refusal_values,
)
from collision_monitor.self_collision.adjustment import Adjustment
from collision_monitor.self_collision.arms import find_chains
from collision_monitor.self_collision.field.repulsion_field import prepare_field
from collision_monitor.self_collision.hold_supervisor import HoldSupervisor, names_of
from collision_monitor.self_collision.motion_clearance import approach_points
from collision_monitor.self_collision.retiming import moving_ends, moving_ends_warnings
from collision_monitor.self_collision.solvers import QP_SOLVERS, missing
from collision_monitor.self_collision.trajectory_filter import (
    BackgroundWorker,
    FilterSettings,
    Job,
    TrajectoryFilter,
)

_POLL_SECONDS = 0.005
_LOG_SECONDS = 1.0
_MARKER_WAYPOINTS = 100
Work = tuple[Adjustment, float, JointTrajectory]  # with its duration in seconds
_COMMANDS = QoSProfile(depth=10)
_DEPTH = 5  # of joint states, each of which is processed alone


class _Computing(NamedTuple):
    """The trajectory that is being adjusted, and the number of its request."""

    job: Job
    future: Future[Work]
    serial: int


class SelfCollisionNode(RobotNode):
    """Adjusts trajectories to keep arms apart, and holds the arms if they come too close."""

    def __init__(self, **options: Any) -> None:
        """Declare parameters, load a robot given by parameter, and start.

        Raises:
            CollisionMonitorError: inconsistent parameters, or the arms of a robot given by
                parameter cannot be monitored.
        """
        super().__init__("self_collision", PARAMETERS, check, **options)
        self._shortage = Shortage(missing())
        for text in self._shortage.warnings:
            self.get_logger().warning(text)
        self._filter: TrajectoryFilter | None = None
        self._stream: PointStreaming | None = None
        self._worker: BackgroundWorker | None = None
        self._computing: _Computing | None = None
        self._running_goal: RelayedGoal | None = None
        self._goal_before: RelayedGoal | None = None
        self._running_serial = 0
        self._no_robot = "waiting for a robot description"  # why nothing is forwarded
        self._note = ""  # trajectory dropped because of the last description
        self._last: tuple[Job, Adjustment] | None = None  # shown by markers
        self._markers_of: PathMarkers | None = None
        self._serial = 0
        self._report = Report(Level.STALE, "waiting", self._no_robot)
        self._log = StateLog(self, _LOG_SECONDS)
        self._next_markers = -math.inf
        self._polling: Timer | None = None
        self._trajectory = self.create_publisher(JointTrajectory, "~/joint_trajectory", _COMMANDS)
        self._markers = self.create_publisher(MarkerArray, "~/markers", VALUES)
        self._publish_state()
        self._relay = self._make_relay()
        self._start()
        self._joint_states = JointStateSource(self, self._on_joint_state, depth=_DEPTH)
        for topic, callback in (
            ("~/desired_trajectory", self._on_desired),
            ("~/desired_point", self._on_point),
        ):  # raw: parsing a message of a million points would delay joint states
            self.create_subscription(JointTrajectory, topic, callback, _COMMANDS, raw=True)

    def close(self) -> None:
        """Publish that trajectories are no longer forwarded."""
        if self.context.ok():
            reason = "node is shutting down; trajectories are no longer forwarded"
            self._publish_state(Report(Level.STALE, "ended", reason, serial=self._serial))

    # -- set-up --

    def _make_relay(self) -> FollowJointTrajectoryRelay | None:
        action = self._values["controller_action"]
        action_type = follow_joint_trajectory_type()
        if action_type is None:
            text = "control_msgs is not installed: there is no FollowJointTrajectory action"
            if action:
                raise CollisionMonitorError(f"controller_action '{action}' is given, but {text}")
            self.get_logger().info(f"{text}; use the topics")
            return None
        if not action:
            self.get_logger().info(
                "controller_action is empty: no FollowJointTrajectory action is offered"
            )
            return None
        return FollowJointTrajectoryRelay(self, action_type, action, self._on_goal, self._goal_over)

    def _load(self, description: str | ReceivedText) -> None:
        """See `RobotNode`; the trajectory being adjusted for the previous robot is dropped."""
        start, v = time.monotonic(), self._values
        dropped = self._computing
        if self._filter is not None:
            self._note = self._drop_computing("a new robot description was received")
            text = (
                "loading a new robot description; the distance of the arms is not monitored until "
                "it is loaded"
            )
            self._report_event(Level.STALE, "loading", f"{text}{self._note}")
        model = CollisionModel.from_urdf(
            description,
            **self._sources(),
            max_leaves_per_link=v["max_leaves_per_link"],
            leaf_tolerance=v["leaf_tolerance"],
            leaves=v["leaves"] or None,
            visual_meshes=v["visual_meshes"],
            fit=v["fit"],
            limits=limits_of(v),
        )
        arms = find_chains(model.robot, model.semantics, arm_names(v))
        method = self._shortage.method(v["method"])
        if method != v["method"] and len(arms) != 2:
            raise MissingDependencyError(
                f"not installed: {self._shortage.solvers}, without which only two arms can be kept "
                f"apart, not {len(arms)}: pip install {' '.join(QP_SOLVERS)}"
            )
        supervisor = HoldSupervisor(
            model,
            arms,
            v["safe_distance"],
            v["danger_distance"],
            v["joint_state_timeout"],
            v["zero_state_confirmation"],
        )
        if supervisor.left_out:
            names = ", ".join(f"{a} - {b}" for a, b in supervisor.left_out)
            self.get_logger().warning(
                f"ignored: closer than danger_distance in most configurations: {names}"
            )
        if self._worker is not None:
            self._worker.end()
        self._worker = BackgroundWorker()
        trajectory_filter = TrajectoryFilter(model, arms, supervisor)
        if method != "robust" and len(arms) == 2:
            prepare_field(model, arms)
        if self._filter is not None:
            trajectory_filter.take_over(self._filter)
        self._filter, self._stream, self._last = trajectory_filter, None, None
        self._model = model
        self._description, self._no_robot = description, ""
        self._markers_of = PathMarkers(model.root)
        self._markers.publish(MarkerBuilder.clear())
        names = " and ".join(f"'{arm.name}' ({len(arm.joint_names)} joints)" for arm in arms)
        pairs = len(supervisor.pairs)
        apart = f"apart: {pairs} pairs between them" if len(arms) > 1 else f"clear: {pairs} pairs"
        text = (
            f"keeping {names} of '{model.name}' {apart}; loaded in {time.monotonic() - start:.1f} s"
        )
        self.get_logger().info(text)
        if dropped is None:
            self._report_event(*self._shortage.ready)
        else:
            reason = "refused: a new robot description was received during adjustment"
            self._report_event(Level.ERROR, "refused", reason, serial=dropped.serial)

    def _settings(self) -> FilterSettings:
        settings = settings_of(self._values)
        method = self._shortage.method(settings.method)
        return replace(settings, method=method, every_pair=method != settings.method)

    # -- trajectories --

    def _on_desired(self, data: bytes) -> None:
        try:
            message = read_trajectory(data, self._values["max_points"])
        except TrajectoryError as error:
            self._serial += 1
            self._refuse(f"the desired trajectory {error}")
            return
        self._submit(message, None)

    def _on_goal(self, goal: RelayedGoal) -> None:
        if reason := goal.fault or self._relay.can_forward():
            self._serial += 1
            self._refuse(reason, goal)
            return
        self._submit(goal.message, goal)

    def _goal_over(self, goal: RelayedGoal) -> None:
        """Handle the end of a goal: its trajectory is finished, or no longer computed."""
        if self._computing is not None and self._computing.job.owner is goal:
            serial = self._forget_computing().serial
            text = "the goal was cancelled before it was sent"
            self._report_event(Level.WARN, "cancelled", text, serial=serial)
        elif goal is self._running_goal and self._filter is not None:
            if goal.sent is None:  # never executed: the previous motion may be active
                self._running_goal = self._goal_before
                self._filter.restore_previous()
            last = goal if goal.sent is not None else self._running_goal
            # A trajectory whose controller fails may still be executed.
            if last is not None and last.done and not last.refused:
                self._filter.mark_finished()
            if goal.refused:
                reason, serial = f"refused: {goal.refused}", self._running_serial
                self._report_event(Level.ERROR, "refused", reason, serial=serial)

    def _submit(self, message: JointTrajectory, goal: RelayedGoal | None) -> None:
        self._serial += 1
        if self._no_robot:
            self._refuse(f"no robot is loaded: {self._no_robot}", goal)
            return
        try:
            job = self._filter.job(
                desired_of(message),
                seconds_of(message.header.stamp),
                self._settings(),
                self._seconds(),
                time.monotonic(),
                goal,
            )
        except TrajectoryError as error:
            self._refuse(f"the desired trajectory {error}", goal)
            return
        note = self._drop_computing("replaced by a newer trajectory")
        future = self._worker.submit(_work, self._filter, job)
        self._computing = _Computing(job, future, self._serial)
        self._set_polling(True)
        text = f"adjusting a trajectory of {len(job.motion.times)} waypoints"
        if not job.is_due(clock := self._seconds()):
            text += f", to be forwarded at its start in {job.start - clock:.3g} s"
        self._report_event(Level.OK, "adjusting", f"{text}{note}")

    def _drop_computing(self, reason: str) -> str:
        """Drop the trajectory that is being adjusted, and report the reason to its client.

        Returns a text to add to the next state, for clients of the topic.
        """
        if self._computing is None:
            return ""
        dropped = self._forget_computing()
        self.get_logger().warning(f"trajectory dropped during adjustment: {reason}")
        if dropped.job.owner is not None:
            self._relay.refuse(dropped.job.owner, reason)
        return f"; request {dropped.serial} is not forwarded: {reason}"

    def _forget_computing(self) -> _Computing:
        computing, self._computing = self._computing, None
        computing.future.cancel()  # a running one ends soon; its result is ignored
        computing.job.cancelled.set()
        return computing

    def _refuse(
        self,
        reason: str,
        goal: object = None,
        values: dict | None = None,
        serial: int | None = None,
    ) -> None:
        """Reject a trajectory, and publish the reason."""
        if goal is not None:
            self._relay.refuse(goal, reason)
        self._report_event(Level.ERROR, "refused", f"refused: {reason}", values, serial)

    def _set_polling(self, enabled: bool) -> None:
        """Poll for the end of an adjustment while it is computed.

        The events executor of rclpy 7 has no guard conditions, so a thread cannot wake it.
        """
        if enabled == (self._polling is not None):
            return
        if enabled:
            self._polling = self.create_timer(_POLL_SECONDS, self._poll, clock=self._steady)
        else:
            self.destroy_timer(self._polling)
            self._polling = None

    def _poll(self) -> None:
        if self._computing is not None and self._is_finished(*self._computing):
            computing, self._computing = self._computing, None
            self._finish(*computing)
        self._set_polling(self._computing is not None)

    def _is_finished(self, job: Job, future: Future[Work], serial: int) -> bool:
        return future.done() and (future.exception() is not None or job.is_due(self._seconds()))

    def _finish(self, job: Job, future: Future[Work], serial: int) -> None:
        error = future.exception()
        if error is not None:
            reason = reason_of(error)
            if not isinstance(error, CollisionMonitorError):
                self.get_logger().error("".join(traceback.format_exception(error)))
            if job.settings.every_pair and isinstance(error, AdjustmentError):
                reason = f"{reason} (method robust needs {self._shortage.solvers})"
            seconds = time.monotonic() - job.submitted
            values = refusal_values(error, job.settings.method, seconds)
            self._refuse(reason, job.owner, values, serial)
            return
        adjustment, seconds, message = future.result()
        self._last = job, adjustment
        self._next_markers = -math.inf
        limits = job.settings.acceleration_limits, job.settings.jerk_limits
        ends = moving_ends(adjustment.motion, adjustment.desired, *limits)
        values = adjustment_values(adjustment, seconds, ends)
        motion, clock = adjustment.motion, self._seconds()
        if job.owner is not None and (reason := self._relay.can_forward()):
            self._refuse(reason, job.owner, values, serial)
            return
        try:
            now = time.monotonic()
            release = self._filter.release(job, motion, self._settings(), clock, now)
        except CollisionMonitorError as error:
            self._refuse(str(error), job.owner, values, serial)
            return
        self._end_stream()
        self._goal_before = self._running_goal
        self._running_goal, self._running_serial = job.owner, serial
        self._send(
            message if release.motion is motion else motion_message(release.motion), job.owner
        )
        how = "adjusted" if adjustment.changed else "unchanged"
        text = f"forwarded, {how}: {len(release.motion.times)} waypoints"
        if adjustment.changed:
            change = float(values["largest_change"])
            text += f", '{values['largest_change_joint']}' by up to {change:.3g}"
        notes = (*release.notes, *moving_ends_warnings(ends))
        if notes:
            text += f"; {'; '.join(notes)}"
        level = Level.WARN if notes else Level.OK
        self._report_event(level, "forwarded", text, values, serial)

    def _send(self, message: JointTrajectory, goal: RelayedGoal | None) -> None:
        if goal is None:
            self._trajectory.publish(message)
        else:
            self._relay.forward(goal, message)

    # -- points --

    def _on_point(self, data: bytes) -> None:
        self._serial += 1
        clock = self._seconds()
        try:
            if self._no_robot:
                raise TrajectoryError(f"was received while no robot is loaded: {self._no_robot}")
            message = read_trajectory(data, self._values["max_points"])
            if self._computing is not None:
                waits = self._computing.future.done()
                what = "waits for its start" if waits else "is being adjusted"
                raise TrajectoryError(f"was received while a trajectory {what}")
            if self._shortage.points:
                raise TrajectoryError(f"cannot be followed: {self._shortage.points}")
            if self._stream is None:  # or its settings have changed
                self._stream = PointStreaming(self._model, self._filter, self._values)
            followed = self._stream.follow(message, clock, time.monotonic())
        except CollisionMonitorError as error:
            what = "the desired point " if isinstance(error, TrajectoryError) else ""
            self._report_event(Level.ERROR, "point refused", f"refused: {what}{error}")
            return
        goal = followed.message.joint_names, followed.message.points[-1].positions
        goal = dict(zip(*goal, strict=True))
        self._filter.start_stream(clock, followed.ahead, goal, self._values["start_tolerance"])
        self._running_goal = None
        self._trajectory.publish(followed.message)
        ended = followed.level is Level.ERROR
        event, serial = ("stream ended", None) if ended else ("streaming", 0)
        self._report_event(followed.level, event, followed.text, followed.values, serial)

    def _end_stream(self) -> None:
        if self._stream is not None:
            self._stream.end()

    # -- supervisor --

    def _on_joint_state(self, source: JointStateSource, data: bytes) -> None:
        if self._filter is None:
            return
        now, monitor = time.monotonic(), self._filter.supervisor.monitor
        try:
            message = source.read(data, now)
        except JointStateError as error:
            monitor.reject(error, now)
            return
        monitor.watchdogs.publishers.report_message(source.topic, now, message.names)
        lag = self._seconds() - message.stamp if message.stamp > 0.0 else 0.0
        if self._filter.update(message._replace(lag=lag), self._seconds()):
            self._hold()

    def _is_running(self) -> bool:
        """Whether a trajectory of this node is executed, as the controller or the joints show."""
        return self._goal_is_open() or self._filter.running(self._seconds())

    def _goal_is_open(self) -> bool:
        goal = self._running_goal
        return goal is not None and goal.sent is not None and not goal.done

    def _hold(self) -> None:
        """Hold the arms that may move: they are closer than danger_distance."""
        supervisor = self._filter.supervisor
        nearest, (a, b) = supervisor.nearest, supervisor.nearest.links
        moving = self._filter.joints_to_hold(
            self._seconds(), self._values["guard"] == "always", self._goal_is_open()
        )
        note = self._drop_computing("the arms came closer than danger_distance")
        self._end_stream()
        self._serial += 1
        if moving:
            message = point_message(moving, supervisor.positions())
            self._trajectory.publish(message)
            if self._relay is not None:
                self._relay.stop(f"held: {nearest}")
            self._filter.mark_finished()
        done = "held" if moving else "not held: no arm that this node has sent is moving"
        self._report_event(
            Level.ERROR,
            "hold" if moving else "near",
            f"{done}: {nearest}{note}",
            {"link_a": a, "link_b": b, "distance": f"{nearest.distance:.6f}"},
        )

    def _seconds(self) -> float:
        """Time of the node, seconds."""
        return 1e-9 * self.get_clock().now().nanoseconds

    # -- robot and parameters --

    def _refuse_description(self, reason: str) -> None:
        """Forward no trajectories until a valid description arrives, which may be the previous one.

        Monitoring continues with the previous robot.
        """
        self._serial += 1
        self._no_robot, self._description = reason, ""
        self._end_stream()
        self._report_event(Level.ERROR, "no robot", f"{reason}{self._note}")
        self._note = ""

    def _use_values(self, changed: Mapping[str, Any]) -> None:
        if self._filter is not None:
            supervisor = self._filter.supervisor
            supervisor.set_distances(self._values["safe_distance"], self._values["danger_distance"])
            supervisor.monitor.joint_state_timeout = self._values["joint_state_timeout"]
        self._stream = None
        self._next_markers = -math.inf

    # -- state and markers --

    def _report_event(
        self,
        level: Level,
        event: str,
        reason: str,
        values: dict | None = None,
        serial: int | None = None,
    ) -> None:
        serial = self._serial if serial is None else serial
        self._report = Report(level, event, reason, values or {}, serial)
        self._publish_changes()

    def _current_report(self) -> Report:
        """The last report, or the state of the supervisor if that is worse; or a failure."""
        if fault := self._faults.text("callback", time.monotonic()):
            return replace(self._report, level=Level.ERROR, event="fault", reason=fault)
        if self._filter is None:
            return self._report
        supervisor = self._filter.supervisor
        running = self._is_running()
        state = supervisor.state(time.monotonic())
        report = overruled(self._report, state, supervisor.in_event, running)
        if self._no_robot and report.event == "ready":
            return replace(report, level=Level.ERROR, event="no robot", reason=self._no_robot)
        return report

    def _watch(self) -> None:
        """Publish the state and markers at their rates, and changes immediately."""
        self._poll()
        now = time.monotonic()
        if self._filter is not None:
            monitor = self._filter.supervisor.monitor
            if self._joint_states.watch_publishers(monitor.watchdogs.publishers, now):
                monitor.report_other_publishers(now)
        if self._beat_is_due(now):
            self._publish_state()
        else:
            self._publish_changes()
        rate = self._values["marker_rate"]
        if rate > 0.0 and now >= self._next_markers and self._markers.get_subscription_count():
            self._next_markers = now + 1.0 / rate
            self._send_markers()

    def _publish_changes(self) -> None:
        report = self._current_report()
        if report.key != self._published:
            self._publish_state(report)

    def _publish_state(self, report: Report | None = None) -> None:
        report = self._current_report() if report is None else report
        if report.key != self._published:
            self._published = report.key
            self._log.add(report.level, report.event, f"{report.level.name}: {report.reason}")
        v, robot, extra = self._values, "", {"request": str(report.serial or self._serial)}
        extra["safe_distance"] = f"{v['safe_distance']:g}"
        extra["danger_distance"] = f"{v['danger_distance']:g}"
        extra["method"], extra["yielding"] = self._shortage.method(v["method"]), v["yielding"]
        extra |= self._failures.values()
        if self._shortage.names:
            extra["missing"] = self._shortage.names
        if self._filter is not None:
            supervisor, robot = self._filter.supervisor, self._model.name
            now = time.monotonic()
            extra["arms"] = " ".join(arm.name for arm in self._filter.arms)
            extra["running"] = str(self._is_running()).lower()
            extra["joint_states"] = supervisor.joint_state_fault(now) or "fresh"
            extra["present_distance"] = f"{supervisor.distance(now):.6f}"
            extra["holds"] = str(supervisor.events)
        values = report.key_values(extra)
        message = diagnostic(report.level, self.get_name(), report.reason, robot, values)
        self._publish_status(message)

    def _send_markers(self) -> None:
        if self._last is None or self._filter is None:
            return
        job, adjustment = self._last
        model = self._filter.supervisor.model
        right = names_of(model, self._filter.arms[0])
        before, after = (
            approach_points(model, right, motion, job.held, _MARKER_WAYPOINTS)
            for motion in (adjustment.desired, adjustment.motion)
        )
        self._markers.publish(
            self._markers_of.build(
                before,
                after,
                job.settings.safe_distance,
                job.settings.danger_distance,
                tuple(float(f.max()) for f in (adjustment.index_before, adjustment.index_after)),
                self.get_clock().now().to_msg(),
                max(2.0, 3.0 / self._values["marker_rate"]),
            )
        )


def _work(trajectory_filter: TrajectoryFilter, job: Job) -> Work:
    """Adjust in a thread, and create the message, which is slow for many points."""
    start = time.monotonic()
    adjustment = trajectory_filter.adjust(job)
    return adjustment, time.monotonic() - start, motion_message(adjustment.motion)


def main(args: list[str] | None = None) -> None:
    """Run the node; it prints an error and exits with code 1 if parameters are invalid."""
    run_program(SelfCollisionNode, args, "self_collision")


if __name__ == "__main__":
    main()

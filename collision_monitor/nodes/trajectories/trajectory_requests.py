# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Desired trajectories from their topic and from the action: checked, adjusted and forwarded."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from collision_monitor.errors import (
    AdjustmentError,
    CollisionMonitorError,
    TrajectoryError,
    reason_of,
)
from collision_monitor.monitoring.faults import Level
from collision_monitor.nodes.common.messages import VALUES, read_trajectory, seconds_of
from collision_monitor.nodes.markers.path_marker_topic import PathMarkerTopic
from collision_monitor.nodes.parameters.self_collision_parameters import settings_of
from collision_monitor.nodes.self_collision_state import (
    RequestState,
    Shortage,
    adjustment_values,
    refusal_values,
)
from collision_monitor.nodes.trajectories.follow_joint_trajectory import (
    FollowJointTrajectoryRelay,
    RelayedGoal,
    follow_joint_trajectory_type,
)
from collision_monitor.nodes.trajectories.motions_under_way import (
    Adjusted,
    Adjusting,
    ReleasedMotions,
)
from collision_monitor.nodes.trajectories.trajectory_messages import (
    desired_of,
    motion_message,
    point_message,
)
from collision_monitor.self_collision.retiming import moving_ends, moving_ends_warnings
from collision_monitor.self_collision.trajectory_filter import FilterSettings, Job, TrajectoryFilter


class TrajectoryRequests:
    """Handles one request after another; a newer one replaces one that is being adjusted.

    Attributes:
        adjusting: the trajectory that is being adjusted.
        publisher: of ``~/joint_trajectory``.
    """

    def __init__(
        self,
        node: Node,
        values: Mapping[str, Any],
        state: RequestState,
        shortage: Shortage,
        motions: ReleasedMotions,
        markers: PathMarkerTopic,
        seconds: Callable[[], float],
        released: Callable[[], None],
        catch_up: Callable[[], None],
    ) -> None:
        """Offer the action, and listen to the topic once `subscribe` is called.

        Args:
            node: the node.
            values: its parameters.
            state: for outcomes.
            shortage: missing packages.
            motions: which were sent.
            markers: show the last adjustment.
            seconds: time of the node.
            released: called before a trajectory is forwarded.
            catch_up: called when a trajectory was read, to process joint states that waited.

        Raises:
            CollisionMonitorError: a controller's action is given, but control_msgs is missing.
        """
        self._node, self._values, self._state = node, values, state
        self._shortage, self._motions, self._markers = shortage, motions, markers
        self._seconds, self._released, self._catch_up = seconds, released, catch_up
        self.adjusting = Adjusting(node, seconds, self._finish)
        self.publisher = node.create_publisher(JointTrajectory, "~/joint_trajectory", VALUES)
        self._relay = self._make_relay()

    def subscribe(self) -> None:
        """Receive desired trajectories."""
        # raw: parsing a message of a million points would delay joint states
        self._node.create_subscription(
            JointTrajectory, "~/desired_trajectory", self._on_desired, VALUES, raw=True
        )

    def use_robot(self, trajectories: TrajectoryFilter) -> None:
        """Adjust trajectories of this robot from now on."""
        self.adjusting.restart()
        self._motions.follow_with(trajectories)

    def watch(self, now: float) -> None:
        """Hand over what is adjusted, and end goals of a controller that is gone."""
        self.adjusting.poll()
        if self._relay is not None:
            self._relay.watch(now)

    def _make_relay(self) -> FollowJointTrajectoryRelay | None:
        action = self._values["controller_action"]
        action_type = follow_joint_trajectory_type()
        if action_type is None:
            text = "control_msgs is not installed: there is no FollowJointTrajectory action"
            if action:
                raise CollisionMonitorError(f"controller_action '{action}' is given, but {text}")
            self._node.get_logger().info(f"{text}; use the topics")
            return None
        if not action:
            self._node.get_logger().info(
                "controller_action is empty: no FollowJointTrajectory action is offered"
            )
            return None
        return FollowJointTrajectoryRelay(
            self._node, action_type, action, self._on_goal, self._goal_over
        )

    def _settings(self) -> FilterSettings:
        settings = settings_of(self._values)
        method = self._shortage.method(settings.method)
        return replace(settings, method=method, every_pair=method != settings.method)

    def _on_desired(self, data: bytes) -> None:
        try:
            message = read_trajectory(data, self._values["max_points"])
        except TrajectoryError as error:
            self._state.request += 1
            self._refuse(f"the desired trajectory {error}")
            return
        self._submit(message, None)

    def _on_goal(self, goal: RelayedGoal) -> None:
        if reason := goal.fault or self._relay.can_forward():
            self._state.request += 1
            self._refuse(reason, goal)
            return
        self._submit(goal.message, goal)

    def _goal_over(self, goal: RelayedGoal) -> None:
        """Handle the end of a goal: its trajectory is finished, or no longer computed."""
        adjusting = self.adjusting.current
        if adjusting is not None and adjusting.job.owner is goal:
            self.adjusting.drop()
            text = "the goal was cancelled before it was sent"
            self._state.report(Level.WARN, "cancelled", text, serial=adjusting.serial)
        elif self._motions.end(goal) and goal.refused:
            reason, serial = f"refused: {goal.refused}", self._motions.serial
            self._state.report(Level.ERROR, "refused", reason, serial=serial)

    def _submit(self, message: JointTrajectory, goal: RelayedGoal | None) -> None:
        desired, no_robot = desired_of(message), self._state.no_robot
        if not no_robot:
            self._catch_up()  # reading many points takes longer than joint states may be old
        self._state.request += 1
        if no_robot:
            self._refuse(f"no robot is loaded: {no_robot}", goal)
            return
        try:
            job = self._motions.filter.job(
                desired,
                seconds_of(message.header.stamp),
                self._settings(),
                self._seconds(),
                time.monotonic(),
                goal,
            )
        except TrajectoryError as error:
            self._refuse(f"the desired trajectory {error}", goal)
            return
        note = self.drop("replaced by a newer trajectory")
        self.adjusting.submit(self._motions.filter, job, self._state.request)
        text = f"adjusting a trajectory of {len(job.motion.times)} waypoints"
        if not job.is_due(clock := self._seconds()):
            text += f", to be forwarded at its start in {job.start - clock:.3g} s"
        self._state.report(Level.OK, "adjusting", f"{text}{note}")

    def drop(self, reason: str) -> str:
        """Drop the trajectory that is being adjusted, and report the reason to its client.

        Returns a text to add to the next state, for clients of the topic.
        """
        dropped = self.adjusting.drop()
        if dropped is None:
            return ""
        if dropped.job.owner is not None:
            self._relay.refuse(dropped.job.owner, reason)
        return f"; request {dropped.serial} is not forwarded: {reason}"

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
        self._state.report(Level.ERROR, "refused", f"refused: {reason}", values, serial)

    def _finish(self, job: Job, future: Future[Adjusted], serial: int) -> None:
        error = future.exception()
        if error is not None:
            reason = reason_of(error)
            if not isinstance(error, CollisionMonitorError):
                self._node.get_logger().error("".join(traceback.format_exception(error)))
            if job.settings.every_pair and isinstance(error, AdjustmentError):
                reason = f"{reason} (method robust needs {self._shortage.solvers})"
            seconds = time.monotonic() - job.submitted
            values = refusal_values(error, job.settings.method, seconds)
            self._refuse(reason, job.owner, values, serial)
            return
        adjustment, seconds, message = future.result()
        self._markers.show(job, adjustment)
        limits = job.settings.acceleration_limits, job.settings.jerk_limits
        ends = moving_ends(adjustment.motion, adjustment.desired, *limits)
        values = adjustment_values(adjustment, seconds, ends)
        motion, clock = adjustment.motion, self._seconds()
        if job.owner is not None and (reason := self._relay.can_forward()):
            self._refuse(reason, job.owner, values, serial)
            return
        try:
            now = time.monotonic()
            release = self._motions.filter.release(job, motion, self._settings(), clock, now)
        except CollisionMonitorError as error:
            self._refuse(str(error), job.owner, values, serial)
            return
        self._released()
        self._motions.release(job.owner, serial)
        message = message if release.motion is motion else motion_message(release.motion)
        if job.owner is None:
            self.publisher.publish(message)
        else:
            self._relay.forward(job.owner, message)
        how = "adjusted" if adjustment.changed else "unchanged"
        text = f"forwarded, {how}: {len(release.motion.times)} waypoints"
        if adjustment.largest_change:
            change = float(values["largest_change"])
            text += f", '{values['largest_change_joint']}' by up to {change:.3g}"
        if (longer := motion.duration - adjustment.desired.duration) > 0.0:
            text += f", {longer:.3g} s longer"
        notes = (*release.notes, *moving_ends_warnings(ends))
        if notes:
            text += f"; {'; '.join(notes)}"
        level = Level.WARN if notes else Level.OK
        self._state.report(level, "forwarded", text, values, serial)

    # -- other motions --

    def follow(self, message: JointTrajectory, seconds: float) -> None:
        """Send a point of a stream, which all arms reach in this time."""
        goal = dict(zip(message.joint_names, message.points[-1].positions, strict=True))
        tolerance = self._values["start_tolerance"]
        self._motions.filter.start_stream(self._seconds(), seconds, goal, tolerance)
        self._motions.release(None, 0)
        self.publisher.publish(message)

    def hold(self, reason: str) -> bool:
        """Hold the arms that may move; returns whether there are any."""
        trajectories = self._motions.filter
        always = self._values["guard"] == "always"
        moving = trajectories.joints_to_hold(self._seconds(), always)
        if moving:
            self.publisher.publish(point_message(moving, trajectories.supervisor.positions()))
            if self._relay is not None:
                self._relay.stop(f"held: {reason}")
            trajectories.mark_finished()
        return bool(moving)

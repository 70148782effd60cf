# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Checks and adjusts desired trajectories of arms before they are sent to the controller.

Inputs are checked before they are used. Adjustments take long: let a thread compute them one after
the other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from threading import Event

import numpy as np

from collision_monitor.common.settings import setting
from collision_monitor.common.text import shortened
from collision_monitor.errors import CollisionMonitorError, TrajectoryError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.monitoring.joint_state_buffer import JointState
from collision_monitor.monitoring.standing import Standing
from collision_monitor.motion.points import checked_points
from collision_monitor.motion.trajectory import NANO, OTHER_CLOCK, Motion
from collision_monitor.robot.angles import apart, whole_turns
from collision_monitor.self_collision.adjustment import Adjustment, adjust
from collision_monitor.self_collision.arms import Arm
from collision_monitor.self_collision.hold_supervisor import Execution, HoldSupervisor
from collision_monitor.self_collision.margins import is_idle
from collision_monitor.self_collision.mesh_proximity import prepare_meshes
from collision_monitor.self_collision.preparation import rest_to_rest
from collision_monitor.self_collision.settings import AdjustmentSettings, limit_of

# -- desired trajectories, checked --

# Minimum time in seconds to reach a single point without a time, besides velocity limits.
_SHORTEST = 0.1


@dataclass(frozen=True, eq=False)
class DesiredTrajectory:
    """A received trajectory, unchecked.

    Attributes:
        joint_names: names of the columns.
        times: of each point, seconds after the start.
        positions: for each point one number for each joint, radians or metres.
        extras: lengths of further fields of each point by name, such as ``velocities``; they are
            not used, but must be consistent.
    """

    joint_names: tuple[str, ...]
    times: Sequence[float]
    positions: Sequence[Sequence[float]]
    extras: Mapping[str, Sequence[int]] | None = None


def checked(
    desired: DesiredTrajectory,
    arm_joints: Collection[str],
    present: Mapping[str, float],
    start_tolerance: float,
    velocity_limits: Mapping[str, float],
    further_limits: Sequence[Mapping[str, float] | float | None] = (None, None),
    endless: Collection[str] = (),
) -> Motion:
    """The motion of a desired trajectory, from the current state of the robot on.

    A first point at time 0 must be within the tolerance of the current state. The current state is
    prepended to a first point at a later time. A single point at time 0 is reached from the current
    state as fast as velocity limits allow. If there are other limits, the motion to a single point
    keeps them from rest to rest, and lasts longer if they require it. Endless joints are moved by
    whole turns, so that the first point is as near to the current state as possible.

    Args:
        desired: the received trajectory.
        arm_joints: joints that it may contain.
        present: position of every joint of the robot, radians or metres.
        start_tolerance: tolerance of joints at time 0, radians or metres.
        velocity_limits: of the joints, rad/s or m/s; may be infinite.
        further_limits: of acceleration and jerk, rad/s^2 and rad/s^3 or m/s^2 and m/s^3; each by
            joint, or one value for all.
        endless: joints of which a whole turn changes no pose.

    Raises:
        TrajectoryError: invalid names, numbers or times, or another start.
    """
    names = desired.joint_names
    times, positions = _points_of_arms(desired, arm_joints, present)
    here = np.array([present[name] for name in names])
    positions = positions + whole_turns(positions[0], here, np.isin(names, list(endless)))
    if times[0] == 0.0 and len(times) == 1:
        times = _shortest_time(names, positions, here, velocity_limits)
    if len(times) == 1 and any(further_limits):
        limits = [np.array([velocity_limits[name] for name in names])]
        for given in further_limits:
            limits.append(np.array([limit_of(given, name) for name in names]))
        return Motion(names, *rest_to_rest(here, positions[0], float(times[0]), *limits))
    if times[0] > 0.0:
        return Motion(names, np.r_[0.0, times], np.vstack([here, positions]))
    off = np.abs(positions[0] - here)
    worst = int(off.argmax())
    if off[worst] > start_tolerance:
        raise TrajectoryError(
            f"starts with joint '{names[worst]}' at {positions[0, worst]:.4g}, but it is at "
            f"{here[worst]:.4g}: {off[worst]:.3g} apart, {start_tolerance:g} is allowed"
        )
    return Motion(names, times, positions)


def checked_point(
    desired: DesiredTrajectory, arm_joints: Sequence[str], robot_joints: Collection[str]
) -> dict[str, float]:
    """Position of every joint of all arms, from a trajectory of exactly one point.

    Raises:
        TrajectoryError: not one point, invalid names or numbers, or a missing joint of an arm.
    """
    if len(desired.positions) != 1:
        raise TrajectoryError(f"has {len(desired.positions)} points; a desired point is one")
    _, positions = _points_of_arms(desired, arm_joints, robot_joints)
    missing = [name for name in arm_joints if name not in desired.joint_names]
    if missing:
        raise TrajectoryError(f"does not name {_quoted(missing)}; a stream moves all arms")
    return dict(zip(desired.joint_names, positions[0].tolist(), strict=True))


def _shortest_time(
    names: tuple[str, ...],
    positions: np.ndarray,
    here: np.ndarray,
    velocity_limits: Mapping[str, float],
) -> np.ndarray:
    limits = np.array([velocity_limits[name] for name in names])
    distances = np.abs(positions[0] - here)
    unlimited = np.isinf(limits) & (distances > 0.0)
    if unlimited.any():
        name = names[int(unlimited.argmax())]
        raise TrajectoryError(
            f"one point at time 0, but joint '{name}' has no velocity limit from which to "
            "compute its duration: give the point a time_from_start"
        )
    needed = np.divide(distances, limits, out=np.zeros_like(distances), where=distances > 0.0)
    return np.array([max(_SHORTEST, float(needed.max()))])


def _points_of_arms(
    desired: DesiredTrajectory, arm_joints: Collection[str], robot_joints: Collection[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Times (n,) and positions (n, joints) of the motion."""
    names = desired.joint_names
    times, positions = checked_points(robot_joints, names, desired.times, desired.positions)
    if others := [name for name in names if name not in arm_joints]:
        raise TrajectoryError(
            f"names {_quoted(others)}, which no arm has; the joints of the arms are "
            f"{shortened(sorted(arm_joints), 20)}"
        )
    for rates, counts in (desired.extras or {}).items():
        for k, count in enumerate(counts):
            if count not in (0, len(names)):
                raise TrajectoryError(f"point {k} has {count} {rates} for {len(names)} joints")
    return times, positions


def _quoted(names: Sequence[str]) -> str:
    return shortened([f"'{name}'" for name in names])


# -- the filter --

# m by which a motion may start closer than arms that are too close are now: sensor noise.
_EASE = 0.002
_LATE = 0.05  # s after its stamp at which the start of a trajectory is remarked


@dataclass(frozen=True)
class FilterSettings(AdjustmentSettings):
    """Settings of adjustments, and of the checks before and after them."""

    # fmt: off
    start_tolerance: float = setting(
        0.01, "maximum difference between a trajectory's start and the current joint state, and "
        "of a streamed robot from its commanded positions, in any joint, rad or m", most=1.0)
    max_points: int = setting(20000, "trajectories with more points are rejected", most=1_000_000)
    stream_horizon: float = setting(
        1.0, "maximum time of a desired point in the future, seconds", most=60.0, positive=True)
    stream_timeout: float = setting(
        0.5, "a stream ends after this time without a desired point, seconds; the next one starts "
        "at the current position", most=60.0, positive=True)
    # fmt: on


@dataclass(frozen=True, eq=False)
class Job:
    """A checked desired trajectory.

    Attributes:
        motion: the motion to adjust, from the current state on.
        held: position of every joint of the robot when it was received.
        start: start time by the clock of stamps, seconds; 0 means as soon as possible.
        asked: the settings when it was received.
        settings: how to adjust it.
        notes: remarks for the state message.
        events: number of events of the supervisor so far.
        submitted: time of its arrival, steady clock.
        owner: the goal of an action, or None.
        cancelled: set once the result is no longer needed.
        received: time of its arrival, clock of stamps.
    """

    motion: Motion
    held: Mapping[str, float]
    start: float
    asked: FilterSettings
    settings: FilterSettings
    notes: tuple[str, ...] = ()
    events: int = 0
    submitted: float = 0.0
    owner: object = None
    cancelled: Event = field(default_factory=Event)
    received: float = 0.0

    def is_due(self, clock: float) -> bool:
        """Whether to release it; before, a controller might start it in spite of a hold."""
        return clock >= self.start or self.set_back(clock) > 0.0

    def set_back(self, clock: float) -> float:
        """Seconds by which the clock was set back since its arrival."""
        return max(0.0, self.received - clock)


@dataclass(frozen=True, eq=False)
class Release:
    """A safe motion to send now; it starts immediately."""

    motion: Motion
    notes: tuple[str, ...]


class TrajectoryFilter:
    """Checks trajectories for the arms of one robot, and keeps track of those being executed.

    ``clock`` is the time of the clock of stamps, ``now`` that of a steady clock; both in seconds.
    `adjust` may run in another thread.

    Attributes:
        is_open: whether the last release is being executed, as its controller reports: never, if
            that reports nothing.
    """

    def __init__(
        self, model: CollisionModel, arms: Sequence[Arm], supervisor: HoldSupervisor
    ) -> None:
        """``supervisor`` receives the joint states of `update`."""
        self.arms = tuple(arms)
        self.supervisor = supervisor
        self.arm_joints = tuple(name for arm in arms for name in arm.joint_names)
        self._model = model.twin()  # for the thread that adjusts
        prepare_meshes(self._model)
        limits = zip(model.joint_names, model.velocity_limits.tolist(), strict=True)
        self._velocity_limits = dict(limits)
        every = zip(model.joint_names, model.bodies.endless.tolist(), strict=True)
        self._endless = frozenset(name for name, endless in every if endless)
        # Wheels turn while a robot drives; other joints are compared.
        self._still = tuple(
            name
            for name in model.joint_names
            if name in self.arm_joints
            or name not in self._endless
            or not is_idle(model, arms, name)
        )
        self._names = frozenset(model.joint_names)
        self._execution = self._before = Execution()  # of the last release, and of the one before
        # By joint: the last release that moves it; before the last release.
        self._sent: dict[str, Execution] = {}
        self._sent_before = self._sent
        self._standing = Standing(model.joint_names)
        self.is_open: Callable[[], bool] = lambda: False

    def take_over(self, old: TrajectoryFilter) -> None:
        """Continue from an earlier robot: its motion may move any joint of the arms."""
        self._execution, self._before = (
            each.continue_with(self.arm_joints, self._names)
            for each in (old._execution, old._before)
        )
        if old._sent:
            self._sent = self._sent_before = dict.fromkeys(self.arm_joints, self._execution)

    def update(self, message: JointState, clock: float) -> bool:
        """Process a joint state; returns whether to hold."""
        monitor = self.supervisor.monitor
        updates, buffer = monitor.updates, monitor.buffer
        hold = self.supervisor.update(message)[1]
        # A joint state of another device is no update: it says nothing of the arms.
        if monitor.updates != updates and not self.supervisor.joint_state_fault(message.now):
            self._standing.update(buffer.q, buffer.joints, clock)
            self._execution.update(self._standing, clock)
        return hold

    # -- before the adjustment --

    def job(
        self,
        desired: DesiredTrajectory,
        start: float,
        settings: FilterSettings,
        clock: float,
        now: float,
        owner: object = None,
    ) -> Job:
        """Check a trajectory; ``start`` is its stamp, 0 without one.

        Raises:
            TrajectoryError: the trajectory is invalid, does not start at the current joint state,
                or that is unknown.
        """
        if len(desired.positions) > settings.max_points:
            raise TrajectoryError(
                f"has {len(desired.positions)} points; max_points allows {settings.max_points}"
            )
        if fault := self.supervisor.joint_state_fault(now):
            raise TrajectoryError(
                f"cannot be checked, since the present joint state is not known: {fault}"
            )
        present = self.supervisor.positions()
        motion = checked(
            desired,
            self.arm_joints,
            present,
            settings.start_tolerance,
            self._velocity_limits,
            (settings.acceleration_limits, settings.jerk_limits),
            self._endless,
        )
        yielding, notes = self._yielding(motion, settings)
        self._refuse_while_others_move(motion.joint_names, clock)
        if start != 0.0 and abs(ahead := start - clock) > OTHER_CLOCK:
            when = f"starts in {ahead:.4g} s" if ahead > 0.0 else f"started {-ahead:.4g} s ago"
            raise TrajectoryError(
                f"{when} by its stamp, at most {OTHER_CLOCK:g} s are accepted: is it of another "
                "clock (use_sim_time)?"
            )
        asked, settings = settings, replace(settings, yielding=yielding)
        if below := self.supervisor.below():
            # These must not come closer than they are now, and must end farther apart: without a
            # way out the only remedy would be a restart. All others keep their distances.
            leaving = {pair: max(0.0, distance - _EASE) for pair, distance in below.items()}
            settings = replace(settings, leaving=leaving)
            notes.append(f"{self.supervisor.nearest}: only motions that separate them are accepted")
        events = self.supervisor.events
        return Job(
            motion, present, start, asked, settings, tuple(notes), events, now, owner,
            received=clock,
        )  # fmt: skip

    def _yielding(self, motion: Motion, settings: FilterSettings) -> tuple[str, list[str]]:
        """The arm that is adjusted: an arm that is not named is held."""
        named = []
        for arm in self.arms:
            there = [name for name in arm.joint_names if name in motion.joint_names]
            if there and len(there) < len(arm.joint_names):
                missing = [name for name in arm.joint_names if name not in there]
                raise TrajectoryError(
                    f"names {len(there)} of the {len(arm.joint_names)} joints of '{arm.name}', "
                    f"but not {shortened(missing)}: all joints of an arm or none"
                )
            if there:
                named.append(arm)
        notes = [
            f"'{arm.name}' is not named and is held at its position"
            for arm in self.arms
            if arm not in named
        ]
        return named[0].name if notes and len(named) == 1 else settings.yielding, notes

    def _refuse_while_others_move(self, names: Sequence[str], clock: float) -> None:
        if not self.running(clock):
            return
        others = [name for name in self._execution.joint_names if name not in names]
        left = self._execution.planned_end - clock
        how = f"for {left:.3g} s" if left > 0.0 else "to its goal, later than planned"
        if others:
            raise TrajectoryError(
                f"does not name {shortened(others)}, which an earlier trajectory still moves "
                f"{how}: name these joints too, or wait"
            )

    # -- the adjustment --

    def adjust(self, job: Job) -> Adjustment:
        """Adjust a motion; call it in one thread only.

        Raises:
            AdjustmentError and other CollisionMonitorError: there is no safe adjustment.
        """
        moved = job.motion.joint_names
        return adjust(
            self._model,
            job.motion,
            self.arms,
            job.settings,
            held={name: value for name, value in job.held.items() if name not in moved},
            cancelled=job.cancelled.is_set,
        )

    # -- after the adjustment --

    def release(
        self, job: Job, motion: Motion, settings: FilterSettings, clock: float, now: float
    ) -> Release:
        """Release an adjusted ``motion``, which counts as being executed from now on.

        ``settings``: the present ones.

        Raises:
            TrajectoryError: the robot has moved or settings were changed since the trajectory was
                received, or the joint state is unknown.
        """
        _require_valid(motion, job.motion.joint_names)
        _refuse_if_changed(job.asked, settings)
        if fault := self.supervisor.joint_state_fault(now):
            raise TrajectoryError(f"during adjustment the joint state was lost: {fault}")
        if job.start > job.received and (seconds := job.set_back(clock)) > 0.0:
            raise TrajectoryError(
                f"the clock was set back by {seconds:.3g} s before its start: send it again"
            )
        if self.supervisor.events != job.events:
            raise TrajectoryError("during adjustment the arms came closer than danger_distance")
        present = self.supervisor.positions()
        motion = self._beginning_at(present, motion)
        self._refuse_if_moved(job, motion, present)
        self._refuse_while_others_move(motion.joint_names, clock)
        notes = list(job.notes)
        if job.start != 0.0 and job.start < clock - _LATE:
            late = clock - job.start
            notes.append(f"its start time is {late:.3g} s in the past; it starts now")
        goal = dict(zip(motion.joint_names, motion.positions[-1].tolist(), strict=True))
        end, tolerance = clock + motion.duration, job.settings.start_tolerance
        self._before = self._execution
        near = (np.abs(motion.positions - motion.positions[-1]) <= tolerance).all(axis=1)
        passes_goal = bool((np.diff(near.astype(int)) < 0).any())
        self._execution = Execution(
            motion.joint_names, clock, end, goal, tolerance, passes_goal, self._endless
        )
        self._sent_before = self._sent
        self._sent = self._sent | dict.fromkeys(motion.joint_names, self._execution)
        self.supervisor.allow_leaving()
        return Release(motion, tuple(notes))

    def _beginning_at(self, present: Mapping[str, float], motion: Motion) -> Motion:
        """The motion in the turns in which the driver reports endless joints now."""
        names, first = motion.joint_names, motion.positions[0]
        here = np.array([present[name] for name in names])
        turns = whole_turns(first, here, np.isin(names, list(self._endless)))
        return replace(motion, positions=motion.positions + turns) if turns.any() else motion

    def _refuse_if_moved(self, job: Job, motion: Motion, present: Mapping[str, float]) -> None:
        tolerance = job.settings.start_tolerance
        started = dict(zip(motion.joint_names, motion.positions[0].tolist(), strict=True))
        before = {name: job.held[name] for name in self._still if name not in started}
        for expected in (started, before):
            moved = {
                name: abs(float(apart(present[name], position, name in self._endless)))
                for name, position in expected.items()
            }
            name = max(moved, key=moved.__getitem__, default="")
            if moved.get(name, 0.0) > tolerance:
                raise TrajectoryError(
                    f"during adjustment joint '{name}' moved by {moved[name]:.3g}; "
                    f"start_tolerance is {tolerance:g}"
                )

    def running(self, clock: float) -> bool:
        """Whether a released motion is being executed, as joint states or its controller show."""
        return self._execution.running(clock) or self.is_open()

    def joints_to_hold(self, clock: float, always: bool = False) -> tuple[str, ...]:
        """Joints of every arm that may move, although it is not known to stand.

        An arm that was sent anything is known to stand only where it was sent last: one that stands
        elsewhere may be paused, and go on.

        Args:
            clock: time of the clock of stamps.
            always: of any arm; otherwise of those that were sent anything. If all are known to
                stand, all are held.
        """
        executed = self._execution.joint_names if self.running(clock) else ()
        arms = [arm for arm in self.arms if always or set(arm.joint_names) & self._sent.keys()]
        moving = [
            arm for arm in arms
            if set(arm.joint_names) & set(executed) or not self._is_known_to_stand(arm, clock)
        ]
        if always and not moving:
            moving = arms
        return tuple(name for arm in moving for name in arm.joint_names)

    def _is_known_to_stand(self, arm: Arm, clock: float) -> bool:
        for name in arm.joint_names:
            sent = self._sent.get(name)
            if sent is not None and not sent.is_at_goal(name, self._standing.position(name)):
                return False
        return self._standing.stands(arm.joint_names, clock)

    def start_stream(
        self, clock: float, seconds: float, goal: Mapping[str, float], tolerance: float
    ) -> None:
        """Report that all arms are moved to ``goal`` by other commands, for this long."""
        self._execution = Execution(self.arm_joints, clock, clock + seconds)
        self._before = Execution()
        sent = Execution(goal=goal, tolerance=tolerance, endless=self._endless)
        self._sent = self._sent_before = dict.fromkeys(self.arm_joints, sent)
        self.supervisor.allow_leaving()

    def mark_finished(self) -> None:
        """Report that no motion is being executed."""
        self._execution, self._before = Execution(self._execution.joint_names), Execution()

    def restore_previous(self) -> None:
        """Report that the last release is not executed; the previous one still is."""
        self._execution, self._sent = self._before, self._sent_before


def _refuse_if_changed(asked: FilterSettings, present: FilterSettings) -> None:
    present = replace(present, max_points=asked.max_points)  # no matter once it is read
    for name in (each.name for each in fields(asked)):
        before, after = getattr(asked, name), getattr(present, name)
        if before != after:
            raise TrajectoryError(
                f"during adjustment {name} was changed from {before} to {after}: send it again"
            )


def _require_valid(motion: Motion, joint_names: Sequence[str]) -> None:
    """Final check of a motion for a controller, independent of earlier results."""
    sound = (
        tuple(motion.joint_names) == tuple(joint_names)
        and motion.positions.shape == (len(motion.times), len(joint_names))
        and len(motion.times) > 0
        and bool(np.isfinite(motion.positions).all())
        and bool(np.isfinite(motion.times).all())
        and bool((np.diff(np.round(motion.times * NANO)) > 0.0).all())  # as in a message
    )
    if not sound:
        raise CollisionMonitorError(
            "internal error: the adjusted motion is not a trajectory of the same joints"
        )

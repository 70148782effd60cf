# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Collision-free adjustment of arm motions: `adjust` and its result."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from collision_monitor.common.text import MOST_NAMED, metres, shortened, time_text
from collision_monitor.errors import (
    AdjustmentError,
    ConfigurationError,
    MotionError,
    NothingToCheckError,
)
from collision_monitor.monitoring.settings import STOPPING_SECONDS
from collision_monitor.motion.robot_joints import SAME_POSITION
from collision_monitor.motion.trajectory import NANO, Motion, Trajectory
from collision_monitor.robot.bodies import link_poses
from collision_monitor.self_collision.arms import Arm, find_chains
from collision_monitor.self_collision.field.repulsion_field import adjust_published
from collision_monitor.self_collision.margins import (
    Margins,
    Problem,
    check_arms,
    choose_margins,
    sides,
    yielding_arms,
)
from collision_monitor.self_collision.motion_clearance import (
    FieldAlong,
    failures,
    field_along,
    start_limits,
)
from collision_monitor.self_collision.possible_distances import add_possible_distances, is_at_an_end
from collision_monitor.self_collision.preparation import (
    checked,
    configurations,
    limited,
    moving_scene_joint,
    refined,
    velocity_limits,
)
from collision_monitor.self_collision.retiming import retime
from collision_monitor.self_collision.robust.detour import Effort
from collision_monitor.self_collision.robust.sqp_adjustment import SqpAdjustment
from collision_monitor.self_collision.settings import RATE_LIMITS, AdjustmentSettings, limit_of
from collision_monitor.self_collision.stepper import BUFFER
from collision_monitor.verification.clearance.clearance_check import (
    Certifier,
    CollisionVerdict,
    check_clearance,
)
from collision_monitor.verification.clearance.schedule import (
    UNMOVED,
    Schedule,
    moved_relatively,
    rest_configuration,
)
from collision_monitor.verification.joint_limits_check import step_durations

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

_FINER = 4  # factor for the number of waypoints if the given ones allow no solution
_MOST_FINE = 1500  # waypoints
_ATTEMPTS = 3  # each but the first with more waypoints, and farther above limits between them
_LITTLE = 15_000, 3.0, 1.0  # effort of a trial with other distances


class EasedPair(NamedTuple):
    """Links that keep a distance of their own over a whole motion, metres."""

    links: tuple[str, str]
    distance: float
    on_meshes: bool


@dataclass(frozen=True, eq=False)
class Adjustment:
    """The result of `adjust`; n waypoints, of which some may have been inserted.

    Attributes:
        motion: the adjusted and re-timed motion, with the joints of the desired one.
        desired: the desired motion at the same waypoints, with its own times.
        arms: the adjusted arms; of two, the right one first.
        method: ``robust`` or ``field``, as requested.
        joint_change: (n, joints) adjusted minus desired positions, rad or m.
        tip_displacement: (n, arms) displacement of the tips, m.
        index_before: (n,) index F of the desired motion, m; infinite below d_dan.
        index_after: (n,) index F of the adjusted motion, m.
        clearance_before: (n,) minimum leaf distance of the pairs that are kept apart, in the
            desired motion, m.
        clearance: (n,) the same in the adjusted motion, m.
        closest: (n,) the pair of links with this ``clearance``.
        certified: lower bound of the distance between the arms over the whole motion, m; below
            ``safe_distance`` only if the motion starts below it. Excludes eased pairs, such as two
            shoulders (``margins.eased``).
        certified_elsewhere: the same between an arm and all other links and obstacles; below
            ``safe_distance`` if the motion starts or ends closer. inf without such pairs.
        margins: d_saf and d_dan of every pair of the model; for eased pairs ``safe`` is the
            distance that holds over the whole motion.
        pairs: names of the links of each pair of the model.
    """

    motion: Motion
    desired: Motion
    arms: tuple[Arm, ...]
    method: str
    joint_change: np.ndarray
    tip_displacement: np.ndarray
    index_before: np.ndarray
    index_after: np.ndarray
    clearance_before: np.ndarray
    clearance: np.ndarray
    closest: list[tuple[str, str]]
    certified: float
    certified_elsewhere: float
    margins: Margins
    pairs: list[tuple[str, str]]

    @property
    def changed(self) -> bool:
        """Whether the motion is not the desired one: other positions, or slower."""
        return self.largest_change > 0.0 or self.motion.duration > self.desired.duration

    def eased(self) -> list[EasedPair]:
        """The eased pairs with the distance that each keeps, the least first."""
        margins = self.margins
        pairs = np.flatnonzero((margins.safe > -np.inf) & ~margins.kept)
        return [
            EasedPair(self.pairs[k], float(margins.safe[k]), bool(margins.on_meshes[k]))
            for k in pairs[np.argsort(margins.safe[pairs], kind="stable")]
        ]

    @property
    def largest_change_at(self) -> tuple[int, int]:
        """Waypoint and joint of the largest change."""
        return np.unravel_index(np.abs(self.joint_change).argmax(), self.joint_change.shape)

    @property
    def largest_change(self) -> float:
        """Largest change of a joint, rad or m."""
        return float(np.abs(self.joint_change[self.largest_change_at]))

    @property
    def largest_step(self) -> float:
        """Largest step of a joint between waypoints of the adjusted motion, rad or m."""
        return float(np.abs(np.diff(self.motion.positions, axis=0)).max(initial=0.0))


def adjust(
    model: CollisionModel,
    motion: Motion,
    arms: Sequence[Arm] | Sequence[str] | None = None,
    settings: AdjustmentSettings | None = None,
    *,
    held: Mapping[str, float] | None = None,
    cancelled: Callable[[], bool] | None = None,
    **changes: Any,
) -> Adjustment:
    """Adjust a motion of one or more arms so that it is collision-free over its whole duration.

    Args:
        model: the robot and its scene.
        motion: the desired motion, of joints of all or some arms (the others are held) and any
            other joints, including those of moving obstacles.
        arms: arms, their names (see `find_chains`), or None to detect them.
        settings: distances, method, limits and the like; None for the defaults.
        held: positions of joints that the motion does not name, rad or m; by default those of
            ``motion.held``, 0, or the nearer limit.
        cancelled: polled often, for a caller in another thread; the adjustment ends once it is
            true.
        changes: fields of `AdjustmentSettings`, such as ``safe_distance=0.1``; they replace those
            of ``settings``.

    Raises:
        AdjustmentError: there is no safe adjustment. The error contains the waypoint, the reason
            and the safe part of the motion.
        ArmsError: the arms cannot be determined.
        MotionError: the motion has no waypoints, times that do not increase, values that are not
            finite, duplicate or unknown joints, or positions beyond their limits. A motion that
            starts at most 0.01 rad or m beyond a limit may stay that far beyond it.
        ConfigurationError: a setting is invalid.
        TypeError: one of the ``changes`` is not a field of the settings.
        NothingToCheckError: no checked pair contains a link of an arm.
        MissingDependencyError: a solver is not installed.
        CancelledError: ``cancelled`` was true.
    """
    settings = replace(settings or AdjustmentSettings(), **changes)
    if not arms or not all(isinstance(arm, Arm) for arm in arms):
        arms = find_chains(model.robot, model.semantics, arms)
    arms = tuple(arms)
    check_arms(arms, settings.method, settings.yielding)
    # Joints that the motion does not name are held as in `verify`, regardless of the limits.
    rest = rest_configuration(model, {**motion.held, **(held or {})})
    given = checked(model, motion)
    if both := [name for name in held or {} if name in given.joint_names]:
        raise ConfigurationError(f"held (--q): {', '.join(both)}: the motion moves this joint")
    start = rest.copy()
    start[model.columns_of(given.joint_names)] = given.positions[0]
    model = limited(model, given.joint_names, start, settings.position_limits, SAME_POSITION)
    # Reports invalid waypoints by their original index.
    desired = configurations(model, given, rest)
    named = set(given.joint_names)
    columns = tuple(model.columns_of(filter(named.__contains__, arm.joint_names)) for arm in arms)
    able = _able_arms(settings.yielding, columns, arms)
    changed = np.flatnonzero(np.ptp(desired, axis=0) > 0.0)
    moving = np.union1d(np.concatenate([columns[k] for k in able]), changed)
    unmoved = np.flatnonzero(~moved_relatively(model, moving))
    _refuse_contact_at(model, desired[0], unmoved, 0, float(given.times[0]), UNMOVED)
    task = _Task(model, given, arms, columns, rest, able, cancelled)
    outcome = _solve(task, settings)
    if isinstance(outcome, Adjustment):
        return outcome
    if outcome.error.pair is not None and len(given.times) <= _MOST_FINE:

        def trial(safe: float, danger: float) -> AdjustmentError | None:
            changed = replace(settings, safe_distance=safe, danger_distance=danger)
            tried = _solve(task, changed, is_trial=True)
            return None if isinstance(tried, Adjustment) else tried.error

        add_possible_distances(
            outcome.error, trial, settings.safe_distance, settings.danger_distance
        )
    _add_remedies(task, settings, outcome.error)
    raise _renumbered(outcome.error, given, _prefix(task, settings, outcome)) from None


@dataclass(frozen=True, eq=False)
class _Task:
    """The checked arguments of `adjust`.

    Attributes:
        columns: of q, for each arm: the joints that the motion names.
        rest: (nq,) positions of joints that the motion does not name.
        able: indices of the arms that may be changed.
    """

    model: CollisionModel
    given: Motion
    arms: tuple[Arm, ...]
    columns: tuple[np.ndarray, ...]
    rest: np.ndarray
    able: tuple[int, ...]
    cancelled: Callable[[], bool] | None


@dataclass(frozen=True, eq=False)
class _Refusal:
    """An error of a method, and the motion with the waypoints to which it refers."""

    error: AdjustmentError
    motion: Motion


def _solve(
    task: _Task, settings: AdjustmentSettings, is_trial: bool = False
) -> Adjustment | _Refusal:
    """The adjustment, or the error of the last attempt; ``is_trial``: one with little effort."""
    is_robust = settings.method == "robust"
    motion, buffer = refined(task.given), BUFFER
    effort, attempts = (Effort(*_LITTLE), 1) if is_trial else (Effort(), _ATTEMPTS)
    while True:
        attempts -= 1
        problem, rates = _problem(task, settings, motion)
        work = SqpAdjustment(problem, buffer, effort) if is_robust else None
        try:
            adjusted = work.run() if work else adjust_published(problem)
            _refuse_contact(problem, adjusted)
        except AdjustmentError as error:
            # More waypoints may help the method robust, except at the ends, and where the search
            # for a detour, which does not depend on them, has ended.
            is_over = not (work and attempts) or is_at_an_end(error) or work.is_stuck
            if is_over or _FINER * len(motion.times) > _MOST_FINE:
                return _Refusal(error, motion)
            motion, buffer = refined(motion, _FINER), 4.0 * BUFFER
            effort.smoothing = Effort.smoothing
            continue
        limits = work.limits if work else problem.margins.safe[None, :]
        adjustment = _report(problem, motion, settings.method, adjusted, limits)
        return _retimed(task.model, adjustment, rates) if settings.retime else adjustment


def _retimed(
    model: CollisionModel, adjustment: Adjustment, rates: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> Adjustment | _Refusal:
    """The adjustment within ``rates``, as of `_problem`, or the error if obstacles prevent it."""
    desired, adjusted = adjustment.desired, adjustment.motion
    times = retime(desired.times, adjusted.positions, *rates, desired=desired.positions)
    if slowed := _slowed_obstacles(model, desired, times):
        return _Refusal(slowed, desired)
    return replace(adjustment, motion=replace(adjusted, times=times))


def _problem(
    task: _Task, settings: AdjustmentSettings, motion: Motion, ends: bool = True
) -> tuple[Problem, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The problem of a method, and the velocity, acceleration and jerk limits (joints,).

    ``ends``: see `choose_margins`.
    """
    model, arms = task.model, task.arms
    desired = configurations(model, motion, task.rest)
    speeds = velocity_limits(model, settings.velocity_limits)
    rates = _rate_limits(model, motion, settings, speeds)
    able = np.concatenate([task.columns[k] for k in task.able])
    margins = choose_margins(
        model, arms, desired, settings.safe_distance, settings.danger_distance, able, ends,
        leaving=settings.leaving,
    )  # fmt: skip
    if settings.method != "robust" and not settings.every_pair:
        between = sides(model, arms).between  # as in the paper
        safe, danger = (
            np.where(between, limits, -np.inf) for limits in (margins.safe, margins.danger)
        )
        margins = replace(Margins.plain(safe, danger), eased=margins.eased)
    if not (margins.safe > -np.inf).any():
        names = " or ".join(f"'{arm.name}'" for arm in arms)
        raise NothingToCheckError(
            f"'{model.name}': no pair of links is checked in which {names} takes part"
        )
    problem = Problem(
        model, arms, motion.times, desired, task.columns, margins, task.able,
        settings.tip_weight, task.cancelled, speeds,
    )  # fmt: skip
    return problem, rates


def _slowed_obstacles(
    model: CollisionModel, motion: Motion, times: np.ndarray
) -> AdjustmentError | None:
    """The error if re-timing would slow down moving obstacles."""
    joint = moving_scene_joint(model, motion.joint_names, motion.positions)
    if not joint or np.array_equal(times, motion.times):
        return None
    # `retime` rounds intervals up to nanoseconds.
    k = int(np.argmax(np.diff(times) > np.diff(motion.times) + 1.0 / NANO))
    return AdjustmentError(
        f"waypoint {k} at {time_text(motion.times[k])}: from there joints are too fast, and the "
        f"obstacles that '{joint}' moves cannot be slowed down",
        k, float(motion.times[k]),
    )  # fmt: skip


def _refuse_contact(problem: Problem, adjusted: np.ndarray) -> None:
    """Raise AdjustmentError if any pair of the model touches, or may touch, along the motion."""
    model, times = problem.model, problem.times
    motion = Trajectory.through(model.joint_names, times, adjusted)
    if Certifier(model).certify(Schedule(model, motion)):
        return
    every = np.arange(len(model.pairs))
    for k, end in ((0, "start"), (len(times) - 1, "goal")):
        reason = f"the {end} may not be changed"
        _refuse_contact_at(model, adjusted[k], every, k, float(times[k]), reason)
    check = check_clearance(model, motion, exact=True)
    if check.ok:
        return
    (a, b), time = check.pair, float(times[0]) + check.time
    waypoint = int(np.searchsorted(times, time, side="right")) - 1
    touch = "touch" if check.verdict is CollisionVerdict.COLLIDES else "may touch"
    distance = next(each.lower for each in check.series.minima if each.pair == check.pair)
    raise AdjustmentError(
        f"waypoint {waypoint} at {time_text(time)}: '{a}' and '{b}' {touch} during the motion; the "
        "adjusted joints cannot separate them, or no detour was found",
        waypoint, time, (a, b), distance, adjusted[: waypoint + 1],
    )  # fmt: skip


def _refuse_contact_at(
    model: CollisionModel, q: np.ndarray, pairs: np.ndarray, waypoint: int, time: float, reason: str
) -> None:
    """Raise AdjustmentError if ``pairs`` (k,) of the model touch at the ``waypoint`` ``q`` (nq,).

    Other waypoints cannot help, so the error has no prefix (`is_at_an_end`).
    """
    near = pairs[~(model.distances(q)[pairs] > 0.0)]
    if not len(near) or (model.surface_distances(q, near) > 0.0).all():
        return
    distances = model.distances(q, exact=True)
    deepest = near[distances[near].argmin()]
    (a, b), distance = model.pairs[deepest], float(distances[deepest])
    raise AdjustmentError(
        f"waypoint {waypoint} at {time_text(time)}: '{a}' and '{b}' are in contact, at most "
        f"{metres(-distance)} deep; {reason}", waypoint, time, (a, b), distance,
    )  # fmt: skip


# -- inputs --


def _able_arms(
    yielding: str, columns: Sequence[np.ndarray], arms: Sequence[Arm]
) -> tuple[int, ...]:
    """Indices of the arms that give way: of ``yielding``, or the only one that the motion names."""
    moved = [k for k, own in enumerate(columns) if len(own)]
    if not moved:
        raise MotionError(
            f"the motion names no joint of {' or '.join(repr(arm.name) for arm in arms)}: "
            f"{shortened([name for arm in arms for name in arm.joint_names], MOST_NAMED)}"
        )
    asked = yielding_arms(arms, yielding)
    if not set(asked) & set(moved):
        raise ConfigurationError(
            f"yielding: the {yielding} arm is to give way, but the motion names none of its joints"
        )
    return (moved[0],) if len(moved) == 1 else asked


# -- results --


def _rate_limits(
    model: CollisionModel, motion: Motion, settings: AdjustmentSettings, speeds: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Velocity, acceleration and jerk limits (joints,) of a motion; inf means no limit.

    ``speeds``: (nq,) velocity limits.
    """
    for option in RATE_LIMITS:
        limits = getattr(settings, option)
        for name in limits if isinstance(limits, Mapping) else ():
            if name not in model.joint_names:
                raise ConfigurationError(f"{option}: '{model.name}' has no joint '{name}'")
    names = motion.joint_names
    velocity = speeds[model.columns_of(names)]
    spans = np.diff(motion.times)
    rates = np.diff(motion.positions, axis=0) / spans[:, None]
    changes = np.diff(rates, axis=0) / step_durations(spans)[1:-1, None]
    desired = np.abs(changes).max(axis=0, initial=0.0)
    # Obstacles that move cannot be slowed: a limit that nobody gave would only refuse motions.
    moving = moving_scene_joint(model, names, motion.positions)
    usable = np.isfinite(velocity) & (moving is None)
    ramp = np.where(usable, np.maximum(desired, velocity / STOPPING_SECONDS), np.inf)
    acceleration, jerk = (
        np.array([limit_of(limits, *each) for each in zip(names, usual, strict=True)])
        for limits, usual in (
            (settings.acceleration_limits, ramp.tolist()),
            (settings.jerk_limits, [math.inf] * len(names)),
        )
    )
    return velocity, acceleration, jerk


def _add_remedies(task: _Task, settings: AdjustmentSettings, error: AdjustmentError) -> None:
    """Name options that would allow more, except at the start and the goal, which never change."""
    if error.pair is None or is_at_an_end(error):
        return
    pair = task.model.pairs.index(error.pair)
    still = [
        arm.name
        for k, (arm, own) in enumerate(zip(task.arms, task.columns, strict=True))
        if k not in task.able and moved_relatively(task.model, own)[pair]
    ]
    if still:
        error.add(
            f"; yielding is {settings.yielding!r}: with 'both', "
            f"{' and '.join(map(repr, still))} may give way too"
        )
    if settings.method != "robust":
        error.add("; try method robust")


def _renumbered(error: AdjustmentError, given: Motion, prefix: Motion | None) -> AdjustmentError:
    """The error with waypoint indices of the ``given`` motion, and with its safe ``prefix``."""
    k = max(int(np.searchsorted(given.times, error.time, side="right")) - 1, 0)
    place = f"waypoint {k} at" if error.time == given.times[k] else f"behind waypoint {k} at"
    _, _, text = str(error).partition(" at ")
    renumbered = AdjustmentError(
        f"{place} {text}", k, error.time, error.pair, error.distance, prefix
    )
    renumbered.possible = error.possible
    return renumbered


def _prefix(task: _Task, settings: AdjustmentSettings, refusal: _Refusal) -> Motion | None:
    """The longest safe prefix: that of the error, or of the desired motion.

    It is certified as a result is, at the distances of a motion that does not reach the goal: only
    links that start nearer than d_saf may stay so.
    """
    motion, prefix = refusal.motion, refusal.error.safe_prefix
    if prefix is None and refusal.error.pair is None:
        return None
    problem, _ = _problem(task, settings, motion, ends=False)
    safe, proximity = problem.margins.safe, problem.proximity
    if prefix is None:
        if len(proximity.near(problem.desired[0], safe).pairs):
            return None
        prefix = problem.desired
    limits = start_limits(proximity, prefix[0], safe)
    if bad := failures(proximity, prefix, limits, first_only=True):
        prefix = prefix[: bad[0].segment + 1]
    prefix = prefix[: _free_rows(problem, prefix)]
    if not len(prefix):
        return None
    columns = problem.model.columns_of(motion.joint_names)
    return Motion(motion.joint_names, motion.times[: len(prefix)], prefix[:, columns])


def _free_rows(problem: Problem, waypoints: np.ndarray) -> int:
    """Number of leading ``waypoints`` (n, nq) that are certified to be free of contact."""
    model, certifier = problem.model, Certifier(problem.model)

    def touches(count: int) -> bool:
        motion = Trajectory.through(model.joint_names, problem.times[:count], waypoints[:count])
        return not certifier.certify(Schedule(model, motion))

    if not len(waypoints) or not touches(len(waypoints)):
        return len(waypoints)
    return bisect_left(range(1, len(waypoints) + 1), True, key=touches)


def _report(
    problem: Problem, motion: Motion, method: str, adjusted: np.ndarray, limits: np.ndarray
) -> Adjustment:
    """The adjustment with the desired times; ``limits`` (n - 1 or 1, pairs) are certified."""
    model, proximity = problem.model, problem.proximity
    columns = model.columns_of(motion.joint_names)
    positions = adjusted[:, columns]
    tips = [arm.tip_link for arm in problem.arms]
    there, wanted = (link_poses(model.bodies, tips, rows) for rows in (adjusted, problem.desired))
    moved = [np.linalg.norm(there[t][:, :3, 3] - wanted[t][:, :3, 3], axis=1) for t in tips]
    margins, kinds = problem.margins, sides(model, problem.arms)
    least = np.minimum(margins.safe, limits.min(axis=0))  # less where a start is led out
    before = field_along(proximity, margins, problem.desired)
    changed, after = (adjusted != problem.desired).any(axis=1), FieldAlong(*map(np.copy, before))
    for values, new in zip(after, field_along(proximity, margins, adjusted[changed]), strict=True):
        values[changed] = new
    return Adjustment(
        motion=Motion(motion.joint_names, motion.times, positions),
        desired=motion,
        arms=problem.arms,
        method=method,
        joint_change=positions - problem.desired[:, columns],
        tip_displacement=np.column_stack(moved),
        index_before=before.index,
        index_after=after.index,
        clearance_before=before.clearance,
        clearance=after.clearance,
        closest=[model.pairs[pair] for pair in after.closest],
        certified=float(limits[:, margins.kept & kinds.between].min(initial=np.inf)),
        certified_elsewhere=float(limits[:, margins.kept & kinds.outside].min(initial=np.inf)),
        margins=replace(margins, safe=np.where(margins.eased, least, margins.safe)),
        pairs=list(model.pairs),
    )

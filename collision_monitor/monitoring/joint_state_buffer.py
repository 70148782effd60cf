# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states, merged by name into one configuration with checks of age and plausibility."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from collision_monitor.common.limits import LARGEST_OF_JOINT, LATEST_STAMP
from collision_monitor.common.text import shortened
from collision_monitor.errors import JointStateError
from collision_monitor.monitoring.doubtful_positions import SLACK, ConflictWatch, ZeroConfirmation
from collision_monitor.monitoring.joint_history import CLOCK_SECONDS
from collision_monitor.monitoring.publisher_watch import MOST_LISTS
from collision_monitor.monitoring.settings import MonitorSettings
from collision_monitor.robot.angles import whole_turns


def require_positions(names: Sequence[str], positions: Sequence[float]) -> None:
    """Raise JointStateError, with the names, unless there is a position for each name."""
    if len(names) != len(positions):
        text = f"joint state with {len(names)} names but {len(positions)} positions"
        raise JointStateError(f"{text}; received: {shortened(names) or 'none'}", "length")


class JointState(NamedTuple):
    """A joint state message with its times. All times are seconds.

    Attributes:
        names: joint names.
        positions: radians or metres, one for each name.
        now: time of the steady clock at which it was received.
        stamp: time in its header; 0 if it has none.
        lag: age when it was received, by its stamp; 0 if unknown.
        velocities: rad/s or m/s; ignored if their number differs from that of the positions.
    """

    names: Sequence[str]
    positions: Sequence[float] | np.ndarray
    now: float
    stamp: float = 0.0
    lag: float = 0.0
    velocities: Sequence[float] = ()


class _Layout(NamedTuple):
    """Indices of the monitored joints in messages with one list of names."""

    source: np.ndarray  # indices into the message
    target: np.ndarray  # indices into q, ascending
    in_order: bool  # whether the positions of the message are exactly those entries, in order


class JointStateBuffer:
    """The latest position of every joint.

    Messages may come from several publishers and contain some or all joints in any order.

    Positions of endless joints are moved by whole turns next to the previous ones, so that neither
    a driver that reports them within half a turn nor noise there looks like a motion.

    Attributes:
        joint_names: the joints of q.
        q: latest positions, (nq,); those of endless joints without jumps.
        velocities: of the driver, (nq,); NaN where there are none.
        unknown_names: joints in messages that the robot does not have.
        behind: seconds by which the last message was older than the previous one, if it was
            ignored for that; otherwise 0.
        set_back: the same, if a clock must have been set back; otherwise 0.
        joints: those whose positions are of the last message, as indices into q; None for all.
    """

    def __init__(
        self,
        joint_names: Sequence[str],
        velocity_limits: Sequence[float] | np.ndarray,
        known_names: Collection[str] = (),
        zero_confirmation: float = MonitorSettings.zero_state_confirmation,
        endless: np.ndarray | bool = False,
    ) -> None:
        """Start empty.

        Args:
            joint_names: the joints of q, in its order.
            velocity_limits: (nq,) rad/s or m/s; may be infinite.
            known_names: further joints of the robot, such as mimic joints.
            zero_confirmation: seconds for which a joint state of only zeros must repeat before it
                is accepted, at the start, and ten times as long where joints were known elsewhere:
                after a loss, a change of publishers or a jump. Some drivers send zeros until they
                have read the encoders.
            endless: (nq,) bool, joints of which a whole turn changes no pose.
        """
        count = len(joint_names)
        self._endless = np.broadcast_to(endless, count)
        self._turns = np.zeros(count)  # rad added to the positions of messages
        self._has_turns = False
        self.joint_names = tuple(joint_names)
        self.unknown_names: set[str] = set()
        self.q = np.zeros(count)
        self.velocities = np.full(count, np.nan)
        self._has_velocities = False
        self._rank = {name: k for k, name in enumerate(joint_names)}
        self._known = {*joint_names, *known_names}
        self._conflict = ConflictWatch(joint_names, velocity_limits)
        self._is_known = np.zeros(count, dtype=bool)
        self._stamps = np.zeros(count)
        self._received = np.full(count, -np.inf)
        self._measured_at = np.full(count, -np.inf)  # time of measurement by the steady clock
        self._previous_q = np.zeros(count)  # position before the last
        self._layout = lru_cache(MOST_LISTS)(self._new_layout)
        self._oldest_measured_at = -math.inf  # minimum of _measured_at
        # The last message, if it contained all of q.
        self._last_values: tuple[float, ...] | None = None
        self._last_names: Sequence[str] = []
        self._last_source = np.empty(0, dtype=int)
        self._last_in_order = False
        self._stamp = 0.0
        self._zeros = ZeroConfirmation(count, zero_confirmation)
        self._is_complete = count == 0
        self.behind = self.set_back = 0.0
        self.joints: np.ndarray | None = None

    def update(self, message: JointState) -> None:
        """Merge a joint state.

        Raises:
            JointStateError: the numbers of names and positions differ, a joint appears twice, no
                joint belongs to this robot, a position is not finite, a position or a velocity is
                above 1e9, or the stamp is negative or in the future. Nothing of the message is
                used.
        """
        names, positions, now, stamp, lag, velocities = message
        require_positions(names, positions)
        if len(velocities) != len(positions):
            velocities = ()
        self.behind = self.set_back = 0.0
        if self._update_ordinary(message, velocities):
            return
        layout = self._layout(tuple(names))
        target, source = layout.target, layout.source
        values = np.asarray(positions, dtype=float)[source]
        given = np.full(len(source), np.nan)
        if len(velocities):
            given = np.asarray(velocities, dtype=float)[source]
        _require_values(values, given, [self.joint_names[k] for k in target])
        _require_stamp(stamp, lag)
        zeros = not values.any()
        if stamp > 0.0:
            behind = self._stamps[target] - stamp
            fresh = (behind <= 0.0) | (behind > CLOCK_SECONDS)
            self.set_back = float(behind.max()) if (behind > CLOCK_SECONDS).any() else 0.0
            if not fresh.all():
                if not fresh.any():
                    self.behind = float(behind.min())
                values, given, target = values[fresh], given[fresh], target[fresh]
        held, was_known = self.q[target], self._is_known[target]
        elsewhere = bool((np.abs(self.reported[target[was_known]]) > SLACK).any())
        turns = whole_turns(values, held, self._endless[target] & was_known)
        self._turns[target] = turns
        self._has_turns = bool(self._turns.any())
        values = values + turns
        steps = values - held, held - self._previous_q[target]
        seconds = now - self._received[target]
        if zeros and len(target) == len(self.q):
            impossible = self._conflict.is_impossible(steps[0], target, seconds).any()
            self._zeros.doubt(np.broadcast_to(impossible, len(self.q)), now)
        self._conflict.update(self.q, steps, target, seconds, now)
        self._previous_q[target] = self.q[target]
        self.q[target] = values
        self._has_velocities |= len(velocities) > 0
        if self._has_velocities:
            self.velocities[target] = given
        self._stamps[target] = stamp
        self._received[target] = now
        self._measured_at[target] = now - max(lag, 0.0)
        self._is_known[target] = True
        self._oldest_measured_at = float(self._measured_at.min()) if len(self._measured_at) else now
        self._zeros.update(target, zeros, elsewhere, now)
        self._is_complete = bool(self._is_known.all()) and not self._zeros.waiting.any()
        self.joints = target if len(target) < len(self.q) else None
        whole = self._is_complete and self.joints is None
        self._last_values = tuple(map(float, positions)) if whole else None
        if whole:
            self._last_names = tuple(names) if type(names) is tuple else list(names)
            self._last_source, self._stamp = layout.source, stamp
            self._last_in_order = layout.in_order

    def take_over(self, old: JointStateBuffer) -> None:
        """Copy the state of joints with the same names from the buffer of another model."""
        shared = [(k, old._rank[n]) for k, n in enumerate(self.joint_names) if n in old._rank]
        if not shared:
            return
        mine, theirs = np.array(shared).T
        for ours, its in zip(self._by_joint(), old._by_joint(), strict=True):
            ours[mine] = its[theirs]
        self._turns[~self._endless] = 0.0
        self._has_turns = bool(self._turns.any())
        self._has_velocities = old._has_velocities
        if self.joint_names == old.joint_names:
            self._conflict = old._conflict
        self._is_complete = bool(self._is_known.all()) and not self._zeros.waiting.any()
        self._oldest_measured_at = float(self._measured_at.min())

    def _by_joint(self) -> tuple[np.ndarray, ...]:
        """All arrays with one entry for each joint."""
        return (
            self.q, self.velocities, self._is_known, self._stamps, self._received,
            self._measured_at, self._previous_q, self._turns, *self._zeros.by_joint(),
        )  # fmt: skip

    def report_loss(self, seconds: float, now: float) -> None:
        """Report that positions older than this were lost: zeros of these joints are doubted."""
        self._doubt(self._are_older(seconds, now), now)

    def report_other_publishers(self, now: float) -> None:
        """Report that a publisher came or is gone: only joints at an accepted 0 may stay there."""
        self._doubt(self._zeros.waiting | ~self._is_known | (self.reported != 0.0), now)

    def _doubt(self, joints: np.ndarray, now: float) -> None:
        self._zeros.doubt(joints, now)
        self._last_values = None  # the next message is not ordinary

    def _update_ordinary(self, message: JointState, velocities: Sequence[float]) -> bool:
        """Merge an ordinary message quickly; return False, without a change, for any other.

        Nearly all messages are ordinary: they contain the same joints as the last one, which are
        all joints, are not older, and differ too little for a jump. `update` has the same result
        for these, but takes several times as long.
        """
        names, positions, now, stamp, lag, _ = message
        if (
            self._last_values is None
            or type(names) is not type(self._last_names)
            or names != self._last_names
            or lag < -CLOCK_SECONDS
            or 0.0 < stamp < self._stamp
            or not 0.0 <= stamp <= LATEST_STAMP
        ):
            return False
        values = tuple(positions)
        if not math.dist(values, self._last_values) <= SLACK:  # NaN fails here as well
            return False
        if any(v > LARGEST_OF_JOINT or v < -LARGEST_OF_JOINT for v in velocities):
            return False
        self.joints = None
        self._previous_q[:] = self.q
        self.q[:] = values if self._last_in_order else np.array(values)[self._last_source]
        if self._has_turns:
            self.q += self._turns
        if len(velocities):
            self._has_velocities = True
            self.velocities[:] = (
                velocities if self._last_in_order else np.array(velocities)[self._last_source]
            )
        elif self._has_velocities:
            self._has_velocities = False
            self.velocities.fill(np.nan)
        self._last_values, self._stamp = values, stamp
        self._oldest_measured_at = now - max(lag, 0.0)
        self._stamps.fill(stamp)
        self._received.fill(now)
        self._measured_at.fill(self._oldest_measured_at)
        return True

    @property
    def reported(self) -> np.ndarray:
        """Latest positions (nq,) in the turns in which the driver reports them."""
        return self.q - self._turns

    def _new_layout(self, names: tuple[str, ...]) -> _Layout:
        ours = [(self._rank[name], k) for k, name in enumerate(names) if name in self._rank]
        unknown = [name for name in names if name not in self._known]
        if len(self.unknown_names) < MOST_LISTS:
            self.unknown_names.update(unknown)
        if not ours:
            if names and not unknown:  # only mimic or fixed joints: not a fault
                return _Layout(np.empty(0, dtype=int), np.empty(0, dtype=int), False)
            raise JointStateError(
                "joint state contains no joint of this robot; received: "
                f"{shortened(names) or 'none'}; expected: {shortened(self.joint_names)}"
            )
        target, source = np.array(sorted(ours)).T.copy()
        if len(set(target.tolist())) < len(target):
            twice = next(name for name in names if names.count(name) > 1 and name in self._rank)
            raise JointStateError(f"joint '{twice}' appears twice in one joint state", "twice")
        in_order = len(source) == len(names) and bool((np.diff(source) > 0).all())
        return _Layout(source, target, in_order)

    def missing(self) -> str:
        """Why there is no configuration; empty if there is one."""
        if self._is_complete:
            return ""
        if not self._is_known.all():
            if not self._is_known.any():
                return "no joint state received yet"
            return f"no joint state yet for {self._names_of(~self._is_known)}"
        return self.unconfirmed()

    def unconfirmed(self) -> str:
        """Which positions are zeros that have not repeated long enough, as a message."""
        if self._is_complete or not (waiting := self._zeros.waiting).any():
            return ""
        of = "" if waiting.all() else f" of {self._names_of(waiting)}"
        return (
            f"joint states{of} are all zeros: accepted once they have repeated for "
            f"{self._zeros.longest:g} s"
        )

    def _names_of(self, joints: np.ndarray) -> str:
        return shortened([self.joint_names[k] for k in np.flatnonzero(joints)])

    def age(self, now: float) -> float:
        """Seconds since the oldest joint position was measured; inf before all are known."""
        return now - self._oldest_measured_at if len(self._measured_at) else 0.0

    def lateness(self, lag: float, now: float) -> float:
        """Age of q in seconds after a message that was ``lag`` old, and may have been ignored."""
        return self.age(now) if self.behind > 0.0 else lag

    def too_old(self, seconds: float, now: float) -> str:
        """Which positions are older than this, as a message; empty if there are none."""
        old = self.older_than(seconds, now)
        if not old:
            return ""
        every = len(old) == len(self.joint_names)
        which = "all joints" if every else shortened(old)
        text = f"joint states are {self.age(now):.2f} s old ({which})"
        oldest = int(self._measured_at.argmin())
        lag = self._received[oldest] - self._measured_at[oldest]
        if not lag > seconds:
            return text
        return (
            f"{text}: stamped {lag:.2f} s before they were received, so check the clocks, and that "
            "use_sim_time is the same on all nodes"
        )

    def older_than(self, seconds: float, now: float) -> list[str]:
        """Joints whose position is older than this."""
        return [self.joint_names[k] for k in np.flatnonzero(self._are_older(seconds, now))]

    def _are_older(self, seconds: float, now: float) -> np.ndarray:
        # Written so that an age of NaN is older.
        return ~(now - self._measured_at <= seconds)

    @property
    def conflict_until(self) -> float:
        """Until when `conflict` is not empty, seconds; -inf without one."""
        return self._conflict.until

    def conflict(self, now: float) -> str:
        """Which joint has two conflicting publishers, as a message; empty if there is none."""
        return self._conflict.text(now)


def no_position(name: str, position: float) -> JointStateError:
    """The error for a position that is not finite."""
    return JointStateError(
        f"position of joint '{name}' is {position}: its driver has not read it, or has no state "
        "interface 'position' for it", "not_finite",
    )  # fmt: skip


def _require_values(positions: np.ndarray, velocities: np.ndarray, names: list[str]) -> None:
    """Raise JointStateError unless all numbers (k,) are possible; NaN is no velocity."""
    if not np.isfinite(positions).all():
        bad = int(np.flatnonzero(~np.isfinite(positions))[0])
        raise no_position(names[bad], positions[bad])
    for what, numbers, most in (
        ("position", positions, LARGEST_OF_JOINT), ("velocity", velocities, LARGEST_OF_JOINT),
    ):  # fmt: skip
        if (large := np.abs(numbers) > most).any():
            bad = int(np.flatnonzero(large)[0])
            raise JointStateError(
                f"{what} of joint '{names[bad]}' is {numbers[bad]:.6g}; at most {most:g} is "
                "possible", "not_finite",
            )  # fmt: skip


def _require_stamp(stamp: float, lag: float) -> None:
    """Raise JointStateError unless a joint state can be of this time; ``lag``: its age, seconds."""
    if stamp < 0.0:
        raise JointStateError(
            f"joint state stamped {stamp:.6g} s, before 1970: leave the stamp 0, or set it to "
            "the time of the measurement", "stamp",
        )  # fmt: skip
    if not stamp <= LATEST_STAMP:
        raise JointStateError(
            f"joint state stamped {stamp:.6g} s; at most {LATEST_STAMP:g} is possible", "future"
        )
    if lag < -CLOCK_SECONDS:
        raise JointStateError(f"joint state stamped {-lag:.1f} s in the future", "future")

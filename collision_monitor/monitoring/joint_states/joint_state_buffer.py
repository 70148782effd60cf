# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states merged by name into one configuration, with checks of age and plausibility."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from collision_monitor.errors import JointStateError
from collision_monitor.monitoring.data_health.clock import FUTURE_SECONDS

# A message this much older than what is held is late; older still, a clock was set back.
_CLOCK_RESET_SECONDS = 1.0
# A joint that jumps faster than this many times its velocity limit (or the fastest of
# arms where none is given) and back at once, this often, has two publishers.
_JUMP_FACTOR, _FASTEST, _JUMP_SLACK = 3.0, 20.0, 0.02
_ALTERNATIONS, _CONFLICT_SECONDS = 3, 1.0
# Different sets of names that are remembered; more come only from a faulty publisher.
_LAYOUTS = 64


class _Layout(NamedTuple):
    """Where the monitored joints stand in messages with one list of names."""

    source: np.ndarray  # entries of the message
    target: np.ndarray  # entries of q, ascending
    in_order: bool  # whether the message's positions are those entries, and no others


def name_some(names: Sequence[str], most: int = 4) -> str:
    """The first few names, and how many more there are."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


class JointStateBuffer:
    """The latest position of every joint, wherever it came from.

    Messages may come from several publishers, name some joints or all, in any
    order. Times are seconds: ``now`` of a steady clock, ``stamp`` of the message's
    header (0 if it has none), ``lag`` how old the message was when it came in.
    """

    touched = (0,)  # which robots the last message was of: there is but one

    def __init__(
        self,
        joint_names: Sequence[str],
        velocity_limits: Sequence[float] | np.ndarray,
        known_names: Collection[str] = (),
        zero_confirmation: float = 0.3,
    ) -> None:
        """Start empty.

        Args:
            joint_names: the joints of q, in its order.
            velocity_limits: of each, rad/s or m/s; may be infinite.
            known_names: further names that are no surprise: mimics and the like.
            zero_confirmation: how long a first state of nothing but zeros must repeat
                before it is taken for a pose, seconds: some drivers send zeros until
                they have read their encoders.
        """
        count = len(joint_names)
        self.joint_names = tuple(joint_names)
        self.zero_confirmation = zero_confirmation
        self.unknown_names: set[str] = set()
        self.q = np.zeros(count)
        self.velocities = np.full(count, np.nan)  # as given; NaN where none are
        self._has_velocities = False
        self._rank = {name: k for k, name in enumerate(joint_names)}
        self._known = {*joint_names, *known_names}
        self._speed = np.minimum(np.asarray(velocity_limits, dtype=float), _FASTEST)
        self._heard = np.zeros(count, dtype=bool)
        self._stamps = np.zeros(count)
        self._received = np.full(count, -np.inf)
        self._born = np.full(count, -np.inf)  # when the position was measured, steady clock
        self._before = np.zeros(count)  # the position before the last
        self._alternations = np.zeros(count, dtype=int)
        self._alternated = np.full(count, -np.inf)
        self._layouts: dict[tuple[str, ...], _Layout] = {}
        self._born_first = -math.inf  # the least of _born
        # The last message, if all of q came from it alone.
        self._last_values: tuple[float, ...] | None = None
        self._last_names: list[str] = []
        self._last_source = np.empty(0, dtype=int)
        self._last_in_order = False
        self._stamp, self._received_last = 0.0, -math.inf
        # Whether the arrays know of it, and the message before it.
        self._is_settled = True
        self._values_before: tuple[float, ...] = ()
        self._last_alternation = -math.inf
        self._zero_since: float | None = None
        self._confirmed = False
        self._behind = self._set_back = 0.0

    def update(
        self,
        names: Sequence[str],
        positions: Sequence[float] | np.ndarray,
        now: float,
        stamp: float = 0.0,
        lag: float = 0.0,
        velocities: Sequence[float] = (),
    ) -> None:
        """Take in one message; velocities of another number than positions are none.

        Raises:
            JointStateError: names and positions of different number, a joint named twice,
                no joint of this robot, a position that is not finite, or a stamp in the
                future. Nothing of such a message is used.
        """
        if len(names) != len(positions):
            raise JointStateError(
                f"joint state with {len(names)} names but {len(positions)} positions", "length"
            )
        if len(velocities) != len(positions):
            velocities = ()
        self._behind = self._set_back = 0.0
        if self._take_ordinary(names, positions, now, stamp, lag, velocities):
            return
        self._settle()
        layout = self._layout(tuple(names))
        values = np.asarray(positions, dtype=float)[layout.source]
        target, source = layout.target, layout.source
        if not np.isfinite(values).all():
            bad = int(np.flatnonzero(~np.isfinite(values))[0])
            raise JointStateError(
                f"position of joint '{self.joint_names[target[bad]]}' is {values[bad]}",
                "not_finite",
            )
        if lag < -FUTURE_SECONDS:
            # Not whose clock is wrong: that is for who has the clock to say.
            raise JointStateError(f"joint state stamped {-lag:.1f} s in the future", "future")
        if stamp > 0.0:
            behind = self._stamps[target] - stamp
            fresh = (behind <= 0.0) | (behind > _CLOCK_RESET_SECONDS)
            self._set_back = float(behind.max()) if (behind > _CLOCK_RESET_SECONDS).any() else 0.0
            if not fresh.all():
                if not fresh.any():
                    self._behind = float(behind.min())
                values, target, source = values[fresh], target[fresh], source[fresh]
        self._watch_for_two_publishers(values, target, now)
        self._before[target] = self.q[target]
        self.q[target] = values
        self._has_velocities |= len(velocities) > 0
        if self._has_velocities:
            given = np.asarray(velocities, dtype=float)[source] if len(velocities) else np.nan
            self.velocities[target] = given
        self._stamps[target] = stamp
        self._received[target] = now
        self._born[target] = now - max(lag, 0.0)
        self._heard[target] = True
        self._born_first = float(self._born.min()) if len(self._born) else now
        if not self._confirmed and self._heard.all():
            self._confirm(now)
        whole = self._confirmed and len(target) == len(self.q)
        self._last_values = tuple(map(float, positions)) if whole else None
        if whole:
            self._last_names, self._last_source, self._stamp = list(names), layout.source, stamp
            self._last_in_order = layout.in_order

    def take_over(self, old: JointStateBuffer) -> None:
        """Know what ``old`` knows of joints of the same names, for another model of the robot."""
        old._settle()
        shared = [(k, old._rank[n]) for k, n in enumerate(self.joint_names) if n in old._rank]
        if not shared:
            return
        mine, theirs = np.array(shared).T
        for ours, its in zip(self._by_joint(), old._by_joint(), strict=True):
            ours[mine] = its[theirs]
        self._has_velocities = old._has_velocities
        self._last_alternation = old._last_alternation
        self._zero_since = old._zero_since
        self._confirmed = old._confirmed and bool(self._heard.all())
        self._born_first = float(self._born.min())

    def _by_joint(self) -> tuple[np.ndarray, ...]:
        """Everything that is kept of each joint, (nq,) each."""
        return (
            self.q, self.velocities, self._heard, self._stamps, self._received, self._born,
            self._before, self._alternations, self._alternated,
        )  # fmt: skip

    def _take_ordinary(
        self,
        names: Sequence[str],
        positions: Sequence[float] | np.ndarray,
        now: float,
        stamp: float,
        lag: float,
        velocities: Sequence[float],
    ) -> bool:
        """Take in what nearly all messages are; False, and nothing done, for any other.

        That is: the same joints as in the last message, all there are, no older than it,
        and so near to it that nothing is a jump at any speed. `update` would do just the
        same, in several times the time.
        """
        if (
            self._last_values is None
            or type(names) is not list
            or names != self._last_names
            or lag < -FUTURE_SECONDS
            or 0.0 < stamp < self._stamp
        ):
            return False
        values = tuple(positions)
        if not math.dist(values, self._last_values) <= _JUMP_SLACK:  # NaN fails here as well
            return False
        self.q[:] = values if self._last_in_order else np.array(values)[self._last_source]
        if velocities:
            self._has_velocities = True
            self.velocities[:] = (
                velocities if self._last_in_order else np.array(velocities)[self._last_source]
            )
        elif self._has_velocities:
            self._has_velocities = False
            self.velocities.fill(np.nan)
        self._values_before, self._last_values = self._last_values, values
        self._born_first = now - max(lag, 0.0)
        self._stamp, self._received_last, self._is_settled = stamp, now, False
        return True

    def _settle(self) -> None:
        """Write into the arrays what ordinary messages have left to be written once."""
        if self._is_settled:
            return
        self._is_settled = True
        self._before[:] = np.array(self._values_before)[self._last_source]
        self._stamps.fill(self._stamp)
        self._received.fill(self._received_last)
        self._born.fill(self._born_first)

    def _layout(self, names: tuple[str, ...]) -> _Layout:
        layout = self._layouts.get(names)
        if layout is None:
            layout = self._new_layout(names)
            if len(self._layouts) >= _LAYOUTS:
                self._layouts.clear()
            self._layouts[names] = layout
        return layout

    def _new_layout(self, names: tuple[str, ...]) -> _Layout:
        ours = [(self._rank[name], k) for k, name in enumerate(names) if name in self._rank]
        unknown = [name for name in names if name not in self._known]
        if len(self.unknown_names) < _LAYOUTS:
            self.unknown_names.update(unknown)
        if not ours:
            if names and not unknown:  # mimics or fixed joints alone: no news, no fault
                return _Layout(np.empty(0, dtype=int), np.empty(0, dtype=int), False)
            raise JointStateError(
                "joint state contains no joint of this robot; received: "
                f"{name_some(names) or 'none'}; expected: {name_some(self.joint_names)}"
            )
        target, source = np.array(sorted(ours)).T.copy()
        if len(set(target.tolist())) < len(target):
            twice = next(name for name in names if names.count(name) > 1 and name in self._rank)
            raise JointStateError(f"joint '{twice}' appears twice in one joint state", "twice")
        in_order = len(source) == len(names) and bool((np.diff(source) > 0).all())
        return _Layout(source, target, in_order)

    def _watch_for_two_publishers(
        self, values: np.ndarray, target: np.ndarray, now: float
    ) -> None:
        held = self.q[target]
        jump = np.abs(values - held)
        possible = _JUMP_FACTOR * self._speed[target] * (now - self._received[target])
        back = self._heard[target] & (jump > possible + _JUMP_SLACK)
        if not back.any():
            return
        back &= np.abs(values - self._before[target]) < 0.25 * jump
        joints = target[back]
        if not len(joints):
            return
        self._last_alternation = now
        again = now - self._alternated[joints] < _CONFLICT_SECONDS
        self._alternations[joints] = np.where(again, self._alternations[joints] + 1, 1)
        self._alternated[joints] = now

    def _confirm(self, now: float) -> None:
        """Trust a complete state, unless it is all zeros and has only just come."""
        if self.q.any():
            self._confirmed = True
            return
        if self._zero_since is None:
            self._zero_since = now
        self._confirmed = now - self._zero_since >= self.zero_confirmation

    @property
    def behind(self) -> float:
        """How much older than what was held the last message was, if it was ignored for it; else 0.

        Seconds between their stamps.
        """
        return self._behind

    @property
    def set_back(self) -> float:
        """How much older it was, if so much that a clock must have been set back; else 0."""
        return self._set_back

    def doubt(self) -> str:
        """Why there is no configuration yet; empty when there is one."""
        if self._confirmed:
            return ""
        if not self._heard.all():
            if not self._heard.any():
                return "no joint state received yet"
            heard = zip(self.joint_names, self._heard, strict=True)
            missing = [name for name, yes in heard if not yes]
            return f"no joint state yet for {name_some(missing)}"
        if not self._confirmed:
            return (
                "the first joint state is all zeros: accepted once it has repeated for "
                f"{self.zero_confirmation:g} s"
            )
        return ""

    def age(self, now: float) -> float:
        """Seconds since the position of the joint heard longest ago was measured."""
        return now - self._born_first if len(self._born) else 0.0

    def lateness(self, lag: float, now: float) -> float:
        """Seconds by which the last message's pose is old, which was ``lag`` old when it came."""
        return lag

    def too_old(self, seconds: float, now: float) -> str:
        """In words that positions are older than that; empty when none is."""
        old = self.older_than(seconds, now)
        if not old:
            return ""
        every = len(old) == len(self.joint_names)
        which = "all joints" if every else name_some(old)
        return f"joint states are {self.age(now):.2f} s old ({which})"

    def older_than(self, seconds: float, now: float) -> list[str]:
        """Joints whose position is older than that."""
        self._settle()
        return [self.joint_names[k] for k in np.flatnonzero(now - self._born > seconds)]

    def conflict(self, now: float) -> str:
        """Which joint two publishers quarrel about; empty when none."""
        if now - self._last_alternation >= _CONFLICT_SECONDS:
            return ""
        self._settle()
        joints = (self._alternations >= _ALTERNATIONS) & (
            now - self._alternated < _CONFLICT_SECONDS
        )
        if not joints.any():
            return ""
        k = int(joints.argmax())
        return (
            f"joint '{self.joint_names[k]}' jumps between {self._before[k]:.4g} and "
            f"{self.q[k]:.4g}: two publishers send conflicting positions"
        )

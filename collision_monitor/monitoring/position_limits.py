# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Positions beyond the limits of the URDF, and mimic joints away from their leaders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from collision_monitor.common.text import shortened
from collision_monitor.monitoring.faults import MOMENT, FaultRegister, Level
from collision_monitor.robot.angles import TURN, whole_turns
from collision_monitor.robot.bodies import leading_joint
from collision_monitor.robot.description import Joint, Robot

# Controllers overshoot, and encoders are calibrated, within this: 0.05 rad is what MoveIt allows at
# the start of a motion; a finger or a slide is known to 5 mm.
_TOLERANCE = {"revolute": 0.05, "continuous": 0.05, "prismatic": 0.005}
# So far beyond a limit is no position of the joint: a turning joint would be in another turn, and
# slides are not off by a metre. Degrees and millimetres are.
_IMPOSSIBLE = {"revolute": TURN, "prismatic": 1.0}


class PositionLimits:
    """The limits of joints that have some.

    Attributes:
        beyond: which position is beyond its limit, as a message; empty if there is none.
        is_impossible: whether it is so far beyond that it is no position of the joint.
    """

    def __init__(self, joints: Sequence[Joint]) -> None:
        """``joints``: those of q, in its order."""
        self._joints = joints
        limited = [joint.kind != "continuous" and joint.has_limits for joint in joints]
        self._lower = np.where(limited, [joint.lower for joint in joints], -np.inf)
        self._upper = np.where(limited, [joint.upper for joint in joints], np.inf)
        self._tolerance = np.array([_TOLERANCE[joint.kind] for joint in joints])
        self._impossible = np.array([_IMPOSSIBLE.get(joint.kind, 1.0) for joint in joints])
        # Lists: for the few joints of a robot, a loop is faster than five calls of numpy.
        self._least = (self._lower - self._tolerance).tolist()
        self._most = (self._upper + self._tolerance).tolist()
        self.forget()

    def forget(self) -> None:
        """Forget the positions."""
        self.beyond, self.is_impossible = "", False

    def update(self, q: np.ndarray) -> None:
        """Check positions (nq,)."""
        for position, least, most in zip(q.tolist(), self._least, self._most, strict=True):
            if not least <= position <= most:
                break
        else:
            if self.beyond:
                self.forget()
            return
        excess = np.maximum(self._lower - q, q - self._upper)
        if not (excess > self._tolerance).any():
            self.forget()
            return
        far = excess / self._impossible
        self.is_impossible = bool((far > 1.0).any())
        k = int((far if self.is_impossible else excess / self._tolerance).argmax())
        joint = self._joints[k]
        side, limit = ("lower", joint.lower) if q[k] < joint.lower else ("upper", joint.upper)
        self.beyond = (
            f"position {q[k]:.6g} of joint '{joint.name}' is beyond its {side} limit {limit:.6g}"
        )
        if not self.is_impossible:
            self.beyond += ": pairs that the limit keeps apart are not checked"
        elif joint.kind == "revolute":
            self.beyond += " by more than a turn: positions are in radians, not degrees"
        else:
            self.beyond += " by more than 1 m: positions are in metres, not millimetres"


class _Follower(NamedTuple):
    """A mimic joint at ``gain`` * q[``leader``] + ``offset``, in any turn if it is endless."""

    name: str
    leader: int
    gain: float
    offset: float
    tolerance: float
    endless: bool


class MimicWatch:
    """Compares reported positions of mimic joints with those that their leaders give them.

    Distances are of the latter.
    """

    def __init__(self, robot: Robot, joint_names: Sequence[str]) -> None:
        """``joint_names``: the joints of q, in its order."""
        rank = {name: k for k, name in enumerate(joint_names)}
        self._joint_names = joint_names
        self._followers: dict[str, _Follower] = {}
        for joint in robot.joints:
            leader, gain, offset = leading_joint(joint, robot.joint_named)
            if joint.mimic is not None and leader in rank:
                self._followers[joint.name] = _Follower(
                    joint.name, rank[leader], gain, offset, _TOLERANCE[joint.kind],
                    joint.kind == "continuous",
                )  # fmt: skip
        self._names: Sequence[str] = ()
        self._entries: list[tuple[int, _Follower]] = []  # of messages with these names
        self._heard: set[str] = set()
        self._apart_since: dict[str, float] = {}

    def hear(self, names: Sequence[str]) -> None:
        """Take the names of a message."""
        if not self._followers or names is self._names:
            return
        self._names = names
        self._entries = [
            (k, self._followers[name]) for k, name in enumerate(names) if name in self._followers
        ]
        self._heard.update(follower.name for _, follower in self._entries)
        leaders = {self._joint_names[follower.leader] for follower in self._followers.values()}
        self._heard.update(leaders.intersection(names))

    def update(self, positions: Sequence[float] | np.ndarray, q: np.ndarray, now: float) -> str:
        """Compare the positions of the message whose names were taken last.

        Returns which mimic joint is away from where its leader puts it, which counts for
        `MOMENT`; empty if there is none.
        """
        text = ""
        for entry, (name, leader, gain, offset, most, endless) in self._entries:
            expected = gain * q[leader] + offset
            off = positions[entry] - expected
            if endless:  # the driver may report it within half a turn
                off += whole_turns(off, 0.0, True)
            if not abs(off) > most:  # NaN is no position
                self._apart_since.pop(name, None)
            # A finger follows its leader late in motion, but not for this long.
            elif now - self._apart_since.setdefault(name, now) >= MOMENT:
                text = (
                    f"mimic joint '{name}' is at {positions[entry]:.4g}, but its leader "
                    f"'{self._joint_names[leader]}' gives it {expected:.4g}: distances are "
                    "those of the leader's position"
                )
        return text

    def missing(self) -> str:
        """Leaders whose mimic joints alone were received, as a message; empty if there are none."""
        alone = {
            f.name: self._joint_names[f.leader]
            for f in self._followers.values()
            if f.name in self._heard and self._joint_names[f.leader] not in self._heard
        }
        if not alone:
            return ""
        leaders = shortened(dict.fromkeys(alone.values()))
        return f"only {shortened(alone)} was received, which mimics {leaders}"


class PositionWatch:
    """Raises and clears faults of positions that a joint cannot have."""

    def __init__(self, robot: Robot, joints: Sequence[Joint]) -> None:
        """``joints``: those of q, in its order."""
        self._limits = PositionLimits(joints)
        self._mimics = MimicWatch(robot, [joint.name for joint in joints])
        self.hear, self.missing = self._mimics.hear, self._mimics.missing

    def update(
        self, positions: Sequence[float] | np.ndarray, q: np.ndarray, now: float,
        faults: FaultRegister,
    ) -> None:  # fmt: skip
        """Check ``q`` (nq,), and the positions of the message whose names were heard last."""
        limits = self._limits
        limits.update(q)
        if limits.is_impossible:
            faults.put("position", Level.ERROR, "fault", limits.beyond)
        elif limits.beyond or faults.raised:
            faults.put("position", Level.WARN, "position", limits.beyond)
        if text := self._mimics.update(positions, q, now):
            faults.put("mimic", Level.WARN, "position", text, now + MOMENT)

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Right and left in the names of links, joints and groups."""

from __future__ import annotations

import re

_SIDE = re.compile(
    r"(?<![^\W_])(?:right|left|RIGHT|LEFT)"  # right_arm, but not upright
    r"|Right|Left"  # armRight
    r"|(?<![^\W_])[rlRL](?![^\W_])"  # r_wrist, joint_1_l
    r"|(?<![^\W_])[RL](?=[A-Z][a-z]|ARM)"  # RWristYaw, LARM
)
_OTHER = {"right": "left", "left": "right", "r": "l", "l": "r"}


def side(name: str) -> str | None:
    """``right``, ``left`` or None: what the first mark of a side in a name says."""
    found = _SIDE.search(name)
    if found is None:
        return None
    return "right" if found[0].lower() in ("right", "r") else "left"


def mirrored(name: str) -> tuple[str, ...]:
    """Names that the same thing may have on the other side, () where none says a side.

    ``r_gripper_l_finger`` may be ``l_gripper_l_finger`` or ``l_gripper_r_finger``.
    """
    if not _SIDE.search(name):
        return ()
    return tuple(dict.fromkeys((_SIDE.sub(_swap, name, count=1), _SIDE.sub(_swap, name))))


def _swap(found: re.Match) -> str:
    other = _OTHER[found[0].lower()]
    if found[0].isupper():
        return other.upper()
    return other.capitalize() if found[0][0].isupper() else other

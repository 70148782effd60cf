# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Where the SRDF of a URDF lies when nobody says so."""

from __future__ import annotations

import os
from pathlib import Path

from collision_monitor.common.safe_xml import parse_xml
from collision_monitor.errors import CollisionMonitorError


def srdf_beside(urdf: str | os.PathLike) -> Path | None:
    """The SRDF that lies beside a URDF file, or None.

    Looked for in the URDF's folder and in ``../srdf``: first ``<stem>.srdf``; else the
    only file ``*.srdf`` there whose ``<robot name=>`` is that of the URDF. An SRDF takes
    pairs out of the check, so whoever takes this one is to say which it was.
    """
    path = Path(urdf)
    folders = [path.parent, path.parent.parent / "srdf"]
    for folder in folders:
        if (candidate := folder / f"{path.stem}.srdf").is_file():
            return candidate
    name = _robot_name(path)
    if name is None:
        return None
    there = sorted({file.resolve(): file for folder in folders for file in folder.glob("*.srdf")})
    same = [file for file in there if _robot_name(file) == name]
    return same[0] if len(same) == 1 else None


def _robot_name(path: Path) -> str | None:
    """The name that a URDF or SRDF gives its robot; None where it cannot be read."""
    try:
        root = parse_xml(path).root
    except CollisionMonitorError:
        return None
    return (root.get("name") or "").strip() or None

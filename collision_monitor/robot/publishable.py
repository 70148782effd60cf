# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A URDF as text for other programs: robot_state_publisher, and RViz behind it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from lxml import etree

from collision_monitor.common.safe_xml import parse_xml
from collision_monitor.errors import MeshError, RobotDescriptionError
from collision_monitor.robot.packages import FileFinder


def publishable(
    source: str | os.PathLike, package_dirs: Sequence[str | os.PathLike] = ()
) -> tuple[str, str]:
    """Return the URDF (path or text) as text, and the name of its root link.

    RViz knows neither the folder of the URDF nor ``package_dirs``: files that it could not find are
    named by their place, as file://. What is not found here either stays as it is.

    Raises RobotDescriptionError if it is not XML, or has no root link or several.
    """
    document = parse_xml(source)
    children = {child.get("link") for child in document.root.iterfind("joint/child")}
    names = [link.get("name") for link in document.root.iterfind("link")]
    roots = [name for name in names if name and name not in children]
    if len(roots) != 1:
        raise RobotDescriptionError(
            f"{document.name}: {len(roots)} root links, a robot has one"
            + (f": {', '.join(map(repr, roots))}" if roots else "")
        )
    finder = FileFinder(package_dirs, document.path)
    for element in document.root.iter("mesh", "texture"):
        uri = element.get("filename", "")
        try:
            path = finder.find(uri, "")
        except MeshError:
            continue
        if not uri.startswith("file:") and not _in_ament_index(uri, path):
            element.set("filename", Path(os.path.abspath(path)).as_uri())
    return etree.tostring(document.root, encoding="unicode"), roots[0]


def _in_ament_index(uri: str, path: Path) -> bool:
    """Whether RViz finds the file of a package:// URI where it was found here."""
    package = uri.removeprefix("package://").split("/")[0]
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    shares = [Path(prefix, "share", package) for prefix in prefixes if prefix]
    return uri.startswith("package://") and any(share in path.parents for share in shares)

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Reports of verified motions: a page for each, and one that lists them where they are several."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.common.atomic_file import write_text
from collision_monitor.errors import MissingDependencyError
from collision_monitor.verification.report.clearance_section import clearance_section
from collision_monitor.verification.report.limits_section import limits_section
from collision_monitor.verification.report.report_page import Section, listing, page
from collision_monitor.verification.report.torque_section import torque_section
from collision_monitor.verification.verification import Companion, Verification

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

_CAMERA = np.array([1.2, 0.8, 0.7])  # where it stands, seen from the robot's middle
_SIZE = (1000, 750)  # of a picture, pixels


def write_reports(
    path: str | os.PathLike, model: CollisionModel, results: Sequence[Verification]
) -> list[Path]:
    """Write the page of one motion to ``path``; of several a list, and ``name-1.html`` and so on.

    Returns the paths that were written.

    Raises:
        MissingDependencyError: jinja2 or matplotlib is not installed.
        OSError: a file cannot be written.
    """
    path = Path(path)
    if len(results) == 1:
        write_text(path, report(model, results[0]))
        return [path]
    numbers = range(1, len(results) + 1)
    pages = [path.with_name(f"{path.stem}-{k}{path.suffix}") for k in numbers]
    for one, result in zip(pages, results, strict=True):
        write_text(one, report(model, result, path.name))
    write_text(path, listing(results, [one.name for one in pages]))
    return [path, *pages]


def report(model: CollisionModel, result: Verification, back: str = "") -> str:
    """The page of one motion; ``back``: where all motions are."""
    sections: list[Section] = []
    if result.clearance is not None:
        sections.append(clearance_section(result.clearance))
    if result.limits is not None:
        sections.append(limits_section(result.limits))
    for companion in result.companions:
        sections.append(limits_section(companion.limits, _titled(companion)))
    if result.torques is not None:
        sections.append(torque_section(result.torques))
    return page(result, sections, pictures(model, result), back)


def _titled(companion: Companion) -> str:
    start = f"{companion.earliest:g} s"
    if companion.latest > companion.earliest:
        start = f"some instant from {start} to {companion.latest:g} s"
    return f"Joints of {companion.source}, which begins at {start}; over its own time"


def pictures(model: CollisionModel, result: Verification) -> list[bytes]:
    """PNGs of the nearest moment, the whole and its nearest points; none if not drawn here."""
    worst = result.worst
    if worst is None:
        return []
    from collision_monitor.viewer.picture import render

    # From the side of the robot where the two are near.
    middle = np.mean([point for ends in model.leaf_segments(worst.q) for point in ends], axis=0)
    beside = worst.points.mean(axis=0) - middle
    direction = _CAMERA * np.where(beside < 0.0, (-1.0, -1.0, 1.0), 1.0)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{name}.png") for name in ("whole", "near")]
        try:
            render(
                model, worst.q, paths[0], leaves=False, size=_SIZE, direction=tuple(direction),
                marked=worst.pair, nearest=worst.points, close_up=paths[1],
            )  # fmt: skip
        except MissingDependencyError:
            return []
        return [path.read_bytes() for path in paths]

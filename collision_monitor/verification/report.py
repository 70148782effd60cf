# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Reports of verified motions: a page for each, and one that lists them where they are several."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from collision_monitor.atomic_file import write_text
from collision_monitor.errors import MissingDependencyError
from collision_monitor.verification.clearance_section import clearance_section
from collision_monitor.verification.limits_section import limits_section
from collision_monitor.verification.report_page import Section, page
from collision_monitor.verification.torque_section import torque_section
from collision_monitor.verification.verification import Verification

if TYPE_CHECKING:
    from collision_monitor.collision_model import CollisionModel


def write_reports(
    path: str | os.PathLike, model: CollisionModel, results: Sequence[Verification]
) -> list[Path]:
    """Write the page of one motion to ``path``; of several, ``name-1.html`` and so on.

    Raises:
        MissingDependencyError: jinja2 or matplotlib is not installed.
        OSError: a file cannot be written.
    """
    path = Path(path)
    if len(results) == 1:
        paths = [path]
    else:
        numbers = range(1, len(results) + 1)
        paths = [path.with_name(f"{path.stem}-{k}{path.suffix}") for k in numbers]
    for one, result in zip(paths, results, strict=True):
        write_text(one, report(model, result))
    return paths


def report(model: CollisionModel, result: Verification) -> str:
    """The page of one motion."""
    sections: list[Section] = []
    if result.clearance is not None:
        sections.append(clearance_section(result.clearance))
    if result.limits is not None:
        sections.append(limits_section(result.limits))
    if result.torques is not None:
        sections.append(torque_section(result.torques))
    return page(result, sections, _picture(model, result))


def _picture(model: CollisionModel, result: Verification) -> bytes | None:
    """A PNG of the nearest moment; None where it cannot be drawn here."""
    worst = result.worst
    if worst is None:
        return None
    from collision_monitor.picture import render

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "moment.png")
        try:
            render(model, worst.q, path, leaves=False, size=(1200, 800), marked=worst.pair)
        except MissingDependencyError:
            return None
        return path.read_bytes()

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Reports of verified motions: an HTML page for each that needs no network and no other files."""

from __future__ import annotations

import base64
import os
import tempfile
from collections.abc import Sequence
from datetime import datetime, timezone
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from collision_monitor.common.atomic_file import write_text
from collision_monitor.errors import MissingDependencyError
from collision_monitor.verification.report.messages import headline, starting, summary, value
from collision_monitor.verification.report.plots import require_matplotlib, svg
from collision_monitor.verification.report.sections import (
    Section,
    clearance_section,
    limits_section,
    torque_section,
)
from collision_monitor.verification.verification import Check, Verdict, Verification

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

_CAMERA = np.array([1.2, 0.8, 0.7])  # where it stands, seen from the robot's middle
_SIZE = (1000, 750)  # of a picture, pixels
_TAGS = {Verdict.SAFE: "done", Verdict.NOT_SAFE: "", Verdict.NOT_CHECKED: "warning"}
_LOOKS = {Verdict.SAFE: "safe", Verdict.NOT_SAFE: "unsafe", Verdict.NOT_CHECKED: "unknown"}


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
    """The page of one motion; ``back``: the page of all motions.

    Raises:
        MissingDependencyError: jinja2 or matplotlib is not installed.
    """
    sections: list[Section] = []
    if result.clearance is not None:
        sections.append(clearance_section(result.clearance))
    if result.limits is not None:
        sections.append(limits_section(result.limits))
    for companion in result.companions:
        start = f"{companion.earliest:g} s"
        if companion.latest > companion.earliest:
            start = f"some instant from {start} to {companion.latest:g} s"
        title = f"Joints of {companion.source}, which begins at {start}; over its own time"
        sections.append(limits_section(companion.limits, title))
    if result.torques is not None:
        sections.append(torque_section(result.torques))
    return _template("report_page.html").render(
        result=result,
        look=_LOOKS[result.verdict],
        headline=headline(result),
        made_at=_now(),
        checks=[_row(check, result) for check in result.checks],
        pictures=[base64.b64encode(picture).decode() for picture in pictures(model, result)],
        sections=[
            {**vars(section), "images": [svg(plot) for plot in section.plots]}
            for section in sections
        ],
        number=value,
        starting=starting,
        back=back,
    )


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


def listing(results: Sequence[Verification], pages: Sequence[str]) -> str:
    """A page with a line for each motion and links to ``pages``.

    Raises:
        MissingDependencyError: jinja2 is not installed.
    """
    worst = max((result.verdict for result in results), key=lambda verdict: verdict.exit_code)
    rows = [
        {
            "result": result,
            "page": page,
            "tag": _TAGS[result.verdict],
            "reason": headline(result).partition(": ")[2],
        }
        for result, page in zip(results, pages, strict=True)
    ]
    return _template("report_list.html").render(
        rows=rows, look=_LOOKS[worst], summary=summary(results), made_at=_now(), number=value
    )


def require_report() -> None:
    """Raise MissingDependencyError where no report can be made here."""
    _template("report_page.html")
    require_matplotlib()


def _template(name: str) -> Any:
    try:
        import jinja2
    except ImportError as error:
        raise MissingDependencyError(
            f"a report needs jinja2 ({error}): pip install 'collision_monitor[verify]'"
        ) from None
    folder = files("collision_monitor.verification.report")
    loader = jinja2.FunctionLoader(lambda file: folder.joinpath(file).read_text("utf-8"))
    return jinja2.Environment(autoescape=True, loader=loader).get_template(name)


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def _row(check: Check, result: Verification) -> dict[str, str]:
    """What the table of checks says of one."""
    mine = [v for v in result.violations if v.code in check.codes]
    unsafe = sum(not v.warning for v in mine)
    look, word, text = "done", "passed", ""
    if check.skipped:
        look, word, text = "left", "not done", check.skipped
    elif unsafe:
        look, word, text = "", "not safe", f"{unsafe} violation{'s' * (unsafe > 1)}"
    elif mine:
        look, word, text = "warning", "warning", f"{len(mine)} warning{'s' * (len(mine) > 1)}"
    return {"name": check.name, "look": look, "word": word, "text": text}

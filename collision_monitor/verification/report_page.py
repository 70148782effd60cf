# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A verification as one HTML page that needs nothing else: no network, no other files."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.resources import files

from collision_monitor.errors import MissingDependencyError
from collision_monitor.verification.figures import Plot, svg
from collision_monitor.verification.verdict import Verdict
from collision_monitor.verification.verification import Check, Verification
from collision_monitor.verification.wording import brief, value

_LOOKS = {Verdict.SAFE: "safe", Verdict.NOT_SAFE: "unsafe", Verdict.NOT_CHECKED: "unknown"}


@dataclass(frozen=True)
class Section:
    """Plots, and a table below them.

    Attributes:
        title, text: above the plots.
        plots: in this order.
        head, rows: of the table, as text.
    """

    title: str
    text: str = ""
    plots: Sequence[Plot] = ()
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


def page(result: Verification, sections: Sequence[Section], pictures: Sequence[bytes] = ()) -> str:
    """The page; ``pictures`` are PNGs of the nearest moment.

    Raises:
        MissingDependencyError: jinja2 or matplotlib is not installed.
    """
    try:
        import jinja2
    except ImportError as error:
        raise MissingDependencyError(
            f"a report needs jinja2 ({error}): pip install 'collision_monitor[verify]'"
        ) from None
    text = files("collision_monitor.verification").joinpath("report_page.html").read_text("utf-8")
    template = jinja2.Environment(autoescape=True).from_string(text)
    return template.render(
        result=result,
        look=_LOOKS[result.verdict],
        headline=headline(result),
        made_at=datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        checks=[_row(check, result) for check in result.checks],
        pictures=[base64.b64encode(picture).decode() for picture in pictures],
        sections=[
            {**vars(section), "images": [svg(plot) for plot in section.plots]}
            for section in sections
        ],
        number=value,
    )


def headline(result: Verification) -> str:
    """The verdict and its first reason, in one line."""
    word = result.verdict.value.capitalize()
    if result.verdict is Verdict.NOT_CHECKED:
        return f"{word}: {result.reason}"
    unsafe = [v for v in result.violations if not v.warning]
    if unsafe:
        more = f", and {len(unsafe) - 1} more" if len(unsafe) > 1 else ""
        return f"{word}: {brief(unsafe[0])}{more}"
    warnings = len(result.violations)
    return word + (f", with {warnings} warning{'s' * (warnings > 1)}" if warnings else "")


def _row(check: Check, result: Verification) -> dict[str, str]:
    """What the table of checks says of one."""
    if check.skipped:
        return {"name": check.name, "look": "left", "word": "not done", "text": check.skipped}
    mine = [v for v in result.violations if v.code in check.codes]
    unsafe = sum(not v.warning for v in mine)
    if unsafe:
        text = f"{unsafe} violation{'s' * (unsafe > 1)}"
        return {"name": check.name, "look": "", "word": "not safe", "text": text}
    if mine:
        text = f"{len(mine)} warning{'s' * (len(mine) > 1)}"
        return {"name": check.name, "look": "warning", "word": "warning", "text": text}
    return {"name": check.name, "look": "done", "word": "passed", "text": ""}

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A verification as one HTML page that needs nothing else: no network, no other files."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.resources import files
from typing import Any

from collision_monitor.errors import MissingDependencyError
from collision_monitor.verification.report.messages import brief, value
from collision_monitor.verification.report.plots import Plot, require_matplotlib, svg
from collision_monitor.verification.verdict import Verdict
from collision_monitor.verification.verification import Check, Moment, Verification

_TAGS = {Verdict.SAFE: "done", Verdict.NOT_SAFE: "", Verdict.NOT_CHECKED: "warning"}
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


def page(
    result: Verification,
    sections: Sequence[Section],
    pictures: Sequence[bytes] = (),
    back: str = "",
) -> str:
    """The page; ``pictures`` are PNGs of the nearest moment, ``back`` is the page of all motions.

    Raises:
        MissingDependencyError: jinja2 or matplotlib is not installed.
    """
    return _template("report_page.html").render(
        result=result,
        look=_LOOKS[result.verdict],
        headline=headline(result),
        made_at=_now(),
        checks=[_row(check, result) for check in result.checks],
        pictures=[base64.b64encode(picture).decode() for picture in pictures],
        sections=[
            {**vars(section), "images": [svg(plot) for plot in section.plots]}
            for section in sections
        ],
        number=value,
        starting=starting,
        back=back,
    )


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


def summary(results: Sequence[Verification]) -> str:
    """How many motions have which verdict, the gravest first."""
    counts = [(verdict, sum(r.verdict is verdict for r in results)) for verdict in Verdict]
    return f"{len(results)} motions: " + ", ".join(
        f"{count} {verdict.value}" for verdict, count in reversed(counts) if count
    )


def starting(moment: Moment) -> str:
    """When motions beside began, as the end of a sentence; nothing where that is known."""
    if not moment.starts:
        return ""
    said = " and ".join(f"{source} begins at {at:.3f} s" for source, at in moment.starts)
    return f", where {said}"


def nearest(moment: Moment) -> str:
    """How near which two came, when, and what is certain of all others; one line."""
    a, b = moment.pair
    level = "" if moment.exact else "the leaves of "
    measured, certain = f"{moment.distance:.4f} m", f"{moment.at_least:.4f} m"
    more = ""
    if moment.distance > 0.0 and certain != measured:
        more = f"; at no instant is anything nearer than {certain}"
    return f"{measured} between {level}{a} and {b} at {moment.time:.3f} s{starting(moment)}{more}"


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

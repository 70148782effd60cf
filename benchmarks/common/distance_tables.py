# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Tables of `distance.py`: the full one in docs/reports/performance.md, some columns in the README.

Each is between two markers, and `distance.py --write` replaces the text between them. The table of
the README consists of columns of the full one, so both pages are consistent.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from common.command_line import ROOT, TITLES, table_head, table_row

# Pages, and whether they have some columns only.
PAGES = {ROOT / "docs/reports/performance.md": False, ROOT / "README.md": True}
BEGIN = "<!-- benchmarks/distance.py --write: begin -->\n"
END = "<!-- benchmarks/distance.py --write: end -->\n"
COLUMNS = (  # title, whether the README has it
    ("robot", True),
    ("joints", False),
    ("leaves", True),
    ("pairs of links", True),
    ("coal", True),
    ("one call", True),
    ("ratio", True),
    ("in a batch", True),
    ("ratio", True),
    ("largest difference (m)", False),
)
HEADER = table_head(*(title for title, _ in COLUMNS)) + "\n"


def _short(value: float, digits: int = 3) -> str:
    """A figure with a number of digits, without exponent."""
    return f"{value:.0f}" if value >= 10 ** (digits - 1) else f"{value:.{digits}g}"


def row(name: str, r: Mapping[str, float | list[float]]) -> str:
    """The line of the full table for one robot, from what `distance.measure` returns."""
    cells = [TITLES.get(name, name), r["joints"], r["leaves"], r["pairs"], _short(r["coal_us"])]
    for kind in ("call", "batch"):
        low, high = r[f"{kind}_ratio_spread"]
        ratio, low, high = (_short(x, 2) for x in (r[f"{kind}_ratio"], low, high))
        cells += [_short(r[f"{kind}_us"]), f"{ratio} ({low} to {high})"]
    cells += [f"{r['largest_difference_m']:.0e}"]
    return table_row(*cells) + "\n"


def for_readme(block: str) -> str:
    """A block of the full table with the columns of the README only; other lines are unchanged."""
    lines = []
    for line in block.splitlines(keepends=True):
        if line.startswith("|"):
            cells = line.strip().strip("|").split("|")
            kept = [c for c, (_, wanted) in zip(cells, COLUMNS, strict=True) if wanted]
            line = f"|{'|'.join(kept)}|\n"
        lines.append(line)
    return "".join(lines)


def block_in(page: Path) -> str:
    """The text between the markers of a page.

    Raises:
        ValueError: a marker is missing.
    """
    text = page.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text.partition(BEGIN)[2]:
        raise ValueError(f"{page}: needs the lines {BEGIN.strip()!r} and {END.strip()!r}")
    return text.partition(BEGIN)[2].partition(END)[0]


def write(block: str, pages: Mapping[Path, bool] = PAGES) -> None:
    """Replace the text between the markers of all pages by the full ``block`` or its columns."""
    old = {page: block_in(page) for page in pages}  # all have their markers, or none is written
    for page, short in pages.items():
        text = page.read_text(encoding="utf-8")
        new = for_readme(block) if short else block
        page.write_text(text.replace(BEGIN + old[page], BEGIN + new), encoding="utf-8")

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The tables of query times in README.md and docs/performance.md are what one command writes."""

import re
import sys

import pytest
from support.paths import ROOT

sys.path.append(str(ROOT / "benchmarks"))

import distance_tables  # noqa: E402
from distance_tables import BEGIN, COLUMNS, END, HEADER, block_in, for_readme, row, write  # noqa: E402

MEASURED = {
    "joints": 6, "leaves": 48, "pairs": 17, "coal_us": 32.71, "call_us": 2.8249,
    "call_ratio": 11.58, "call_ratio_spread": [10.2, 12.44], "batch_us": 1.531,
    "batch_ratio": 21.37, "batch_ratio_spread": [19.0, 22.0], "largest_difference_m": 4.4e-16,
}  # fmt: skip


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def pages(tmp_path):
    made = {tmp_path / "full.md": False, tmp_path / "short.md": True}
    for page in made:
        page.write_text(f"before\n{BEGIN}old\n{END}after\n", encoding="utf-8")
    return made


def test_the_readme_has_columns_of_the_table_in_the_docs():
    full, short = (block_in(page) for page in distance_tables.PAGES)
    assert short == for_readme(full)


def test_the_table_in_the_docs_is_as_the_command_writes_it():
    lines = block_in(ROOT / "docs/performance.md").splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert "\n".join(table[:2]) + "\n" == HEADER
    assert len(table) > 2
    titles = {title: name for name, title in distance_tables.TITLES.items()}
    pattern = [re.sub(r"\d+", "0", cell) for cell in cells(row("ur5", MEASURED))[1:]]
    number = re.compile(r"[\d.]+(e[+-]?\d+)?")
    for line in table[2:]:
        name, *found = cells(line)
        assert name in titles
        for cell, like in zip(found, pattern, strict=True):
            assert number.sub("#", cell) == number.sub("#", like), line


def test_a_row_has_what_was_measured():
    assert cells(row("ur5", MEASURED)) == [
        "UR5", "6", "48", "17", "32.7", "2.82", "12 (10 to 12)", "1.53", "21 (19 to 22)", "4e-16",
    ]  # fmt: skip
    slow = {**MEASURED, "coal_us": 3812.4, "call_ratio": 312.0, "call_ratio_spread": [99.6, 345.0]}
    assert cells(row("ur5", slow))[4:7] == ["3812", "2.82", "312 (100 to 345)"]
    kept = [title for title, wanted in COLUMNS if wanted]
    assert cells(for_readme(HEADER).splitlines()[0]) == kept


def test_writing_replaces_what_is_between_the_markers(tmp_path):
    made = pages(tmp_path)
    block = f"note\n\n{HEADER}{row('ur5', MEASURED)}"
    for _ in range(2):
        write(block, made)
        full, short = (page.read_text(encoding="utf-8") for page in made)
        assert full == f"before\n{BEGIN}{block}{END}after\n"
        assert short == f"before\n{BEGIN}{for_readme(block)}{END}after\n"


def test_without_markers_nothing_is_written(tmp_path):
    made = pages(tmp_path)
    bare = tmp_path / "bare.md"
    bare.write_text("no table\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"bare\.md: needs the lines"):
        write("new\n", {**made, bare: True})
    assert "old" in (tmp_path / "full.md").read_text(encoding="utf-8")

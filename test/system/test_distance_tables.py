# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The tables of query times in README.md and docs/performance.md are what one command writes."""

import re
import sys

from support.paths import ROOT

sys.path.append(str(ROOT / "benchmarks"))

import distance_tables  # noqa: E402
from distance_tables import HEADER, block_in, for_readme, row  # noqa: E402

MEASURED = {
    "joints": 6, "leaves": 48, "pairs": 17, "coal_us": 32.71, "call_us": 2.8249,
    "call_ratio": 11.58, "call_ratio_spread": [10.2, 12.44], "batch_us": 1.531,
    "batch_ratio": 21.37, "batch_ratio_spread": [19.0, 22.0], "largest_difference_m": 4.4e-16,
}  # fmt: skip


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


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

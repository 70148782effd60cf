# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""docs/safety.md: every promise and every fault has a test, and the test is there."""

import ast
import re
from functools import cache

import pytest
from support.paths import ROOT

TESTS = {path.name: path for path in (ROOT / "test").rglob("test_*.py")}
TEXT = (ROOT / "docs/safety.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(test_\w+\.py)::(test_\w+)`")
FAULTS = (
    "no data", "partial data", "NaN", "all zeros at start", "unknown joint",
    "two interleaving publishers", "clock jump", "dead publisher", "overload", "bad description",
    "lost scene",
)  # fmt: skip


def rows(heading):
    """Cells of the table below a heading, without its head."""
    section = TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@cache
def functions(name):
    """Tests that a file has."""
    tree = ast.parse(TESTS[name].read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("row", [*rows("Promises"), *rows("Faults")], ids=lambda row: row[0])
def test_every_row_names_a_test_that_exists(row):
    named = NAMED.findall(row[-1])
    assert named, f"no test: {row}"
    for file, function in named:
        assert function in functions(file), f"{file} has no {function}"


def test_tests_named_elsewhere_exist_too():
    assert len(NAMED.findall(TEXT)) > 30
    for file, function in NAMED.findall(TEXT):
        assert function in functions(file), f"{file} has no {function}"


def test_every_fault_has_its_row_and_every_row_says_what_happens_and_when():
    table = rows("Faults")
    assert all(len(row) == 4 and all(row) for row in table)
    for fault in FAULTS:
        assert any(fault in row[0] for row in table), f"no row for {fault}"

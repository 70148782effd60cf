# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The plan of the house, read out of the imports: docs/architecture.md."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from third_party import ROS

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "collision_monitor"
SOURCES = sorted((ROOT / PACKAGE).rglob("*.py"))
FLOORS = {
    "nodes": 5,
    "cli": 5,
    "__main__": 5,
    "behaviour": 4,
    "monitor": 4,
    "joint_state_buffer": 4,
    "cell_buffer": 4,
    "joint_history": 4,
    "loading": 4,
    "motion": 4,
    "motion_csv": 4,
    "motion_yaml": 4,
    "picture": 4,
    "repulsion": 4,
    "simulation": 4,
    "recording": 4,
    "verification": 4,
    "watchdogs": 4,
    "view": 4,
    "acm": 4,
    "__init__": 3,
    "collision_model": 3,
    "clearance": 3,
    "clearance_colour": 3,
    "packing": 3,
    "clear_tables": 3,
    "nearness": 3,
    "proximity": 3,
    "tree_boxes": 3,
    "thresholds": 3,
    "live": 3,
    "exact_distance": 3,
    "robot": 2,
    "bounding": 2,
    "kernels": 1,
    "errors": 0,
    "atomic_file": 0,
    "private_cache": 0,
}


def name_of(path: Path) -> str:
    """Dotted name of a module, ``a.b.__init__`` for a package."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


@cache
def imports(path: Path) -> frozenset[str]:
    """Dotted names a file imports anywhere, functions included; submodules as such."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import in line {node.lineno}"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                is_module = (ROOT / Path(*inner.split("."))).with_suffix(".py").exists()
                found.add(inner if is_module else node.module)
    return frozenset(found)


def room(module: str) -> str:
    """Room of a dotted name: its first part below the package."""
    return module.split(".")[1] if "." in module else "__init__"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_imports_run_downwards(path):
    own = FLOORS[room(name_of(path))]
    for module in imports(path):
        if module.split(".")[0] == PACKAGE:
            floor = FLOORS[room(module)]
            assert floor <= own, f"{name_of(path)} (floor {own}) imports {module} (floor {floor})"


def test_the_plan_has_no_rooms_that_are_not_there_and_misses_none():
    there = {room(name_of(path)) for path in SOURCES}
    assert there <= FLOORS.keys()
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    for name in there - {"__init__", "__main__"}:
        row = re.search(rf"^\| (\d) \|[^|]*`{name}(/|\.py)`", text, re.MULTILINE)
        assert row, f"docs/architecture.md does not place {name}"
        assert int(row[1]) == FLOORS[name], f"docs/architecture.md places {name} elsewhere"


def test_modules_do_not_import_each_other_in_circles():
    known = {name_of(path).removesuffix(".__init__"): path for path in SOURCES}
    done, walking = set(), []

    def visit(module: str) -> None:
        assert module not in walking, f"circle: {' -> '.join([*walking, module])}"
        if module in known and module not in done:
            walking.append(module)
            for name in sorted(imports(known[module])):
                visit(name)
            done.add(walking.pop())

    for module in known:
        visit(module)


def test_ros_is_in_nodes_alone():
    for path in SOURCES:
        if room(name_of(path)) != "nodes":
            found = {module.split(".")[0] for module in imports(path)} & ROS
            assert not found, f"{name_of(path)} imports {found}"


def test_everything_but_the_nodes_imports_where_there_is_no_ros():
    modules = [
        name_of(path).removesuffix(".__init__")
        for path in SOURCES
        if room(name_of(path)) not in ("nodes", "__main__")
    ]
    code = (
        "import importlib, sys\n"
        f"sys.modules.update(dict.fromkeys({sorted(ROS)!r}))\n"  # None: not to be found
        f"[importlib.import_module(name) for name in {modules!r}]"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=120)


def test_every_file_says_whose_it_is_and_what_it_does():
    folders = (PACKAGE, "benchmarks", "docs", "examples", "launch", "test", "urdf")
    files = [ROOT / "setup.py", *(p for name in folders for p in (ROOT / name).rglob("*.py"))]
    assert len(files) > 50
    for path in files:
        text = path.read_text(encoding="utf-8")
        head = text.removeprefix("#!/usr/bin/env python3\n").splitlines()[:2]
        assert head == [
            "# Copyright 2026 the collision_monitor developers",
            "# SPDX-License-Identifier: Apache-2.0",
        ], path
        assert ast.get_docstring(ast.parse(text)), f"{path} has no docstring"

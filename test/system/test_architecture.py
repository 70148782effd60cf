# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The plan of the house, read out of the imports: docs/architecture.md."""

import ast
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from support.files.third_party import ROS
from support.paths import ROOT

PACKAGE = "collision_monitor"
SOURCES = sorted((ROOT / PACKAGE).rglob("*.py"))
# Rooms by floor: a room imports from lower floors only. errors.py is below all of them.
FLOORS = [
    {"errors"},
    {"common"},
    {"geometry"},
    {"robot"},
    {"fitting", "hierarchy", "motion", "recording"},
    {"mesh_distance", "continuous"},
    {"model"},
    {"monitoring", "acm", "viewer", "verification"},
    {"self_collision", "simulation", "published"},
    {"nodes"},
    {"cli", "__init__", "__main__"},
]
FLOOR = {name: floor for floor, names in enumerate(FLOORS) for name in names}


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
    own = room(name_of(path))
    for module in imports(path):
        other = room(module)
        if module.split(".")[0] == PACKAGE and other != own and own != "__main__":
            assert FLOOR[other] < FLOOR[own], f"{name_of(path)} imports {module}"


def test_the_plan_lists_every_room():
    present = {room(name_of(path)) for path in SOURCES}
    assert present == FLOOR.keys()
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    for name in present - {"__init__", "__main__", "errors"}:
        row = re.search(rf"^\| (\d+) \|[^|]*`{name}/`", text, re.MULTILINE)
        assert row, f"docs/architecture.md does not list {name}"
        assert int(row[1]) == FLOOR[name], f"docs/architecture.md has {name} on another floor"


def test_folders_are_small():
    for folder in {path.parent for path in SOURCES}:
        assert len(list(folder.glob("*.py"))) <= 20, f"{folder} has more than 20 files"
    loose = {path.name for path in (ROOT / PACKAGE).glob("*.py")}
    assert loose <= {"__init__.py", "__main__.py", "errors.py"}


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
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=600)


@pytest.mark.parametrize(
    "room", sorted(p.name for p in (ROOT / "collision_monitor").iterdir() if p.name != "nodes"
                   and (p / "__init__.py").is_file())
)  # fmt: skip
def test_every_name_that_a_room_exports_is_there(room):
    module = import_module(f"collision_monitor.{room}")
    for name in getattr(module, "__all__", ()):
        assert getattr(module, name) is not None and name in dir(module)
        assert not (ROOT / PACKAGE / room / f"{name}.py").exists(), f"{name} is also a file"
    with pytest.raises(AttributeError, match="no_such_name"):
        module.no_such_name  # noqa: B018


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

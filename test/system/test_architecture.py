# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The plan of the house, read out of the imports: docs/architecture.md."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.files.third_party import ROS, parsed
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
    {"mesh_distance"},
    {"continuous"},
    {"model"},
    {"monitoring", "acm", "viewer", "verification"},
    {"self_collision", "simulation"},
    {"nodes"},
    {"cli", "__init__", "__main__"},
]
FLOOR = {name: floor for floor, names in enumerate(FLOORS) for name in names}
# Names that say nothing of what they hold: after so many lines nobody remembers it.
EMPTY_NAMES = {"k", "found", "rows", "way", "own"}
LONGEST_LIFE = 5  # lines


def name_of(path: Path) -> str:
    """Dotted name of a module, ``a.b.__init__`` for a package."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


@cache
def imports(path: Path) -> frozenset[str]:
    """Dotted names a file imports anywhere, functions included; submodules as such."""
    found = set()
    for node in ast.walk(parsed(path)):
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


def test_imports_run_downwards():
    for path in SOURCES:
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


@pytest.mark.parametrize("folder", ["benchmarks", "docs", "examples"])
def test_scripts_import_names_of_the_package_that_are_there(folder):
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(parsed(path)):
            parts = (getattr(node, "module", None) or "").split(".")
            if parts[0] != PACKAGE or (parts[1:2] == ["nodes"] and find_spec("rclpy") is None):
                continue
            for alias in node.names:
                module, inner = import_module(node.module), f"{node.module}.{alias.name}"
                is_module = hasattr(module, "__path__") and find_spec(inner) is not None
                assert is_module or hasattr(module, alias.name), f"{path}: no {inner}"


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
        assert ast.get_docstring(parsed(path)), f"{path} has no docstring"


def uses(tree: ast.AST, name: str) -> set[ast.Name]:
    """Where a variable occurs in a part of the code."""
    return {node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name}


def lives(function: ast.AST, name: str) -> Iterator[int]:
    """How many lines a variable lives in each for loop over it, and in the rest of a function.

    Variables of comprehensions do not count.
    """
    parts = list(ast.walk(function))
    comprehensions = [
        uses(part, name)
        for part in parts
        if any(uses(each.target, name) for each in getattr(part, "generators", ()))
    ]
    loops = [
        uses(part, name).difference(*comprehensions)
        for part in parts
        if isinstance(part, ast.For) and uses(part.target, name)
    ]
    rest = uses(function, name).difference(*comprehensions, *loops)
    for nodes in filter(None, [*loops, rest]):
        lines = [node.lineno for node in nodes]
        yield max(lines) - min(lines) + 1


def test_names_that_say_nothing_live_for_a_few_lines():
    long = set()
    for path in [*SOURCES, *sorted((ROOT / "benchmarks").rglob("*.py"))]:
        file = path.relative_to(ROOT).as_posix()
        for part in ast.walk(parsed(path)):
            if isinstance(part, ast.FunctionDef):
                names = EMPTY_NAMES & {n.id for n in ast.walk(part) if isinstance(n, ast.Name)}
                too_long = [n for n in names if max(lives(part, n), default=0) > LONGEST_LIFE]
                long |= {f"{file}: {name} in {part.name}" for name in too_long}
    assert not long


# -- tests are of behaviour: a file can move or be rewritten without its test changing --

TESTS = sorted((ROOT / "test").rglob("*.py"))
OWN_MODULES = {PACKAGE, "support", *(path.stem for path in (ROOT / "benchmarks").glob("*"))}
# Private attributes that are documented, and reach nothing private.
DOCUMENTED = {"_replace", "_asdict", "_fields", "_make"}
STAND_IN = "control_msgs is not on PyPI: without it rclpy makes no server or client of the action"
ALLOWED = {
    "test/support/ros/action_stand_in.py": STAND_IN,
    "test/ros/self_collision/test_follow_joint_trajectory.py": STAND_IN,
    "test/ros/self_collision/test_self_collision_interrupted_action.py": STAND_IN
    + "; and an adjustment that takes seconds on every machine is made by waiting",
    "test/system/commands/test_verify_command.py": "nothing from outside makes an internal error",
    "test/unit/nodes/obstacles/test_planning_scene.py": "a fit that fails for a sound mesh",
    "test/unit/nodes/test_monitor_core.py": "whether a node is behind is chance from outside",
    "test/unit/viewer/test_page_guard.py": "another version of viser, which is not installed",
}

def own_names(tree: ast.Module) -> tuple[set[str], set[str]]:
    """Names that a file of tests imports from this project, and from elsewhere."""
    own, others = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                module = getattr(node, "module", None) or alias.name
                is_own = module.split(".")[0] in OWN_MODULES
                (own if is_own else others).add((alias.asname or alias.name).split(".")[0])
    return own, others


def chain_of(node: ast.AST) -> list[str]:
    """Names of an expression such as ``a.b[0].c``, from its beginning; "" where it is a call."""
    names = []
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute):
            names.append(node.attr)
        node = node.value
    return [*names, node.id if isinstance(node, ast.Name) else ""][::-1]


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in DOCUMENTED


def replaced(node: ast.Call) -> ast.AST | None:
    """What ``monkeypatch.setattr``, ``patch`` or ``patch.object`` replaces a part of."""
    names = chain_of(node.func)
    calls = {"setattr", "delattr"} if len(names) > 1 else {"patch"}
    if node.args and (names[-1] in calls or names[-2:] in (["patch", "object"], ["mock", "patch"])):
        return node.args[0]
    return None


def insides(tree: ast.Module) -> Iterator[str]:
    """Places where a test uses private names of the package, or replaces a part of its code."""
    own, others = own_names(tree)
    elsewhere = others - own
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            if chain_of(node)[0] not in {"self", "cls", *elsewhere}:
                yield f"{node.lineno}: {node.attr} is private"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
            names = filter(is_private, (alias.name for alias in node.names))
            yield from (f"{node.lineno}: {name} is private" for name in names)
        elif isinstance(node, ast.Call) and (target := replaced(node)) is not None:
            is_text = isinstance(target, ast.Constant)
            first = str(target.value).split(".")[0] if is_text else chain_of(target)[0]
            if first in OWN_MODULES or not is_text and first not in elsewhere:
                yield f"{node.lineno}: a part of {ast.unparse(target)} is replaced"


def test_an_import_of_a_private_name_is_found():
    """What else is found is in the files of ``ALLOWED``."""
    assert [*insides(ast.parse("from collision_monitor.cli.options import _LOG"))]


def test_tests_neither_use_private_names_nor_replace_code():
    places = {}
    for path in TESTS:
        if found := [*insides(parsed(path))]:
            places[path.relative_to(ROOT).as_posix()] = found
    assert {file: places[file] for file in places.keys() - ALLOWED.keys()} == {}
    assert ALLOWED.keys() <= places.keys(), "no longer needed"

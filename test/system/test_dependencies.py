# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What is imported is declared, and what is declared is used: package.xml, setup.py, README."""

import ast
import os
from importlib import metadata

import numba
import pytest
from packaging.requirements import Requirement
from support.files import third_party
from support.files.third_party import (
    GAZEBO,
    IMPORTERS,
    OPTIONAL,
    ROOT,
    RUN_TIME_ONLY,
    THIRD_PARTY,
    all_imported,
    all_started,
    exec_depends,
    on_pypi,
    parsed,
    pip_line,
    setup_arguments,
    sources,
)


def undeclared(imports, programs, keys, line, pypi) -> list[str]:
    """What is missing where."""
    missing = [f"{name}: not in third_party.py" for name in imports - THIRD_PARTY.keys()]
    for name in imports & THIRD_PARTY.keys():
        key, on_index = THIRD_PARTY[name]
        if key is not None and key not in keys:
            missing.append(f"{name}: package.xml lacks exec_depend {key}")
        if key is None and on_index not in line:
            missing.append(f"{name}: the pip line of the README lacks {on_index}")
        if on_index is not None and on_index not in pypi:
            missing.append(f"{name}: setup.py lacks {on_index}")
    missing += [f"{name}: package.xml lacks exec_depend" for name in programs - keys]
    return sorted(missing)


def unused(imports, programs, keys, line, pypi) -> list[str]:
    """What is declared, and neither imported nor started."""
    rows = [THIRD_PARTY[name] for name in imports & THIRD_PARTY.keys()]
    used_keys = {key for key, _ in rows} | programs | RUN_TIME_ONLY.keys()
    without_key = {name for key, name in rows if key is None}
    used_names = {name for _, name in rows} | RUN_TIME_ONLY.keys()
    return sorted({*keys - used_keys, *set(line) - without_key, *pypi - used_names})


def test_everything_that_is_imported_or_started_is_declared():
    declared = exec_depends(), pip_line(), on_pypi()
    assert undeclared(all_imported(), all_started(), *declared) == []


def test_everything_that_is_declared_is_used():
    assert unused(all_imported(), all_started(), exec_depends(), pip_line(), on_pypi()) == []


def test_the_page_of_simulations_installs_what_gazebo_needs():
    page = (ROOT / "docs/simulation.md").read_text()
    names = {f"ros-jazzy-{name.replace('_', '-')}" for name in GAZEBO}
    (line,) = [row for row in page.splitlines() if row.startswith("    sudo apt install")]
    assert set(line.split()[3:]) == names
    assert not GAZEBO & exec_depends()


def test_pages_install_what_nodes_use_only_where_it_is_there():
    for name, page in OPTIONAL.items():
        command = f"sudo apt install ros-jazzy-{name.replace('_', '-')}"
        assert command in (ROOT / page).read_text(), name
        assert name not in exec_depends()


def test_modules_are_imported_by_name_in_known_functions_alone():
    for path in sources():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef):
                calls = [n for n in ast.walk(node) if isinstance(n, ast.Call)]
                for call in calls:
                    called = third_party.called(call)
                    if called in ("import_module", "find_spec", "__import__"):
                        constant = isinstance(call.args[0], ast.Constant)
                        # Modules of this package, imported when they are needed.
                        own = path.stem in ("__main__", "lazy_imports")
                        assert constant or own or node.name in IMPORTERS, f"{path}: {node.name}"


def test_what_is_declared_only_for_run_time_is_declared():
    assert RUN_TIME_ONLY.keys() <= {*exec_depends(), *on_pypi()}


def test_the_range_of_numba_is_the_same_everywhere():
    (numba,) = [r for r in setup_arguments()["install_requires"] if r.startswith("numba")]
    assert numba == "numba>=0.57,<0.69"
    text = (ROOT / "package.xml").read_text()
    assert 'version_gte="0.57.0" version_lt="0.69.0">python3-numba<' in text
    for page in ("README.md", "docs/troubleshooting.md", "package.xml"):
        assert f'pip install "{numba}"' in (ROOT / page).read_text(), page
    assert "numba 0.57 to 0.68" in (ROOT / "README.md").read_text()


def test_the_installed_numba_is_in_the_range():
    assert (0, 57) <= tuple(map(int, numba.__version__.split(".")[:2])) < (0, 69)


@pytest.mark.skipif("TESTS_ARE_COMPLETE" not in os.environ, reason="make test sets it")
def test_nothing_is_skipped_for_want_of_a_package_that_setup_py_names():
    missing = []
    for line in setup_arguments()["extras_require"]["test"]:
        wanted = Requirement(line)
        if wanted.marker is None or wanted.marker.evaluate():
            try:
                version = metadata.version(wanted.name)
            except metadata.PackageNotFoundError:
                missing.append(f"{wanted.name} is not installed")
                continue
            if not wanted.specifier.contains(version, prereleases=True):
                missing.append(f"{line}: installed is {version}")
    assert missing == []

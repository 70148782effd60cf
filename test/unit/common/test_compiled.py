# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Where compiled kernels are kept: privately, by version, with somewhere to go if not."""

import ast
import gc
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numba
import pytest
from support.processes import run_python

from collision_monitor.common import compiled

pytestmark = pytest.mark.early

PACKAGE = Path(compiled.__file__).parents[1]

QUESTION = """
from collision_monitor.common import compiled
from collision_monitor.geometry import segments
import numpy as np
print(compiled.cache_directory())
with compiled.compiling(segments.capsule_distance):
    print(segments.capsule_distance(np.arange(12.0).reshape(2, 6), np.zeros((2, 1)), 0, 1))
"""


def ask(**environment):
    """Directory and what was said on stderr, after a distance in a fresh process."""
    done = run_python(QUESTION, **environment)
    directory, distance = done.stdout.split()[-2:]
    assert float(distance) == pytest.approx(3**0.5 * 3)
    return directory, done.stderr


def test_a_part_of_a_kernel_is_called_in_one_place():
    """Copies in several places take longer to compile than a function."""
    calls, parts = Counter(), set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        for name in re.findall(r"^@(?:exact_)?part_kernel\ndef (\w+)", text, re.MULTILINE):
            parts.add((path if name[0] == "_" else None, name))
        found = re.findall(r"(?<!def )\b(\w+)\(", text)
        calls.update((path if name[0] == "_" else None, name) for name in found)
    assert parts
    assert {name: calls[where, name] for where, name in parts if calls[where, name] != 1} == {}


# -- stale machine code --------------------------------------------------------------


INNER = """
from collision_monitor.common.compiled import kernel

@kernel
def inner(x):
    return x + {step}
"""
OUTER = """
from collision_monitor.common.compiled import kernel
from collision_monitor.geometry.inner import inner

@kernel
def outer(x):
    return 10 * inner(x)
"""
ASK_OUTER = """
from collision_monitor.geometry.outer import outer
print(outer(1), sum(outer.stats.cache_hits.values()))
"""


def test_a_change_in_a_called_kernel_of_another_file_is_compiled(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / PACKAGE.name, ignore=shutil.ignore_patterns("*.pyc"))
    folder = tmp_path / PACKAGE.name / "geometry"
    (folder / "outer.py").write_text(OUTER)
    places = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}
    found = []
    for step in (1, 1, 5):  # 1 twice: the second time from disk
        (folder / "inner.py").write_text(INNER.format(step=step))
        done = run_python(ASK_OUTER, cwd=tmp_path, **places)
        found.append(tuple(map(int, done.stdout.split())))
    assert found == [(20, 0), (20, 1), (60, 0)]


@pytest.mark.parametrize("compiler", ["numba", "llvmlite"])
def test_the_place_changes_with_the_version_of_the_compiler(monkeypatch, tmp_path, compiler):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    before = compiled.cache_directory()
    assert before == compiled.cache_directory()
    monkeypatch.setattr(sys.modules[compiler], "__version__", "0.1")
    assert compiled.cache_directory() != before


def kernels_and_imports(path):
    """(kernels, statements at module level), {name: file} imported from this package."""
    tree, names = ast.parse(path.read_text()), {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE.name):
            source = PACKAGE.parent.joinpath(*node.module.split("."))
            for alias in node.names:
                files = [source / f"{alias.name}.py", source.with_suffix(".py")]
                files.append(source / "__init__.py")
                names[alias.asname or alias.name] = next(f for f in files if f.exists())
    frozen = [
        node
        for node in tree.body
        if isinstance(node, ast.Assign)
        or (
            isinstance(node, ast.FunctionDef)
            and any(ast.unparse(d).endswith("kernel") for d in node.decorator_list)
        )
    ]
    return frozen, names


CHANGE_FILES = """
import sys
from pathlib import Path
from collision_monitor.common.compiled import cache_directory
before = cache_directory()
for path in map(Path, sys.argv[1:]):
    text = path.read_bytes()
    path.write_bytes(text + b"#")
    if cache_directory() == before:
        print(path)
    path.write_bytes(text)
"""


def test_the_place_changes_with_all_that_kernels_take_for_constants(tmp_path):
    needed = set()
    waiting = [p for p in PACKAGE.rglob("*.py") if "kernel\ndef " in p.read_text()]
    assert len(waiting) > 30
    while waiting:
        if (path := waiting.pop()) not in needed:
            needed.add(path)
            frozen, names = kernels_and_imports(path)
            used = {n.id for part in frozen for n in ast.walk(part) if isinstance(n, ast.Name)}
            waiting += [names[name] for name in used & names.keys()]
    shutil.copytree(PACKAGE, tmp_path / PACKAGE.name, ignore=shutil.ignore_patterns("*.pyc"))
    places = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}
    copies = (tmp_path / path.relative_to(PACKAGE.parent) for path in needed)
    done = run_python(CHANGE_FILES, *copies, cwd=tmp_path, **places)
    assert done.stdout == ""


# -- places --------------------------------------------------------------------------


def test_without_any_place_kernels_still_compile_and_a_warning_says_so(tmp_path, written):
    blocked = written("file", "not a folder")
    # A folder that others can write to is not trusted with code.
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    mine = scratch / f"collision_monitor-{os.getuid()}"
    mine.mkdir()
    directory = mine / compiled.cache_directory().name
    directory.mkdir()
    directory.chmod(0o777)
    found, errors = ask(
        NUMBA_CACHE_DIR="", XDG_CACHE_HOME=str(blocked), HOME=str(blocked), TMPDIR=str(scratch)
    )
    assert found == "None"
    assert "compiled anew at every start" in errors


# -- full disks ----------------------------------------------------------------------


def test_a_disk_that_is_full_costs_time_only(tmp_path):
    """No file may grow, as on a full disk: the kernel is compiled and says so."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    done = run_python(limit + QUESTION, NUMBA_CACHE_DIR=str(tmp_path))
    assert float(done.stdout.split()[-1]) == pytest.approx(3**0.5 * 3)
    assert done.stderr.count("compiled kernels cannot be kept in") == 1, done.stderr
    assert "compiled anew at every start" in done.stderr


# -- several processes ---------------------------------------------------------------


WARM_UP = QUESTION + "print(sum(segments.capsule_distance.stats.cache_misses.values()))"


def warm_up(cache):
    return subprocess.Popen(
        [sys.executable, "-c", WARM_UP],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_processes_that_begin_together_compile_once_and_damaged_files_are_compiled_anew(tmp_path):
    together = [warm_up(tmp_path) for _ in range(2)]
    found = [process.communicate(timeout=600)[0].split() for process in together]
    assert sorted(int(words[-1]) for words in found) == [0, 1]
    assert len({words[-2] for words in found}) == 1
    assert Path(found[0][-3]).is_relative_to(tmp_path)
    assert not list(tmp_path.rglob("*.lock"))
    files = [path for kind in ("nbi", "nbc") for path in tmp_path.rglob(f"*.{kind}")]
    for k, path in enumerate(files):
        content = path.read_bytes()  # zeros: as some file systems leave files after a power failure
        path.write_bytes(content[: len(content) // 2] if k % 2 else bytes(len(content)))
    _, errors = ask(NUMBA_CACHE_DIR=str(tmp_path))
    assert files
    assert errors.count("compiled anew") == len(files)


def test_a_process_killed_while_it_writes_machine_code_does_not_affect_others(tmp_path):
    process = warm_up(tmp_path)
    while process.poll() is None and not any(
        path.suffix != ".lock" and path.is_file() for path in tmp_path.rglob("*")
    ):
        time.sleep(1e-4)
    process.kill()
    process.communicate()
    other = warm_up(tmp_path)
    words = other.communicate(timeout=600)[0].split()
    assert other.returncode == 0 and float(words[-2]) == pytest.approx(3**0.5 * 3)


# -- numba as it is ------------------------------------------------------------------


@pytest.mark.parametrize("was_on", [True, False])
def test_garbage_is_not_collected_while_a_kernel_compiles(was_on):
    seen = []

    class Look(numba.core.event.Listener):
        def on_start(self, event):
            seen.append(gc.isenabled())

        def on_end(self, event):
            pass

    @numba.njit
    def called(x):
        return x + 1

    @numba.njit
    def caller(x):
        return called(x)

    before = gc.isenabled()
    (gc.enable if was_on else gc.disable)()
    try:
        with numba.core.event.install_listener("numba:compile", Look()):
            assert caller(1) == 2
        assert seen == [False, False]
        assert gc.isenabled() == was_on
    finally:
        (gc.enable if before else gc.disable)()


def test_garbage_is_collected_again_after_a_kernel_that_does_not_compile():
    @numba.njit
    def wrong(x):
        return x.nothing

    with pytest.raises(numba.TypingError):
        wrong(1)
    assert gc.isenabled()


PROGRESS = """
import logging, sys, time
import numba
now = [0.0]
time.monotonic = lambda: now[0]
from collision_monitor.common.compiled import log_compiling
logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
log_compiling()
for now[0] in (0.0, 0.9, 1.0, 1.9, 2.0):
    @numba.njit
    def added(x):
        return x + 1
    added(1)
"""


def test_progress_is_logged_once_a_second_at_most():
    done = run_python(PROGRESS)
    lines = [f"compiling kernels: {count} done, now __main__.added" for count in (2, 4)]
    assert done.stdout.splitlines() == lines

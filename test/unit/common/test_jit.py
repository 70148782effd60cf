# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Where compiled kernels are kept: privately, by version, with somewhere to go if not."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from collision_monitor.common import compiled
from collision_monitor.geometry import segments

QUESTION = """
from collision_monitor.common import compiled
from collision_monitor.geometry import segments
import numpy as np
print(compiled._directory)
print(segments.capsule_distance(np.arange(12.0).reshape(2, 6), np.zeros((2, 1)), 0, 1))
"""


def ask(**environment):
    """Directory and a distance in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", QUESTION],
        env={**os.environ, **environment}, capture_output=True, text=True, timeout=600, check=True,
    )  # fmt: skip
    directory, distance = done.stdout.split()[-2:]
    assert float(distance) == pytest.approx(3**0.5 * 3)
    return directory, done.stderr


def test_a_given_cache_directory_is_used_and_filled(tmp_path):
    directory, _ = ask(NUMBA_CACHE_DIR=str(tmp_path))
    assert Path(directory).is_relative_to(tmp_path)
    assert list(Path(directory).rglob("*.nbi"))


def test_the_place_changes_with_the_text_of_any_kernel(monkeypatch, tmp_path):
    before = compiled._sources_digest()
    assert before == compiled._sources_digest()
    other = tmp_path / "other.py"
    other.write_text("from collision_monitor.common.compiled import kernel\nx = 1")
    monkeypatch.setattr(compiled, "_PACKAGE", tmp_path)
    one = compiled._sources_digest()
    other.write_text("from collision_monitor.common.compiled import kernel\nx = 2")
    assert len({before, one, compiled._sources_digest()}) == 3


def test_a_home_that_cannot_be_written_falls_back_to_the_temporary_folder(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    directory, _ = ask(
        NUMBA_CACHE_DIR="", XDG_CACHE_HOME=str(blocked), HOME=str(blocked), TMPDIR=str(scratch)
    )
    assert Path(directory).is_relative_to(scratch)


def test_without_any_place_kernels_still_compile_and_a_warning_says_so(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    # A folder that others can write to is not trusted with code.
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    mine = scratch / f"collision_monitor-{os.getuid()}"
    mine.mkdir()
    directory = mine / f"kernels-{compiled._sources_digest()}"
    directory.mkdir()
    directory.chmod(0o777)
    found, errors = ask(
        NUMBA_CACHE_DIR="", XDG_CACHE_HOME=str(blocked), HOME=str(blocked), TMPDIR=str(scratch)
    )
    assert found == "None"
    assert "compiled anew at every start" in errors


@pytest.mark.parametrize(("kind", "size"), [("nbi", 0), ("nbi", 40), ("nbc", 0), ("nbc", 400)])
def test_files_cut_short_are_compiled_anew_with_a_warning(tmp_path, kind, size):
    place = {"NUMBA_CACHE_DIR": str(tmp_path)}
    ask(**place)
    cut = list(tmp_path.rglob(f"*.{kind}"))
    for path in cut:
        while path.read_bytes()[:size].endswith(b"."):  # as a whole file would end
            size -= 1
        os.truncate(path, size)
    _, errors = ask(**place)
    assert cut
    assert "cannot be read" in errors
    assert "compiled anew" in errors
    _, errors = ask(**place)  # whole again
    assert "cannot be read" not in errors


WARM_UP = """
from collision_monitor.common.compiled import compiling
from collision_monitor.geometry import segments
import numpy as np
with compiling(segments.capsule_distance):
    print(segments.capsule_distance(np.arange(12.0).reshape(2, 6), np.zeros((2, 1)), 0, 1))
print(sum(segments.capsule_distance.stats.cache_misses.values()))
"""


def test_processes_that_begin_together_compile_once(tmp_path):
    both = [
        subprocess.Popen(
            [sys.executable, "-c", WARM_UP],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    found = [process.communicate(timeout=600)[0].split() for process in both]
    assert sum(int(words[-1]) for words in found) == 1
    assert found[0][-2] == found[1][-2]
    assert not list(tmp_path.rglob("*.lock"))


def test_a_warm_up_goes_on_without_a_place_for_a_lock(monkeypatch):
    monkeypatch.setattr(compiled, "_directory", None)
    done = []
    with compiled.compiling(segments.capsule_distance):
        assert not gc.isenabled()
        done.append(True)
    assert done
    assert gc.isenabled()


@pytest.mark.parametrize(
    "name",
    [
        "_compile_core", "pipeline_class", "_customize_flags", "load_overload",
        "get_call_template", "JITCodeLibrary", "numba.core.compiler", ".compile =",
        "numba.core.codegen",
    ],
)  # fmt: skip
def test_the_package_patches_nothing_of_numba(name):
    package = Path(compiled.__file__).parents[1]
    assert [str(path) for path in package.rglob("*.py") if name in path.read_text()] == []

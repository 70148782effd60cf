# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Another process compiles, and leaves the machine code on disk."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
from numba.core import event
from collision_monitor.monitoring.compile_ahead import KERNELS, compile_ahead, is_compiled

which = sys.argv[1]
assert not is_compiled(which)
compile_ahead(which).wait()
assert is_compiled(which)
assert compile_ahead(which) is None
with event.install_recorder("numba:compile") as compiled:
    KERNELS[which][0]()
assert not compiled.buffer
"""


@pytest.mark.parametrize("which", ["cloud", "monitor"])
def test_what_another_process_compiles_is_not_compiled_again(which, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, which],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr

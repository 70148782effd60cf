# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Another process compiles, and leaves the machine code on disk."""

import os
import subprocess
import sys

PROGRAM = """
from numba.core import event
from collision_monitor.live.voxels import warm_up
from collision_monitor.loading.ahead import compile_ahead, is_compiled

assert not is_compiled("cloud")
compile_ahead("cloud").wait()
assert is_compiled("cloud")
assert compile_ahead("cloud") is None
with event.install_recorder("numba:compile") as compiled:
    warm_up()
assert not compiled.buffer
"""


def test_what_another_process_compiles_is_not_compiled_again(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr

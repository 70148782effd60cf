# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Processes of this machine, for tests."""

import os
import subprocess
import sys
from pathlib import Path


def run_python(
    code: str, *words: object, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess:
    """What a program prints in a fresh interpreter; it has to end well."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)], cwd=cwd,
        env={**os.environ, **environment}, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def is_alive(pid: int | str) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Nodes in processes of their own, and the processor time that they take."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from common.command_line import ROOT


@contextmanager
def running(command: list[str], namespace: str, **environment: str) -> Iterator[subprocess.Popen]:
    """A node in a process of its own and in ``namespace``; ended at the end."""
    words = command if "--ros-args" in command else [*command, "--ros-args"]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [*words, "-r", f"__ns:=/{namespace}"],
            env={**os.environ, "PYTHONPATH": _with_root(), **environment},
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        try:
            yield process
        except TimeoutError as error:
            said.seek(0)
            raise TimeoutError(f"{error}; it said: {said.read().decode()}") from None
        finally:
            process.terminate()
            try:
                process.wait(10.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _with_root() -> str:
    return os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))


def cpu_seconds(pid: int) -> float:
    """Time on a processor of all threads of a process so far."""
    total = 0
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        total += int(path.read_text().split()[0])
    return total * 1e-9

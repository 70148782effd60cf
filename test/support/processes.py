# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Processes of this machine, for tests."""

from pathlib import Path


def is_alive(pid: int | str) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False

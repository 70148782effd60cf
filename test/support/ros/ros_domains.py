# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""ROS domains that nobody else on this machine is in: not another test, run or user.

Who takes a domain locks its file in the temporary folder; the kernel takes the lock away when
the process ends, however it ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import tempfile
from pathlib import Path

# Above those that people take by hand; 101 is the last whose ports the kernel gives to nobody else.
DOMAINS = range(10, 102)
_PARTICIPANTS = 10
_NAME = "collision_monitor_test_domain_{}.lock"


def _open(path: Path) -> int | None:
    """A descriptor of the file, made where it is missing; None where we may not."""
    for flags in (os.O_RDONLY | os.O_CREAT, os.O_RDONLY):  # another user's: not with O_CREAT
        with contextlib.suppress(OSError):
            return os.open(path, flags | os.O_NOFOLLOW, 0o644)
    return None


def is_free(domain: int) -> bool:
    """Whether the ports of a domain's first participants are free: nobody here is in it.

    Of several, for the first may have gone and left others behind.
    """
    for participant in range(_PARTICIPANTS):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(("0.0.0.0", 7400 + 250 * domain + 10 + 2 * participant))
            except OSError:
                return False
    return True


class Domain:
    """A ROS domain, ours until it is released or this process ends."""

    last = DOMAINS[0] - 1  # of this process: one just left may not have been cleared yet

    def __init__(self, folder: Path | None = None) -> None:
        """Take the next free one; RuntimeError where there is none."""
        folder = Path(tempfile.gettempdir()) if folder is None else folder
        first = Domain.last + 1 - DOMAINS[0]
        for k in range(len(DOMAINS)):
            number = DOMAINS[(first + k) % len(DOMAINS)]
            lock = _open(folder / _NAME.format(number))
            if lock is None:
                continue
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(lock)
                continue
            if is_free(number):
                self.number, self._lock = number, lock
                Domain.last = number
                return
            os.close(lock)
        raise RuntimeError(
            f"no ROS domain from {DOMAINS[0]} to {DOMAINS[-1]} is free: each is locked in "
            f"{folder} by another run of tests, or a ROS node of this machine is in it"
        )

    @property
    def environment(self) -> dict[str, str]:
        """Of a process that shall be in this domain, and speak to this machine alone."""
        return {
            **os.environ,
            "ROS_DOMAIN_ID": str(self.number),
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        }

    def release(self) -> None:
        """Leave it to others."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Domain:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Release it."""
        self.release()

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How kernels are compiled, and where the machine code is kept.

Numba's own cache notices a change of the file that holds a function, but not of
the files whose functions it calls: after an upgrade old machine code could run
with new tables, and give wrong distances. So the cache directory is named after
the text of *all* kernels, and the numba version.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numba

logger = logging.getLogger(__name__)

# Contraction to fused multiply-add only: nothing may assume that NaN or infinity
# cannot occur, because a NaN must surface as one.
_FAST_MATH = {"contract", "nsz"}


def _sources_digest() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _candidates() -> Iterator[Path]:
    """Directories for the cache, best first."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(os.environ["NUMBA_CACHE_DIR"]) / "collision_monitor"
    if os.environ.get("XDG_CACHE_HOME"):
        yield Path(os.environ["XDG_CACHE_HOME"]) / "collision_monitor"
    with contextlib.suppress(RuntimeError):  # no home directory
        yield Path.home() / ".cache" / "collision_monitor"
    yield Path(tempfile.gettempdir()) / f"collision_monitor-{os.getuid()}"


def _is_private(directory: Path) -> bool:
    """Whether only this user can write there: cached code is executed when it is read."""
    status = directory.stat()
    shared = stat.S_IWGRP | stat.S_IWOTH
    return status.st_uid == os.getuid() and not status.st_mode & shared


def _is_usable(directory: Path) -> bool:
    """Make ``directory`` and its parent, and tell whether they are private and writable."""
    try:
        directory.parent.parent.mkdir(parents=True, exist_ok=True)
        directory.parent.mkdir(mode=0o700, exist_ok=True)
        directory.mkdir(mode=0o700, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
        return _is_private(directory.parent) and _is_private(directory)
    except OSError:
        return False


def cache_directory() -> Path | None:
    """Directory of this version's machine code, or None where nothing can be written."""
    for base in _candidates():
        directory = base / f"kernels-{_sources_digest()}"
        if _is_usable(directory):
            return directory
    return None


_directory = cache_directory()
if _directory is None:
    logger.warning(
        "no private, writable directory for compiled kernels (tried NUMBA_CACHE_DIR, "
        "XDG_CACHE_HOME, ~/.cache and %s): they are compiled anew at every start",
        tempfile.gettempdir(),
    )


def kernel(function: Callable) -> Callable:
    """Compile ``function`` with numba at its first call; keep the machine code on disk."""
    options = {"fastmath": _FAST_MATH, "error_model": "numpy"}
    if _directory is None:
        return numba.njit(**options)(function)
    # The cache's place is settled at decoration: ours is named for that moment only.
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(_directory)
    try:
        return numba.njit(cache=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = previous

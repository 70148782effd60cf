# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A private cache on disk for results that take long to compute.

No other user can write to the folder, and the values in a `Store` are JSON: reading them runs no
code. A cache must not cause errors: where it cannot be used, it is empty, and a warning gives the
reason.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import logging
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import numpy as np

from collision_monitor.common.files import write_text

logger = logging.getLogger(__name__)

SWITCH = "COLLISION_MONITOR_CACHE"
_LARGEST = 200_000_000  # bytes; the least recently used values are dropped
LOOK_SECONDS = 0.02  # between two checks whether another process has finished
_PATIENCE = 120.0  # seconds to wait for it


# -- folders -------------------------------------------------------------------------


def _candidates() -> Iterator[Path]:
    """Directories for the cache, best first."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(os.environ["NUMBA_CACHE_DIR"]) / "collision_monitor"
    if os.environ.get("XDG_CACHE_HOME"):
        yield Path(os.environ["XDG_CACHE_HOME"]) / "collision_monitor"
    with contextlib.suppress(RuntimeError):  # no home directory
        yield Path.home() / ".cache" / "collision_monitor"
    with contextlib.suppress(OSError):  # no temporary folder can be written to
        yield Path(tempfile.gettempdir()) / f"collision_monitor-{os.getuid()}"


def _is_private(directory: Path) -> bool:
    """Whether only this user can write there, so that its contents can be trusted."""
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


def private_directory(name: str) -> Path | None:
    """A writable directory called ``name`` that belongs to this user only; None without one."""
    for base in _candidates():
        directory = base / name
        if _is_usable(directory):
            return directory
    return None


def places() -> str:
    """Where `private_directory` looks, for messages."""
    return "NUMBA_CACHE_DIR, XDG_CACHE_HOME, ~/.cache and the temporary folder (TMPDIR)"


# -- locks: work that one process does for all ---------------------------------------


@contextlib.contextmanager
def turn(directory: Path | None, work: str, patience: float = _PATIENCE) -> Iterator[bool]:
    """Context of work whose result is cached: of processes that start together one does it.

    The others wait for it. If the lock is not available, or another process takes too long, both do
    the work.

    Args:
        directory: where the results are cached; None where they are not, so that nobody waits.
        work: name of the lock file in it.
        patience: seconds to wait at most.

    Yields:
        Whether another process had the lock: its result may be available now.
    """
    if directory is None:
        yield False
        return
    path, file, waited = directory / f"{work}.lock", None, False
    end = time.monotonic() + patience
    with contextlib.suppress(OSError):
        file = path.open("a")
        while not _is_locked(file):
            waited = True
            if time.monotonic() > end:
                break
            time.sleep(LOOK_SECONDS)
    try:
        yield waited
    finally:
        if file is not None:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
            file.close()


def _is_locked(file: IO) -> bool:
    """Lock a file, unless another process has locked it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


# -- keys ----------------------------------------------------------------------------


def content_key(*parts: object) -> str:
    """Digest (SHA-256, hexadecimal) of arrays, bytes and what JSON can represent, also nested.

    Different content has different keys, except that a tuple is the same as a list.

    Raises:
        TypeError: for any other type, and for arrays of objects.
    """
    return hashlib.sha256(json.dumps(parts, default=_as_json).encode()).hexdigest()


def _as_json(part: object) -> object:
    """An array, a number of numpy or bytes as what JSON can represent."""
    if isinstance(part, np.generic):
        return part.item()
    if isinstance(part, np.ndarray) and not part.dtype.hasobject:
        return {"array": [part.dtype.str, part.shape, hashlib.sha256(part.tobytes()).hexdigest()]}
    if isinstance(part, bytes):
        return {"bytes": hashlib.sha256(part).hexdigest()}
    raise TypeError(f"no key for a {type(part).__name__}: {part!r:.80}")


# -- values --------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _warn_once(text: str) -> None:
    logger.warning("%s", text)


class Store:
    """Maps text to JSON values, a file each; any number of processes may use it at the same time.

    It never raises: what cannot be read is not there, and the log says once why. The environment
    variable COLLISION_MONITOR_CACHE=off switches it off.
    """

    def __init__(self, name: str, largest: int = _LARGEST) -> None:
        """``name`` is that of its folder, ``largest`` the bytes it may grow to."""
        self._name, self._largest = name, largest
        self._folder: Path | None = None
        if os.environ.get(SWITCH, "").strip().lower() not in ("off", "0", "false"):
            self._folder = private_directory(name)
            if self._folder is None:
                self._warn(f"no private, writable directory (tried {places()})")

    def get(self, key: str) -> Any:
        """The value of ``key``, None where there is none."""
        if self._folder is None:
            return None
        path = self._path(key)
        try:
            value = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as problem:
            self._warn(_reason(problem))
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # the least recently used values are dropped
        return value

    def set(self, key: str, value: Any) -> None:
        """Store a value that JSON can represent (otherwise TypeError)."""
        text = json.dumps(value)
        if self._folder is None:
            return
        try:
            write_text(self._path(key), text)
            self._drop_oldest()
        except OSError as problem:
            self._warn(_reason(problem))

    def kept(self, key: str, compute: Callable[[], Any]) -> Any:
        """The value of ``key``; where there is none, that of ``compute``, which is stored."""
        value = self.get(key)
        if value is None:
            value = compute()
            self.set(key, value)
        return value

    def turn(
        self, keys: Iterable[str], patience: float = _PATIENCE
    ) -> contextlib.AbstractContextManager[bool]:
        """As `turn`, to compute the values of ``keys``."""
        return turn(self._folder, content_key(*sorted(keys)), patience)

    def _path(self, key: str) -> Path:
        return self._folder / f"{content_key(key)}.json"

    def _drop_oldest(self) -> None:
        values = []
        for path in self._folder.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another process drops them as well
                if path.suffix != ".lock":
                    values.append((path.stat().st_mtime_ns, path.stat().st_size, path))
        total = sum(size for _, size, _ in values)
        for _, size, path in sorted(values):
            if total <= self._largest:
                break
            path.unlink(missing_ok=True)
            total -= size

    def _warn(self, reason: str) -> None:
        where = f" in {self._folder}" if self._folder else ""
        _warn_once(f"cache '{self._name}'{where}: {reason}; what it lacks is computed again")


def _reason(problem: Exception) -> str:
    """Of a problem, without the names of files, so that one kind is logged once."""
    text = problem.strerror if isinstance(problem, OSError) else str(problem)
    return f"{type(problem).__name__}: {text}"

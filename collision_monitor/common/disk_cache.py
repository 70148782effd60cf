# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A private cache on disk for results that take long to compute.

No other user can write to the folder, and the values in a `Store` are JSON: reading them runs no
code. A cache must not cause errors: where it cannot be used, it is empty, and one warning gives the
reason.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import os
import sqlite3
import stat
import struct
import tempfile
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from numbers import Integral, Real
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

logger = logging.getLogger(__name__)

SWITCH = "COLLISION_MONITOR_CACHE"
_LARGEST = 200_000_000  # bytes; the least recently used values are dropped
_PATIENCE = 2.0  # seconds to wait for another process that writes
_LOOK_SECONDS = 0.02  # between two checks whether another process has finished


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


class Turn:
    """A lock on work whose result is cached: one of the processes that start together does it.

    If the lock is not available, or another process takes too long, both do the work.
    """

    def __init__(self, directory: Path | None, work: str) -> None:
        """``work`` is the name of the lock file in ``directory``, where the results are cached."""
        self._path = None if directory is None else directory / f"{work}.lock"
        self._file: int | None = None

    def take(self, patience: float = 120.0) -> bool:
        """Acquire the lock; wait for other processes ``patience`` seconds at most.

        Returns:
            Whether another process had the lock: its result may be available now.
        """
        if self._path is None:
            return False
        waited, end = False, time.monotonic() + patience
        with contextlib.suppress(OSError):
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            while True:
                try:
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    waited = True
                    if time.monotonic() > end:
                        break
                    time.sleep(_LOOK_SECONDS)
        return waited

    def give(self) -> None:
        """Release the lock."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = None


# -- keys ----------------------------------------------------------------------------


def content_key(*parts: object) -> str:
    """Digest (SHA-256, hexadecimal) of arrays, texts, numbers, None and nestings of them.

    Different content has different keys: type, length, shape and element type of
    every part are included in the digest, so two parts cannot be confused.

    Raises:
        TypeError: for any other type, and for arrays of objects.
    """
    digest = hashlib.sha256()
    _feed(digest, parts)
    return digest.hexdigest()


def _feed(digest: hashlib._Hash, part: object) -> None:
    if isinstance(part, np.ndarray) and not part.dtype.hasobject:
        head, body = f"array {part.dtype.str} {part.shape}", part.tobytes()
    elif isinstance(part, (bool, np.bool_)):
        head, body = "bool", b"1" if part else b"0"
    elif isinstance(part, Integral):
        head, body = "integer", str(int(part)).encode()
    elif isinstance(part, Real):
        head, body = "float", struct.pack("<d", float(part))
    elif isinstance(part, str):
        head, body = "text", part.encode("utf-8", "surrogatepass")
    elif isinstance(part, bytes):
        head, body = "bytes", part
    elif part is None:
        head, body = "none", b""
    elif isinstance(part, (tuple, list)):
        digest.update(f"sequence {len(part)}:".encode())
        for item in part:
            _feed(digest, item)
        return
    else:
        raise TypeError(f"no key for a {type(part).__name__}: {part!r:.80}")
    digest.update(f"{head} {len(body)}:".encode())
    digest.update(body)


# -- values --------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _warn_once(text: str) -> None:
    logger.warning("%s", text)


def _json_only(diskcache: ModuleType) -> type:
    """A JSONDisk that refuses the pickles which its base class would read."""

    class JsonOnly(diskcache.JSONDisk):
        def get(self, key: Any, raw: bool) -> Any:
            if not raw:
                raise ValueError("a key that is no JSON")
            return super().get(key, raw)

        def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> Any:
            if mode == diskcache.core.MODE_PICKLE:
                raise ValueError("a value that is no JSON")
            return super().fetch(mode, filename, value, read)

    return JsonOnly


class Store:
    """Maps text to JSON values on disk; any number of processes may use it at the same time.

    It never raises: where it cannot be read or written it is empty, and logs the reason once. The
    environment variable COLLISION_MONITOR_CACHE=off switches it off.
    """

    def __init__(
        self, name: str, largest: int = _LARGEST, patience: float = _PATIENCE
    ) -> None:
        """``name`` is that of its folder, ``largest`` the bytes it may grow to.

        It waits ``patience`` seconds for another process that writes.
        """
        self._name = name
        self._largest, self._patience = largest, patience
        self._cache: Any = None
        self._usable = os.environ.get(SWITCH, "").strip().lower() not in ("off", "0", "false")

    def __enter__(self) -> Store:
        """Use it as a context to close it at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close its files; the next access opens them again."""
        if self._cache is not None:
            with contextlib.suppress(sqlite3.Error):
                self._cache.close()
        self._cache = None

    def get(self, key: str) -> Any:
        """The value of ``key``, None where there is none."""
        return self.get_many([key]).get(key)

    def set(self, key: str, value: Any) -> None:
        """Store a value that JSON can represent (otherwise TypeError)."""
        self.set_many({key: value})

    def get_many(self, keys: Sequence[str]) -> dict[str, Any]:
        """The values of those keys that are stored."""
        values = {}
        with self._opened() as cache:
            if cache is not None:
                with cache.transact():
                    for key in keys:
                        value = cache.get(key)
                        if value is not None:
                            values[key] = value
        return values

    def set_many(self, values: Mapping[str, Any]) -> None:
        """As `set`, for several at once."""
        with self._opened() as cache:
            if cache is not None and values:
                with cache.transact():
                    for key, value in values.items():
                        cache.set(key, value)

    def turn(self, keys: Sequence[str]) -> Turn:
        """A lock on computing the values of ``keys``; without a cache it never waits."""
        directory = private_directory(self._name) if self._usable else None
        return Turn(directory, content_key(*sorted(keys)))

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Any]:
        """The cache or None; after an error inside the context this store is empty."""
        if not self._usable:
            yield None
            return
        try:
            import diskcache
        except ImportError:
            self._give_up("the package diskcache is not installed (pip install diskcache)")
            yield None
            return
        faults = (sqlite3.Error, diskcache.Timeout, OSError, ValueError, KeyError, zlib.error)
        try:
            if self._cache is None:
                self._cache = self._open(diskcache)
        except faults as problem:
            self._give_up(_reason(problem))
        try:
            yield self._cache
        except faults as problem:
            self._give_up(_reason(problem))

    def _open(self, diskcache: ModuleType) -> Any:
        directory = private_directory(self._name)
        if directory is None:
            raise OSError(f"no private, writable directory (tried {places()})")
        # diskcache would wait a minute for a lock while it opens: ask for it first.
        with contextlib.closing(
            sqlite3.connect(
                directory / diskcache.core.DBNAME, timeout=self._patience, isolation_level=None
            )
        ) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        return diskcache.Cache(
            os.fspath(directory),
            timeout=self._patience,
            disk=_json_only(diskcache),
            size_limit=self._largest,
            eviction_policy="least-recently-used",
            statistics=0,
        )

    def _give_up(self, reason: str) -> None:
        self._usable = False
        self.close()
        place = private_directory(self._name)
        where = f" in {place}" if place else ""
        _warn_once(
            f"cache '{self._name}'{where} is not used: {reason}; its contents are "
            "computed again at every start"
        )


def _reason(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Set-up of numba: decorators for kernels, the cache of machine code, and progress in the log.

Numba's own cache notices a change of the file that holds a function, but not of
the files whose functions it calls: after an upgrade old machine code could run
with new tables, and give wrong distances. So the cache directory is named after
the text of *all* kernels and the versions of the compiler. Numba itself keeps the code
of different processors apart.
"""

from __future__ import annotations

import gc
import hashlib
import logging
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.typing import Signature

from collision_monitor.common.disk_cache import places, private_directory, turn

logger = logging.getLogger(__name__)

# Contraction to fused multiply-add only: the compiler must not assume that NaN and infinity cannot
# occur, because a NaN must stay one.
_FAST_MATH = {"contract", "nsz"}
_PACKAGE = Path(__file__).resolve().parents[1]
# Kernels, and what extends numba. Constants of kernels are defined in such files too.
_HAS_KERNELS = re.compile(rb"^@\w*kernel$|^(?:from|import) numba", re.MULTILINE)
_PATIENCE = 600.0  # seconds to wait for another process that compiles
LOG_SECONDS = 1.0  # between two lines of one kind in a log

# Numba compiles a kernel, and all that it calls, again for every integer or boolean literal among
# its arguments. These are constants of numpy, which numba treats as ordinary numbers.
MINUS_ONE, ZERO, ONE, TWO, THREE, FOUR = (np.int64(n) for n in range(-1, 5))
FALSE, TRUE = np.bool_(False), np.bool_(True)


# -- cache of machine code -----------------------------------------------------------


def _sources_digest() -> str:
    """Digest of the compiler's versions and the text of every file with kernels."""
    digest = hashlib.sha256(f"{numba.__version__} {llvmlite.__version__}".encode())
    for path in sorted(_PACKAGE.rglob("*.py")):
        text = path.read_bytes()
        if _HAS_KERNELS.search(text):
            digest.update(text)
    return digest.hexdigest()[:16]


def cache_directory() -> Path | None:
    """Directory of this version's machine code, or None where nothing can be written."""
    return private_directory(f"kernels-{_sources_digest()}")


def _remove_truncated(directory: Path) -> None:
    """Delete files that a full disk or a crash cut short: numba would raise at every start.

    Numba's files are pickles, which end with a full stop. Numba compiles missing code again.
    """
    for path in (*directory.rglob("*.nbi"), *directory.rglob("*.nbc")):
        try:
            with path.open("rb") as file:
                file.seek(-1, os.SEEK_END)
                whole = file.read() == b"."
        except FileNotFoundError:  # another process deleted it
            continue
        except OSError:  # empty, or not readable
            whole = False
        if not whole:
            logger.warning("machine code in %s cannot be read: compiled anew", path)
            with suppress(OSError):
                path.unlink()


_directory = cache_directory()
if _directory is None:
    logger.warning(
        "no private, writable directory for compiled kernels (tried %s): "
        "they are compiled anew at every start",
        places(),
    )
else:
    _remove_truncated(_directory)


def is_on_disk(compiled: Callable) -> bool:
    """Whether the cache has machine code of a kernel from an earlier process."""
    return _directory is not None and any(_directory.rglob(f"{_file_name(compiled)}-*.nbi"))


def _file_name(compiled: Callable) -> str:
    """Beginning of the names of a kernel's files in numba's cache."""
    function = compiled.py_func
    return f"{function.__module__.rsplit('.', 1)[-1]}.{function.__qualname__}"


# -- decorators ----------------------------------------------------------------------


def kernel(function: Callable) -> Callable:
    """Compile ``function`` with numba at its first call; keep the machine code on disk."""
    return _compiled(function, nogil=False)


def offline_kernel(function: Callable) -> Callable:
    """As `kernel`, for long runs: releases the GIL, which costs 50 ns for each call."""
    return _compiled(function, nogil=True)


def reproducible_kernel(function: Callable) -> Callable:
    """As `offline_kernel`, with the same result on every processor and wherever it is inlined.

    No operations are fused.
    """
    return _compiled(function, nogil=True, fastmath=False)


def inlined_kernel(function: Callable) -> Callable:
    """As `kernel`, for parts of another kernel: inlined wherever it is called."""
    return _compiled(function, nogil=False, forceinline=True)


def small_kernel(function: Callable) -> Callable:
    """As `kernel`, for a few lines: inlined into the caller before it is compiled.

    Compiling a separate function takes 0.05 s and more, however short it is.
    """
    return _compiled(function, nogil=False, inline="always")


def part_kernel(function: Callable) -> Callable:
    """As `small_kernel`, for a part of any length that is called in one place only.

    With several calls the copies take longer to compile than a separate function.
    """
    return small_kernel(function)


def reproducible_part_kernel(function: Callable) -> Callable:
    """As `part_kernel`, for a part of a `reproducible_kernel`."""
    return _compiled(function, nogil=False, fastmath=False, inline="always")


def _compiled(
    function: Callable, nogil: bool, fastmath: set[str] | bool = _FAST_MATH, **more: bool | str
) -> Callable:
    # Kernels are not passed as arguments: without wrappers for that they compile faster.
    options = {
        "fastmath": fastmath, "error_model": "numpy", "nogil": nogil, "no_cfunc_wrapper": True,
        **more,
    }  # fmt: skip
    dispatcher = numba.njit(**options)(function)
    if _directory is not None:
        with _cache_place():
            dispatcher._cache = _Cache(function)
    return dispatcher


class _Cache(FunctionCache):
    """Numba's cache, except that a disk that is full or has gone costs time only."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code for a signature; None without any."""
        try:
            return super().load_overload(sig, target_context)
        except OSError as problem:
            _warn_of_disk(problem)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save machine code, if the disk allows it."""
        try:
            super().save_overload(sig, data)
        except OSError as problem:
            _warn_of_disk(problem)


def _warn_of_disk(problem: OSError) -> None:
    _warn_once(problem.strerror or str(problem))


@cache
def _warn_once(reason: str) -> None:
    logger.warning(
        "compiled kernels cannot be kept in %s: %s; they are compiled anew at every start",
        _directory, reason,
    )  # fmt: skip


@contextmanager
def _cache_place() -> Iterator[None]:
    """Context in which numba caches in the directory of this package."""
    # Numba chooses the cache directory at decoration: it is set for that moment only.
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(_directory)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = previous


_callbacks: list[Callable] = []  # their machine code lives as long as they do


@cache
def callback_address(compiled: Callable, signature: Signature) -> int:
    """Address, in this process, of a C callback of a kernel (`numba.cfunc`); compiles it."""
    options = {"fastmath": _FAST_MATH, "error_model": "numpy"}
    with _cache_place():
        try:
            callback = numba.cfunc(signature, cache=_directory is not None, **options)
            _callbacks.append(callback(compiled.py_func))
        except OSError as problem:
            _warn_of_disk(problem)
            _callbacks.append(numba.cfunc(signature, **options)(compiled.py_func))
    return _callbacks[-1].address


# -- warm-ups ------------------------------------------------------------------------


@contextmanager
def compiling(*kernels: Callable) -> Iterator[None]:
    """Context in which ``kernels``, and others with them, are compiled by calling them.

    Processes that start together take turns if one of ``kernels`` is not on disk yet: the first
    compiles, the others load its result. They wait for it, ten minutes at most. Blocks for the same
    kernels must not be nested.
    """
    if all(is_on_disk(each) for each in kernels):
        yield
        return
    with turn(_directory, _file_name(kernels[0]), _PATIENCE):
        yield


class _Compiling(event.Listener):
    """Logs which kernel is being compiled, and how many are done, if that is wanted.

    Garbage collection is disabled meanwhile: it would take a sixth of the time to compile.
    """

    def __init__(self) -> None:
        self.is_logged = False
        self.done = self._depth = 0  # compiling calls itself
        self._collects = False
        self._logged = time.monotonic()

    def on_start(self, event: event.Event) -> None:
        if self._depth == 0:
            self._collects = gc.isenabled()
            gc.disable()
        self._depth += 1
        now = time.monotonic()
        if self.is_logged and now - self._logged >= LOG_SECONDS:
            self._logged = now
            function = event.data["dispatcher"].py_func
            module = function.__module__.rsplit(".", 1)[-1]
            logger.info(
                "compiling kernels: %d done, now %s.%s", self.done, module, function.__name__
            )

    def on_end(self, event: event.Event) -> None:
        self.done += 1
        self._depth -= 1
        if self._depth == 0 and self._collects:
            gc.enable()


_listener = _Compiling()
event.register("numba:compile", _listener)


def compiled_kernels() -> int:
    """Number of kernels that this process has compiled, those that they call included."""
    return _listener.done


def log_compiling() -> None:
    """Log the progress of compiling from now on, until this process ends."""
    _listener.is_logged = True

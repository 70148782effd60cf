# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How kernels are compiled, and where the machine code is kept.

Numba's own cache notices a change of the file that holds a function, but not of
the files whose functions it calls: after an upgrade old machine code could run
with new tables, and give wrong distances. So the cache directory is named after
the text of *all* kernels, and the numba version.
"""

from __future__ import annotations

import gc
import hashlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numba
from numba import types

from collision_monitor.common.disk_cache import Turn, places, private_directory
from collision_monitor.common.part_library import PartCompiler

logger = logging.getLogger(__name__)

# Contraction to fused multiply-add only: nothing may assume that NaN or infinity
# cannot occur, because a NaN must surface as one.
_FAST_MATH = {"contract", "nsz"}
_PACKAGE = Path(__file__).resolve().parents[1]
_HAS_KERNELS = b"collision_monitor.common.compiled import"


def _sources_digest() -> str:
    """Of numba's version and the text of every file with kernels."""
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(_PACKAGE.rglob("*.py")):
        text = path.read_bytes()
        if path.parent.name == "common" or _HAS_KERNELS in text:
            digest.update(text)
    return digest.hexdigest()[:16]


def cache_directory() -> Path | None:
    """Directory of this version's machine code, or None where nothing can be written."""
    return private_directory(f"kernels-{_sources_digest()}")


_directory = cache_directory()
if _directory is None:
    logger.warning(
        "no private, writable directory for compiled kernels (tried %s): "
        "they are compiled anew at every start",
        places(),
    )


def is_on_disk(compiled: Callable) -> bool:
    """Whether machine code of a kernel is kept from an earlier process."""
    function = compiled.py_func
    name = f"{function.__module__.rsplit('.', 1)[-1]}.{function.__qualname__}-*.nbi"
    return _directory is not None and any(_directory.rglob(name))


def kernel(function: Callable) -> Callable:
    """Compile ``function`` with numba at its first call; keep the machine code on disk."""
    return _compiled(function, nogil=False)


def offline_kernel(function: Callable) -> Callable:
    """As `kernel`, for long runs: lets other threads go on, which costs a call 50 ns."""
    return _compiled(function, nogil=True)


def inlined_kernel(function: Callable) -> Callable:
    """As `kernel`, for parts of another: a part of its code wherever it is called."""
    return _compiled(function, nogil=False, forceinline=True)


def far_kernel(function: Callable) -> Callable:
    """As `kernel`, for what is called by its address (`common/far_call.py`)."""
    return _compiled(function, nogil=False, is_part=False)


def exact_kernel(function: Callable) -> Callable:
    """As `kernel`, with every operation rounded as IEEE 754 says: none fused, none left out.

    For arithmetic that computes its own rounding errors. It keeps this where it is inlined
    into an ordinary kernel: what may be fused is written on each operation.
    """
    return _compiled(function, nogil=False, fastmath=False)


def _compiled(
    function: Callable,
    nogil: bool,
    forceinline: bool = False,
    fastmath: set[str] | bool = _FAST_MATH,
    is_part: bool = True,
) -> Callable:
    options = {"fastmath": fastmath, "error_model": "numpy", "nogil": nogil}
    if forceinline:
        options["forceinline"] = True
    if _directory is None:
        return _general(numba.njit(**options)(function), is_part)
    # The cache's place is settled at decoration: ours is named for that moment only.
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(_directory)
    try:
        compiled = numba.njit(cache=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = previous
    _forgive(compiled)
    _take_turns(compiled, _directory)
    return _general(compiled, is_part)


def _general(compiled: Callable, is_part: bool) -> Callable:
    """Let ``compiled`` be compiled once for integers, not again for every constant it is given.

    To numba a constant in a call is a type of its own, in what is called as well: exact signs were
    compiled 14 times over.
    """
    find = compiled.get_call_template

    def find_for_any_number(args: Sequence, keywords: Mapping) -> tuple:
        return find(
            tuple(types.unliteral(kind) for kind in args),
            {name: types.unliteral(kind) for name, kind in keywords.items()},
        )

    compiled.get_call_template = find_for_any_number
    _compile_parts_as_such(compiled, is_part)
    return compiled


@contextmanager
def _without_collections() -> Iterator[None]:
    """Without the garbage collector: it would go through all of numba's objects, over and over.

    That took a sixth of the time to compile. Compiling calls itself; it is but one pause.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _compile_parts_as_such(compiled: Callable, is_part: bool) -> None:
    """Make no entries for calls from Python and C into what is handed windows: nobody can.

    And unless it is called by address (not ``is_part``), no machine code of its own.
    """
    compiler = compiled._compiler
    compile_core = compiler._compile_core
    pipeline = compiler.pipeline_class

    def compile_without(args: Sequence, return_type: object) -> object:
        # Told by their names, also in tuples: `borrow` is built upon this file.
        inner = any("window(" in str(kind) for kind in args)

        def customize(flags: object) -> object:
            flags.no_cpython_wrapper = flags.no_cfunc_wrapper = inner
            return flags

        compiler._customize_flags = customize
        compiler.pipeline_class = PartCompiler if inner and is_part else pipeline
        with _without_collections():
            return compile_core(args, return_type)

    compiler._compile_core = compile_without


def _forgive(compiled: Callable) -> None:
    """Let ``compiled`` take files it cannot read, cut short by a full disk, for none at all.

    Numba would raise at every start until somebody deletes them.
    """
    kept = compiled._cache
    load = kept.load_overload

    def load_or_none(*arguments: object) -> object:
        try:
            return load(*arguments)
        except Exception as problem:
            logger.warning(
                "machine code in %s cannot be read (%s): compiled anew",
                kept.cache_path, type(problem).__name__,
            )  # fmt: skip
            kept.flush()
            return None

    kept.load_overload = load_or_none


def _take_turns(compiled: Callable, directory: Path) -> None:
    """Let one of several processes that start together compile; the others take what it kept.

    Turns are taken from callers to what they call, which never calls back: no waiting in a circle.
    """
    kept, compile_now = compiled._cache, compiled.compile
    load = kept.load_overload
    name = f"{compiled.py_func.__module__.rsplit('.', 1)[-1]}.{compiled.py_func.__qualname__}"
    turns: list[Turn] = []

    def load_or_take_a_turn(signature: object, context: object) -> object:
        found = load(signature, context)
        if found is None:
            which = hashlib.sha256(str(signature).encode()).hexdigest()[:16]
            turn = Turn(directory, f"{name}-{which}")
            turns.append(turn)
            if turn.take():
                found = load(signature, context)
        return found

    def compile_in_turn(signature: object) -> object:
        before = len(turns)
        try:
            return compile_now(signature)
        finally:
            while len(turns) > before:
                turns.pop().give()

    kept.load_overload, compiled.compile = load_or_take_a_turn, compile_in_turn

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Files that are read up to a size, were changed, and written completely or not at all."""

from __future__ import annotations

import contextlib
import math
import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path

from collision_monitor.common.limits import LARGEST_FILE
from collision_monitor.errors import CollisionMonitorError


def read_bounded(path: Path, largest: int = LARGEST_FILE) -> bytes | None:
    """Content of a file; None if it is larger than ``largest`` bytes, or endless.

    No more than that is read. Raises OSError and ValueError as `open` does.
    """
    with path.open("rb") as file:
        data = file.read(largest + 1)
    return data if len(data) <= largest else None


def read_file(
    path: Path,
    error: type[CollisionMonitorError],
    what: str,
    largest: int = LARGEST_FILE,
    regular: bool = False,
) -> bytes:
    """Content of a file of at most ``largest`` bytes.

    Raises ``error``, which names the file and ``what`` was looked for in it. With ``regular`` a
    pipe or a device is an error, too: whoever reads it may wait for ever.
    """
    shown = str(path) if len(str(path)) <= 300 else f"{str(path)[:300]}..."
    try:
        if regular:
            mode = path.stat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise ValueError("not a regular file")
        data = read_bounded(path, largest)
    except FileNotFoundError:
        raise error(f"{shown}: no such file (looked for the {what} there)") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise error(f"{shown}: cannot read the {what}: {reason}") from None
    if data is None:
        raise error(f"{shown}: {what}: larger than {largest} bytes")
    return data


def any_changed_since(paths: Iterable[str], seconds: float) -> bool:
    """Whether one of these files was written, moved or copied here since, seconds since 1970."""
    return any(_changed_at(path) > seconds for path in paths)


def _changed_at(path: str) -> float:
    try:
        return os.stat(path).st_ctime
    except OSError:  # there is no such file
        return -math.inf


def write_text(path: str | os.PathLike, text: str) -> None:
    """Write a file (UTF-8) atomically: to a temporary file beside it, which is then renamed.

    A link is followed; a file that is not regular (a pipe, /dev/stdout) is written to directly.
    Raises OSError; the file at ``path`` is unchanged then.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        target.write_text(text, encoding="utf-8")
        return
    temporary = target.parent / f".{target.name[:100]}.{secrets.token_hex(8)}"
    number = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        with os.fdopen(number, "w", encoding="utf-8", newline="") as file:
            if target.exists():
                os.fchmod(file.fileno(), target.stat().st_mode & 0o777)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise

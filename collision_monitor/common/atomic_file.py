# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Files that are written completely or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path


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

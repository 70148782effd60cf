# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How far a long command is, on the terminal; in a log now and then."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TextIO

_TERMINAL, _LOG = 0.5, 10.0  # seconds between what is said
_PATIENCE = 1.0  # seconds for which nobody wonders
_WIDTH = 78


class LiveProgress:
    """Says what is being done until it is left; from a thread, so that it needs nobody's help.

    On a terminal one line is written over and over, and gone at the end; else, as in the log of
    a build server, a line every ten seconds.
    """

    def __init__(self, quiet: bool = False, out: TextIO | None = None) -> None:
        """``quiet``: in logs nothing is said."""
        self._out = sys.stderr if out is None else out
        self._live = self._out.isatty()
        self._quiet = quiet and not self._live
        self._what, self._share = "", 0.0
        self._begin = time.monotonic()
        self._over = threading.Event()
        self._shown = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> LiveProgress:
        """Begin."""
        if not self._quiet:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End, and leave a clean line."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._shown and self._live:
            self._write("\r" + " " * _WIDTH + "\r")

    def told(self, what: str, share: float) -> None:
        """What is being done now, and 0 to 1 of how much of it."""
        self._what, self._share = what, share

    @contextmanager
    def following_log(self) -> Iterator[None]:
        """Meanwhile, what the library logs is what is being done."""
        library = logging.getLogger("collision_monitor")
        handler, level = _LogHandler(self), library.level
        library.addHandler(handler)
        library.setLevel(logging.INFO)
        try:
            yield
        finally:
            library.setLevel(level)
            library.removeHandler(handler)

    def line(self) -> str:
        """What would be said now."""
        share = f", {100.0 * self._share:.0f} %" if self._share > 0.0 else ""
        return f"{self._what}{share} ({time.monotonic() - self._begin:.0f} s)"

    def _run(self) -> None:
        wait = _PATIENCE if self._live else _LOG
        while not self._over.wait(wait):
            wait = _TERMINAL if self._live else _LOG
            if self._what:
                line = self.line()
                self._write(f"\r{line[:_WIDTH]:{_WIDTH}}" if self._live else f"{line}\n")
                self._shown = True

    def _write(self, text: str) -> None:
        try:
            self._out.write(text)
            self._out.flush()
        except (OSError, ValueError):  # nobody listens
            self._over.set()


class _LogHandler(logging.Handler):
    """Tells a `LiveProgress` the library's messages; they may carry a ``share``, 0 to 1."""

    def __init__(self, progress: LiveProgress) -> None:
        super().__init__(logging.INFO)
        self._progress = progress

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno == logging.INFO:
            self._progress.told(record.getMessage(), getattr(record, "share", 0.0))

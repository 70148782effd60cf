# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Progress of a long command on standard error."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

_TERMINAL, _LOG = 0.5, 10.0  # seconds between two lines
_PATIENCE = 1.0  # seconds before the first one on a terminal
_WIDTH = 78


class LiveProgress:
    """Shows the current step, from a thread, until the context ends.

    On a terminal one line is overwritten, and erased at the end. Elsewhere, as in the log of a
    build server, a line is written every ten seconds.
    """

    def __init__(self, quiet: bool = False, out: TextIO | None = None) -> None:
        """``quiet``: write nothing into logs."""
        self._out = sys.stderr if out is None else out
        self._live = self._out.isatty()
        self._quiet = quiet and not self._live
        self._what, self._share = "", 0.0
        self._begin = time.monotonic()
        self._over = threading.Event()
        self._shown = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> LiveProgress:
        """Start."""
        if not self._quiet:
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """End, and leave a clean line."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._shown and self._live:
            self._write("\r" + " " * _WIDTH + "\r")

    def update(self, what: str, share: float = 0.0) -> None:
        """Set the current step, and its fraction done, 0 to 1."""
        self._what, self._share = what, share

    @contextmanager
    def following_log(self) -> Iterator[None]:
        """Show log messages of the library as steps; a record may have a ``share``, 0 to 1."""
        library = logging.getLogger("collision_monitor")
        handler, level = logging.Handler(logging.INFO), library.level
        handler.emit = self._on_record
        library.addHandler(handler)
        library.setLevel(logging.INFO)
        try:
            yield
        finally:
            library.setLevel(level)
            library.removeHandler(handler)

    def _on_record(self, record: logging.LogRecord) -> None:
        if record.levelno == logging.INFO:
            self.update(record.getMessage(), getattr(record, "share", 0.0))

    def line(self) -> str:
        """The shown line."""
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
        except (OSError, ValueError):  # the stream is closed
            self._over.set()

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Progress is seen on terminals and in logs, and leaves nothing behind."""

import io
import logging
import threading

from collision_monitor.cli.options import LiveProgress

SOON = 0.01


class Screen(io.StringIO):
    """A terminal, or a log, that tells when something was written."""

    def __init__(self, live):
        super().__init__()
        self.live, self.written = live, threading.Event()

    def isatty(self):
        return self.live

    def write(self, text):
        super().write(text)
        self.written.set()
        return len(text)


def test_a_terminal_has_one_line_that_is_gone_at_the_end():
    screen = Screen(True)
    with LiveProgress(quiet=True, out=screen, wait=SOON) as progress:
        progress.update("distances", 0.25)
        assert screen.written.wait(30.0)
    text = screen.getvalue()
    assert "distances, 25 % (" in text and "\n" not in text
    assert text.endswith("\r") and not text.split("\r")[-2].strip()


def test_a_line_is_narrower_than_its_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    screen = Screen(True)
    with LiveProgress(out=screen, wait=SOON) as progress:
        progress.update("fitting leaves of the links of both arms")
        assert screen.written.wait(30.0)
    line, *others = screen.getvalue().lstrip("\r").split("\r")
    assert line == "fitting leaves of the links o" and {len(other) for other in others} <= {0, 29}


def test_a_log_has_lines_unless_it_is_quiet():
    log = Screen(False)
    with LiveProgress(out=log, wait=SOON) as progress:
        progress.update("torques", 0.0)
        assert log.written.wait(30.0)
    assert log.getvalue().startswith("torques (0 s)\n")
    with LiveProgress(quiet=True, out=log, wait=SOON) as progress:
        log.written.clear()
        progress.update("torques", 0.0)
        assert not log.written.wait(0.1)


def test_a_screen_that_is_closed_does_no_harm():
    screen, others = Screen(False), threading.enumerate()
    with LiveProgress(out=screen, wait=SOON) as progress:
        (thread,) = set(threading.enumerate()).difference(others)
        screen.close()
        progress.update("distances", 0.5)
        thread.join(30.0)
        assert not thread.is_alive()


def test_what_the_library_logs_is_shown_and_not_printed_elsewhere():
    library = logging.getLogger("collision_monitor.fitting.fitter")
    before = logging.getLogger("collision_monitor").level
    screen = Screen(True)
    with LiveProgress(out=screen, wait=SOON) as progress:
        library.info("fitting leaves: %d of %d meshes done", 1, 4, extra={"share": 0.25})
        assert progress.line().startswith("fitting leaves: 1 of 4 meshes done, 25 % (")
        library.debug("a detail")
        assert "detail" not in progress.line()
    library.info("afterwards")
    assert "afterwards" not in progress.line()
    assert logging.getLogger("collision_monitor").level == before

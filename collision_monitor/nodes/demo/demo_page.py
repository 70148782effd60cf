# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The page beside the demo: it shows the robot that is played, or leads it when taken over."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

from collision_monitor.nodes.demo.state_listener import Watcher
from collision_monitor.viewer.clearance_display import NodeReport
from collision_monitor.viewer.page import Page


class DemoPage:
    """A page that is loaded and run in a thread of its own."""

    def __init__(self, make: Callable[[], Page], joint_names: Sequence[str]) -> None:
        """``make`` loads the robot and serves; ``joint_names``: the order of what is sent."""
        self._make = make
        self._names = tuple(joint_names)
        self._order: list[int] = []
        self.page: Page | None = None
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="page", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            page = self._make()
            model_names = page.joint_names
            self._order = [model_names.index(name) for name in self._names]
            self.page = page
            page.run()
        except Exception as error:  # told by the demo, which goes on without a page
            self.error = error

    @property
    def loading(self) -> bool:
        """Whether it is not there yet, and may still come."""
        return self.page is None and self.error is None

    def exchange(self, positions: Sequence[float], watcher: Watcher) -> list[float]:
        """Show ``positions`` and what the monitor says; returns the positions to send.

        These are the same, or those of the page where somebody has taken the robot over.
        """
        page = self.page
        if page is None:
            return list(positions)
        page.hear(
            NodeReport(
                watcher.level, watcher.distance, watcher.rate(time.monotonic()), watcher.message
            )
        )
        if page.by_hand:
            return page.configuration[self._order].tolist()
        q = page.configuration.copy()
        q[self._order] = positions
        page.follow(q)
        return np.asarray(positions, dtype=float).tolist()

    def close(self) -> None:
        """End it; one that still loads is left to end with the process."""
        if self.page is not None:
            self.page.close()
            self._thread.join(timeout=5.0)

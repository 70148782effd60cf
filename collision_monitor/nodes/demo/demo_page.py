# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The page in the browser beside the demo."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from collision_monitor.nodes.demo.demo_topics import StateListener
from collision_monitor.viewer.clearance_display import NodeReport
from collision_monitor.viewer.page import Page


class DemoPage:
    """The browser page, loaded and run in its own thread.

    It shows the motion; a user can take control of the robot.
    """

    def __init__(self, make: Callable[[], Page], joint_names: Sequence[str]) -> None:
        """``make`` loads the robot and serves the page; ``joint_names``: order of positions."""
        self._make, self._names = make, tuple(joint_names)
        self._order: list[int] = []
        self.page: Page | None = None
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="page", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            page = self._make()
            self._order = [page.joint_names.index(name) for name in self._names]
            self.page = page
            page.run()
        except Exception as error:  # reported by the demo, which continues without a page
            self.error = error

    @property
    def loading(self) -> bool:
        """Whether the page is still being loaded."""
        return self.page is None and self.error is None

    @property
    def by_hand(self) -> bool:
        """Whether a user controls the robot."""
        return self.page is not None and self.page.by_hand

    def exchange(
        self, positions: Sequence[float], state: StateListener, step: str = ""
    ) -> list[float]:
        """Show ``positions`` and the state of the monitor; returns the positions to publish.

        ``step``: of the demo, shown before the message of the monitor.

        These are ``positions``, or those of the page while a user controls the robot.
        """
        page = self.page
        if page is None:
            return list(positions)
        rate = state.rate(time.monotonic())
        text = f"{step}: {state.message}" if step else state.message
        page.show_report(NodeReport(state.level, state.distance, rate, text))
        if page.by_hand:
            return page.configuration[self._order].tolist()
        q = page.configuration.copy()
        q[self._order] = positions
        page.follow(q)
        return [float(value) for value in positions]

    def close(self) -> None:
        """Stop the server; a page that is still loading ends with the process."""
        if self.page is not None:
            self.page.close()
            self._thread.join(timeout=5.0)

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A Chromium for tests of the page; they are skipped where there is none."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import numpy as np
import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# Drawn by the processor: machines that test have no graphics card.
_FLAGS = (
    "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--disable-gpu-compositing", "--disable-gpu-rasterization",
)  # fmt: skip
_CANVAS = "canvas[data-engine]"  # that of three.js; charts have canvases too
_SECONDS = 120.0  # of patience: drawing without a graphics card, on a busy machine


@contextmanager
def chromium() -> Iterator[Any]:
    """A headless browser of playwright, or a skip that says why not."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed (extra 'test')"
    )
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(_NAMES)} is on the PATH")
    # Chromium's sandbox does not start for root, as tests in containers often are.
    flags = [*_FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with playwright.sync_playwright() as program:
        browser = program.chromium.launch(executable_path=path, args=flags)
        try:
            yield browser
        finally:
            browser.close()


class Tab:
    """A tab that has opened a page of this package."""

    def __init__(
        self, browser: Any, url: str, size: tuple[int, int] = (800, 440), scale: float = 0.3
    ) -> None:
        """``size``: of the window; ``scale``: pixels drawn for each of them: fewer are faster."""
        width, height = size
        self.tab = browser.new_page(viewport={"width": width, "height": height})
        self.tab.set_default_timeout(1000.0 * _SECONDS)
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.tab.on("pageerror", lambda error: self.errors.append(str(error)))
        self.tab.goto(f"{url}/?fixedDpr={scale:g}")
        self.tab.wait_for_selector("[data-clearance=distance]")
        self.tab.wait_for_selector(_CANVAS)

    def __enter__(self) -> Tab:
        return self

    def __exit__(self, *problem: object) -> None:
        self.tab.close()  # or it goes on drawing

    def text(self, key: str) -> str:
        """What the head of the page says: its ``distance``, ``level``, ``links`` ..."""
        return self.tab.inner_text(f"[data-clearance={key}]")

    def wait_for(self, key: str, text: str) -> None:
        """Wait until the head of the page says this."""
        self.wait_until(lambda: self.text(key) == text, lambda: f"{self.text(key)!r}, not {text!r}")

    def open(self, name: str) -> None:
        """Open one of the tabs of the panel."""
        self.tab.get_by_role("tab", name=name, exact=True).click()

    def input(self, label: str) -> Any:
        """The field beside a label: of a slider, its number."""
        row = self.tab.locator("label", has_text=re.compile(f"^{re.escape(label)}$")).first
        return row.locator("xpath=../../..").locator("input:not([type=hidden])").last

    def type(self, label: str, value: float) -> None:
        """Type a number into the field beside a label."""
        field = self.input(label)
        field.fill(f"{value:g}")
        field.press("Enter")

    def wait_until(
        self, holds: Callable[[], bool], instead: Callable[[], str] = lambda: "it is not so"
    ) -> None:
        """Wait until something holds, in the tab or behind it; an error after a long while."""
        end = time.monotonic() + _SECONDS
        while not holds():
            assert time.monotonic() < end, f"after {_SECONDS:.0f} s: {instead()}"
            self.tab.wait_for_timeout(250)

    def pixels(self) -> np.ndarray:
        """What the canvas shows, (height, width, 3) from 0 to 255, without the panel beside it."""
        from PIL import Image

        box = self.tab.locator(_CANVAS).bounding_box()
        clip = {"x": 0, "y": 0, "width": box["width"], "height": box["height"]}
        image = Image.open(BytesIO(self.tab.screenshot(clip=clip)))
        return np.asarray(image.convert("RGB"), dtype=int)

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Make docs/view.png: the page in a real browser, at an instant of the demo's motion.

Run it with ``make docs PAGES=view_picture``; it needs a Chromium (``apt install chromium``).
"""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
from PIL import Image
from support.ros.browser import Tab, chromium

from collision_monitor import CollisionModel
from collision_monitor.motion import read_motion
from collision_monitor.viewer.page import Page

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs/view.png"
INSTANT = 43.3  # s of the motion: the hands are near
SIZE = (1280, 800)


def main() -> None:
    """Serve the two arms as the demo does, open the page and take its picture."""
    model = CollisionModel.from_urdf(
        ROOT / "urdf/dual_arm.urdf",
        srdf=ROOT / "urdf/dual_arm.srdf",
        scene=ROOT / "urdf/dual_arm_scene.yaml",
    )
    before, after = (
        read_motion(ROOT / f"config/dual_arm_motion{part}.csv") for part in ("", "_adjusted")
    )
    order = [before.joint_names.index(name) for name in model.joint_names]
    page = Page(
        model, before.at(0.0)[order], warn=0.05, stop=0.005, port=0,
        motions=[("before adjustment", before), ("after adjustment", after)],
        camera_around=[before.at(time)[order] for time in np.linspace(20.0, 62.0, 5)], speed=3.0,
    )  # fmt: skip
    threading.Thread(target=page.run, daemon=True).start()
    with chromium() as browser:
        tab = Tab(browser, page.address.url, SIZE, scale=1.0)
        tab.tab.get_by_role("alert").get_by_role("button").click()  # that it draws in software
        tab.tab.get_by_role("button", name="Play before").click()
        tab.wait_until(lambda: page.playback.time >= INSTANT - 2.0)
        tab.tab.get_by_role("button", name="Pause").click()
        tab.type("time [s]", INSTANT)
        tab.wait_until(lambda: page.playback.time == INSTANT)
        tab.tab.wait_for_timeout(8000)
        tab.tab.screenshot(path=PICTURE)
    page.close()
    picture = Image.open(PICTURE).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser: it draws the robot, obeys a hand, and asks nobody else."""

import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from support.robots import robots
from support.ros.browser import Tab, chromium

from collision_monitor import CollisionModel
from collision_monitor.model.near_by_design import MinimumDistance, near_by_design
from collision_monitor.motion import Motion
from collision_monitor.viewer.page import Page

pytest.importorskip("viser", reason="viser is not installed (extra 'view')")


@pytest.fixture(scope="module")
def browser():
    """One browser for all."""
    with chromium() as running:
        yield running


@contextmanager
def served(model, q, **options):
    """A page in a thread of its own."""
    page = Page(model, q, port=0, shadows=False, **options)
    thread = threading.Thread(target=page.run, daemon=True)
    thread.start()
    try:
        yield page
    finally:
        page.close()
        thread.join(20.0)


def check(tab, page):
    """Nothing went wrong, and nothing was asked of anybody but the page's own server."""
    assert tab.errors == []
    own = (page.address.url, f"blob:{page.address.url}", "data:")
    assert [url for url in tab.requests if not url.startswith(own)] == []


def changed(a, b):
    """The part of the pixels that are clearly different."""
    return float((np.abs(a - b).max(axis=-1) > 12).mean())


def not_by_design(model, stop, warn):
    """The clearance, without pairs that are near by design, as a function of a model and q."""
    near = {model.pairs[k]: warn for k in model.sampled_distances(exact=False).constant}
    pairs = near_by_design(model, stop, warn, exact=False).values()
    near |= {pair.links: pair.warn for pair in pairs}

    def clearance(model, q):
        rows = [k for k, pair in enumerate(model.pairs) if pair in near]
        least = np.array([near.get(pair, warn) for pair in model.pairs])
        return MinimumDistance(model, rows, least).of(q)

    return clearance


def is_still(page):
    """Whether the motion has stopped."""
    before = page.playback.time
    time.sleep(0.5)
    return page.playback.time == before


def test_a_robot_is_drawn_moved_by_a_number_beside_a_slider_and_played(browser):
    files = robots.require("ur5")
    model = CollisionModel.from_urdf(files.urdf, files.srdf, files.package_dirs)
    asked, q = model.twin(), np.zeros(6)
    clearance = not_by_design(asked, 0.02, 0.1)
    rows = np.zeros((2, 6))
    rows[1, 0] = 1.0
    motions = [("turn", Motion(model.joint_names, np.array([0.0, 30.0]), rows))]
    with (
        served(model, q, warn=0.1, stop=0.02, motions=motions) as page,
        Tab(browser, page.address.url) as tab,
    ):
        tab.wait_for("distance", f"{clearance(asked, q).distance:.4f} m")
        # What there is to play is seen at once, without a click.
        assert tab.tab.get_by_role("button", name="Play turn").is_visible()
        tab.open("Joints")
        q[2] = 2.9  # the elbow folds the forearm back
        expected = clearance(asked, q)
        assert expected.distance < clearance(asked, np.zeros(6)).distance - 0.01
        tab.type("elbow_joint [rad]", 2.9)
        tab.wait_for("distance", f"{expected.distance:.4f} m")
        tab.wait_for("links", " – ".join(expected.links))
        assert tab.text("level") == "ERROR"

        tab.open("Show")
        whole = tab.pixels()
        for label in ("shapes", "leaves"):
            tab.input(label).uncheck()
        tab.wait_until(lambda: changed(whole, tab.pixels()) > 0.01)
        assert 0.02 < changed(whole, tab.pixels()) < 0.6
        tab.input("leaves").check()
        tab.wait_until(lambda: red(tab.pixels()) > 30)  # in contact, or nearly
        assert red(whole) > 30

        tab.open("Motions")
        tab.tab.get_by_role("button", name="Play turn").click()
        tab.wait_until(lambda: 0.2 < page.playback.time < 25.0)
        tab.tab.get_by_role("button", name="Pause").click()
        tab.wait_until(lambda: is_still(page))
        check(tab, page)


def red(pixels):
    """How many pixels are clearly red: leaves that are too near."""
    return int((pixels[..., 0] - pixels[..., 1:].max(axis=-1) > 40).sum())

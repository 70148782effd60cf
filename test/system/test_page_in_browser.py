# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser: it draws the robot, obeys a hand, and asks nobody else."""

import threading
from contextlib import contextmanager

import numpy as np
import pytest
from support.paths import ROOT
from support.robots import robots
from support.ros.browser import Tab, chromium

from collision_monitor import CollisionModel
from collision_monitor.motion import read_motion
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


def project(page, size, point):
    """The pixel (x, y) of a point in the base frame, as the page's first camera sees it."""
    camera = page._server.initial_camera
    width, height = size
    forward = camera.look_at - camera.position
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    seen = np.array([right, np.cross(right, forward), forward]) @ (point - camera.position)
    scale = 0.5 * height / np.tan(0.5 * camera.fov) / seen[2]
    return 0.5 * width + scale * seen[0], 0.5 * height - scale * seen[1]


def test_ur5_is_drawn_and_a_number_beside_a_slider_changes_the_distance(browser):
    files = robots.require("ur5")
    model = CollisionModel.from_urdf(files.urdf, files.srdf, files.package_dirs)
    asked = model.twin()
    q = np.zeros(6)
    with served(model, q, warn=0.1, stop=0.02) as page, Tab(browser, page.address.url) as tab:
        tab.wait_for("distance", f"{asked.distance(q).distance:.4f} m")
        q[2] = 2.9  # the elbow folds the forearm back
        expected = asked.distance(q)
        assert expected.distance < asked.distance(np.zeros(6)).distance - 0.01
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
        check(tab, page)


def red(pixels):
    """How many pixels are clearly red: leaves that are too near."""
    return int((pixels[..., 0] - pixels[..., 1:].max(axis=-1) > 40).sum())


def test_dual_arm_plays_its_motions_and_an_obstacle_is_dragged(browser):
    model = CollisionModel.from_urdf(
        ROOT / "urdf/dual_arm.urdf",
        srdf=ROOT / "urdf/dual_arm.srdf",
        scene=ROOT / "urdf/dual_arm_scene.yaml",
    )
    asked = model.twin()
    motions = [
        (name, read_motion(ROOT / "config" / f"dual_arm_motion{part}.csv"))
        for name, part in (("before", ""), ("after", "_adjusted"))
    ]
    before = motions[0][1]
    order = [before.joint_names.index(name) for name in model.joint_names]
    start = before.at(20.0)[order]
    with (
        served(model, start, warn=0.05, stop=0.005, motions=motions) as page,
        Tab(browser, page.address.url) as tab,
    ):
        tab.wait_for("distance", f"{asked.distance(start).distance:.4f} m")
        # What there is to play is seen at once, without a click.
        assert tab.tab.get_by_role("button", name="Play before").is_visible()
        met = asked.distance(before.at(50.0)[order])
        assert met.distance < 0.0
        tab.type("time [s]", 50.0)
        tab.wait_for("distance", f"{met.distance:.4f} m")
        tab.tab.get_by_role("button", name="Play after").click()
        tab.wait_until(lambda: tab.text("level") == "OK" and 0.5 < page.motion_time < 40.0)
        tab.tab.get_by_role("button", name="Pause").click()
        tab.wait_until(lambda: not page._playback.playing)

        tab.open("Scene")
        tab.input("obstacle").click()
        tab.tab.get_by_role("option", name="part").click()
        tab.wait_until(lambda: page._editor._gizmo is not None)
        handles = page._editor._gizmo
        middle = np.array(handles.position)
        size = tab.canvas_size()
        grip = project(page, size, middle + [0.0, 0.0, 0.75 * handles.scale])
        goal = project(page, size, middle + [0.0, 0.0, 0.75 * handles.scale + 0.2])
        tab.drag(grip, goal)
        tab.wait_until(lambda: page._editor.edited)
        tab.wait_until(lambda: page._editor.scene.obstacles[-1].shape.pose[2, 3] > middle[2] + 0.1)
        moved = page._editor.scene
        expected = asked.with_scene(moved).distance(page.configuration)
        tab.wait_for("distance", f"{expected.distance:.4f} m")
        assert np.abs(moved.obstacles[-1].shape.pose[:2, 3] - middle[:2]).max() < 1e-3
        check(tab, page)

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser: it draws the robot, obeys a hand, and asks nobody else."""

import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from support.paths import ROOT
from support.robots import robots
from support.ros.browser import Tab, chromium

from collision_monitor import CollisionModel
from collision_monitor.model.near_by_design import DistanceNotByDesign, near_by_design
from collision_monitor.motion import read_motion
from collision_monitor.viewer.page import Page
from collision_monitor.viewer.scene_editor import moved
from collision_monitor.viewer.scene_nodes import pose_of

pytest.importorskip("viser", reason="viser is not installed (extra 'view')")
from support.page_client import PageClient  # noqa: E402


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
        return DistanceNotByDesign(model, rows, least).of(q)

    return clearance


def is_still(page):
    """Whether the motion has stopped."""
    before = page.motion_time
    time.sleep(0.5)
    return page.motion_time == before


def project(camera, size, point):
    """The pixel (x, y) of a point in the base frame, as the page's first camera sees it."""
    width, height = size
    position = np.array(camera["position"])
    forward = camera["look_at"] - position
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    seen = np.array([right, np.cross(right, forward), forward]) @ (point - position)
    scale = 0.5 * height / np.tan(0.5 * camera["fov"]) / seen[2]
    return 0.5 * width + scale * seen[0], 0.5 * height - scale * seen[1]


def test_ur5_is_drawn_and_a_number_beside_a_slider_changes_the_distance(browser):
    files = robots.require("ur5")
    model = CollisionModel.from_urdf(files.urdf, files.srdf, files.package_dirs)
    asked, q = model.twin(), np.zeros(6)
    clearance = not_by_design(asked, 0.02, 0.1)
    with served(model, q, warn=0.1, stop=0.02) as page, Tab(browser, page.address.url) as tab:
        tab.wait_for("distance", f"{clearance(asked, q).distance:.4f} m")
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
    clearance = not_by_design(asked, 0.005, 0.05)
    with (
        served(model, start, warn=0.05, stop=0.005, motions=motions) as page,
        Tab(browser, page.address.url) as tab,
    ):
        tab.wait_for("distance", f"{clearance(asked, start).distance:.4f} m")
        # What there is to play is seen at once, without a click.
        assert tab.tab.get_by_role("button", name="Play before").is_visible()
        met = asked.distance(before.at(50.0)[order])
        assert met.distance < 0.0
        tab.type("time [s]", 50.0)
        tab.wait_for("distance", f"{met.distance:.4f} m")
        tab.tab.get_by_role("button", name="Play after").click()
        tab.wait_until(lambda: tab.text("level") == "OK" and 0.5 < page.motion_time < 40.0)
        tab.tab.get_by_role("button", name="Pause").click()
        tab.wait_until(lambda: is_still(page))

        tab.open("Scene")
        tab.input("obstacle").click()
        tab.tab.get_by_role("option", name="part").click()
        handles, part = "/robot/base_link/handles", "/robot/base_link/obstacles/part"
        with PageClient(page.address.url) as shown:  # the browser cannot be asked for these
            shown.until(lambda: handles in shown.nodes)
            middle = np.array(shown.nodes[handles]["position"])
            reach = [0.0, 0.0, 0.75 * shown.nodes[handles]["scale"]]
            size = tab.canvas_size()
            grip = project(shown.camera, size, middle + reach)
            goal = project(shown.camera, size, middle + reach + [0.0, 0.0, 0.2])
            tab.drag(grip, goal)
            shown.until(lambda: shown.nodes[part]["position"][2] > middle[2] + 0.1)
            assert np.abs(np.subtract(shown.nodes[part]["position"], middle)[:2]).max() < 1e-3

            def expected():
                node = shown.nodes[part]
                scene = moved(asked.scene, "part", pose_of(node["position"], node["wxyz"]))
                return clearance(asked.with_scene(scene), page.configuration).distance

            shown.until(lambda: tab.text("distance") == f"{expected():.4f} m")
        check(tab, page)

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The page as a client without a browser sees it: one loop does all that is asked for."""

import logging
import threading
import time

import numpy as np
import pytest
from support.robots.toys import chain, link, robot

from collision_monitor import CollisionModel
from collision_monitor.motion.trajectory import Motion
from collision_monitor.viewer.clearance_display import NodeReport
from collision_monitor.viewer.page import Page

pytest.importorskip("viser", reason="viser is not installed (extra 'view')")
from support.page_client import PageClient  # noqa: E402

logging.getLogger("websockets").setLevel(logging.CRITICAL)

BALL = {"name": "ball", "type": "sphere", "radius": 0.2, "position": [1.5, 0.8, 0.0]}
BALL_NODE, HANDLES = "/robot/l0/obstacles/ball", "/robot/l0/handles"
J1, J2, J3 = "j1 [rad]", "j2 [rad]", "j3 [rad]"


def load(**options):
    return CollisionModel.from_urdf(chain(4), **{"scene": {"obstacles": [BALL]}, **options})


class Opened(PageClient):
    """A page with a clock of its own, and its only client, who gives the turns of its loop."""

    def __init__(self, model, q, **options):
        self.now = 1e6
        options = {"warn": 0.5, "stop": 0.1, "port": 0, "clock": lambda: self.now, **options}
        self.page = Page(model, q, **options)
        super().__init__(self.page.address.url)

    def turn(self, seconds=10.0):
        """One turn of the loop, so long after the last one."""
        self.now += seconds
        self.page.tick()

    def until(self, holds, seconds=0.0):
        """Turn the loop until something holds; while no time passes, it moves no slider."""
        super().until(holds, lambda: self.turn(seconds))

    def until_at(self, *q):
        """Turn the loop until the robot is there."""
        self.until(lambda: self.page.configuration.tolist() == list(q))

    def until_says(self, *texts):
        """Turn the loop until the head of the page has these texts."""
        self.until(lambda: all(text in self.status for text in texts), seconds=10.0)

    def choose(self, name):
        """Choose an obstacle in the menu."""
        self.set("obstacle", name)
        self.until(lambda: HANDLES in self.nodes)


@pytest.fixture
def serve():
    """Opens pages that listen on a free port, and ends them."""
    opened = []

    def make(model=None, q=None, **options):
        model = load() if model is None else model
        q = np.zeros(len(model.joint_names)) if q is None else q
        opened.append(Opened(model, q, **options))
        return opened[-1]

    yield make
    for each in opened:
        each.close()
        each.page.close()


def metres(distance):
    return f">{distance:.4f} m<"


def test_a_slider_moves_the_robot_and_the_distance(serve):
    user = serve()
    user.set(J2, 1.2)
    time.sleep(0.2)
    assert not user.page.by_hand  # done by the loop
    user.until_at(0.0, 1.2, 0.0)
    assert user.page.by_hand
    user.until_says(metres(load().distance([0.0, 1.2, 0.0]).distance))
    assert [user.control(name)["value"] for name in (J1, J2, J3)] == [0.0, 1.2, 0.0]


def test_it_follows_until_somebody_takes_over(serve):
    user = serve()
    user.page.follow(np.array([0.3, 0.0, 0.0]))
    user.until_at(0.3, 0.0, 0.0)
    user.until(lambda: user.control(J1)["value"] == 0.3, seconds=10.0)
    user.set(J3, -0.5)
    user.until_at(0.3, 0.0, -0.5)
    user.page.follow(np.array([0.9, 0.0, 0.0]))
    user.turn()
    assert user.page.configuration.tolist() == [0.3, 0.0, -0.5]


def test_an_obstacle_that_is_moved_changes_the_distance(serve):
    user = serve()
    user.choose("ball")
    user.drag(HANDLES, (1.5, 0.35, 0.0))
    expected = load(scene={"obstacles": [{**BALL, "position": [1.5, 0.35, 0.0]}]})
    nearest = expected.distance(np.zeros(3))
    assert "ball" in nearest.links
    user.until_says(metres(nearest.distance))
    user.until(lambda: user.nodes[BALL_NODE]["position"] == [1.5, 0.35, 0.0])
    user.page.show_report(NodeReport("OK", 1.0, 100.0))
    user.until_says("monitors the scene as it was loaded")
    user.click("All as loaded")
    user.until_says(metres(load().distance(np.zeros(3)).distance))
    assert "as it was loaded" not in user.status


def test_obstacles_are_added_and_removed(serve):
    user = serve()
    user.set("shape", "sphere")
    user.set("size [m]", (0.2, 0.2, 0.2))
    user.click("Add")
    user.until(lambda: user.control("obstacle")["value"] == "sphere_1")
    for name in ("sphere_1", "ball"):
        user.choose(name)
        user.click("Remove it")
        user.until(lambda name=name: name not in user.control("obstacle")["options"])
    assert user.control("obstacle")["options"] == ["(none)"]
    user.until_says(metres(load(scene=None).distance(np.zeros(3)).distance))
    user.until(lambda: not any("/obstacles/" in path for path in user.nodes))
    user.click("Remove it")
    user.until_says("choose an obstacle first")


def test_what_cannot_be_done_is_said_on_the_page(serve):
    user = serve()
    user.set("shape", "capsule")
    user.set("size [m]", (0.5, 0.5, 0.1))
    user.click("Add")
    user.until_says("positive")
    assert user.control("obstacle")["options"] == ["(none)", "ball"]


def test_leaves_are_coloured_by_the_clearance_of_their_link(serve):
    user = serve(warn=0.5, stop=0.1)

    def redder():
        red, green, _ = user.nodes["/robot/l3/leaves"]["color"]
        return red > green

    user.until(lambda: not redder())
    user.set(J3, 2.0)
    user.set(J2, 2.0)
    user.until_at(0.0, 2.0, 2.0)
    model = load()
    assert model.nearest_of_links(model.distances([0.0, 2.0, 2.0]))["l3"] < 0.5
    user.until(redder)


def test_boxes_of_meshes_and_what_meets_are_shown_while_they_are_wanted(serve):
    model = load(hierarchy="octree")
    boxes = {f"/robot/{name}/boxes" for name, each in model.robot.links.items() if each.shapes}
    user = serve(model)

    def shown(*starts):
        ends = ("/boxes", "/triangles")
        return {path for path in user.nodes if path.startswith(starts) and path.endswith(ends)}

    assert not shown("/robot/", "/meeting/")
    user.set("boxes of meshes", True)
    user.until(lambda: shown("/robot/") == boxes)
    assert not shown("/meeting/")
    user.page.follow(np.array([0.0, 3.1, 0.0]))  # the chain folded onto itself
    user.until(lambda: shown("/meeting/"))
    user.set("boxes of meshes", False)
    user.until(lambda: not shown("/robot/", "/meeting/"))


def _slide(value):
    def slide(user):
        user.set(J2, value)
        user.until(lambda: user.page.by_hand)

    return slide


def _add(size):
    def add(user):
        user.set("size [m]", size)
        user.click("Add")

    return add


def _drag(position, wxyz=(1.0, 0.0, 0.0, 0.0)):
    def drag(user):
        user.choose("ball")
        user.drag(HANDLES, position, wxyz)

    return drag


@pytest.mark.parametrize(
    "garbage",
    [
        _slide(np.nan), _slide(1e300), _slide("nan"), _add((0.1,)), _add((np.nan,) * 3),
        _drag((np.nan, 0.0, 0.0)), _drag((1.0, 0.0, 0.0), (0.0,) * 4),
    ],
)  # fmt: skip
def test_values_that_no_browser_sends_leave_what_was_shown(serve, garbage):
    user = serve(q=np.array([0.3, 0.0, 0.0]))
    garbage(user)
    user.until_says("<i>", metres(load().distance([0.3, 0.0, 0.0]).distance))  # with a note
    assert user.page.configuration.tolist() == [0.3, 0.0, 0.0]
    user.set(J2, 1.2)
    user.until_at(0.3, 1.2, 0.0)


def test_a_speed_or_a_time_that_is_no_number_is_the_least(serve):
    user = serve(motions=[("one", Motion(("j1",), np.array([0.0, 2.0]), np.array([[0], [1.0]])))])
    user.set("time [s]", 1.0)
    user.until_at(0.5, 0.0, 0.0)
    user.set("time [s]", np.nan)
    user.until_at(0.0, 0.0, 0.0)
    user.set("speed", np.nan)
    user.click("Play one")
    user.until(lambda: user.page.configuration[0] > 0.0, seconds=0.01)
    before = user.page.configuration[0]
    user.turn(1.0)
    assert user.page.configuration[0] - before == pytest.approx(0.05)


def test_motions_are_measured_played_and_taken_over(serve):
    motion = Motion(("j2", "j1"), np.array([0.0, 1.0, 2.0]), np.array([[0, 0], [1, 0], [1, 0.5]]))
    user = serve(motions=[("one", motion)])
    user.until(lambda: user.chart("one")["data"][3].any(), seconds=10.0)
    times, _, _, curve, _ = user.chart("one")["data"]
    model = load()
    for k in (0, 300, 799):
        b, a = motion.at(times[k])
        assert curve[k] == pytest.approx(model.distance([a, b, 0.0]).distance)
    user.click("Play one")
    user.until(lambda: user.page.by_hand)
    user.turn(1.5)
    assert user.page.configuration.tolist() == [0.25, 1.0, 0.0]
    user.until(lambda: user.control("time [s]")["value"] == pytest.approx(1.5))
    user.set("time [s]", 1.2)
    user.until(lambda: user.page.configuration == pytest.approx([0.1, 1.0, 0.0]))
    user.click("Play one")
    user.until(lambda: user.page.playback.time > 1.2, seconds=0.001)
    user.set(J1, -1.0)
    user.until(lambda: user.page.configuration[0] == -1.0)
    user.turn(0.4)
    assert user.page.configuration[0] == -1.0


def test_a_robot_without_joints_is_shown_too(serve):
    user = serve(CollisionModel.from_urdf(robot(link("alone")), scene={"obstacles": [BALL]}))
    user.until_says("no pair is checked")
    assert ">OK<" not in user.status
    assert not user.chart("distance")["visible"]


def test_names_with_slashes_and_markup_do_no_harm_and_a_stuck_joint_is_disabled(serve):
    text = chain(3).replace('"l1"', '"arm/&lt;b&gt;l1"')
    text = text.replace('lower="-2" upper="2"', 'lower="0.5" upper="0.5"', 1)
    user = serve(CollisionModel.from_urdf(text))
    assert [user.control(name)["disabled"] for name in (J1, J2)] == [True, False]
    assert user.control(J1)["value"] == 0.5  # as far as it reaches
    assert metres(0.0)[-3:] in user.status and "<b>" not in user.status
    assert "/robot/arm\N{FRACTION SLASH}<b>l1" in user.nodes


def test_the_loop_runs_at_thirty_turns_a_second_until_it_is_closed():
    page = Page(load(), np.zeros(3), warn=0.5, stop=0.1, port=0)
    thread = threading.Thread(target=page.run, daemon=True)
    thread.start()

    def move():
        page.follow(np.array([0.0, time.monotonic() % 1.0, 0.0]))

    def rate():
        text = user.status.partition('data-clearance="rate">')[2]
        return int(text.partition(" Hz")[0])

    try:
        with PageClient(page.address.url) as user:
            user.until(lambda: rate() >= 8)
            end = time.monotonic() + 1.5
            user.until(lambda: time.monotonic() > end, move)
            assert 8 <= rate() < 50
            assert thread.is_alive()
    finally:
        page.close()
    thread.join(10.0)
    assert not thread.is_alive()

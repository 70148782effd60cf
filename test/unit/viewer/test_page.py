# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The page without a browser: one loop does all that is asked for, and asks the model."""

import itertools
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
logging.getLogger("websockets").setLevel(logging.CRITICAL)

BALL = {"name": "ball", "type": "sphere", "radius": 0.2, "position": [1.5, 0.8, 0.0]}


def load(**options):
    return CollisionModel.from_urdf(chain(4), **{"scene": {"obstacles": [BALL]}, **options})


@pytest.fixture
def serve():
    """Makes pages that listen on a free port, and ends them."""
    pages = []

    def make(model=None, q=None, **options):
        model = load() if model is None else model
        q = np.zeros(len(model.joint_names)) if q is None else q
        options = {"warn": 0.5, "stop": 0.1, "port": 0, **options}
        pages.append(Page(model, q, **options))
        return pages[-1]

    yield make
    for page in pages:
        page.close()


CLOCK = itertools.count(time.monotonic() + 1e6, 10.0)  # ahead of every page


def later(page):
    """One turn of the loop, ten seconds after the last one."""
    page.tick(next(CLOCK))


def shown(page):
    return page._status.content


def test_a_slider_moves_the_robot_and_the_distance(serve):
    page = serve()
    page._slider_moved(1, 1.2)
    assert not page.by_hand  # done by the loop
    later(page)
    assert page.by_hand and page.configuration.tolist() == [0.0, 1.2, 0.0]
    assert f">{load().distance([0.0, 1.2, 0.0]).distance:.4f} m<" in shown(page)
    assert [slider.value for slider in page._sliders._sliders] == [0.0, 1.2, 0.0]


def test_it_follows_until_somebody_takes_over(serve):
    page = serve()
    page.follow(np.array([0.3, 0.0, 0.0]))
    later(page)
    assert page.configuration[0] == 0.3
    page._slider_moved(2, -0.5)
    later(page)
    page.follow(np.array([0.9, 0.0, 0.0]))
    later(page)
    assert page.configuration.tolist() == [0.3, 0.0, -0.5]


def test_an_obstacle_that_is_moved_changes_the_distance(serve):
    page = serve()
    editor = page._editor
    editor.choose("ball")
    editor._gizmo.position = (1.5, 0.35, 0.0)
    editor._move(editor._gizmo, "ball")
    later(page)
    expected = load(scene={"obstacles": [{**BALL, "position": [1.5, 0.35, 0.0]}]})
    nearest = expected.distance(np.zeros(3))
    assert "ball" in nearest.links
    assert f">{nearest.distance:.4f} m<" in shown(page)
    page.show_report(NodeReport("OK", 1.0, 100.0))
    later(page)
    assert "monitors the scene as it was loaded" in shown(page)
    editor._reset()
    later(page)
    assert f">{load().distance(np.zeros(3)).distance:.4f} m<" in shown(page)
    assert "as it was loaded" not in shown(page)


def test_obstacles_are_added_and_removed(serve):
    page = serve()
    editor = page._editor
    editor._kind.value, editor._size.value = "sphere", (0.2, 0.2, 0.2)
    page._todo.put(editor._add)
    later(page)
    assert editor._chosen == "sphere_1" and "sphere_1" in editor._menu.options
    for name in ("sphere_1", "ball"):
        editor.choose(name)
        page._todo.put(editor._remove)
        later(page)
    assert tuple(editor._menu.options) == ("(none)",)
    assert f">{load(scene=None).distance(np.zeros(3)).distance:.4f} m<" in shown(page)
    page._todo.put(editor._remove)
    later(page)
    assert "choose an obstacle first" in shown(page)


def test_what_cannot_be_done_is_said_on_the_page(serve):
    page = serve()
    page._editor._kind.value, page._editor._size.value = "capsule", (0.5, 0.5, 0.1)
    page._todo.put(page._editor._add)
    later(page)
    assert "positive" in shown(page)
    assert not page._editor.edited


def test_leaves_are_coloured_by_the_clearance_of_their_link(serve):
    page = serve(warn=0.5, stop=0.1)
    green = page._robot._leaves["l3"].color
    assert green[1] > green[0]
    page._slider_moved(2, 2.0)
    page._slider_moved(1, 2.0)
    later(page)
    q = page.configuration
    near = load().link_distances(q)
    assert near["l3"] < 0.5
    other = page._robot._leaves["l3"].color
    assert other[0] > other[1]


def test_boxes_of_meshes_and_what_meets_are_shown_while_they_are_wanted(serve):
    page = serve(load(hierarchy="octree"))
    nodes = page._robot
    assert not nodes._boxes and not nodes._meeting
    page._show["boxes of meshes"].value = True
    page._apply_show()
    assert len(nodes._boxes) == sum(bool(link.shapes) for link in page._model.robot.links.values())
    assert not nodes._meeting
    page._q = np.array([0.0, 3.1, 0.0])[: len(page._q)]  # the chain folded onto itself
    later(page)
    assert nodes._meeting
    page._show["boxes of meshes"].value = False
    page._apply_show()
    assert not nodes._boxes and not nodes._meeting


def _slide(value):
    return lambda page: page._slider_moved(1, value)


def _add(size):
    def add(page):
        page._editor._size.value = size
        page._todo.put(page._editor._add)

    return add


def _drag(position, wxyz=(1.0, 0.0, 0.0, 0.0)):
    def drag(page):
        editor = page._editor
        editor.choose("ball")
        editor._gizmo.position, editor._gizmo.wxyz = position, wxyz
        page._todo.put(lambda: editor._move(editor._gizmo, "ball"))

    return drag


@pytest.mark.parametrize(
    "garbage",
    [
        _slide(np.nan), _slide(np.inf), _slide(1e300), _slide("nan"),
        _add((0.1,)), _add((np.nan,) * 3),
        _drag((np.nan, 0.0, 0.0)), _drag((1e300, 0.0, 0.0)), _drag((1.0, 0.0, 0.0), (0.0,) * 4),
    ],
)  # fmt: skip
def test_values_that_no_browser_sends_leave_what_was_shown(serve, garbage):
    page = serve()
    page._slider_moved(0, 0.3)
    later(page)
    garbage(page)
    for _ in range(3):
        later(page)
    assert page.configuration.tolist() == [0.3, 0.0, 0.0]
    assert f">{load().distance([0.3, 0.0, 0.0]).distance:.4f} m<" in shown(page)
    page._slider_moved(1, 1.2)
    later(page)
    assert page.configuration.tolist() == [0.3, 1.2, 0.0]


def test_a_speed_or_a_time_that_is_no_number_is_the_least(serve):
    page = serve(motions=[("one", Motion(("j1",), np.array([0.0, 2.0]), np.array([[0], [1.0]])))])
    panel, now = page._motions, next(CLOCK)
    assert page._playback.seek(panel._motions[0], np.nan).tolist() == [0.0, 0.0, 0.0]
    panel._speed.value = np.nan
    page._playback.play(panel._motions[0], now)
    page.tick(now + 1.0)
    assert 0.0 < page.configuration[0] < 1.0


def test_motions_are_measured_played_and_taken_over(serve):
    motion = Motion(("j2", "j1"), np.array([0.0, 1.0, 2.0]), np.array([[0, 0], [1, 0], [1, 0.5]]))
    page = serve(motions=[("one", motion)])
    later(page)
    panel = page._motions
    model = load()
    for k in (0, 300, 799):
        b, a = motion.at(panel._times[k])
        assert panel._curves[0][k] == pytest.approx(model.distance([a, b, 0.0]).distance)
    now = next(CLOCK)
    page._playback.play(panel._motions[0], now)
    page.tick(now + 1.5)
    assert page.configuration.tolist() == [0.25, 1.0, 0.0]
    assert page._motions._time.value == pytest.approx(1.5)
    panel._seek(1.2)
    page.tick(now + 1.55)
    assert page.configuration.tolist() == pytest.approx([0.1, 1.0, 0.0])
    page._slider_moved(0, -1.0)
    page.tick(now + 1.6)
    page.tick(now + 2.0)
    assert page.configuration[0] == -1.0 and not page._playback.playing


def test_a_robot_without_joints_is_shown_too(serve):
    model = CollisionModel.from_urdf(robot(link("alone")), scene={"obstacles": [BALL]})
    page = serve(model)
    assert "no pair is checked" in shown(page) and ">OK<" not in shown(page)
    later(page)
    assert not page._chart.visible


def test_names_with_slashes_and_markup_do_no_harm(serve):
    text = chain(3).replace('"l1"', '"arm/&lt;b&gt;l1"')
    page = serve(CollisionModel.from_urdf(text))
    assert "<b>" not in shown(page)
    assert "/robot/arm\N{FRACTION SLASH}<b>l1" in page._robot._frames["arm/<b>l1"].name


def test_the_loop_runs_at_thirty_turns_a_second_until_it_is_closed(serve):
    page = serve()
    thread = threading.Thread(target=page.run, daemon=True)
    before = len(page._ticks)
    thread.start()
    end = time.monotonic() + 30.0
    while len(page._ticks) < before + 8 and time.monotonic() < end:
        time.sleep(0.02)
    ticks = list(page._ticks)[before:]
    page._end.set()
    thread.join(10.0)
    assert not thread.is_alive()
    assert len(ticks) >= 8 and np.median(np.diff(ticks)) > 0.02

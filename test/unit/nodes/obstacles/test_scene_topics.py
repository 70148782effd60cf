# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What comes on ~/scene and ~/attach, in any order, without a graph."""

import gc
import math
import re
import sys
import time
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from builtin_interfaces.msg import Duration  # noqa: E402
from geometry_msgs.msg import Point  # noqa: E402
from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from support.ros.obstacle_messages import marker  # noqa: E402
from support.ros.scene_stub import (  # noqa: E402
    VALUES,
    hear,
    robot,
    stub_node,
    stub_subscription,
    until,
    watch,
)
from visualization_msgs.msg import Marker, MarkerArray  # noqa: E402

from collision_monitor.monitoring.faults import FaultRegister  # noqa: E402
from collision_monitor.monitoring.monitor import Level  # noqa: E402
from collision_monitor.nodes.obstacles.scene_topics import SceneTopics  # noqa: E402
from collision_monitor.nodes.obstacles.waiting_messages import (  # noqa: E402
    ReliableSubscription,
)


@pytest.fixture(scope="module")
def model():
    return robot()


@pytest.fixture
def scene(model, tmp_path):
    values = VALUES | {"package_dirs": [str(tmp_path / "meshes")]}
    monitor = watch(model)
    node = stub_node()
    found = SceneTopics(node, values, lambda: None, monitor.watchdogs.faults)
    found.node = node
    found.monitor = monitor
    hear(found.monitor)
    found.objects.use_robot(found.monitor)
    yield found
    found.destroy()


def receive(scene, topic, *markers):
    scene.node.receive(f"~/{topic}", serialize_message(MarkerArray(markers=markers)))


def say(scene, *markers):
    receive(scene, "scene", *markers)
    scene.process_pending(math.inf)


def attach(scene, *markers):
    receive(scene, "attach", *markers)
    scene.process_pending(math.inf)


def refused(scene):
    return scene.values().get("scene_refused", "")


ROCK = (
    "solid a\nfacet normal 0 0 0\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n"
    "endloop\nendfacet\nendsolid a\n"
)


def rock(folder):
    """A marker of a mesh in a file."""
    (folder / "meshes").mkdir()
    (folder / "meshes" / "rock.stl").write_text(ROCK)
    resource = f"file://{folder / 'meshes/rock.stl'}"
    return marker(kind=Marker.MESH_RESOURCE, size=1.0, mesh_resource=resource)


def many_triangles(number=1, y=3.0):
    """So many that they are processed by the worker."""
    corners = np.random.default_rng(1).uniform(-0.1, 0.1, (900, 3)).tolist()
    points = [Point(x=x, y=y, z=z) for x, y, z in corners]
    return marker(number, Marker.TRIANGLE_LIST, (0.0, y, 0.0), size=1.0, points=points)


def finish(scene):
    """Wait for the worker, and deliver what it made."""
    until(scene, lambda: not scene.objects.jobs.names)


@pytest.fixture
def now(monkeypatch):
    """[the time of the monotonic clock], set by hand."""
    now = [time.monotonic()]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def one_at_a_time(monkeypatch):
    """Each look at the processor's time is a second later: a part has one marker."""
    clock = iter(range(10**6))
    monkeypatch.setattr(time, "thread_time", lambda: float(next(clock)))


def test_all_of_a_namespace_goes_and_nothing_of_another_nor_of_a_planning_scene(scene):
    spaces = ("cell", "cell/left", "cells", "", "planning_scene")
    say(scene, *(marker(ns=space) for space in spaces))
    say(scene, marker(ns="cell", action=Marker.DELETEALL))
    assert set(scene.objects.live.objects) == {"cell/left/1", "cells/1", "/1", "planning_scene/1"}
    say(scene, Marker(action=Marker.DELETEALL))
    assert set(scene.objects.live.objects) == {"planning_scene/1"}


def test_what_is_attached_while_nobody_knows_where_the_robot_is_waits(scene, model):
    say(scene, marker())
    scene.monitor = watch(model)
    hear(scene.monitor, ago=2.0)  # where it was then is not where it is
    scene.objects.use_robot(scene.monitor)
    attach(scene, marker(frame="l3", size=0.0))
    assert "the pose of the robot is unknown" in refused(scene)
    assert not scene.objects.keeper.carried()
    hear(scene.monitor)
    scene.watch()
    assert scene.objects.keeper.carried() == ["cell/1"]
    assert not refused(scene)


@pytest.mark.parametrize("is_all", [True, False])
@pytest.mark.parametrize("size", [0.0, 0.2])
def test_what_is_detached_from_a_fixed_link_may_touch_nothing_more(scene, size, is_all):
    hear(scene.monitor)
    say(scene, marker())
    attach(scene, marker(frame="l0", size=size, text="l3"))
    assert ("l3", "cell/1") not in scene.objects.live.pairs
    attach(scene, marker(action=Marker.DELETEALL if is_all else Marker.DELETE))
    assert ("l3", "cell/1") in scene.objects.live.pairs
    assert not refused(scene)


def test_an_attachment_may_arrive_before_its_object(scene):
    attach(scene, marker(frame="l3", size=0.0, text="l2"))
    assert "no such object" in refused(scene)
    say(scene, marker())
    assert scene.objects.keeper.carried() == ["cell/1"]
    assert scene.objects.live.objects["cell/1"].touch == {"l2"}
    assert not refused(scene)


@pytest.mark.parametrize("exists", [True, False])
def test_a_mesh_outside_of_packages_and_given_folders_is_refused(scene, tmp_path, exists):
    if exists:
        (tmp_path / "rock.stl").write_text("solid a\nendsolid a\n")
    say(scene, marker(kind=Marker.MESH_RESOURCE, mesh_resource=f"file://{tmp_path}/rock.stl"))
    until(scene, lambda: "package_dirs" in refused(scene))
    assert "rock.stl' is refused" in refused(scene)
    assert not scene.objects.live.objects


def test_a_bad_word_about_a_mesh_that_is_being_loaded_stays_said(scene, tmp_path):
    mesh = rock(tmp_path)
    say(scene, mesh)
    say(scene, marker(size=-1.0))
    until(scene, lambda: scene.objects.live.objects)
    assert "cell/1" in scene.objects.live.objects
    assert "its scale is" in refused(scene)
    say(scene, mesh)
    assert not refused(scene)


def test_a_mesh_is_read_again_when_its_file_was_written_since(scene, tmp_path):
    def reach():
        finish(scene)
        rows = scene.objects.live.objects["cell/1"].rows
        return (rows[:, [0, 3]].max(axis=1) + rows[:, 6]).max()

    mesh, file = rock(tmp_path), tmp_path / "meshes" / "rock.stl"
    say(scene, mesh)
    assert 1.0 <= reach() < 2.0
    say(scene, mesh)
    assert not scene.objects.jobs.names  # it moves without being read
    file.write_text(ROCK.replace("vertex 1 0 0", "vertex 9 0 0"))
    say(scene, mesh)
    assert reach() >= 9.0
    assert not refused(scene)
    file.unlink()
    say(scene, mesh)
    assert not refused(scene)  # what it was is known


def test_many_triangles_that_are_deleted_or_moved_meanwhile_do_not_come_back(scene):
    say(scene, many_triangles())
    assert "cell/1" in scene.objects.live.objects
    say(scene, marker(action=Marker.DELETE))
    for y in (4.0, 5.0):
        say(scene, many_triangles(2, y))
    finish(scene)
    assert set(scene.objects.live.objects) == {"cell/2"}
    assert scene.objects.live.objects["cell/2"].pose[1, 3] == 5.0


def test_lifetimes_pause_with_simulated_time(scene, now):
    def pass_by(seconds, simulated):
        for _ in range(round(seconds / 0.05)):
            now[0] += 0.05
            clock[0] += 0.05 * simulated
            scene.watch(clock[0])

    clock = [100.0]
    scene.watch(clock[0])
    say(scene, marker(lifetime=Duration(sec=1)), marker(2, size=-1.0, lifetime=Duration(sec=1)))
    pass_by(5.0, 0.0)
    assert "cell/1" in scene.objects.live.objects and "cell/2" in refused(scene)
    clock[0] -= 50.0  # set back
    pass_by(0.5, 0.5)
    clock[0] += 500.0  # and forward
    pass_by(0.3, 1.0)
    assert "cell/1" in scene.objects.live.objects
    pass_by(1.0, 1.0)
    assert not scene.objects.live.objects and not refused(scene)


def test_lifetimes_stand_still_while_the_node_is_delayed(scene, now):
    def pass_by(seconds, step=0.05):
        for _ in range(round(seconds / step)):
            now[0] += step
            scene.watch()

    def remains(seconds, delay=0.0):
        half = Duration(nanosec=500_000_000)
        say(scene, marker(lifetime=half), marker(2, size=-1.0, lifetime=half))
        now[0] += delay
        hear(scene.monitor)
        assert "cell/1" in scene.objects.live.objects and "cell/2" in refused(scene)
        pass_by(seconds)
        assert "cell/1" in scene.objects.live.objects and "cell/2" in refused(scene)
        pass_by(0.25)  # sums of steps are rounded
        assert not scene.objects.live.objects and not refused(scene)

    scene.watch()
    remains(0.45)
    remains(0.35, delay=0.4)  # callbacks took their time
    remains(3.9, delay=2.0)  # the process stood still: messages are sent again within 3 s
    say(scene, marker(lifetime=Duration(sec=1)))
    pass_by(1.1, step=0.1)  # a node that is always a little late
    assert not scene.objects.live.objects


EXTREME = (0.0, -0.0, 5e-324, 1e-300, 1e-9, 1.0, 1e5, 1e9, 1e160, 1.7e308, -1.0, -1e308,
           float("inf"), float("-inf"), float("nan"))  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_whatever_numbers_come_what_is_near_is_not_lost(scene):
    """Refused, or there: the distance is never more than without it."""
    rng = np.random.default_rng(7)
    say(scene, marker(0, at=(1.5, 1.5, 0.5)))
    least = hear(scene.monitor).clearance.distance
    kinds = (Marker.CUBE, Marker.SPHERE, Marker.CYLINDER, Marker.CUBE_LIST, Marker.SPHERE_LIST,
             Marker.TRIANGLE_LIST)  # fmt: skip
    taken = 0
    for k in range(120):
        values = [float(v) for v in rng.choice(EXTREME, 19)]
        for place in rng.choice(19, rng.integers(10, 20), replace=False):
            values[place] = float(rng.uniform(0.05, 0.5))
        one = marker(1, at=values[:3], frame=["l0", "l3"][k % 2])
        one.type = kinds[k % 6]
        one.scale.x, one.scale.y, one.scale.z = values[3:6]
        if k % 4 == 0:
            o = one.pose.orientation
            o.x, o.y, o.z, o.w = values[6:10]
        x, y, z = values[10::3], values[11::3], values[12::3]
        one.points = [Point(x=x[m], y=y[m], z=z[m]) for m in range(3)]
        say(scene, one)
        assert refused(scene) or "cell/1" in scene.objects.live.objects
        taken += not refused(scene)
        state = hear(scene.monitor)
        if refused(scene) or state.clearance is None:
            assert state.level == Level.ERROR
        if state.clearance is not None:
            assert state.clearance.distance <= least + 1e-9
        say(scene, marker(1, action=Marker.DELETE))
        assert not refused(scene)
    assert taken > 10


def test_scene_messages_that_waited_too_long_are_a_fault_until_processed(scene):
    waiting = scene.node.subscriptions["~/attach"].handle.take_message
    empty = serialize_message(MarkerArray())

    def fault_after(seconds):
        """The fault while ever more messages wait for so long."""
        received = {"received_timestamp": time.time_ns() - round(1e9 * seconds)}
        waiting.side_effect = lambda *_: (empty, received)
        scene.process_waiting()
        return scene.fault(time.monotonic())

    assert fault_after(0.4) == ""
    assert re.fullmatch(
        r"messages on ~/attach have waited for [34]\.\d s: more arrive than can be processed; "
        r"0\.5 s are allowed",
        fault_after(3.2),
    )
    waiting.side_effect = lambda *_: None  # nothing waits any more
    scene.watch()
    assert scene.fault(time.monotonic()) == ""


def test_planning_scenes_do_not_count_as_messages_on_scene(monkeypatch):
    """Some text stands for one: what matters is that it came."""
    module = ModuleType("moveit_msgs.msg")
    module.PlanningScene = String
    monkeypatch.setitem(sys.modules, "moveit_msgs", ModuleType("moveit_msgs"))
    monkeypatch.setitem(sys.modules, "moveit_msgs.msg", module)
    node, values = stub_node(), VALUES | {"scene_timeout": 0.05}
    topics = SceneTopics(node, values, lambda: None, FaultRegister())
    time.sleep(0.1)
    with pytest.raises(AttributeError):
        node.receive("~/planning_scene", serialize_message(String()))
    assert "no message on ~/scene" in topics.fault(time.monotonic())
    topics.destroy()


def test_losses_are_only_ignored_while_the_first_publishers_are_discovered(now):
    publishers, lost, reports = [0], [], []

    def create_subscription(*arguments, event_callbacks, **options):
        reports.append(event_callbacks.message_lost)
        callbacks.append(arguments[2])
        return stub_subscription()

    callbacks = []
    node = stub_node()
    node.create_subscription = create_subscription
    node.count_publishers = lambda topic: publishers[0]
    found = ReliableSubscription(
        node, MarkerArray, "~/scene", lambda message: None, lambda size, decode: None, lost.append
    )

    def report_after(seconds):
        now[0] += seconds
        lost.clear()
        reports[0](SimpleNamespace(total_count_change=3))
        return sum(lost)

    assert report_after(0.0) == 3  # without any publisher that may be new
    publishers[0] = 2
    assert report_after(10.0) == 0 and report_after(0.9) == 0
    assert report_after(0.2) == 3
    publishers[0] = 3  # the loss may be that of a known publisher
    assert report_after(5.0) == 3
    publishers[0] = 0
    assert report_after(5.0) == 3
    publishers[0] = 1
    assert report_after(5.0) == 0
    callbacks[0](serialize_message(MarkerArray()))
    assert report_after(0.05) == 0 and report_after(0.1) == 3
    for publishers[0] in (0, 1):
        found.check_publishers()
    assert report_after(1.1) == 3


def test_a_loss_that_is_reported_before_older_messages_is_not_ended_by_them():
    """As the default executor does: events come before messages."""
    node, reports = stub_node(), {}
    create = node.create_subscription

    def create_subscription(kind, topic, *arguments, event_callbacks, **options):
        reports[topic] = event_callbacks.message_lost
        return create(kind, topic, *arguments, **options)

    node.create_subscription = create_subscription
    topics = SceneTopics(node, VALUES, lambda: None, FaultRegister())
    all_gone = serialize_message(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))
    waiting = iter([(all_gone, {})] * 400)
    take = node.subscriptions["~/scene"].handle.take_message
    take.side_effect = lambda *_: next(waiting, None)
    reports["~/scene"](SimpleNamespace(total_count_change=3))
    topics.process_waiting()
    topics.process_pending(math.inf)
    assert "3 on ~/scene" in topics.fault(time.monotonic())
    node.receive("~/scene", all_gone)
    assert topics.fault(time.monotonic()) == ""
    topics.destroy()


def test_a_valid_attachment_clears_the_faults_of_earlier_ones(scene):
    say(scene, marker())
    for bad, why in (
        (marker(frame="nolink", size=0.0), "'nolink' is not a link"),
        (marker(frame="l3", size=0.0, action=77), "its action 77"),
        (marker(frame="l3", size=-1.0), "its scale"),
    ):
        attach(scene, bad)
        assert why in refused(scene)
        attach(scene, marker(frame="l3", size=0.0))
        assert scene.objects.keeper.carried() == ["cell/1"] and not refused(scene)
        attach(scene, marker(action=Marker.DELETE))
    say(scene, marker(size=-1.0))  # a fault of the object, not of its attachment
    attach(scene, marker(frame="l3", size=0.0))
    assert "its scale" in refused(scene)


def test_many_markers_are_applied_in_parts_and_the_latest_of_each_counts(scene):
    many = [marker(k % 8, at=(0.0, 3.0 + 0.001 * k, 0.0)) for k in range(4000)]
    data = serialize_message(MarkerArray(markers=many))
    gc.collect()  # or it may happen in between, and take a second after many tests
    start = time.thread_time()
    deserialize_message(data, MarkerArray)
    decoded = time.thread_time()
    scene.node.receive("~/scene", data)
    # It is decoded, and merged in about the same time.
    assert time.thread_time() - decoded < 5.0 * (decoded - start)
    assert not scene.objects.live.objects
    scene.process_pending(math.inf)
    assert {k: each.pose[1, 3] for k, each in scene.objects.live.objects.items()} == pytest.approx(
        {f"cell/{k}": 3.0 + 0.001 * (3992 + k) for k in range(8)}
    )
    assert not refused(scene)


def test_messages_that_come_at_once_are_one_change(scene):
    say(scene, marker())
    live = scene.objects.live
    row = live.row_of("cell/1")
    before = live.stamps[row]
    burst = [marker(at=(0.0, 3.0 + 0.1 * k, 0.0)) for k in range(30)]
    data = [serialize_message(MarkerArray(markers=[each])) for each in burst]
    waiting = iter([(each, {}) for each in data[1:]])
    take = scene.node.subscriptions["~/scene"].handle.take_message
    take.side_effect = lambda *_: next(waiting, None)
    scene.node.receive("~/scene", data[0])
    assert live.objects["cell/1"].pose[1, 3] == pytest.approx(5.9)
    assert live.stamps[row] == before + 1
    assert not scene.waiting


def parts(scene, *markers):
    """Objects after each part of a message that is applied in the smallest parts."""
    receive(scene, "scene", *markers)
    yield dict(scene.objects.live.objects)
    while scene.waiting:
        scene.process_pending(0.0)
        yield dict(scene.objects.live.objects)


def numbered(first, last, y):
    return [marker(k, at=(0.0, y, 0.0)) for k in range(first, last)]


def test_nothing_is_missing_while_a_message_deletes_all_and_adds_it_again(scene, one_at_a_time):
    say(scene, *numbered(0, 4, 3.0))
    before = set(scene.objects.live.objects)
    replaced = [Marker(action=Marker.DELETEALL), *numbered(0, 3, 4.0)]
    seen = list(parts(scene, *replaced))
    assert len(seen) > 3
    assert all(before <= set(objects) for objects in seen[:-1])
    assert set(seen[-1]) == {"cell/0", "cell/1", "cell/2"}
    assert all(each.pose[1, 3] == 4.0 for each in seen[-1].values())
    # Without room for both, it is a fault until all are replaced.
    say(scene, *numbered(0, 8, 3.0))
    receive(scene, "scene", Marker(action=Marker.DELETEALL), *numbered(8, 16, 4.0))
    faults = []
    while scene.waiting:
        faults.append(scene.fault(time.monotonic()))
        scene.process_pending(0.0)
    assert any("objects on ~/scene are being replaced" in fault for fault in faults)
    assert set(scene.objects.live.objects) == {f"cell/{k}" for k in range(8, 16)}
    assert scene.fault(time.monotonic()) == ""


def test_an_attachment_is_applied_after_the_markers_before_it(scene, one_at_a_time):
    receive(scene, "scene", *numbered(0, 3, 3.0))
    receive(scene, "attach", marker(2, frame="l3", size=0.0))
    receive(scene, "scene", *numbered(0, 2, 4.0))
    assert len(scene.objects.live.objects) < 3 and not scene.fault(time.monotonic())
    scene.process_pending(math.inf)
    assert scene.objects.keeper.carried() == ["cell/2"] and not scene.fault(time.monotonic())
    assert scene.objects.live.objects["cell/0"].pose[1, 3] == 4.0


def test_markers_that_wait_are_late_and_no_lifetime_ends_meanwhile(scene, now, one_at_a_time):
    say(scene, marker(lifetime=Duration(sec=1)))
    receive(scene, "scene", *numbered(1, 100, 3.0))
    assert scene.fault(now[0] + 0.4) == ""
    assert "messages on ~/scene have waited for 0.6 s" in scene.fault(now[0] + 0.6)
    for _ in range(60):
        now[0] += 0.05
        scene.watch()
    assert "cell/1" in scene.objects.live.objects

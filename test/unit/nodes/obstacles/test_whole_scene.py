# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The planning scene of a move_group that runs already: asked for, and merged with its changes."""

import gc
import sys
import time
import weakref
from concurrent.futures import Future
from types import ModuleType, SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from rclpy.serialization import serialize_message  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
from support.ros.planning_scene_messages import Taken, box, held, scene  # noqa: E402
from support.ros.scene_stub import VALUES, hear, robot, stub_node, until, watch  # noqa: E402
from visualization_msgs.msg import Marker, MarkerArray  # noqa: E402

from collision_monitor.nodes.obstacles.planning_scene import REMOVE  # noqa: E402
from collision_monitor.nodes.obstacles.scene_topics import SceneTopics  # noqa: E402
from collision_monitor.nodes.obstacles.whole_scene import WholeScene  # noqa: E402

SERVICE = "/cell/get_planning_scene"
DELETEALL = MarkerArray(markers=[Marker(action=Marker.DELETEALL)])


class Graph:
    """A graph with publishers of planning scenes, by number, whose nodes may offer a service."""

    def __init__(self):
        self.publishers, self.services, self.is_ready = [1], {1: SERVICE}, True
        self.kind, self.calls, self.requests = "std_srvs/srv/Trigger", [], []

    def resolve_topic_name(self, topic):
        return topic

    def get_publishers_info_by_topic(self, topic):
        return [
            SimpleNamespace(endpoint_gid=[k], node_name=f"move_group_{k}", node_namespace="/")
            for k in self.publishers
        ]

    def get_service_names_and_types_by_node(self, name, namespace):
        number = int(name.rpartition("_")[2])
        if number not in self.services:
            raise RuntimeError("there is no such node")
        return [("/other", ["std_srvs/srv/Empty"]), (self.services[number], [self.kind])]

    def create_client(self, kind, name):
        def call(request):
            self.calls.append(Future())
            self.requests.append(request)
            return self.calls[-1]

        return SimpleNamespace(
            srv_name=name, call_async=call, service_is_ready=lambda: self.is_ready,
            remove_pending_request=lambda future: None,
        )  # fmt: skip

    def destroy_client(self, client):
        pass


@pytest.fixture
def taken():
    found = Taken()
    yield found
    found.close()


@pytest.fixture
def graph():
    return Graph()


@pytest.fixture
def whole(taken, graph):
    return WholeScene(
        graph, "~/planning_scene", Trigger, Trigger.Request(), taken.topic.expect_answer,
        lambda response: taken.answer(response.scene), taken.faults,
    )  # fmt: skip


def remark(taken):
    return taken.faults.text("whole_scene", 0.0)


def names(taken):
    return {name.removeprefix("planning_scene/") for name in taken.objects}


def answered(call, message):
    call.set_result(SimpleNamespace(scene=message))


def test_a_publisher_is_asked_once_and_what_it_has_is_remarked_until_it_answers(
    whole, graph, taken
):
    graph.is_ready = False
    for k in range(5):
        whole.update(float(k))
    assert not graph.calls and f"of /move_group_1 has been asked for on {SERVICE}" in remark(taken)
    graph.is_ready = True
    whole.update(5.0)
    answered(graph.calls[0], scene(box("table"), is_diff=False))
    assert names(taken) == {"table"}
    for k in range(50):
        whole.update(5.05 + 0.5 * k)
        assert remark(taken) == ""
    assert len(graph.calls) == 1
    graph.publishers = [2]  # another one in its place
    graph.services[2] = SERVICE
    for k in range(4):
        whole.update(50.0 + k)
    answered(graph.calls[1], scene(is_diff=False))
    assert not names(taken) and len(graph.calls) == 2


def test_what_is_received_between_a_request_and_its_answer_is_newer(whole, graph, taken):
    taken.process(scene(box("old"), box("moved")))
    whole.update(0.0)
    whole.update(1.0)
    taken.process(scene(box("old", operation=REMOVE), box("moved", y=3.0), box("new")))
    taken.process(scene(box("held")))
    taken.process(scene(box("held", operation=REMOVE), attached=[held(box("held"))]))
    answered(graph.calls[0], scene(
        box("old"), box("moved"), box("table"), attached=[held(box("held"))], is_diff=False
    ))  # fmt: skip
    assert names(taken) == {"moved", "new", "held", "table"} and taken.fault == ""
    assert taken.keeper.carried() == ["planning_scene/held"]
    assert taken.centre("moved")[1] == pytest.approx(3.0, abs=0.01)
    taken.process(scene(box("new", operation=REMOVE)))
    assert "new" not in names(taken)


def test_a_lost_answer_is_asked_for_again_and_does_not_count_if_it_comes_late(whole, graph, taken):
    for k in range(4):
        whole.update(float(k))
    assert len(graph.calls) == 1
    for k in range(4, 10):
        whole.update(float(k))
    assert len(graph.calls) == 2 and remark(taken)
    answered(graph.calls[0], scene(box("late"), is_diff=False))
    assert not names(taken)
    graph.calls[1].set_exception(RuntimeError("no type support"))
    for k in range(10, 20):
        whole.update(float(k))
    answered(graph.calls[-1], scene(box("table"), is_diff=False))
    assert names(taken) == {"table"}
    whole.update(21.0)
    assert remark(taken) == ""


def test_who_offers_no_service_is_not_asked_and_who_is_gone_is_not_waited_for(whole, graph, taken):
    graph.services.clear()
    for k in range(4):
        whole.update(float(k))
    assert not graph.calls and remark(taken) == ""
    graph.services[1] = SERVICE  # its node is known later
    whole.update(5.0)
    assert remark(taken)
    graph.publishers = []
    whole.update(6.0)
    assert not graph.calls and remark(taken) == ""


class Message(SimpleNamespace):
    """With references that do not keep it."""


def test_scenes_are_not_kept_for_an_answer_that_will_not_come(whole, graph, taken):
    whole.update(0.0)
    whole.update(1.0)
    assert len(graph.calls) == 1
    graph.publishers = []
    whole.update(2.0)
    message = Message(**vars(scene(box("table"))))
    kept = weakref.ref(message)
    taken.process(message)
    del message
    gc.collect()
    assert kept() is None and names(taken) == {"table"}


def stand_in(group, **members):
    """A module of moveit_msgs."""
    module = ModuleType(f"moveit_msgs.{group}")
    for name, member in members.items():
        member.__module__ = f"moveit_msgs.{group}._{name.lower()}"
        setattr(module, name, member)
    return module


@pytest.fixture
def topics(monkeypatch, graph):
    """Scene topics of a robot in this graph, with stand-ins for moveit_msgs."""
    components = ("ROBOT_STATE", "ROBOT_STATE_ATTACHED_OBJECTS", "WORLD_OBJECT_NAMES",
                  "WORLD_OBJECT_GEOMETRY", "OCTOMAP")  # fmt: skip
    bits = {name: 2 << k for k, name in enumerate(components)}  # as in moveit_msgs

    class Request:
        def __init__(self):
            self.components = SimpleNamespace(components=0)

    messages = stand_in(
        "msg", PlanningScene=type("PlanningScene", (), {}),
        PlanningSceneComponents=type("PlanningSceneComponents", (), bits),
    )  # fmt: skip
    services = stand_in("srv", GetPlanningScene=type("GetPlanningScene", (), {"Request": Request}))
    monkeypatch.setitem(sys.modules, "moveit_msgs", ModuleType("moveit_msgs"))
    monkeypatch.setitem(sys.modules, "moveit_msgs.msg", messages)
    monkeypatch.setitem(sys.modules, "moveit_msgs.srv", services)
    graph.kind = "moveit_msgs/srv/GetPlanningScene"
    node = stub_node()
    for name in ("get_publishers_info_by_topic", "get_service_names_and_types_by_node",
                 "create_client", "destroy_client"):  # fmt: skip
        setattr(node, name, getattr(graph, name))
    monitor = watch(robot())
    found = SceneTopics(node, VALUES, lambda: None, monitor.watchdogs.faults)
    found.node, found.faults = node, monitor.watchdogs.faults
    hear(monitor)
    found.objects.use_robot(monitor)
    until(found, lambda: graph.calls)
    yield found
    found.destroy()


def test_the_topics_of_a_node_ask_for_everything_that_is_monitored(topics, graph):
    assert graph.requests[0].components.components == 2 + 4 + 8 + 16 + 32
    answered(graph.calls[0], scene(box("table"), is_diff=False))
    until(topics, lambda: set(topics.objects.live.objects) == {"planning_scene/table"})
    until(topics, lambda: not topics.faults.text("whole_scene", 0.0))


def test_only_a_whole_scene_replaces_lost_ones_and_it_is_asked_for(topics, graph):
    """A DELETEALL of markers keeps objects of MoveIt, which does not send them again for it."""
    answered(graph.calls[0], scene(is_diff=False))
    until(topics, lambda: not topics.faults.text("whole_scene", 0.0))
    topics.waiting.lose("planning_scene", 1)
    topics.waiting.lose("scene", 2)
    until(topics, lambda: len(graph.calls) == 2)
    topics.waiting.lose("planning_scene", 1)  # perhaps newer than the answer to this request
    answered(graph.calls[1], scene(is_diff=False))
    until(topics, lambda: len(graph.calls) == 3)
    topics.node.receive("~/scene", serialize_message(DELETEALL))
    fault = topics.faults.text("objects", 0.0)
    assert "2 on ~/planning_scene: the scene is unknown until a whole planning scene" in fault
    answered(graph.calls[2], scene(box("table"), is_diff=False))
    until(topics, lambda: set(topics.objects.live.objects) == {"planning_scene/table"})
    assert topics.faults.text("objects", 0.0) == ""


def test_nothing_is_asked_while_an_answer_waits(topics, graph, monkeypatch):
    """Its changes in between would count as those of the next request."""
    clock = iter(range(10**6))
    monkeypatch.setattr(time, "thread_time", lambda: float(next(clock)))  # one step at a time
    for _ in range(150):
        topics.waiting.receive("attach", 0, lambda: None)
    answered(graph.calls[0], scene(box("table"), is_diff=False))
    topics.waiting.lose("planning_scene", 1)
    while topics.waiting:
        assert len(graph.calls) == 1
        topics.watch()
        time.sleep(0.005)
    until(topics, lambda: len(graph.calls) == 2)


def test_several_publishers_of_whole_scenes_are_remarked(topics, graph):
    """As of two move_groups: the scene of one lacks the objects of the other."""
    publishers = [2]
    topics.node.count_publishers = lambda topic: publishers[0]
    answered(graph.calls[0], scene(box("table"), is_diff=False))
    text = "2 publishers on ~/planning_scene: a whole scene of one removes the objects of"
    until(topics, lambda: text in topics.faults.text("planning_scene", 0.0))
    publishers[0] = 1
    until(topics, lambda: not topics.faults.text("planning_scene", 0.0))

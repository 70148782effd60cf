# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Whose answer an answer is, without a graph."""

import logging
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from std_srvs.srv import SetBool, Trigger  # noqa: E402

from collision_monitor.nodes.monitor_services import StopService  # noqa: E402


class Graph:
    """A graph in which the type of the driver's service may change."""

    def __init__(self, answers=True):
        self.kinds, self.ready, self.made = ["std_srvs/srv/Trigger"], Trigger, []
        self.answers, self.calls = answers, []

    def resolve_service_name(self, name):
        return f"/{name}"

    def get_service_names_and_types(self):
        return [("/halt", self.kinds)] if self.kinds else []

    def create_client(self, kind, name):
        def call(request):
            self.request = request
            self.calls.append(Future())
            if self.answers:
                self.calls[-1].set_result(kind.Response(success=True))
            return self.calls[-1]

        self.made.append(kind)
        return SimpleNamespace(service_is_ready=lambda: self.ready is kind, call_async=call)

    def destroy_client(self, client):
        pass

    def get_logger(self):
        return logging.getLogger("driver")


def halting(attempts):
    """Parameters of a service that is called so often."""
    values = {"": "halt", "_data": True, "_attempts": attempts, "_timeout": 100.0}
    return {f"stop_service{name}": value for name, value in values.items()}


@pytest.mark.parametrize("lingers", [False, True])
def test_a_service_that_comes_back_with_another_type_is_called_with_it(lingers):
    graph = Graph()
    service = StopService(graph)
    service.use_values(halting(4))
    service.update(True)
    assert service.call.outcome == "done" and graph.made == [Trigger]
    service.update(False)
    old = graph.kinds if lingers else []
    graph.kinds, graph.ready = [*old, "std_srvs/srv/SetBool"], SetBool
    service.update(True)
    assert service.call.outcome == "done", service.call.text
    assert graph.made == [Trigger, SetBool] and graph.request.data is True
    service.update(False)
    graph.kinds, graph.ready = [], None  # gone: it may come back with the same type
    service.update(True)
    assert service.call.text.endswith("its server is not available")
    assert graph.made == [Trigger, SetBool]


def answer(call, success):
    call.set_result(Trigger.Response(success=success, message="" if success else "no power"))


def test_a_late_answer_to_one_stop_does_not_stand_for_the_next():
    driver = Graph(answers=False)
    service = StopService(driver)
    service.use_values(halting(1))
    service.update(True)
    service.update(False)
    service.update(True)
    first, second = driver.calls
    answer(first, True)
    assert service.call.outcome == "calling"
    answer(second, False)
    assert service.call.text == "FAILED after 1 attempts: no power"

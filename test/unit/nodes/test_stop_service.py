# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""When the stop service is called, and whose answer an answer is, without a graph."""

import logging
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("rclpy", reason="rclpy is not installed")

from std_srvs.srv import SetBool, Trigger  # noqa: E402

from collision_monitor.nodes.monitor_services import StopCall, StopService  # noqa: E402


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


def test_one_stop_is_one_call():
    call = StopCall()
    assert not call.update(False, 0.0)
    assert call.update(True, 1.0)
    assert not call.update(True, 1.01)
    call.answered(1, True, "", 1.05)
    assert not any(call.update(True, 1.05 + 0.1 * k) for k in range(50))
    assert (call.outcome, call.text, call.attempts) == ("done", "done", 1)
    call.update(False, 9.0)
    assert call.update(True, 9.1)


def test_what_fails_is_tried_again_and_then_said():
    call = StopCall(retries=2, timeout=0.5, pause=0.1)
    assert call.update(True, 0.0)
    call.answered(1, False, "busy", 0.02)
    assert not call.update(True, 0.05)
    assert call.text == "calling, attempt 1: busy"
    assert call.update(True, 0.13)  # second attempt; no answer comes
    assert not call.update(True, 0.5)
    assert not call.update(True, 0.7)  # given up here
    assert call.update(True, 0.81)
    call.answered(3, False, "still busy", 0.9)
    assert (call.outcome, call.text) == ("failed", "FAILED after 3 attempts: still busy")
    assert not call.update(True, 5.0)
    call.update(False, 6.0)
    assert call.outcome == "failed"  # stays until the next stop
    assert call.update(True, 7.0)
    assert call.outcome == "calling"


def test_a_stop_that_ends_before_the_call_got_through_is_still_called():
    call = StopCall(retries=5, pause=0.1)
    call.update(True, 0.0)
    call.answered(1, False, "busy", 0.01)
    assert call.update(False, 0.2)


def test_an_answer_after_all_was_given_up_counts_if_it_is_the_last_attempts():
    call = StopCall(retries=0, timeout=0.5)
    call.update(True, 0.0)
    call.update(True, 0.6)
    assert call.outcome == "failed"
    call.answered(1, True, "", 0.7)
    assert (call.outcome, call.reason) == ("done", "")


@given(
    st.integers(0, 4),
    st.lists(
        st.tuples(st.sampled_from(["stop", "go", "good", "bad", "wait"]), st.floats(0.0, 0.4)),
        max_size=80,
    ),
)
def test_never_more_calls_than_allowed_and_every_stop_is_settled(retries, story):
    call, now, stopping, calls = StopCall(retries, 0.5, 0.1), 0.0, False, 0
    for event, wait in story:
        now += wait
        if event in ("stop", "go"):
            if event == "stop" and not stopping:
                calls = 0
            stopping = event == "stop"
        elif event in ("good", "bad"):
            call.answered(call.attempts, event == "good", event, now)
        calls += call.update(stopping, now)
        assert calls <= retries + 1
    for _ in range(200):  # nobody answers any more
        now += 0.1
        calls += call.update(stopping, now)
    assert calls <= retries + 1
    assert call.outcome in ("none", "done", "failed")
    if call.outcome == "failed":
        assert call.attempts == retries + 1
        assert call.reason

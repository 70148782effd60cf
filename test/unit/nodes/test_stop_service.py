# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Whose answer an answer is, without a graph."""

import logging
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from std_srvs.srv import Trigger  # noqa: E402

from collision_monitor.nodes.monitor_services import StopService  # noqa: E402


@pytest.fixture
def driver():
    """A node whose graph has one driver, which answers when it is told to."""
    calls = []

    def call_async(request):
        calls.append(Future())
        return calls[-1]

    client = SimpleNamespace(service_is_ready=lambda: True, call_async=call_async)
    return SimpleNamespace(
        calls=calls,
        resolve_service_name=lambda name: f"/{name}",
        get_service_names_and_types=lambda: [("/halt", ["std_srvs/srv/Trigger"])],
        create_client=lambda kind, name: client,
        get_logger=lambda: logging.getLogger("driver"),
    )


def answer(call, success):
    call.set_result(Trigger.Response(success=success, message="" if success else "no power"))


def test_a_late_answer_to_one_stop_does_not_stand_for_the_next(driver):
    service = StopService(driver)
    service.set("halt", True, 1, 100.0)
    service.update(True)
    service.update(False)
    service.update(True)
    first, second = driver.calls
    answer(first, True)
    assert service.call.outcome == "calling"
    answer(second, False)
    assert service.call.text == "FAILED after 1 attempts: no power"


def test_an_answer_to_this_stop_settles_it(driver):
    service = StopService(driver)
    service.set("halt", True, 2, 100.0)
    service.update(True)
    answer(driver.calls[0], True)
    assert service.call.outcome == "done"
    service.update(True)
    assert len(driver.calls) == 1

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Where the page listens: loopback unless told, a free port, and what cannot be had is an error."""

import socket

import pytest

from collision_monitor.errors import ViewError
from collision_monitor.viewer.server import Address, free_address


@pytest.fixture
def taken():
    """A port of the loopback address on which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_it_is_loopback_and_any_port_is_a_free_one():
    found = free_address(port=0)
    assert found.host == "127.0.0.1" and found.is_loopback
    with socket.create_server((found.host, found.port)):
        pass
    assert found.url == f"http://127.0.0.1:{found.port}"


def test_a_port_that_is_taken_is_an_error_that_says_what_to_do(taken):
    with pytest.raises(ViewError, match=rf"port {taken} of 127.0.0.1 is taken.*0 for any"):
        free_address(port=taken)


def test_where_the_usual_port_is_taken_another_one_is_found(taken):
    assert free_address(usual=taken).port != taken


def test_the_usual_port_is_taken_where_it_is_free():
    usual = free_address(port=0).port
    assert free_address(usual=usual).port == usual


@pytest.mark.parametrize(
    ("host", "says"),
    [
        ("no-such-host.invalid", "'no-such-host.invalid' cannot be found"),
        ("", "'' cannot be found"),
        ("." * 300, "cannot be found"),
        ("203.0.113.7", "'203.0.113.7' is not an address of this machine"),
    ],
)
def test_a_host_that_is_not_this_machine_is_an_error(host, says):
    with pytest.raises(ViewError, match=says):
        free_address(host, 0)


def test_a_name_is_one_numeric_address():
    assert free_address("localhost", 0).host in ("127.0.0.1", "::1")


@pytest.mark.parametrize(
    ("host", "loopback", "url"),
    [
        ("0.0.0.0", False, "http://127.0.0.1:81"),
        ("::", False, "http://[::1]:81"),
        ("::1", True, "http://[::1]:81"),
        ("192.0.2.1", False, "http://192.0.2.1:81"),
    ],
)
def test_addresses_are_told_apart_and_shown(host, loopback, url):
    one = Address(host, 81)
    assert (one.is_loopback, one.url) == (loopback, url)

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Who may talk to the page: browsers that opened it here, several of them, and no other site."""

import http.client
import logging
import os
import socket
import time

import numpy as np
import pytest
from support.robots.toys import chain

from collision_monitor import CollisionModel
from collision_monitor.errors import ViewError
from collision_monitor.viewer.server import PageGuard

viser = pytest.importorskip("viser", reason="viser is not installed (extra 'view')")

from support.page_client import PageClient, connection  # noqa: E402
from websockets.exceptions import ConnectionClosed, InvalidStatus  # noqa: E402
from websockets.sync.client import connect  # noqa: E402

from collision_monitor.viewer.page import Page  # noqa: E402


@pytest.mark.parametrize(
    ("listens", "given", "host", "is_own"),
    [
        ("127.0.0.1", "", "localhost:8080", True),
        ("127.0.0.1", "", "[::1]:9", True),  # a port that is forwarded
        ("127.0.0.1", "mybox", "mybox:8080", True),
        ("127.0.0.1", "", "mybox:8080", False),
        ("127.0.0.1", "", "localhost.evil.example", False),
        ("127.0.0.1", "", "192.168.0.7:8080", False),
        ("127.0.0.1", "", "evil@localhost", False),
        ("127.0.0.1", "", "", False),
        ("0.0.0.0", "0.0.0.0", "192.168.0.7:8080", True),
        ("0.0.0.0", "0.0.0.0", f"{socket.gethostname()}:8080", True),
        ("0.0.0.0", "0.0.0.0", "evil.example:8080", False),
    ],
)
def test_hosts_of_this_server(listens, given, host, is_own):
    assert (PageGuard(listens, given).refusal([host], []) == "") == is_own
    assert PageGuard(listens, given).refusal([host, host], [])


@pytest.mark.parametrize(
    ("origin", "is_same"),
    [
        ("http://localhost:8080", True),
        ("http://localhost:9090", False),  # another server of this machine
        ("http://127.0.0.1:8080", False),
        ("http://localhost:8080.evil.example", False),
        ("null", False),  # a file, or a frame in a sandbox
        ("", False),
    ],
)
def test_origins_of_the_page(origin, is_same):
    assert (PageGuard("127.0.0.1").refusal(["localhost:8080"], [origin]) == "") == is_same


@pytest.fixture(scope="module")
def page():
    model = CollisionModel.from_urdf(chain(4))
    found = Page(model, np.zeros(3), warn=0.5, stop=0.1, port=0)
    yield found
    found.close()


def status(page, path="/", **headers):
    """Code and headers of a request for a file."""
    connection = http.client.HTTPConnection("127.0.0.1", page.address.port, timeout=10.0)
    connection.putrequest("GET", path, skip_host=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, answer.headers, text


def test_files_are_for_those_who_opened_the_page_here(page, caplog):
    own = f"127.0.0.1:{page.address.port}"
    code, headers, text = status(page, Host=own, Origin=f"http://{own}")
    assert code == 200 and b"<html" in text
    assert headers["X-Frame-Options"] == "DENY" and "frame-ancestors" in str(headers)
    with caplog.at_level(logging.WARNING, "collision_monitor"):
        assert status(page, Host="evil.example")[0] == 403
        assert status(page, Host=own, Origin="http://evil.example")[0] == 403
        assert status(page)[0] == 403
    assert "'evil.example' is not a name or address of this server" in caplog.text


def test_web_sockets_of_other_sites_are_refused(page):
    own = f"http://127.0.0.1:{page.address.port}"
    with connection(page.address.url, origin=own) as good:
        assert good.recv(timeout=10.0)
    others = ("http://evil.example", "null", own + "0", "http://localhost")
    for origin in others:
        with pytest.raises(InvalidStatus, match="403"):
            connection(page.address.url, origin=origin)
    host = {"Host": f"evil.example:{page.address.port}"}
    with pytest.raises(InvalidStatus, match="403"):
        connection(page.address.url, additional_headers=host)


def test_a_second_client_sees_the_same_and_nobody_is_thrown_out(page):
    with PageClient(page.address.url) as one, PageClient(page.address.url) as two:
        assert one.status == two.status and one.nodes.keys() == two.nodes.keys()
        one.set("j1 [rad]", 0.7)
        two.until(lambda: two.control("j1 [rad]")["value"] == 0.7)
        one.close()
        two.set("grid", False)
        two.until(lambda: not two.nodes["/grid"]["visible"], page.tick)


def test_garbage_ends_its_own_connection_and_nothing_else(page, capfd):
    port = page.address.port
    with connection(page.address.url) as good:
        assert good.recv(timeout=10.0)
        for data in (b"\0\xff" * 100, b"GET / HTTP/1.1\r\n" + b"x" * 20_000, os.urandom(5000), b""):
            with socket.create_connection(("127.0.0.1", port), timeout=10.0) as raw:
                raw.sendall(data)
                raw.shutdown(socket.SHUT_WR)
                answer = raw.recv(100)
                assert not answer or b" 400 " in answer, answer
        for message in ("text", b"", b"\xc1", os.urandom(1000), b"\x81\xa4type\xa4none"):
            with connection(page.address.url) as bad:
                bad.send(message)
                with pytest.raises(ConnectionClosed):
                    while True:
                        bad.recv(timeout=10.0)
        with connect(f"ws://127.0.0.1:{port}") as other, pytest.raises(ConnectionClosed):
            other.recv(timeout=10.0)  # no client of viser
        good.ping().wait(10.0)
    own = f"localhost:{port}"
    assert status(page, Host=own)[0] == 200
    time.sleep(0.1)
    assert "Traceback" not in capfd.readouterr().err


def test_a_viser_that_cannot_be_guarded_is_refused(monkeypatch):
    monkeypatch.delattr(viser.infra, "_infra")  # as if its parts were in other places
    with pytest.raises(ViewError, match="cannot be guarded"):
        Page(CollisionModel.from_urdf(chain(4)), np.zeros(3), warn=0.5, stop=0.1, port=0)

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The server of the page: address, port, initial camera, and filter of requests.

It only answers browsers that have opened the page from this server. A page of another web site in
the same browser can connect to any port of this machine. Its requests have the Origin of that site
or, with DNS rebinding, a Host that is not of this machine. Both are rejected, for files and web
sockets.
"""

from __future__ import annotations

import errno
import io
import ipaddress
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from collision_monitor.common.lazy_imports import optional_dependency
from collision_monitor.common.text import MOST_LOGGED
from collision_monitor.errors import ViewError

logger = logging.getLogger(__name__)

# -- filter of requests --

# Other sites must not show this page in a frame (clickjacking).
_HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'none'", "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin", "X-Content-Type-Options": "nosniff",
}  # fmt: skip
_installing = threading.Lock()
_connections = logging.getLogger(f"{__name__}.connections")
_connections.setLevel(logging.CRITICAL)  # what clients send is no error of this program


class PageGuard:
    """Filters requests by the headers Host and Origin."""

    def __init__(self, host: str, given: str = "") -> None:
        """Create the filter of a server.

        Args:
            host: numeric address of the server.
            given: the name or address given by the user.
        """
        self._host = host
        self._is_loopback = ipaddress.ip_address(host).is_loopback
        self._names = {"localhost", given.lower()}
        if not self._is_loopback:
            own = socket.gethostname().lower()
            self._names |= {own, own.partition(".")[0] + ".local", socket.getfqdn().lower()}
        self._names.discard("")
        self._logged: set[str] = set()
        self.is_installed = False

    def refusal(self, hosts: list[str], origins: list[str]) -> str:
        """Why a request with these headers is rejected; empty if it is accepted."""
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            return f"Host {', '.join(hosts)[:100]!r} is not a name or address of this server"
        if not origins:  # not a browser, or a file of the page itself
            return ""
        if len(origins) != 1 or not _is_same(origins[0], hosts[0]):
            return f"Origin {', '.join(origins)[:100]!r} is not the site {hosts[0][:100]!r}"
        return ""

    def _is_own(self, host: str) -> bool:
        name = _name_of(f"//{host}")
        if name in self._names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        # DNS rebinding needs a name: a numeric address is always that of this machine.
        return address.is_loopback or not self._is_loopback

    @contextmanager
    def installed(self, viser: Any) -> Iterator[None]:
        """Context that adds the filter to web socket servers that ``viser`` starts at this host."""
        try:
            module = viser.infra._infra.websockets.asyncio.server
        except AttributeError:  # another version of viser: `is_installed` stays False
            yield
            return
        original = module.serve

        def serve(handler: Any, host: Any = None, *rest: Any, **more: Any) -> Any:
            if host == self._host and callable(more.get("process_request")):
                more["process_request"] = self._checked(more["process_request"])
                more["logger"] = _connections
                self.is_installed = True
            return original(handler, host, *rest, **more)

        with _installing:
            module.serve = serve
            try:
                yield
            finally:
                module.serve = original

    def _checked(self, answer: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def checked(connection: Any, request: Any) -> Any:
            headers = request.headers
            reason = self.refusal(headers.get_all("Host"), headers.get_all("Origin"))
            if reason:
                self._log(reason)
                return connection.respond(403, f"refused: {reason}\n")
            response = answer(connection, request)
            if response is not None:
                for name, value in _HEADERS.items():
                    response.headers[name] = value
            return response

        return checked

    def _log(self, reason: str) -> None:
        if reason not in self._logged and len(self._logged) < MOST_LOGGED:
            self._logged.add(reason)
            logger.warning("page: a request was refused: %s", reason)


def _name_of(url: str) -> str:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises if it is not a number
        return (parts.hostname or "") if parts.username is None else ""
    except ValueError:
        return ""


def _is_same(origin: str, host: str) -> bool:
    scheme, separator, place = origin.lower().partition("://")
    return bool(separator) and scheme in ("http", "https") and place == host.lower()


# -- address --

LOOPBACK = "127.0.0.1"
USUAL_PORT = 8080


@dataclass(frozen=True)
class Address:
    """A numeric host, a port that was free at the time of the call, and the ``given`` host."""

    host: str
    port: int
    given: str = field(default="", compare=False)

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        return ipaddress.ip_address(self.host).is_loopback

    @property
    def url(self) -> str:
        """URL for a browser on this machine."""
        shown = ipaddress.ip_address(self.host)
        if shown.is_unspecified:
            host = LOOPBACK if shown.version == 4 else "[::1]"
        else:
            host = self.host if shown.version == 4 else f"[{self.host}]"
        return f"http://{host}:{self.port}"


def free_address(host: str = LOOPBACK, port: int | None = None, usual: int = USUAL_PORT) -> Address:
    """Find an address for the server.

    ``host``: a name or address of this machine. ``port``: a number; 0 for any free port; None for
    the ``usual`` one, or any free port if it is in use.

    Raises:
        ViewError: the host is not this machine, or the port is in use or needs privileges.
    """
    numeric = _numeric(host)
    requested = usual if port is None else port
    try:
        return replace(_bound(numeric, requested), given=host)
    except OSError as problem:
        if port is None and problem.errno in (errno.EADDRINUSE, errno.EACCES):
            return free_address(host, 0)
        raise ViewError(_why(problem, host, requested)) from None


def _numeric(host: str) -> str:
    try:
        addresses = socket.getaddrinfo(host or " ", None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as problem:
        raise ViewError(
            f"host {host!r} cannot be found ({problem}): use a name or an address of this "
            f"machine, such as {LOOPBACK}, or 0.0.0.0 for all of its addresses"
        ) from None
    addresses.sort(key=lambda entry: entry[0] != socket.AF_INET)  # a name may have both kinds
    return str(addresses[0][4][0])


def _bound(host: str, port: int) -> Address:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        # As for servers: a connection that has just ended does not block the port.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1)
        return Address(host, listener.getsockname()[1])


def _why(problem: OSError, host: str, port: int) -> str:
    if problem.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is taken: choose another, or 0 for any that is free"
    if problem.errno == errno.EACCES:
        return f"port {port} of {host} needs privileges: use 1024 or above, or 0 for any"
    if problem.errno == errno.EADDRNOTAVAIL:
        return (
            f"host {host!r} is not an address of this machine: use {LOOPBACK}, or 0.0.0.0 for all "
            "of its addresses"
        )
    return f"cannot listen at {host}, port {port}: {problem}"


# -- server: without banner and share links, on one address --


def require_viser() -> Any:
    """The module viser.

    Raises:
        MissingDependencyError: it is not installed, or too old.
    """
    with optional_dependency("the page needs viser 1.1 or later", "view"):
        import viser

        viser.MainPanelHandle  # noqa: B018 - an attribute of viser 1.1 and later
    return viser


def start_server(address: Address, title: str) -> Any:
    """Start a viser server at ``address``.

    Raises:
        MissingDependencyError: viser is not installed.
        ViewError: the port is in use meanwhile.
    """
    viser = require_viser()

    class LocalServer(viser.ViserServer):
        """Disable share links, by which any browser could publish this page on the web."""

        def request_share_url(self, verbose: bool = True) -> None:
            return None

    guard = PageGuard(address.host, address.given)
    with redirect_stdout(io.StringIO()), guard.installed(viser):
        # No banner: the caller prints the address.
        server = LocalServer(address.host, address.port, label=title, verbose=False)
    if server.get_port() != address.port:  # viser tries the next ports silently
        stop_server(server)
        raise ViewError(
            f"port {address.port} of {address.host} is taken: choose another, or 0 for any that "
            "is free"
        )
    if not guard.is_installed:
        stop_server(server)
        raise ViewError(
            f"viser {viser.__version__} starts its server in a way that cannot be guarded against "
            "other web sites: install viser 1.1"
        )
    server.gui.configure_theme(show_logo=False, show_share_button=False)
    server.gui.main_panel.dock_right()
    server.gui.main_panel.set_width(380.0)
    return server


def stop_server(server: Any) -> None:
    """Stop the server; browsers report a lost connection."""
    with redirect_stdout(io.StringIO()):
        server.stop()


def aim_camera(server: Any, points: np.ndarray) -> None:
    """Point the initial camera at all ``points`` (n, 3), metres, from the front and above."""
    low, high = points.min(axis=0), points.max(axis=0)
    middle = 0.5 * (low + high)
    reach = max(0.5 * float(np.linalg.norm(high - low)), 0.1)
    direction = np.array([1.6, 0.9, 0.7]) / np.linalg.norm([1.6, 0.9, 0.7])
    field = np.radians(45.0)
    camera = server.initial_camera
    camera.fov = field
    camera.look_at = middle
    camera.position = middle + direction * reach / np.sin(0.5 * field)

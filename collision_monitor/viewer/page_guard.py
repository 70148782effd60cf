# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Which requests the server of the page answers: those of browsers that have opened it from here.

A page of another web site in the same browser can connect to any port of this machine. Its requests
carry the Origin of that site, or, where its name was made to lead here (DNS rebinding), a
Host that is none of this machine. Both are refused, for files and web sockets alike.
"""

from __future__ import annotations

import ipaddress
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

logger = logging.getLogger(__name__)

_MOST_LOGGED = 20  # refusals; others are silent
# No page of another site may show this one in a frame, where clicks could be led astray.
_HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'none'", "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin", "X-Content-Type-Options": "nosniff",
}  # fmt: skip
_installing = threading.Lock()


class PageGuard:
    """Decides by the headers Host and Origin."""

    def __init__(self, host: str, given: str = "") -> None:
        """Guard a server.

        Args:
            host: numeric address that it listens at.
            given: the name or address that the user gave for it.
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
        """Why a request with these headers is refused; empty if it is not."""
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            return f"Host {', '.join(hosts)[:100]!r} is no name or address of this server"
        if not origins:  # not a browser, or a file of the page itself
            return ""
        if len(origins) != 1 or not _is_same(origins[0], hosts[0]):
            return f"Origin {', '.join(origins)[:100]!r} is another site than {hosts[0][:100]!r}"
        return ""

    def _is_own(self, host: str) -> bool:
        name = _name_of(f"//{host}")
        if name in self._names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        # A name that leads astray is no address: whoever wrote an address meant this machine.
        return address.is_loopback or not self._is_loopback

    @contextmanager
    def installed(self, viser: Any) -> Iterator[None]:
        """Guard the servers of web sockets that ``viser`` starts in this block at this host."""
        try:
            module = viser.infra._infra.websockets.asyncio.server
        except AttributeError:  # another viser: `is_installed` stays False
            yield
            return
        original = module.serve

        def serve(handler: Any, host: Any = None, *rest: Any, **more: Any) -> Any:
            if host == self._host and callable(more.get("process_request")):
                more["process_request"] = self._checked(more["process_request"])
                more["logger"] = _quiet_logger()
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
        if reason not in self._logged and len(self._logged) < _MOST_LOGGED:
            self._logged.add(reason)
            logger.warning("page: a request was refused: %s", reason)


def _name_of(url: str) -> str:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises where it is no number
        return (parts.hostname or "") if parts.username is None else ""
    except ValueError:
        return ""


def _is_same(origin: str, host: str) -> bool:
    scheme, separator, place = origin.lower().partition("://")
    return bool(separator) and scheme in ("http", "https") and place == host.lower()


class _OneLine(logging.Filter):
    """What a client sent that is no request, without a traceback, for who debugs."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        record.msg = f"page: {record.getMessage()}" + (f": {error!r:.200}" if error else "")
        record.args, record.exc_info, record.exc_text = (), None, None
        record.levelno, record.levelname = logging.DEBUG, "DEBUG"
        return logging.getLogger("collision_monitor").isEnabledFor(logging.DEBUG)


def _quiet_logger() -> logging.Logger:
    found = logging.getLogger("collision_monitor.viewer.connections")
    if not any(isinstance(each, _OneLine) for each in found.filters):
        found.addFilter(_OneLine())
    return found

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Where the page listens: an address of this machine, and a port that is free."""

from __future__ import annotations

import errno
import ipaddress
import socket
from dataclasses import dataclass

from collision_monitor.errors import ViewError

LOOPBACK = "127.0.0.1"
USUAL_PORT = 8080


@dataclass(frozen=True)
class Address:
    """A numeric host and a port that was free when it was asked for."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return ipaddress.ip_address(self.host).is_loopback

    @property
    def url(self) -> str:
        """What a browser on this machine opens."""
        shown = ipaddress.ip_address(self.host)
        if shown.is_unspecified:
            host = LOOPBACK if shown.version == 4 else "[::1]"
        else:
            host = self.host if shown.version == 4 else f"[{self.host}]"
        return f"http://{host}:{self.port}"


def free_address(host: str = LOOPBACK, port: int | None = None) -> Address:
    """An address to listen at.

    ``host``: a name or address of this machine. ``port``: that one; 0 for any that is free; None
    for 8080, or any that is free where 8080 is taken.

    Raises:
        ViewError: the host is not this machine's, or the port is taken or needs privileges.
    """
    numeric = _numeric(host)
    wanted = USUAL_PORT if port is None else port
    try:
        return _bound(numeric, wanted)
    except OSError as problem:
        if port is None and problem.errno in (errno.EADDRINUSE, errno.EACCES):
            return free_address(host, 0)
        raise ViewError(_why(problem, host, wanted)) from None


def _numeric(host: str) -> str:
    try:
        found = socket.getaddrinfo(host or " ", None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as problem:
        raise ViewError(
            f"host {host!r} cannot be found ({problem}): take a name or an address of this "
            f"machine, such as {LOOPBACK}, or 0.0.0.0 for all of its addresses"
        ) from None
    found.sort(key=lambda entry: entry[0] != socket.AF_INET)  # a name may have both kinds
    return str(found[0][4][0])


def _bound(host: str, port: int) -> Address:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        # As servers do: a connection that has just ended does not keep the port.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1)
        return Address(host, listener.getsockname()[1])


def _why(problem: OSError, host: str, port: int) -> str:
    if problem.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is taken: choose another, or 0 for any that is free"
    if problem.errno == errno.EACCES:
        return f"port {port} of {host} needs privileges: take one from 1024 on, or 0 for any"
    if problem.errno == errno.EADDRNOTAVAIL:
        return (
            f"host {host!r} is no address of this machine: take {LOOPBACK}, or 0.0.0.0 for all of "
            "its addresses"
        )
    return f"cannot listen at {host}, port {port}: {problem}"

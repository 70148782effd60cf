# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Node processes forked from a server that has already imported everything.

A node needs seconds of processor time to import numba, scipy and rclpy and to load kernels, and the
tests start hundreds of nodes. `NodeServer` does both once per test session and forks each node: it
is a process of its own, with its own environment, session and signals.
"""

import atexit
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache

MODULES = ("collision_monitor", "self_collision", "simulation")
_LONGEST = 1 << 17  # bytes of a request


class NodeProcess:
    """A forked node, with the part of `subprocess.Popen` that tests use."""

    def __init__(self, pid: int, output: int, status: int) -> None:
        """``output`` and ``status``: descriptors to read what it prints and its exit code."""
        self.pid = pid
        self.returncode: int | None = None
        self.stdout = os.fdopen(output, encoding="utf-8", errors="replace")
        self._status = status

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._read_status(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once it has ended."""
        if self._read_status(timeout) is None:
            raise subprocess.TimeoutExpired(f"node {self.pid}", timeout)
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, None]:
        """(all it printed, None), once it has ended."""
        end = None if timeout is None else time.monotonic() + timeout
        parts = []
        while True:
            left = None if end is None else max(0.0, end - time.monotonic())
            if not select.select([self.stdout], [], [], left)[0]:
                raise subprocess.TimeoutExpired(f"node {self.pid}", timeout)
            part = os.read(self.stdout.fileno(), 1 << 16)
            if not part:
                break
            parts.append(part)
        self.wait(None if end is None else max(1.0, end - time.monotonic()))
        self.stdout.close()
        return b"".join(parts).decode(errors="replace"), None

    def send_signal(self, number: int) -> None:
        """Send a signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def _read_status(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], timeout)[0]:
            self.returncode = int(_read_line(self._status) or "-9")
            os.close(self._status)
        return self.returncode


class NodeServer:
    """Starts node processes; one server per test process (`node_server`)."""

    def __init__(self) -> None:
        """Start the server; it imports while the test prepares."""
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            pass_fds=[theirs.fileno()], start_new_session=True,
        )  # fmt: skip
        theirs.close()

    def start(
        self, node: str, arguments: Sequence[str], environment: Mapping[str, str]
    ) -> NodeProcess:
        """Start this executable with these arguments."""
        request = json.dumps([node, list(arguments), dict(environment), os.getcwd()]).encode()
        output, their_output = os.pipe()
        status, their_status = os.pipe()
        socket.send_fds(self._channel, [request], [their_output, their_status])
        os.close(their_output)
        os.close(their_status)
        return NodeProcess(int(_read_line(status)), output, status)

    def close(self) -> None:
        """End the server; nodes that still run go on."""
        self._channel.close()
        self._process.wait(timeout=60)


def _read_line(descriptor: int) -> str:
    """One line, byte by byte: the next one is read later; empty at the end."""
    line = b""
    while (byte := os.read(descriptor, 1)) not in (b"", b"\n"):
        line += byte
    return line.decode()


@cache
def node_server() -> NodeServer:
    """The server of this process; it ends with it."""
    server = NodeServer()
    atexit.register(server.close)
    return server


def _serve(channel: socket.socket) -> Callable[[], None] | None:
    """Fork a node for each request; returns the main function in the forked process only."""
    modules = {name: importlib.import_module(f"collision_monitor.nodes.{name}") for name in MODULES}
    mains = {name: module.main for name, module in modules.items()}
    mains["collision_monitor_lifecycle"] = modules["collision_monitor"].lifecycle_main
    _load_kernels()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the waiting processes
    while True:
        request, descriptors, *_ = socket.recv_fds(channel, _LONGEST, 2)
        if not request:
            return None
        output, status = descriptors
        if os.fork() == 0:
            node, arguments, environment, folder = json.loads(request)
            channel.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            pid = os.fork()
            if pid != 0:
                _report_exit(pid, output, status)
            os.setsid()
            os.close(status)
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.close(output)
            os.environ.clear()
            os.environ.update(environment)
            os.chdir(folder)
            sys.argv = [mains[node].__module__, *arguments]
            return mains[node]
        os.close(output)
        os.close(status)


def _load_kernels() -> None:
    """Monitor a robot for a cycle: what that calls is loaded from the cache on disk."""
    from collision_monitor import CollisionModel, Monitor
    from collision_monitor.model.live.live_scene import LiveScene
    from collision_monitor.monitoring.speed_policy.speed_policy import SpeedPolicy
    from support.robots.toys import chain

    model = CollisionModel.from_urdf(chain(4))
    live = LiveScene(model)
    monitor = Monitor(model, behaviour=SpeedPolicy(model, live=live), live=live)
    monitor.update(model.joint_names, [0.1, 2.0, 2.0], now=1.0)


def _report_exit(pid: int, output: int, status: int) -> None:
    """Write the process id of a node, then its exit code once it has ended; then end."""
    os.close(output)
    os.write(status, f"{pid}\n".encode())
    _, how = os.waitpid(pid, 0)
    os.write(status, f"{os.waitstatus_to_exitcode(how)}\n".encode())
    os._exit(0)


if __name__ == "__main__":
    if node_main := _serve(socket.socket(fileno=int(sys.argv[1]))):
        node_main()

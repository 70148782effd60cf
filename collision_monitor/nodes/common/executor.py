# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Runs a node as a program: log, executor, timers, signals and exit code."""

from __future__ import annotations

import logging
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.exceptions import ParameterException
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.subscription import Subscription
from rclpy.timer import Timer

from collision_monitor.common.compiled import LOG_SECONDS
from collision_monitor.common.end_of_process import end_now
from collision_monitor.errors import CollisionMonitorError
from collision_monitor.monitoring.monitor import Level
from collision_monitor.nodes.common.arguments import init, unused_parameters

_END_SECONDS = 2.0  # maximum time from a signal to the end of the process
_PUBLISH_SECONDS = 0.3  # of them, at most, until subscribers have a last state
_SENDING_SECONDS = 0.05  # until a message has left the process

TICK = 0.1  # seconds; also between two looks for a signal, if no timer runs
# A main thread that has done nothing for so many ticks is blocked: 1 s, the slowest heartbeat. On a
# busy machine half of that is not rare.
_TICKS = 10

_CLOCK = Clock(clock_type=ClockType.STEADY_TIME)


def log_at(logger: Any, severity: int, text: str) -> None:
    """Log at a level of logging; rclpy requires a constant severity at each call site."""
    if severity >= logging.ERROR:
        logger.error(text)
    elif severity >= logging.WARNING:
        logger.warning(text)
    else:
        logger.info(text)


class StateLog:
    """Logs states of a node at the severity of their level, each kind at most once a second."""

    def __init__(self, node: Node) -> None:
        """``node``: provides the logger."""
        self._logger = node.get_logger()
        self._logged: dict[Any, float] = {}

    def add(self, level: Level, kind: Any, text: str) -> None:
        """Log a state; the kinds "waiting" and "ended" are no faults.

        Neither is "loading", but while another robot is loaded nothing guards the one before.
        """
        now = time.monotonic()
        if now - self._logged.get(kind, -math.inf) < LOG_SECONDS:
            return
        self._logged[kind] = now
        is_warning = level is Level.WARN or kind == "loading"
        severity = logging.WARNING if is_warning else logging.ERROR
        if level is Level.OK or kind in ("waiting", "ended"):
            severity = logging.INFO
        log_at(self._logger, severity, text)


class LogBridge(logging.Handler):
    """Forwards log records to the logger of a node, at their level."""

    def __init__(self, node: Node) -> None:
        """``node``: provides the logger."""
        super().__init__()
        self._logger = node.get_logger()

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record."""
        log_at(self._logger, record.levelno, self.format(record))


def bridge_logs(node: Node) -> None:
    """Redirect the log of the library, from INFO on, to that of ``node``."""
    library = logging.getLogger("collision_monitor")
    for handler in list(library.handlers):
        if isinstance(handler, LogBridge):
            library.removeHandler(handler)
    library.addHandler(LogBridge(node))
    library.setLevel(logging.INFO)
    library.propagate = False


def steady_timer(node: Node, period: float, callback: Callable[[], object]) -> Timer:
    """A timer of ``node`` with a period in seconds; it goes on while simulated time is paused."""
    return node.create_timer(period, callback, clock=_CLOCK)


def take_serialized(subscription: Subscription) -> tuple[bytes, dict[str, Any]] | None:
    """Take the oldest waiting message of a subscription, with its info; None without one.

    As an executor does; one that was notified of this message will find none.
    """
    with subscription.handle:
        return subscription.handle.take_message(subscription.msg_type, True)


def best_executor() -> Executor:
    """The events executor (rclpy 7: half the CPU per message), otherwise the default one."""
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor()
    return EventsExecutor()


class Sentinel:
    """Publishes that the node is blocked while its main thread is.

    Latched messages with a lifespan would be gone meanwhile. Time counts in ticks of its own
    thread: a pause of the whole process is one tick, and is left to the watchdog.
    """

    def __init__(self, publish: Callable[[str], None]) -> None:
        """Start the thread; ``publish`` is called with the reason, again and again."""
        self._publish = publish
        self._beats = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="sentinel", daemon=True)
        self._thread.start()

    def beat(self) -> None:
        """Tell it that the main thread is not blocked."""
        self._beats += 1

    def close(self) -> None:
        """End the thread; nothing is published afterwards."""
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        seen, ticks = self._beats, 0
        while not self._ended.wait(TICK):
            ticks = ticks + 1 if self._beats == seen else 0
            seen = self._beats
            if ticks >= _TICKS:
                with suppress(Exception):
                    self._publish(f"the node has been blocked for {ticks * TICK:.1f} s")


class RunnableNode(Protocol):
    """What `run_node` needs of a node, besides that it is one."""

    def failed(self, error: Exception) -> None:
        """Report an exception that left a callback; must not raise."""

    def publish_stale(self, reason: str) -> None:
        """Publish that the node does nothing now; called from other threads."""

    def close(self) -> None:
        """Publish a last state."""


def run_program(make_node: Callable[[], RunnableNode], args: list[str] | None, name: str) -> None:
    """Call `run_node`, and end the process with exit code 0.

    An error in parameters is printed, and the exit code is 1.
    """
    try:
        run_node(make_node, args)
    except (CollisionMonitorError, ParameterException) as error:
        print(f"{name}: error: {error}", file=sys.stderr)
        sys.exit(1)
    # Everything is closed. A normal exit would wait for threads that fit or compile, and clear
    # modules that threads of the middleware use.
    sys.stdout.flush()
    sys.stderr.flush()
    end_now()


def run_node(make_node: Callable[[], RunnableNode], args: list[str] | None) -> None:
    """Create a node and spin it until SIGINT or SIGTERM.

    An exception in a callback, or in the middleware's handling of a message, is reported to the
    node, which goes on; only one while the node is created ends the process.

    The signal handlers of rclpy are not used: they shut the middleware down during a callback. Here
    the callback ends, and ``node.close()`` can still publish a last state. After `_END_SECONDS` the
    process publishes such a state from another thread, kills its children, and ends with exit code
    0. A callback that takes long is reported by a `Sentinel`.
    """
    init(args)
    end = _End()
    node = sentinel = None
    try:
        node = make_node()
        for warning in unused_parameters(node, sys.argv if args is None else args):
            node.get_logger().warning(warning)
        executor = best_executor()
        executor.add_node(node)
        end.waits, end.publish = True, node.publish_stale
        sentinel = Sentinel(node.publish_stale)
        # Not spin(): without a timeout, the events executor of rclpy 7.1 uses a full core and
        # delivers no messages.
        while rclpy.ok() and not end.wanted:
            _spin_once(executor, node)
            sentinel.beat()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except Exception:
        if rclpy.ok():  # otherwise the context was shut down meanwhile
            raise
    finally:
        end.waits = True
        if sentinel is not None:
            sentinel.close()
        if node is not None:
            node.close()
            _wait_until_received(node)
            node.destroy_node()  # otherwise the middleware leaves a file in /dev/shm
        rclpy.try_shutdown()


def _wait_until_received(node: Node) -> None:
    """Wait for reliable subscribers: what is lost on its way is not sent again without its node."""
    end = time.monotonic() + _PUBLISH_SECONDS
    for publisher in node.publishers:
        with suppress(RuntimeError):  # not every middleware can wait
            publisher.wait_for_all_acked(Duration(seconds=max(0.0, end - time.monotonic())))


def _spin_once(executor: Executor, node: RunnableNode) -> None:
    """Wait for one event, and handle it; a failure is the node's."""
    try:
        executor.spin_once(timeout_sec=TICK)
    except ExternalShutdownException:
        raise
    except Exception as error:
        if rclpy.ok():  # otherwise the context was shut down meanwhile
            node.failed(error)


_AT_THE_END = (KeyboardInterrupt, AttributeError, rclpy_implementation.InvalidHandle)


class _End:
    """Handles SIGINT and SIGTERM.

    Attributes:
        wanted: whether a signal was received.
        waits: whether the running callback ends first; otherwise it is interrupted, since loading
            and compiling may take a minute.
        publish: called with a reason if the process ends during a callback.
    """

    def __init__(self) -> None:
        self.wanted = self.waits = False
        self.publish: Callable[[str], None] = lambda reason: None
        # The handler below runs when the main thread executes Python again, which may be compiling.
        # This descriptor is written immediately.
        received, written = os.pipe()
        os.set_blocking(written, False)
        signal.set_wakeup_fd(written, warn_on_full_buffer=False)
        self._start_thread(self._end_later, received)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)
        # C code that calls back, as numba's does, drops the exception: the process ends later.
        # Objects whose construction was interrupted may lack attributes when they are deleted, and
        # an executor of rclpy may delete a handle of a context that has ended.
        self._report = sys.unraisablehook
        sys.unraisablehook = self._on_dropped

    @staticmethod
    def _start_thread(work: Callable[..., None], *arguments: object) -> threading.Thread:
        thread = threading.Thread(target=work, args=arguments, name="end", daemon=True)
        thread.start()
        return thread

    def _end_later(self, received: int) -> None:
        """End this process some time after a signal, if it has not ended."""
        while os.read(received, 1)[0] not in (signal.SIGINT, signal.SIGTERM):
            pass
        time.sleep(_END_SECONDS)
        # In another thread: publishing may wait for what the main thread holds.
        self._start_thread(self._publish_end).join(_PUBLISH_SECONDS)
        text = f"ended {_END_SECONDS:g} s after a signal, without waiting for what still runs\n"
        os.write(2, text.encode())
        end_now()

    def _publish_end(self) -> None:
        with suppress(Exception):
            self.publish("node was ended during a callback")
        time.sleep(_SENDING_SECONDS)

    def _on_dropped(self, dropped: Any) -> None:
        if not (self.wanted and issubclass(dropped.exc_type, _AT_THE_END)):
            self._report(dropped)

    def _on_signal(self, number: int, frame: object) -> None:
        self.wanted = True
        if not self.waits:
            raise KeyboardInterrupt

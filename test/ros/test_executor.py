# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Running nodes in processes: signals, faults and subscriptions."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from rclpy.serialization import deserialize_message  # noqa: E402
from std_msgs.msg import String  # noqa: E402

from collision_monitor.nodes.obstacles.waiting_messages import (  # noqa: E402
    ReliableSubscription,
)

# -- running a node: it spins, signals end it well, faults are not hidden --


PROGRAM = """
import signal, sys, time
signal.alarm(60)  # nobody waits for ever for what is not said
if sys.argv[1] == "old rclpy":
    sys.modules["rclpy.experimental"] = None  # its import fails
import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import String
from collision_monitor.nodes.common.executor import run_node

class Ticker(Node):
    def __init__(self):
        super().__init__("ticker")
        self.create_timer(0.01, self.tick)
        self.ticks = 0

    def tick(self):
        self.ticks += 1
        if self.ticks == 1:
            print("by", type(self.executor).__name__, flush=True)
        if self.ticks == 20:
            print("ticked", flush=True)
        if sys.argv[1] in ("old rclpy", "fault and long callback") and self.ticks == 2:
            raise ValueError("tick went wrong")
        if sys.argv[1] == "shutdown" and self.ticks == 3:
            rclpy.shutdown()
        if sys.argv[1] == "endless callback" and self.ticks == 3:
            print("in a callback", flush=True)
            time.sleep(60.0)
        if sys.argv[1] == "fault and long callback" and self.ticks == 3:
            print("in a callback", flush=True)
            time.sleep(1.0)
            self.create_publisher(String, "said", 1).publish(String(data="still there"))
            print("out of it", flush=True)

    def failed(self, error):
        print("failed:", error, flush=True)

    def publish_stale(self, reason):
        sys.stdout.write(f"stale: {reason}\\n")  # in one piece: two threads may say it
        sys.stdout.flush()

    def close(self):
        if sys.argv[1] == "fault and long callback":
            self.create_publisher(String, "said", 1).publish(String(data="ended"))
            print("closed", flush=True)

def make():
    if sys.argv[1] == "fault at start":
        raise ValueError("cannot be made")
    return Ticker()

run_node(make, sys.argv)
print("ended", rclpy.ok(), flush=True)
"""

try:
    import rclpy.experimental  # noqa: F401
except ImportError:
    EVENTS = False
else:
    EVENTS = True


@pytest.fixture
def start(domain):
    """Starts the program; what still runs at the end is killed."""
    processes = []

    def run(mode, *arguments, without=()):
        environment = {**domain.environment, "PYTHONPATH": os.pathsep.join(sys.path)}
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, mode, *arguments],
            env={key: value for key, value in environment.items() if key not in without},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        processes.append(process)
        return process

    yield run
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.communicate()


def wait_for(process, word):
    """Read its output until a line begins with ``word``; the line."""
    for line in process.stdout:
        if line.startswith(word):
            return line.strip()
    return pytest.fail(process.communicate()[1])


def used(process):
    """Seconds of processor time."""
    user, system = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def test_it_is_idle_between_events_and_a_signal_ends_it_at_once_without_a_home_too(start):
    process = start("spin", without=("HOME", "ROS_HOME", "ROS_LOG_DIR"))
    expected = "EventsExecutor" if EVENTS else "SingleThreadedExecutor"
    assert wait_for(process, "by") == f"by {expected}"
    wait_for(process, "ticked")
    spent = []
    for _ in range(3):  # discovery and other processes disturb some seconds, not all
        before = used(process)
        time.sleep(1.0)
        spent.append(used(process) - before)
    assert min(spent) < 0.12  # of a second; 0.01 for 100 events
    maps = Path(f"/proc/{process.pid}/maps").read_text()
    segments = set(re.findall(r"/dev/shm/fastrtps_[0-9a-f]+", maps))
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=10)
    assert time.monotonic() - sent < 3.0
    assert (process.returncode, output.splitlines()) == (0, ["ended False"]), errors
    assert "no log files: HOME is not set; set ROS_LOG_DIR" in errors
    assert "Traceback" not in errors
    assert not [path for path in segments if os.path.exists(path)]


def test_with_an_old_rclpy_a_fault_in_a_callback_is_reported_to_the_node_which_goes_on(start):
    process = start("old rclpy")
    assert wait_for(process, "by") == "by SingleThreadedExecutor"
    assert wait_for(process, "failed") == "failed: tick went wrong"
    wait_for(process, "ticked")
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=10)
    assert process.returncode == 0, errors
    assert "ended False" in output


def test_a_fault_in_a_callback_is_reported_and_a_signal_waits_for_a_callback_and_close(start):
    process = start("fault and long callback")
    assert wait_for(process, "failed") == "failed: tick went wrong"
    wait_for(process, "in a callback")
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=10)
    assert process.returncode == 0, errors
    said = [line for line in output.splitlines() if not line.startswith("stale: the node has")]
    assert said == ["out of it", "closed", "ended False"]


def test_a_callback_that_does_not_end_is_cut_off(start):
    process = start("endless callback")
    wait_for(process, "in a callback")
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=10)
    lines = output.splitlines()
    # On a busy machine it may say once more that it is blocked.
    assert process.returncode == 0 and "stale: node was ended during a callback" in lines[-2:]
    assert lines[0].startswith("stale: the node has been blocked for 1."), lines
    assert errors.startswith("ended 2 s after a signal")


def test_a_shutdown_from_inside_is_an_ordinary_end(start):
    process = start("shutdown")
    output, errors = process.communicate(timeout=30)
    assert (process.returncode, output.splitlines()[-1]) == (0, "ended False"), errors


def test_a_fault_at_the_start_ends_it_with_an_error_that_says_why(start):
    process = start("fault at start")
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 1, output
    assert "ValueError: cannot be made" in errors
    assert "ended" not in output


# -- a subscription that keeps all that waits, and says what a publisher threw away --
#
# That also across processes, one of them held up: test_scene_node.py.


def at_once(size, decode):
    """A queue in which nothing waits."""
    decode()


def test_what_waits_is_taken_a_few_at_a_time_in_order_and_how_long_it_waited_is_known(graph):
    heard = []

    def hear(message):
        heard.append(message.data)
        end = time.thread_time() + 1e-3  # as long as a few markers take
        while time.thread_time() < end:
            pass

    publisher = graph.node.create_publisher(String, "talk", 100)
    subscription = ReliableSubscription(graph.node, String, "talk", hear, at_once, print)
    graph.until(lambda: publisher.get_subscription_count())
    for k in range(30):
        publisher.publish(String(data=str(k)))
    time.sleep(0.3)
    subscription.process_waiting()
    assert 0 < len(heard) < 30 and 0.25 < subscription.late < 60.0
    for _ in range(10):
        subscription.process_waiting()
    assert heard == [str(k) for k in range(30)]
    assert subscription.late == 0.0
    subscription.destroy()


def test_messages_are_kept_as_they_came_and_what_cannot_be_read_is_lost(graph):
    heard, kept, lost = [], [], []
    publisher = graph.node.create_publisher(String, "talk", 100)
    subscription = ReliableSubscription(
        graph.node, String, "talk", lambda message: heard.append(message.data), at_once,
        lost.append, kept.append,
    )  # fmt: skip
    graph.until(lambda: publisher.get_subscription_count())
    publisher.publish(String(data="one"))
    graph.until(lambda: len(heard) == 1)
    publisher.publish(String(data="two"))
    time.sleep(0.1)
    subscription.process_waiting()
    assert heard == [deserialize_message(data, String).data for data in kept] == ["one", "two"]
    publisher.publish(kept[0][:5])
    graph.until(lambda: lost)
    assert len(heard) == 2 and len(kept) == 3 and lost == [1]
    subscription.destroy()


INTERRUPTED = """
import ctypes, os, signal, time
from rclpy.impl.implementation_singleton import rclpy_implementation
from collision_monitor.nodes.common.executor import _End

def callback():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.1)

class HalfMade:
    def __del__(self):
        self.missing

class OfEndedContext:
    def __del__(self):
        raise rclpy_implementation.InvalidHandle("Destruction was requested")

end = _End()
ctypes.CFUNCTYPE(None)(callback)()
assert end.wanted
HalfMade()
OfEndedContext()
os._exit(0)
"""


def test_an_interrupt_that_c_code_drops_is_not_reported():
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")

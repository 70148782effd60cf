# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Running a node: it spins, signals end it well, faults are not hidden."""

import os
import select
import signal
import subprocess
import sys
import time

import pytest
from support.ros.ros_domains import Domain

pytest.importorskip("rclpy", reason="rclpy is not installed")

PROGRAM = """
import sys, time
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
        print("word", self.declare_parameter("word", "none").value, flush=True)

    def tick(self):
        self.ticks += 1
        if self.ticks == 1:
            print("by", type(self.executor).__name__, flush=True)
        if self.ticks == 20:
            print("ticked", flush=True)
        if sys.argv[1] == "fault in a callback" and self.ticks == 3:
            raise ValueError("tick went wrong")
        if sys.argv[1] == "shutdown" and self.ticks == 3:
            rclpy.shutdown()
        if sys.argv[1] == "long callback" and self.ticks == 3:
            print("in a callback", flush=True)
            time.sleep(1.0)
            self.create_publisher(String, "said", 1).publish(String(data="still there"))
            print("out of it", flush=True)

    def close(self):
        if sys.argv[1] == "long callback":
            self.create_publisher(String, "said", 1).publish(String(data="ended"))
            print("closed", flush=True)

def make():
    if sys.argv[1] == "loading":
        print("loading", flush=True)
        time.sleep(60.0)
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


@pytest.fixture(scope="module")
def domain():
    """A ROS domain of its own."""
    with Domain() as held:
        yield held


@pytest.fixture
def start(domain):
    """Starts the program; what still runs at the end is killed."""
    processes = []

    def run(mode, *arguments):
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, mode, *arguments],
            env={**domain.environment, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        processes.append(process)
        return process

    yield run
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.communicate()


def wait_for(process, word, seconds=30.0):
    """Read its output until a line begins with ``word``; the line."""
    end = time.monotonic() + seconds
    while select.select([process.stdout], [], [], max(0.0, end - time.monotonic()))[0]:
        line = process.stdout.readline()
        if line.startswith(word):
            return line.strip()
        assert line, process.communicate()[1]
    pytest.fail(f"no {word!r} within {seconds} s")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("mode", ["spin", "old rclpy"])
def test_a_signal_ends_it_with_code_0_and_at_once(start, mode, number):
    process = start(mode)
    name = wait_for(process, "by")
    assert name == ("by SingleThreadedExecutor" if mode == "old rclpy" or not EVENTS
                    else "by EventsExecutor")  # fmt: skip
    wait_for(process, "ticked")
    sent = time.monotonic()
    process.send_signal(number)
    output, errors = process.communicate(timeout=10)
    assert time.monotonic() - sent < 3.0
    assert process.returncode == 0, errors
    assert output.splitlines() == ["ended False"]
    assert "Traceback" not in errors


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lets_a_callback_and_the_last_words_be(start, number):
    process = start("long callback")
    wait_for(process, "in a callback")
    process.send_signal(number)
    output, errors = process.communicate(timeout=10)
    assert (process.returncode, errors) == (0, "")
    assert output.splitlines() == ["out of it", "closed", "ended False"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_loading(start, number):
    process = start("loading")
    wait_for(process, "loading")
    process.send_signal(number)
    output, errors = process.communicate(timeout=10)
    assert (process.returncode, errors) == (0, "")
    assert output.splitlines() == ["ended False"]


def test_it_is_idle_between_events(start):
    process = start("spin")
    wait_for(process, "ticked")

    def used():
        with open(f"/proc/{process.pid}/stat") as file:
            user, system = file.read().rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    before = used()
    time.sleep(2.0)
    assert used() - before < 0.25  # of two seconds; 0.02 for 100 events a second


def test_arguments_reach_the_node(start):
    process = start("spin", "--ros-args", "-p", "word:=given")
    assert wait_for(process, "word") == "word given"


def test_a_shutdown_from_inside_is_an_ordinary_end(start):
    process = start("shutdown")
    output, errors = process.communicate(timeout=30)
    assert (process.returncode, output.splitlines()[-1]) == (0, "ended False"), errors


@pytest.mark.parametrize(
    ("mode", "says"),
    [("fault at start", "cannot be made"), ("fault in a callback", "tick went wrong")],
)
def test_a_fault_ends_it_with_an_error_that_says_why(start, mode, says):
    process = start(mode)
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 1, output
    assert f"ValueError: {says}" in errors
    assert "ended" not in output

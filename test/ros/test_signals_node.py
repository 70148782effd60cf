# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""SIGINT and SIGTERM in every phase of a node: code 0 within three seconds, no child is left."""

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.paths import ROOT
from support.processes import is_alive

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed")

ROBOT = ("-p", f"robot_description:={ROOT}/urdf/dual_arm.urdf")


@pytest.fixture
def start(domain):
    """Starts a node in a process of its own session; what still runs at the end is killed."""
    processes = []

    def run(node, *arguments, **environment):
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", f"collision_monitor.nodes.{node}", "--ros-args",
             *arguments],
            env={**domain.environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                 **environment},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        processes.append(process)
        return process

    yield run
    for process in processes:
        process.kill()
        process.communicate()


def descendants(pid):
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, path.read_text().split()):
            found += [child, *descendants(child)]
    return found


def until_handled(process, seconds=60.0):
    """Wait until the node handles signals: not in the first moment, in which Python starts."""
    end, bit = time.monotonic() + seconds, 1 << (signal.SIGTERM - 1)
    while True:
        status = Path(f"/proc/{process.pid}/status").read_text()
        if int(status.partition("SigCgt:")[2].split()[0], 16) & bit:
            return
        assert process.poll() is None and time.monotonic() < end, status
        time.sleep(0.01)


def read_until(process, word, seconds=120.0):
    """Read the output until it has a word; all that was read."""
    output, end = b"", time.monotonic() + seconds
    while word not in output.decode(errors="replace"):
        left = end - time.monotonic()
        assert left > 0.0 and select.select([process.stdout], [], [], left)[0], output.decode()
        part = os.read(process.stdout.fileno(), 1 << 16)
        assert part, output.decode()
        output += part
    return output


COMPILING = 6.0  # seconds; the compiler holds the GIL


def ends_well(process, number, seconds=3.0):
    """Send the signal; the rest of the output."""
    children = descendants(process.pid)
    sent = time.monotonic()
    process.send_signal(number)
    output, _ = process.communicate(timeout=30.0)
    took = time.monotonic() - sent
    assert process.returncode == 0, output.decode()
    assert took < seconds, output.decode()
    assert b"Traceback" not in output, output.decode()
    end = time.monotonic() + 1.0
    while any(map(is_alive, children)) and time.monotonic() < end:
        time.sleep(0.02)
    assert not [child for child in children if is_alive(child)]
    return output


@pytest.mark.parametrize(
    ("node", "number", "seconds"),
    [
        ("collision_monitor", signal.SIGINT, 0.5),
        ("self_collision", signal.SIGTERM, 1.5),
        ("simulation", signal.SIGTERM, 0.5),
    ],
)
def test_starting(start, node, number, seconds):
    process = start(node, *ROBOT)
    until_handled(process)
    time.sleep(seconds)
    ends_well(process, number)


def test_compiling(start, tmp_path):
    process = start("collision_monitor", *ROBOT, NUMBA_CACHE_DIR=str(tmp_path))
    read_until(process, "compiling kernels")
    ends_well(process, signal.SIGINT, COMPILING)


def test_a_node_that_is_ended_while_it_loads_leaves_the_graph(start, domain):
    context = rclpy.Context()
    context.init(domain_id=domain.number)
    listener = rclpy.create_node("listener", context=context)
    try:
        process = start("collision_monitor", *ROBOT, COLLISION_MONITOR_CACHE="off")
        read_until(process, "fitting leaves to")
        end = time.monotonic() + 30.0
        while not (count := listener.count_publishers("/collision_monitor/state")):
            assert time.monotonic() < end
            time.sleep(0.02)
        assert count == 1
        ends_well(process, signal.SIGTERM)
        end = time.monotonic() + 10.0  # the middleware gives up a node that is killed after 20 s
        while listener.count_publishers("/collision_monitor/state"):
            assert time.monotonic() < end
            time.sleep(0.02)
    finally:
        listener.destroy_node()
        context.shutdown()

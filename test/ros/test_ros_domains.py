# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Domains of the tests: never two hold one, and none is lost with the process that held it."""

import os
import signal
import socket
import subprocess
import sys

import pytest
from support.paths import ROOT
from support.ros.ros_domains import DOMAINS, Domain, is_free

HOLDER = """
import sys, time
from pathlib import Path
from support.ros.ros_domains import Domain
held = [Domain(Path(sys.argv[1])) for _ in range(3)]
print(*(domain.number for domain in held), flush=True)
time.sleep(60)
"""


@pytest.fixture
def hold(tmp_path):
    """Starts a process that holds three domains; (process, their numbers)."""
    processes = []

    def start():
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, os.fspath(tmp_path)],
            env={**os.environ, "PYTHONPATH": os.fspath(ROOT / "test")},
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        processes.append(process)
        return process, set(map(int, process.stdout.readline().split()))

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_two_processes_never_hold_the_same_and_the_kernel_frees_those_of_the_dead(hold, tmp_path):
    _, first = hold()
    killed, second = hold()
    assert len(first) == len(second) == 3 and not first & second
    rest = []
    with pytest.raises(RuntimeError, match="no ROS domain from 10 to 101 is free"):
        while True:
            rest.append(Domain(tmp_path))
    ours = {domain.number for domain in rest}
    assert len(ours) == len(rest) and not ours & (first | second)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    with Domain(tmp_path) as domain:
        assert domain.number in second
    for domain in rest:
        domain.release()


def test_one_that_was_released_comes_last(tmp_path):
    taken = []
    for _ in range(20):
        with Domain(tmp_path) as domain:
            taken.append(domain.number)
    assert len(set(taken)) == 20 and set(taken) <= set(DOMAINS)


@pytest.mark.parametrize("participant", [0, 2])
def test_a_domain_that_a_node_is_in_is_passed_over(tmp_path, participant):
    with Domain(tmp_path) as domain:
        number = domain.number
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as node:
        node.bind(("0.0.0.0", 7400 + 250 * number + 10 + 2 * participant))
        assert not is_free(number)
        held = []
        with pytest.raises(RuntimeError):
            while True:
                held.append(Domain(tmp_path))
    assert held and number not in {domain.number for domain in held}
    for domain in held:
        domain.release()


def test_a_file_that_is_no_file_of_ours_is_passed_over(tmp_path):
    held = Domain(tmp_path)
    held.release()
    path = next(tmp_path.iterdir())
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    taken = []
    with pytest.raises(RuntimeError):
        while True:
            taken.append(Domain(tmp_path))
    assert len(taken) > 1 and held.number not in {domain.number for domain in taken}
    assert not (tmp_path / "elsewhere").exists()
    for domain in taken:
        domain.release()

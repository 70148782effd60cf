# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The demo for real: started as a user does, on a real graph, and nothing is left of it."""

import os
import re
import select
import signal
import subprocess
import sys
import time
import urllib.request
import uuid
from pathlib import Path

import pytest
from support.ros.ros_domains import Domain

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed")

from sensor_msgs.msg import JointState  # noqa: E402

from collision_monitor.__main__ import main  # noqa: E402
from collision_monitor.common.lazy_imports import install_command  # noqa: E402

pytestmark = pytest.mark.early

COMMAND = [sys.executable, "-m", "collision_monitor", "demo"]
MARK = "COLLISION_MONITOR_DEMO_TEST"
START_SECONDS = 400.0  # kernels may have to be compiled first


class Run:
    """One run of the demo; its processes are known by a mark in their environment."""

    def __init__(self, domain, *options):
        self.mark = uuid.uuid4().hex
        self.unread, self.said = "", ""
        self.process = subprocess.Popen(
            [*COMMAND, *options],
            env={**domain.environment, MARK: self.mark},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def alive(self):
        """Ids of those of its processes that still run."""
        wanted, found = f"{MARK}={self.mark}".encode(), []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
            except OSError:
                continue  # it is not ours, or has ended meanwhile
        return found

    def wait_for_line(self, pattern):
        """Read its output until a line matches; returns the match."""
        end = time.monotonic() + START_SECONDS
        pipe = self.process.stdout.fileno()  # read past its buffer, of which select knows nothing
        while True:
            line, newline, rest = self.unread.partition("\n")
            if newline:
                self.unread = rest
                self.said += line + newline
                if found := re.match(pattern, line + newline):
                    return found
            elif select.select([pipe], [], [], max(0.0, end - time.monotonic()))[0]:
                more = os.read(pipe, 65536).decode()
                assert more, self.process.communicate()[1]
                self.unread += more
            else:
                pytest.fail(f"no line like {pattern!r} within {START_SECONDS} s")

    def end(self, seconds=START_SECONDS):
        """(exit code, all that it printed, what it logged) once it has ended by itself."""
        output, errors = self.process.communicate(timeout=seconds)
        return self.process.returncode, self.said + self.unread + output, errors

    def kill(self):
        """Leave nothing behind."""
        for number in self.alive():
            os.kill(number, signal.SIGKILL)
        self.process.communicate()


@pytest.fixture
def domain():
    """A domain of its own: the demo refuses one that has a robot."""
    with Domain() as held:
        yield held


@pytest.fixture
def start(domain):
    """Starts the demo; whatever it leaves behind is killed."""
    runs = []

    def run(*options):
        runs.append(Run(domain, *options))
        return runs[-1]

    yield run
    for one in runs:
        one.kill()


LINE = re.compile(
    r"t +[\d.]+ s \| +\d+ Hz \| +-?[\d.]+ m \| \S+ - \S+ +\| (?P<level>\w+) +(?P<action>\w+)"
)
ROW = r"{} +(?P<least>-?[\d.]+) m +[\d.]+ s +(?P<a>\w+) - (?P<b>\w+) "


def test_a_command_is_verified_adjusted_executed_compared_and_the_page_stays_until_a_signal(start):
    pytest.importorskip("viser", reason="viser is not installed (extra 'view')")
    run = start("--seconds", "5", "--rate", "50", "--keep", "--no-browser", "--port", "0")
    url = run.wait_for_line(r"page: (http://127\.0\.0\.1:\d+)")[1]
    run.wait_for_line("summary")
    run.wait_for_line(f"the page is served until Ctrl-C: {url}")
    with urllib.request.urlopen(url, timeout=30.0) as answer:
        assert b"<html" in answer.read(2000).lower()
    assert len(run.alive()) >= 2
    run.process.send_signal(signal.SIGINT)
    code, output, errors = run.end(30.0)
    assert code == 0, errors
    assert run.alive() == []
    assert "Traceback" not in output + errors
    assert output.count("summary") == 1 and "stopped" in output.splitlines()[-1]
    live, _, summary = output.partition("summary\n")
    assert re.search(r"^1 verify  dual_arm_motion.csv: Not safe: right_link_\d - left_link_\d "
                     r"collide from 4\d\.\d+ s", live, re.MULTILINE)  # fmt: skip
    adjusted = r"^2 adjust  by the linear repulsion field .*certified ([\d.]+) m"
    found = re.search(adjusted, live, re.MULTILINE)
    assert float(found[1]) >= 0.1
    lines = [match for match in map(LINE.match, live.splitlines()) if match]
    assert len(lines) >= 6, output
    assert {"OK", "WARN"} <= {line["level"] for line in lines}
    verified = re.search(ROW.format("command, verified"), summary)
    assert float(verified["least"]) < -0.05
    # The command is stopped before contact, the adjusted motion arrives with the arms apart.
    stopped = re.search(ROW.format("command, executed"), summary)
    assert float(stopped["least"]) > 0.0
    assert stopped["a"].startswith("right") and stopped["b"].startswith("left")
    assert "stopped before contact" in summary
    assert re.search(r"adjusted, executed .* 0\.1\d+ m +0\.\d+ rad \(\w+\) +arrived", summary)
    sent, received = map(int, re.search(
        r"(\d+) joint states sent, (\d+) distances received", summary).groups())  # fmt: skip
    assert received > 0.5 * sent
    # The monitor logs what changes, not every joint state. What it logs before depends on what is
    # compiled already.
    before, loaded, watched = errors.partition("loaded in")
    others = [line for line in before.splitlines() if "compiling kernels: " not in line]
    assert loaded and len(others) < 20 and len(watched.splitlines()) < 30, errors


def test_a_signal_in_the_middle_ends_the_monitor_too(start):
    run = start("--seconds", "60", "--no-page")
    run.wait_for_line(LINE)
    assert len(run.alive()) >= 2  # the demo and the monitor
    run.process.send_signal(signal.SIGTERM)
    code, output, errors = run.end(30.0)
    assert code == 0, errors
    assert run.alive() == []
    assert "stopped" in output and "summary" not in output
    assert "Traceback" not in errors


def test_a_graph_that_has_joint_states_already_is_left_alone(domain, start, monkeypatch):
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    context = rclpy.Context()
    context.init(domain_id=domain.number)
    driver = rclpy.create_node("driver", context=context)
    try:
        driver.create_publisher(JointState, "joint_states", 10)
        run = start("--seconds", "4")
        code, output, errors = run.end(60.0)
    finally:
        driver.destroy_node()
        context.shutdown()
    assert code == 1
    assert "joint_states already has a publisher" in errors and "ROS_DOMAIN_ID" in errors
    assert "summary" not in output
    assert run.alive() == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--seconds", "0.5"], "0.5 is not a finite number from 1 to 3600"),
        (["--rate", "1e6"], "1000000.0 is not a finite number from 1 to 1000"),
        (["--keep", "--no-page"], "--keep requires the page; it cannot be used with --no-page"),
    ],
)
def test_wrong_options_are_an_error_that_names_them(options, says, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["demo", *options])
    assert caught.value.code == 2
    errors = capsys.readouterr().err
    assert says in errors.splitlines()[-1] and options[0] in errors.splitlines()[-1]


def test_without_ros_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "collision_monitor.nodes.demo.run_demo", None)
    assert main(["demo"]) == 2
    errors = capsys.readouterr().err
    assert "needs ROS 2" in errors and install_command("demo") in errors

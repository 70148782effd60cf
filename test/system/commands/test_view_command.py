# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The command view: its errors come before the load, and it serves until a signal."""

import os
import re
import signal
import subprocess
import sys
import urllib.request
from contextlib import contextmanager

import pytest
from support.files.made_bags import state, write_bag
from support.robots.toys import chain

from collision_monitor.common.lazy_imports import install_command

pytest.importorskip("viser", reason="viser is not installed (extra 'view')")
from support.page_client import PageClient  # noqa: E402

NOWHERE = "/nowhere/robot.urdf"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--host", "203.0.113.9"], "'203.0.113.9' is not an address of this machine"),
        (["--motion", "/nowhere/motion.csv"], "/nowhere/motion.csv: no such file"),
        (["--port", "70000"], "70000 is not 0, or an integer from 1 to 65535"),
        (["--stop-distance", "-0.1"], "-0.1 is not a finite number"),
        (["--stop-distance", "0.2"], "--stop-distance 0.2 is above --warn-distance 0.1"),
    ],
)
def test_what_cannot_be_is_an_error_before_the_load(run, options, says):
    assert says in run("view", NOWHERE, "--port", "0", *options, code=2).err.splitlines()[-1]


@contextmanager
def served(number, *words):
    """The address that the command prints; it ends well by a signal of this number."""
    process = subprocess.Popen(
        [sys.executable, "-m", "collision_monitor", "view", *words, "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "DISPLAY": "", "WAYLAND_DISPLAY": ""},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    try:
        line = process.stdout.readline()
        url = re.fullmatch(r"page: (http://127\.0\.0\.1:\d+)\n", line)
        assert url, line + process.stderr.read()
        yield url[1]
        process.send_signal(number)
        output, errors = process.communicate(timeout=60.0)
        assert (process.returncode, output.strip(), errors) == (0, "", "")
    finally:
        process.kill()
        process.communicate()


def test_bags_and_commands_are_played_until_a_signal(tmp_path):
    (tmp_path / "chain.urdf").write_text(chain(3))
    (tmp_path / "go.yaml").write_text(
        "{mode: joint, start: {j1: 0}, target: {j1: 1}, tf: 4, tsa: 1, tsd: 1}"
    )
    (tmp_path / "move.csv").write_text("time,j2\n0,0\n1,0.5\n")
    messages = [("/js", 1.0 + k, state(1.0 + k, ["j2"], [0.1 * k])) for k in range(3)]
    messages += [("/other", 1.0, state(1.0, ["j1"], [0.0]))]
    write_bag(tmp_path / "bag", messages)
    options = [f"--motion={tmp_path / name}" for name in ("go.yaml", "move.csv", "bag")]
    with (
        served(signal.SIGINT, str(tmp_path / "chain.urdf"), *options, "--topic", "/js") as url,
        PageClient(url) as user,
    ):
        played = [one for one in user.controls.values() if "Play" in one.get("label", "")]
        assert [(one["label"], one["hint"]) for one in played] == [
            ("Play go", "4.0 s"), ("Play move", "1.0 s"), ("Play bag", "2.0 s")
        ]  # fmt: skip
        for name, joint, end in (("go", "j1", 1.0), ("bag", "j2", 0.2)):
            user.click(f"Play {name}")
            shown = user.control(f"{joint} [rad]")
            user.until(lambda shown=shown, end=end: abs(shown["value"] - end) < 0.01)


def test_without_viser_it_is_an_error_before_the_load(monkeypatch, run):
    monkeypatch.setitem(sys.modules, "viser", None)
    assert install_command("view") in run("view", NOWHERE, code=2).err


def test_it_serves_on_loopback_until_a_signal(written):
    urdf = written("chain.urdf", chain(3))
    with (
        served(signal.SIGTERM, str(urdf)) as url,
        urllib.request.urlopen(url, timeout=60.0) as answer,
    ):
        assert b"<html" in answer.read(2000).lower()

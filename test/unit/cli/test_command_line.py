# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The benchmarks' arguments: every benchmark takes them, wrong ones are named."""

import runpy
import sys

import pytest
from support.paths import ROOT
from support.robots import robots

sys.path.append(str(ROOT / "benchmarks"))

from common import command_line  # noqa: E402


def parse(*options):
    parser = command_line.arguments("Title.\n\nMore.", ("ur5", "panda"), 7)
    parser.add_argument("--sizes", type=command_line.counts, default="1,2")
    return parser.parse_args(options)


def test_what_is_not_given_is_as_the_benchmark_says():
    for name in ("ur5", "panda"):
        robots.require(name)
    options = parse()
    assert options.robots == {name: robots.ROBOTS[name] for name in ("ur5", "panda")}
    assert (options.configurations, options.json, options.sizes) == (7, False, [1, 2])
    options = parse("--robots", "panda", "--configurations", "3", "--json", "--sizes", "30,4")
    assert list(options.robots) == ["panda"]
    assert (options.configurations, options.json, options.sizes) == (3, True, [30, 4])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (["--robots", "ur5,ur6"], "no robot 'ur6'; there are"),
        (["--robots", ""], "no robot ''"),
        (["--sizes", "3,0"], "0 in '3,0' is not above zero"),
        (["--sizes", "3,"], "'3,'"),
        (["--configurations", "many"], "'many'"),
    ],
)
def test_what_is_wrong_is_named(wrong, says, capsys):
    robots.require("ur5")
    with pytest.raises(SystemExit) as caught:
        parse(*wrong)
    assert caught.value.code == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert wrong[0] in last and says in last


@pytest.mark.parametrize(
    "name", ["distance", "growth", "hybrid_tree", "node", "tightness", "vendor_robots"]
)
def test_every_benchmark_can_be_asked_for_its_arguments(name, monkeypatch, capsys):
    for package in ("pinocchio", *(["rclpy"] if name == "node" else [])):
        pytest.importorskip(package)
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")  # as one of them sets it
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--help"])
    with pytest.raises(SystemExit) as caught:
        runpy.run_path(str(ROOT / f"benchmarks/{name}.py"), run_name="__main__")
    assert caught.value.code == 0
    assert "--json" in capsys.readouterr().out

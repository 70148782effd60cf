# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Every benchmark can be asked for its arguments."""

import runpy
import sys

import pytest
from support.paths import ROOT

sys.path.append(str(ROOT / "benchmarks"))


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

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A quarter of a minute of the soak; benchmarks/soak.py runs for as long as one likes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
for name in ("mcap", "rosbags", "pinocchio"):
    pytest.importorskip(name)

SOAK = Path(__file__).resolve().parents[1] / "benchmarks" / "soak.py"


def test_a_monitor_among_restless_neighbours_neither_fails_nor_misses_an_alarm():
    done = subprocess.run(
        [sys.executable, str(SOAK), "--minutes", "0.25", "--rate", "200", "--json"],
        capture_output=True, text=True, timeout=500,
    )  # fmt: skip
    assert done.stdout, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["faults"] == [] and done.returncode == 0
    assert found["distances_compared"] > 100 and found["below_stop_distance"] > 0
    assert found["least_truth_minus_said_m"] > -1e-6
    counts = found["clients"]
    assert counts["parameters set"] > 5 and counts["parameters refused"] > 5
    assert counts["good descriptions"] > 1 and counts["listeners and clients"] > 10
    began, ended = found["memory_mb"]
    assert ended < began + 200.0  # the ring of the recording is a few of them

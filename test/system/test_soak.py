# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A dozen seconds of the soak; benchmarks/soak.py runs for as long as one likes."""

import json
import subprocess
import sys

import pytest
from support.paths import ROOT

pytest.importorskip("rclpy", reason="rclpy is not installed")
for name in ("mcap", "rosbags", "pinocchio", "coal"):
    pytest.importorskip(name)

pytestmark = pytest.mark.slow

SOAK = ROOT / "benchmarks" / "soak.py"


def test_a_monitor_among_restless_neighbours_neither_fails_nor_misses_an_alarm():
    # It takes longer only where a machine is so slow that no robot is loaded meanwhile.
    done = subprocess.run(
        [sys.executable, str(SOAK), "--minutes", "0.2", "--rate", "200", "--scene-rate", "50",
         "--json"],
        capture_output=True, text=True, timeout=580,
    )  # fmt: skip
    assert done.stdout, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["faults"] == [] and done.returncode == 0
    seen, counts = found["observer"], found["clients"]
    assert seen["distances"] > 100 and seen["truth_minus_said_m"]["least"] > -1e-6
    assert seen["below_stop"] > seen["objects_below_stop"] > 0
    assert seen["scene"] == counts["scene"] > 100 and seen["attach"] == counts["attach"] > 0
    assert seen["lifetimes_that_mattered"] < 0.1 * seen["distances"]
    assert seen["refused"] > 0 and len(seen["robots"]) > 1
    assert counts["parameters set"] > 5 and counts["parameters refused"] > 5
    assert counts["listeners and clients"] > 10
    began, ended = found["memory_mb"]
    assert ended < began + 200.0  # the ring of the recording is a few of them

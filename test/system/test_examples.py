# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Every example runs as a user would run it, and says what it promises."""

import re
import runpy
import subprocess
import sys

import pytest
from support.paths import ROOT

from collision_monitor.motion import read_motion

pytestmark = pytest.mark.early

EXAMPLES = ROOT / "examples"
# Each with what it prints; those on a ROS graph have a test of their own below.
PRINTED = {
    "distance": r"right_link_1 and left_link_1 are 285\.\d mm apart",
    "batch": r"[\d.]+% of the configurations collide\n[\d.]+% keep 20 mm",
    "exact": r"50 s: leaves +-88\.\d mm, meshes +-88\.\d mm.*\n +616 pairs of triangles cross",
    "scene": r"joints: turn, hinge\n(turn .* m, .* and .*\n){6}",
    "adjust": r"nearest .* -0\.0\d+ m before.*\ncertified at every instant .* 0\.100 m",
    "verify": r"motion\.csv: not_safe\n(.*\n)+dual_arm_motion_adjusted\.csv: safe",
    "acm": r"\d+ of \d+ pairs need no check",
}
ON_A_GRAPH = {"adjusted", "joint_states", "listen", "obstacle", "speed_scale"}


def test_all_examples_are_here_and_short():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == PRINTED.keys() | ON_A_GRAPH
    for path in EXAMPLES.glob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 75, path.name


@pytest.mark.parametrize("name", PRINTED)
def test_it_says_what_it_promises(name, monkeypatch, capsys):
    if name == "adjust":
        pytest.importorskip("piqp", reason="the extra adjust is not installed")
    monkeypatch.chdir(ROOT)  # the folder that the tutorial is read in
    monkeypatch.setattr(sys, "argv", [f"{name}.py"])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    output = capsys.readouterr().out
    assert re.search(PRINTED[name], output), output


@pytest.fixture(scope="module")
def graph():
    """A ROS graph with the node, as the tutorial starts it."""
    from support.ros.ros_graph import Graph  # skips where there is no rclpy

    graph = Graph()
    graph.start(
        "-p", f"robot_description:={ROOT}/urdf/dual_arm.urdf",
        "-p", f"robot_description_semantic:={ROOT}/urdf/dual_arm.srdf",
    )  # fmt: skip
    graph.until(lambda: graph.heard["pair_names"], 120.0)
    yield graph
    graph.close()


def until_it_prints(pattern: str, graph) -> None:
    """Run ``listen`` until it says so."""
    listener = subprocess.Popen(
        [sys.executable, "-u", EXAMPLES / "listen.py", "--seconds", "60"],
        cwd=ROOT, env=graph.environment, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    said = []
    for line in listener.stdout:
        said.append(line)
        if re.search(pattern, line):
            break
    else:
        pytest.fail(f"{pattern!r} is in none of {said}")
    listener.terminate()
    listener.communicate()


def test_joint_states_swing_and_are_listened_to_and_an_obstacle_comes_near(graph):
    until_it_prints(r"STOP +nan m  STALE: ", graph)
    driver = subprocess.Popen(
        [sys.executable, EXAMPLES / "joint_states.py", "--swing", "0.01", "--seconds", "60"],
        cwd=ROOT, env=graph.environment,
    )  # fmt: skip
    try:
        until_it_prints(r"GO +\d\.\d+ m  (OK|WARN): ", graph)
        done = subprocess.run(
            [sys.executable, EXAMPLES / "obstacle.py", "--seconds", "2"],
            cwd=ROOT, env=graph.environment, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
    finally:
        driver.terminate()
        driver.wait(10.0)
    assert done.returncode == 0, done.stderr
    assert re.search(r"1 watched: .* between .* and example/0", done.stdout), done.stdout


def test_a_motion_stops_before_the_arms_meet(graph):
    mover = subprocess.Popen(
        [sys.executable, EXAMPLES / "speed_scale.py", "--rate", "8", "--seconds", "40"],
        cwd=ROOT, env=graph.environment, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    seen = len(graph.heard["min_distance"])
    graph.until(lambda: mover.poll() is not None, 90.0)  # and hear all distances meanwhile
    output = mover.communicate()[0]
    at = float(re.search(r"stopped at ([\d.]+) s of 62\.00 s", output)[1])
    assert 20.0 < at < 43.8  # below 5 mm between the meshes from then on, says `verify`
    distances = [m.data for m in graph.heard["min_distance"][seen:] if m.data == m.data]
    assert len(distances) > 50 and min(distances) > 0.0


def test_a_motion_is_adjusted_and_told_of():
    pytest.importorskip("piqp", reason="the extra adjust is not installed")
    from support.ros.ros_graph import Graph

    graph = Graph()
    try:
        node = graph.start(
            "-p", f"robot_description:={ROOT}/urdf/dual_arm.urdf",
            "-p", f"robot_description_semantic:={ROOT}/urdf/dual_arm.srdf",
            node="self_collision",
        )  # fmt: skip
        motion = read_motion(ROOT / "config/dual_arm_motion.csv")
        outputs = []
        for _ in range(2):  # the second one finds the state of the first
            sender = subprocess.Popen(
                [sys.executable, EXAMPLES / "adjusted.py", "--seconds", "60"],
                cwd=ROOT, env=graph.environment, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            graph.until(
                lambda sender=sender: sender.poll() is not None, 90.0,
                lambda: graph.send(motion.joint_names, motion.positions[0].tolist()),
            )  # fmt: skip
            outputs.append(sender.communicate()[0])
        assert node.poll() is None
    finally:
        graph.close()
    for output in outputs:
        found = re.search(r"the arms came to (-[\d.]+) m, and keep ([\d.]+) m", output)
        assert found and float(found[2]) > 0.0, output

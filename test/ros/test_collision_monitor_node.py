# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The node on a real ROS graph, in a process of its own."""

import math
import shutil
import signal
import time

import numpy as np
import pytest
import yaml
from support.paths import ROOT
from support.robots.toys import chain
from support.ros.ros_graph import ERROR, LATCHED, OK, STALE, WARN, Graph
from support.ros.rviz_twin import RvizTwin

from collision_monitor import CollisionModel
from collision_monitor.common.compiled import cache_directory

from std_msgs.msg import String  # isort: skip

SCENE = {
    "obstacles": [{"name": "ball", "type": "sphere", "radius": 0.2, "position": [1.0, 1.1, 0.0]}]
}
PACKAGE = ROOT
CLEAR = [-0.5, -0.5, 0.3]
CONTACT = [math.pi / 2, 0.0, 0.0]  # along the y axis, then on along x, into the ball


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """(URDF file, scene file, the same model in this process)."""
    folder = tmp_path_factory.mktemp("cell with a space")
    (folder / "chain.urdf").write_text(chain(4))
    (folder / "cell.yaml").write_text(yaml.safe_dump(SCENE))
    model = CollisionModel.from_urdf(folder / "chain.urdf", scene=SCENE)
    return str(folder / "chain.urdf"), str(folder / "cell.yaml"), model


@pytest.fixture(scope="module")
def cell(files):
    """A graph with a node that has been running for some time."""
    urdf, scene, model = files
    graph = Graph()
    graph.start(
        "-p", f"robot_description:={urdf}", "-p", f"scene:={scene}",
        "-p", "joint_state_timeout:=0.4",
    )  # fmt: skip
    graph.until_distance(lambda: graph.send(model.joint_names, CLEAR))
    yield graph, model
    graph.close()


def settled(cell, q=CLEAR, level=OK):
    """Send one pose until the state has its level."""
    graph, model = cell
    graph.until_level(level, lambda: graph.send(model.joint_names, q))
    return graph, model


@pytest.fixture
def cold(tmp_path):
    """Environment with a cache in which some kernels of the monitor are missing."""
    kept = cache_directory()
    unfinished = shutil.ignore_patterns("*.tmp*", "*.lock")  # of whoever compiles just now
    shutil.copytree(kept, tmp_path / "collision_monitor" / kept.name, ignore=unfinished)
    (tmp_path / "collision_monitor").chmod(0o700)
    # So many that compiling takes longer than it takes to discover the node.
    for kernels in ("packed_objects.*", "decision.*", "query.near*", "braking_search.*"):
        for path in tmp_path.rglob(f"{kernels}-*"):
            path.unlink()
    return {"XDG_CACHE_HOME": str(tmp_path), "NUMBA_CACHE_DIR": ""}


def test_while_kernels_are_compiled_the_state_is_stale_and_says_so(graph, files, cold):
    urdf, scene, model = files
    graph.start("-p", f"robot_description:={urdf}", "-p", f"scene:={scene}", environment=cold)
    graph.until_level(OK, lambda: graph.send(model.joint_names, CLEAR), 200.0)
    graph.until_safe(True, lambda: graph.send(model.joint_names, CLEAR))
    states = graph.heard["state"]
    assert {state.level for state in states} == {STALE, OK}
    compiling = [k for k, state in enumerate(states) if state.message.startswith("compiling")]
    assert len(compiling) > 1, "it is repeated"
    assert all(states[k].level == STALE for k in compiling)
    safe = [message.data for message in graph.heard["safe"]]
    assert safe.index(True) > 0, "not safe until all is compiled"


def test_every_joint_state_in_any_order_and_in_parts_has_the_distance_of_the_library(cell):
    graph, model = settled(cell)
    rng = np.random.default_rng(0)
    for q in model.random_configurations(4, seed=1):
        order = rng.permutation(3)
        names, values = np.array(model.joint_names)[order], q[order]
        expected = model.distance(q, by_design=False).distance

        def send(names=names, values=values):
            graph.send(names[:2], values[:2])
            graph.send(names[2:], values[2:])

        graph.until(
            lambda expected=expected: abs(graph.heard["min_distance"][-1].data - expected) < 1e-12,
            sending=send,
        )
    settled(cell)
    before = len(graph.heard["min_distance"])
    for _ in range(50):
        graph.send(model.joint_names, CLEAR)
        graph.spin(0.01)
    graph.spin(0.2)
    assert len(graph.heard["min_distance"]) - before >= 45


def test_contact_is_an_error_and_moving_away_ends_it(cell):
    graph, model = settled(cell)
    graph.until_safe(True, lambda: graph.send(model.joint_names, CLEAR))
    graph.until_level(ERROR, lambda: graph.send(model.joint_names, CONTACT))
    assert graph.values["action"] == "stop"
    assert "collision" in graph.state.message
    assert {graph.values["link_a"], graph.values["link_b"]} == {"l2", "ball"}
    graph.until_safe(False)
    graph.until(lambda: graph.heard["speed_scale"][-1].data == 0.0, sending=lambda: graph.send(
        model.joint_names, CONTACT))  # fmt: skip
    settled(cell)
    graph.until(lambda: graph.heard["safe"][-1].data and graph.heard["speed_scale"][-1].data == 1.0,
                sending=lambda: graph.send(model.joint_names, CLEAR))  # fmt: skip


def test_bytes_that_are_no_message_are_an_error_and_the_node_goes_on(cell):
    graph, model = settled(cell)
    graph.until(
        lambda: "unreadable" in graph.state.message and graph.state.level == ERROR,
        sending=lambda: graph.publisher().publish(b"\0\1\0\0" + b"\xff" * 40),
    )
    graph.until_safe(False)
    settled(cell)


def test_missing_joint_states_are_stale_within_the_timeout_until_new_ones_arrive(cell):
    graph, model = settled(cell)
    start = time.monotonic()
    graph.until_level(STALE)
    assert time.monotonic() - start < 0.4 + 0.5
    graph.until_safe(False)
    graph.until(lambda: math.isnan(graph.heard["min_distance"][-1].data))
    count = len([m for m in graph.heard["min_distance"] if not math.isnan(m.data)])
    graph.spin(0.5)
    assert len([m for m in graph.heard["min_distance"] if not math.isnan(m.data)]) == count
    assert graph.heard["speed_scale"][-1].data == 0.0
    assert "s old" in graph.state.message
    settled(cell)


@pytest.mark.parametrize(
    ("names", "positions", "stamp", "level", "says"),
    [
        (("j1", "j2", "j3"), (0.1, math.nan, 0.2), True, ERROR, "'j2' is nan"),
        (("j1", "j2", "j3"), (0.1, 0.2), True, ERROR, "3 names but 2 positions"),
        (("j1", "j2", "j3"), (0.1, 0.2, 0.3), -5.0, STALE, "s old"),
        (("j1", "j2", "j3"), (0.1, 0.2, 0.3), 30.0, ERROR, "in the future"),
    ],
)
def test_bad_joint_states_are_an_alarm_with_a_reason_and_the_node_lives_on(
    cell, names, positions, stamp, level, says
):
    graph, model = settled(cell)
    graph.until_level(level, lambda: graph.send(names, positions, stamp))
    graph.until(lambda: says in graph.state.message,
                sending=lambda: graph.send(names, positions, stamp))  # fmt: skip
    graph.until_safe(False)
    seen = len(graph.heard["min_distance"])
    for _ in range(10):
        graph.send(names, positions, stamp)
        graph.spin(0.02)
    assert all(math.isnan(m.data) for m in graph.heard["min_distance"][seen:])
    settled(cell)


def test_markers_follow_the_state(cell):
    graph, model = settled(cell)
    rviz, taken = RvizTwin(), 0
    graph.listen("markers")

    def shown(*namespaces):
        """Whether RViz shows these and no others, after all that has been heard."""
        nonlocal taken
        rviz.take(*graph.heard["markers"][taken:])
        taken = len(graph.heard["markers"])
        return rviz.namespaces == set(namespaces)

    def send():
        graph.send(model.joint_names, CLEAR)

    graph.until(lambda: shown("leaves", "obstacles", "nearest"), sending=send)
    assert {m.header.frame_id for m in rviz.shown.values()} == {"l0"}
    assert rviz.shown["nearest", 1].text.splitlines()[0].endswith(" m")
    green = rviz.shown["leaves", 0].color
    assert graph.set_parameters(show_aabb_levels="0-1", show_mesh_level="0").successful
    everything = "leaves", "obstacles", "nearest", "aabb", "mesh_boxes"
    graph.until(lambda: shown(*everything), sending=send)
    assert graph.set_parameters(show_aabb_levels="", show_mesh_level="").successful
    graph.until(lambda: shown("leaves", "obstacles", "nearest"), sending=send)
    graph.until_level(STALE)
    graph.until(lambda: shown("leaves", "obstacles") and rviz.shown["leaves", 0].color != green)


def test_a_rate_that_is_set_while_it_runs_is_kept(cell):
    graph, _ = settled(cell)
    assert graph.set_parameters(state_rate=100.0).successful
    begin, first = time.monotonic(), len(graph.heard["state"])
    graph.until(lambda: len(graph.heard["state"]) >= first + 100)
    assert time.monotonic() - begin < 4.0  # less than at 20 Hz
    assert graph.set_parameters(state_rate=20.0).successful


def test_unconfirmed_zeros_have_no_distance_a_watchdog_that_is_off_is_said_and_logs_are_short(
    graph, files
):
    """From the start of a node to a signal."""
    urdf, scene, model = files
    process = graph.start(
        "-p", f"robot_description:={urdf}", "-p", f"scene:={scene}",
        "-p", "zero_state_confirmation:=1.0", "-p", "joint_state_timeout:=0.0",
    )  # fmt: skip
    graph.until(lambda: graph.heard["pair_names"], 180.0)
    graph.until_level(STALE)
    graph.until_safe(False)
    graph.until(
        lambda: "all zeros" in graph.state.message,
        sending=lambda: graph.send(model.joint_names, [0.0] * 3),
    )
    assert all(math.isnan(m.data) for m in graph.heard["min_distance"])
    graph.send(model.joint_names[:2], [0.1, 0.1])
    graph.until_distance(lambda: graph.send(model.joint_names, CLEAR), 10.0)
    graph.until(lambda: "OFF" in graph.values.get("watchdog", ""))
    for seconds in (0.5, 0.0):
        assert graph.set_parameters(joint_state_timeout=seconds).successful
    for k in range(300):
        bad = [math.nan, 0.0, 0.0] if k % 3 == 0 else CONTACT if k % 3 == 1 else CLEAR
        graph.send(model.joint_names, bad)
        graph.spin(0.002)
    code, output = graph.stop(process, signal.SIGTERM)
    assert code == 0, output
    assert "Traceback" not in output
    assert output.count("watchdog is OFF") == 2
    assert len(output.splitlines()) < 17, output
    assert "waiting for a robot description" not in output  # it was given, and is being loaded
    graph.until(lambda: graph.state.message.startswith("node is shutting down"))
    graph.until_safe(False)
    graph.until(lambda: math.isnan(graph.heard["min_distance"][-1].data))
    assert graph.state.level == STALE


def test_a_description_from_the_topic_bad_then_good_then_with_a_lost_scene(graph, files, written):
    urdf, _, model = files
    scene = written("cell.yaml", yaml.safe_dump(SCENE))
    topic = graph.node.create_publisher(String, "robot_description", LATCHED)
    process = graph.start("-p", f"scene:={scene}")
    topic.publish(String(data=str(urdf)))  # a file that exists, but topics name none
    graph.until_level(ERROR, seconds=60.0)
    assert "not XML" in graph.state.message and str(urdf) not in graph.state.message
    topic.publish(String(data=chain(4).replace('<child link="l3"/>', '<child link="l9"/>')))
    graph.until(lambda: "l9" in graph.state.message, 60.0)
    graph.until_level(ERROR, seconds=60.0)
    assert "l9" in graph.state.message
    graph.until_safe(False)
    assert process.poll() is None
    before = len(graph.heard["state"])
    topic.publish(String(data=chain(4)))
    graph.until_distance(lambda: graph.send(model.joint_names, CLEAR))
    loading = [s for s in graph.heard["state"][before:] if s.message.startswith("loading")]
    # Said before it keeps the node busy, and repeated.
    assert {s.level for s in loading} == {STALE}
    graph.until_level(OK, lambda: graph.send(model.joint_names, CLEAR))
    scene.unlink()
    topic.publish(String(data=chain(4).replace("toy", "other")))
    graph.until(
        lambda: str(scene) in graph.values.get("description_refused", ""),
        20.0, lambda: graph.send(model.joint_names, CLEAR),
    )  # fmt: skip
    # The old robot runs on, with its obstacles.
    graph.until(
        lambda: graph.state.level == WARN
        and "new robot description rejected" in graph.state.message,
        sending=lambda: graph.send(model.joint_names, CLEAR),
    )
    assert graph.values["action"] == "none"
    graph.until_safe(True, lambda: graph.send(model.joint_names, CLEAR))
    graph.until_level(ERROR, lambda: graph.send(model.joint_names, CONTACT))
    assert "ball" in (graph.values["link_a"], graph.values["link_b"])


def test_a_description_that_a_parameter_does_not_fit_is_used_once_this_is_corrected(graph):
    """The topic is latched: nobody sends the description again for that."""
    topic = graph.node.create_publisher(String, "robot_description", LATCHED)
    graph.start("-p", "pair_thresholds:=['l0 elbow warn=0.1']")
    topic.publish(String(data=chain(4)))
    graph.until(lambda: graph.heard["state"] and "elbow" in graph.state.message, 60.0)
    assert graph.set_parameters(pair_thresholds=["l0 l3 warn=0.1"]).successful
    graph.until(lambda: "no joint state" in graph.state.message)
    topic.publish(String(data=chain(3)))
    graph.until(lambda: "l3" in graph.values.get("description_refused", ""))
    assert graph.set_parameters(pair_thresholds=[""]).successful
    graph.until_distance(lambda: graph.send(("j1", "j2"), CLEAR[:2]))
    graph.until(lambda: "description_refused" not in graph.values)  # the next state says it


@pytest.mark.parametrize("node", ["collision_monitor", "self_collision"])
def test_publishers_of_different_descriptions_are_a_warning_until_the_wrong_one_ends(node):
    graph = Graph(f"/{node}")
    create = graph.node.create_publisher
    right, wrong = create(String, "robot_description", LATCHED), create(
        String, "robot_description", LATCHED
    )
    right.publish(String(data=chain(5)))
    arms = ("-p", "arms:=['l0:l2']") if node == "self_collision" else ()
    graph.start(*arms, node=node)
    names = ["j1", "j2", "j3", "j4"]

    def state_of(robot, level):
        graph.until(
            lambda: graph.heard["state"] and graph.state.level == level
            and graph.state.hardware_id == robot,
            200.0, lambda: graph.send(names, [0.3, 0.3, 0.3, 0.3]),
        )  # fmt: skip

    try:
        state_of("toy", OK)  # a publisher that has sent nothing contradicts nobody
        wrong.publish(String(data=chain(5).replace("toy", "other")))
        state_of("other", WARN)
        assert "2 publishers of /robot_description have sent different" in graph.state.message
        graph.node.destroy_publisher(wrong)
        state_of("toy", OK)
    finally:
        graph.close()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([f"robot_description:={PACKAGE}/urdf/dual_arm.urdf", "scene:=/nowhere/cell.yaml"],
         "/nowhere/cell.yaml"),
        (["stop_distance:=0.5"], "stop_distance 0.5 is above warn_distance 0.1"),
    ],
)  # fmt: skip
def test_bad_parameters_end_it_with_code_1_and_the_reason(graph, arguments, says):
    process = graph.start(*(part for a in arguments for part in ("-p", a)))
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 1, output
    assert says in output and "Traceback" not in output

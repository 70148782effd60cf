# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The simulation node on a ROS graph: what it follows, heeds, refuses and says."""

import pytest
from support.robots.toys import joint, link, robot
from support.ros.ros_graph import LATCHED
from support.ros.simulation_cell import NODE, SimulationCell, seconds, trajectory, wait

from rclpy.action import ActionClient  # isort: skip
from std_msgs.msg import Float64, String  # isort: skip

# Two arms that can meet: each a ball on a turning stick.
ARMS = robot(
    link("base", '<box size="0.1 0.1 0.1"/>'),
    link("left", xyz="0.5 0 0"), link("right", xyz="0.5 0 0"),
    joint("l", "base", "left", xyz="0 0.5 0.5"), joint("r", "base", "right", xyz="0 -0.5 0.5"),
    name="arms",
).replace('effort="1"', 'effort="500"').replace('velocity="1"', 'velocity="4"')  # fmt: skip
JOINTS = ("l", "r")


@pytest.fixture(scope="module")
def urdf(tmp_path_factory):
    path = tmp_path_factory.mktemp("robot") / "arms.urdf"
    path.write_text(ARMS)
    return path


@pytest.fixture(scope="module")
def shared(urdf):
    """One node for all tests that leave it as it was."""
    cell = SimulationCell(f"robot_description:={urdf}", "real_time_factor:=4.0",
                          "joint_state_rate:=50.0")  # fmt: skip
    cell.ready()
    yield cell
    cell.close()


@pytest.fixture
def cell(shared):
    """It stands at its start, heeds nobody, and has touched nothing."""
    shared.set_parameters(NODE, heed_speed_scale=False)
    assert shared.call(f"{NODE}/reset").success
    shared.until(
        lambda: shared.values["event"] == "holding"
        and not shared.touched
        and max(map(abs, shared.last.position)) < 1e-3
    )
    return shared


def test_states_and_clock_go_on_at_their_rate(cell):
    heard = cell.graph.heard
    first, first_clock = len(heard["joint_states"]), len(heard["clock"])
    wait(cell, 2.0)
    stamps = [seconds(message.header.stamp) for message in heard["joint_states"][first:]]
    gaps = {round(b - a, 6) for a, b in zip(stamps, stamps[1:], strict=False)}
    assert gaps == {0.02}  # none is left out, none comes twice
    assert abs(len(heard["clock"]) - first_clock - len(stamps)) <= 2
    assert list(cell.last.name) == list(JOINTS)
    assert len(cell.last.velocity) == len(cell.last.effort) == 2
    cell.until(lambda: float(cell.values["real_time_factor"]) > 2.0)


def test_a_trajectory_is_followed(cell):
    cell.send(JOINTS, [[0.3, 0.2]], [6.0])
    cell.until(lambda: cell.values["event"] == "moving")
    cell.until(lambda: cell.values["event"] == "holding")
    cell.until(lambda: cell.position == pytest.approx({"l": 0.3, "r": 0.2}, abs=2e-3))


def test_an_empty_trajectory_stops_it(cell):
    cell.send(JOINTS, [[1.0, 1.0]], [20.0])
    cell.until(lambda: cell.position["l"] > 0.05)
    cell.send(JOINTS, [], [])
    cell.until(lambda: cell.values["event"] == "holding")
    assert cell.position["l"] < 0.9


def test_what_cannot_be_followed_is_refused_in_so_many_words(cell):
    cell.send(("l", "x"), [[0.3, 0.2]], [1.0])
    cell.until(lambda: cell.values["event"] == "refused")
    assert "names 'x', which the robot does not move; its joints are l, r" in cell.state.message
    assert cell.state.level == b"\x02"
    cell.trajectories.publish(trajectory(JOINTS, [[0.3, 0.2]], [1.0], stamp=1.7e9))
    cell.until(lambda: "must set use_sim_time" in cell.state.message)
    cell.send(JOINTS, [[0.1, 0.1]], [0.5])
    cell.until(lambda: cell.values["event"] == "moving")


def test_contacts_are_said_by_name_and_not_forgotten(cell):
    cell.send(JOINTS, [[-1.5, 1.5]], [2.0])
    cell.until(lambda: cell.touched)
    cell.until(lambda: "left right" in cell.contacts)
    assert cell.graph.heard["contacts"][-1].level == b"\x02"
    assert "touched left right" in cell.contacts
    cell.send(JOINTS, [[0.0, 0.0]], [2.0])
    cell.until(lambda: "left right" not in cell.contacts)
    assert cell.touched and "touched left right" in cell.contacts


def test_a_speed_scale_slows_and_stops_and_its_silence_stops(cell):
    cell.set_parameters(NODE, heed_speed_scale=True)
    cell.until(lambda: cell.values["event"] == "stopped")
    said = Float64(data=1.0)

    def say():
        cell.scales.publish(said)

    cell.send(JOINTS, [[1.0, 0.0]], [20.0])
    cell.until(lambda: cell.values["event"] == "moving", sending=say)
    cell.until(lambda: cell.position["l"] > 0.05, sending=say)
    cell.until(lambda: cell.values["event"] == "stopped")  # nobody speaks any more
    assert "no speed scale for" in cell.state.message
    here, then = cell.position["l"], cell.now
    cell.until(lambda: cell.now > then + 2.0)
    assert cell.position["l"] == pytest.approx(here, abs=5e-3)
    said.data = 0.0
    cell.until(lambda: cell.state.message.endswith("the speed scale is 0"), sending=say)
    said.data = 0.5
    start, then = cell.position["l"], cell.now
    cell.until(lambda: cell.now > then + 4.0, sending=say)
    # 0.05 rad/s at full speed.
    assert (cell.position["l"] - start) / (cell.now - then) == pytest.approx(0.025, rel=0.25)


def test_bad_values_of_parameters_are_refused(cell):
    with pytest.raises(AssertionError, match="real_time_factor 0 is not above 0"):
        cell.set_parameters(NODE, real_time_factor=0.0)


def test_the_action_follows_where_control_msgs_is_installed(cell):
    control_msgs = pytest.importorskip(
        "control_msgs.action", reason="control_msgs is not installed (not on PyPI)"
    )
    kind = control_msgs.FollowJointTrajectory
    client = ActionClient(cell.graph.node, kind, f"{NODE}/follow_joint_trajectory")
    cell.until(client.server_is_ready)
    feedback = []

    def send(rows, names=JOINTS):
        goal = kind.Goal(trajectory=trajectory(names, rows, [1.0]))
        future = client.send_goal_async(goal, feedback_callback=feedback.append)
        cell.until(future.done)
        result = future.result().get_result_async()
        cell.until(result.done)
        return result.result().result

    assert send([[0.3, -0.3]]).error_code == kind.Result.SUCCESSFUL
    assert cell.position == pytest.approx({"l": 0.3, "r": -0.3}, abs=0.01)
    assert feedback and list(feedback[0].feedback.joint_names) == list(JOINTS)
    refused = send([[0.3]], ["elbow"])
    assert refused.error_code == kind.Result.INVALID_GOAL
    assert "names 'elbow'" in refused.error_string
    client.destroy()


def test_a_robot_can_come_by_topic_and_another_after_it():
    cell = SimulationCell("real_time_factor:=4.0", "joint_state_rate:=50.0")
    descriptions = cell.graph.node.create_publisher(String, "/robot_description", LATCHED)
    cell.until(lambda: cell.graph.heard["sim_state"])
    assert cell.state.level == b"\x03" and cell.values["event"] == "waiting"
    descriptions.publish(String(data="<robot/>"))
    cell.until(lambda: cell.values["event"] == "refused")
    assert "has no links" in cell.state.message
    descriptions.publish(String(data=ARMS))
    cell.ready()
    wait(cell, 1.0)
    before = cell.now
    descriptions.publish(String(data=ARMS.replace('"r"', '"other"')))
    cell.until(lambda: "other" in cell.last.name)
    assert cell.now >= before  # the clock does not go back
    cell.close()


def test_what_cannot_be_simulated_ends_the_node_with_the_reason(urdf):
    cell = SimulationCell(f"robot_description:={urdf}", "start_positions:=elbow=1")
    cell.process.wait(timeout=30)
    code, output = cell.graph.stop(cell.process)
    cell.graph.close()
    assert code == 1 and "simulation: error: start: joint 'elbow' is not of the robot" in output
    assert "Traceback" not in output

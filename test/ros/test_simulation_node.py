# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The simulation node: topics, services, and the story of a robot that collides."""

import math

import numpy as np
import pytest
import trimesh
from diagnostic_msgs.msg import DiagnosticStatus
from std_msgs.msg import Float64, String
from support.paths import ROOT
from support.robots.toys import joint, link, robot
from support.ros.ros_graph import LATCHED
from support.ros.simulation_cell import NODE, SimulationCell, seconds, trajectory, wait
from trajectory_msgs.msg import JointTrajectory

from collision_monitor import CollisionModel
from collision_monitor.motion import read_motion

# -- the simulation node on a ROS graph: what it follows, heeds, refuses and says --


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
                          "joint_state_rate:=40.0")  # fmt: skip
    cell.ready()
    yield cell
    cell.close()


@pytest.fixture
def cell(shared):
    """It stands at its start, heeds nobody, and has touched nothing."""
    shared.set_parameters(NODE, heed_speed_scale=False, speed_scale_timeout=0.5)
    assert shared.call(f"{NODE}/reset").success
    shared.until(
        lambda: shared.values["event"] == "holding"
        and not shared.touched
        and max(map(abs, shared.last.position)) < 1e-3
    )
    return shared


def test_states_and_clock_go_on_at_their_rate(cell):
    heard = cell.graph.heard
    first = len(heard["joint_states"])
    wait(cell, 2.0)
    stamps = [seconds(message.header.stamp) for message in heard["joint_states"][first:]]
    gaps = {round(b - a, 6) for a, b in zip(stamps, stamps[1:], strict=False)}
    assert gaps == {0.025}  # none is left out, none comes twice; 12.5 of the given time steps
    cell.until(lambda: seconds(heard["clock"][-1].clock) >= stamps[-1])
    clock = {seconds(message.clock) for message in heard["clock"]}
    assert {time for time in clock if stamps[0] <= time <= stamps[-1]} == set(stamps)
    assert list(cell.last.name) == list(JOINTS)
    assert len(cell.last.velocity) == len(cell.last.effort) == 2
    cell.until(lambda: float(cell.values["real_time_factor"]) > 2.0)


def test_a_trajectory_is_followed_and_an_empty_one_stops_it(cell):
    cell.send(JOINTS, [[0.3, 0.2]], [6.0])
    cell.until(lambda: cell.values["event"] == "moving")
    cell.until(lambda: cell.values["event"] == "holding")
    cell.until(lambda: cell.position == pytest.approx({"l": 0.3, "r": 0.2}, abs=2e-3))
    cell.send(JOINTS, [[1.3, 1.0]], [20.0])
    cell.until(lambda: cell.position["l"] > 0.35)
    cell.send(JOINTS, [], [])
    cell.until(lambda: cell.values["event"] == "holding")
    assert cell.position["l"] < 1.2


def test_what_cannot_be_followed_is_refused_in_so_many_words(cell):
    cell.send(("l", "x"), [[0.3, 0.2]], [1.0])
    cell.until(lambda: cell.values["event"] == "refused")
    assert "names 'x', which the robot does not move; its joints are l, r" in cell.state.message
    assert cell.state.level == b"\x02"
    cell.trajectories.publish(trajectory(JOINTS, [[0.3, 0.2]], [1.0], stamp=1.7e9))
    cell.until(lambda: "must set use_sim_time" in cell.state.message)
    before = int(cell.values["request"])
    cell.send(JOINTS, [], [])  # a stop is no refusal
    cell.until(lambda: cell.values["event"] == "holding")
    assert int(cell.values["request"]) == before + 1
    cell.send(JOINTS, [[0.1, 0.1]], [20.0])
    cell.until(lambda: cell.values["event"] == "moving")


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
    wait(cell, 0.5)  # to stop takes a moment
    here, then = cell.position["l"], cell.now
    cell.until(lambda: cell.now > then + 2.0)
    assert cell.position["l"] == pytest.approx(here, abs=5e-3)
    said.data = 0.0
    cell.until(lambda: cell.state.message.endswith("the speed scale is 0"), sending=say)
    cell.set_parameters(NODE, speed_scale_timeout=10.0)  # a stall of this process is none of it
    said.data = 0.5
    cell.until(lambda: cell.values["event"] == "moving", sending=say)
    start, then = cell.position["l"], cell.now
    cell.until(lambda: cell.now > then + 4.0, sending=say)
    # 0.05 rad/s at full speed.
    assert (cell.position["l"] - start) / (cell.now - then) == pytest.approx(0.025, rel=0.25)


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
    assert cell.values["event"] == "holding"  # the refusal is over
    before = cell.now
    descriptions.publish(String(data=ARMS.replace('"r"', '"other"')))
    cell.until(lambda: "other" in cell.last.name)
    assert cell.now >= before  # the clock does not go back
    ((_, output),) = cell.close()
    assert output.index("waiting for a robot description") < output.index("loading the robot")


def test_the_same_description_is_loaded_again_if_one_of_its_meshes_was_written_since(tmp_path):
    mesh = tmp_path / "left.stl"
    trimesh.creation.box((0.1, 0.1, 0.1)).export(mesh)
    left = link("left", f'<mesh filename="file://{mesh}"/>', "0.5 0 0")
    text = String(data=ARMS.replace(link("left", xyz="0.5 0 0"), left))
    assert str(mesh) in text.data
    cell = SimulationCell("joint_state_rate:=50.0", f"package_dirs:={tmp_path}")
    descriptions = cell.graph.node.create_publisher(String, "/robot_description", LATCHED)
    descriptions.publish(text)
    cell.ready()
    assert not cell.touched
    trimesh.creation.box((0.1, 2.0, 0.1)).export(mesh)  # as far as the other arm
    descriptions.publish(text)
    cell.until(lambda: cell.touched)
    cell.close()


def test_goals_of_the_action_end_by_their_tolerances(cell):
    control_msgs = pytest.importorskip("control_msgs.action", reason="control_msgs: not on PyPI")
    from control_msgs.msg import JointTolerance
    from rclpy.action import ActionClient

    action = control_msgs.FollowJointTrajectory
    client = ActionClient(cell.graph.node, action, f"{NODE}/follow_joint_trajectory")
    cell.until(client.server_is_ready)

    def result(patience, **tolerances):
        """Of half a radian in a tenth of a second, which is too fast."""
        goal = action.Goal(trajectory=trajectory(JOINTS, [[0.5, 0.0]], [0.1]))
        goal.goal_time_tolerance.nanosec = round(1e9 * patience)
        for name, (joint_name, position) in tolerances.items():
            setattr(goal, name, [JointTolerance(name=joint_name, position=position)])
        sent = client.send_goal_async(goal)
        cell.until(sent.done)
        ended = sent.result().get_result_async()
        cell.until(ended.done)
        assert cell.call(f"{NODE}/reset").success
        return ended.result().result

    for patience, tolerances, code, text in (
        (0.9, {}, action.Result.SUCCESSFUL, ""),
        (0.9, {"path_tolerance": ("l", 0.01)}, action.Result.PATH_TOLERANCE_VIOLATED, "off its"),
        (0.9, {"path_tolerance": ("l", -1.0)}, action.Result.SUCCESSFUL, ""),
        (0.004, {"goal_tolerance": ("l", 1e-4)}, action.Result.GOAL_TOLERANCE_VIOLATED, "off its"),
        (0.004, {"goal_tolerance": ("l", -1.0)}, action.Result.SUCCESSFUL, ""),
        (0.9, {"goal_tolerance": ("x", 0.1)}, action.Result.INVALID_GOAL, "has no joint 'x'"),
    ):
        ended = result(patience, **tolerances)
        assert ended.error_code == code and text in ended.error_string, ended


def test_what_cannot_be_simulated_ends_the_node_with_the_reason(urdf):
    cell = SimulationCell(f"robot_description:={urdf}", "start_positions:=elbow=1")
    cell.process.wait(timeout=30)
    code, output = cell.graph.stop(cell.process)
    cell.graph.close()
    assert code == 1 and "simulation: error: start: the robot has no joint 'elbow'" in output
    assert "Traceback" not in output


# -- two arms are sent on a collision course three times; MuJoCo says what they touch --
#
# The motion is the published one (config/dual_arm_motion.csv), in 6 s instead of 62; the
# simulation goes at three times the speed of the clock on the wall. One simulation, one monitor
# and one node self_collision serve all three; `reset` puts the arms back to their start.


FILES = {
    "robot_description": ROOT / "urdf/dual_arm.urdf",
    "robot_description_semantic": ROOT / "urdf/dual_arm.srdf",
}
SECONDS = 6.0
FACTOR = 3.0
STOP = 0.02


@pytest.fixture(scope="module")
def motion():
    """(joint names, times, positions)."""
    read = read_motion(ROOT / "config/dual_arm_motion.csv")
    return read.joint_names, read.times * (SECONDS / read.times[-1]), read.positions


@pytest.fixture(scope="module")
def model():
    """The robot, for distances along what was moved; its leaves are those of the monitor."""
    return CollisionModel.from_urdf(ROOT / "urdf/dual_arm.urdf", srdf=ROOT / "urdf/dual_arm.srdf")


class Cell(SimulationCell):
    """The simulation; and a monitor whose speed scale it hears, and self_collision before it."""

    def __init__(self):
        files = [f"{name}:={path}" for name, path in FILES.items()]
        super().__init__(
            *files, f"real_time_factor:={FACTOR}", "joint_state_rate:=50.0",
            remappings=("~/speed_scale:=/collision_monitor/speed_scale",),
        )  # fmt: skip
        files = [x for text in (*files, "use_sim_time:=true") for x in ("-p", text)]
        self.graph.start(*files)
        self.graph.start(
            *files, "-p", "safe_distance:=0.15",
            "-r", "/self_collision/joint_trajectory:=/simulation/joint_trajectory",
            node="self_collision",
        )  # fmt: skip
        self.wanted = self.graph.node.create_publisher(
            JointTrajectory, "/self_collision/desired_trajectory", 10
        )
        self.graph.listen("front", DiagnosticStatus, LATCHED, "/self_collision/state")

    @property
    def front(self):
        """Key-values of the state of self_collision."""
        return {item.key: item.value for item in self.graph.heard["front"][-1].values}

    def ready(self, seconds=180.0):
        """All have loaded, hear each other, and know where the arms are."""
        super().ready(seconds)
        self.until(
            lambda: self.graph.heard["min_distance"]
            and not math.isnan(self.graph.heard["min_distance"][-1].data)
            and self.graph.heard["front"]
            and self.front.get("joint_states") == "fresh"
            and self.wanted.get_subscription_count()
            and self.graph.node.count_publishers("/simulation/joint_trajectory") == 2,
            seconds,
        )

    def begin(self, heed, **distances):
        """Back to the start, with nothing touched and nothing heard."""
        self.set_parameters("/simulation", heed_speed_scale=heed)
        self.set_parameters("/collision_monitor", **distances)
        assert self.call("/simulation/reset").success
        seen = len(self.graph.heard["joint_states"])
        self.until(
            lambda: len(self.graph.heard["joint_states"]) > seen + 5
            and self.values["event"] == "holding"
            and max(map(abs, self.last.position)) < 1e-3
            and not self.touched
        )
        self.graph.heard["joint_states"].clear()

    def moved(self, names):
        """Every configuration that was published since, (n, nq)."""
        messages = self.graph.heard["joint_states"]
        order = [list(messages[0].name).index(name) for name in names]
        return np.array([message.position for message in messages])[:, order]


@pytest.fixture(scope="module")
def three():
    """All three nodes."""
    three = Cell()
    three.ready()
    yield three
    three.close()


def between_arms(model, rows):
    """Least distance (n,) of the right arm's links from the left arm's."""
    sides = [{name.split("_")[0] for name in pair} for pair in model.pairs]
    pairs = [p for p, s in zip(model.pairs, sides, strict=True) if s == {"right", "left"}]
    return model.twin(pairs).min_distances(rows)


def test_without_the_monitor_the_arms_touch(three, motion, model):
    names, times, rows = motion
    three.begin(heed=False)
    three.send(names, rows, times)
    three.until(lambda: three.touched, 30.0)
    assert "touched left_link_7 right_link_7" in three.contacts
    assert model.min_distances(three.moved(model.joint_names)).min() < 0.0  # leaves say it too


def test_with_the_monitor_they_stop_before(three, motion, model):
    names, times, rows = motion
    three.begin(heed=True, stop_distance=STOP, warn_distance=0.1)
    # A speed scale that is late on a busy machine stops them, too: slow enough for that to be rare.
    three.set_parameters("/simulation", real_time_factor=1.0)
    three.send(names, rows, times)
    three.until(lambda: three.values["event"] == "moving")
    heard = three.graph.heard["min_distance"]
    three.until(
        lambda: three.values["event"] == "stopped" and heard[-1].data < STOP + 0.005
        and "speed scale is 0" in three.state.message, 60.0,
    )  # fmt: skip
    three.set_parameters("/simulation", real_time_factor=FACTOR)
    since = three.now

    def have_stopped():
        # Once more at rest, the arms may go on towards the stop distance in small steps.
        nonlocal since
        if three.values["event"] != "stopped":
            since = three.now
        return three.now > since + 1.0

    three.until(have_stopped, 60.0)
    assert not three.touched
    distances = model.min_distances(three.moved(model.joint_names))
    # They stand where the monitor stopped them: near, and apart.
    assert 0.0 < distances.min() <= distances[-1] + 1e-4
    assert distances[-1] < STOP + 0.005
    assert np.abs(np.array(three.last.velocity)).max() < 1e-3
    assert abs(three.position["right_joint_4"] - rows[-1][3]) > 0.5  # far from the goal


def test_with_self_collision_in_front_they_reach_the_goal(three, motion, model):
    names, times, rows = motion
    # At the goal each hand is 0.015 m from the shoulder of its own arm, as the paper has it.
    three.begin(heed=True, stop_distance=0.005, warn_distance=0.02)
    # Adjusting takes as long as it takes: a node that stalls a third of a second then hears a
    # second of the simulation at once, and takes joint states for ones of another clock.
    three.set_parameters("/simulation", real_time_factor=1.0)
    heard = three.graph.heard["front"]
    heard.clear()  # after such a stall before the start, zeros have to repeat first
    three.until(lambda: heard and three.front.get("joint_states") == "fresh", 60.0)
    request = int(three.front["request"])
    three.wanted.publish(trajectory(names, rows, times))
    three.until(
        lambda: int(three.front["request"]) > request
        and three.front["event"] in ("forwarded", "refused"), 60.0,
    )  # fmt: skip
    assert three.front["event"] == "forwarded", three.graph.heard["front"][-1].message
    three.set_parameters("/simulation", real_time_factor=FACTOR)
    goal = dict(zip(names, rows[-1], strict=True))
    three.until(lambda: max(abs(three.position[name] - goal[name]) for name in names) < 2e-3, 60.0)
    assert not three.touched
    assert between_arms(model, three.moved(model.joint_names)).min() > 0.1

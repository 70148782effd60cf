# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The node's behaviour on a real graph: actions, holds, services, a driver that is called."""


import pytest
from support.robots.two_slides import JOINTS, apart
from support.ros.ros_graph import ERROR, OK, WARN, Graph

from builtin_interfaces.msg import Duration  # isort: skip
from std_srvs.srv import SetBool, Trigger  # isort: skip
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # isort: skip

NAMES = (*JOINTS, "mast_joint")
ME = "/collision_monitor"


class Cell:
    """A node that watches two balls, and somebody who moves them."""

    def __init__(self, graph):
        self.graph, self.gap = graph, 0.5

    def send(self, gap, velocity=0.0):
        """A jump: who is to believe it moves there by `until`."""
        self.gap = gap
        self.graph.send(NAMES, (*apart(gap), 0.3), velocities=(0, 0, velocity, 0, 0))

    def until(self, condition, gap, velocity=0.0, seconds=60.0):
        """Move there at 0.3 m/s, stand there and say this velocity until the condition holds."""
        while abs(gap - self.gap) > 1e-9:
            step = max(-0.006, min(0.006, gap - self.gap))
            self.send(self.gap + step)
            self.graph.spin(0.02)
        self.graph.until(condition, seconds, lambda: self.send(gap, velocity), 0.01)

    def until_action(self, action, gap, velocity=0.0):
        self.until(lambda: self.values.get("action") == action, gap, velocity)

    def until_scale(self, scale, gap, velocity=0.0):
        said = self.graph.heard["speed_scale"]
        self.until(lambda: said and abs(said[-1].data - scale) < 1e-3, gap, velocity)

    @property
    def values(self):
        return self.graph.values

    def set(self, **values):
        return self.graph.set_parameters(**values)

    def ask(self, name):
        answer = self.graph.call(Trigger, f"{ME}/{name}")
        return answer.success, answer.message


@pytest.fixture(scope="module")
def running(slides_file):
    """A node that has been running for some time."""
    graph = Graph()
    graph.start(
        "-p", f"robot_description:={slides_file}", "-p", "rise_time:=0.2",
        "-p", "joint_state_timeout:=5.0",  # none are sent while a service is waited for
    )  # fmt: skip
    cell = Cell(graph)
    graph.until_distance(lambda: cell.send(0.5))
    yield cell
    graph.close()


@pytest.fixture
def cell(running):
    """That node, far from everything, as it was started."""
    assert running.set(
        latch_stops=False, acknowledge_stops=False, pair_thresholds=[""], stop_service="",
        braking_decelerations=[""],
    ).successful  # fmt: skip
    running.graph.call(SetBool, f"{ME}/enable", data=True)
    running.until(
        lambda: running.graph.state.level == OK and running.values["action"] == "none", 0.5
    )
    running.until_scale(1.0, 0.5)
    return running


def test_what_comes_of_braking_is_in_the_state(cell):
    cell.until_action("approach", 0.3, -0.9)
    values = cell.values
    # 0.05 s to react, and 2 m/s^2: half a second from the velocity limit of the URDF
    fresh, found = 0.3 - 0.045 - 0.2025, float(values["braking_clearance"])
    # A joint state that came late is of where the robot was: it has gone on since then.
    age = float(values["age"])
    assert fresh - 0.9 * age - 2e-3 <= found <= fresh + 2e-3
    time_left = float(values["time_to_collision"])
    assert 0.3 / 0.9 - age - 5e-3 <= time_left <= 0.3 / 0.9 + 5e-3
    assert "while braking" in cell.graph.state.message
    assert values["pair_thresholds"] == "0.1000 0.0200" and "left_out_pairs" in values
    cell.until_action("stop", 0.2, -0.9)
    assert "cannot stop in time" in cell.graph.state.message
    assert cell.graph.state.level == ERROR
    cell.until_scale(0.0, 0.2, -0.9)
    cell.until_action("none", 0.5)
    assert cell.values["time_to_collision"] == cell.values["braking_clearance"] == "inf"
    assert cell.set(braking_decelerations=["l_*=1000.0"]).successful
    cell.until_action("approach", 0.14, -0.9)


def waypoints(*gaps_and_times, velocities=()):
    """A trajectory through these (gap, seconds, speed of the gap), the latter with velocities."""
    points = [
        JointTrajectoryPoint(
            positions=apart(gap), velocities=[0.0, 0.0, speed, 0.0] if velocities else [],
            time_from_start=Duration(sec=int(t), nanosec=int(1e9 * (t % 1.0))),
        )
        for gap, t, speed in gaps_and_times
    ]  # fmt: skip
    return JointTrajectory(joint_names=JOINTS, points=points)


# The start of a plan is not exactly where the robot stands: off by noise, the other way.
COMMANDS = {
    "a goal": (((0.2, 1.0, 0.0),), ((-0.1, 1.0, 0.0),)),
    "from a start": (((-0.024, 0.0, 0.0), (0.2, 1.0, 0.0)), ((-0.016, 0.0, 0.0), (-0.1, 1.0, 0.0))),
    "slowly at first": (
        ((-0.024, 0.0, 0.0), (-0.0239, 0.01, 0.02), (-0.01, 0.2, 0.1), (0.2, 1.0, 0.0)),
        ((-0.016, 0.0, 0.0), (-0.0161, 0.01, -0.02), (-0.03, 0.2, -0.1), (-0.1, 1.0, 0.0)),
    ),
    "from a start for later": (
        ((-0.021, 0.01, 0.0), (0.2, 1.0, 0.0)),
        ((-0.019, 0.01, 0.0), (-0.1, 1.0, 0.0)),
    ),
}


@pytest.mark.parametrize("velocities", [False, True])
@pytest.mark.parametrize("way", COMMANDS)
def test_a_robot_that_stands_in_contact_may_say_where_it_would_go(cell, way, velocities):
    cell.until_action("stop", -0.02)
    publisher = cell.graph.node.create_publisher(JointTrajectory, f"{ME}/command", 10)

    def command(points):
        publisher.publish(waypoints(*points, velocities=velocities))
        cell.send(-0.02)

    out, deeper = COMMANDS[way]
    cell.graph.until(lambda: cell.values["action"] == "limit", 10, lambda: command(out))
    cell.graph.until(lambda: cell.values["action"] == "stop", 10, lambda: command(deeper))
    for _ in range(20):
        command(deeper)
        cell.graph.spin(0.02)
        assert cell.values["action"] == "stop"
    cell.graph.node.destroy_publisher(publisher)


def test_a_latched_stop_waits_for_confirmation_and_reset(cell):
    assert cell.set(latch_stops=True, acknowledge_stops=True).successful
    stops = int(cell.values["stops"])
    cell.until_action("stop", 0.01)
    assert int(cell.values["stops"]) == stops + 1
    assert cell.ask("reset") == (
        False, "the stop has not been acknowledged: call ~/acknowledge first",
    )  # fmt: skip
    assert cell.ask("acknowledge") == (True, "acknowledged; the stop is latched until ~/reset")
    cell.until(lambda: "until ~/reset is called; now clear" in cell.graph.state.message, 0.5)
    assert cell.graph.state.level == ERROR
    assert cell.graph.heard["safe"][-1].data is False
    assert cell.graph.heard["speed_scale"][-1].data == 0.0
    assert cell.ask("reset") == (True, "released")
    cell.until_action("none", 0.5)
    assert cell.ask("reset") == (True, "no stop is latched")


def test_disabled_it_does_nothing_and_says_so(cell):
    cell.until_action("stop", 0.01)
    answer = cell.graph.call(SetBool, f"{ME}/enable", data=False)
    said = "disabled: the robot is neither slowed nor stopped"
    assert (answer.success, answer.message) == (True, said)
    cell.until(lambda: cell.graph.state.message.startswith("disabled by ~/enable"), 0.01)
    assert (cell.values["action"], cell.values["enabled"]) == ("none", "false")
    assert cell.graph.heard["safe"][-1].data is False
    cell.until_scale(1.0, 0.01)
    cell.until(lambda: cell.graph.state.level == WARN, 0.5)
    cell.graph.call(SetBool, f"{ME}/enable", data=True)
    cell.until_action("stop", 0.01)


class Driver:
    """A driver's service that fails a given number of times."""

    def __init__(self, cell, kind, name, fails):
        self.kind, self.fails, self.calls = kind, fails, []
        self.service = cell.graph.node.create_service(kind, name, self.answer)
        self.cell = cell

    def answer(self, request, answer):
        self.calls.append(getattr(request, "data", None))
        self.fails -= 1
        answer.success = self.fails < 0
        answer.message = "" if answer.success else "the brake is busy"
        return answer

    def close(self):
        self.cell.graph.node.destroy_service(self.service)


def test_a_driver_is_called_once_for_a_stop_and_again_where_it_fails(cell):
    driver = Driver(cell, SetBool, "/driver/halt", fails=2)
    assert cell.set(stop_service="/driver/halt", stop_service_data=True).successful
    cell.until(lambda: "stop_service" in cell.values, 0.5)
    assert driver.calls == []
    cell.until_action("stop", 0.01)
    cell.until(lambda: cell.values["stop_service"] == "/driver/halt: done", 0.01)
    assert driver.calls == [True] * 3
    for _ in range(50):
        cell.send(0.01)
        cell.graph.spin(0.01)
    assert len(driver.calls) == 3
    driver.close()


def test_a_stop_service_that_fails_is_reported(cell):
    assert cell.set(stop_service="/nobody/there", stop_service_attempts=2).successful
    cell.until_action("stop", 0.01)
    cell.until(lambda: "FAILED" in cell.values["stop_service"], 0.01)
    assert cell.values["stop_service"] == (
        "/nobody/there: FAILED after 2 attempts: there is no such service"
    )
    cell.until_action("none", 0.5)
    assert "FAILED" in cell.values["stop_service"]  # until the next stop
    driver = Driver(cell, Trigger, "/driver/bad", fails=99)
    assert cell.set(stop_service="/driver/bad").successful
    cell.until_action("stop", 0.01)
    cell.until(lambda: "FAILED after 2 attempts: the brake is busy" in cell.values["stop_service"],
               0.01)  # fmt: skip
    assert len(driver.calls) == 2
    driver.close()


def test_pairs_have_distances_of_their_own_while_it_runs(cell, written):
    assert cell.set(pair_thresholds=["r_* l_* warn=0.6 stop=0.4"]).successful
    cell.until_action("slowdown", 0.5)
    cell.until_scale(0.5, 0.5)
    path = written("thresholds.yaml", "pairs: [{pair: 'l_ball r_ball', warn: 0.9, stop: 0.55}]")
    assert cell.set(thresholds_file=str(path), pair_thresholds=[""]).successful
    cell.until_action("stop", 0.5)
    path.unlink()
    assert cell.set(warn_distance=0.11).successful  # the file is read when it is set
    assert cell.set(thresholds_file="", warn_distance=0.1).successful


def test_what_is_refused_has_a_reason_and_is_not_in_force(cell):
    for values, says in (
        ({"pair_thresholds": ["nobody r_ball warn=0.2"]}, "'nobody r_ball' matches none of the"),
        ({"braking_decelerations": ["elbow=2"]}, "'elbow=2' matches no joint"),
        ({"latch_stops": True, "stop_distance": 0.5}, "above warn_distance"),
        ({"warn_distance": 0.6, "release_cycles": 0}, "release_cycles"),
    ):
        result = cell.set(**values)
        assert not result.successful and says in result.reason
    cell.until_action("stop", 0.01)
    cell.until_action("none", 0.5)
    assert float(cell.values["warn_distance"]) == 0.1


def test_out_of_contact_the_way_is_said_and_free(cell):
    cell.until_action("stop", -0.02)
    way = dict(item.split("=") for item in cell.values["way_out"].split())
    assert float(way["r_x"]) < 0.0 < float(way["l_x"])
    cell.until(lambda: "collision: at most 0.020 m deep" in cell.graph.state.message, -0.02)
    cell.until_action("limit", -0.02, 0.2)
    cell.until_scale(0.25, -0.02, 0.2)
    assert cell.graph.heard["safe"][-1].data is False
    cell.until_action("none", 0.5, 0.2)
    assert "way_out" not in cell.values

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A node self_collision, and all that stands around it, for tests."""

import struct
import time

import numpy as np

from collision_monitor.nodes.common.messages import duration_message
from support.robots.two_slides import JOINTS, URDF, apart
from support.ros.ros_graph import Graph

from builtin_interfaces.msg import Duration  # isort: skip
from rclpy.serialization import serialize_message  # isort: skip
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # isort: skip


class Cell:
    """A node, a robot that stands somewhere, and somebody who wants it to move."""

    def __init__(self, urdf, names, *parameters, environment=None):
        self.graph = Graph("/self_collision")
        self.names, self.q = list(names), None
        self.wanted = self.graph.node.create_publisher(
            JointTrajectory, "/self_collision/desired_trajectory", 10
        )
        self.points = self.graph.node.create_publisher(
            JointTrajectory, "/self_collision/desired_point", 10
        )
        self.graph.listen("joint_trajectory", JointTrajectory, 100)
        self.process = self.graph.start(
            *(x for p in (f"robot_description:={urdf}", *parameters) for x in ("-p", p)),
            node="self_collision",
            environment=environment,
        )

    @property
    def sent(self):
        return self.graph.heard["joint_trajectory"]

    @property
    def values(self):
        """Key-values of the last state; not of one that is published for a blocked node."""
        for state in reversed(self.graph.heard["state"]):
            values = {item.key: item.value for item in state.values}
            if "event" in values:
                return values
        return {}

    @property
    def message(self):
        return self.graph.state.message

    def beat(self):
        if self.q is not None:
            self.graph.send(self.names, self.q)

    def until(self, condition, seconds=60.0):
        def holds():
            assert self.process.poll() is None, self.graph.stop(self.process)
            return self.graph.heard["state"] and condition()

        self.graph.until(holds, seconds, self.beat)

    def stand(self, q, seconds=60.0):
        """Stand there until the node believes it and is heard by all."""
        self.q = list(map(float, q))
        self.until(
            lambda: self.values.get("joint_states") == "fresh"
            and self.wanted.get_subscription_count()
            and self.points.get_subscription_count()
            and self.graph.node.count_publishers("/self_collision/joint_trajectory"),
            seconds,
        )

    def spin(self, seconds=0.3):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.beat()
            self.graph.spin(0.02)

    def until_fresh(self):
        """Send joint states until the node has them: making or checking points takes long."""
        self.spin(0.1)
        since = len(self.graph.heard["state"])
        self.until(
            lambda: len(self.graph.heard["state"]) > since
            and self.values["joint_states"] == "fresh"
        )

    def trajectory(self, rows, times, names=None, stamp=0.0):
        """``stamp``: seconds from now; 0 for none."""
        if stamp:
            stamp += 1e-9 * self.graph.node.get_clock().now().nanoseconds
        return trajectory(self.names if names is None else names, rows, times, stamp)

    def want(self, *arguments, seconds=60.0, **options):
        """Send a trajectory and wait for the verdict; what came out, if anything."""
        message, sent = self.trajectory(*arguments, **options), len(self.sent)
        self.spin(0.1)  # many points take long to make, and joint states go on
        before = int(self.values["request"])
        self.wanted.publish(message)
        self.until(
            lambda: int(self.values["request"]) > before
            and self.values["event"] in ("forwarded", "refused"),
            seconds,
        )
        if self.values["event"] == "forwarded":
            self.until(lambda: len(self.sent) > sent)
            assert len(self.sent) == sent + 1
            return self.sent[-1]
        self.spin(0.3)
        assert len(self.sent) == sent, "refused, and something came out"
        return None

    def close(self):
        self.graph.close()


def trajectory(names, rows, times, stamp=0.0):
    """A JointTrajectory; ``stamp`` in seconds."""
    message = JointTrajectory(joint_names=list(names))
    start = duration_message(stamp)
    message.header.stamp.sec, message.header.stamp.nanosec = start.sec, start.nanosec
    message.points = [
        JointTrajectoryPoint(
            positions=[float(x) for x in row], time_from_start=duration_message(float(t))
        )
        for row, t in zip(rows, times, strict=True)
    ]
    return message


def rows_of(message):
    return np.array([point.positions for point in message.points])


def times_of(message):
    stamps = [point.time_from_start for point in message.points]
    return np.array([t.sec + 1e-9 * t.nanosec for t in stamps])


def serialized(message, count, period):
    """The message as bytes, with ``count`` points: its last one again and again, in time.

    A million objects and their serialization would take half a minute.
    """
    sentinel = 123_456_789  # nanoseconds; what follows in the bytes is not of the message
    message.points = [message.points[-1]] * 3
    message.points[-1].time_from_start = Duration(sec=0, nanosec=sentinel)
    tail, three = struct.pack("<iI", 0, sentinel), struct.pack("<I", 3)
    for message.header.frame_id in ("", "base"):  # with one of them there is no padding
        first, second, third, _ = serialize_message(message).split(tail, 3)
        size = len(third) + len(tail)
        assert len(second) == len(third)
        head = first[: len(first) + len(tail) - size]
        if head.endswith(three):
            break
    assert head.endswith(three)
    kind = np.dtype([("numbers", f"V{size - 8}"), ("sec", "<i4"), ("nanosec", "<u4")])
    points = np.frombuffer((third + tail) * count, dtype=kind).copy()
    points["sec"], points["nanosec"] = np.divmod(np.arange(count) * round(period * 1e9), 10**9)
    return head.removesuffix(three) + struct.pack("<I", count) + points.tobytes()


def set_parameters(cell, **values):
    """Set parameters of the node; the result."""
    return cell.graph.set_parameters("/self_collision", cell.beat, **values)


def slides_cell(folder, *parameters):
    """A node for the robot of four slides, whose file goes to ``folder``."""
    (folder / "slides.urdf").write_text(URDF)
    return Cell(
        folder / "slides.urdf", (*JOINTS, "mast_joint"),
        "right_base_link:=base", "right_tip_link:=r_ball",
        "left_base_link:=base", "left_tip_link:=l_ball", *parameters,
    )  # fmt: skip


def stand_apart(cell, gap=0.5):
    """Let the robot of four slides stand with its balls ``gap`` metres apart."""
    cell.stand([*apart(gap), 0.0])

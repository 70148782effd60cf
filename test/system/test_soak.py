# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The soak test, and its observer, which finds a monitor that publishes too large distances."""

import json
import subprocess
import sys
from types import SimpleNamespace as Message

import numpy as np
import pytest
from support.paths import ROOT

for name in ("mcap", "rosbags", "pinocchio", "coal"):
    pytest.importorskip(name)
sys.path.append(str(ROOT / "benchmarks"))

from soaking.robot import CONTACT, JOINTS, description  # noqa: E402
from soaking.scene import ADD, CUBE, DELETE, SPHERE  # noqa: E402
from soaking.truth import Observer  # noqa: E402

from collision_monitor import CollisionModel  # noqa: E402
from collision_monitor.model.live.live_scene import LiveScene  # noqa: E402
from collision_monitor.robot.description import Shape  # noqa: E402

SOAK = ROOT / "benchmarks" / "soak.py"
SECOND = 10**9
APART = (0.0, 0.9, 0.2, 0.1, 0.0, -0.9, 0.2, 0.1)
PLACE = (0.1, -0.3, 0.3)
OK, WARN, ERROR = 0, 1, 2


def vector(x=0.0, y=0.0, z=0.0, **more):
    return Message(x=x, y=y, z=z, **more)


def stamp(now):
    return Message(sec=now // SECOND, nanosec=now % SECOND)


class Told:
    """An observer that is told one thing after another, a millisecond apart."""

    def __init__(self, variant=0):
        self.observer, self.now = Observer(), 1000 * SECOND
        self.take_robot(variant)

    def take(self, topic, message):
        self.now += SECOND // 1000
        self.observer.take(topic, message, self.now)

    def take_robot(self, variant):
        urdf = description(variant)
        self.model = CollisionModel.from_urdf(urdf)
        self.take("robot_description", Message(data=urdf))
        self.say_pairs()

    def say_pairs(self, more=()):
        pairs = [*self.model.pairs, *more]
        self.take("pair_names", Message(data="\n".join(f"{a} {b}" for a, b in pairs)))

    def marker(self, topic="scene", name="o/1", size=0.1, at=(1.5, 0.0, 0.5), frame="base",
               action=ADD, touch="", sent=None):  # fmt: skip
        ns, number = name.split("/")
        marker = Message(
            ns=ns, id=int(number), action=action, text=touch,
            type=CUBE if size else SPHERE,
            header=Message(frame_id=frame, stamp=stamp(self.now if sent is None else sent)),
            lifetime=Message(sec=0, nanosec=0),
            scale=vector(size, size, size), points=[],
            pose=Message(position=vector(*at), orientation=vector(w=1.0)),
        )  # fmt: skip
        self.take(topic, Message(markers=[marker]))

    def joint_state(self, q):
        header = Message(stamp=stamp(self.now))
        self.take("joint_states", Message(header=header, name=list(JOINTS), position=list(q)))

    def distance(self, q, metres):
        """A joint state and an answer; what the observer says to it."""
        self.joint_state(q)
        self.take("min_distance", Message(data=metres))
        return self.faults()

    def state(self, level, text=""):
        self.take("state", Message(level=level, message=text, values=[]))

    def faults(self):
        found, self.observer.faults = self.observer.faults, []
        return found


def own(model, q):
    return model.distance(np.array(q)).distance


def test_what_the_library_says_is_never_too_far_and_a_little_more_is():
    told = Told()
    rows = told.model.random_configurations(100, seed=2)
    for q in rows:
        assert told.distance(q, own(told.model, q)) == []
    exact = told.observer.margins
    assert len(exact) == 100 and min(exact) > -1e-6
    near = min(rows, key=lambda q: abs(own(told.model, q) - 0.3))
    truth = own(told.model, near) + told.observer.margins[rows.tolist().index(near.tolist())]
    assert told.distance(near, truth - 1e-4) == []
    (fault,) = told.distance(near, truth + 1e-4)
    assert "though the truth is" in fault
    (fault,) = told.distance(CONTACT, 0.001)
    assert "0.001000 m though the truth is" in fault


@pytest.mark.parametrize("topic", ["scene", "attach"])
def test_obstacles_count_where_they_are_and_on_what_carries_them(topic):
    told = Told()
    live = LiveScene(told.model)
    frame = "base" if topic == "scene" else "left_arm_4"
    touch = "" if topic == "scene" else "left_arm_3"
    told.marker(topic, size=0.3, at=PLACE, frame=frame, touch=touch)
    live.add("o/1", Shape("box", np.eye(4), (0.3, 0.3, 0.3)), frame, _at(*PLACE), touch.split())
    decides = 0
    for q in told.model.random_configurations(60, seed=3):
        alone, with_object = own(told.model, q), live.distance(q).distance
        assert told.distance(q, min(alone, with_object)) == []
        margin = told.observer.margins[-1]
        assert -1e-6 < margin < 0.2  # leaves around a box stand off
        if with_object < alone - 0.15:
            decides += 1
            assert told.distance(q, alone), "a monitor that does not know of it says too much"
    assert decides > 3 and told.observer.counts["of_objects"] > decides
    told.say_pairs(live.pairs)
    assert told.faults() == []
    told.say_pairs(live.pairs[1:])
    assert "are not among the pairs" in told.faults()[0]
    told.marker(action=DELETE)
    assert told.distance(APART, own(told.model, APART)) == []


def _at(x, y, z):
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


def test_a_missed_alarm_is_one_and_an_alarm_is_counted():
    told = Told()
    told.state(OK)
    told.distance(APART, own(told.model, APART))
    told.distance(CONTACT, -0.05)
    told.state(ERROR)
    told.distance(CONTACT, -0.05)
    assert told.faults() == [] and told.observer.counts["alarms"] == 1
    told.state(OK)
    told.joint_state(CONTACT)
    (fault,) = told.faults()
    assert "level 0 though the truth is" in fault


@pytest.mark.parametrize("level", [WARN, ERROR])
def test_what_is_without_received_changes_is_excused_while_the_state_says_so(level):
    told = Told()
    told.marker(size=0.3, at=PLACE)
    too_far = own(told.model, APART) + 0.1
    behind = "clear; changes of the scene are not applied yet: 3 messages"
    told.state(OK, behind)
    assert "level 0 though changes" in told.faults()[0]
    told.state(level, behind)
    told.say_pairs()
    assert told.distance(APART, too_far) == []
    assert told.observer.counts["distances_behind"] == 1
    told.state(level, "clear")
    told.say_pairs()
    assert "are not among the pairs" in told.faults()[0]
    assert "though the truth is" in told.distance(APART, too_far)[0]


@pytest.mark.parametrize(
    ("level", "waited", "faults"), [(OK, 2.0, 1), (ERROR, 2.0, 0), (OK, 0.6, 0)]
)
def test_calm_while_a_scene_message_waits_is_a_fault(level, waited, faults):
    told = Told()
    sent = told.now
    told.state(level)
    for _ in range(20):
        told.now += int(waited * SECOND / 20)
        told.joint_state(APART)
    told.marker(sent=sent)
    found = told.faults()
    assert len(found) == faults and all("a message on scene was" in fault for fault in found)


@pytest.mark.slow
def test_a_monitor_among_moving_obstacles_neither_fails_nor_misses_an_alarm():
    """A dozen seconds of the soak; benchmarks/soak.py runs for as long as one likes."""
    pytest.importorskip("rclpy", reason="rclpy is not installed")
    # It takes longer only where a machine is so slow that no robot is loaded meanwhile.
    done = subprocess.run(
        [sys.executable, str(SOAK), "--minutes", "0.2", "--rate", "200", "--scene-rate", "50",
         "--json"],
        capture_output=True, text=True, timeout=580,
    )  # fmt: skip
    assert done.stdout, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["faults"] == found["weak"] == [] and done.returncode == 0
    seen, counts = found["observer"], found["clients"]
    assert seen["distances"] > 100 and seen["truth_minus_said_m"]["least"] > -1e-6
    assert seen["below_stop"] > seen["objects_below_stop"] > 0
    assert seen["scene"] == counts["scene"] > 100 and seen["attach"] == counts["attach"] > 0
    assert seen["lifetimes_that_mattered"] < 0.1 * seen["distances"]
    assert seen["refused"] > 0 and len(seen["robots"]) > 1
    assert counts["parameters set"] > 5 and counts["parameters refused"] > 5
    assert counts["listeners and clients"] > 10
    began, *_, ended = found["memory_mb"]
    assert ended < began + 200.0  # the ring of the recording is a few of them

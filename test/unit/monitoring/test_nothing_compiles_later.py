# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels are compiled before joint states arrive: by `warm-up`, or when a monitor is made."""

import os
import subprocess
import sys

import pytest
from support.paths import ROOT

pytestmark = pytest.mark.early

PROGRAM = """
import gc
import numpy as np
from numba.core import event
from numba.core.dispatcher import Dispatcher
from collision_monitor import CollisionModel
from collision_monitor.cli.demo import package_file
from collision_monitor.motion.motion_files import read_motion
from support.robots.toys import chain
from support.robots.two_slides import JOINTS, apart, model
from collision_monitor.__main__ import main
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.live.point_cloud import voxels_of, warm_up
from collision_monitor.monitoring.speed_policy.speed_policy import SpeedPolicy
from collision_monitor.monitoring.monitor import Monitor
from collision_monitor.robot.description import Shape

def versions():
    return {d.py_func.__qualname__: len(d.signatures)
            for d in gc.get_objects() if isinstance(d, Dispatcher)}

def approach(monitor):
    for k in range(20):
        now = 50.0 + 0.02 * k
        state = monitor.update([*JOINTS, "mast_joint"], (*apart(0.2 - 0.02 * k), 0.3), now, now)
        monitor.behaviour.time_to_collision(monitor.buffer.q)
        monitor.distances()
        monitor.behaviour.escape_direction(monitor.buffer.q)
    assert state.clearance.distance < 0.0 and state.action == "stop"

# Without shapes and a behaviour, only what every joint state asks for is there.
robot = model()
q = np.zeros(len(robot.joint_names))
Monitor(robot, behaviour=None, narrow_phase="leaf")
before = versions()
for ask in (robot.distance, robot.distances, robot.contacts, robot.leaf_segments, robot.link_poses):
    ask(q)
after = versions()
assert after == before, {name: n for name, n in after.items() if before.get(name) != n}

monitor = Monitor(model(), 0.1, 0.02)
before = versions()
assert sum(before.values()) > 10
assert not before["list_crossings"]  # only markers need them
approach(monitor)
after = versions()
assert after == before, {name: n for name, n in after.items() if before.get(name) != n}

# Objects come later.
robot = model()
live = LiveScene(robot)
policy = SpeedPolicy(robot, live=live)
monitor = Monitor(robot, narrow_phase="auto", behaviour=policy, live=live)
warm_up()
before = versions()
approach(monitor)
mesh = Shape("mesh", np.eye(4), (), 0.1 * np.eye(3), np.array([[0, 1, 2]]))
pose = np.eye(4)
for k, shape in enumerate((Shape("box", np.eye(4), (0.1, 0.1, 0.1)), mesh)):
    for z in (50.0, 0.3, 0.1, 0.0):
        pose[2, 3] = z
        live.add(f"thing/{k}", shape, pose=pose)
        approach(monitor)
    live.attach(f"thing/{k}", robot.robot.joints[0].child, monitor.buffer.q)
    approach(monitor)
live.set_cloud(voxels_of(np.zeros((1, 3)), pose, np.zeros((1, 6)), np.zeros(1), 0.0, 0.1, 9).balls)
approach(monitor)
after = versions()
assert after == before, {name: n for name, n in after.items() if before.get(name) != n}

# Several pairs at once are other arrays than one.
arms = CollisionModel.from_urdf(package_file("urdf/dual_arm.urdf"))
motion = read_motion(package_file("config/dual_arm_motion.csv"))
monitor = Monitor(arms)
before = versions()
actions = set()
for k, q in enumerate(motion.positions):
    now = 50.0 + 0.01 * k
    actions.add(monitor.update(motion.joint_names, q, now, now).action)
assert {"none", "stop"} < actions
after = versions()
assert after == before, {name: n for name, n in after.items() if before.get(name) != n}

assert main(["warm-up"]) == 0
with event.install_recorder("numba:compile") as compiled:
    robot = model()
    robot.prepare_exact(crossings=True)
    robot.sampled_distances(True)
    q = np.zeros(len(robot.joint_names))
    q.flags.writeable = False
    robot.distance(q, exact=True)
    live = LiveScene(robot)
    approach(Monitor(robot, behaviour=SpeedPolicy(robot, live=live), live=live))
    ball = {"name": "ball", "type": "sphere", "radius": 0.1, "position": [0, 3, 0]}
    lone = CollisionModel.from_urdf(chain(2), scene={"obstacles": [ball]})  # one joint, one pair
    Monitor(lone).update(["j1"], [0.1], 50.0, 50.0)
names = [found[1].data["dispatcher"].py_func.__qualname__ for found in compiled.buffer]
assert not names, names
"""


def test_a_monitor_compiles_nothing_after_it_is_made_and_after_a_warm_up_nothing_at_all():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT / "test", env=os.environ,
        capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]

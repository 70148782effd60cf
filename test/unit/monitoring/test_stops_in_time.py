# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A robot that does as it is told does not touch anything, as coal sees it."""

import numpy as np
import pytest
from support.geometry.exact_reference import ExactReference
from support.geometry.reference import Reference
from support.robots.braking_robot import BrakingRobot
from support.robots.robots import require

from collision_monitor import CollisionModel
from collision_monitor.cli.demo import package_file
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.monitoring.monitor import Monitor
from collision_monitor.monitoring.settings import SpeedSettings
from collision_monitor.monitoring.speed_policy.speed_policy import SpeedPolicy

pytestmark = pytest.mark.early

WARN, STOP = 0.08, 0.01
# One joint state, two periods until it is obeyed, and what velocities lag behind.
REACTION = 0.05
CELL = {
    "obstacles": [
        {"name": "table", "type": "box", "size": [1.4, 1.4, 0.1], "position": [0, 0, -0.15]},
        {"name": "post", "type": "cylinder", "radius": 0.05, "length": 1.2,
         "position": [0.5, 0.2, 0.6]},
        {"name": "lamp", "type": "sphere", "radius": 0.1, "position": [-0.3, -0.4, 0.7]},
    ],
    "ignore": [["base_link", "table"], ["shoulder_link", "table"]],
}  # fmt: skip


def ur5():
    files = require("ur5")
    model = CollisionModel.from_urdf(
        files.urdf, srdf=files.srdf, package_dirs=files.package_dirs, scene=CELL
    )
    return model, Reference(files.urdf, list(files.package_dirs), model)


def dual_arm():
    urdf = package_file("urdf/dual_arm.urdf")
    model = CollisionModel.from_urdf(
        urdf, srdf=package_file("urdf/dual_arm.srdf"),
        scene=str(package_file("urdf/dual_arm_scene.yaml")),
    )  # fmt: skip
    return model, Reference(urdf, [urdf.parent.parent.parent], model)


def motions(model, limits, accelerations, count, seed):
    """(Start, wanted velocities): at rest in the clear, in contact within 1.5 s if not stopped."""
    rng = np.random.default_rng(seed)
    found = []
    while len(found) < count:
        q = rng.uniform(np.maximum(model.lower, -2.5), np.minimum(model.upper, 2.5))
        if (model.distances(q, exact=True, within=WARN) <= limits[:, 1]).any():
            continue
        speeds = np.minimum(model.velocity_limits, 2.5)
        v = rng.uniform(-1.0, 1.0, len(q)) * speeds
        times = np.arange(0.0, 1.5, 0.01)[:, None]
        up = np.minimum(times, np.abs(v) / accelerations)
        rows = q + np.sign(v) * 0.5 * accelerations * up**2 + v * (times - up)
        if (
            model.min_distances(rows).min() < -0.02
            and min(model.distance(row, exact=True).distance for row in rows[::5]) < -0.005
        ):
            found.append((q, v))
    return found


@pytest.fixture(scope="module", params=[(ur5, 8), (dual_arm, 4)], ids=["ur5", "dual_arm"])
def cell(request):
    """(model, what coal says, thresholds, decelerations, motions)."""
    load, count = request.param
    model, reference = load()
    thresholds, policy = Thresholds(WARN, STOP), SpeedPolicy(model)
    policy.set_thresholds(thresholds)
    accelerations = np.full(len(model.joint_names), 4.0)
    some = motions(model, policy.thresholds, accelerations, count, 3)
    return model, ExactReference(model, reference), thresholds, accelerations, some


def driven(cell, q, v, **options):
    """The robot after 1.6 s."""
    model, _, thresholds, accelerations, _ = cell
    prediction = options.pop("prediction", True)
    settings = SpeedSettings(reaction_time=REACTION, prediction=prediction)
    behaviour = SpeedPolicy(model, settings, accelerations)
    monitor = Monitor(model, zero_state_confirmation=0.0, behaviour=behaviour)
    monitor.set_thresholds(thresholds)
    robot = BrakingRobot(monitor, q, accelerations, **options)
    robot.run(v, 1.6, obeys=options.get("obeys", True))
    return robot


def test_no_motion_that_obeys_the_speed_scale_ends_in_contact_and_each_one_starts(cell):
    model, coal, _, _, some = cell
    for k, (q, v) in enumerate(some):
        robot = driven(cell, q, v, gives_velocities=bool(k % 2), noise=2e-5, seed=k)
        path = np.array(robot.path)
        assert min(model.distance(row, exact=True).distance for row in path[::4]) > 0.0
        for row in path[::80]:
            assert coal.least(row, 0.0)[0] > 0.0
        assert np.abs(path[-1] - path[0]).max() > 0.05
        assert min(state.speed_scale for state in robot.states) < 0.5


def test_the_same_robot_without_a_look_ahead_touches(cell):
    """So that the test above can fail."""
    model, _, _, _, some = cell
    assert any(
        model.distance(row, exact=True).distance < 0.0
        for q, v in some
        for row in driven(cell, q, v, prediction=False).path[::4]
    )

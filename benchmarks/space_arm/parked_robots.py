# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A real robot between two fixed copies of itself, and short motions among them.

The copies are links of the robot, fixed to its root: like the modules of the space arm's station
they have leaves of the same fit, and stand still.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from support.robots.robots import RobotFiles

from collision_monitor import CollisionModel
from collision_monitor.fitting.fitter import FITS, given_leaves
from collision_monitor.fitting.shapes import FitSettings
from collision_monitor.robot.description import Joint, Link
from collision_monitor.robot.srdf import Semantics, load_srdf
from collision_monitor.robot.urdf import load_robot

ASIDE = 1.0  # m along y to each side: within reach
SPEED = 0.5  # rad/s (or m/s) of the fastest joint
MOTIONS, CYCLES = 12, 50  # how many motions, each of so many cycles


def load_between_copies(
    files: RobotFiles, max_leaves_per_link: int | None = None, fit: str = FITS[0]
) -> CollisionModel:
    """The robot between its copies, which have the joint positions of a random configuration."""
    robot = load_robot(files.urdf, files.package_dirs)
    semantics = Semantics() if files.srdf is None else load_srdf(files.srdf, robot)
    alone = CollisionModel(robot, semantics, settings=FitSettings(1))
    poses = alone.link_poses(alone.random_configurations(1, seed=4)[0])
    links, joints = dict(robot.links), list(robot.joints)
    for side in (-ASIDE, ASIDE):
        for name in alone.link_names:
            origin = poses[name].copy()
            origin[1, 3] += side
            copy = f"copy at {side:+g} m: {name}"
            links[copy] = Link(copy, robot.links[name].shapes)
            joints.append(Joint(copy, "fixed", robot.root, copy, origin, np.array([0.0, 0.0, 1.0])))
    robot = replace(robot, links=links, joints=tuple(joints))
    settings = FitSettings() if max_leaves_per_link is None else FitSettings(max_leaves_per_link)
    leaves = given_leaves(robot, settings, fit=fit)
    return CollisionModel(robot, semantics, None, settings, leaves)


def motions(model: CollisionModel, cycle: float) -> np.ndarray:
    """Joint positions (n, nq), a row a cycle: straight motions that begin without contact."""
    starts = []
    for q in model.random_configurations(100 * MOTIONS, seed=5):
        if model.distance(q, exact=True, any_contact=True).distance > 0.0:
            starts.append(q)
        if len(starts) == 2 * MOTIONS:
            break
    rows = []
    for start, end in zip(starts[::2], starts[1::2], strict=False):
        way = end - start
        rows.append(start + np.arange(CYCLES)[:, None] * SPEED * cycle * way / np.abs(way).max())
    return np.clip(np.vstack(rows), model.lower, model.upper)

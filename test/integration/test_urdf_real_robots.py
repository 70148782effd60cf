# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Real robots load as they are, and are what pinocchio and coal make of the same files."""

import coal
import numpy as np
import pytest
from support.robots.robots import NAMES, require

from collision_monitor.robot.srdf import load_srdf
from collision_monitor.robot.urdf import load_robot

pin = pytest.importorskip("pinocchio")


def by_pinocchio(files):
    """(model, collision geometry) of a robot."""
    model = pin.buildModelFromUrdf(str(files.urdf))
    geometry = pin.buildGeomFromUrdf(
        model, str(files.urdf), pin.GeometryType.COLLISION,
        package_dirs=[str(folder) for folder in files.package_dirs],
    )  # fmt: skip
    return model, geometry


@pytest.fixture(scope="module", params=NAMES)
def both(request):
    files = require(request.param)
    model, geometry = by_pinocchio(files)
    return load_robot(files.urdf), model, geometry


def _frame(model, name, kind=pin.FrameType.BODY):
    return model.frames[model.getFrameId(name, kind)]


def _link_pose(model, name) -> np.ndarray:
    """Return a link's pose (4, 4) in the frame of the joint that moves it."""
    return np.asarray(_frame(model, name).placement.homogeneous)


def test_root_and_links(both):
    robot, model, _ = both
    bodies = {f.name for f in model.frames if f.type == pin.FrameType.BODY}
    assert set(robot.links) == bodies
    assert robot.name == model.name


def test_joints_and_their_limits(both):
    """Where they are, and about which axes they turn, is in test_real_robots.py."""
    robot, model, _ = both
    assert {j.name for j in robot.joints if j.moves} == set(model.names[1:])
    for joint in (joint for joint in robot.joints if joint.moves):
        number = model.getJointId(joint.name)
        if joint.kind != "continuous":
            at = model.idx_qs[number]
            assert joint.lower == pytest.approx(model.lowerPositionLimit[at], abs=1e-6)
            assert joint.upper == pytest.approx(model.upperPositionLimit[at], abs=1e-6)
        if np.isfinite(joint.velocity):
            limit = model.upperVelocityLimit[model.idx_vs[number]]
            assert joint.velocity == pytest.approx(limit, abs=1e-6)


def test_every_shape_lies_where_coal_has_it(both):
    from scipy.spatial import cKDTree

    robot, model, geometry = both
    ours = [(link.name, shape) for link in robot.links.values() for shape in link.shapes]
    assert len(ours) == geometry.ngeoms
    waiting = {name: list(robot.links[name].shapes) for name in robot.links}
    for item in geometry.geometryObjects:
        link = model.frames[item.parentFrame].name
        shape = waiting[link].pop(0)  # both keep the order of the file within a link
        placement = np.asarray(item.placement.homogeneous)
        np.testing.assert_allclose(_link_pose(model, link) @ shape.pose, placement, atol=1e-6)
        other = item.geometry
        if shape.kind == "mesh":
            vertices = np.asarray(other.vertices())
            # coal's reader works in single precision; pinocchio hands it the scale.
            scale = max(1.0, np.abs(vertices).max())
            assert cKDTree(shape.vertices).query(vertices)[0].max() < 1e-6 * scale, shape.source
            assert cKDTree(vertices).query(shape.vertices)[0].max() < 1e-6 * scale, shape.source
        elif shape.kind == "box":
            assert isinstance(other, coal.Box)
            np.testing.assert_allclose(shape.size, 2 * np.asarray(other.halfSide), atol=1e-6)
        elif shape.kind == "cylinder":
            size = (other.radius, 2 * other.halfLength)
            np.testing.assert_allclose(shape.size, size, atol=1e-6)
        else:
            assert isinstance(other, coal.Sphere)
            np.testing.assert_allclose(shape.size, [other.radius], atol=1e-6)
    assert not any(waiting.values())


def test_disabled_pairs_leave_what_pinocchio_keeps():
    for name in NAMES:
        files = require(name)
        if files.srdf is None:
            continue
        model, geometry = by_pinocchio(files)
        semantics = load_srdf(files.srdf, load_robot(files.urdf))
        geometry.addAllCollisionPairs()
        parent = [model.frames[g.parentFrame].name for g in geometry.geometryObjects]
        links = [frozenset((parent[p.first], parent[p.second])) for p in geometry.collisionPairs]
        left = sum(pair not in semantics.disabled for pair in links)
        assert left == files.pairs, name

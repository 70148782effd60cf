# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Hulls of links in motion: points enclose shapes, and bounds hold."""

import numpy as np
import pytest
from support.geometry.scan_cases import random_motion, two_arms, two_motions
from support.geometry.scan_kernels import shape_bound
from support.robots.robots import load_model

from collision_monitor.hierarchy.packed import windows
from collision_monitor.robot.description import Shape
from collision_monitor.robot.shape_kinds import hull_points
from collision_monitor.verification.clearance.schedule import Schedule
from collision_monitor.verification.clearance.shape_scanner import ShapeScanner, link_hulls

POSE = np.eye(4)
POSE[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
POSE[:3, 3] = [0.3, -0.2, 0.1]


def support(points, direction):
    return (points[:, :3] @ direction + points[:, 3]).max()


@pytest.mark.parametrize(
    ("kind", "size", "reach"),
    [
        ("box", (0.2, 0.4, 0.6), lambda x, y, z: 0.1 * abs(x) + 0.2 * abs(y) + 0.3 * abs(z)),
        ("sphere", (0.2,), lambda x, y, z: 0.2),
        ("capsule", (0.1, 0.4), lambda x, y, z: 0.1 + 0.2 * abs(z)),
        ("cylinder", (0.1, 0.4), lambda x, y, z: 0.1 * np.hypot(x, y) + 0.2 * abs(z)),
    ],
)
def test_points_of_shapes_reach_as_far_as_they_do(kind, size, reach):
    points = hull_points([Shape(kind, POSE, size)])
    for direction in np.random.default_rng(0).normal(size=(200, 3)):
        direction /= np.linalg.norm(direction)
        own = reach(*POSE[:3, :3].T @ direction) + direction @ POSE[:3, 3]
        room = 0.0022 * 0.1 if kind == "cylinder" else 0.0
        assert own - 1e-12 <= support(points, direction) <= own + room + 1e-12


def test_points_of_a_mesh_are_its_corners_and_flat_ones_keep_all():
    rng = np.random.default_rng(1)
    vertices = np.vstack([rng.uniform(-1, 1, (200, 3)), [[1.0, 1, 1], [-1, -1, -1]]])
    mesh = Shape("mesh", POSE, (), vertices, np.zeros((1, 3), int))
    points = hull_points([mesh])
    assert len(points) < 120
    for direction in rng.normal(size=(300, 3)):
        placed = vertices @ POSE[:3, :3].T + POSE[:3, 3]
        assert support(points, direction) == pytest.approx((placed @ direction).max(), abs=1e-9)
    flat = np.column_stack([vertices[:, :2], 0.0 * vertices[:, 2]])
    assert len(hull_points([Shape("mesh", np.eye(4), (), flat, np.zeros((1, 3), int))])) == 202


@pytest.fixture(scope="module")
def arms():
    model = two_arms()
    return model, ShapeScanner(model)


def bounds_at(scanner, schedule, pair, time, half):
    """(distance of the shapes, bound of the hulls alone) about an instant."""
    q, motion = schedule.rest.copy(), schedule.packed()
    return shape_bound(
        *scanner.arrays, scanner.shapes, scanner.space(motion.order), motion, time, half, pair, q,
        np.zeros((len(q), 3)),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", [1, 2, 3])
def test_shapes_come_no_nearer(arms, seed, kind):
    model, scanner = arms
    schedule = Schedule(model, random_motion(model, seed, 4, kind))
    rng, held = np.random.default_rng(seed), 0
    for pair in rng.choice(len(model.pairs), 12, replace=False):
        time, half = rng.uniform(0.0, 3.0), 10.0 ** rng.uniform(-3, -0.5)
        distance, bound = bounds_at(scanner, schedule, pair, time, half)
        held += bound > -1e3
        for t in time + half * np.linspace(-1.0, 1.0, 15):
            assert scanner.measure(schedule.configuration(t), pair)[0] >= bound
    assert held > 6


def test_two_parts_with_different_starts_come_no_nearer(arms):
    model, scanner = arms
    schedule = Schedule(model, two_motions(3, 0.4))
    for pair, links in enumerate(model.pairs):
        if {link[0] for link in links} != {"a", "b"}:
            continue
        _, bound = bounds_at(scanner, schedule, pair, 1.4, 0.05)
        for time in np.linspace(1.35, 1.45, 25):
            assert scanner.measure(schedule.configuration(time), pair)[0] >= bound


def meshes_of(model, name):
    return [shape for shape in model.robot.links[name].shapes if shape.kind == "mesh"]


def test_hulls_of_a_real_robot_hold_its_meshes():
    model = load_model("ur5", max_leaves_per_link=1)
    hulls = link_hulls(model)
    points, links = hulls.points.reshape(-1, 4), hulls.links.reshape(-1, 2)
    assert len(links) == len(windows(*model.work_space()).links)
    for name, (first, stop) in zip(model.link_names, links.tolist(), strict=True):
        pose = model.bodies.link_poses[name]
        for shape in meshes_of(model, name):
            whole = pose @ shape.pose
            vertices = shape.vertices @ whole[:3, :3].T + whole[:3, 3]
            for direction in np.random.default_rng(0).normal(size=(50, 3)):
                far = (vertices @ direction).max()
                assert support(points[first:stop], direction) >= far - 1e-9
    assert len(points) < 0.5 * sum(
        len(shape.vertices) for name in model.link_names for shape in meshes_of(model, name)
    )

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Valid masses and inertias for a physics engine, also for incomplete URDFs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import trimesh
from scipy.spatial import ConvexHull, QhullError

from collision_monitor.common.text import shortened
from collision_monitor.robot.bodies import Bodies
from collision_monitor.robot.description import Robot, Shape
from collision_monitor.robot.urdf.inertials import Inertial

_LEAST = 1e-4  # thickness of a hull, m: a flat mesh has none, and MuJoCo wants a volume


def convex_hull(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) and outward triangles (m, 3) of the convex hull of ``points`` (k, 3).

    Points in one plane, on one line or all in one place get a thickness of 0.1 mm.
    """
    points = np.unique(np.asarray(points, dtype=float), axis=0)
    center = points.mean(axis=0)
    _, axes = np.linalg.eigh(np.cov((points - center).T) if len(points) > 1 else np.eye(3))
    local = (points - center) @ axes
    for axis in np.flatnonzero(np.ptp(local, axis=0) < _LEAST):
        shift = np.zeros(3)
        shift[axis] = _LEAST / 2
        local = np.vstack([local - shift, local + shift])
    points = local @ axes.T + center
    try:
        hull = ConvexHull(points)
    except QhullError:
        hull = ConvexHull(points, qhull_options="QJ")
    keep, renumbered = np.unique(hull.simplices, return_inverse=True)
    triangles = renumbered.reshape(-1, 3)
    vertices = points[keep]
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    triangles[inward] = triangles[inward][:, ::-1]
    return vertices, triangles


DENSITY = 1000.0  # kg/m^3, of a body without a mass in the URDF
_LEAST_MASS = 1e-3  # kg
_LEAST_RADIUS = 1e-2  # m: of gyration, of the least inertia


@dataclass(frozen=True, eq=False)
class Principal:
    """A mass along its principal axes: ``axes`` (3, 3) are columns, ``moments`` (3,) kg m^2."""

    mass: float
    centre: np.ndarray
    axes: np.ndarray
    moments: np.ndarray


def link_masses(
    robot: Robot, bodies: Bodies, inertials: Mapping[str, Inertial]
) -> tuple[dict[str, Principal], list[str]]:
    """Masses of all links, and warnings about assumptions.

    A rigid body (links that cannot move against each other) that moves and weighs nothing
    gets the mass of its shapes' hulls at the density of water on one of its links, or 1 g
    where it has no shape. Moments that no solid can have are raised until one can.
    """
    masses = {name: principal(item) for name, item in inertials.items() if name in robot.links}
    warnings = []
    unreal = [
        name
        for name, item in inertials.items()
        if name in robot.links and not item.is_possible
    ]
    if unreal:
        warnings.append(f"links {shortened(unreal)}: no solid has their inertia; it is raised")
    members: dict[int, list[str]] = {}
    for link, body in bodies.link_bodies.items():
        members.setdefault(body, []).append(link)
    weightless = []
    for body, links in members.items():
        if body == 0 or sum(masses[k].mass for k in links if k in masses) >= _LEAST_MASS:
            continue
        carrier = next((link for link in links if robot.links[link].shapes), links[0])
        masses[carrier] = principal(estimate(robot.links[carrier].shapes))
        weightless.append(carrier)
    if weightless:
        warnings.append(
            f"links {shortened(weightless)}: no mass is given; that of their shapes as water is "
            "taken"
        )
    return {name: item for name, item in masses.items() if item.mass > 0.0}, warnings


def principal(inertial: Inertial) -> Principal:
    """Principal axes, right-handed, and moments that a solid can have."""
    moments, axes = np.linalg.eigh(inertial.inertia)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    moments = np.maximum(moments, inertial.mass * _LEAST_RADIUS**2 * 1e-2)
    lacking = moments[2] - moments[0] - moments[1]  # ascending: the others hold by themselves
    if lacking > 0.0:
        moments = moments + lacking
    return Principal(inertial.mass, inertial.centre, axes, moments)


def estimate(shapes: tuple[Shape, ...]) -> Inertial:
    """Mass of the shapes' hulls as water, those of several shapes added up; 1 g at least."""
    solids = [solid(shape) for shape in shapes]
    volume = sum(item.volume for item in solids)
    if DENSITY * volume < _LEAST_MASS:
        return Inertial(_LEAST_MASS, np.zeros(3), _LEAST_MASS * _LEAST_RADIUS**2 * np.eye(3))
    center = sum(item.volume * item.center_mass for item in solids) / volume
    inertia = np.zeros((3, 3))
    for item in solids:
        off = item.center_mass - center
        steiner = item.volume * (off @ off * np.eye(3) - np.outer(off, off))
        inertia += item.moment_inertia + steiner
    return Inertial(DENSITY * volume, center, DENSITY * inertia)


def solid(shape: Shape) -> trimesh.Trimesh:
    """The hull of a shape as a closed mesh in the link's frame."""
    if shape.kind == "mesh":
        mesh = trimesh.Trimesh(*convex_hull(shape.vertices), process=False)
    elif shape.kind == "box":
        mesh = trimesh.creation.box(shape.size)
    elif shape.kind == "sphere":
        mesh = trimesh.creation.icosphere(3, shape.size[0])
    elif shape.kind == "cylinder":
        mesh = trimesh.creation.cylinder(shape.size[0], shape.size[1], sections=48)
    else:
        radius, length = shape.size
        mesh = trimesh.creation.capsule(max(length, 1e-9), radius)
    mesh.apply_transform(shape.pose)
    return mesh

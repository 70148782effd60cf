#!/usr/bin/env python3
# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Make the space arm and the station that carries it: meshes and URDF.

An arm and modules of the size that Zhang Yu, Zhang Deli et al. report for their manipulator:
7 joints, 11 m, diameters 0.3 to 0.5 m, 13 bodies; modules up to 16.5 m long with radii of
1.8 to 4.2 m. Their drawings are not printed: the shapes are ours. The arm is stretched out
along z at zero; its joints are shoulder roll, yaw, pitch, elbow pitch, wrist pitch, yaw, roll.
Frame of the station: x along the core module, forward; y along the laboratories. Bodies that are
not neighbours are more than 0.15 m apart while the arm is stretched, so that no pair of them
needs to be left out.

Usage: ``python urdf/make_space_arm.py [--output DIR] [--check]``. The same bytes come out at
every run; ``--check`` writes nothing and fails if a file differs from what would be made.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import trimesh
from robot_files import mesh_files, write_or_check

PACKAGE = "collision_monitor"
SECTORS = 48
LIMIT = math.radians(270.0)
VELOCITY = math.radians(8.0)  # per second
EFFORT = 1000.0  # N m
ARM_DENSITY = 500.0  # kg/m^3: thin tubes and full joints, in the mean
HULL_DENSITY = 60.0
MOUNT = (-3.2, 0.0, 2.8)  # of the arm on the core module's hull, m

COLOURS = {"white": (0.92, 0.92, 0.90), "gold": (0.80, 0.62, 0.25), "grey": (0.35, 0.37, 0.40)}

# Outlines of the hulls: (station along the axis, radius), a port at each end.
HULLS = {
    "station_core_aft": [
        (-16.5, 0.9), (-16.3, 0.9), (-15.74, 2.4), (-14.4, 3.63), (-12.3, 4.2), (-10.0, 4.2),
        (-8.2, 3.78), (-7.2, 2.8),
    ],
    "station_core_fore": [
        (-9.0, 0.9), (-8.4, 1.95), (-7.5, 2.55), (-6.4, 2.8), (-4.4, 2.8), (-2.4, 2.8),
        (-1.2, 2.3), (-0.5, 1.4), (-0.4, 0.9), (0.0, 0.9),
    ],
    "station_lab": [
        (0.0, 0.9), (0.3, 0.9), (0.5, 1.6), (1.3, 2.2), (2.4, 2.5), (4.8, 2.5), (7.2, 2.5),
        (9.6, 2.5), (12.0, 2.5), (13.1, 2.2), (13.9, 1.6), (14.1, 0.9), (14.4, 0.9),
    ],
}  # fmt: skip
NODE_RADIUS = 1.8
NODE_X = 1.7
# Link: meshes, then the pose of the link on the station.
MODULES = {
    "core_module": (("station_core_aft", "station_core_fore"), "0 0 0", "0 0 0"),
    "node_module": (("station_node",), f"{NODE_X} 0 0", "0 0 0"),
    "lab_module_1": (("station_lab",), f"{NODE_X} 1.65 0", "0 0 PI/2"),
    "lab_module_2": (("station_lab",), f"{NODE_X} -1.65 0", "0 0 -PI/2"),
}

# Joint axis and origin in the link before; then the bodies as
# (name, axis, centre, radius, length), a sphere without axis and length.
ARM = (
    ("shoulder_roll", "z", (0.0, 0.0, 0.0), [("roll", "z", (0.0, 0.0, 0.25), 0.25, 0.46)]),
    ("shoulder_yaw", "x", (0.0, 0.0, 0.55), [("yaw", "x", (0.0, 0.0, 0.0), 0.22, 0.50)]),
    (
        "shoulder_pitch",
        "y",
        (0.0, 0.0, 0.60),
        [
            ("shoulder", "y", (0.0, -0.1, 0.0), 0.22, 0.54),
            ("upper_boom", "z", (0.0, -0.25, 2.025), 0.175, 4.05),
            ("upper_elbow", "y", (0.0, -0.21, 4.05), 0.20, 0.38),
        ],
    ),
    (
        "elbow_pitch",
        "y",
        (0.0, 0.0, 4.05),
        [
            ("lower_elbow", "y", (0.0, 0.21, 0.0), 0.20, 0.38),
            ("lower_boom", "z", (0.0, 0.25, 2.025), 0.165, 4.05),
            ("lower_wrist", "y", (0.0, 0.12, 4.05), 0.19, 0.50),
        ],
    ),
    ("wrist_pitch", "y", (0.0, 0.0, 4.05), [("pitch", "z", (0.0, 0.0, 0.32), 0.19, 0.30)]),
    ("wrist_yaw", "x", (0.0, 0.0, 0.65), [("yaw", "x", (0.0, 0.0, 0.0), 0.19, 0.46)]),
    (
        "wrist_roll",
        "z",
        (0.0, 0.0, 0.30),
        [
            ("roll", "z", (0.0, 0.0, 0.08), 0.20, 0.24),
            ("effector", "z", (0.0, 0.0, 0.36), 0.16, 0.36),
            ("tip", "", (0.0, 0.0, 0.65), 0.15, 0.0),
        ],
    ),
)
TOOL = 0.80  # from the last joint to the foremost point; 11 m from the mount
AXES = {
    "x": ("1 0 0", f"0 {math.pi / 2!r} 0"),
    "y": ("0 1 0", f"{-math.pi / 2!r} 0 0"),
    "z": ("0 0 1", "0 0 0"),
}


def hull(outline: list[tuple[float, float]]) -> trimesh.Trimesh:
    """A closed surface of revolution about x; a line of vertices runs along +z."""
    angle = 2.0 * np.pi * np.arange(SECTORS) / SECTORS
    around = np.column_stack([np.zeros(SECTORS), np.cos(angle), np.sin(angle)])
    rings = [radius * around + [x, 0.0, 0.0] for x, radius in outline]
    last = len(outline) * SECTORS
    poles = [[outline[0][0], 0.0, 0.0], [outline[-1][0], 0.0, 0.0]]
    i = np.arange(SECTORS)
    j = (i + 1) % SECTORS
    faces = [np.column_stack([np.full(SECTORS, last), j, i])]
    for row in range(len(outline) - 1):
        a, b = row * SECTORS, (row + 1) * SECTORS
        faces += [np.column_stack([a + i, a + j, b + j]), np.column_stack([a + i, b + j, b + i])]
    end = last - SECTORS
    faces.append(np.column_stack([end + i, end + j, np.full(SECTORS, last + 1)]))
    vertices = np.round(np.vstack([*rings, poles]), 6) + 0.0
    return trimesh.Trimesh(vertices, np.vstack(faces), process=False)


def node() -> trimesh.Trimesh:
    """The node module: a ball."""
    mesh = trimesh.creation.uv_sphere(NODE_RADIUS, count=[12, SECTORS // 2])
    return trimesh.Trimesh(np.round(mesh.vertices, 6) + 0.0, mesh.faces, process=False)


def meshes() -> dict[str, trimesh.Trimesh]:
    """Return the meshes of the station by name."""
    return {**{name: hull(outline) for name, outline in HULLS.items()}, "station_node": node()}


def numbers(values: np.ndarray | tuple[float, ...]) -> str:
    """Return numbers in six significant digits, separated by blanks."""
    return " ".join(f"{v:.6g}" if abs(v) > 1e-9 else "0" for v in values)


def inertial(bodies: list[trimesh.Trimesh], density: float) -> str:
    """Return the inertial element of bodies of one density, about their common centre."""
    mass = density * sum(b.volume for b in bodies)
    centre = sum(density * b.volume * b.center_mass for b in bodies) / mass
    inertia = np.zeros((3, 3))
    for b in bodies:
        offset = b.center_mass - centre
        inertia += density * b.moment_inertia
        inertia += density * b.volume * (offset @ offset * np.eye(3) - np.outer(offset, offset))
    scale = np.abs(inertia).max()
    inertia[np.abs(inertia) < 1e-6 * scale] = 0.0
    centre = np.where(np.abs(centre) < 1e-6, 0.0, centre)
    keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    terms = zip(keys, inertia[np.triu_indices(3)], strict=True)
    text = " ".join(f'{key}="{numbers((value,))}"' for key, value in terms)
    return (
        f'    <inertial>\n      <origin xyz="{numbers(centre)}" rpy="0 0 0"/>\n'
        f'      <mass value="{numbers((mass,))}"/>\n      <inertia {text}/>\n    </inertial>\n'
    )


def body(shape: tuple) -> tuple[trimesh.Trimesh, str, str]:
    """Return a body of the arm as a mesh, its origin element and its geometry element."""
    _, axis, centre, radius, length = shape
    if not axis:
        mesh = trimesh.creation.icosphere(3, radius)
        geometry, turn = f'<sphere radius="{radius:g}"/>', "0 0 0"
    else:
        mesh = trimesh.creation.cylinder(radius, height=length, sections=SECTORS)
        order = {"x": [2, 0, 1], "y": [1, 2, 0], "z": [0, 1, 2]}[axis]
        mesh = trimesh.Trimesh(mesh.vertices[:, order], mesh.faces, process=False)
        geometry = f'<cylinder radius="{radius:g}" length="{length:g}"/>'
        turn = AXES[axis][1]
    mesh.apply_translation(centre)
    return mesh, f'<origin xyz="{numbers(centre)}" rpy="{turn}"/>', geometry


def link(name: str, parts: list[tuple[str, str, str, str]], inertia: str) -> str:
    """Return a link whose parts (name, origin, geometry, colour) are both seen and checked."""
    text = f'  <link name="{name}">\n{inertia}'
    for kind in ("visual", "collision"):
        for part, origin, geometry, colour in parts:
            paint = f'<material name="{colour}"/>' if kind == "visual" else ""
            text += (
                f'    <{kind} name="{name}_{part}_{kind}">\n      {origin}\n'
                f"      <geometry>{geometry}</geometry>{paint}\n    </{kind}>\n"
            )
    return text + "  </link>\n"


def joint(name: str, parent: str, child: str, xyz: str, rpy: str, axis: str = "") -> str:
    """Return a revolute joint about an axis, or a fixed one without."""
    kind = "revolute" if axis else "fixed"
    moving = (
        f'    <axis xyz="{axis}"/>\n    <limit lower="{-LIMIT:.6f}" upper="{LIMIT:.6f}" '
        f'effort="{EFFORT:g}" velocity="{VELOCITY:.6f}"/>\n'
    )
    return (
        f'  <joint name="{name}" type="{kind}">\n    <parent link="{parent}"/>\n'
        f'    <child link="{child}"/>\n    <origin xyz="{xyz}" rpy="{rpy}"/>\n'
        f"{moving if axis else ''}  </joint>\n"
    )


def urdf(station: dict[str, trimesh.Trimesh]) -> str:
    """Return the description of station and arm."""
    text = '<?xml version="1.0"?>\n<!-- Made by make_space_arm.py. -->\n<robot name="space_arm">\n'
    for name, rgb in COLOURS.items():
        text += f'  <material name="{name}"><color rgba="{numbers(rgb)} 1"/></material>\n'
    text += '  <link name="station"/>\n'
    origin = '<origin xyz="0 0 0" rpy="0 0 0"/>'
    for name, (names, xyz, rpy) in MODULES.items():
        parts = [
            (m, origin, f'<mesh filename="package://{PACKAGE}/urdf/meshes/{m}.stl"/>', "white")
            for m in names
        ]
        turn = rpy.replace("PI/2", f"{math.pi / 2!r}")
        text += joint(f"{name}_joint", "station", name, xyz, turn)
        text += link(name, parts, inertial([station[m] for m in names], HULL_DENSITY))
    text += joint("arm_mount", "station", "arm_base", numbers(MOUNT), "0 0 0")
    text += '  <link name="arm_base"/>\n'
    parent = "arm_base"
    for k, (name, axis, at, shapes) in enumerate(ARM, start=1):
        child = f"arm_link_{k}"
        text += joint(name, parent, child, numbers(at), "0 0 0", AXES[axis][0])
        made = [(shape[0], *body(shape)) for shape in shapes]
        parts = [
            (part, place, geometry, "gold" if "boom" not in part else "white")
            for part, _, place, geometry in made
        ]
        text += link(child, parts, inertial([mesh for _, mesh, _, _ in made], ARM_DENSITY))
        parent = child
    text += joint("tool_joint", parent, "tool", f"0 0 {TOOL:g}", "0 0 0")
    return text + '  <link name="tool"/>\n</robot>\n'


def make() -> dict[str, bytes]:
    """Return every file of the robot by its path from the repository's root."""
    station = meshes()
    files = mesh_files(station, "space_arm, metres")
    files["urdf/space_arm.urdf"] = urdf(station).encode()
    return files


if __name__ == "__main__":
    sys.exit(write_or_check(make, __doc__.splitlines()[0]))

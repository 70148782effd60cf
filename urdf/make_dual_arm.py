#!/usr/bin/env python3
# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Make the dual-arm demo robot: meshes, URDF, SRDF, scene and its motion.

Two equal 7R arms (standard DH, all a = 0) on a torso, mounted 2 x 0.195 m apart, after
Wu Changzheng et al., J. Shanghai Jiao Tong University 52(1), 2018, 45-53; the motion is the
self-colliding one of that paper's experiment. The paper does not print the mounting: here
the arms stretch out sideways at zero (right along -y, left along +y) and work towards +x,
the robot's front (REP 103).

Usage: ``python urdf/make_dual_arm.py [--output DIR] [--check]``. The same bytes come out at
every run; ``--check`` writes nothing and fails if a file differs from what would be made.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import trimesh
from robot_files import mesh_files, write_or_check

PACKAGE = "collision_monitor"
CLEAR = 0.05  # radius of the capsule that each arm mesh encloses, m
BASE_OFFSET = 0.195  # b: each arm's base from the middle plane, m
SHOULDER_HEIGHT = 1.2  # of the arm bases above the floor, m
DH_D = (0.145, 0.0, 0.415, 0.0, 0.405, 0.0, 0.150)
DH_ALPHA = (-90, 90, -90, 90, -90, 90, 0)
# Joint 2 stops before the upper arm reaches the torso.
# Joint 4 stops before forearm and wrist reach the upper arm, which are too near to be monitored.
LIMITS_DEG = (170, 100, 170, 160, 170, 120, 175)
VELOCITY_DEG = (98, 98, 100, 130, 140, 180, 180)  # per second
EFFORT = (176, 176, 110, 110, 110, 40, 40)  # N m
ARM_DENSITY = 950.0  # kg/m^3, housings with motors and gears inside
TORSO_DENSITY = 420.0
BASE_DENSITY = 1600.0  # ballast

END_DEG = (97.966, 84.403, 22.945, 87.889, 38.993, 79.501, -36.002)  # at 50 s
END_4_DEG = 147.889  # joint 4 at 62 s

WHITE, GRAPHITE = "white", "graphite"
COLOURS = {
    WHITE: (0.93, 0.93, 0.91),
    GRAPHITE: (0.16, 0.17, 0.19),
    "silver": (0.62, 0.64, 0.67),
    "glass": (0.05, 0.06, 0.08),
    "blue": (0.10, 0.40, 0.72),
    "orange": (0.95, 0.45, 0.10),
}
ACCENT = {"right": "blue", "left": "orange"}


# --- meshes ------------------------------------------------------------------------------


def smoothstep(x: np.ndarray) -> np.ndarray:
    """Return 0 below 0, 1 above 1 and a cubic with flat ends between."""
    x = np.clip(x, 0.0, 1.0)
    return x * x * (3.0 - 2.0 * x)


def close(rings: np.ndarray, first: np.ndarray, last: np.ndarray) -> trimesh.Trimesh:
    """Close (k, n, 3) rings of points with a pole at each end to a triangle mesh."""
    k, n, _ = rings.shape
    vertices = np.vstack([rings.reshape(-1, 3), first, last])
    i = np.arange(n)
    j = (i + 1) % n
    low, high = k * n, k * n + 1
    faces = [np.column_stack([np.full(n, low), j, i])]
    for row in range(k - 1):
        a, b, c, d = row * n + i, row * n + j, row * n + n + i, row * n + n + j
        faces += [np.column_stack([a, b, d]), np.column_stack([a, d, c])]
    faces.append(np.column_stack([(k - 1) * n + i, (k - 1) * n + j, np.full(n, high)]))
    mesh = trimesh.Trimesh(np.round(vertices, 6) + 0.0, np.vstack(faces), process=False)
    if mesh.volume < 0:
        mesh.invert()
    return mesh


def stations(stops: np.ndarray, gap: float) -> np.ndarray:
    """Return the stops, with further points between those more than ``gap`` apart."""
    parts = [
        np.linspace(a, b, max(1, math.ceil((b - a) / gap - 1e-9)), endpoint=False)
        for a, b in zip(stops[:-1], stops[1:], strict=True)
    ]
    return np.append(np.concatenate(parts), stops[-1])


def profile(control: list[tuple[float, float]], w: np.ndarray) -> np.ndarray:
    """Interpolate (station, value) pairs with flat tangents at each of them."""
    s, v = np.array(control).T
    i = np.clip(np.searchsorted(s, w, side="right") - 1, 0, len(s) - 2)
    return v[i] + (v[i + 1] - v[i]) * smoothstep((w - s[i]) / (s[i + 1] - s[i]))


def tube(
    length: float,
    control: list[tuple[float, float]],
    bumps: list[tuple[float, float, float, float, float, float]] = (),
    sectors: int = 64,
    gap: float = 0.012,
) -> trimesh.Trimesh:
    """Make a housing around the segment from the origin to (0, 0, length).

    The surface is a graph over the capsule of radius `CLEAR`: each point lies on a normal of
    the capsule, as far from the segment as ``control`` says, a list of (station, radius).
    A station is the arc length along the capsule's side, 0 at the first end's equator;
    the poles are at -pi/2 CLEAR and length + pi/2 CLEAR. Bumps are (height, start, end, ramp,
    middle angle, half width in degrees) and add to the radius.
    """
    quarter = math.pi / 2 * CLEAR
    stops = [-quarter, 0.0, length, length + quarter] + [s for s, _ in control]
    for _, start, end, ramp, _, _ in bumps:
        stops += [start, start + ramp, end - ramp, end]
    w = stations(np.unique(np.round(np.clip(stops, -quarter, length + quarter), 9)), gap)
    theta = 2 * np.pi * np.arange(sectors) / sectors
    radius = np.repeat(profile(control, w)[:, None], sectors, axis=1)
    for height, start, end, ramp, middle, half in bumps:
        along = smoothstep((w - start) / ramp) * smoothstep((end - w) / ramp)
        off = np.abs((np.degrees(theta) - middle + 180.0) % 360.0 - 180.0)
        radius += height * along[:, None] * smoothstep((half - off) / (0.45 * half))[None, :]
    slope = (w - np.clip(w, 0.0, length)) / CLEAR
    side, up = np.cos(slope)[:, None] * radius, np.sin(slope)[:, None] * radius
    z = np.clip(w, 0.0, length)[:, None] + up
    points = np.stack([side * np.cos(theta), side * np.sin(theta), z], axis=2)
    return close(points[1:-1], points[0, 0] * [0, 0, 1], points[-1, 0] * [0, 0, 1])


def housing(size: float, sectors: int = 64, rows: int = 32) -> trimesh.Trimesh:
    """Make a joint's housing: a rounded drum about z with a neck towards -y.

    ``size`` is the largest distance from the joint centre. The next link leaves through the
    neck, the one before enters round the drum's waist; both ends carry a cover in a groove.
    """
    lid = (0.42, 0.47, 0.52, 0.57)  # polar angles of the groove's four edges
    edges = [0.0, *lid, *(math.pi - a for a in reversed(lid)), math.pi]
    polar = stations(np.array(edges), math.pi / rows)
    theta = 2 * np.pi * np.arange(sectors) / sectors
    sine, cosine = np.sin(polar)[:, None], np.abs(np.cos(polar))[:, None]
    half, radius = 0.915 * size, 0.872 * size
    drum = ((cosine / half) ** 3 + (sine / radius) ** 3) ** (-1 / 3) + 0.0 * theta
    across = np.sqrt(np.clip(1.0 - (sine * np.sin(theta)) ** 2, 0.0, 1.0))  # sine to -y
    neck = ((1 / size) ** 8 + (across / (0.86 * size)) ** 8) ** (-1 / 8)
    neck = np.where(np.sin(theta)[None, :] < 0, neck, 0.0)
    r = np.minimum((drum**24 + neck**24) ** (1 / 24), size)
    from_pole = np.minimum(polar, math.pi - polar)
    groove = smoothstep((from_pole - lid[0]) / (lid[1] - lid[0]))
    groove *= smoothstep((lid[3] - from_pole) / (lid[3] - lid[2]))
    r = np.maximum(r - 0.003 * groove[:, None], min(0.0515, 0.975 * size))
    z = r * np.cos(polar)[:, None]
    points = np.stack([r * sine * np.cos(theta), r * sine * np.sin(theta), z], axis=2)
    return close(points[1:-1], points[0, 0] * [0, 0, 1], points[-1, 0] * [0, 0, 1])


def loft(
    sections: list[tuple[float, float, float, float, float, float]],
    along: str = "z",
    edge: float = 0.02,
    sectors: int = 48,
    gap: float = 0.03,
) -> trimesh.Trimesh:
    """Sweep a superellipse along an axis, with ends rounded by the radius ``edge``.

    Sections are (station, centre u, centre v, half u, half v, exponent), smoothly joined;
    u, v are x, y for a sweep along z, and z, x for one along y.
    """
    table = np.array(sections)
    first, last = table[0, 0], table[-1, 0]
    turn = np.radians([12, 30, 48, 66, 90])
    rim = edge * (1 - np.sin(turn))
    stops = np.unique(np.round(np.concatenate([table[:, 0], first + rim, last - rim]), 9))
    s = stations(stops, gap)
    cu, cv, hu, hv, power = (
        profile(list(zip(table[:, 0], table[:, k], strict=True)), s)[:, None] for k in range(1, 6)
    )
    from_end = np.minimum(np.minimum(s - first, last - s), edge)[:, None]
    shrink = edge - np.sqrt(np.clip(edge**2 - (edge - from_end) ** 2, 0.0, None))
    theta = 2 * np.pi * np.arange(sectors) / sectors
    cos, sin = np.cos(theta), np.sin(theta)
    r = (np.abs(cos) ** power + np.abs(sin) ** power) ** (-1 / power)
    u, v = cu + (hu - shrink) * r * cos, cv + (hv - shrink) * r * sin
    axis = {"z": (0, 1, 2), "y": (2, 0, 1)}[along]  # where u, v and the station go
    points = np.empty((*u.shape, 3))
    points[..., axis[0]], points[..., axis[1]], points[..., axis[2]] = u, v, s[:, None]
    return close(points, points[0].mean(axis=0), points[-1].mean(axis=0))


def arm_meshes() -> dict[str, trimesh.Trimesh]:
    """Return the meshes of links 1 to 7, each in its link frame; both arms share them.

    Links 1 and 7 stay within 4 mm of the capsule they enclose: at the end of the motion
    link 7 passes its own link 1 at 0.118 m between the segments. Links 6 and 7 and the end of
    link 5, where the arms meet, stay within 2 mm: so leaves tell the same waypoints as
    the published segments.
    """
    link_1 = tube(
        DH_D[0],
        [(-0.08, 0.0525), (-0.004, 0.0525), (0.0, 0.054), (0.022, 0.054), (0.024, 0.0525)]
        + [(0.027, 0.0525), (0.029, 0.0535), (0.17, 0.0525), (0.23, 0.0525)],
        [(0.0008, 0.034, 0.08, 0.01, 90.0, 50.0)],
    )
    link_3 = tube(
        DH_D[2],
        [(-0.08, 0.0522), (0.03, 0.0525), (0.072, 0.0635), (0.092, 0.0645), (0.094, 0.0625)]
        + [(0.098, 0.0625), (0.100, 0.0645), (0.20, 0.0625), (0.33, 0.0545), (0.50, 0.0522)],
        [(0.0035, 0.13, 0.31, 0.035, 0.0, 62.0), (0.0035, 0.13, 0.31, 0.035, 180.0, 62.0)]
        + [(0.0015, 0.16, 0.24, 0.008, 90.0, 38.0)],
        gap=0.0165,
    )
    link_5 = tube(
        DH_D[4],
        [(-0.08, 0.0522), (0.03, 0.0525), (0.068, 0.0590), (0.086, 0.0595), (0.088, 0.0575)]
        + [(0.092, 0.0575), (0.094, 0.0595), (0.17, 0.0580), (0.30, 0.0510), (0.49, 0.0510)],
        [(0.0020, 0.12, 0.27, 0.035, 0.0, 55.0), (0.0020, 0.12, 0.27, 0.035, 180.0, 55.0)]
        + [(0.0012, 0.15, 0.22, 0.008, -90.0, 38.0)],
        gap=0.013,
    )
    link_7 = tube(
        DH_D[6],
        [(-0.08, 0.0505), (0.045, 0.0505), (0.055, 0.0511), (0.100, 0.0511), (0.102, 0.0504)]
        + [(0.106, 0.0504), (0.108, 0.0511), (0.134, 0.0511), (0.140, 0.0505), (0.228, 0.0505)],
        [(0.0004, 0.060, 0.096, 0.006, -90.0, 40.0)],
        gap=0.01,
    )
    links = [link_1, housing(0.0685), link_3, housing(0.0660), link_5, housing(0.0516), link_7]
    return {f"arm_link_{i}": mesh for i, mesh in enumerate(links, start=1)}


def body_meshes() -> dict[str, trimesh.Trimesh]:
    """Return the meshes of the base (origin on the floor) and of the torso (at the shoulders)."""
    base = loft(
        [(0.0, -0.02, 0.0, 0.27, 0.25, 4.5), (0.03, -0.02, 0.0, 0.285, 0.265, 4.5)]
        + [(0.11, -0.02, 0.0, 0.285, 0.265, 4.5), (0.118, -0.02, 0.0, 0.268, 0.248, 4.5)]
        + [(0.128, -0.02, 0.0, 0.268, 0.248, 4.5), (0.19, -0.03, 0.0, 0.20, 0.18, 4.0)],
        edge=0.015,
    )
    column = loft(
        [(-1.03, -0.03, 0.0, 0.135, 0.125, 3.0), (-0.85, -0.035, 0.0, 0.098, 0.094, 2.8)]
        + [(-0.45, -0.04, 0.0, 0.088, 0.092, 2.8), (-0.2, -0.04, 0.0, 0.09, 0.115, 2.8)],
        edge=0.015,
        gap=0.045,
    )
    chest = loft(
        [(-0.38, -0.035, 0.0, 0.098, 0.105, 2.8), (-0.25, -0.03, 0.0, 0.118, 0.135, 2.8)]
        + [(-0.12, -0.035, 0.0, 0.118, 0.150, 2.8), (-0.03, -0.05, 0.0, 0.082, 0.115, 2.6)],
        edge=0.035,
    )
    yoke = loft(
        [(-0.205, -0.078, -0.022, 0.052, 0.056, 2.6), (-0.12, -0.082, -0.025, 0.060, 0.066, 2.6)]
        + [(0.0, -0.09, -0.028, 0.07, 0.078, 2.6)]
        + [(0.12, -0.082, -0.025, 0.060, 0.066, 2.6), (0.205, -0.078, -0.022, 0.052, 0.056, 2.6)],
        along="y",
        edge=0.022,
    )
    neck = loft(
        [(-0.06, -0.062, 0.0, 0.048, 0.05, 2.2), (0.03, -0.058, 0.0, 0.040, 0.042, 2.2)]
        + [(0.30, -0.045, 0.0, 0.034, 0.036, 2.2), (0.40, -0.035, 0.0, 0.040, 0.045, 2.2)],
        edge=0.01,
    )
    head = loft(
        [(0.345, -0.02, 0.0, 0.070, 0.082, 2.6), (0.40, -0.015, 0.0, 0.092, 0.108, 2.6)]
        + [(0.47, -0.012, 0.0, 0.098, 0.112, 2.6), (0.54, -0.025, 0.0, 0.075, 0.090, 2.5)],
        edge=0.045,
        gap=0.018,
    )
    visor = loft(
        [(0.405, 0.048, 0.0, 0.040, 0.082, 3.0), (0.44, 0.050, 0.0, 0.042, 0.088, 3.0)]
        + [(0.485, 0.046, 0.0, 0.042, 0.084, 3.0)],
        edge=0.02,
        gap=0.012,
    )
    return {
        "base": base,
        "torso_column": column,
        "torso_chest": chest,
        "torso_yoke": yoke,
        "torso_neck": neck,
        "torso_head": head,
        "torso_visor": visor,
    }


# --- URDF, SRDF, scene, motion -----------------------------------------------------------


def number(value: float) -> str:
    """Return a number in six significant digits, without a negative zero."""
    return f"{float(f'{value:.6g}') + 0.0:g}" if abs(value) >= 1e-12 else "0"


def numbers(values: np.ndarray) -> str:
    """Return numbers separated by blanks."""
    return " ".join(number(v) for v in values)


def inertial(meshes: list[trimesh.Trimesh], density: float) -> str:
    """Return the inertial element of solid bodies of one density, summed, about their centre."""
    volume = sum(m.volume for m in meshes)
    centre = sum(m.volume * m.center_mass for m in meshes) / volume
    inertia = np.zeros((3, 3))
    for m in meshes:
        offset = m.center_mass - centre
        steiner = offset @ offset * np.eye(3) - np.outer(offset, offset)
        inertia += m.moment_inertia + m.volume * steiner
    inertia *= density
    inertia[np.abs(inertia) < 1e-7] = 0.0
    corners = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
    terms = dict(zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), corners, strict=True))
    text = " ".join(f'{key}="{number(inertia[at])}"' for key, at in terms.items())
    centre = np.where(np.abs(centre) < 1e-6, 0.0, np.round(centre, 6))
    return (
        f'    <inertial>\n      <origin xyz="{numbers(centre)}" rpy="0 0 0"/>\n'
        f'      <mass value="{number(density * volume)}"/>\n      <inertia {text}/>\n'
        "    </inertial>\n"
    )


def link(name: str, parts: list[tuple[str, str]], inertia: str) -> str:
    """Return a link whose (mesh, colour) parts are both seen and checked."""
    text = f'  <link name="{name}">\n{inertia}'
    for kind in ("visual", "collision"):
        for mesh, colour in parts:
            paint = f'      <material name="{colour}"/>\n' if kind == "visual" else ""
            text += (
                f'    <{kind} name="{name}_{mesh}_{kind}">\n'
                '      <origin xyz="0 0 0" rpy="0 0 0"/>\n'
                f'      <geometry><mesh filename="package://{PACKAGE}/urdf/meshes/{mesh}.stl"/>'
                f"</geometry>\n{paint}    </{kind}>\n"
            )
    return text + "  </link>\n"


def joint(name: str, parent: str, child: str, xyz: str, rpy: str, limit: str = "") -> str:
    """Return a revolute joint about z, or a fixed one if there is no limit."""
    kind = "revolute" if limit else "fixed"
    turning = f'    <axis xyz="0 0 1"/>\n    {limit}\n    <dynamics damping="0.5"/>\n'
    return (
        f'  <joint name="{name}" type="{kind}">\n    <parent link="{parent}"/>\n'
        f'    <child link="{child}"/>\n    <origin xyz="{xyz}" rpy="{rpy}"/>\n'
        f"{turning if limit else ''}  </joint>\n"
    )


def arm(side: str, meshes: dict[str, trimesh.Trimesh]) -> str:
    """Return the links and joints of one arm, from the torso to the tool frame."""
    sign = -1 if side == "right" else 1
    turn = repr(-sign * math.pi / 2)
    text = f"\n  <!-- {side} arm -->\n"
    parent, xyz, rpy = "torso", f"0 {number(sign * BASE_OFFSET)} 0", f"{turn} {turn} 0"
    for i in range(7):
        bound, rate = math.radians(LIMITS_DEG[i]), math.radians(VELOCITY_DEG[i])
        limit = (
            f'<limit lower="{-bound:.6f}" upper="{bound:.6f}" effort="{EFFORT[i]}" '
            f'velocity="{rate:.6f}"/>'
        )
        name = f"{side}_link_{i + 1}"
        text += joint(f"{side}_joint_{i + 1}", parent, name, xyz, rpy, limit)
        colour = ACCENT[side] if i % 2 else GRAPHITE if i == 6 else WHITE
        mesh = f"arm_link_{i + 1}"
        text += link(name, [(mesh, colour)], inertial([meshes[mesh]], ARM_DENSITY))
        alpha = repr(math.radians(DH_ALPHA[i])) if DH_ALPHA[i] else "0"
        parent, xyz, rpy = name, f"0 0 {number(DH_D[i])}", f"{alpha} 0 0"
    text += joint(f"{side}_tool_joint", parent, f"{side}_tool", xyz, rpy)
    return text + f'  <link name="{side}_tool"/>\n'


def urdf(meshes: dict[str, trimesh.Trimesh]) -> str:
    """Return the robot description."""
    torso = [
        ("torso_column", GRAPHITE),
        ("torso_chest", WHITE),
        ("torso_yoke", "silver"),
        ("torso_neck", GRAPHITE),
        ("torso_head", WHITE),
        ("torso_visor", "glass"),
    ]
    text = '<?xml version="1.0"?>\n<!-- Made by make_dual_arm.py. -->\n<robot name="dual_arm">\n'
    for name, rgb in COLOURS.items():
        text += f'  <material name="{name}"><color rgba="{numbers(rgb)} 1"/></material>\n'
    text += "\n" + link("base_link", [("base", GRAPHITE)], inertial([meshes["base"]], BASE_DENSITY))
    text += joint("torso_joint", "base_link", "torso", f"0 0 {SHOULDER_HEIGHT}", "0 0 0")
    text += link("torso", torso, inertial([meshes[m] for m, _ in torso], TORSO_DENSITY))
    return text + arm("right", meshes) + arm("left", meshes) + "</robot>\n"


def disabled_pairs() -> list[tuple[str, str, str]]:
    """Return the pairs of links that need no check, with the reason.

    Adjacent: neighbours over one joint, and the tubes that end in one housing (they overlap
    there at every angle). Never: out of reach within the limits of the joints. The right arm
    against the left is always checked.
    """
    pairs = [("base_link", "torso", "Adjacent")]
    for side in ("right", "left"):
        name = [f"{side}_link_{i}" for i in range(8)]
        name[0] = "torso"
        pairs += [(name[i], name[i + 1], "Adjacent") for i in range(7)]
        pairs += [(name[i], name[i + 2], "Adjacent") for i in (1, 3, 5)]
        pairs.append(("torso", name[3], "Never"))
        # A fixed distance, or a fold that the limits of joints 4 and 6 keep open.
        pairs += [(name[i], name[j], "Never") for i, j in ((0, 2), (1, 4), (2, 4), (4, 6), (4, 7))]
        pairs += [("base_link", name[i], "Never") for i in range(1, 8)]
    return pairs


def srdf() -> str:
    """Return the semantic description."""
    text = '<?xml version="1.0"?>\n<!-- Made by make_dual_arm.py. -->\n<robot name="dual_arm">\n'
    for side in ("right", "left"):
        text += f'  <group name="{side}_arm">\n'
        text += f'    <chain base_link="torso" tip_link="{side}_tool"/>\n  </group>\n'
    for state, degrees in STATES.items():
        for side, sign in (("right", 1), ("left", -1)):
            text += f'  <group_state name="{state}" group="{side}_arm">\n'
            for i, angle in enumerate(degrees, start=1):
                value = number(sign * math.radians(angle))
                text += f'    <joint name="{side}_joint_{i}" value="{value}"/>\n'
            text += "  </group_state>\n"
    for a, b, reason in disabled_pairs():
        text += f'  <disable_collisions link1="{a}" link2="{b}" reason="{reason}"/>\n'
    return text + "</robot>\n"


STATES = {  # of the right arm in degrees; the left arm mirrors it
    "home": (0, 0, 0, 0, 0, 0, 0),
    "ready": (60, 55, 0, 75, 0, 30, 0),
}

SCENE = """\
# Made by make_dual_arm.py. A slatted table in front of the robot and a part on it; each slat
# is a box of its own, because a leaf around a whole table top would stand high above it.
# Metres and radians; positions in the frame of the robot's root link (base_link, on the floor).
obstacles:
"""


def scene() -> str:
    """Return the obstacles round the robot."""
    items = []
    for k, x in enumerate((0.38, 0.49, 0.60, 0.71, 0.82), start=1):
        items.append((f"table_slat_{k}", "type: box\n    size: [0.1, 0.82, 0.04]", (x, 0.0, 0.64)))
    for k, (x, y) in enumerate([(x, y) for x in (0.38, 0.82) for y in (-0.36, 0.36)], start=1):
        leg = "type: box\n    size: [0.05, 0.05, 0.62]"
        items.append((f"table_leg_{k}", leg, (x, y, 0.31)))
    items.append(("part", "type: box\n    size: [0.12, 0.18, 0.10]", (0.60, 0.0, 0.71)))
    text = SCENE
    for name, shape, at in items:
        text += f"  - name: {name}\n    {shape}\n    position: [{at[0]}, {at[1]}, {at[2]}]\n"
    return text


def motion() -> str:
    """Return the motion of the paper's experiment as CSV, in seconds and radians.

    Every joint moves uniformly from zero to its end in 50 s, then joint 4 alone until 62 s.
    The left arm's angles are the right arm's negatives.
    """
    sides = ("right", "left")
    text = ",".join(["time"] + [f"{s}_joint_{i}" for s in sides for i in range(1, 8)]) + "\n"
    for t in range(63):
        degrees = [end * min(t, 50) / 50 for end in END_DEG]
        if t > 50:
            degrees[3] = END_DEG[3] + (END_4_DEG - END_DEG[3]) * (t - 50) / 12
        right = [math.radians(a) for a in degrees]
        row = [float(t), *right, *(0.0 - a for a in right)]
        text += ",".join(map(repr, row)) + "\n"
    return text


def make() -> dict[str, bytes]:
    """Return every file of the robot by its path from the repository's root."""
    meshes = {**arm_meshes(), **body_meshes()}
    files = mesh_files(meshes, "dual_arm, metres")
    files["urdf/dual_arm.urdf"] = urdf(meshes).encode()
    files["urdf/dual_arm.srdf"] = srdf().encode()
    files["urdf/dual_arm_scene.yaml"] = scene().encode()
    files["config/dual_arm_motion.csv"] = motion().encode()
    return files


if __name__ == "__main__":
    sys.exit(write_or_check(make, __doc__.splitlines()[0]))

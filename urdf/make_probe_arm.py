#!/usr/bin/env python3
# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Make the arm of the published two-level check: a small six-joint arm with a probe.

The kinematics are those behind the coordinates that Gao Jiacai, Li Lihong and Yuan Gang print
(Computer Simulation 39(6), 2022): modified Denavit-Hartenberg parameters, the world at the
shoulder. The shapes are ours; the probe is as thin as a needle, because in the second scenario its
tip passes the obstacle at about a millimetre.

Usage: ``python urdf/make_probe_arm.py [--output DIR] [--check]``. The same bytes come out at
every run; ``--check`` writes nothing and fails if a file differs from what would be made.
"""

from __future__ import annotations

import math
import sys

from robot_files import write_or_check

# alpha (degrees), a and d (metres) of the joints; the last one has the tip at its origin.
PARAMETERS = (
    (0, 0.0, 0.0), (-90, 0.0, 0.145), (0, 0.4, 0.0), (0, 0.35, 0.0), (-90, 0.0, 0.102),
    (90, 0.0, 0.0),
)  # fmt: skip
NAMES = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
LIMIT = 2.0 * math.pi
VELOCITY = math.pi  # per second

# Of the links behind the joints: (shape, origin xyz, origin rpy); a cylinder is along its z.
HALF = math.pi / 2.0
ASIDE = 0.11  # of the upper arm, so that the forearm folds past it as it does at the end
SHAPES = (
    [('<cylinder radius="0.06" length="0.13"/>', (0.0, 0.035, 0.0), (HALF, 0.0, 0.0))],
    [('<cylinder radius="0.045" length="0.4"/>', (0.2, 0.0, ASIDE), (0.0, HALF, 0.0))],
    [('<cylinder radius="0.04" length="0.31"/>', (0.155, 0.0, 0.0), (0.0, HALF, 0.0))],
    [('<sphere radius="0.035"/>', (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))],
    [('<cylinder radius="0.0005" length="0.06"/>', (0.0, 0.0, -0.03), (0.0, 0.0, 0.0))],
    [],
)


def numbers(values: tuple[float, ...]) -> str:
    """Return numbers separated by blanks."""
    return " ".join(f"{value:.12g}" if abs(value) > 1e-15 else "0" for value in values)


def link(name: str, shapes: list) -> str:
    """Return a link whose shapes are both seen and checked."""
    if not shapes:
        return f'  <link name="{name}"/>\n'
    text = f'  <link name="{name}">\n'
    for kind in ("visual", "collision"):
        for shape, xyz, rpy in shapes:
            text += (
                f'    <{kind}><origin xyz="{numbers(xyz)}" rpy="{numbers(rpy)}"/>'
                f"<geometry>{shape}</geometry></{kind}>\n"
            )
    return text + "  </link>\n"


def urdf() -> str:
    """Return the description of the arm."""
    text = '<?xml version="1.0"?>\n<!-- Made by make_probe_arm.py. -->\n<robot name="probe_arm">\n'
    text += link("base", [])
    parent = "base"
    for name, (alpha, a, d), shapes in zip(NAMES, PARAMETERS, SHAPES, strict=True):
        turn = math.radians(alpha)
        xyz = numbers((a, -d * math.sin(turn), d * math.cos(turn)))
        child = f"{name}_link" if shapes else "tip"
        text += (
            f'  <joint name="{name}" type="revolute">\n    <parent link="{parent}"/>\n'
            f'    <child link="{child}"/>\n'
            f'    <origin xyz="{xyz}" rpy="{numbers((turn, 0.0, 0.0))}"/>\n'
            f'    <axis xyz="0 0 1"/>\n    <limit lower="{-LIMIT:.6f}" upper="{LIMIT:.6f}" '
            f'effort="100" velocity="{VELOCITY:.6f}"/>\n  </joint>\n'
        )
        text += link(child, shapes)
        parent = child
    return text + "</robot>\n"


def make() -> dict[str, bytes]:
    """Return every file of the robot by its path from the repository's root."""
    return {"urdf/probe_arm.urdf": urdf().encode()}


if __name__ == "__main__":
    sys.exit(write_or_check(make, __doc__.splitlines()[0]))

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The robots of the soak: two arms of plain shapes, once with a tool and once without."""

from __future__ import annotations

_SHAPES = ('<box size="0.12 0.1 0.4"/>', '<cylinder radius="0.05" length="0.4"/>')
JOINTS = tuple(f"{side}_{k}" for side in ("left", "right") for k in range(1, 5))
# The forearms are in each other by 6 cm, with tools and without.
CONTACT = (0.1, -0.05, 0.54, -0.25, -0.1, 0.05, -0.54, 0.25)


def _link(name: str, shape: str = "", z: float = 0.2) -> str:
    if not shape:
        return f'<link name="{name}"/>'
    return (
        f'<link name="{name}"><collision><origin xyz="0 0 {z}"/>'
        f"<geometry>{shape}</geometry></collision></link>"
    )


def _joint(name: str, parent: str, child: str, xyz: str, axis: str) -> str:
    return (
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}"/><axis xyz="{axis}"/>'
        '<limit lower="-2.5" upper="2.5" effort="50" velocity="3"/></joint>'
    )


def description(with_tool: bool) -> str:
    """A URDF; links of the one with tools have other names, so that its pairs tell which it is."""
    mark = "t" if with_tool else "a"
    parts = [_link(f"{mark}_base", '<box size="0.3 0.3 0.2"/>', -0.2)]
    for side, y in (("left", 0.35), ("right", -0.35)):
        parent, xyz = f"{mark}_base", f"0 {y} 0.2"
        for k in range(1, 5):
            child = f"{mark}_{side}_{k}"
            parts.append(_link(child, _SHAPES[k % 2]))
            axis = ("1 0 0", "0 1 0")[(k + 1) % 2 if k > 1 else 1]
            parts.append(_joint(f"{side}_{k}", parent, child, xyz, axis))
            parent, xyz = child, "0 0 0.45"
        if with_tool:
            parts.append(_link(f"{mark}_{side}_tool", '<sphere radius="0.09"/>', 0.1))
            parts.append(
                f'<joint name="{side}_tool" type="fixed"><parent link="{parent}"/>'
                f'<child link="{mark}_{side}_tool"/><origin xyz="{xyz}"/></joint>'
            )
    return f'<robot name="soak_{mark}">{"".join(parts)}</robot>'

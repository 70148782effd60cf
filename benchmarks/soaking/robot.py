# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Robots of the soak test: variants of two arms of simple shapes, with and without tools."""

from __future__ import annotations

JOINTS = tuple(f"{side}_{k}" for side in ("left", "right") for k in range(1, 5))
# In all variants the forearms penetrate by 6 cm.
CONTACT = (0.1, -0.05, 0.54, -0.25, -0.1, 0.05, -0.54, 0.25)
VARIANTS = 6


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


def description(variant: int) -> str:
    """URDF of a variant, with the same joints in all; odd ones have tools."""
    more = 0.005 * (variant // 2)
    shapes = (
        f'<box size="{0.12 + more:.3f} {0.1 + 2.0 * more:.3f} 0.4"/>',
        f'<cylinder radius="{0.05 + more:.3f}" length="0.4"/>',
    )
    parts = [_link("base", '<box size="0.3 0.3 0.2"/>', -0.2)]
    for side, y in (("left", 0.35), ("right", -0.35)):
        parent, xyz = "base", f"0 {y} 0.2"
        for k in range(1, 5):
            child = f"{side}_arm_{k}"
            parts.append(_link(child, shapes[k % 2]))
            axis = ("1 0 0", "0 1 0")[(k + 1) % 2 if k > 1 else 1]
            parts.append(_joint(f"{side}_{k}", parent, child, xyz, axis))
            parent, xyz = child, "0 0 0.45"
        if variant % 2:
            radius = 0.06 + 2.0 * more
            parts.append(_link(f"{side}_tool", f'<sphere radius="{radius:.3f}"/>', 0.1))
            parts.append(
                f'<joint name="{side}_tool" type="fixed"><parent link="{parent}"/>'
                f'<child link="{side}_tool"/><origin xyz="{xyz}"/></joint>'
            )
    return f'<robot name="soak_{variant}">{"".join(parts)}</robot>'

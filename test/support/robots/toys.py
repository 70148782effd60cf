# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Small robots made of text."""


def link(name: str, shape: str = '<sphere radius="0.1"/>', xyz: str = "0 0 0") -> str:
    """A link with one collision shape, or none."""
    if not shape:
        return f'<link name="{name}"/>'
    return (
        f'<link name="{name}"><collision><origin xyz="{xyz}"/>'
        f"<geometry>{shape}</geometry></collision></link>"
    )


def joint(
    name: str,
    parent: str,
    child: str,
    kind: str = "revolute",
    xyz: str = "1 0 0",
    axis: str = "0 0 1",
    extra: str = "",
    limits: tuple[float, float] = (-2, 2),
) -> str:
    """A joint; fixed ones have no limits."""
    low, high = limits
    limit = f'<limit lower="{low}" upper="{high}" effort="1" velocity="1"/>'
    limit = "" if kind == "fixed" else limit
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}"/><axis xyz="{axis}"/>{limit}{extra}</joint>'
    )


def robot(*parts: str, name: str = "toy") -> str:
    """A URDF of these parts."""
    return f'<robot name="{name}">{"".join(parts)}</robot>'


def chain(count: int = 4, **options: str) -> str:
    """Links l0 .. l<count - 1>, spheres of radius 0.1 one metre apart, revolute joints j1 .. ."""
    links = [link(f"l{k}") for k in range(count)]
    joints = [joint(f"j{k}", f"l{k - 1}", f"l{k}", **options) for k in range(1, count)]
    return robot(*links, *joints)


def box_and_ball_on_slides() -> str:
    """A flat box, ``hand``, that slides along x and y, and a ball, ``tip``, that slides along z."""
    return robot(
        link("base", ""), link("slide", ""), link("hand", '<box size="0.4 0.2 0.1"/>'),
        joint("x", "base", "slide", "prismatic", "0 0 0", "1 0 0"),
        joint("y", "slide", "hand", "prismatic", "0 0 0", "0 1 0"),
        link("tip", '<sphere radius="0.05"/>'),
        joint("z", "base", "tip", "prismatic", "0 0 1.85", "0 0 1"),
    )  # fmt: skip

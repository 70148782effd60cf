# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Robots for proofs about ranges: chains out of text, and their pairs; kernels for Python.

The kernels of `range_proof` and `link_pair` are called with unpacked views, as `prove` does: for
arrays of numpy they would all be compiled a second time.
"""

import numpy as np

from collision_monitor import CollisionModel
from collision_monitor.acm import link_pair, range_proof
from collision_monitor.acm.link_pair import PairGeometries
from collision_monitor.common.compiled import offline_kernel
from collision_monitor.hierarchy import kinematics
from collision_monitor.hierarchy.packed import unpack
from support.robots.toys import joint, link, robot

_SHAPES = (
    '<capsule radius="0.06" length="0.3"/>',
    '<box size="0.2 0.1 0.3"/>',
    '<sphere radius="0.1"/>',
    '<cylinder radius="0.05" length="0.4"/>',
)


def branched(rng: np.random.Generator, joints: int = 4) -> str:
    """Two arms on one base, their joints turning or sliding about random axes, one a mimic."""
    parts = [link("base", _SHAPES[0])]
    for arm in "ab":
        parent = "base"
        for k in range(joints):
            child = f"{arm}{k}"
            axis = rng.normal(size=3)
            axis = " ".join(map(str, axis / np.linalg.norm(axis)))
            xyz = " ".join(map(str, rng.uniform(-0.4, 0.4, 3)))
            kind = "prismatic" if rng.random() < 0.25 else "revolute"
            extra = ""
            if arm == "b" and k == joints - 1:
                extra = '<mimic joint="jb0" multiplier="-0.7" offset="0.1"/>'
            shape = _SHAPES[rng.integers(len(_SHAPES))]
            offset = " ".join(map(str, rng.uniform(-0.2, 0.2, 3)))
            parts.append(link(child, shape, offset))
            parts.append(joint(f"j{child}", parent, child, kind, xyz, axis, extra))
            parent = child
    return robot(*parts)


def pair_of(urdf: str, a: str, b: str):
    """(model, pair) of two links of a robot; the model has one leaf for each shape."""
    model = CollisionModel.from_urdf(urdf, max_leaves_per_link=1)
    return model, PairGeometries(model).pair(a, b)


@offline_kernel
def place_links(chain, q):
    """Place the links of a pair at joint values (k,)."""
    kinematics.place_links(unpack(chain.numbers, chain.index), q)


@offline_kernel
def surface_distance(chain, limit, points):
    """See `link_pair.surface_distance`."""
    return link_pair.surface_distance(unpack(chain.numbers, chain.index), chain, limit, points)


@offline_kernel
def fill_box(chain, q, half, widths, chords, reaches, bends):
    """Fill all that is known of a box of joint values about q (k,), ``half`` (k,) to each side."""
    view = unpack(chain.numbers, chain.index)
    range_proof.spans(view, chain, half, widths, chords)
    kinematics.place_links(view, q)
    range_proof.fill_reaches(view, chain, chords, reaches)
    range_proof.fill_bends(view, chain, widths, reaches, bends)


@offline_kernel
def leaves_gap(chain, widths, bends, i, j):
    """See `range_proof.leaves_gap`."""
    view = unpack(chain.numbers, chain.index)
    return range_proof.leaves_gap(view, chain, widths, bends, i, j)


@offline_kernel
def nearest_leaves(chain, widths, chords, reaches, bends, begin):
    """See `range_proof.nearest_leaves`."""
    view = unpack(chain.numbers, chain.index)
    return range_proof.nearest_leaves(view, chain, widths, chords, reaches, bends, begin)


@offline_kernel
def hulls_gap(chain, widths, bends, nx, ny, nz):
    """See `range_proof.hulls_gap`."""
    view = unpack(chain.numbers, chain.index)
    return range_proof.hulls_gap(view, chain, widths, bends, nx, ny, nz)

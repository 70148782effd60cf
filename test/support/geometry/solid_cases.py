# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Random boxes, cylinders, spheres and capsules, for our kernels and for coal."""

from typing import NamedTuple

import numpy as np

from collision_monitor.robot.description import Shape
from collision_monitor.robot.shape_kinds import solid_row
from support.geometry.coal_shapes import coal_shape

SOLIDS = ("box", "cylinder", "sphere", "capsule")


class Solid(NamedTuple):
    """One solid: as in a URDF, as a row of `geometry.convex`, and as coal's."""

    shape: Shape
    row: np.ndarray
    geometry: object


def solid_cases(kind: str, rng: np.random.Generator) -> Solid:
    """A solid of a kind with sizes from 1 cm to 0.6 m."""
    sizes = 10.0 ** rng.uniform(-2.0, -0.2, 3)
    size = {"box": sizes, "sphere": sizes[:1] / 2}.get(kind, sizes[:2] * [0.5, 1.0])
    shape = Shape(kind, np.eye(4), tuple(map(float, size)))
    return Solid(shape, solid_row(shape), coal_shape(shape))

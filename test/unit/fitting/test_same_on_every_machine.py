# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Leaves do not depend on the code that a BLAS chooses for a processor."""

import json
import platform

import pytest
from support.processes import run_python

FIT = """
import json
import numpy as np, trimesh
from collision_monitor.fitting.approach_points import watchers_of
from collision_monitor.fitting.fast_fit import cover
from collision_monitor.fitting.shapes import fits_in_own_frame, leaf_rows
from collision_monitor.robot.description import Shape

def shape(mesh):
    turn = trimesh.transformations.random_rotation_matrix(np.array([0.1, 0.5, 0.7]))
    mesh.apply_transform(turn)
    vertices = np.round(mesh.vertices, 6)  # as a file has them
    return Shape("mesh", np.round(turn, 6), (), vertices, np.asarray(mesh.faces))

ball = trimesh.creation.icosphere(3)
ball.apply_scale([0.1, 0.15, 0.2])
links = {
    "pipe": [shape(trimesh.creation.annulus(0.05, 0.08, 0.4))],
    "ball": [shape(ball)],
    "bar": [shape(trimesh.creation.box((0.1, 0.1, 0.5)))],
}
pose = np.tile(np.eye(4), (20, 1, 1))
poses = {name: pose.copy() for name in links}
poses["ball"][:, 0, 3] = np.linspace(0.3, 0.5, 20)
poses["bar"][:, 1, 3] = np.linspace(0.3, 0.4, 20)
watchers = watchers_of(links, poses, [("pipe", "ball"), ("pipe", "bar")])
found = [
    [leaf_rows(fit.leaves).tolist()
     for fit in fits_in_own_frame(links[name][0], 3, 0.001, watchers[name][0])]
    + [cover(links[name][0], 6).tolist()]
    for name in links
]
print(json.dumps(found))
"""


@pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the kinds of processor are those of x86-64"
)
def test_leaves_are_the_same_with_the_linear_algebra_of_any_processor():
    first, second = (
        json.loads(run_python(FIT, OPENBLAS_CORETYPE=kind, COLLISION_MONITOR_CACHE="off").stdout)
        for kind in ("Prescott", "Haswell")
    )
    assert min(len(fits) for fits in first) >= 2
    assert first == second

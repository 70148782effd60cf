# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The distance of two segments, by scipy."""

import numpy as np
from scipy.optimize import lsq_linear


def segment_distance(p: np.ndarray, q: np.ndarray) -> float:
    """Distance of two segments (2, 3), as a box-constrained least-squares problem."""
    matrix = np.column_stack([p[1] - p[0], q[0] - q[1]])
    x = lsq_linear(matrix, q[0] - p[0], bounds=(0.0, 1.0), method="bvls", tol=1e-15).x
    return float(np.linalg.norm(matrix @ x - (q[0] - p[0])))

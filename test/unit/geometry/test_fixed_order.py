# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Small linear algebra in one order of sums, against numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from collision_monitor.geometry.fixed_order import norm, principal_axes, product

COORDINATES = st.floats(-10.0, 10.0, allow_subnormal=False)


@given(arrays(float, st.tuples(st.integers(1, 40), st.just(3)), elements=COORDINATES))
def test_principal_axes_are_a_rotation_that_makes_the_scatter_diagonal(points):
    spreads, axes = principal_axes(points)
    centred = points - points.mean(axis=0)
    scatter = centred.T @ centred
    size = max(float(np.trace(scatter)), 1e-300)
    assert axes.T @ axes == pytest.approx(np.eye(3), abs=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    assert (np.diff(spreads) >= 0.0).all() and (spreads >= 0.0).all()
    assert axes @ np.diag(spreads) @ axes.T == pytest.approx(scatter, abs=1e-12 * size)
    assert spreads == pytest.approx(np.linalg.eigvalsh(scatter), abs=1e-12 * size)


@pytest.mark.parametrize("shape", [(3,), (5, 3), (4, 5, 3)])
@pytest.mark.parametrize("columns", [(3,), (3, 2), (3, 3)])
def test_products_and_lengths_are_those_of_numpy(shape, columns):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=shape), rng.normal(size=columns)
    assert product(a, b) == pytest.approx(a @ b)
    assert norm(b.ravel()) == pytest.approx(np.linalg.norm(b))

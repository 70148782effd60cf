# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Signs of determinants against rational arithmetic, where plain floats get them wrong."""


from fractions import Fraction

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.geometry.exact_geometry import orientation

from collision_monitor.common.compiled import exact_kernel, kernel
from collision_monitor.geometry.orientation import (
    exact_orient2d,
    exact_orient3d,
    orient2d,
    orient3d,
    two_product,
)

number = st.floats(-1e6, 1e6).filter(lambda x: x == 0.0 or abs(x) > 1e-60)
small_integer = st.integers(-2, 2).map(float)


def cloud(coordinate, points, columns):
    """Strategy of arrays (points, columns)."""
    row = st.tuples(*[coordinate] * columns)
    return st.lists(row, min_size=points, max_size=points).map(np.array)


def plain_orient3d(p):
    """The sign as floats give it."""
    value = np.dot(np.cross(p[1] - p[0], p[2] - p[0]), p[3] - p[0])
    return int(np.sign(value))


def nearly_coplanar(rng, n):
    """Four points each: the fourth in the plane of three, but for its rounding."""
    points = rng.normal(size=(n, 4, 3)) * 10.0 ** rng.integers(-3, 4, (n, 1, 1))
    u, v = rng.normal(size=(2, n, 1))
    a, b, c = points[:, 0], points[:, 1], points[:, 2]
    points[:, 3] = a + u * (b - a) + v * (c - a)
    return points


@pytest.mark.parametrize(("decorator", "fuses"), [(kernel, True), (exact_kernel, False)])
def test_exact_kernels_allow_the_compiler_nothing(decorator, fuses):
    def product(a, b):
        return a * b - a

    options = decorator(product).targetoptions
    compiled = numba.njit(fastmath=options["fastmath"])(product)  # uncached: it can be read
    compiled(0.1, 0.3)
    code = "".join(compiled.inspect_llvm().values())
    assert ("contract" in code) == fuses
    assert ("fmul double" in code) != fuses
    assert options["error_model"] == "numpy"


@pytest.mark.parametrize("coordinate", [number, small_integer], ids=["floats", "grid"])
def test_orientations_in_space_and_in_planes(coordinate):
    @given(cloud(coordinate, 4, 3))
    @settings(max_examples=150, deadline=None)
    def check(p):
        expected = orientation(*p)
        assert orient3d(p, 0, 1, 2, 3) == expected
        assert exact_orient3d(p, 0, 1, 2, 3) == expected
        for x, y in ((0, 1), (1, 2), (2, 0)):
            expected = orientation(*p[:3, [x, y]])
            assert orient2d(p, 0, 1, 2, x, y) == expected
            assert exact_orient2d(p, 0, 1, 2, x, y) == expected

    check()


def test_nan_has_no_side():
    p = np.random.default_rng(8).normal(size=(4, 3))
    p[2, 1] = np.nan
    assert orient3d(p, 0, 1, 2, 3) == 0
    assert orient2d(p, 0, 1, 2, 0, 1) == 0


def test_nearly_coplanar_points_where_plain_signs_are_wrong():
    points = nearly_coplanar(np.random.default_rng(1), 600)
    expected = [orientation(*p) for p in points]
    assert [orient3d(p, 0, 1, 2, 3) for p in points] == expected
    assert [exact_orient3d(p, 0, 1, 2, 3) for p in points] == expected
    plain = np.array([plain_orient3d(p) for p in points])
    assert np.mean(plain != expected) > 0.05


def test_nearly_collinear_points():
    rng = np.random.default_rng(2)
    wrong = 0
    for _ in range(600):
        p = rng.normal(size=(3, 2)) * 10.0 ** rng.integers(-3, 4)
        p[2] = p[0] + rng.normal() * (p[1] - p[0])
        expected = orientation(*p)
        assert orient2d(p, 0, 1, 2, 0, 1) == expected
        u, v = p[1] - p[0], p[2] - p[0]
        wrong += np.sign(u[0] * v[1] - u[1] * v[0]) != expected
    assert wrong > 30


def test_planes_that_hold_exactly_though_no_difference_does():
    """Coordinates of very different size: differences are rounded, the answer is still 0 or not."""
    rng = np.random.default_rng(4)
    for _ in range(300):
        p = rng.normal(size=(4, 3)) * 10.0 ** rng.integers(-20, 3, (4, 1))
        p[:, 2] = p[:, 0]  # all in the plane x = z
        assert orient3d(p, 0, 1, 2, 3) == 0
        p[3, 2] = np.nextafter(p[3, 2], np.inf)
        assert orient3d(p, 0, 1, 2, 3) == orientation(*p)


@pytest.mark.parametrize("scale", [1e-80, 1e-40, 1e40, 1e94])
def test_both_ends_of_the_range(scale):
    rng = np.random.default_rng(6)
    for p in [*nearly_coplanar(rng, 100), *rng.integers(1, 4, (200, 4, 3))]:
        p = p / np.abs(p).min() * scale if scale < 1.0 else p / np.abs(p).max() * scale
        assert orient3d(p, 0, 1, 2, 3) == orientation(*p)
        assert orient2d(p, 0, 1, 2, 0, 1) == orientation(*p[:3, :2])


@kernel
def products_in_an_ordinary_kernel(a, b, out):
    """Rounded product and rest, where the compiler may fuse what is around them."""
    for k in range(len(a)):
        x, rest = two_product(a[k], b[k])
        out[k, 0], out[k, 1] = x * 1.0 + 0.0, rest


def test_nothing_is_fused_where_an_exact_kernel_is_inlined():
    a, b = np.random.default_rng(0).normal(size=(2, 200))
    out = np.empty((200, 2))
    products_in_an_ordinary_kernel(a, b, out)
    for x, y, (value, rest) in zip(a, b, out, strict=True):
        assert Fraction(value) + Fraction(rest) == Fraction(x) * Fraction(y)


def test_points_a_few_floats_off_a_plane():
    """A grid of neighbouring floats round a point of a plane: Kettner and others' picture."""
    base = np.array([[0.5, 0.5, 0.5], [12.0, 12.0, 12.0], [24.0, 24.0, 3.0], [0.5, 0.5, 0.5]])
    signs = set()
    for k in range(-12, 13):
        for m in range(-12, 13):
            p = base.copy()
            p[3] += np.array([k, m, 7 * k - m]) * 2.0**-53
            signs.add(expected := orientation(*p))
            assert orient3d(p, 0, 1, 2, 3) == expected
    assert signs == {-1, 0, 1}

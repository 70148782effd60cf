# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The compiled descent goes as far down as scipy's, keeps its bounds, and ends."""

import numpy as np
import pytest
from scipy.optimize import minimize

from collision_monitor.fitting.coverage import coverage_cost
from collision_monitor.fitting.multi_capsule_fit import descend

LEAST = 0.005


def problem(seed, kind=np.float64):
    """(first capsules (3, 7), arguments of the cost but for the gradient)."""
    rng = np.random.default_rng(seed)
    wanted = rng.uniform(-1.0, 1.0, (400, 3)) * [0.8, 0.2, 0.2]
    unwanted = rng.uniform(-1.0, 1.0, (1200, 3))
    watchers = np.empty((0, 3))
    points = [np.ascontiguousarray(p.T, dtype=kind) for p in (wanted, unwanted, watchers)]
    weights, prices = np.full(400, 1.0 / 400), np.full(1200, 1.0 / 1200)
    first = np.column_stack([rng.normal(size=(3, 6)) * 0.4, rng.uniform(0.1, 0.3, 3)])
    return first, (
        points[0], weights, points[1], prices, points[2], np.empty(0), 0.1, 240.0, 0.02,
    )  # fmt: skip


def by_scipy(first, arguments):
    def cost(x):
        gradient = np.empty((3, 7))
        return coverage_cost(x.reshape(3, 7), *arguments, gradient), gradient.ravel()

    bounds = ([(None, None)] * 6 + [(LEAST, None)]) * 3
    return minimize(cost, first.ravel(), jac=True, method="L-BFGS-B", bounds=bounds).fun


def test_it_ends_about_as_low_as_scipy():
    ours, theirs = [], []
    for seed in range(8):
        first, arguments = problem(seed)
        ours.append(descend(first.copy(), *arguments, LEAST, 300, 1e-9))
        theirs.append(by_scipy(first, arguments))
    # Each finds local minima, in different order.
    assert np.mean(ours) <= 1.05 * np.mean(theirs)


def test_the_value_is_that_of_what_is_returned_and_never_above_the_first():
    first, arguments = problem(1)
    found = first.copy()
    value = descend(found, *arguments, LEAST, 120, 1e-6)
    assert value == coverage_cost(found, *arguments, np.empty((3, 7)))
    assert value < coverage_cost(first, *arguments, np.empty((3, 7)))


def test_radii_stay_at_the_bound():
    first, arguments = problem(2)
    nothing_wanted = (arguments[0], 0.0 * arguments[1], *arguments[2:])
    found = first.copy()
    descend(found, *nothing_wanted, LEAST, 200, 1e-9)
    assert (found[:, 6] >= LEAST).all()
    assert found[:, 6].min() == LEAST


def test_no_step_changes_nothing():
    first, arguments = problem(3)
    found = first.copy()
    descend(found, *arguments, LEAST, 0, 1e-6)
    assert np.array_equal(found, first)


def test_float32_points_lead_to_nearly_the_same_cost():
    first, arguments = problem(4)
    _, narrow = problem(4, np.float32)
    capsules = np.ascontiguousarray(first)
    unused = np.empty((3, 7))
    assert coverage_cost(capsules, *narrow, unused) == pytest.approx(
        coverage_cost(capsules, *arguments, unused), rel=1e-5
    )

# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Single steps of the arms, their weights and their solvers."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from support.robots.planar_arms import (
    LENGTH,
    ball,
    limits_of,
    meeting,
    planar_model,
    planar_problem,
    points,
)

from collision_monitor.errors import MissingDependencyError
from collision_monitor.model.proximity import Proximity
from collision_monitor.self_collision.solvers import (
    QP_SOLVERS,
    RETIMING,
    dense_solver,
    missing,
    sparse_solver,
)
from collision_monitor.self_collision.stepper import Stepper, joint_weights, shares, tip_weights

# -- single steps: the quadratic program against scipy, and what no step may do ----------


BUFFER = 0.003
MODEL = planar_model(ball("ball", 0.9, 0.0))
ALL = np.arange(6)


def stepper(columns=ALL, safe=0.1, weights=None):
    """Keeps all pairs that take part at safe, but those inside an arm and with the base."""
    weights = np.eye(len(columns)) if weights is None else weights
    return Stepper(Proximity(MODEL), columns, limits_of(MODEL, safe), weights, BUFFER)


angles = st.lists(st.floats(-2.0, 2.0), min_size=6, max_size=6).map(np.array)


@settings(max_examples=60, deadline=None)
@given(q=angles, target=angles, reach=st.floats(1e-3, 0.3), which=st.sampled_from([1, 2, 3]))
def test_a_step_keeps_reach_and_limits_and_moves_what_it_may(q, target, reach, which):
    columns = ALL[: 3 * which] if which < 3 else ALL[3:]
    work = stepper(columns)
    q = q.copy()
    q[3:] = np.where(np.isin(ALL[3:], columns), q[3:], target[3:])
    start, wanted = q.copy(), target.copy()
    after = work.step(q, target, reach)
    assert np.array_equal(q, start) and np.array_equal(target, wanted)
    assert np.abs(after[columns] - q[columns]).max() <= reach + 1e-12
    others = np.setdiff1d(ALL, columns)
    assert np.array_equal(after[others], target[others])
    assert (MODEL.lower <= after).all() and (after <= MODEL.upper).all()


def test_steps_are_the_solutions_of_the_quadratic_program():
    rng = np.random.default_rng(4)
    weights = np.diag(rng.uniform(0.5, 2.0, 6)) + 0.1
    work = stepper(weights=weights)
    proximity, reach, tested = Proximity(MODEL), 0.05, 0
    for q in np.vstack([meeting(40, 0.62), rng.uniform(-1.0, 1.0, (150, 6))]):
        near = proximity.near(q, work.limits + BUFFER + 0.02 + 2.0 * reach)
        rows, short = near.gradients.copy(), work.limits[near.pairs] + BUFFER - near.distances
        if not len(short):
            continue
        target = q + rng.uniform(-0.2, 0.2, 6)
        want = target - q

        def cost(x, want=want):
            return 0.5 * (x - want) @ weights @ (x - want)

        reference = minimize(
            cost, np.zeros(6), jac=lambda x, want=want: weights @ (x - want), method="SLSQP",
            bounds=[(-reach, reach)] * 6, options={"ftol": 1e-14, "maxiter": 300},
            constraints={"type": "ineq", "fun": lambda x, r=rows, s=short: r @ x - s,
                         "jac": lambda x, r=rows: r},
        )  # fmt: skip
        if not reference.success or (rows @ reference.x - short).min() < -1e-9:
            continue  # no step keeps them all: they are soft
        step = work.step(q, target, reach) - q
        assert (rows @ step - short).min() > -1e-6
        assert cost(step) == pytest.approx(cost(reference.x), abs=1e-6)
        tested += np.abs(step - np.clip(want, -reach, reach)).max() > 1e-3
    assert tested > 15


# -- shares of a change between two arms, and what displacing tips costs -----------------


ALONE = planar_model()


def share_of(rows):
    return shares(planar_problem(ALONE, rows), Proximity(ALONE), rows)


def test_the_arm_that_approaches_gives_way():
    rows = meeting(41, 0.85)[:21]
    rows[:, 3:] = rows[20, 3:]
    right, left = share_of(rows)
    assert right + left == pytest.approx(1.0)
    assert 0.9 < right < 1.0 and left > 0.0
    mirrored = -rows[:, [3, 4, 5, 0, 1, 2]]
    assert share_of(mirrored) == pytest.approx((left, right))


def test_weights_make_changes_as_the_shares_are():
    problem = planar_problem(ALONE, meeting())
    assert np.array_equal(joint_weights(problem, (0.5, 0.5)), np.eye(6))
    weights = joint_weights(problem, (0.8, 0.2))
    # the least y'Hy with g.y = 1, g alike for both arms, is inverse(H) g but for its length
    change = np.linalg.solve(weights, np.ones(6))
    assert change[:3].sum() / change.sum() == pytest.approx(0.8)
    for arm in (0, 1):
        only = joint_weights(replace(problem, able=(arm,)), (0.9, 0.1))
        assert np.array_equal(only, np.eye(3))


@pytest.mark.parametrize("columns", [np.arange(6), np.arange(3), np.arange(3, 6)])
def test_tip_weights_are_squared_displacements(columns):
    problem = replace(planar_problem(ALONE, meeting(5)), tip_weight=3.0)
    rng = np.random.default_rng(2)
    rows = rng.uniform(-1.5, 1.5, (4, 6))
    weights = tip_weights(problem, columns, rows)
    assert weights.shape == (4, len(columns), len(columns))
    h = 1e-6
    for q, weight in zip(rows, weights, strict=True):
        assert np.array_equal(weight, weight.T) or weight == pytest.approx(weight.T)
        for _ in range(5):
            step = np.zeros(6)
            step[columns] = rng.normal(size=len(columns))
            # the tip link begins where its joint is: at the wrist
            moved = (points(q + h * step)[:, 2] - points(q - h * step)[:, 2]) / (2 * h)
            cost = 9.0 * (moved**2).sum()
            assert step[columns] @ weight @ step[columns] == pytest.approx(cost, abs=1e-6)
    assert weights.max() <= 9.0 * (2 * LENGTH) ** 2 + 1e-9


# -- solvers of quadratic programs are found, and what is missing is named with its cure --


def test_both_solvers_find_a_minimum():
    # The least |x|^2 with x0 + x1 >= 2 and |x| <= 5 is at (1, 1).
    rows, least, wide = np.ones((1, 2)), np.array([2.0]), np.full(2, 5.0)
    assert dense_solver()(np.eye(2), np.zeros(2), rows, least, -wide, wide) == pytest.approx(1.0)
    sparsely = sparse_solver()(
        sparse.eye(2, format="csc"), np.zeros(2), sparse.csc_matrix(rows), least,
        np.array([np.inf]), -wide, wide,
    )  # fmt: skip
    assert sparsely == pytest.approx([1.0, 1.0], abs=1e-4)
    # Clearances that cannot be had are soft in the dense program, and none is the sparse answer.
    near, far = np.full(2, 0.5), np.array([np.inf])
    assert dense_solver()(np.eye(2), np.zeros(2), rows, least, -near, near) == pytest.approx(0.5)
    program = (sparse.eye(2, format="csc"), np.zeros(2), sparse.csc_matrix(rows), least, far)
    assert sparse_solver()(*program, -near, near) is None


@pytest.mark.parametrize(("name", "make"), [("daqp", dense_solver), ("piqp", sparse_solver)])
def test_a_missing_solver_is_named_with_its_cure(monkeypatch, name, make):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingDependencyError, match=r"pip install .*'daqp>=.*'piqp>="):
        make()


def test_what_cannot_be_imported_is_missing(monkeypatch):
    for name in (*QP_SOLVERS, RETIMING):
        pytest.importorskip(name)
    assert missing() == ()
    monkeypatch.setitem(sys.modules, "piqp", None)
    monkeypatch.setitem(sys.modules, "toppra", None)
    assert missing() == ("piqp", "toppra")
